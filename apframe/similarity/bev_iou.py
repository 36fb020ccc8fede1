"""Intersection over union of cuboids seen from above: bird's-eye view."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import polars as pl

from apframe.similarity.footprints import FOOTPRINT, pair_cuboids
from apframe.similarity.pairs import Similarity
from apframe.tables.shapes.declarations import CUBOIDS
from apframe.tables.shapes.shape import Shape


@dataclass(frozen=True)
class BevIoU(Similarity):
    """IoU of the footprints of cuboids: rectangles of length and width, turned by the yaw.

    Everything is computed in doubles, and cuboids with the same footprint have exactly 1. A crowd's union is the detection
    alone. Footprints that only touch have no IoU. Rows without a cuboid make no pair.

    Source: the bird's-eye view of KITTI's `evaluate_object`; TYPE_2D of Waymo's metrics.

    >>> car = {"cell": [7], "cuboid_x": [0.0], "cuboid_y": [0.0], "cuboid_length": [4.0], "cuboid_width": [2.0]}
    >>> truth = pl.DataFrame(car | {"cuboid_yaw": [0.0], "is_crowd": [False]})
    >>> BevIoU().pair(pl.DataFrame(car | {"cuboid_yaw": [1.5707963267948966]}), truth, min_similarity=0.1).rows()
    [(0, 0, 0.3333333333333333)]
    """

    name: ClassVar[str] = "bev_iou"
    shape: ClassVar[Shape] = CUBOIDS
    needs: ClassVar[tuple[str, ...]] = FOOTPRINT
    words = "intersection over union of cuboids seen from above"

    def pair(self, detections: pl.DataFrame, annotations: pl.DataFrame, min_similarity: float) -> pl.DataFrame:
        """Return the pairs of a cell: see `Similarity.pair`."""
        return pair_cuboids(self, detections, annotations, min_similarity, with_heights=False)
