"""Show me: the errors as cards, to be filtered and sorted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from apframe.detection.look.cards import choose_cards, find_cards
from apframe.detection.look.gallery import LEAST_SCORE, MOST_OBJECTS, are_on_pictures, draw_cards, images_of
from apframe.exceptions import ParameterError, counted
from apframe.report.compared import Compared
from apframe.report.section import Fragment, Section, without_numbers
from apframe.show.drawings import legend
from apframe.show.elements import Markup, element, joined
from apframe.show.error_chart import KIND_WORDS

HEADING = "Which errors? Show me."
_PAIR = 2


def section(compared: Compared) -> Section:
    """Return the section, of one model or of a pair."""
    evaluations, names = compared.evaluations[:_PAIR], compared.names[:_PAIR]
    try:
        cards = find_cards(evaluations, compared.iou_threshold)
    except ParameterError as error:
        return without_numbers("look", HEADING, error)
    cards, keys = _with_slices(cards, compared)
    chosen = choose_cards(cards, compared.max_images)
    if cards.is_empty():
        return Section("look", HEADING, notes=("There are no errors.",))
    drawn = draw_cards(evaluations, names, chosen, compared.pictures, compared.iou_threshold, keys)
    rule = "of each model, kind and category the highest scores in turn"
    is_cut = chosen.height < cards.height
    notes = [
        f"{chosen.height:,} of {counted(cards.height, 'error')} are shown: {rule}." if is_cut else "All errors are shown.",
        f"Each card shows at most {MOST_OBJECTS} objects: those in question, and the nearest ones, detections from a score of "
        f"{LEAST_SCORE:g}.",
    ]
    notes += missing_pictures(compared, chosen)
    labels = {"kind": KIND_WORDS, "change": _changes(names)} if len(names) > 1 else {"kind": KIND_WORDS}
    filters = {"kind": "Kind", "category": "Category"} | ({"model": "Model", "change": "Change"} if len(names) > 1 else {})
    values = {"kind": chosen["kind"], "category": chosen["name"].cast(pl.String), "change": chosen["change"]}
    values["model"] = chosen["model"].replace_strict(dict(zip("ab", names, strict=False)), return_dtype=pl.String)
    values |= {key: chosen[key].cast(pl.String) for key in keys}
    filters |= {key: key for key in keys}
    options = {name: sorted(values[name].drop_nulls().unique()) for name in filters}
    markup = joined(Markup(legend(names)), gallery(drawn, filters, options, labels))
    return Section("look", HEADING, (), (Fragment(markup),), notes)


def missing_pictures(compared: Compared, cards: pl.DataFrame) -> list[str]:
    """A line that says how many pictures of the cards are missing."""
    if not are_on_pictures(compared.first):
        return []
    if compared.pictures.folder is None:
        return ["No folder of pictures was given, so objects are drawn on grey."]
    hrefs = images_of(compared.first, cards["image_id"].unique(), compared.pictures)["href"]
    n = hrefs.null_count()
    return [f"The pictures of {n:,} of {counted(len(hrefs), 'image')} are missing, or their size is unknown."] if n else []


def gallery(
    cards: Sequence[Markup],
    filters: Mapping[str, str],
    options: Mapping[str, Sequence[str]],
    labels: Mapping[str, Mapping[str, str]],
) -> Markup:
    """Cards with a form that filters and sorts them: for each filter its heading, its values, and what these mean in words."""
    selects = [
        _select(heading, name, {"": "all"} | {value: labels.get(name, {}).get(value, value) for value in options[name]})
        for name, heading in filters.items()
        if len(options[name]) > 1
    ]
    order = {"": "in turn", "score down": "highest score first", "score up": "lowest score first"}
    form = element(
        "form",
        selects,
        _select("Order", "sort", order),
        element("button", "Show all", type="reset"),
        element("output", aria_live="polite"),
        class_="filters",
        hidden=True,
    )
    return element("div", form, element("div", cards, class_="cards"), class_="gallery")


def _select(heading: str, name: str, values: Mapping[str, str]) -> Markup:
    options = [element("option", words, value=value) for value, words in values.items()]
    return element("label", heading, element("select", options, name=name))


def _changes(names: Sequence[str]) -> dict[str, str]:
    a, b = names
    return {
        "lost": f"lost by {b}",
        "won": f"won by {b}",
        "added": f"false positives only in {b}",
        "removed": f"false positives only in {a}",
        "both": "errors of both",
    }


def _with_slices(cards: pl.DataFrame, compared: Compared) -> tuple[pl.DataFrame, list[str]]:
    """The cards with the columns of images that the page is sliced by."""
    images = compared.first.dataset.images
    named = [key for each in compared.by for key in (each if isinstance(each, (list, tuple)) else [each])]
    keys = [key for key in images.columns if key in named and key not in cards.columns]
    return cards.join(images.select("image_id", *keys), on="image_id", how="left", maintain_order="left"), keys
