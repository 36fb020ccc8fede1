"""Numbers of categories, tables and curves of an evaluation for the loggers of training code."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import polars as pl

from apframe.evaluation.pivot import labelled_categories, numbers_of_categories
from apframe.exceptions import NotComputedWarning, ParameterError, warn
from apframe.protocols.headlines import Headline, headlines, main_headline
from apframe.protocols.lookups import threshold_words

if TYPE_CHECKING:
    from apframe.evaluation.evaluation import Evaluation

_N_THRESHOLDS = 127  # the most that writers accept
_N_POINTS = 1000  # of a chart


def category_values(self: Evaluation) -> dict[str, float]:
    """Return the first number of the summary for each category, with the names of `to_dict(per_category=True)`.

    Raises
    ------
    ParameterError
        the protocol pools the categories
    """
    if self._pipeline.outline.is_pooled:
        raise ParameterError("per_category: the categories are pooled", "leave per_category out")
    first = _first(self)
    return {f"{first.metric}/{label}": value for label, value in _of_categories(self, first).rows()}


def wandb_charts(self: Evaluation) -> dict[str, Any]:
    """Return the table and the chart of `to_wandb` by their names; empty if wandb cannot be imported."""
    try:
        wandb = import_module("wandb")
    except ImportError:
        return {}
    charts = {}
    if not self._pipeline.outline.is_pooled:
        first = _first(self)
        rows = _of_categories(self, first).rows()
        charts["categories"] = wandb.Table(columns=["category", first.metric], data=list(map(list, rows)))
    curve = _sweep(self, per_category=False)
    if curve.height:
        every = -(-curve.height // _N_POINTS)
        points = curve.sort("score_threshold").gather_every(every).select("recall", "precision")
        table = wandb.Table(columns=points.columns, data=list(map(list, points.rows())))
        title = f"All categories, {threshold_words(self.protocol, curve['iou_threshold'][0])}"
        charts["precision_recall"] = wandb.plot.line(table, "recall", "precision", title=title)
    return charts


def add_to_tensorboard(self: Evaluation, writer: Any, step: int | None, prefix: str, per_category: bool) -> None:
    """Write scalars and curves, see `write_tensorboard`."""
    if not (hasattr(writer, "add_scalar") and hasattr(writer, "add_pr_curve_raw")):
        problem = f"must be a SummaryWriter of torch.utils.tensorboard or tensorboardX, not {type(writer).__name__}"
        raise ParameterError(problem, "for one without PyTorch: pip install tensorboardX", option="writer")
    for name, value in self.to_dict(prefix, per_category=per_category).items():
        writer.add_scalar(name, value, step)
    curves = {"precision_recall": _sweep(self, per_category=False)}
    if per_category and not curves["precision_recall"].is_empty():
        each = _sweep(self, per_category=True).partition_by("category_id", as_dict=True)
        labels = labelled_categories(self).rows_by_key("category_id", unique=True)
        curves |= {f"precision_recall/{labels[key][0]}": table for (key,), table in each.items()}
    score = pl.col("score_threshold")
    lowest, highest = curves["precision_recall"].select(score.min(), high=score.max()).row(0)
    if lowest is not None and not 0 <= lowest <= highest <= 1:
        problem = "no precision-recall curve is written: TensorBoard's require scores from 0 to 1"
        warn(f"{problem}, but these are {lowest:g} to {highest:g}", NotComputedWarning)
        return
    for name, table in curves.items():
        if table.height:
            counts = counts_at_thresholds(table).get_columns()
            writer.add_pr_curve_raw(f"{prefix}{name}", *(each.to_numpy() for each in counts), step, _N_THRESHOLDS)


def counts_at_thresholds(table: pl.DataFrame) -> pl.DataFrame:
    """Count the detections from each of 127 scores upwards: 0, 1/126, ... 1; with the rates.

    Parameters
    ----------
    table
        a table of one list, with these columns of `thresholds`: score_threshold, tp, fp, fn, precision, recall; at least one
        row

    Returns
    -------
    tp, fp, tn (0), fn, precision (beyond the highest score, the precision of the highest scores) and recall, in the order of
    `add_pr_curve_raw`

    >>> counts = {"score_threshold": [0.75, 0.25], "tp": [1, 1], "fp": [0, 1], "fn": [1, 1]}
    >>> table = pl.DataFrame(counts | {"precision": [1.0, 0.5], "recall": [0.5, 0.5]})
    >>> counts_at_thresholds(table).gather([0, 63, 126]).rows()
    [(1, 1, 0, 1, 0.5, 0.5), (1, 0, 0, 1, 1.0, 0.5), (0, 0, 0, 2, 1.0, 0.0)]
    """
    n_positives = table.select(pl.col("tp") + pl.col("fn")).item(0, 0)
    grid = pl.select(threshold=pl.int_range(_N_THRESHOLDS) / pl.int_range(_N_THRESHOLDS).max())
    reached = table.sort("score_threshold")
    at = grid.join_asof(reached, left_on="threshold", right_on="score_threshold", strategy="forward")
    zero = pl.lit(0, pl.Int64)
    return at.select(
        pl.col("tp", "fp").fill_null(zero), zero.alias("tn"), pl.col("fn").fill_null(n_positives),
        pl.col("precision").forward_fill(), pl.col("recall").fill_null(0.0),
    )  # fmt: skip


def _sweep(self: Evaluation, *, per_category: bool) -> pl.DataFrame:
    """Return the thresholds table without lists that have no annotations; empty if detections are not ranked by a score."""
    if not self.protocol.has_precision:
        return pl.DataFrame(schema={"score_threshold": pl.Float64})
    return self.thresholds(per_category=per_category).filter(pl.col("recall").is_not_null(), pl.col("precision").is_not_null())


def _first(self: Evaluation) -> Headline:
    """Return the headline for which each category has its own number."""
    protocol = self.protocol
    return next(line for line in (main_headline(protocol), *headlines(protocol)) if not line.is_of_others)


def _of_categories(self: Evaluation, first: Headline) -> pl.DataFrame:
    """Return label and value of the categories for which the number is defined."""
    values = pl.Series(numbers_of_categories(self)[first.metric], dtype=pl.Float64).fill_nan(None)
    return labelled_categories(self).select("label", value=values).drop_nulls("value")
