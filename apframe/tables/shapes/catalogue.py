"""The shapes that there are. A new one is a module with its `Shape`, and its name in this list."""

from __future__ import annotations

import polars as pl

from apframe.tables.shapes.boxes import BOXES
from apframe.tables.shapes.corners import CORNERS
from apframe.tables.shapes.cuboids import CUBOIDS
from apframe.tables.shapes.intervals import INTERVALS
from apframe.tables.shapes.keypoints import KEYPOINTS
from apframe.tables.shapes.masks import MASKS
from apframe.tables.shapes.relations import RELATIONS
from apframe.tables.shapes.segments import SEGMENTS
from apframe.tables.shapes.shape import Shape
from apframe.tables.shapes.spheres import SPHERES

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
