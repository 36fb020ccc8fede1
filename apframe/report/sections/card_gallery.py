"""The gallery: cards to filter and sort, to which every mark of the page leads."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from apframe.evaluation.gallery.cards import MODELS
from apframe.evaluation.gallery.gallery import LEAST_SCORE, MOST_OBJECTS, are_on_pictures, draw_cards, images_of
from apframe.exceptions import ParameterError
from apframe.report.compared import Compared
from apframe.report.html_tables import NOTHING
from apframe.report.marks import listed, number_text
from apframe.report.section import Fragment, Section, without_numbers
from apframe.report.worst_images import filter_values
from apframe.show.drawings import legend
from apframe.show.elements import Markup, element, joined
from apframe.show.error_chart import KIND_WORDS
from apframe.wording import counted

KEY, HEADING = "gallery", "Gallery"
_COLUMNS = ("error", "category", "model", "change")  # filters of images, in addition to slices


def section(compared: Compared) -> Section:
    """Return the section, of one model or of a pair."""
    evaluations, names = compared.pictured
    try:
        rows = compared.rows
    except ParameterError as error:
        return without_numbers(KEY, HEADING, error)
    n_errors = rows.errors.height
    if not n_errors:
        return Section(KEY, HEADING, ("There are no errors.",))
    if not compared.has_gallery:
        return Section(KEY, HEADING, (f"{_there_are(n_errors)}. No cards were requested.",))
    chosen = compared.chosen
    drawn = draw_cards(evaluations, names, chosen, compared.pictures, compared.iou_threshold, _data(chosen, compared))
    sentences = [_shown(chosen, rows.frame.height, n_errors), *missing_pictures(compared, chosen)]
    notes = [
        f"Each card shows at most {MOST_OBJECTS} objects: those in question, and the nearest ones, detections from a score of "
        f"{LEAST_SCORE:g}.",
        f"Queries are about the files in {compared.folder}, which --tables (in Python tables=True) writes beside the page.",
        *only_two(compared),
    ]
    errors = chosen.filter(pl.col("kind").is_not_null())
    kinds, changes = set(errors["kind"]), set(errors["change"])
    filters = [
        CardFilter("error", "Error type", {kind: words for kind, words in KIND_WORDS.items() if kind in kinds}),
        CardFilter("category", "Category", {name: name for name in sorted(errors["name"].drop_nulls().unique())}),
    ]
    if len(names) > 1:
        filters.append(CardFilter("model", "Model", {name: name for name in names}))
        filters.append(
            CardFilter("change", "Change", {name: words for name, words in _changes(names).items() if name in changes})
        )
    for each, key in zip(rows.slices, rows.keys, strict=True):
        there = set(each.lists(chosen["row"]).explode())
        values = {name: name for name in each.values if name in there}
        filters.append(CardFilter(key, "size" if each.name == "area" else each.name, values))
    slices_of = {key: f"slice{number}" for number, key in enumerate(rows.keys)}
    cards = gallery(drawn, filters, "mixed", "outcomes", compared.folder, slices_of, filter_values(rows))
    return Section(KEY, HEADING, sentences, (Fragment(joined(Markup(legend(names)), cards)),), notes)


def _data(chosen: pl.DataFrame, compared: Compared) -> list[dict[str, str]]:
    """Return the data by which cards are filtered, as the page's script reads it."""
    rows, cells = compared.rows, compared.cells
    of_rows: dict[int, list[list[str]]] = {}
    if cells is not None:
        own = cells.filter(pl.col("row").is_in(chosen["row"].implode()))
        for row, *cell in own.select("row", "model", "true", "found", "score_from", "score_to").iter_rows():
            of_rows.setdefault(row, []).append([number_text(each) for each in cell])
    labels = dict(zip(MODELS, rows.names, strict=False))
    slices = {f"slice{k}": each.lists(chosen["row"]).to_list() for k, each in enumerate(rows.slices)}
    return [
        {
            "row": str(row["row"]), "error": row["kind"] or "", "outcome": row["outcome"], "category": row["name"],
            "model": listed([*labels.values()] if row["is_of_both"] else [labels[row["model"]]]), "change": row["change"] or "",
            "image": str(row["image_id"]), "score": "" if row["score"] is None else str(row["score"]),
            "cells": listed(of_rows.get(row["row"], [])),
        } | {name: listed(lists[place]) for name, lists in slices.items()}
        for place, row in enumerate(chosen.iter_rows(named=True))
    ]  # fmt: skip


def _there_are(n_errors: int) -> str:
    return f"There {'is' if n_errors == 1 else 'are'} {counted(n_errors, 'error')}"


def _shown(chosen: pl.DataFrame, n_rows: int, n_errors: int) -> str:
    """Return a line with the number of cards and the rule of their choice."""
    if chosen.height == n_rows:
        return f"{_there_are(n_errors)}; all are shown."
    rule = "Every mark of this page has some if possible, those with the highest scores."
    rows = f"{counted(n_rows, 'detection')} and missed annotations, {n_errors:,} of them errors"
    return f"{counted(chosen.height, 'card')} for {rows}. {rule}"


def only_two(compared: Compared) -> list[str]:
    """Return a line that names the models with cards, if there are more models."""
    if not compared.are_several:
        return []
    return [f"The cards are about the first two models, {' and '.join(compared.pictured[1])}."]


def missing_pictures(compared: Compared, cards: pl.DataFrame) -> list[str]:
    """Return a line with the number of missing pictures, and the reasons."""
    if not are_on_pictures(compared.first):
        return []
    if compared.pictures.folder is None:
        return ["No folder of pictures was given, so objects are drawn on grey."]
    images = images_of(compared.first, cards["image_id"].unique(), compared.pictures)
    missing = images.drop_nulls("missing")
    reasons = missing.group_by("missing").agg(pl.len(), pl.col("file_name").min()).sort("len", "missing", descending=True)
    parts = [f"{n:,} {why}" + (f" (such as {name})" if name else "") for why, n, name in reasons.iter_rows()]
    n_of = f"{missing.height:,} of {counted(images.height, 'image')}"
    return [f"The pictures of {n_of} are missing: {', '.join(parts)}."] if parts else []


@dataclass(frozen=True)
class CardFilter:
    """A filter of cards: its name in addresses, its heading, and its values with their meaning in words."""

    name: str
    heading: str
    values: Mapping[str, str]


def gallery(
    cards: Sequence[Markup],
    filters: Sequence[CardFilter],
    usual_order: str,
    file: str,
    folder: str,
    slices: Mapping[str, str] | None = None,
    values: Sequence[Sequence[str]] = (),
) -> Markup:
    """Return cards with a form that filters and sorts them.

    Parameters
    ----------
    usual_order
        the initial order of the cards, in words
    file, folder
        the file with the rows of the cards, and its folder next to the page
    slices
        the names of the cards' data by the names of slices; a card may be in several slices of a name
    values
        the values that filter images, see `worst_images.filter_values`; empty for no filter
    """
    order = [("", usual_order), ("score down", "highest score first"), ("score up", "lowest score first")]
    form = filter_form([each for each in filters if len(each.values) > 1], _select("Order", "sort", order))
    status = element("output", aria_live="polite", tabindex=-1)
    copied = [*_copied("Copy SQL", "SQL", "sql"), *_copied("Copy ids", "Image ids", "image-ids")]
    selected = element("div", status, copied, class_="selected", hidden=True)
    data = {"data_tables": folder, "data_file": file, "data_slices": json.dumps(slices or {}, ensure_ascii=False)}
    columns = dict(zip((*_COLUMNS, *(slices or {})), values, strict=False))
    data |= filter_data(columns, "images" if columns else None, "all errors")
    more = element("button", type="button", class_="more", hidden=True)
    return element("div", form, selected, element("div", cards, class_="cards"), more, class_="gallery", **data)


def filter_form(filters: Sequence[CardFilter], *more: Markup) -> Markup:
    """Return a form with a select for each filter and with `more`, which only the page's script shows."""
    selects = [_select(each.heading, each.name, [("", "all"), *each.values.items()]) for each in filters]
    return element("form", selects, more, element("button", "Show all", type="reset"), class_="filters", hidden=True)


def filter_data(values: Mapping[str, Sequence[str]], rows: str | None, usual: str) -> dict[str, str]:
    """Return the data by which the page's script filters rows.

    Parameters
    ----------
    values
        the values of each column; rows have the positions of their values, separated by dots
    rows
        the section of the rows, if there are rows
    usual
        the default selection, in words
    """
    data = {"data_values": listed([*values.items()]), "data_all": usual}
    return data if rows is None else data | {"data_rows": f"#{rows} [data-has]"}


def _copied(button: str, summary: str, class_: str) -> list[Markup]:
    """Return a button that copies the content of the details behind it."""
    return [
        element("button", button, type="button", class_="copy"),
        element("details", element("summary", summary), element("code", class_=class_)),
    ]


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
