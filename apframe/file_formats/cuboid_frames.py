"""Cuboids of files in our frame: centre, length, width, height, and yaw counter-clockwise seen from above, z up."""

from __future__ import annotations

import polars as pl

CUBOID = ("cuboid_x", "cuboid_y", "cuboid_z", "cuboid_length", "cuboid_width", "cuboid_height", "cuboid_yaw")
CAMERA = ("object_height", "object_width", "object_length", "location_x", "location_y", "location_z", "rotation_y")
"""Fields of KITTI's cuboids, in the order of its files; the location is the centre of the bottom, before the camera."""


def from_camera() -> dict[str, pl.Expr]:
    """Cuboids of the columns `CAMERA`: x to the right, y down, z forward, rotation about y, from x towards -z.

    Our x, y, z are to the right, forward, up. Corners in the ground plane and heights of bottom and top stay the same.

    >>> camera = pl.DataFrame([[1.5], [1.6], [4.0], [-2.0], [1.75], [30.0], [0.5]], schema=CAMERA)
    >>> camera.select(**from_camera()).row(0)
    (-2.0, 30.0, -1.0, 4.0, 1.6, 1.5, -0.5)
    """
    height, width, length, x, y, z, rotation = (pl.col(name) for name in CAMERA)
    return dict(zip(CUBOID, (x, z, height / 2 - y, length, width, height, 0 - rotation), strict=True))


def to_camera() -> dict[str, pl.Expr]:
    """The columns `CAMERA` of cuboids: the reverse of `from_camera`.

    >>> cuboid = pl.DataFrame([[-2.0], [30.0], [-1.0], [4.0], [1.6], [1.5], [-0.5]], schema=CUBOID)
    >>> cuboid.select(**to_camera()).row(0)
    (1.5, 1.6, 4.0, -2.0, 1.75, 30.0, 0.5)
    """
    x, y, z, length, width, height, yaw = (pl.col(name) for name in CUBOID)
    return dict(zip(CAMERA, (height, width, length, x, height / 2 - z, y, 0 - yaw), strict=True))


def yaw_of(quaternion: tuple[str, str, str, str]) -> pl.Expr:
    """The angle about z, in radians, of rotations as quaternions in the columns w, x, y, z; they need not have length 1.

    It is the direction, seen from above, in which the rotated x axis points.

    >>> turned = pl.DataFrame({"w": [0.5**0.5, 2.0], "x": [0.0, 0.0], "y": [0.0, 0.0], "z": [0.5**0.5, 0.0]})
    >>> turned.select(yaw_of(("w", "x", "y", "z")).round(6)).to_series().to_list()
    [1.570796, 0.0]
    """
    w, x, y, z = (pl.col(name) for name in quaternion)
    return pl.arctan2(2 * (w * z + x * y), w * w + x * x - y * y - z * z)
