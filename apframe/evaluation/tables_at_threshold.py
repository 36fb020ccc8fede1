"""The tables of an evaluation at one threshold and area range: matches, curves, images, score thresholds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from apframe.evaluation.slices.by import each_slice
from apframe.evaluation.slices.keys import as_keys
from apframe.evaluation.thresholds.min_scores import as_score
from apframe.exceptions import ParameterError
from apframe.protocols.lookups import place_at
from apframe.tables.conditions import choose_categories

if TYPE_CHECKING:
    from apframe.evaluation.evaluation import Evaluation
    from apframe.evaluation.slices.keys import SliceKey


def matches(self: Evaluation, iou_threshold: float | None = None, area_range: str | None = None) -> pl.DataFrame:
    """Return one row per detection and per missed annotation, at one threshold and area range.

    Parameters
    ----------
    iou_threshold
        a threshold of the protocol, within 1e-9; the lowest by default
    area_range
        the name of one of the protocol's area ranges; "all" by default

    Returns
    -------
    match_id, image_id, category_id, detection_id, annotation_id, iou_threshold, area_range, score, rank (within the
    category; among all when they are pooled), similarity, outcome: tp, fp, fn (no detection_id) or ignored.
    Detections come by category and rank, followed by missed annotations. Detections beyond max_detections are excluded and have
    no row.
    """
    if "matches" in self._source.stored and (kept := _kept_matches(self, iou_threshold, area_range)).height:
        return kept
    return self._pipeline.matches(*place_at(self.protocol, iou_threshold, area_range)).collect()


def curves(
    self: Evaluation,
    iou_threshold: float | None = None,
    area_range: str | None = None,
    category: int | str | None = None,
    *,
    by: SliceKey | Sequence[SliceKey] = (),
) -> pl.DataFrame:
    """Compute precision and recall at every rank, at one threshold and area range, for one category or each.

    Columns: category_id, name, area_range, iou_threshold, rank (from 1, without ignored detections), detection_id, score, tp,
    fp, precision, recall (null without annotations) and envelope (the best precision from here on). `category` is a name or an
    id. Defaults are as in `matches`. With `by`, which accepts the keys of the method `by`, the result has the curves of every
    slice, with its keys as the first columns. A protocol that matches anew at each score cut-off has a row for each cut-off at
    which a count changes, and no detection_id.
    """
    if keys := as_keys(by):
        parts = [
            values.join(part.curves(iou_threshold, area_range, category), how="cross")
            for values, part in each_slice(self, keys)
        ]
        if not parts:
            raise ParameterError("there are no slices, as the table of the keys has no rows", option="by")
        return pl.concat(parts, how="vertical_relaxed")
    plan = self._pipeline.curves(*place_at(self.protocol, iou_threshold, area_range))
    return with_names(self, _of_category(self, plan, category).collect())


def per_image(
    self: Evaluation, iou_threshold: float | None = None, area_range: str | None = None, *, min_score: float | None = None
) -> pl.DataFrame:
    """Count true positives, false positives and misses of each image at one threshold and area range, worst image first.

    Columns: image_id, file_name, tp, fp, fn, mean_similarity (of the true positives, null without any). Images with most errors
    come first, then those with the lowest mean similarity. With `min_score`, detections below that score are ignored, and the
    annotations that they matched are misses. Defaults are as in `matches`.
    """
    min_score = None if min_score is None else as_score(min_score)
    counts = self._pipeline.per_image(*place_at(self.protocol, iou_threshold, area_range), min_score).collect()
    counts = counts.drop("area_range", "iou_threshold")
    names = self.dataset.images.select("image_id", "file_name")
    return counts.join(names, on="image_id", how="left", maintain_order="left").select(
        "image_id", "file_name", pl.exclude("image_id", "file_name")
    )


def thresholds(
    self: Evaluation,
    iou_threshold: float | None = None,
    area_range: str | None = None,
    category: int | str | None = None,
    *,
    beta: float = 1,
    per_category: bool = True,
) -> pl.DataFrame:
    """Compute counts, precision, recall, F1 and error rates of the detections from each score upwards, per category or for one.

    The highest threshold comes first. `filter("is_best")` gives the best threshold of each category.

    Parameters
    ----------
    iou_threshold, area_range, category
        as in `curves`
    beta
        the weight of recall relative to precision. With beta=2, the columns f2 and is_best_f2 follow is_best
    per_category
        False for one threshold for all categories, by the sums of their counts; category_id and name are then null

    Returns
    -------
    category_id, name, area_range, iou_threshold, score_threshold, tp, fp, fn, precision, recall, f1, is_best (the largest f1 of
    the category), lrp, lrp_loc, lrp_fp, lrp_fn, is_best_lrp (the smallest lrp; none without true positives), fppi (false
    positives per evaluated image, with or without annotations) and miss_rate (1 - recall). Without annotations, all rates
    except precision and fppi are null.

    Raises
    ------
    ParameterError
        an unknown threshold, area range or category, or a category together with `per_category=False`
    """
    if isinstance(beta, bool) or not isinstance(beta, (int, float)) or not 0 < beta < float("inf"):
        raise ParameterError(f"must be a number above 0, not {beta!r}", option="beta")
    if category is not None and not per_category:
        raise ParameterError("cannot be given with per_category=False, which is about all", "leave one out", option="category")
    at = place_at(self.protocol, iou_threshold, area_range)
    table = self._pipeline.thresholds(*at, beta=beta, pooled=not per_category)
    return with_names(self, _of_category(self, table, category).collect())


def _kept_matches(self: Evaluation, iou_threshold: float | None, area_range: str | None) -> pl.DataFrame:
    """Return the stored matches; empty if only those of other thresholds were stored."""
    protocol = self.protocol
    threshold, area = place_at(protocol, iou_threshold, area_range)
    of_threshold = (pl.col("iou_threshold") - protocol.iou_thresholds[threshold]).abs() < 1e-9
    return self._source.stored["matches"].filter(of_threshold, pl.col("area_range") == protocol.range_names[area]).collect()


def _of_category(self: Evaluation, table: pl.LazyFrame, category: int | str | None) -> pl.LazyFrame:
    if category is None:
        return table
    if self._pipeline.outline.is_pooled:
        raise ParameterError("the categories are pooled: leave out category")
    chosen = choose_categories(self.dataset.core("categories"), [category])
    return table.filter(pl.col("category_id").is_in(pl.lit(chosen).implode()))


def with_names(self: Evaluation, table: pl.DataFrame) -> pl.DataFrame:
    """Add the names of the categories next to their ids."""
    names = self.dataset.categories.select("category_id", "name")
    table = table.join(names, on="category_id", how="left", maintain_order="left")
    return table.select("category_id", "name", pl.exclude("category_id", "name"))


def with_labels(self: Evaluation, table: pl.DataFrame) -> pl.DataFrame:
    """Add file_name after image_id, and the category's name after each id of a category.

    The name's column has the name of the id's column, with `name` instead of `category_id`.
    """
    files = self.dataset.images.select("image_id", "file_name")
    names = self.dataset.categories.select("category_id", "name")
    order: list[str] = []
    for column in table.columns:
        order.append(column)
        if column == "image_id":
            order.append("file_name")
            table = table.join(files, on="image_id", how="left", maintain_order="left")
        elif column.endswith("category_id"):
            order.append(column.removesuffix("category_id") + "name")
            theirs = names.rename({"category_id": column, "name": order[-1]})
            table = table.join(theirs, on=column, how="left", maintain_order="left")
    return table.select(order)


def columns_at(self: Evaluation, threshold: int, area: int) -> dict[str, pl.Expr]:
    """Return the columns area_range and iou_threshold of a table for the numbers of a threshold and an area range."""
    from apframe.matching.verdicts import range_names, threshold_names  # imports NumPy

    outline = self._pipeline.outline
    names, thresholds = range_names(outline.ranges), threshold_names(outline.thresholds)
    return {"area_range": pl.lit(names[area], names.dtype), "iou_threshold": pl.lit(thresholds[threshold])}
