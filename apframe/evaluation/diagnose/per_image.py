"""Images ranked by their errors."""

from __future__ import annotations

import polars as pl

_AT = ["area_range", "iou_threshold"]


def count_per_image(matches: pl.LazyFrame, every: pl.LazyFrame) -> pl.LazyFrame:
    """Count the outcomes of every image, at each threshold and area range.

    Parameters
    ----------
    matches
        the result of `expand_matches`
    every
        area_range, iou_threshold and image_id of all rows of the result; those without matches have counts of 0

    Returns
    -------
    area_range, iou_threshold, image_id, tp, fp, fn and mean_similarity (of the true positives, null without any); worst first:
    most errors (fp and fn), then those without a true positive, then the least similar.

    >>> from apframe.tables.schemas import OUTCOMES
    >>> matches = pl.LazyFrame({
    ...     "area_range": ["all"] * 3, "iou_threshold": [0.5] * 3, "image_id": [1, 1, 2], "similarity": [0.75, None, None],
    ...     "outcome": ["tp", "fp", "fn"]}, schema_overrides={"outcome": OUTCOMES})
    >>> every = pl.LazyFrame({"area_range": ["all"] * 3, "iou_threshold": [0.5] * 3, "image_id": [1, 2, 3]})
    >>> count_per_image(matches, every).drop("area_range", "iou_threshold").collect().rows()
    [(2, 0, 0, 1, None), (1, 1, 1, 0, 0.75), (3, 0, 0, 0, None)]
    """
    of_true = pl.col("similarity").filter(pl.col("outcome") == "tp").sort()
    counts = matches.group_by(*_AT, "image_id").agg(
        *((pl.col("outcome") == name).sum().cast(pl.Int64).alias(name) for name in ("tp", "fp", "fn")),
        # a running sum of sorted values, because the last bit of `mean` depends on the group's place in memory
        mean_similarity=of_true.cum_sum().last() / of_true.len(),
    )
    return (
        every.join(counts, on=[*_AT, "image_id"], how="left")
        .with_columns(pl.col("tp", "fp", "fn").fill_null(0))
        .sort(*_AT, pl.col("fp") + pl.col("fn"), "mean_similarity", "image_id", descending=[False, False, True, False, False])
    )
