"""Spheres: centres in space with a diameter, such as nodules in scans."""

from __future__ import annotations

import polars as pl

from apframe.exceptions import ColumnError
from apframe.tables.shapes.declarations import SPHERES
from apframe.validation import Sieve

CENTRE = SPHERES.needs
DIAMETER = "sphere_diameter"
UNKNOWN_RADIUS = 5.0


def radius() -> pl.Expr:
    """Return half the diameter, or 5 if the diameter is negative: files may have -1 for an unknown diameter.

    >>> pl.DataFrame({"sphere_diameter": [8.0, -1.0]}).select(r=radius())["r"].to_list()
    [4.0, 5.0]
    """
    return pl.when(pl.col(DIAMETER) < 0).then(UNKNOWN_RADIUS).otherwise(pl.col(DIAMETER) / 2)


def sphere_extents(table: str, frame: pl.DataFrame) -> pl.DataFrame:
    """Return the box columns of spheres: the square around them in x and y, or a point without a diameter.

    Rows stay in their order. Raises the errors of `check_spheres`; `table` is used in their messages.

    >>> sphere_extents("annotations", pl.DataFrame({
    ...     "sphere_x": [3.0], "sphere_y": [1.0], "sphere_z": [0.0], "sphere_diameter": [4.0]})).rows()
    [(1.0, -1.0, 4.0, 4.0, 16.0)]
    """
    frame = check_spheres(table, frame, needs_diameter=False)
    half = radius().fill_null(0.0) if DIAMETER in frame.columns else pl.lit(0.0)
    side = half * 2
    return frame.select(x=pl.col("sphere_x") - half, y=pl.col("sphere_y") - half, width=side, height=side, area=side * side)


def check_spheres(table: str, frame: pl.DataFrame, *, needs_diameter: bool) -> pl.DataFrame:
    """Return the rows with finite numbers, see `sound_rows`; raise `ColumnError` without the columns.

    >>> mark = pl.DataFrame({"sphere_x": [1.0], "sphere_y": [1.0], "sphere_z": [1.0]})
    >>> check_spheres("detections", mark, needs_diameter=False).height
    1
    """
    sieve = Sieve(table, frame)
    for name in (*CENTRE, *((DIAMETER,) if needs_diameter else ())):
        if name not in frame.columns:
            raise ColumnError(f"no column {name}", f"spheres are {SPHERES.words}", table=table)
        sieve.refuse_no_number(name, f"spheres are {SPHERES.words}")
    return sieve.sound(frame)


def check(table: str, frame: pl.DataFrame) -> pl.DataFrame:
    """Check spheres, see `check_spheres`; the ground truth requires diameters if it has the column."""
    return check_spheres(table, frame, needs_diameter=table == "annotations" and DIAMETER in frame.columns)
