"""Minus the distance between the centres of cuboids."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import ClassVar

import polars as pl

from apframe.option_values import one_of
from apframe.similarity.pairs import Similarity, pair_by, require
from apframe.tables.shapes.cuboids import check_cuboids
from apframe.tables.shapes.declarations import CUBOIDS
from apframe.tables.shapes.shape import Shape

AXES = ("xy", "xyz")


@dataclass(frozen=True)
class CentreDistance(Similarity):
    """Minus the distance between the centres of two cuboids, in metres: the nearest cuboids are the most similar.

    Thresholds are negative: 2 m is -2, also in tables. Cuboids with the same centre have 0. A crowd is compared like any
    other annotation. Rows without a cuboid make no pair.

    Attributes
    ----------
    axes
        "xy", the distance seen from above, or "xyz"

    Source: `center_distance` of nuscenes-devkit (x, y); `compute_affinity_matrix` of av2-api (x, y, z).

    >>> cars = pl.DataFrame({"cell": [7], "cuboid_x": [10.0], "cuboid_y": [4.0], "is_crowd": [False]})
    >>> detections = pl.DataFrame({"cell": [7, 7], "cuboid_x": [13.0, 10.0], "cuboid_y": [8.0, 5.5]})
    >>> CentreDistance().pair(detections, cars, min_similarity=-4).rows()
    [(1, 0, -1.5)]
    """

    name: ClassVar[str] = "centre_distance"
    shape: ClassVar[Shape] = CUBOIDS
    bounds: ClassVar[tuple[float, float]] = (-inf, 0.0)
    measure: ClassVar[str] = "distance"

    axes: str = "xy"

    def __post_init__(self) -> None:
        one_of("axes", self.axes, AXES)

    @property
    def needs(self) -> tuple[str, ...]:  # type: ignore[override]
        """The compared columns of the centre."""
        return tuple(f"cuboid_{axis}" for axis in self.axes)

    @property
    def reads(self) -> str:
        """The columns that it compares in plain words."""
        return f"{', '.join(self.needs)} (metres)"

    @property
    def words(self) -> str:
        """The rule in plain words."""
        return f"minus the distance of the centres in {', '.join(self.axes)}, metres"

    def pair(self, detections: pl.DataFrame, annotations: pl.DataFrame, min_similarity: float) -> pl.DataFrame:
        """Return the pairs of a cell: see `Similarity.pair`."""
        require(self, detections, annotations)
        check_cuboids("detections", detections, self.needs)
        check_cuboids("annotations", annotations, self.needs)
        apart = [pl.col(name) - pl.col(f"{name}_right") for name in self.needs]
        distance = pl.sum_horizontal([along * along for along in apart], ignore_nulls=False).sqrt()
        return pair_by(-distance, detections, annotations, self.needs, min_similarity)
