"""Intersection over union of time intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import polars as pl

from apframe.similarity.pairs import Similarity, overlap, pair_by, require, union_of
from apframe.tables.shapes.declarations import INTERVAL, INTERVALS
from apframe.tables.shapes.intervals import check_intervals
from apframe.tables.shapes.shape import Shape


@dataclass(frozen=True)
class IntervalIoU(Similarity):
    """IoU of intervals; see `interval_iou`.

    Attributes
    ----------
    instants_match
        whether two intervals of length 0 have an IoU of 1, wherever they are, instead of none. In some kits their IoU
        is 0/0, which is NaN, and only pairs *below* the threshold are rejected, so that any two of a video and label match

    >>> actions = pl.DataFrame({"cell": [7], "start_time": [2.0], "end_time": [6.0], "is_crowd": [False]})
    >>> detections = pl.DataFrame({"cell": [7, 7], "start_time": [3.0, 6.0], "end_time": [6.0, 9.0]})
    >>> IntervalIoU().pair(detections, actions, min_similarity=0.5).rows()
    [(0, 0, 0.75)]
    """

    name: ClassVar[str] = "interval_iou"
    shape: ClassVar[Shape] = INTERVALS
    needs: ClassVar[tuple[str, ...]] = INTERVALS.needs
    instants_match: bool = False

    @property
    def words(self) -> str:
        """The rule in plain words."""
        return "intersection over union of intervals of time" + ("; any two of length 0 match" if self.instants_match else "")

    def pair(self, detections: pl.DataFrame, annotations: pl.DataFrame, min_similarity: float) -> pl.DataFrame:
        """Return the pairs of a cell: see `Similarity.pair`."""
        require(self, detections, annotations)
        check_intervals("detections", detections)
        check_intervals("annotations", annotations)
        return pair_by(interval_iou(instants_match=self.instants_match), detections, annotations, INTERVAL, min_similarity)


def interval_iou(*, instants_match: bool = False) -> pl.Expr:
    """IoU of the two intervals of a row: `start_time, end_time` and `start_time_right, end_time_right`.

    The intersection is `min(end) - max(start)`; the union is the sum of both lengths minus the intersection. Where `is_crowd`
    holds, the union is the left interval alone. Intervals that only touch have no IoU (null), and neither have intervals of
    length 0, unless `instants_match`: then two intervals have 1 if their union is 0, for length 0 or because one is reversed.

    Source: `segment_iou` of ActivityNet's evaluation; the order of the operations is kept.

    >>> pl.DataFrame({
    ...     "start_time": [0.0, 0.0], "end_time": [2.0, 2.0], "start_time_right": [1.0, 1.0], "end_time_right": [3.0, 3.0],
    ...     "is_crowd": [False, True],
    ... }).select(iou=interval_iou())["iou"].to_list()
    [0.3333333333333333, 0.5]
    """
    intersection = overlap("start_time", "end_time")
    detected = pl.col("end_time") - pl.col("start_time")
    annotated = pl.col("end_time_right") - pl.col("start_time_right")
    iou = pl.when(intersection > 0).then(intersection / union_of(detected, annotated, intersection))
    if not instants_match:
        return iou
    is_undefined = union_of(detected, annotated, intersection.clip(0)) == 0
    return pl.when(is_undefined).then(1.0).otherwise(iou)
