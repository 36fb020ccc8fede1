"""Checks of keypoints, rotated boxes and intervals."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import polars as pl

from apframe.checks.findings import Finding, of_fault
from apframe.tables.shapes.declarations import MASKS, OTHERS
from apframe.validation import Report, validating


def check_shapes(table: str, frame: pl.DataFrame) -> Iterable[Finding]:
    """Find `invalid_shape`, such as corners that do not form a convex shape, or intervals that end before they start.

    Masks, which take longer, are left to `check_masks`.

    >>> interval = pl.DataFrame({"annotation_id": [1], "start_time": [9.0], "end_time": [6.0]})
    >>> [finding.problem for finding in check_shapes("annotations", interval)]
    ['end_time is before start_time']
    """
    report = Report()
    for shape in OTHERS:
        if shape is not MASKS and shape.column in frame.columns and frame[shape.column].count():
            with validating(report):
                shape.check(table, frame.filter(pl.col(shape.column).is_not_null()))
    return [of_fault(replace(fault, check="invalid_shape")) for fault in report.faults]
