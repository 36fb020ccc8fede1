"""Intersection over union of axis-aligned boxes, with real-valued sides (COCO)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import polars as pl

from apframe.similarity.pairs import Similarity, pair_by, union_of
from apframe.tables.shapes.boxes import BOX, BOXES
from apframe.tables.shapes.shape import Shape


@dataclass(frozen=True)
class BoxIoU(Similarity):
    """IoU of boxes; see `box_iou`.

    >>> boxes = pl.DataFrame({"cell": [7, 8], "x": [0.0, 0.0], "y": [0.0, 0.0], "width": [4.0, 4.0], "height": [2.0, 2.0]})
    >>> detections = boxes.with_columns(width=pl.Series([3.0, 1.0]))
    >>> BoxIoU().pair(detections, boxes.with_columns(is_crowd=False), min_similarity=0.5).rows()
    [(0, 0, 0.75)]
    """

    name: ClassVar[str] = "box_iou"
    shape: ClassVar[Shape] = BOXES
    words = "intersection over union of boxes"

    def pair(self, detections: pl.DataFrame, annotations: pl.DataFrame, min_similarity: float) -> pl.DataFrame:
        """Return the pairs of a cell: see `Similarity.pair`."""
        return pair_by(box_iou(), detections, annotations, BOX, min_similarity)


def box_iou() -> pl.Expr:
    """IoU of the two boxes of a row: `x, y, width, height` and `x_right, y_right, width_right, height_right`.

    The intersection is `max(0, min(x + w) - max(x))` times the same in y; the union is the sum of both areas minus the
    intersection. Where `is_crowd` holds, the right side is a crowd and the union is the left box alone, so that a
    detection inside a group of objects overlaps it fully. Two boxes without area have no IoU (null, never a match).

    Source: `bbIou` of the COCO mask API; the order of the operations is kept, so that the last bit agrees.

    >>> pl.DataFrame({
    ...     "x": [0.0, 0.0], "y": [0.0, 0.0], "width": [2.0, 2.0], "height": [2.0, 2.0],
    ...     "x_right": [1.0, 1.0], "y_right": [0.0, 0.0], "width_right": [2.0, 2.0], "height_right": [2.0, 2.0],
    ...     "is_crowd": [False, True],
    ... }).select(iou=box_iou())["iou"].to_list()
    [0.3333333333333333, 0.5]
    """
    width, height = shared_side("x", "width"), shared_side("y", "height")
    intersection = width * height
    detected = pl.col("width") * pl.col("height")
    annotated = pl.col("width_right") * pl.col("height_right")
    return pl.when((width > 0) & (height > 0)).then(intersection / union_of(detected, annotated, intersection))


def shared_side(start: str, length: str) -> pl.Expr:
    """Length that a side of a box shares with the same side of the right box; negative if they are apart.

    >>> pl.DataFrame({"x": [0], "w": [5], "x_right": [3], "w_right": [6]}).select(shared_side("x", "w")).item()
    2
    """
    end = pl.min_horizontal(pl.col(length) + pl.col(start), pl.col(f"{length}_right") + pl.col(f"{start}_right"))
    return end - pl.max_horizontal(start, f"{start}_right")
