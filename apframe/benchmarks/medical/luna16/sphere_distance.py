"""Minus the distance of a mark from the centre of a sphere, in radii of the sphere (LUNA16)."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, nextafter
from typing import ClassVar

import polars as pl

from apframe.similarity.pairs import Similarity, pair_by, require
from apframe.tables.shapes.declarations import SPHERES
from apframe.tables.shapes.shape import Shape
from apframe.tables.shapes.spheres import CENTRE, check_spheres, radius


@dataclass(frozen=True)
class SphereDistance(Similarity):
    """Minus the distance between the centres, in radii of the annotation, so that marks inside it are above -1.

    A mark at the centre has 0, one on the surface -1. It is inside exactly if the squared distance is below the squared radius.
    The radius is half the annotation's diameter, or 5 mm if that is negative; the diameter of detections is not used. Crowds
    are compared like any other annotation.

    Source: `noduleCADEvaluationLUNA16.py`.

    >>> nodules = pl.DataFrame({"cell": [7], "sphere_x": [10.0], "sphere_y": [4.0], "sphere_z": [0.0],
    ...                         "sphere_diameter": [8.0], "is_crowd": [False]})
    >>> marks = pl.DataFrame({"cell": [7, 7], "sphere_x": [12.0, 30.0], "sphere_y": [4.0, 4.0], "sphere_z": [0.0, 0.0]})
    >>> SphereDistance().pair(marks, nodules, min_similarity=-1).rows()
    [(0, 0, -0.5)]
    """

    name: ClassVar[str] = "sphere_distance"
    iou_type: ClassVar[str] = "sphere"
    shape: ClassVar[Shape] = SPHERES
    needs: ClassVar[tuple[str, ...]] = CENTRE
    bounds: ClassVar[tuple[float, float]] = (-inf, 0.0)
    measure: ClassVar[str] = "distance"
    unit: ClassVar[str] = "radius"
    words = "minus the distance of the centres, in radii of the annotation"

    def pair(self, detections: pl.DataFrame, annotations: pl.DataFrame, min_similarity: float) -> pl.DataFrame:
        """Return the pairs of a cell: see `Similarity.pair`."""
        require(self, detections, annotations)
        check_spheres("detections", detections, needs_diameter=False)
        check_spheres("annotations", annotations, needs_diameter=True)
        annotations = annotations.with_columns(radius=radius())
        detections = detections.with_columns(radius=pl.lit(None, pl.Float64))
        apart = [pl.col(name) - pl.col(f"{name}_right") for name in self.needs]
        squared, reach = pl.sum_horizontal([along * along for along in apart]), pl.col("radius_right")
        in_radii = (squared / (reach * reach)).sqrt()
        inside = pl.min_horizontal(in_radii, pl.lit(nextafter(1.0, 0.0)))
        similarity = -pl.when(squared < reach * reach).then(inside).otherwise(pl.max_horizontal(in_radii, pl.lit(1.0)))
        return pair_by(similarity, detections, annotations, (*self.needs, "radius"), min_similarity)
