"""Show me: the errors as cards, to be filtered and sorted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from apframe.evaluation.gallery.cards import choose_cards, find_cards
from apframe.evaluation.gallery.gallery import LEAST_SCORE, MOST_OBJECTS, are_on_pictures, draw_cards, images_of
from apframe.evaluation.gallery.slices import slices_of_cards
from apframe.exceptions import ParameterError
from apframe.report.compared import Compared
from apframe.report.section import Fragment, Section, without_numbers
from apframe.report.tables import NOTHING
from apframe.show.drawings import legend
from apframe.show.elements import Markup, element, joined
from apframe.show.error_chart import KIND_WORDS
from apframe.wording import counted

HEADING = "Which errors? Show me."
_PAIR = 2


def section(compared: Compared) -> Section:
    """Return the section, of one model or of a pair."""
    evaluations, names = compared.evaluations[:_PAIR], compared.names[:_PAIR]
    try:
        cards = find_cards(evaluations, compared.iou_threshold)
    except ParameterError as error:
        return without_numbers("look", HEADING, error)
    if cards.is_empty():
        return Section("look", HEADING, ("There are no errors.",))
    chosen = choose_cards(cards, compared.max_images)
    slices = slices_of_cards(evaluations, chosen, compared.by)
    of_cards = [each.of_cards for each in slices]
    drawn = draw_cards(evaluations, names, chosen, compared.pictures, compared.iou_threshold, of_cards)
    sentences = [_shown(chosen.height, cards.height)]
    if chosen.is_empty():
        return Section("look", HEADING, sentences)
    sentences += missing_pictures(compared, chosen)
    notes = [
        f"Each card shows at most {MOST_OBJECTS} objects: those in question, and the nearest ones, detections from a score of "
        f"{LEAST_SCORE:g}.",
        *only_two(compared),
    ]
    kinds, changes = set(chosen["kind"]), set(chosen["change"])
    filters = [
        Filter("kind", "Kind", {kind: words for kind, words in KIND_WORDS.items() if kind in kinds}),
        Filter("category", "Category", {name: name for name in sorted(chosen["name"].drop_nulls().unique())}),
    ]
    if len(names) > 1:
        filters.append(Filter("model", "Model", {name: name for name in names}))
        filters.append(Filter("change", "Change", {name: words for name, words in _changes(names).items() if name in changes}))
    for number, each in enumerate(slices):
        there = set(each.of_cards.explode())
        filters.append(Filter(f"slice{number}", each.name, {name: name for name in each.values if name in there}))
    markup = joined(Markup(legend(names)), gallery(drawn, filters, "kinds take turns"))
    return Section("look", HEADING, sentences, (Fragment(markup),), notes)


def _shown(n: int, n_errors: int) -> str:
    """Say how many of the errors are shown, and which."""
    if not n:
        return f"There {'is' if n_errors == 1 else 'are'} {counted(n_errors, 'error')}. No cards were requested."
    if n == n_errors:
        return "The only error is shown." if n == 1 else f"All {n:,} errors are shown."
    rule = "kinds take turns, and within a kind changes, models and categories, the highest scores first"
    return f"{n:,} of {counted(n_errors, 'error')} are shown: {rule}."


def only_two(compared: Compared) -> list[str]:
    """A line that says which models the cards are about, if there are more."""
    if len(compared.names) <= _PAIR:
        return []
    return [f"The cards are about the first two models, {' and '.join(compared.names[:_PAIR])}."]


def missing_pictures(compared: Compared, cards: pl.DataFrame) -> list[str]:
    """A line that says how many pictures of the cards are missing, and why."""
    if not are_on_pictures(compared.first):
        return []
    if compared.pictures.folder is None:
        return ["No folder of pictures was given, so objects are drawn on grey."]
    images = images_of(compared.first, cards["image_id"].unique(), compared.pictures)
    missing = images.drop_nulls("missing")
    reasons = missing.group_by("missing").agg(pl.len(), pl.col("file_name").min()).sort("len", "missing", descending=True)
    said = [f"{n:,} {why}" + (f" (such as {name})" if name else "") for why, n, name in reasons.iter_rows()]
    n_of = f"{missing.height:,} of {counted(images.height, 'image')}"
    return [f"The pictures of {n_of} are missing: {', '.join(said)}."] if said else []


@dataclass(frozen=True)
class Filter:
    """What cards are filtered by: the name of their data, its heading, and its values with what they mean in words."""

    name: str
    heading: str
    values: Mapping[str, str]


def gallery(cards: Sequence[Markup], filters: Sequence[Filter], usual_order: str) -> Markup:
    """Cards with a form that filters and sorts them; `usual_order` says in which order they come."""
    selects = [
        _select(each.heading, each.name, [("", "all"), *each.values.items()]) for each in filters if len(each.values) > 1
    ]
    order = [("", usual_order), ("score down", "highest score first"), ("score up", "lowest score first")]
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


def _select(heading: str, name: str, values: Sequence[tuple[str, str]]) -> Markup:
    options = [element("option", words or NOTHING, value=value) for value, words in values]
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
