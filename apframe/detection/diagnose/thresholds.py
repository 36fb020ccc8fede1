"""Which score to cut at: precision, recall and F1 of the detections of at least that score."""

from __future__ import annotations

import polars as pl

from apframe.ranking.curves import GROUP
from apframe.ranking.definitions import recall_of


def sweep_thresholds(matches: pl.LazyFrame) -> pl.LazyFrame:
    """Counts at every score that a counted detection has, for each category, area range and IoU threshold.

    A detection never changes what became of those of higher scores, so that cutting the list is all there is to it.

    Parameters
    ----------
    matches
        from `expand_matches`; with pooled categories, their category_id is null

    Returns
    -------
    category_id, area_range, iou_threshold, score_threshold, tp, fp, fn, precision `tp / (tp + fp)`, recall `tp / (tp + fn)`, f1
    `2 tp / (2 tp + fp + fn)` (these two null without positives) and is_best: the largest f1, and of equal ones the highest
    threshold. By group, highest threshold first.

    >>> from apframe.schema import OUTCOMES
    >>> matches = pl.LazyFrame({
    ...     "category_id": [1] * 4, "area_range": ["all"] * 4, "iou_threshold": [0.5] * 4, "score": [0.9, 0.5, 0.5, None],
    ...     "outcome": ["tp", "fp", "tp", "fn"]}, schema_overrides={"outcome": OUTCOMES})
    >>> sweep_thresholds(matches).select("score_threshold", "tp", "fp", "fn", "f1", "is_best").collect().rows()
    [(0.9, 1, 0, 2, 0.5, False), (0.5, 2, 1, 1, 0.6666666666666666, True)]
    """
    is_tp, is_fp, is_fn = (pl.col("outcome") == name for name in ("tp", "fp", "fn"))
    tp, fp, fn, f1 = (pl.col(name) for name in ("tp", "fp", "fn", "f1"))
    n_positives = (is_tp | is_fn).sum().over(GROUP)
    at_score = [*GROUP, "score"]
    return (
        matches.with_columns(n_positives=n_positives)
        .filter(is_tp | is_fp)
        .group_by(at_score)
        .agg(pl.col("n_positives").first(), tp=is_tp.sum(), fp=is_fp.sum())
        .sort(at_score, descending=[False] * len(GROUP) + [True])
        .with_columns(pl.col("tp", "fp").cum_sum().over(GROUP, order_by="score", descending=True))
        .with_columns(fn=pl.col("n_positives") - tp, n_positives=pl.col("n_positives").replace(0, None))
        .with_columns(
            precision=tp / (tp + fp),
            recall=recall_of(tp, pl.col("n_positives")),
            f1=pl.when(pl.col("n_positives").is_not_null()).then(2 * tp / (2 * tp + fp + fn)),
        )
        .with_columns(is_best=(f1 == f1.max().over(GROUP)).fill_null(False))
        .with_columns(is_best=pl.col("is_best") & (pl.col("score") == pl.col("score").filter("is_best").max().over(GROUP)))
        .rename({"score": "score_threshold"})
        .select(*GROUP, "score_threshold", "tp", "fp", "fn", "precision", "recall", "f1", "is_best")
    )
