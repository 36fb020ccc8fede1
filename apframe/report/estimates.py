"""The tables of `intervals` and `compare` where there is one image, and so nothing to draw from: numbers without intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

if TYPE_CHECKING:
    from apframe.evaluation.evaluation import Evaluation

_NULL = ["low", "high", "share_better", "p", "p_holm", "q", "detectable"]


def estimates(
    evaluations: Sequence[Evaluation],
    names: Sequence[str],
    metrics: Sequence[str],
    by: Sequence[Any] = (),
    level: str = "summary",
) -> pl.DataFrame:
    """Return the numbers of one evaluation, or of the first one beside each other one, with null intervals.

    Parameters
    ----------
    evaluations, names
        that agree, and what they are called
    metrics
        names of headline numbers
    by, level
        as `Evaluation.intervals` takes them

    Returns
    -------
    The keys of slices, category_id and name unless level="summary", and metric; estimate, or of several evaluations run_a,
    run_b, estimate_a, estimate_b and difference; and nulls for what needs more than one image.

    >>> from apframe.evaluation.evaluate import evaluate
    >>> truth = {"images": [{"id": 1}], "categories": [{"id": 1, "name": "cat"}], "annotations": [
    ...     {"id": 1, "image_id": 1, "category_id": 1, "bbox": [0, 0, 9, 9]}]}
    >>> estimates([evaluate(truth, [])] * 2, ["a", "b"], ["AP"]).select("metric", "estimate_a", "difference", "low").rows()
    [('AP', 0.0, 0.0, None)]
    """
    missing = [pl.lit(None, pl.Float64).alias(name) for name in _NULL]
    first, *others = (_numbers(each, metrics, by, level) for each in evaluations)
    if not others:
        return first.with_columns(missing)
    a, keys = first["estimate"], [name for name in first.columns if name != "estimate"]
    return pl.concat(
        table.select(
            *keys,
            pl.lit(names[0]).alias("run_a"),
            pl.lit(name).alias("run_b"),
            a.alias("estimate_a"),
            pl.col("estimate").alias("estimate_b"),
            (pl.col("estimate") - a).alias("difference"),
            *missing,
        )
        for name, table in zip(names[1:], others, strict=True)
    )


def _numbers(self: Evaluation, metrics: Sequence[str], by: Sequence[Any], level: str) -> pl.DataFrame:
    """Keys, metric and estimate."""
    tables = [self.by(*by, level=each) for each in (("summary", "category") if level == "both" else (level,))]
    wide = pl.concat(tables, how="diagonal").select(tables[-1].columns)
    known = [name for name in metrics if name in wide.columns]
    keys = wide.columns[: wide.columns.index(known[0])]
    return wide.unpivot(known, index=keys, variable_name="metric", value_name="estimate")
