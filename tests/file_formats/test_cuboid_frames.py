"""Cuboids of files in our frame: corners, heights and headings stay where they are."""

from __future__ import annotations

import math

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apframe.file_formats.cuboid_frames import CAMERA, CUBOID, from_camera, to_camera, yaw_of

LENGTHS = st.floats(0.1, 20)
PLACES = st.floats(-100, 100)
ANGLES = st.floats(-3.1, 3.1)


@given(st.tuples(LENGTHS, LENGTHS, LENGTHS, PLACES, PLACES, PLACES, ANGLES))
def test_the_camera_sees_the_same_corners(values: tuple[float, ...]) -> None:
    """The rule of PROTOCOLS.md I.1: corners (a, b) lie at (x + a cos ry + b sin ry, z - a sin ry + b cos ry)."""
    camera = pl.DataFrame([values], schema=CAMERA, orient="row")
    height, width, length, x, y, z, rotation = values
    cuboid = camera.select(**from_camera())
    ours = cuboid.row(0, named=True)
    for a, b in ((length / 2, width / 2), (length / 2, -width / 2), (-length / 2, width / 2)):
        yaw = ours["cuboid_yaw"]
        right, forward = a * math.cos(yaw) - b * math.sin(yaw), a * math.sin(yaw) + b * math.cos(yaw)
        assert ours["cuboid_x"] + right == pytest.approx(x + a * math.cos(rotation) + b * math.sin(rotation))
        assert ours["cuboid_y"] + forward == pytest.approx(z - a * math.sin(rotation) + b * math.cos(rotation))
    assert ours["cuboid_z"] - ours["cuboid_height"] / 2 == pytest.approx(-y, abs=1e-9)
    assert ours["cuboid_z"] + ours["cuboid_height"] / 2 == pytest.approx(height - y, abs=1e-9)
    assert cuboid.columns == list(CUBOID)
    assert cuboid.select(**to_camera()).row(0) == pytest.approx(values, abs=1e-9)


@given(ANGLES, st.floats(0.1, 5))
def test_yaw_of_a_rotation_about_the_vertical(yaw: float, length: float) -> None:
    quaternion = {"w": [length * math.cos(yaw / 2)], "x": [0.0], "y": [0.0], "z": [length * math.sin(yaw / 2)]}
    assert pl.DataFrame(quaternion).select(yaw_of(("w", "x", "y", "z"))).item() == pytest.approx(yaw, abs=1e-9)


def test_yaw_is_the_direction_of_the_x_axis_seen_from_above() -> None:
    """After 90 degrees about x, then 90 about z: the x axis points along y."""
    half = math.sqrt(0.5)
    w, x, y, z = half * half, half * half, half * half, half * half  # product of the two quaternions
    assert pl.DataFrame({"w": [w], "x": [x], "y": [y], "z": [z]}).select(yaw_of(("w", "x", "y", "z"))).item() == pytest.approx(
        math.pi / 2
    )
