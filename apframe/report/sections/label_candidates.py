"""Possible label errors: annotations that are probably wrong, as a table and as cards."""

from __future__ import annotations

import polars as pl

from apframe.evaluation.gallery.cards import MODELS, label_cards
from apframe.evaluation.gallery.gallery import draw_cards
from apframe.exceptions import ParameterError
from apframe.report.compared import Compared
from apframe.report.marks import LABELS, Mark
from apframe.report.section import Block, Fragment, Section, Table, without_numbers
from apframe.report.sections.card_gallery import CardFilter, gallery, missing_pictures, only_two
from apframe.wording import counted, plural

KEY, HEADING = "labels", "Possible label errors"
FILE = "label_candidates"
_SHARE = 5  # one card in five is about labels
_KINDS = {  # the noun, and its error
    "missing": ("object", "without an annotation"),
    "wrong_class": ("annotation", "of another category"),
    "misplaced": ("annotation", "with a poor localization"),
    "duplicate": ("annotation", "next to nearly the same one"),
}


def section(compared: Compared) -> Section:
    """Return the section; for a pair, with the suggestions of either model."""
    evaluations, names = compared.pictured
    try:
        rows = compared.label_rows
    except ParameterError as error:
        return without_numbers(KEY, HEADING, error)
    if rows.is_empty():
        return Section(KEY, HEADING, ("No detection contradicts an annotation with a score of 0.5 or more.",))
    counts = dict(rows["kind"].value_counts(sort=True).rows())
    suggestions = ", ".join(
        f"{counted(counts[kind], noun)} {wrong}" for kind, (noun, wrong) in _KINDS.items() if kind in counts
    )
    shown = rows.head(most_labels(compared))
    model_names = dict(zip(MODELS, names, strict=False))
    table = rows.select(
        "kind", "file_name", pl.col("name").alias("labelled"), pl.col("proposed_name").alias("proposed"),
        pl.col("model").replace_strict(model_names, return_dtype=pl.String), "suspicion",
    )  # fmt: skip
    cards = label_cards(compared.first, shown)
    data = [
        {"row": str(row), "kind": kind, "category": name, "image": str(image_id), "score": str(suspicion)}
        for row, (kind, name, image_id, suspicion) in enumerate(
            cards.select("kind", "name", "image_id", "suspicion").iter_rows()
        )
    ]
    drawn = draw_cards(evaluations, names, cards, compared.pictures, compared.iou_threshold, data)
    kinds = {kind: f"{plural(noun)} {wrong}" for kind, (noun, wrong) in _KINDS.items() if kind in counts}
    filters = [
        CardFilter("kind", "Suspicion", kinds),
        CardFilter("category", "Category", {name: name for name in sorted(cards["name"].drop_nulls().unique())}),
    ]
    n_of = dict(rows.group_by("kind").len().rows())
    links = {"kind": [Mark({"kind": kind}, n_of[kind], LABELS) for kind in table["kind"]]} if drawn else {}
    blocks: list[Block] = [Table(table, "Annotations that are likely to be wrong, the most suspicious first", links=links)]
    blocks += [Fragment(gallery(drawn, filters, "most suspicious first", FILE, compared.folder))] if drawn else []
    is_cut = shown.height < rows.height
    notes = [f"{shown.height:,} of {counted(rows.height, 'candidate')} are shown as pictures."] if is_cut else []
    warning = "These are candidates: look at them. A model that was trained on these images may have learned their errors."
    return Section(
        KEY,
        HEADING,
        (f"Confident detections and close pairs suggest {suggestions}.", warning),
        blocks,
        [*notes, *only_two(compared), *missing_pictures(compared, cards)] if drawn else notes,
    )


def most_labels(compared: Compared) -> int:
    """Return the maximum number of cards about labels: a fifth of the cards about errors, and at least one if there are any."""
    return min(compared.max_images, max(compared.max_images // _SHARE, 1))
