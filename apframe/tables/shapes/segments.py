"""Segments of label maps: images in which each pixel has one number, that of the segment it belongs to."""

from __future__ import annotations

import polars as pl

from apframe.columns import Column
from apframe.tables.shapes.shape import Shape
from apframe.validation import sound_rows

OVERLAPS = pl.List(pl.Struct({"segment_id": pl.Int64, "pixels": pl.Int64, "boundary_iou": pl.Float64}))
LABEL_MAP = Column(
    "label_map",
    pl.String,
    "path of the image file that has the number of a segment in each pixel, R + 256 G + 65536 B in color",
    standard=False,
)


def segment_extents(table: str, frame: pl.DataFrame) -> pl.DataFrame:
    """The box columns of segments: none, as only their pixels are compared, and the area that the table has.

    `table` is the name that errors use: annotations without an area (`RowError`).

    >>> segment_extents("detections", pl.DataFrame({"segment_id": [7], "area": [9.0]})).rows()
    [(None, None, None, None, 9.0)]
    """
    if table == "annotations":  # the pixels of detections are counted
        frame = sound_rows(table, frame, frame["area"].is_null(), "area is missing", "supply the number of pixels")
    nothing = pl.lit(None, pl.Float64)
    return frame.select(x=nothing, y=nothing, width=nothing, height=nothing, area=pl.col("area"))


SEGMENTS = Shape(
    iou_type="panoptic",
    words="segment_id (a number in label maps)",
    columns=(
        Column("segment_id", pl.Int64, "the number of a segment in its label map", standard=False),
        LABEL_MAP,
    ),
    needs=("segment_id",),
    check=segment_extents,
    extents=segment_extents,
    json_field="segment_id",
    list_remedy="give the number of the segment in its label map",
)
COUNTED = (
    Column("void_area", pl.Float64, "how many pixels of a segment lie where the ground truth has none", standard=False),
    Column(
        "overlaps",
        OVERLAPS,
        "the annotated segments that a segment shares pixels with, how many, and, if compared, the IoU of the boundaries",
        standard=False,
    ),
)
"""What detections have besides, once pixels are counted."""
