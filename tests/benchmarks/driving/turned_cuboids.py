"""The overlap of cuboids that are turned, by Shapely, for the plain loops of KITTI and Waymo."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

Row = dict[str, Any]
Alike = Callable[[Row, Row], float]


def from_above(one: Row, other: Row) -> float:
    """IoU of the footprints; 0 where a row has no cuboid."""
    if _lacks(one, other):
        return 0.0
    areas = [row["cuboid_length"] * row["cuboid_width"] for row in (one, other)]
    shared = _shared_area(one, other)
    return shared / (sum(areas) - shared)


def in_space(one: Row, other: Row) -> float:
    """IoU of the volumes; 0 where a row has no cuboid."""
    if _lacks(one, other):
        return 0.0
    volumes = [row["cuboid_length"] * row["cuboid_width"] * row["cuboid_height"] for row in (one, other)]
    low = max(row["cuboid_z"] - row["cuboid_height"] / 2 for row in (one, other))
    high = min(row["cuboid_z"] + row["cuboid_height"] / 2 for row in (one, other))
    shared = _shared_area(one, other) * max(high - low, 0)
    return shared / (sum(volumes) - shared)


OVERLAPS = {"bev": from_above, "3d": in_space}


def remembered(alike: Alike) -> Alike:
    """The same function, which is computed once for each pair of rows."""
    similarities: dict[tuple[int, int], float] = {}

    def look_up(one: Row, other: Row) -> float:
        pair = (id(one), id(other))
        if pair not in similarities:
            similarities[pair] = alike(one, other)
        return similarities[pair]

    return look_up


def _lacks(*rows: Row) -> bool:
    return any(row["cuboid_x"] is None for row in rows)


def _shared_area(one: Row, other: Row) -> float:
    first, second = (
        _footprint(*(row[f"cuboid_{name}"] for name in ("x", "y", "length", "width", "yaw"))) for row in (one, other)
    )
    return float(first.intersection(second).area)


@lru_cache(10_000)
def _footprint(x: float, y: float, length: float, width: float, yaw: float) -> Any:
    import shapely  # an optional package

    cos, sin = math.cos(yaw), math.sin(yaw)
    sides = [(a * length / 2, b * width / 2) for a, b in ((1, 1), (-1, 1), (-1, -1), (1, -1))]
    return shapely.Polygon([(x + a * cos - b * sin, y + a * sin + b * cos) for a, b in sides])
