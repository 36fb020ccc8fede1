"""The confusion matrix: a list of categories predicted as others, and a heat map that follows the slider."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from apframe.exceptions import ParameterError
from apframe.report.charts.heat_map import heat_map
from apframe.report.charts.line_chart import not_drawn
from apframe.report.compared import Compared
from apframe.report.marks import Mark
from apframe.report.matrix import Matrix
from apframe.report.operating_point import series
from apframe.report.section import Block, Fragment, Section, Table, without_numbers
from apframe.show.confusion_marks import MOST_CATEGORIES
from apframe.show.elements import element
from apframe.show.mistakes import confusion_totals
from apframe.wording import counted

KEY, HEADING = "confusion", "Confusion"
_SIDES = ("true", "found")
SCOPE = "at the operating point"
MOST_LISTED = 10  # confusions in the list


def section(compared: Compared) -> Section | None:
    """Return the section, of any number of models; None for a single category, which cannot be confused."""
    try:
        matrix = compared.matrix
    except ParameterError as error:
        return without_numbers(KEY, HEADING, error)
    if len(matrix.labels) == 1:
        return None
    if not any(table["annotation_id"].count() for table in matrix.stays):
        return Section(KEY, HEADING, ("No annotation counts, so no category can be confused with another.",))
    names = compared.names[: len(matrix.counts)]
    sentences = [_totals(matrix, k, name) for k, name in enumerate(names)]
    rows = _largest(matrix, len(names))
    blocks: list[Block] = []
    if rows.is_empty():
        sentences.append("No category is predicted as another.")
    else:
        sentences.append(_first(rows, names))
        blocks.append(_list(rows, names, compared))
    linked = () if compared.cells is None else compared.linked
    drawn = [heat_map(matrix, k, name, is_linked=name in linked) for k, name in enumerate(names)]
    blocks.append(Fragment(element("div", [element("div", each) for each in drawn], class_="beside")))
    notes = ["An annotation that is predicted as another category is a false negative too, but is not counted as missed here."]
    notes += [f"Counted at {compared.threshold}{', from the operating point on' if compared.point else ''}."]
    notes += ["The sentences above do not follow the slider."] * bool(compared.point)
    n = compared.categories.height
    if n > MOST_CATEGORIES:
        drawn_ones = f"The {MOST_CATEGORIES} categories with most confusions have rows and columns"
        notes.append(f"{drawn_ones}; the other {n - MOST_CATEGORIES:,} are together.")
    return Section(KEY, HEADING, sentences, blocks, [*notes, *not_drawn(compared.names)], SCOPE if compared.point else "")


def _totals(matrix: Matrix, model: int, name: str) -> str:
    """Return the numbers of right and confused detections, of detections on background, and of missed annotations in words."""
    return f"{name}: {confusion_totals(matrix.stays[model].filter('is_first').with_columns(n=1))}."


def _largest(matrix: Matrix, n_models: int) -> pl.DataFrame:
    """Return true, found, and for each model "n 0", "share 0" (of the row) and "at 0" (all positions), by frequency."""
    size = min(len(matrix.labels), MOST_CATEGORIES)  # without the label for all others
    counts = np.stack(matrix.counts[:n_models])[:, :size]
    now = counts[:, :, :size, 0].sum(axis=0)
    np.fill_diagonal(now, 0)
    rows, columns = np.nonzero(now)
    order = np.argsort(-now[rows, columns], kind="stable")
    rows, columns = rows[order], columns[order]
    totals = counts[..., 0].sum(axis=2)
    labels = pl.Series(matrix.labels, dtype=pl.String)
    table = {_SIDES[0]: labels.gather(pl.Series(rows)), _SIDES[1]: labels.gather(pl.Series(columns))}
    for k in range(n_models):
        cells = counts[k, rows, columns]
        table[f"n {k}"] = pl.Series(cells[:, 0])
        table[f"share {k}"] = pl.Series(cells[:, 0] / np.maximum(totals[k, rows], 1))
        table[f"at {k}"] = pl.Series([series(f"{n:,}" for n in each) for each in cells], dtype=pl.String)
    return pl.DataFrame(table)


def _first(rows: pl.DataFrame, names: Sequence[str]) -> str:
    row = rows.row(0, named=True)
    totals = rows.select(pl.sum_horizontal(f"n {k}" for k in range(len(names)))).to_series()
    if totals[0] == 1 and rows.height > 1:
        return f"Each of the {rows.height:,} confusions occurs once, such as {row['true']} predicted as {row['found']}."
    times = [counted(row[f"n {k}"], "time") + f" by {name}" for k, name in enumerate(names)]
    is_alone = totals.head(2).n_unique() == min(2, rows.height)
    which = "The most frequent confusion is" if is_alone else "Among the most frequent confusions is"
    return f"{which} {row['true']} predicted as {row['found']}: {', '.join(times)}."


def _list(rows: pl.DataFrame, names: Sequence[str], compared: Compared) -> Table:
    several = len(names) > 1
    heads = {"true": "annotated as", "found": "predicted as"}
    for k, name in enumerate(names):
        heads |= {f"n {k}": name if several else "times", f"share {k}": f"share of annotations{f', {name}' * several}"}
    order = [f"{column} {k}" for column in ("n", "share") for k in range(len(names))]
    linked = () if compared.cells is None else compared.linked
    links = {
        f"n {k}": [Mark({"model": name, "true": true, "found": found}) for true, found in rows.select(_SIDES).iter_rows()]
        for k, name in enumerate(names)
        if name in linked
    }
    following = {f"n {k}": rows[f"at {k}"].to_list() for k in range(len(names))}
    caption = "Categories predicted as others, the most frequent first"
    folded = [f"share {k}" for k in range(len(names))]
    return Table(rows.select(*_SIDES, *order), caption, heads, most=MOST_LISTED, links=links, series=following, folded=folded)
