"""Segments of label maps: images in which each pixel has the number of the segment it belongs to."""

from __future__ import annotations

import polars as pl

from apframe.validation import sound_rows


def segment_extents(table: str, frame: pl.DataFrame) -> pl.DataFrame:
    """Return null box columns for segments, as only their pixels are compared, with the area in the table.

    `table` is used in errors: annotations without an area (`RowError`).

    >>> segment_extents("detections", pl.DataFrame({"segment_id": [7], "area": [9.0]})).rows()
    [(None, None, None, None, 9.0)]
    """
    if table == "annotations":  # the pixels of detections are counted
        frame = sound_rows(table, frame, frame["area"].is_null(), "area is missing", "supply the number of pixels")
    nothing = pl.lit(None, pl.Float64)
    return frame.select(x=nothing, y=nothing, width=nothing, height=nothing, area=pl.col("area"))
