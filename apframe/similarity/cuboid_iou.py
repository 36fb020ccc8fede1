"""Intersection over union of the volumes of cuboids."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import polars as pl

from apframe.similarity.footprints import pair_cuboids
from apframe.similarity.pairs import Similarity
from apframe.tables.shapes.declarations import CUBOIDS
from apframe.tables.shapes.shape import Shape


@dataclass(frozen=True)
class CuboidIoU(Similarity):
    """IoU of the volumes of cuboids: the shared area of their footprints times the shared height, over the union of both.

    Everything is computed in doubles, and equal cuboids have exactly 1. A crowd's union is the detection alone. Cuboids that
    only touch have no IoU. Rows without a cuboid make no pair.

    Source: the 3D overlap of KITTI's `evaluate_object`; TYPE_3D of Waymo's metrics.

    >>> car = {"cell": [7], "cuboid_x": [0.0], "cuboid_y": [0.0], "cuboid_z": [1.0], "cuboid_length": [4.0],
    ...        "cuboid_width": [2.0], "cuboid_height": [1.5], "cuboid_yaw": [0.3]}
    >>> truth = pl.DataFrame(car | {"cuboid_z": [1.5], "is_crowd": [False]})
    >>> CuboidIoU().pair(pl.DataFrame(car), truth, min_similarity=0.1).rows()
    [(0, 0, 0.5)]
    """

    name: ClassVar[str] = "cuboid_iou"
    shape: ClassVar[Shape] = CUBOIDS
    needs: ClassVar[tuple[str, ...]] = CUBOIDS.needs
    words = "intersection over union of cuboids"

    def pair(self, detections: pl.DataFrame, annotations: pl.DataFrame, min_similarity: float) -> pl.DataFrame:
        """Return the pairs of a cell: see `Similarity.pair`."""
        return pair_cuboids(self, detections, annotations, min_similarity, with_heights=True)
