"""The images, the worst first, with their counts and their influence on the main metric."""

from __future__ import annotations

import polars as pl

from apframe.evaluation.gallery.gallery import are_on_pictures, images_of
from apframe.exceptions import ParameterError
from apframe.report.compared import Compared
from apframe.report.marks import Mark
from apframe.report.operating_point import series
from apframe.report.section import Section, Table
from apframe.report.sections.confusion_matrix import SCOPE
from apframe.report.worst_images import COUNTS, counts_of_images, errors_of_images
from apframe.show.elements import Markup, element

MOST_IMAGES = 100
_FILTERED = "A selection in the gallery leaves the images here that have such an error."
_INFLUENCE = "An image that counted twice would change the number by about its influence; see Evaluation.influence."
_WORDS = {"tp": "true positives", "fp": "false positives", "fn": "missed"}


def section(compared: Compared) -> Section | None:
    """Return the section, of the first two models; None if nothing was detected or annotated."""
    try:
        rows = compared.rows
    except ParameterError:
        return None
    if rows.frame.is_empty():
        return None
    images = compared.worst_images
    first_images, has_influence = images.head(MOST_IMAGES), images["influence"].count() > 0
    first = f"images that speak most against {rows.names[-1]}" if has_influence else "images with most errors"
    notes = [f"The first {first_images.height:,} of {images.height:,} images are shown."] * (
        images.height > first_images.height
    )
    notes += [
        "An image that counted twice would change the number by about its influence; see Evaluation.influence."
    ] * has_influence
    notes += [_FILTERED] * compared.has_gallery
    table = _table(compared, first_images, has_influence=has_influence)
    return Section("images", "Images", (f"The {first} come first.",), (table,), notes, SCOPE if compared.point else "")


def _table(compared: Compared, shown: pl.DataFrame, *, has_influence: bool) -> Table:
    """Return the images with their counts."""
    rows, ids = compared.rows, [str(each) for each in shown["image_id"]]
    counts, several = counts_of_images(rows, shown["image_id"], compared.point), len(rows.names) > 1
    frame = shown.select(pl.coalesce("file_name", pl.format("image {}", "image_id")).alias("image"))
    links = {"image": [_mark(compared, {"image": each}, n) for each, n in zip(ids, shown["n_errors"], strict=True)]}
    drawn = _thumbnails(compared, shown["image_id"])
    if drawn:
        frame = frame.with_columns(picture=pl.lit(""))
    if has_influence:
        frame = frame.with_columns(shown["influence"])
    heads = {"influence": f"influence on {'the difference in ' * several}{compared.metric}"}
    following, at = dict[str, list[str]](), {} if compared.point else {"at": "all"}
    for model, name in enumerate(rows.names):
        for k, count in enumerate(COUNTS):
            column, of_all = f"{count} {model}", counts[:, model, k]
            frame = frame.with_columns(pl.Series(column, of_all[:, 0]))
            heads[column] = f"{_WORDS[count]}{f', {name}' * several}"
            following[column] = [series(map(str, each)) for each in of_all]
            links[column] = [_mark(compared, {"image": each, "model": name, "outcome": count} | at) for each in ids]
    caption, pictures = f"Images at {compared.threshold}, the worst first", {"picture": drawn} if drawn else {}
    data = errors_of_images(rows, shown["image_id"])
    return Table(frame, caption, heads, ["influence"], pictures, links=links, series=following, row_data=data)


def _mark(compared: Compared, selection: dict[str, str], n: int | None = None) -> Mark | None:
    return Mark(selection, n) if compared.has_gallery and n != 0 else None


def _thumbnails(compared: Compared, image_ids: pl.Series) -> list[Markup]:
    """Return small pictures of the images; if pictures are embedded in the page, only of images on cards."""
    pictures = compared.pictures
    if pictures.folder is None or not are_on_pictures(compared.first):
        return []
    on_cards = compared.chosen["image_id"] if compared.has_gallery else image_ids.clear()
    ids = image_ids if not pictures.embeds else image_ids.filter(image_ids.is_in(on_cards.implode()))
    images = images_of(compared.first, ids, pictures).drop_nulls("href")
    rows = images.select("image_id", "href", "image_width", "image_height").iter_rows()
    thumbnails = {image_id: _thumbnail(href, width, height) for image_id, href, width, height in rows}
    return [thumbnails.get(image_id, Markup("")) for image_id in image_ids] if thumbnails else []


def _thumbnail(href: str, width: int, height: int) -> Markup:
    if not href.startswith("#"):
        return element("img", src=href, alt="", loading="lazy", class_="thumbnail")
    whole = element("use", href=href)
    return element("svg", whole, viewBox=f"0 0 {width} {height}", class_="thumbnail", aria_hidden="true")
