"""The fraction of a detection's box that lies inside an annotation's box (group-of boxes)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import polars as pl

from apframe.similarity.box_iou import box_iou
from apframe.similarity.pairs import Similarity, pair_by
from apframe.tables.shapes.boxes import BOX, BOXES
from apframe.tables.shapes.shape import Shape


@dataclass(frozen=True)
class IntersectionOverDetection(Similarity):
    """Intersection of two boxes over the area of the detection: `box_iou` with every annotation treated as a crowd.

    A detection inside a larger annotation has 1. A detection without area overlaps nothing and makes no pair.

    Source: `ioa` of the TF Object Detection API, by which Open Images compares detections with groups of objects.

    >>> boxes = pl.DataFrame({"cell": [7], "x": [0.0], "y": [0.0], "width": [8.0], "height": [8.0], "is_crowd": [False]})
    >>> detections = pl.DataFrame({"cell": [7, 7], "x": [1.0, 6.0], "y": [1.0, 1.0], "width": [2.0, 4.0], "height": [2.0, 2.0]})
    >>> IntersectionOverDetection().pair(detections, boxes, min_similarity=0.5).sort("detection").rows()
    [(0, 0, 1.0), (1, 0, 0.5)]
    """

    name: ClassVar[str] = "intersection_over_detection"
    shape: ClassVar[Shape] = BOXES
    words = "intersection of boxes over the area of the detection"

    def pair(self, detections: pl.DataFrame, annotations: pl.DataFrame, min_similarity: float) -> pl.DataFrame:
        """Return the pairs of a cell: see `Similarity.pair`."""
        return pair_by(box_iou(), detections, annotations.with_columns(is_crowd=pl.lit(True)), BOX, min_similarity)
