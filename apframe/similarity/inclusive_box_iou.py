"""Intersection over union of boxes whose last pixel belongs to them (PASCAL VOC)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import polars as pl

from apframe.similarity.box_iou import shared_side
from apframe.similarity.pairs import Similarity, pair_by, union_of
from apframe.tables.shapes.boxes import BOX, BOXES
from apframe.tables.shapes.shape import Shape


@dataclass(frozen=True)
class InclusiveBoxIoU(Similarity):
    """IoU of boxes from their first pixel to their last, both included; see `inclusive_box_iou`.

    >>> boxes = pl.DataFrame({"cell": [7], "x": [1.0], "y": [1.0], "width": [3.0], "height": [1.0]})
    >>> detections = boxes.with_columns(width=pl.Series([2.0]))
    >>> InclusiveBoxIoU().pair(detections, boxes.with_columns(is_crowd=False), min_similarity=0.5).rows()
    [(0, 0, 0.75)]
    """

    name: ClassVar[str] = "inclusive_box_iou"
    shape: ClassVar[Shape] = BOXES
    inclusive: ClassVar[bool] = True
    words = "intersection over union of boxes, one pixel added to widths and heights"

    def pair(self, detections: pl.DataFrame, annotations: pl.DataFrame, min_similarity: float) -> pl.DataFrame:
        """Return the pairs of a cell: see `Similarity.pair`."""
        return pair_by(inclusive_box_iou(), detections, annotations, BOX, min_similarity)


def inclusive_box_iou(prefix: str = "") -> pl.Expr:
    """IoU of the two boxes of a row: `x, y, width, height` and `x_right, y_right, width_right, height_right`.

    `prefix` is put before the names of all eight columns.

    `width` is xmax - xmin, as everywhere; a box covers width + 1 pixels. The intersection is `min(xmax) - max(xmin) + 1`
    times the same in y, and empty if one of them is not positive: boxes side by side share no pixel, boxes that share an edge
    share a line of pixels. Where `is_crowd` holds, the union is the left box alone. Every box has an area.

    Source: `VOCevaldet.m` of the VOC development kit; the order of the operations is kept.

    >>> pl.DataFrame({
    ...     "x": [1.0, 1.0], "y": [1.0, 1.0], "width": [1.0, 1.0], "height": [1.0, 1.0],
    ...     "x_right": [2.0, 3.0], "y_right": [1.0, 1.0], "width_right": [1.0, 1.0], "height_right": [1.0, 1.0],
    ...     "is_crowd": [False, False],
    ... }).select(iou=inclusive_box_iou())["iou"].to_list()
    [0.3333333333333333, None]
    """
    x, y, w, h = (prefix + name for name in BOX)
    width, height = shared_side(x, w) + 1, shared_side(y, h) + 1
    intersection = width * height
    detected = (pl.col(w) + 1) * (pl.col(h) + 1)
    annotated = (pl.col(f"{w}_right") + 1) * (pl.col(f"{h}_right") + 1)
    return pl.when((width > 0) & (height > 0)).then(intersection / union_of(detected, annotated, intersection))
