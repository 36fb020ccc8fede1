"""Upright boxes, the shape that every object has: if an object only has another shape, its box is computed from that."""

from __future__ import annotations

import polars as pl

from apframe.columns import Column
from apframe.tables.shapes.shape import Shape

BOX = ("x", "y", "width", "height")


def box_extents(table: str, frame: pl.DataFrame) -> pl.DataFrame:
    """Return the boxes themselves and their areas; `table` is not used.

    >>> box_extents("detections", pl.DataFrame({"x": [1.0], "y": [0.0], "width": [2.0], "height": [4.0]})).row(0)
    (1.0, 0.0, 2.0, 4.0, 8.0)
    """
    del table
    return frame.select(*BOX, area=pl.col("width") * pl.col("height"))


BOXES = Shape(
    iou_type="bbox",
    words="box (bbox in JSON; x, y, width, height in frames)",
    columns=(
        Column("x", pl.Float64, "left edge of the box, pixels", required=True),
        Column("y", pl.Float64, "top edge of the box, pixels", required=True),
        Column("width", pl.Float64, "width of the box (xmax - xmin), pixels", required=True),
        Column("height", pl.Float64, "height of the box (ymax - ymin), pixels", required=True),
    ),
    needs=BOX,
    extents=box_extents,
    json_field="bbox",
    other_names={
        "x: {}": ("xmin", "x_min", "x1", "left"),
        "width: {} - x": ("xmax", "x_max", "x2", "right"),
        "width: {}": ("w",),
        "y: {}": ("ymin", "y_min", "y1", "top"),
        "height: {} - y": ("ymax", "y_max", "y2", "bottom"),
        "height: {}": ("h",),
    },
    array=("boxes", (4,)),
)
