"""The curves table: precision and recall at every counted rank."""

from __future__ import annotations

import polars as pl

from apframe.metrics.points import envelope, precision_of, recall_of

GROUP = ["category_id", "area_range", "iou_threshold"]


def curves_of_thresholds(thresholds: pl.LazyFrame, id_dtype: pl.DataType) -> pl.LazyFrame:
    """Curves of a protocol that matches anew at each score cut-off: a row for each cut-off at which a count changes.

    Parameters
    ----------
    thresholds
        the thresholds table
    id_dtype
        the type of `detection_id`, which is null, because several detections may change at once

    Returns
    -------
    As `compute_curves`; `rank` is the number of detections that count.

    >>> thresholds = pl.LazyFrame({
    ...     "category_id": [1, 1], "area_range": ["easy"] * 2, "iou_threshold": [0.7] * 2, "score_threshold": [0.9, 0.8],
    ...     "tp": [1, 2], "fp": [2, 1], "precision": [1 / 3, 2 / 3], "recall": [0.25, 0.5]})
    >>> curves_of_thresholds(thresholds, pl.Int64()).select("rank", "tp", "fp", "envelope").collect().rows()
    [(3, 1, 2, 0.6666666666666666), (3, 2, 1, 0.6666666666666666)]
    """
    counts = (pl.col(name).cast(pl.UInt32).alias(to) for name, to in (("n", "rank"), ("tp", "tp"), ("fp", "fp")))
    return (
        thresholds.with_columns(n=pl.col("tp") + pl.col("fp"))
        .filter(pl.col("n") > 0)
        .with_columns(
            *counts,
            detection_id=pl.lit(None, id_dtype),
            score="score_threshold",
            envelope=envelope(pl.col("precision")).over(GROUP, order_by="score_threshold", descending=True),
        )
        .select(*GROUP, "rank", "detection_id", "score", "tp", "fp", "precision", "recall", "envelope")
        .sort(*GROUP, "score", descending=[False, False, False, True])
    )


def compute_curves(matches: pl.LazyFrame, addend: float = 0.0) -> pl.LazyFrame:
    """Count cumulatively down the ranking of every category, area range and threshold.

    Parameters
    ----------
    matches
        the result of `expand_matches`
    addend
        a number added to the divisor of precision, see `precision_of`

    Returns
    -------
    By group and rank: category_id, area_range, iou_threshold, rank (from 1, without ignored detections), detection_id,
    score, tp, fp, precision `tp / (tp + fp)`, recall `tp / n_positives` (null without positives), envelope (the largest
    precision at this rank or further down: the interpolated precision).

    >>> from apframe.tables.schemas import OUTCOMES
    >>> matches = pl.LazyFrame({
    ...     "category_id": [1] * 4, "area_range": ["all"] * 4, "iou_threshold": [0.5] * 4, "detection_id": [1, 2, 3, None],
    ...     "score": [0.9, 0.8, 0.7, None], "rank": [1, 2, 3, None], "outcome": ["tp", "fp", "tp", "fn"],
    ... }, schema_overrides={"outcome": OUTCOMES})
    >>> compute_curves(matches).select("rank", "tp", "fp", "recall").collect().rows()
    [(1, 1, 0, 0.3333333333333333), (2, 1, 1, 0.3333333333333333), (3, 2, 1, 0.6666666666666666)]
    """
    is_tp, is_fp = pl.col("outcome") == "tp", pl.col("outcome") == "fp"
    n_positives = pl.col("outcome").is_in(["tp", "fn"]).sum().over(GROUP)
    tp, fp = pl.col("tp"), pl.col("fp")
    return (
        matches.with_columns(n_positives=n_positives.replace(0, None))
        .filter(is_tp | is_fp)
        .with_columns(tp=is_tp.cum_sum().over(GROUP, order_by="rank"), fp=is_fp.cum_sum().over(GROUP, order_by="rank"))
        .with_columns(rank=tp + fp, precision=precision_of(tp, tp + fp, addend), recall=recall_of(tp, pl.col("n_positives")))
        .with_columns(envelope=envelope(pl.col("precision")).over(GROUP, order_by="rank"))
        .select(*GROUP, "rank", "detection_id", "score", "tp", "fp", "precision", "recall", "envelope")
        .sort(*GROUP, "rank")
    )
