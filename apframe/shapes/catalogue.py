"""The shapes that there are. A new one is a module with its `Shape`, and its name in this list."""

from __future__ import annotations

import polars as pl

from apframe.shapes.boxes import BOXES
from apframe.shapes.corners import CORNERS
from apframe.shapes.cuboids import CUBOIDS
from apframe.shapes.intervals import INTERVALS
from apframe.shapes.keypoints import KEYPOINTS
from apframe.shapes.masks import MASKS
from apframe.shapes.relations import RELATIONS
from apframe.shapes.segments import SEGMENTS
from apframe.shapes.shape import Shape
from apframe.shapes.spheres import SPHERES

OTHERS: tuple[Shape, ...] = (MASKS, KEYPOINTS, CORNERS, INTERVALS, CUBOIDS, SPHERES, RELATIONS, SEGMENTS)
"""Shapes from which boxes are made, in order of preference, if a table has no boxes."""
SHAPES: tuple[Shape, ...] = (BOXES, *OTHERS)


def shape_of(frame: pl.DataFrame) -> Shape | None:
    """The first shape other than boxes that a table has; None if it has boxes at most.

    >>> shape = shape_of(pl.DataFrame({"corners": [[1.0]], "keypoints": [[2.0]]}))
    >>> shape is KEYPOINTS
    True
    """
    return next((shape for shape in OTHERS if shape.column in frame.columns), None)
