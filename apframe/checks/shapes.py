"""Rotated boxes and intervals that cannot be right."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from apframe.checks.findings import Finding
from apframe.checks.refused import accept


def check_shapes(table: str, frame: pl.DataFrame) -> Iterable[Finding]:
    """`invalid_shape`: corners that do not go around a convex shape, intervals that end before they start.

    >>> interval = pl.DataFrame({"annotation_id": [1], "start_time": [9.0], "end_time": [6.0]})
    >>> [finding.problem for finding in check_shapes("annotations", interval)]
    ['end_time is before start_time']
    """
    from apframe.similarity.interval_iou import interval_extents  # these bring in NumPy
    from apframe.similarity.rotated_iou import corner_extents

    for column, extents in (("corners", corner_extents), ("start_time", interval_extents)):
        if column in frame.columns and frame[column].count():
            given = {table: frame.filter(pl.col(column).is_not_null())}
            yield from accept(given, lambda extents=extents, **frames: extents(table, frames[table]), "invalid_shape")[1]
