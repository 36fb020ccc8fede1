"""Time intervals, such as actions in videos."""

from __future__ import annotations

import polars as pl

from apframe.exceptions import ColumnError
from apframe.tables.shapes.declarations import INTERVAL
from apframe.validation import Sieve


def interval_extents(table: str, frame: pl.DataFrame) -> pl.DataFrame:
    """Return the box columns of intervals: x = start_time, y = 0, width = end_time - start_time, height = 1, area = width.

    Rows stay in their order. Raises `RowError` as `IntervalIoU` does; `table` is used in its message.

    >>> interval_extents("annotations", pl.DataFrame({"start_time": [2.0], "end_time": [6.0]})).rows()
    [(2.0, 0.0, 4.0, 1.0, 4.0)]
    """
    frame = check_intervals(table, frame)
    length = pl.col("end_time") - pl.col("start_time")
    return frame.select(x="start_time", y=pl.lit(0.0), width=length, height=pl.lit(1.0), area=length)


def check_intervals(table: str, frame: pl.DataFrame) -> pl.DataFrame:
    """Return the rows with finite times in the right order, see `sound_rows`; raise `ColumnError` without the columns.

    >>> check_intervals("annotations", pl.DataFrame({"start_time": [2.0], "end_time": [6.0]})).height
    1
    """
    if missing := [name for name in INTERVAL if name not in frame.columns]:
        raise ColumnError(f"no column {missing[0]}", "intervals go from start_time to end_time, in seconds", table=table)
    sieve = Sieve(table, frame)
    for name in INTERVAL:
        sieve.refuse_no_number(name, "intervals go from start_time to end_time, in seconds")
    broken = frame["end_time"] < frame["start_time"]
    sieve.refuse_malformed(broken, "end_time is before start_time", "swap the two or remove these rows")
    return sieve.sound(frame)
