"""The yaw of cuboids whose files have quaternions."""

from __future__ import annotations

import polars as pl

QUATERNION = ("qw", "qx", "qy", "qz")


def yaw_of_quaternion() -> pl.Expr:
    """Return the direction, seen from above, of the rotated x axis: radians, counter-clockwise, 0 along x.

    The rotation is in the columns `QUATERNION`, which need not have length 1. If one of them is not finite, the yaw is NaN.

    >>> turned = pl.DataFrame({"qw": [0.5**0.5, 2.0], "qx": [0.0, 0.0], "qy": [0.0, 0.0], "qz": [0.5**0.5, 0.0]})
    >>> turned.select(yaw_of_quaternion().round(6)).to_series().to_list()
    [1.570796, 0.0]
    """
    w, x, y, z = (pl.col(name) for name in QUATERNION)
    yaw = pl.arctan2(2 * (w * z + x * y), w * w + x * x - y * y - z * z)
    return pl.when(pl.all_horizontal(part.is_finite() for part in (w, x, y, z))).then(yaw).otherwise(float("nan"))
