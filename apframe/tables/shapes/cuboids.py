"""Cuboids: upright boxes in space with a heading, as in lidar data."""

from __future__ import annotations

import polars as pl

from apframe.exceptions import ColumnError
from apframe.rows import refuse_texts
from apframe.tables.shapes.declarations import CUBOID
from apframe.validation import Sieve, sound_rows

CENTRE, SIZES, YAW = CUBOID[:3], CUBOID[3:6], CUBOID[6]

_DEGREES_FROM = 7.0  # a full turn is 6.28 radians
_BOTTOM = "cuboid_bottom"
_CAMERA = ("camera_x", "camera_y", "camera_z", "rotation_y")


def with_cuboids(table: str, frame: pl.DataFrame) -> pl.DataFrame:
    """Convert cuboids in other conventions to the canonical columns; the other columns are dropped.

    The canonical columns are the centre in a frame whose z axis points up, and a yaw that turns from x to y. Others are read:

    - `cuboid_bottom` in place of `cuboid_z`: the height of the bottom face.
    - `camera_x, camera_y, camera_z, rotation_y` in place of the centre and the yaw: a camera's frame (x right, y down,
      z ahead), in which the point is the centre of the bottom face, and the rotation is about the y axis.

    Raises
    ------
    ColumnError
        such a column does not hold numbers; `cuboid_height` is missing, which is required for the height of the centre

    >>> sizes = {"cuboid_length": [4.0], "cuboid_width": [2.0], "cuboid_height": [1.5]}
    >>> camera = {"camera_x": [3.0], "camera_y": [1.5], "camera_z": [20.0], "rotation_y": [0.5]}
    >>> with_cuboids("annotations", pl.DataFrame(sizes | camera)).select(*CENTRE, YAW).row(0)
    (3.0, 20.0, -0.75, -0.5)
    """
    there = set(frame.columns)
    if set(_CAMERA) <= there and not there & {*CENTRE, YAW}:
        _require_numbers(table, frame, (*_CAMERA, "cuboid_height"))
        x, y, z, rotation = (pl.col(name).cast(pl.Float64) for name in _CAMERA)
        bottom = -y
        centre = {"cuboid_x": x, "cuboid_y": z, "cuboid_z": bottom + pl.col("cuboid_height") / 2, YAW: -rotation}
        return frame.with_columns(**centre).drop(_CAMERA)
    if _BOTTOM in there and "cuboid_z" not in there:
        _require_numbers(table, frame, (_BOTTOM, "cuboid_height"))
        return frame.with_columns(cuboid_z=pl.col(_BOTTOM) + pl.col("cuboid_height") / 2).drop(_BOTTOM)
    return frame


def _require_numbers(table: str, frame: pl.DataFrame, names: tuple[str, ...]) -> None:
    for name in names:
        if name not in frame.columns:
            raise ColumnError(f"no column {name}", f"{names[0]} is of the bottom, and the centre is needed", table=table)
    refuse_texts(table, frame, names)


def cuboid_extents(table: str, frame: pl.DataFrame) -> pl.DataFrame:
    """Return the upright rectangle around cuboids seen from above, in metres, as box columns; `area` is length times width.

    Rows stay in their order. `table` is used in errors: cuboids that are missing, or that `check_cuboids` rejects.

    >>> cuboid = {"cuboid_x": [3.0], "cuboid_y": [1.0], "cuboid_z": [0.0], "cuboid_length": [4.0], "cuboid_width": [2.0],
    ...           "cuboid_height": [1.5], "cuboid_yaw": [0.0]}
    >>> cuboid_extents("annotations", pl.DataFrame(cuboid)).rows()
    [(1.0, 0.0, 4.0, 2.0, 8.0)]
    """
    frame = check_cuboids(table, frame, CUBOID)
    remedy = "supply it, or a box, or remove these rows"
    frame = sound_rows(table, frame, frame[CENTRE[0]].is_null(), f"{CENTRE[0]} is missing", remedy)
    return frame.select(**around_cuboids(), area=pl.col("cuboid_length") * pl.col("cuboid_width"))


def around_cuboids() -> dict[str, pl.Expr]:
    """Return the columns of the upright rectangle around a cuboid seen from above, by name.

    >>> turned = {"cuboid_x": [3.0], "cuboid_y": [1.0], "cuboid_length": [4.0], "cuboid_width": [2.0], "cuboid_yaw": [1.5708]}
    >>> pl.DataFrame(turned).select(**around_cuboids()).select(pl.all().round(3)).row(0)
    (2.0, -1.0, 2.0, 4.0)
    """
    length, width, cos, sin = pl.col("cuboid_length"), pl.col("cuboid_width"), pl.col(YAW).cos().abs(), pl.col(YAW).sin().abs()
    along_x, along_y = length * cos + width * sin, length * sin + width * cos
    x, y = pl.col("cuboid_x") - along_x / 2, pl.col("cuboid_y") - along_y / 2
    return {"x": x, "y": y, "width": along_x, "height": along_y}


def check_cuboids(table: str, frame: pl.DataFrame, needs: tuple[str, ...]) -> pl.DataFrame:
    """Return the rows with complete cuboids of finite numbers and positive sizes, or without cuboids; see `sound_rows`.

    Rows in which all numbers of the cuboid are null have no cuboid.

    Raises
    ------
    ColumnError
        a column of `needs` is missing
    RowError
        numbers are missing or not finite, or a side is not positive; names the ids

    >>> check_cuboids("detections", pl.DataFrame({"cuboid_x": [3.0, None], "cuboid_y": [1.0, None]}), ("cuboid_x",)).height
    2
    >>> check_cuboids("detections", pl.DataFrame({"cuboid_width": [0.0]}), ())
    Traceback (most recent call last):
    apframe.exceptions.RowError: detections: cuboid_width is not positive for row 1; give the size in metres, or ...
    """
    if missing := [name for name in needs if name not in frame.columns]:
        raise ColumnError(f"no column {', '.join(missing)}", f"cuboids have {', '.join(CUBOID)}", table=table)
    there = [name for name in CUBOID if name in frame.columns]
    sieve = Sieve(table, frame)
    has_cuboid = frame.select(pl.any_horizontal(pl.col(there).is_not_null())).to_series()
    for name in there:
        broken = has_cuboid & ~frame[name].is_finite().fill_null(False)
        sieve.refuse(broken, f"{name} is missing or not a finite number", "supply it or remove these rows")
        if name in SIZES:
            broken = (frame[name] <= 0).fill_null(False)
            sieve.refuse_malformed(broken, f"{name} is not positive", "give the size in metres")
    return sieve.sound(frame)


def like_degrees(frame: pl.DataFrame) -> float | None:
    """Return the first yaw that looks like degrees, if more than half of them do (beyond 7 in size); otherwise None.

    >>> like_degrees(pl.DataFrame({"cuboid_yaw": [1.0, 90.0, -45.0]})), like_degrees(pl.DataFrame({"cuboid_yaw": [1.0, 9.0]}))
    (90.0, None)
    """
    if YAW not in frame.columns:
        return None
    beyond = frame[YAW].filter(frame[YAW].abs() > _DEGREES_FROM)
    return beyond[0] if len(beyond) > frame[YAW].count() / 2 else None


def check(table: str, frame: pl.DataFrame) -> pl.DataFrame:
    """Check cuboids with the columns that exist, see `check_cuboids`."""
    return check_cuboids(table, frame, ())
