"""One number for the score thresholds of a category: the best LRP, log-average miss rate, mean sensitivity (FROC)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from apframe.evaluation.tables_at_threshold import with_names
from apframe.exceptions import ParameterError
from apframe.metrics.miss_rates import LAMR_POINTS, log_average_miss_rate
from apframe.option_values import one_of
from apframe.protocols.lookups import place_at

if TYPE_CHECKING:
    from apframe.evaluation.evaluation import Evaluation

_FROC_POINTS = (1 / 8, 1 / 4, 1 / 2, 1.0, 2.0, 4.0, 8.0)
_LEVELS = ("category", "point")


def lrp(self: Evaluation, iou_threshold: float | None = None, area_range: str | None = None) -> pl.DataFrame:
    """Compute the optimal localization recall precision error (oLRP) per category, and the mean; lower is better.

    LRP is the mean cost of true positives, false positives and misses: a false positive or a miss costs 1, a true positive `(1
    - similarity) / (1 - iou_threshold)`. oLRP is its smallest value over the score thresholds. Because a miss costs as much as
    a false positive, the score threshold of oLRP is low if recall is low: it is not a safety threshold.

    Parameters
    ----------
    iou_threshold, area_range
        as in `matches`

    Returns
    -------
    category_id, name, area_range, iou_threshold, n_annotations (those that count), olrp, lrp_loc (mean of 1 - similarity over
    the true positives), lrp_fp (false positives among the detections), lrp_fn (misses among the annotations) and
    score_threshold: the highest score at which LRP is smallest.
    All are null without annotations. Without true positives olrp and lrp_fn are 1, the others null. The last row, without a
    category_id, has the means over the categories for which they are defined. Pooled categories have one row.

    Source: Oksuz et al., TPAMI 2021 (arXiv 2011.10772).

    >>> from apframe import Dataset, evaluate
    >>> box = {"image_id": [1], "category_id": [1], "x": [0], "y": [0], "width": [10], "height": [10]}
    >>> detections = box | {"score": [0.6], "width": [9]}
    >>> ev = evaluate(Dataset({"image_id": [1]}, {"category_id": [1]}, box), detections)
    >>> ev.lrp(0.5).select("category_id", pl.col("olrp").round(6), "score_threshold").rows()
    [(1, 0.2, 0.6), (None, 0.2, 0.6)]
    """
    threshold, area = place_at(self.protocol, iou_threshold, area_range)
    best = self._pipeline.thresholds(threshold, area).filter("is_best_lrp").collect()
    parts = ["lrp_loc", "lrp_fp", "lrp_fn"]
    best = best.select("category_id", "score_threshold", *parts, olrp="lrp")
    table = _joined(self._pipeline.positives(threshold, area), best)
    none_found = pl.col("olrp").is_null() & (pl.col("n_annotations") > 0) & (pl.col("iou_threshold") < 1)
    table = table.with_columns(pl.when(none_found).then(1.0).otherwise(pl.col("olrp", "lrp_fn")).name.keep())
    return _with_mean(self, table.select(pl.exclude("olrp", "score_threshold", *parts), "olrp", *parts, "score_threshold"))


def miss_rates(
    self: Evaluation,
    iou_threshold: float | None = None,
    area_range: str | None = None,
    *,
    fppi: Sequence[float] = LAMR_POINTS,
    level: str = "category",
) -> pl.DataFrame:
    """Compute the log-average miss rate (LAMR, MR⁻²) per category, and the mean: the measure of pedestrian detection.

    It is the geometric mean of the miss rates at nine numbers of false positives per image, evenly spaced by their logarithm
    from .01 to 1. The miss rate at a number is that of the lowest score with at most this many false positives per image, or 1
    if the highest score has more. All evaluated images count, including those without annotations.

    Parameters
    ----------
    iou_threshold, area_range
        as in `matches`
    fppi
        other numbers of false positives per image
    level
        "category": one row per category. "point": one row per category and number of false positives per image

    Returns
    -------
    category_id, name, area_range, iou_threshold, n_annotations (those that count) and lamr, null without annotations. The last
    row, without a category_id, has the mean over the categories for which it is defined. Pooled categories have one row. With
    level="point", instead of lamr: fppi, score_threshold (null if the highest score has more) and miss_rate; no means.

    Raises
    ------
    ParameterError
        a threshold or an area range that was not evaluated, numbers that are not above 0, an unknown level

    Source: Dollár et al., PAMI 2012. Code that reads the last miss rate where there is none so far gives lower numbers.

    >>> from apframe import Dataset, evaluate
    >>> box = {"image_id": [1], "category_id": [1], "x": [0], "y": [0], "width": [9], "height": [9]}
    >>> two = {name: 2 * each for name, each in box.items()}
    >>> truth = Dataset({"image_id": range(10)}, {"category_id": [1]}, two | {"x": [0, 50]})
    >>> round(evaluate(truth, two | {"x": [90, 0], "score": [0.9, 0.8]}).miss_rates(0.5)["lamr"][0], 6)
    0.680395

    The first score is a false positive in ten images, which exceeds four of the points: the miss rate is 1 at these, and .5 at
    the other five.
    """
    points, is_known = _points(fppi), pl.col("n_annotations") > 0
    if one_of("level", level, _LEVELS) == "point":
        long = _read(self, iou_threshold, area_range, points).drop("recall")
        rate = pl.when(is_known).then(pl.col("miss_rate").fill_null(1.0)).alias("miss_rate")
        return with_names(self, long.with_columns(rate).drop("n_annotations"))
    threshold, area = place_at(self.protocol, iou_threshold, area_range)
    curves = self._pipeline.thresholds(threshold, area).group_by("category_id")
    table = _joined(self._pipeline.positives(threshold, area), curves.agg(lamr=log_average_miss_rate(points)).collect())
    return _with_mean(self, table.with_columns(lamr=pl.when(is_known).then(pl.col("lamr").fill_null(1.0))))


def froc(
    self: Evaluation,
    iou_threshold: float | None = None,
    area_range: str | None = None,
    *,
    fppi: Sequence[float] = _FROC_POINTS,
    interpolate: bool = False,
    level: str = "category",
) -> pl.DataFrame:
    """Compute the mean sensitivity of the FROC curve (CPM) per category, and the mean: the measure of lesion detection.

    It is the mean recall at 1/8, 1/4, 1/2, 1, 2, 4 and 8 false positives per image. The recall at a number is that of the
    lowest score with at most this many false positives per image, or 0 if the highest score has more. All evaluated images
    count.

    Parameters
    ----------
    iou_threshold, area_range
        as in `matches`
    fppi
        other numbers of false positives per image; CAMELYON uses 1/4 to 8
    interpolate
        connect the points of the curve by straight lines from (0, 0) on, as the challenge does. This only makes a difference
        among detections with equal scores
    level
        "category": one row per category. "point": one row per category and number of false positives per image

    Returns
    -------
    category_id, name, area_range, iou_threshold, n_annotations (those that count) and cpm, null without annotations. The last
    row, without a category_id, has the mean over the categories for which it is defined. Pooled categories have one row. With
    level="point", instead of cpm: fppi, score_threshold (null if the highest score has more) and recall; no means.

    Raises
    ------
    ParameterError
        a threshold or an area range that was not evaluated, numbers that are not above 0, an unknown level

    Source: Setio et al., Medical Image Analysis 2017 (LUNA16). Here, a second detection of an annotation is a false positive,
    unless the protocol ignores it.

    >>> from apframe import Dataset, evaluate
    >>> box = {"image_id": [1], "category_id": [1], "x": [0], "y": [0], "width": [9], "height": [9]}
    >>> detections = {name: 2 * each for name, each in box.items()} | {"x": [90, 0], "score": [0.9, 0.8]}
    >>> ev = evaluate(Dataset({"image_id": range(2)}, {"category_id": [1]}, box), detections)
    >>> ev.froc(0.5, fppi=[0.25, 1], level="point").select("fppi", "recall").rows()
    [(0.25, 0.0), (1.0, 1.0)]
    """
    points = _points(fppi)
    long = _read(self, iou_threshold, area_range, points, interpolate=interpolate).with_columns(
        recall=pl.when(pl.col("n_annotations") > 0).then(pl.col("recall").fill_null(0.0))
    )
    if one_of("level", level, _LEVELS) == "point":
        return with_names(self, long.drop("miss_rate", "n_annotations"))
    return _with_mean(self, _averaged(long.with_columns(value="recall"), points).rename({"value": "cpm"}))


def _points(fppi: Any) -> list[float]:
    """Return the numbers of false positives per image, ascending."""
    points = [fppi] if isinstance(fppi, (int, float)) else list(fppi)
    for each in points:
        if isinstance(each, bool) or not isinstance(each, (int, float)) or not 0 < each < float("inf"):
            raise ParameterError(f"are numbers above 0, not {each!r}", option="fppi")
    if not points:
        raise ParameterError("is empty", "leave it out for the usual numbers", option="fppi")
    return sorted({float(each) for each in points})


def _joined(categories: pl.DataFrame, table: pl.DataFrame) -> pl.DataFrame:
    return categories.join(table, on="category_id", how="left", nulls_equal=True, maintain_order="left")


def _read(
    self: Evaluation, iou_threshold: float | None, area_range: str | None, points: list[float], *, interpolate: bool = False
) -> pl.DataFrame:
    """Read each category's curve at each number of false positives per image: by category, then fppi.

    Columns: those of `Pipeline.positives`, fppi; score_threshold, recall and miss_rate, which are null before the first score.
    """
    threshold, area = place_at(self.protocol, iou_threshold, area_range)
    table = self._pipeline.thresholds(threshold, area).collect().lazy()
    categories = self._pipeline.positives(threshold, area).with_row_index("place")
    rates, beyond = ["recall", "miss_rate"], {"next_recall": pl.first("recall"), "next_fppi": pl.first("fppi")}
    parts = []
    for point in points:
        up_to, rest = (table.filter(side).group_by("category_id") for side in (pl.col("fppi") <= point, pl.col("fppi") > point))
        last = up_to.agg(pl.last("score_threshold", *rates), last_fppi=pl.last("fppi")).collect()
        part = _joined(categories, last)
        if interpolate:
            here, begin = pl.col("recall").fill_null(0.0), pl.col("last_fppi").fill_null(0.0)
            share = (point - begin) / (pl.col("next_fppi") - begin)
            recall = pl.coalesce(here + share * (pl.col("next_recall") - here), here)
            part = _joined(part, rest.agg(**beyond).collect()).with_columns(recall=recall, miss_rate=1 - recall)
        parts.append(part.with_columns(fppi=pl.lit(point)).select(pl.exclude("last_fppi", *beyond)))
    names = ["category_id", "area_range", "iou_threshold", "n_annotations", "fppi", "score_threshold", *rates]
    return pl.concat(parts).sort("place", "fppi").select(names)


def _averaged(long: pl.DataFrame, points: list[float]) -> pl.DataFrame:
    """Return the mean of the column `value` over the points: one row per category."""
    first = long.gather_every(len(points)).select("category_id", "area_range", "iou_threshold", "n_annotations")
    if long.is_empty():
        return first.with_columns(value=pl.lit(None, pl.Float64))
    return first.with_columns(value=long["value"].reshape((-1, len(points))).arr.mean())


def _with_mean(self: Evaluation, table: pl.DataFrame) -> pl.DataFrame:
    """Add names, and a last row with the means of the numbers over the categories for which they are defined."""
    named = with_names(self, table)
    if self._pipeline.outline.is_pooled:
        return named
    kept = {"category_id", "name", "area_range", "iou_threshold", "n_annotations"}
    numbers = [name for name in table.columns if name not in kept]
    mean = named.select(
        pl.col("area_range", "iou_threshold").first(), pl.col("n_annotations").sum(), pl.col(numbers).mean()
    ).filter(pl.lit(named.height > 0))
    return pl.concat([named, mean], how="diagonal").select(named.columns)
