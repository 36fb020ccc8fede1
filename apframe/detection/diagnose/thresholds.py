"""Which score to cut at: precision, recall and F1 of the detections of at least that score."""

from __future__ import annotations

import polars as pl

from apframe.matching.outcomes import every, expand_hits, in_range
from apframe.matching.verdicts import Verdicts
from apframe.ranking.curves import GROUP
from apframe.ranking.definitions import recall_of


def sweep_thresholds(changes: pl.LazyFrame) -> pl.LazyFrame:
    """Counts at every score at which they change, for each category, area range and IoU threshold.

    Parameters
    ----------
    changes
        category_id, area_range, iou_threshold, n_positives, score, tp and fp: by how much these change when the detections of
        that score come in; from `changes_of_matches` or `changes_of_hits`

    Returns
    -------
    category_id, area_range, iou_threshold, score_threshold, tp, fp, fn, precision `tp / (tp + fp)`, recall `tp / (tp + fn)`, f1
    `2 tp / (2 tp + fp + fn)` (these two null without positives) and is_best: the largest f1, and of equal ones the highest
    threshold. By group, highest threshold first.

    >>> changes = pl.LazyFrame({
    ...     "category_id": [1] * 3, "area_range": ["all"] * 3, "iou_threshold": [0.5] * 3, "n_positives": [3] * 3,
    ...     "score": [0.9, 0.5, 0.5], "tp": [1, 0, 1], "fp": [0, 1, 0]})
    >>> sweep_thresholds(changes).select("score_threshold", "tp", "fp", "fn", "f1", "is_best").collect().rows()
    [(0.9, 1, 0, 2, 0.5, False), (0.5, 2, 1, 1, 0.6666666666666666, True)]
    """
    tp, fp, fn, f1 = (pl.col(name) for name in ("tp", "fp", "fn", "f1"))
    at_score = [*GROUP, "score"]
    return (
        changes.group_by(at_score)
        .agg(pl.col("n_positives").first(), tp.sum(), fp.sum())
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
        .select(*GROUP, "score_threshold", pl.col("tp", "fp", "fn").cast(pl.UInt32), "precision", "recall", "f1", "is_best")
    )


def changes_of_matches(matches: pl.LazyFrame) -> pl.LazyFrame:
    """What each counted detection changes, where cutting by score is filtering: see `sweep_thresholds`.

    `matches` are those of `expand_matches`; with pooled categories, their category_id is null.

    >>> from apframe.schema import OUTCOMES
    >>> matches = pl.LazyFrame({
    ...     "category_id": [1] * 3, "area_range": ["all"] * 3, "iou_threshold": [0.5] * 3, "score": [0.9, 0.5, None],
    ...     "outcome": ["tp", "fp", "fn"]}, schema_overrides={"outcome": OUTCOMES})
    >>> changes_of_matches(matches).select("score", "n_positives", "tp", "fp").collect().rows()
    [(0.9, 2, 1, 0), (0.5, 2, 0, 1)]
    """
    is_tp, is_fp, is_fn = (pl.col("outcome") == name for name in ("tp", "fp", "fn"))
    n_positives = (is_tp | is_fn).sum().over(GROUP)
    numbers = [each.cast(pl.Int64).alias(name) for name, each in (("tp", is_tp), ("fp", is_fp))]
    return (
        matches.with_columns(n_positives=n_positives.cast(pl.Int64))
        .filter(is_tp | is_fp)
        .select(*GROUP, "n_positives", "score", *numbers)
    )


def changes_of_hits(verdicts: Verdicts, hits: pl.DataFrame, threshold: int | None = None, k: int | None = None) -> pl.LazyFrame:
    """What changes at each score, where it takes another match: see `sweep_thresholds`.

    Parameters
    ----------
    verdicts
        of the detections
    hits
        from `hits_by_score`, by the same numbers of detections and thresholds
    threshold, k
        only this threshold, or this area range, by number
    """
    grid = every(verdicts, threshold, k)
    at = ["first", "bit"]
    found = verdicts.detections.lazy().with_row_index("detection").select("detection", "list", "score", "inside", "place")
    inside = in_range("inside").cast(pl.Int64)
    alone = (
        found.filter(pl.col("place") <= verdicts.limits[-1])
        .join(grid.select(at), how="cross")
        .select("list", *at, "score", tp=pl.lit(0, pl.Int64), fp=inside)
    )
    matched = (
        expand_hits(hits, grid.select(at))
        .join(found.select("detection", "list", "inside"), on="detection")
        .with_columns(tp=in_range("true").cast(pl.Int64), fp=-inside)
    )
    begins, ends = (
        matched.select("list", *at, score=bound, tp=sign * pl.col("tp"), fp=sign * pl.col("fp"))
        for bound, sign in (("up_to", 1), ("above", -1))
    )
    columns = ["list", *at, "score"]
    changes = pl.concat([alone, begins, ends]).filter(pl.col("score").is_finite()).group_by(columns).agg(pl.sum("tp", "fp"))
    positives = (
        verdicts.annotations.lazy()
        .select("list", "counts")
        .join(grid.select(at), how="cross")
        .filter(in_range("counts"))
        .group_by("list", *at)
        .agg(n_positives=pl.len().cast(pl.Int64))
    )
    lists = verdicts.lists.lazy().select("category_id").with_row_index("list")
    return (
        changes.filter((pl.col("tp") != 0) | (pl.col("fp") != 0))
        .join(positives, on=["list", *at], how="left")
        .with_columns(pl.col("n_positives").fill_null(0))
        .join(lists, on="list")
        .join(grid, on=at)
        .select(*GROUP, "n_positives", "score", "tp", "fp")
    )
