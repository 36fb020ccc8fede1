"""Rotated boxes, beside shapely's own rotation and beside a polygon clipped side by side."""

from __future__ import annotations

import math
import sys
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from shapely import affinity
from shapely.geometry import Polygon
from shapely.geometry import box as upright

from apframe.exceptions import ColumnError, ParameterError, RowError
from apframe.similarity.rotated_iou import RotatedIoU
from apframe.tables.shapes.corners import corner_extents

Point = tuple[float, float]
Turned = tuple[float, float, float, float, float]  # x, y, width, height, angle
NUMBERS = dict.fromkeys(["x", "y", "width", "height", "angle"], pl.Float64)

sides = st.integers(1, 40).map(lambda number: number / 4)
places = st.integers(0, 60).map(lambda number: number / 4)
angles = st.one_of(st.sampled_from([0.0, math.pi / 2, -math.pi, math.pi / 4]), st.floats(-7, 7))
turned = st.tuples(places, places, sides, sides, angles)


def by_angle(shapes: list[Turned], cell: list[int] | None = None) -> pl.DataFrame:
    frame = pl.DataFrame(shapes, schema=NUMBERS, orient="row")
    return frame.with_columns(cell=pl.Series(cell or [0] * len(shapes), dtype=pl.Int64))


def by_corners(shapes: list[list[float]]) -> pl.DataFrame:
    frame = pl.DataFrame({"corners": shapes}, schema={"corners": pl.List(pl.Float64)})
    return frame.with_columns(cell=pl.lit(0, pl.Int64))


def pairs(found: pl.DataFrame, truth: pl.DataFrame, crowds: list[bool] | None = None, least: float = 0.0) -> dict[Any, float]:
    is_crowd = pl.Series(crowds or [False] * truth.height, dtype=pl.Boolean)
    annotations = truth.with_row_index("annotation_id", 20).with_columns(is_crowd=is_crowd)
    table = RotatedIoU().pair(found.with_row_index("detection_id", 10), annotations, least)
    assert table.schema == {"detection": pl.UInt32, "annotation": pl.UInt32, "similarity": pl.Float64}
    return {(detection, annotation): value for detection, annotation, value in table.rows()}


def polygon(shape: Turned) -> Polygon:
    """As shapely turns it: counter-clockwise where y points up, so the other way on an image."""
    x, y, width, height, angle = shape
    return affinity.rotate(upright(x, y, x + width, y + height), -angle, origin="center", use_radians=True)


def corners(shape: Turned) -> list[Point]:
    return list(polygon(shape).exterior.coords)[:4]


def signed_area(points: list[Point]) -> float:
    following = points[1:] + points[:1]
    return sum(ax * by - bx * ay for (ax, ay), (bx, by) in zip(points, following, strict=True)) / 2


def clipped(subject: list[Point], window: list[Point]) -> list[Point]:
    """Sutherland and Hodgman: the part of a polygon that lies in a convex one."""
    sign = math.copysign(1, signed_area(window))
    for (ax, ay), (bx, by) in zip(window, window[1:] + window[:1], strict=True):
        kept: list[Point] = []
        inside = [sign * ((bx - ax) * (y - ay) - (by - ay) * (x - ax)) for x, y in subject]
        for number, (point, here) in enumerate(zip(subject, inside, strict=True)):
            before, there = subject[number - 1], inside[number - 1]
            if here * there < 0:
                part = there / (there - here)
                kept.append((before[0] + part * (point[0] - before[0]), before[1] + part * (point[1] - before[1])))
            if here >= 0:
                kept.append(point)
        subject = kept
    return subject


def iou(own: list[Point], other: list[Point], is_crowd: bool) -> float:
    shared = abs(signed_area(clipped(own, other)))
    mine, theirs = abs(signed_area(own)), abs(signed_area(other))
    return shared / (mine if is_crowd else mine + theirs - shared)


@given(st.lists(turned, max_size=4), st.lists(st.tuples(turned, st.booleans()), max_size=4))
def test_as_clipped_polygons(found: list[Turned], truth: list[tuple[Turned, bool]]) -> None:
    shapes, crowds = [shape for shape, _ in truth], [is_crowd for _, is_crowd in truth]
    got = pairs(by_angle(found), by_angle(shapes), crowds)
    for i, own in enumerate(found):
        for j, other in enumerate(shapes):
            assert got.get((i, j), 0.0) == pytest.approx(iou(corners(own), corners(other), crowds[j]), abs=1e-9)


@pytest.mark.slow
@given(st.lists(turned, max_size=4), st.lists(turned, max_size=4), st.booleans())
def test_as_shapely_one_by_one(found: list[Turned], truth: list[Turned], clockwise: bool) -> None:
    lists = [[number for point in corners(shape)[:: -1 if clockwise else 1] for number in point] for shape in truth]
    got = pairs(by_angle(found), by_corners(lists))
    for i, own in enumerate(map(polygon, found)):
        for j, other in enumerate(map(polygon, truth)):
            shared = own.intersection(other).area
            assert got.get((i, j), 0.0) == pytest.approx(shared / (own.area + other.area - shared), abs=1e-9)


@pytest.mark.slow
@given(st.lists(turned, max_size=4), st.lists(turned, max_size=4), st.floats(0.05, 1))
def test_least(found: list[Turned], truth: list[Turned], least: float) -> None:
    everything = pairs(by_angle(found), by_angle(truth))
    assert pairs(by_angle(found), by_angle(truth), least=least) == {
        pair: value for pair, value in everything.items() if value >= least
    }


def test_to_turn_counter_clockwise_is_to_lift_the_right_end() -> None:
    half = 10 / math.sqrt(2)
    along, across = (half, -half), (1 / math.sqrt(2), 1 / math.sqrt(2))  # up and to the right, as y points down
    rising = [sign * along[k] + side * across[k] for sign, side in ((-1, -1), (1, -1), (1, 1), (-1, 1)) for k in (0, 1)]
    falling = [-number if place % 2 else number for place, number in enumerate(rising)]
    got = pairs(by_angle([(-10.0, -1.0, 20.0, 2.0, math.pi / 4)]), by_corners([rising, falling]))
    assert got == {(0, 0): pytest.approx(1), (0, 1): pytest.approx(4 / 76)}


@pytest.mark.parametrize(
    ("other", "is_crowd", "expected"),
    [
        ((0.0, 0.0, 4.0, 2.0, 0.0), False, 1.0),
        ((0.0, 0.0, 4.0, 2.0, math.pi), False, 1.0),
        ((0.0, 0.0, 4.0, 2.0, math.pi / 2), False, 4 / 12),
        ((0.0, 0.0, 4.0, 2.0, math.pi / 2), True, 4 / 8),
        ((-10.0, -10.0, 40.0, 40.0, 1.0), True, 1.0),
        ((4.0, 0.0, 4.0, 2.0, 0.0), False, None),  # they touch
        ((3.5, 1.5, 4.0, 2.0, math.pi / 4), False, None),  # only the rectangles around them meet
        ((1.0, 1.0, 2.0, 0.0, 0.3), False, None),  # no area
        ((1.0, 1.0, 0.0, 0.0, 0.0), True, None),
    ],
)
def test_by_hand(other: Turned, is_crowd: bool, expected: float | None) -> None:
    value = pairs(by_angle([(0.0, 0.0, 4.0, 2.0, 0.0)]), by_angle([other]), [is_crowd]).get((0, 0))
    assert value == (None if expected is None else pytest.approx(expected))


def test_a_detection_without_area_is_no_error() -> None:
    flat = by_corners([[0, 0, 4, 0, 4, 0, 0, 0], [0, 0, 2, 2, 4, 4, 1, 1], [1, 1, 1, 1, 1, 1, 1, 1]])
    assert pairs(flat, by_angle([(0.0, 0.0, 4.0, 2.0, 0.0)]), [True]) == {}


def test_rows_pair_up_within_a_cell() -> None:
    shape = (0.0, 0.0, 4.0, 2.0, 0.5)
    assert set(pairs(by_angle([shape, shape], [7, 8]), by_angle([shape, shape], [8, 9]))) == {(1, 0)}


def test_corners_win_where_they_are_given() -> None:
    mixed = by_angle([(0.0, 0.0, 4.0, 2.0, 0.0), (0.0, 0.0, 4.0, 2.0, 0.0)])
    mixed = mixed.with_columns(corners=pl.Series([[0.0, 0.0, 2.0, 0.0, 2.0, 2.0, 0.0, 2.0], None]))
    assert pairs(mixed, by_angle([(0.0, 0.0, 4.0, 2.0, 0.0)])) == {(0, 0): pytest.approx(0.5), (1, 0): pytest.approx(1)}


def test_a_triangle_with_a_corner_twice_is_a_shape() -> None:
    triangle = by_corners([[0, 0, 4, 0, 4, 0, 4, 4]])
    assert pairs(triangle, by_corners([[0, 0, 4, 0, 4, 4, 0, 4]])) == {(0, 0): pytest.approx(0.5)}


def test_corners_in_single_precision_may_be_off_a_little() -> None:
    # a box as good as flat, whose corners were rounded until its long sides cross
    rounded = by_corners([[1000.0, 1000.0, 1100.0, 1000.00006, 1100.0, 1000.0, 1000.0, 1000.00006]])
    assert pairs(rounded, by_angle([(990.0, 990.0, 200.0, 20.0, 0.0)]), [True]) == {(0, 0): pytest.approx(1)}


SQUARE = [0, 0, 2, 0, 2, 2, 0, 2]


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ([0, 0, 2, 0, 2, 2], "detections: corners is not a list of 8 numbers for detection_id 11; give x1, y1"),
        ([0, 0, 2, 0, 2, 2, 0, None], "detections: corners holds a number that .* for detection_id 11;"),
        ([0, 0, 2, 0, 2, 2, 0, math.nan], "detections: corners holds a number that is missing or not finite"),
        ([0, 0, 2, 0, 2, math.inf, 0, 2], "detections: corners holds a number that is missing or not finite"),
        ([0, 0, 2, 2, 2, 0, 0, 2], "detections: corners do not go around a convex shape for detection_id 11;"),
        ([0, 0, 4, 0, 1, 1, 0, 4], "detections: corners do not go around a convex shape for detection_id 11;"),
    ],
    ids=["six numbers", "null", "NaN", "infinite", "crossed", "not convex"],
)  # fmt: skip
def test_corners_that_cannot_be_right(shape: list[Any], message: str) -> None:
    with pytest.raises(RowError, match=f"^{message}"):
        pairs(by_corners([SQUARE, shape]), by_corners([SQUARE]))
    with pytest.raises(RowError, match=message.replace("detections", "annotations").replace("detection_id 11", "row 2")):
        corner_extents("annotations", by_corners([SQUARE, shape]))


@pytest.mark.parametrize("angle", [None, math.nan, math.inf])
def test_angles_that_cannot_be_right(angle: float | None) -> None:
    shapes = [(0.0, 0.0, 2.0, 2.0, 0.0), (0.0, 0.0, 2.0, 2.0, angle)]
    with pytest.raises(RowError, match=r"^annotations: angle is missing or not a finite number for annotation_id 21; give it"):
        pairs(by_corners([SQUARE]), by_angle(shapes))  # type: ignore[arg-type]


def test_neither_corners_nor_angle() -> None:
    with pytest.raises(RowError, match=r"^detections: corners is missing for detection_id 11; supply it, or a column angle"):
        pairs(by_corners([SQUARE, None]), by_corners([SQUARE]))  # type: ignore[list-item]
    with pytest.raises(ColumnError, match=r"^annotations: no column angle or corners, needed to compare by .*; supply it"):
        pairs(by_corners([SQUARE]), by_angle([(0.0, 0.0, 2.0, 2.0, 0.0)]).drop("angle"))


def test_without_shapely_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "shapely", None)
    with pytest.raises(ParameterError, match=r'^rotated boxes need shapely 2: pip install shapely, or the extra "rotated"'):
        pairs(by_corners([SQUARE]), by_corners([SQUARE]))
    assert corner_extents("detections", by_corners([SQUARE])).height == 1


@given(st.lists(turned, max_size=4), st.booleans())
def test_extents(shapes: list[Turned], clockwise: bool) -> None:
    lists = [[number for point in corners(shape)[:: -1 if clockwise else 1] for number in point] for shape in shapes]
    table = corner_extents("detections", by_corners(lists))
    assert table.schema == dict.fromkeys(["x", "y", "width", "height", "area"], pl.Float64)
    for row, shape in zip(table.rows(), shapes, strict=True):
        left, top, right, bottom = polygon(shape).bounds
        assert row == pytest.approx((left, top, right - left, bottom - top, shape[2] * shape[3]))


def test_values() -> None:
    assert {RotatedIoU(), RotatedIoU()} == {RotatedIoU()}
    assert RotatedIoU().words == "intersection over union of rotated boxes"
