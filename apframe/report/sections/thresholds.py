"""Which threshold? Precision, recall and F1 against the score, and the scores that are best."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from apframe.exceptions import ParameterError
from apframe.report.charts.lines import Line, legend, line_chart
from apframe.report.compared import Compared
from apframe.report.section import Block, Chart, Details, Fragment, Section, Table, without_numbers
from apframe.show.elements import joined

if TYPE_CHECKING:
    from apframe.detection.evaluation import Evaluation

HEADING = "Which threshold?"
_MOST_POINTS = 101
_SCORES = (0.1, 0.3, 0.5, 0.7, 0.9)
_COUNTS = ["tp", "fp", "fn", "precision", "recall", "f1"]
_SHOWN = ["precision", "recall", "f1"]


def section(compared: Compared) -> Section:
    """Return the section, of any number of models."""
    threshold = compared.iou_threshold
    try:
        best = [each.operating_points("f1", threshold, per_category=False) for each in compared.evaluations]
        swept = [_swept(each, row, threshold) for each, row in zip(compared.evaluations, best, strict=True)]
    except ParameterError as error:
        return without_numbers("thresholds", HEADING, error)
    if all(table.is_empty() for table in swept):
        return Section("thresholds", HEADING, ("There are no detections to choose from.",))
    sentences = [
        f"{name}: F1 is largest, {row['f1'][0]:.3f}, at a score of {row['score_threshold'][0]:.3g}: "
        f"precision {row['precision'][0]:.3f}, recall {row['recall'][0]:.3f}."
        for name, row in zip(compared.names, best, strict=True)
        if row["score_threshold"][0] is not None and row["f1"][0] is not None
    ]
    thin = [_thin(table) for table in swept]
    ends = _ends(swept)
    charts = [
        line_chart([_line(name, each, column) for name, each in zip(compared.names, thin, strict=True)], "score", column, ends)
        for column in _SHOWN
    ]
    curves = [Line(name, each["recall"], each["precision"]) for name, each in zip(compared.names, thin, strict=True)]
    charts.append(line_chart(curves, "recall", "precision"))
    of_scores = [
        _at(table, row, name) for name, table, row in zip(compared.names, swept, best, strict=True) if not table.is_empty()
    ]
    blocks: list[Block] = [
        Fragment(legend(compared.names)),
        Chart(joined(charts), "All categories together, from each score upwards. The mark is at the largest F1."),
        Table(pl.concat(of_scores), f"All categories together at some scores, IoU {threshold:g}"),
    ]
    if not compared.first.protocol.agnostic:
        blocks.append(Details("The best score of each category", [_of_categories(compared)]))
    notes = ["A threshold that was chosen on the data that it is judged by looks a little better than it is."]
    return Section("thresholds", HEADING, sentences, blocks, notes)


def sweep(thresholds: pl.DataFrame, n_positives: int) -> pl.DataFrame:
    """The counts of all categories together from each score upwards, highest first.

    Parameters
    ----------
    thresholds
        as `Evaluation.thresholds` has them
    n_positives
        how many annotations count in all categories

    Returns
    -------
    score, tp, fp, fn, precision, recall (null without positives), f1

    >>> table = pl.DataFrame({"category_id": [1, 1, 2], "score_threshold": [0.9, 0.5, 0.7], "tp": [1, 1, 0], "fp": [0, 1, 1]})
    >>> sweep(table, 2).select("score", "tp", "fp", "f1").rows()
    [(0.9, 1, 0, 0.6666666666666666), (0.7, 1, 1, 0.5), (0.5, 1, 2, 0.4)]
    """
    more = [pl.col(name) - pl.col(name).shift(fill_value=0).over("category_id") for name in ("tp", "fp")]
    steps = thresholds.select(pl.col("score_threshold").alias("score"), *more).group_by("score").sum()
    counts = steps.sort("score", descending=True).with_columns(pl.col("tp", "fp").cum_sum())
    counts = counts.with_columns(fn=n_positives - pl.col("tp"), n=pl.lit(n_positives) + 0 * pl.col("tp"))
    tp = pl.col("tp")
    return counts.with_columns(
        precision=tp / (tp + pl.col("fp")),
        recall=pl.when(pl.col("n") > 0).then(tp / pl.col("n")),
        f1=pl.when(pl.col("n") > 0).then(2 * tp / (tp + pl.col("fp") + pl.col("n"))),
    ).drop("n")


def _swept(evaluation: Evaluation, best: pl.DataFrame, threshold: float) -> pl.DataFrame:
    return sweep(evaluation.thresholds(threshold), int(best["tp"][0] + best["fn"][0]))


def _thin(table: pl.DataFrame) -> pl.DataFrame:
    """At most 101 rows, evenly among the scores' ranks, the first, the last and the best ones among them."""
    n = table.height
    if n <= _MOST_POINTS:
        return table
    kept = {round(k * (n - 1) / (_MOST_POINTS - 2)) for k in range(_MOST_POINTS - 1)}
    return table[sorted(kept | {table["f1"].arg_max() or 0})]


def _ends(tables: list[pl.DataFrame]) -> tuple[float, float]:
    """The lowest and highest score; 0 and 1 if all are between them."""
    scores = pl.concat([table["score"] for table in tables]).drop_nulls()
    return min([0.0, *scores]), max([1.0, *scores])


def _line(name: str, table: pl.DataFrame, column: str) -> Line:
    return Line(name, table["score"], table[column], table["f1"].arg_max())


def _at(table: pl.DataFrame, best: pl.DataFrame, name: str) -> pl.DataFrame:
    """The counts at some scores, and at the best one."""
    top = best["score_threshold"][0]
    scores = pl.DataFrame({"at": [*_SCORES, *([] if top is None else [top])]}).unique("at").sort("at")
    rising = table.sort("score")
    rows = scores.join_asof(rising, left_on="at", right_on="score", strategy="forward")
    model = pl.lit(name).alias("model")
    is_best = pl.when(pl.col("at").eq_missing(pl.lit(top, pl.Float64))).then(pl.lit("largest F1")).otherwise(pl.lit(""))
    return rows.select(model, pl.col("at").alias("score"), is_best.alias("choice"), *_COUNTS)


def _of_categories(compared: Compared) -> Table:
    """The best scores of each category, for each model."""
    columns = ["score_threshold", "precision", "recall", "f1"]
    table, heads = None, dict[str, str]()
    for number, (name, each) in enumerate(zip(compared.names, compared.evaluations, strict=True)):
        named = [pl.col(column).alias(f"{column} {number}") for column in columns]
        rows = each.operating_points("f1", compared.iou_threshold).select("category_id", "name", *named)
        heads |= {f"{column} {number}": f"{name}: {column.removesuffix('_threshold')}" for column in columns}
        table = rows if table is None else table.join(rows.drop("name"), on="category_id", how="left", maintain_order="left")
    assert table is not None
    return Table(table.drop("category_id"), "The score with the largest F1 of each category", heads)
