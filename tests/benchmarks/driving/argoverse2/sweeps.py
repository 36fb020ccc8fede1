"""Small logs of Argoverse 2, for the tests of its format and of its protocol."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import polars as pl


def sweep(
    timestamp: int,
    category: str,
    centre: tuple[float, float, float],
    size: tuple[float, float, float] = (4.0, 2.0, 1.5),
    yaw: float = 0.0,
    **more: Any,
) -> dict[str, Any]:
    """One cuboid of a sweep, sizes being length, width and height; `more` are columns such as num_interior_pts or score."""
    row: dict[str, Any] = {"timestamp_ns": timestamp, "category": category, "qx": 0.0, "qy": 0.0}
    row |= {"qw": math.cos(yaw / 2), "qz": math.sin(yaw / 2)}
    row |= dict(zip(("tx_m", "ty_m", "tz_m"), centre, strict=True))
    return row | dict(zip(("length_m", "width_m", "height_m"), size, strict=True)) | more


def write_feather(path: Path, rows: list[dict[str, Any]]) -> Path:
    """A Feather file with these rows."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pl.DataFrame(rows).write_ipc(path, compression="lz4")
    return path


def write_log(folder: Path, log: str, rows: list[dict[str, Any]]) -> Path:
    """The folder of a log with these annotations."""
    return write_feather(folder / log / "annotations.feather", rows).parent
