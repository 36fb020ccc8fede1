"""Intervals of time, as of actions in videos."""

from __future__ import annotations

import polars as pl

from apframe.columns import Column
from apframe.exceptions import ColumnError
from apframe.rows import refuse_malformed, refuse_no_number
from apframe.tables.shapes.shape import Shape

INTERVAL = ("start_time", "end_time")


def interval_extents(table: str, frame: pl.DataFrame) -> pl.DataFrame:
    """The box columns of intervals: x = start_time, y = 0, width = end_time - start_time, height = 1, area = width.

    Rows stay in their order. Raises `RowError` as `IntervalIoU` does; `table` is the name that its message uses.

    >>> interval_extents("annotations", pl.DataFrame({"start_time": [2.0], "end_time": [6.0]})).rows()
    [(2.0, 0.0, 4.0, 1.0, 4.0)]
    """
    check_intervals(table, frame)
    length = pl.col("end_time") - pl.col("start_time")
    return frame.select(x="start_time", y=pl.lit(0.0), width=length, height=pl.lit(1.0), area=length)


def check_intervals(table: str, frame: pl.DataFrame) -> None:
    """An error if a column is missing (`ColumnError`), or a number is missing, not finite, or the wrong way round (`RowError`).

    >>> check_intervals("annotations", pl.DataFrame({"start_time": [2.0], "end_time": [6.0]}))
    """
    if missing := [name for name in INTERVAL if name not in frame.columns]:
        raise ColumnError(f"no column {missing[0]}", "intervals go from start_time to end_time, in seconds", table=table)
    for name in INTERVAL:
        refuse_no_number(table, frame, name, "intervals go from start_time to end_time, in seconds")
    broken = frame["end_time"] < frame["start_time"]
    refuse_malformed(table, frame, broken, "end_time is before start_time", "swap the two or remove these rows")


INTERVALS = Shape(
    iou_type="interval",
    words="start_time, end_time (seconds)",
    columns=(
        Column("start_time", pl.Float64, "start of the interval, seconds", standard=False),
        Column("end_time", pl.Float64, "where it ends", standard=False),
    ),
    needs=INTERVAL,
    extents=interval_extents,
    json_field="start_time",
    called={
        "start_time: {}": ("t-start", "t_start", "start"),
        "end_time: {}": ("t-end", "t_end", "end"),
        "start_time and end_time: the two numbers of {}": ("segment",),
    },
)
