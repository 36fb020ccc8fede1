"""What is mistaken for what? The largest confusions of one model or of two, and heat maps of the whole matrix."""

from __future__ import annotations

import polars as pl

from apframe.evaluation.diagnose.cuts import BEST_F1
from apframe.exceptions import ParameterError
from apframe.protocols.protocol import Protocol
from apframe.report.charts.heat_map import heat_map
from apframe.report.compared import Compared
from apframe.report.section import Block, Chart, Section, Table, without_numbers
from apframe.show.mistakes import confusion_totals, mistakes
from apframe.wording import counted

KEY, HEADING = "mistaken", "What is mistaken for what?"
MOST_DRAWN = 30
_SIDES = ("true", "found")


def section(compared: Compared) -> Section:
    """Return the section, of any number of models."""
    min_score = min_score_of(compared.first.protocol)
    try:
        cells = [each.confusion(compared.iou_threshold, min_score=min_score) for each in compared.evaluations]
    except ParameterError as error:
        return without_numbers(KEY, HEADING, error)
    if not any(each["true_category_id"].count() for each in cells):
        return Section(KEY, HEADING, ("No annotation counts, so there is nothing to mistake for another.",))
    sentences = [f"{name}: {confusion_totals(each)}." for name, each in zip(compared.names, cells, strict=True)]
    rows = _largest(cells)
    blocks: list[Block] = []
    if rows.is_empty():
        sentences.append("No category is found as another.")
    else:
        sentences.append(_first(rows, compared))
        blocks.append(_list(rows, compared))
    categories = compared.categories
    cut = (
        ", from the score at which a category has the best F1. A category without annotations has no such score, and is never "
        "found"
    )
    notes = [f"Counted at {compared.threshold}{cut if min_score else ''}."]
    if 1 < categories.height <= MOST_DRAWN:
        found = [(name, each) for name, each in zip(compared.names, cells, strict=True) if each["found_category_id"].count()]
        blocks += [_map(each, name, categories) for name, each in found]
    elif categories.height > MOST_DRAWN:
        notes.append(f"Heat maps are drawn for up to {MOST_DRAWN} categories; there are {categories.height:,}.")
    return Section(KEY, HEADING, sentences, blocks, notes)


def min_score_of(protocol: Protocol) -> str | None:
    """Return from which score detections are counted: the best one, or None where scores do not matter."""
    return BEST_F1 if protocol.has_scores else None


def _largest(cells: list[pl.DataFrame]) -> pl.DataFrame:
    """The cells of one category found as another in any model: its n and share_of_true of each, the most frequent first."""
    keys = [f"{side}_category_id" for side in _SIDES]
    each = [
        mistakes(table).select(*keys, *_SIDES, pl.col("n", "share_of_true").name.suffix(f" {k}"))
        for k, table in enumerate(cells)
    ]
    rows = pl.concat(each, how="diagonal").group_by(keys).agg(pl.col(_SIDES).first(), pl.exclude(*keys, *_SIDES).sum())
    total = pl.sum_horizontal(f"n {k}" for k in range(len(cells)))
    return rows.sort(total, *keys, descending=[True, False, False]).drop(keys)


def _first(rows: pl.DataFrame, compared: Compared) -> str:
    row = rows.row(0, named=True)
    totals = rows.select(pl.sum_horizontal(f"n {k}" for k in range(len(compared.names)))).to_series()
    if totals[0] == 1 and rows.height > 1:
        return f"Each of the {rows.height:,} mistakes occurs once, such as {row['true']} found as {row['found']}."
    times = [counted(row[f"n {k}"], "time") + f" by {name}" for k, name in enumerate(compared.names)]
    is_alone = totals.head(2).n_unique() == min(2, rows.height)
    which = "The most frequent mistake is" if is_alone else "Among the most frequent mistakes is"
    return f"{which} {row['true']} found as {row['found']}: {', '.join(times)}."


def _list(rows: pl.DataFrame, compared: Compared) -> Table:
    several = len(compared.names) > 1
    heads = {"true": "annotated as", "found": "found as"}
    for k, name in enumerate(compared.names):
        heads |= {f"n {k}": name if several else "times", f"share_of_true {k}": f"share of annotations{f', {name}' * several}"}
    order = [f"{column} {k}" for column in ("n", "share_of_true") for k in range(len(compared.names))]
    return Table(rows.select(*_SIDES, *order), "Categories found as others, the most frequent first", heads)


def _map(cells: pl.DataFrame, name: str, categories: pl.DataFrame) -> Chart:
    places = categories.select("category_id").with_row_index("place")
    for side in _SIDES:
        at = places.rename({"category_id": f"{side}_category_id", "place": side})
        cells = cells.join(at, on=f"{side}_category_id", how="left", maintain_order="left")
    caption = f"{name}: annotated as (rows) and found as (columns), in percent of the row"
    return Chart(heat_map(cells, categories["label"].to_list(), caption), caption, scrolls=True)
