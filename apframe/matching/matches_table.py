"""The table `matches`: the outcome of every detection, and the missed annotations."""

from __future__ import annotations

import polars as pl

from apframe.matching.verdicts import Verdicts, range_names, threshold_names
from apframe.tables.schemas import OUTCOMES

_AT = ["first", "slice"]


def expand_matches(
    verdicts: Verdicts, detections: pl.DataFrame, annotations: pl.DataFrame, threshold: int | None = None, k: int | None = None
) -> pl.LazyFrame:
    """Return one row per detection, and one per missed annotation, for each threshold and area range.

    The result is a plan, not a table, because the table is as large as detections × thresholds × ranges. Pass few thresholds
    and ranges, or filter `iou_threshold` and `area_range` before collecting; the filters are pushed down in the plan.

    Parameters
    ----------
    verdicts
        the outcome of matching; hits are those at the largest limit
    detections, annotations
        evaluated detections and annotations, with detection_id or annotation_id, image_id and category_id, by their `row` in
        the verdicts
    threshold, k
        only this threshold, or this area range, by number

    Returns
    -------
    match_id, image_id, category_id, detection_id, annotation_id (null if none), iou_threshold (rounded to ten digits),
    area_range, score, rank (within the list), similarity and outcome. `tp`: matched to an annotation that counts. `ignored`:
    matched to one that does not, or not matched and itself outside the area range or the subset. `fp`: any other detection.
    `fn`: an annotation that counts and was not matched; it has no detection_id, score or rank. At one threshold and range,
    rows are in the order of `match_id`: detections by list and rank, then missed annotations.

    >>> from apframe.matching.verdicts import example
    >>> detections = pl.DataFrame({"detection_id": [7, 8], "image_id": ["a", "b"], "category_id": [1, 1]})
    >>> expected = pl.DataFrame({"annotation_id": [3], "image_id": ["a"], "category_id": [1]})
    >>> expand_matches(example(), detections, expected).select("detection_id", "annotation_id", "outcome").collect().rows()
    [(7, 3, 'tp'), (8, None, 'fp')]
    """
    grid = every(verdicts, threshold, k)
    hits = expand_hits(verdicts.hits_at(-1), grid).select(
        "detection", "annotation", "similarity", *_AT, is_true=in_range("true")
    )
    rows = verdicts.detections
    is_within = rows["place"] <= verdicts.limits[-1]
    ids = detections.select("detection_id", "image_id", "category_id")[rows["row"]]
    ranked = (
        pl.concat([rows.select("list", "score", "inside"), ids], how="horizontal")
        .with_row_index("detection")
        .filter(is_within)
        .lazy()
        .with_columns(rank=pl.int_range(1, pl.len() + 1).over("list"))
    )
    annotation_ids = annotations.select("annotation_id", "image_id", "category_id")[verdicts.annotations["row"]]
    annotated = (
        pl.concat([verdicts.annotations.select("row", "counts"), annotation_ids], how="horizontal")
        .with_row_index("annotation")
        .lazy()
    )
    outcomes = (
        ranked.join(grid, how="cross", maintain_order="left_right")
        .join(
            # columns for the many detections are joined to the few hits first
            hits.join(annotated.select("annotation", "annotation_id"), on="annotation"),
            on=["detection", *_AT],
            how="left",
            maintain_order="left",
        )
        .with_columns(
            outcome=pl.when("is_true").then(pl.lit("tp", OUTCOMES))
            .when(pl.col("annotation").is_not_null() | ~in_range("inside")).then(pl.lit("ignored", OUTCOMES))
            .otherwise(pl.lit("fp", OUTCOMES)),
            position=pl.col("detection").cast(pl.Int64),
        )
    )  # fmt: skip
    missed = (
        annotated.join(grid, how="cross")
        .filter(in_range("counts"))
        .join(hits, on=["annotation", *_AT], how="anti")
        .sort(*_AT, "row")
        .with_columns(outcome=pl.lit("fn", OUTCOMES), position=2**31 + pl.col("row").cast(pl.Int64))
    )
    # the number of a row does not depend on which other rows are requested
    number = (pl.col("slice").cast(pl.Int64) * 2**16 + pl.col("first")) * 2**32 + pl.col("position")
    return pl.concat([outcomes, missed], how="diagonal").select(
        number.alias("match_id"), "image_id", "category_id", "detection_id", "annotation_id", "iou_threshold",
        "area_range", "score", "rank", "similarity", "outcome",
    )  # fmt: skip


def expand_hits(hits: pl.DataFrame, grid: pl.LazyFrame) -> pl.LazyFrame:
    """Expand the hits to a row for each threshold (`first`) and area range of the grid (from `every`) where they hold.

    >>> from apframe.matching.verdicts import example
    >>> expand_hits(example().hits, every(example())).select("detection", "iou_threshold", "area_range").collect().rows()
    [(0, 0.5, 'all')]
    """
    at_each = hits.lazy().with_columns(first=pl.int_ranges("first", "last", dtype=pl.UInt16)).explode("first")
    return at_each.join(grid, on="first").filter(in_range("ranges"))


def in_range(column: str) -> pl.Expr:
    """True where the set in a column contains the area range of the row, whose `bit` is from `every`."""
    return (pl.col(column) & pl.col("bit")) != 0


def every(verdicts: Verdicts, threshold: int | None = None, k: int | None = None) -> pl.LazyFrame:
    """Return every threshold and area range, or one of each: first and iou_threshold, slice, area_range and bit.

    `first` and `slice` are their numbers; `bit` is the set of this range alone.
    """
    thresholds = threshold_names(verdicts.thresholds).to_frame().with_row_index("first")
    bits = pl.Series("bit", [1 << number for number in range(len(verdicts.ranges))], dtype=verdicts.detections.schema["inside"])
    ranges = pl.DataFrame([range_names(verdicts.ranges), bits]).with_row_index("slice")
    if threshold is not None:
        thresholds = thresholds[[threshold]]
    if k is not None:
        ranges = ranges[[k]]
    return (
        thresholds.lazy()
        .with_columns(pl.col("first").cast(pl.UInt16))
        .join(ranges.lazy().with_columns(pl.col("slice").cast(pl.Int16)), how="cross")
    )
