"""Intervals of time, beside the formula of ActivityNet's evaluation."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apframe.exceptions import ColumnError, RowError
from apframe.similarity.interval_iou import IntervalIoU
from apframe.tables.shapes.intervals import interval_extents

Interval = tuple[int, float, float]
SCHEMA = {"cell": pl.Int64, "start_time": pl.Float64, "end_time": pl.Float64}

times = st.floats(0, 100, allow_nan=False).map(lambda time: round(time, 1))
intervals = st.lists(st.tuples(st.integers(0, 1), times, times).map(lambda row: (row[0], *sorted(row[1:]))), max_size=6)


def frames(found: list[Interval], truth: list[Interval], crowds: list[bool]) -> tuple[pl.DataFrame, pl.DataFrame]:
    detections = pl.DataFrame(found, schema=SCHEMA, orient="row").with_row_index("detection_id", 10)
    annotations = pl.DataFrame(truth, schema=SCHEMA, orient="row").with_row_index("annotation_id", 20)
    return detections, annotations.with_columns(is_crowd=pl.Series(crowds, dtype=pl.Boolean))


def pairs(found: list[Interval], truth: list[Interval], crowds: list[bool], least: float = 0.0) -> dict[tuple[int, int], float]:
    table = IntervalIoU().pair(*frames(found, truth, crowds), least)
    assert table.schema == {"detection": pl.UInt32, "annotation": pl.UInt32, "similarity": pl.Float64}
    return {(detection, annotation): value for detection, annotation, value in table.rows()}


def segment_iou(target: np.ndarray, candidates: np.ndarray) -> np.ndarray:
    """The temporal IoU of ActivityNet's evaluation."""
    shared = (np.minimum(target[1], candidates[:, 1]) - np.maximum(target[0], candidates[:, 0])).clip(0)
    union = (candidates[:, 1] - candidates[:, 0]) + (target[1] - target[0]) - shared
    return np.divide(shared, union, out=np.zeros(len(candidates)), where=union > 0)


@given(intervals, intervals)
def test_as_activitynet(found: list[Interval], truth: list[Interval]) -> None:
    expected = {}
    for i, (cell, *target) in enumerate(found):
        overlaps = segment_iou(np.array(target), np.array([row[1:] for row in truth]).reshape(-1, 2))
        inside = {(i, j): value for j, value in enumerate(overlaps.tolist()) if value > 0 and truth[j][0] == cell}
        expected |= inside
    assert pairs(found, truth, [False] * len(truth)) == expected


def test_a_crowd_is_compared_with_the_detection_alone() -> None:
    assert pairs([(0, 1.0, 3.0)], [(0, 2.0, 9.0), (0, 2.0, 9.0)], [False, True]) == {(0, 0): 1 / 8, (0, 1): 1 / 2}


@pytest.mark.parametrize(
    "other", [(0, 3.0, 5.0), (0, 2.0, 2.0), (1, 1.0, 3.0)], ids=["they touch", "no length", "another cell"]
)
def test_no_pair(other: Interval) -> None:
    assert pairs([(0, 1.0, 3.0)], [other], [False]) == {}


def test_intervals_of_length_0_match_if_that_is_asked_for() -> None:
    instants, others = [(0, 5.0, 5.0), (1, 5.0, 5.0)], [(0, 5.0, 5.0), (0, 8.0, 8.0), (0, 1.0, 9.0)]
    assert pairs(instants, others, [False] * 3) == {}
    table = IntervalIoU(instants_match=True).pair(*frames(instants, others, [False] * 3), 0.5)
    assert table.rows() == [(0, 0, 1.0), (0, 1, 1.0)]


def test_least_is_inclusive() -> None:
    assert pairs([(0, 0.0, 2.0)], [(0, 1.0, 3.0)], [False], least=1 / 3) == {(0, 0): 1 / 3}
    assert pairs([(0, 0.0, 2.0)], [(0, 1.0, 3.0)], [False], least=0.34) == {}


GOOD = (0, 1.0, 2.0)


@pytest.mark.parametrize(
    ("found", "truth", "message"),
    [
        ([GOOD, (0, 3.0, 2.5)], [GOOD], "detections: end_time is before start_time for detection_id 11; "),
        ([GOOD], [(0, 2.0, 1.0)], "annotations: end_time is before start_time for annotation_id 20; "),
        ([(0, None, 2.0)], [GOOD], "detections: start_time is missing or not a finite number for detection_id 10; "),
        (
            [GOOD],
            [(0, 1.0, float("nan"))],
            "annotations: end_time is missing or not a finite number for annotation_id 20; ",
        ),
        ([(0, 1.0, float("inf"))], [GOOD], "detections: end_time is missing or not a finite number for detection_id 10; "),
    ],
)
def test_intervals_that_cannot_be_right(found: list[Interval], truth: list[Interval], message: str) -> None:
    with pytest.raises(RowError, match=f"^{message}"):
        pairs(found, truth, [False] * len(truth))


def test_missing_columns() -> None:
    detections, annotations = frames([GOOD], [GOOD], [False])
    with pytest.raises(ColumnError, match=r"^annotations: no column end_time, needed to compare by intersection over union of"):
        IntervalIoU().pair(detections, annotations.drop("end_time"), 0.5)


def test_extents() -> None:
    frame = pl.DataFrame({"start_time": [2.5, 1.0], "end_time": [6.0, 1.0]})
    expected = {"x": [2.5, 1.0], "y": [0.0, 0.0], "width": [3.5, 0.0], "height": [1.0, 1.0], "area": [3.5, 0.0]}
    assert interval_extents("annotations", frame).to_dict(as_series=False) == expected
    assert interval_extents("annotations", frame.clear()).schema == dict.fromkeys(expected, pl.Float64)
    with pytest.raises(RowError, match="detections: end_time is before start_time for row 2;"):
        interval_extents("detections", frame.with_columns(end_time=pl.Series([3.0, 0.5])))
