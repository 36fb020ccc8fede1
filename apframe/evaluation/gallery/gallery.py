"""The cards of errors: each with its picture, the objects around the error, words and ids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from apframe.evaluation.gallery.cards import MODELS
from apframe.evaluation.gallery.objects import objects_of, shape_compared, with_outlines
from apframe.evaluation.gallery.pictures import Pictures
from apframe.show.card_markup import card
from apframe.show.crops import crop_pictures
from apframe.show.drawings import CROP, TRUTH, draw_objects, picture, picture_sizes
from apframe.show.elements import Markup
from apframe.tables.ids import is_known
from apframe.tables.schemas import SIZE
from apframe.tables.shapes.declarations import CUBOIDS, INTERVALS

if TYPE_CHECKING:
    from apframe.evaluation.evaluation import Evaluation

MOST_OBJECTS = 10  # on a card: those nearest to the error
_CLOSED, _OPENED = 300, 960  # pixels: the approximate width of pictures on small cards, and on an opened card
_LEAST_CROP, _LEAST_OF_THUMBNAIL = 0.25, 0.5  # of the longer side of a picture: the part that a small card shows
LEAST_SCORE = 0.3  # for detections that are not part of the error
_OF_MATCHES = ("detection_id", "annotation_id", "other_annotation_id")
_CHANGES = {
    "lost": "{a} found it",
    "won": "{b} found it",
    "added": "not in {a}",
    "removed": "not in {b}",
    "both": "also a false positive of {other}",
}


def draw_cards(
    evaluations: Sequence[Evaluation],
    names: Sequence[str],
    cards: pl.DataFrame,
    pictures: Pictures,
    iou_threshold: float,
    data: Sequence[Mapping[str, str]] = (),
) -> list[Markup]:
    """Draw the cards of a table such as that of `choose_cards`, in its order, each cropped to the error.

    Parameters
    ----------
    evaluations, names
        the models, in the order of their letters
    cards
        model, kind, image_id, category_id, name, detection_id, score, annotation_id, target_name, change, found_score; for
        label errors also suspicion and other_annotation_id
    pictures
        the lookup of pictures
    iou_threshold
        the threshold of the errors
    data
        attributes of each card by which a page filters and sorts; none by default
    """
    if cards.is_empty():
        return []
    cards = cards.with_row_index("card")
    image_ids = cards["image_id"].unique(maintain_order=True)
    images = images_of(evaluations[0], image_ids, pictures)
    hrefs = dict(images.select("image_id", "href").iter_rows())
    files = dict(images.select("image_id", pl.coalesce("file_name", pl.format("image {}", "image_id"))).iter_rows())
    near = _near(cards, objects_of(evaluations, names, image_ids, iou_threshold))
    near = with_outlines(evaluations, near).join(images, on="image_id", how="left", maintain_order="left")
    near = near.with_columns(image_id="card")  # each card is a separate picture
    sizes = {card: size for card, *size in picture_sizes(near).iter_rows()}
    crops = dict[int, tuple[float, float, float]]()
    if are_on_pictures(evaluations[0]):
        crop_rows = crop_pictures(near, _LEAST_OF_THUMBNAIL if pictures.held else _LEAST_CROP)
        near = near.join(crop_rows.select("image_id", *CROP), on="image_id", how="left", maintain_order="left")
        crops = {card: (x, y, width) for card, x, y, width in crop_rows.select("image_id", *CROP).iter_rows()}
    drawn = {card: elements for card, *elements in _drawn(near).iter_rows()}
    name_of = dict(zip(MODELS, names, strict=False))
    headline_range = evaluations[0].protocol.headline_range
    articles = []
    for row, of_card in zip(cards.iter_rows(named=True), data or [{}] * cards.height, strict=True):
        width, height = sizes[row["card"]]
        heading, facts = _words(row, name_of)
        image_id = row["image_id"]
        title = f"{heading} on {files[image_id]}"
        drawing = picture(drawn[row["card"]], width, height, href=hrefs[image_id], title=title, crop=crops.get(row["card"]))
        articles.append(
            card(drawing, heading, facts, _ids(row), _sql(row, name_of[row["model"]], iou_threshold, headline_range), of_card)
        )
    return articles


def images_of(self: Evaluation, image_ids: pl.Series, pictures: Pictures) -> pl.DataFrame:
    """Return the locations of the pictures of some images.

    Returns
    -------
    image_id, file_name, image_width, image_height (from the file if the data set has none), href, and missing: the reason why
    there is none. A picture of unknown size has no href, because objects would be drawn in the wrong places.
    """
    images = self.dataset.images
    images = images.filter(is_known(images["image_id"], image_ids))
    sized = images.select("image_id", "file_name").join(pictures.sizes(images), on="image_id", maintain_order="left")
    is_sized = pl.all_horizontal(pl.col(SIZE).is_not_null())
    if not are_on_pictures(self):
        return sized.with_columns(href=pl.lit(None, pl.String), missing=pl.lit(None, pl.String))
    unknown = pl.when(~is_sized).then(pl.lit("of an unknown size"))
    sized = sized.hstack(pictures.links(images["file_name"]))
    return sized.with_columns(href=pl.when(is_sized).then("href"), missing=pl.coalesce("missing", unknown))


def are_on_pictures(self: Evaluation) -> bool:
    """Return True if objects are drawn over pictures: not intervals of time, nor cuboids, which are seen from above."""
    return shape_compared(self) not in (INTERVALS, CUBOIDS)


def _near(cards: pl.DataFrame, objects: pl.DataFrame) -> pl.DataFrame:
    """Return for each card the objects of the error and those nearest to them, in drawing order.

    The distance is between the centres of objects and the centre of the error. True positives come with their annotation: one
    without the other would look like an error.
    """
    other = "other_annotation_id" if "other_annotation_id" in cards.columns else "annotation_id"
    ids = {"of_detection": "detection_id", "of_annotation": "annotation_id", "of_other": other}
    of_card = cards.select("card", "image_id", pl.col("model").cast(pl.String), **ids)
    rows = objects.with_row_index("number").join(of_card, on="image_id")
    is_detection = (pl.col("role").cast(pl.String) == pl.col("model")) & pl.col("detection_id").eq(pl.col("of_detection"))
    is_named = pl.any_horizontal(pl.col("annotation_id").eq(pl.col(name)) for name in ("of_annotation", "of_other"))
    is_annotation = (pl.col("role").cast(pl.String) == TRUTH) & is_named
    # a duplicate has one label: the other annotation is in the same place
    is_other = is_annotation & pl.col("annotation_id").ne(pl.col("of_annotation"))
    rows = rows.with_columns(
        is_subject=(is_detection | is_annotation).fill_null(False), label=pl.when(~is_other.fill_null(False)).then("label")
    )
    strong = pl.col("score").is_null() | (pl.col("score") >= LEAST_SCORE)
    rows = rows.filter(pl.col("is_subject") | strong)
    middle = [pl.col(start) + pl.col(size) / 2 for start, size in (("x", "width"), ("y", "height"))]
    rows = rows.with_columns(middle[0].alias("across"), middle[1].alias("down"))
    subject = [pl.col(name).filter("is_subject").mean().over("card") for name in ("across", "down")]
    distance = (pl.col("across") - subject[0]) ** 2 + (pl.col("down") - subject[1]) ** 2
    rows = rows.with_columns(distance=pl.when("is_subject").then(-1.0).otherwise(distance))
    is_matched = pl.col("annotation_id").is_not_null()
    distance_of_pair = pl.when(is_matched).then(pl.col("distance").min().over("card", "annotation_id")).otherwise("distance")
    rows = rows.with_columns(distance=distance_of_pair)
    rows = rows.sort("card", "distance", "number").filter(pl.int_range(pl.len()).over("card") < MOST_OBJECTS)
    return rows.sort("card", "is_subject", "number").drop("across", "down", "distance")


def _is_missed_by_both(row: Mapping[str, Any]) -> bool:
    return row["kind"] == "miss" and row["change"] == "both"


def _drawn(near: pl.DataFrame) -> pl.DataFrame:
    """Return for each card its shapes, and three groups of labels, one of which is visible.

    Small cards have labels only for the error, inside their crop. On an opened card, all objects have labels, or only the error
    on narrow screens.
    """
    in_question = near.with_columns(label=pl.when("is_subject").then("label"))
    opened, narrow = (draw_objects(each.drop(CROP, strict=False), n) for each, n in ((near, _OPENED), (in_question, _CLOSED)))
    groups = {"narrow": narrow["text"], "opened": opened["text"]}
    if CROP[0] in near.columns:
        groups["closed"] = draw_objects(in_question, _CLOSED)["text"]
    else:
        groups["closed narrow"] = groups.pop("narrow")
    elements = opened.select(near["image_id"], "shape", **groups).group_by("image_id", maintain_order=True)
    texts = [pl.format(f'<g class="{name}">{{}}</g>', pl.col(name).str.join("")).alias(name) for name in groups]
    return elements.agg(pl.col("shape").str.join(""), *texts)


def _words(row: Mapping[str, Any], name_of: Mapping[str, str]) -> tuple[str, str]:
    """Return the heading of a card, and further facts about the error."""
    kind, name, model = row["kind"], row["name"], name_of[row["model"]]
    target = row["target_name"]
    headings = {
        "miss": f"{name} missed",
        "cls": f"{target} predicted as {name}",
        "loc": f"{name} poorly localized",
        "both": f"{target} predicted as {name}, poorly localized",
        "dupe": f"{name} predicted twice",
        "bkg": f"{name} predicted on background",
        "missing": f"{target} without an annotation",
        "wrong_class": f"{name} may be {target}",
        "misplaced": f"{name} may be poorly localized",
        "duplicate": f"{name} annotated twice" if target in (name, None) else f"{name} also annotated as {target}",
    }
    facts = [f"by {model}"]
    if row["score"] is not None:
        facts.append(f"score {row['score']:.3f}")
    if kind == "duplicate":
        facts = [f"missed by {model}", f"similarity {row['suspicion']:.3f} to the other annotation"]
    elif "suspicion" in row:
        facts[0] = f"suggested by {model}"
    if _is_missed_by_both(row):
        facts[0] = "by both models"
    elif row["change"] is not None and len(name_of) > 1:
        other = next(name for letter, name in name_of.items() if letter != row["model"])
        facts.append(_CHANGES[row["change"]].format(**name_of, other=other))
    if row["found_score"] is not None:
        facts[-1] += f" with a score of {row['found_score']:.3f}"
    plain = f"{name} missed" if row["detection_id"] is None else f"{name} found"  # not an error
    return headings.get(kind, plain), ", ".join(facts)


def _ids(row: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {row[name]}" for name in ("image_id", *_OF_MATCHES) if row.get(name) is not None)


def _sql(row: Mapping[str, Any], model: str, iou_threshold: float, whole: str) -> str:
    """Return a query for the rows of the error. It is about one model, which its first line names."""
    ids = {name: row[name] for name in _OF_MATCHES if row.get(name) is not None}
    rows = " OR ".join(f"{name.removeprefix('other_')} = {_literal(value)}" for name, value in ids.items())
    where = f"({rows}) AND iou_threshold = {iou_threshold:.10g} AND area_range = {_literal(whole)}"
    return f"-- {' '.join(model.split())}\nSELECT * FROM matches WHERE {where}"


def _literal(value: Any) -> str:
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)
