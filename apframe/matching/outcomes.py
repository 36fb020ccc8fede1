"""The matches table: what became of every detection, and which annotations nobody found."""

from __future__ import annotations

import polars as pl

from apframe.matching.assignments import EVERY_SLICE
from apframe.schema import OUTCOMES

_AT = ["first", "slice"]


def expand_matches(
    detections: pl.LazyFrame,
    annotations: pl.LazyFrame,
    assignments: pl.LazyFrame,
    thresholds: pl.LazyFrame,
    slices: pl.LazyFrame,
) -> pl.LazyFrame:
    """One row per detection, and one per annotation that was missed, for each threshold and slice.

    A plan, not a table: dense, it is as large as detections × thresholds × slices. Give few thresholds and slices, or
    filter `iou_threshold` and `area_range` before collecting; the filters move down to where the rows arise.

    Parameters
    ----------
    detections
        `detection` (its place in the order), `detection_id`, `image_id`, `category_id`, `score`, `area`, `rank`
        (within the category) and `is_ignored` (when it is not matched, whatever its area)
    annotations
        `annotation` (row number), `annotation_id`, `image_id`, `category_id`, `area` and `is_ignored` (whatever its area)
    assignments
        see `apframe.matching.assignments`
    thresholds
        `first` (number), `iou_threshold`
    slices
        `slice` (number), `area_range` (name), `low`, `high`

    Returns
    -------
    match_id, image_id, category_id, detection_id, annotation_id (null if none), iou_threshold, area_range, score, rank,
    similarity and outcome. `tp`: matched to an annotation that counts. `ignored`: matched to one that does not, or not
    matched and itself outside the area range or the subset. `fp`: any other detection. `fn`: an annotation that counts and
    was not matched; it has no detection_id, score or rank. At one threshold and slice the rows come in the order of `match_id`:
    detections by category and rank, then missed annotations.
    """
    grid = thresholds.join(slices, how="cross")
    held = assignments.with_columns(first=pl.int_ranges("first", "last", dtype=pl.UInt16)).explode("first").drop("last")
    everywhere = held.filter(pl.col("slice") == EVERY_SLICE).drop("slice").join(slices.select("slice"), how="cross")
    hits = pl.concat(
        [everywhere, held.filter(pl.col("slice") != EVERY_SLICE).select(everywhere.collect_schema().names())]
    ).join(grid.select(_AT), on=_AT, how="semi")

    outside = ~pl.col("area").is_between("low", "high")
    counting = annotations.join(grid, how="cross").filter(~(pl.col("is_ignored") | outside))
    is_true = counting.select("annotation", *_AT, counts=pl.lit(True))
    # all that is joined to the many detections is joined to the few hits first
    verdicts = hits.join(is_true, on=["annotation", *_AT], how="left").join(
        annotations.select("annotation", "annotation_id"), on="annotation"
    )
    found = (
        detections.join(grid, how="cross", maintain_order="left_right")
        .join(verdicts, on=["detection", *_AT], how="left", maintain_order="left")
        .with_columns(
            outcome=pl.when(pl.col("counts") & ~pl.col("is_repeat")).then(pl.lit("tp", OUTCOMES))
            .when(pl.col("annotation").is_not_null() | pl.col("is_ignored") | outside).then(pl.lit("ignored", OUTCOMES))
            .otherwise(pl.lit("fp", OUTCOMES)),
            position=pl.col("detection").cast(pl.Int64),
        )
    )  # fmt: skip
    missed = (
        counting.join(hits, on=["annotation", *_AT], how="anti")
        .sort(*_AT, "annotation")
        .with_columns(outcome=pl.lit("fn", OUTCOMES), position=2**31 + pl.col("annotation").cast(pl.Int64))
    )
    # which number a row has does not depend on which other rows were asked for
    number = (pl.col("slice").cast(pl.Int64) * 2**16 + pl.col("first")) * 2**32 + pl.col("position")
    return pl.concat([found, missed], how="diagonal").select(
        number.alias("match_id"), "image_id", "category_id", "detection_id", "annotation_id", "iou_threshold",
        "area_range", "score", "rank", "similarity", "outcome",
    )  # fmt: skip
