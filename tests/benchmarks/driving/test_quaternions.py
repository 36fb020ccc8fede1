"""The yaw of a quaternion is that of the axis that it turns x into."""

from __future__ import annotations

import math

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apframe.benchmarks.driving.quaternions import QUATERNION, yaw_of_quaternion


def yaw_of(*quaternion: float) -> float:
    return float(pl.DataFrame([quaternion], schema=QUATERNION, orient="row").select(yaw_of_quaternion()).item())


@given(st.floats(-3.1, 3.1), st.floats(0.1, 5))
def test_a_turn_about_the_vertical(yaw: float, length: float) -> None:
    assert yaw_of(length * math.cos(yaw / 2), 0, 0, length * math.sin(yaw / 2)) == pytest.approx(yaw, abs=1e-9)


@pytest.mark.parametrize("part", range(4))
@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_parts_that_are_not_finite_give_no_yaw(part: int, value: float) -> None:
    assert math.isnan(yaw_of(*(value if place == part else 0.5 for place in range(4))))


def test_a_turn_about_another_axis_before_the_vertical_one() -> None:
    """90 degrees about x leave the x axis where it is; 90 about the vertical turn it to y."""
    assert yaw_of(0.5, 0.5, 0.5, 0.5) == pytest.approx(math.pi / 2)
    assert yaw_of(math.sqrt(0.5), math.sqrt(0.5), 0, 0) == 0
