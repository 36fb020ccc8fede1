"""Intersections of cuboids: of their footprints, two rectangles that may be turned, and of their heights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from apframe.similarity.pairs import Similarity, join_on_cell, most_alike, overlap, require
from apframe.tables.shapes.cuboids import YAW, around_cuboids, check_cuboids
from apframe.threads import pool

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

FOOTPRINT = ("cuboid_x", "cuboid_y", "cuboid_length", "cuboid_width", YAW)
_HEIGHT = ("cuboid_z", "cuboid_height")
_HULL = ["left", "top", "right", "bottom", "size"]
_BLOCK = 1 << 14  # pairs at a time, whose columns fit the cache
_RIGHT_ANGLE = 1e-15  # the largest error of the sine of a multiple of pi


def pair_cuboids(
    similarity: Similarity, detections: pl.DataFrame, annotations: pl.DataFrame, min_similarity: float, *, with_heights: bool
) -> pl.DataFrame:
    """Return the pairs of cuboids by the IoU of their footprints or, with their heights, of their volumes.

    The upright rectangles around footprints rule out most pairs before anything is turned: no IoU is larger than that of two
    shapes which fill the whole intersection of their rectangles, and the IoU of volumes never exceeds that of footprints.
    """
    import numpy as np

    require(similarity, detections, annotations)
    check_cuboids("detections", detections, similarity.needs)
    check_cuboids("annotations", annotations, similarity.needs)
    hull = _hull(with_heights)
    hulls = [frame.with_columns(**hull) for frame in (detections, annotations)]
    near = join_on_cell(hulls[0], hulls[1], list(hull)).filter(most_alike() >= min_similarity * (1 - 1e-9))
    if with_heights:
        near = near.filter(overlap("low", "high") > 0)
    pairs = near.select("detection", "annotation", "is_crowd").collect(engine="streaming")
    names = (*FOOTPRINT, *_HEIGHT) if with_heights else FOOTPRINT
    detected_cuboids, annotated_cuboids = (
        np.array([frame[name].to_numpy() for name in names]) for frame in (detections, annotations)
    )
    rows = [pairs[name].to_numpy() for name in ("detection", "annotation", "is_crowd")]

    def alike(start: int) -> Array:
        detection, annotation, is_crowd = (each[start : start + _BLOCK] for each in rows)
        left, right = detected_cuboids[:, detection], annotated_cuboids[:, annotation]
        shared, sizes = shared_footprints(left[:5], right[:5]), [each[2] * each[3] for each in (left, right)]
        if with_heights:
            shared *= _shared_heights(left[5:], right[5:])
            sizes = [size * each[6] for size, each in zip(sizes, (left, right), strict=True)]
        return np.minimum(shared / np.where(is_crowd, sizes[0], sizes[0] + sizes[1] - shared), 1)

    with pool() as others:
        similarities = np.concatenate([np.empty(0), *others.map(alike, range(0, pairs.height, _BLOCK))])
    compared = pairs.select("detection", "annotation", similarity=pl.Series(similarities))
    return compared.filter((pl.col("similarity") >= min_similarity) & (pl.col("similarity") > 0))


def _hull(with_heights: bool) -> dict[str, pl.Expr]:
    """The edges of the rectangle around a footprint and its area; the ends of the height."""
    x, y, width, height = around_cuboids().values()
    edges = (x, y, x + width, y + height, pl.col("cuboid_length") * pl.col("cuboid_width"))
    half = pl.col("cuboid_height") / 2
    heights = {"low": pl.col("cuboid_z") - half, "high": pl.col("cuboid_z") + half} if with_heights else {}
    return dict(zip(_HULL, edges, strict=True)) | heights


def _shared_heights(left: Array, right: Array) -> Array:
    """Height that cuboids share, computed from the left one's centre, so that equal ones share all of it to the last bit."""
    import numpy as np

    up, half, other = right[0] - left[0], left[1] / 2, right[1] / 2
    return np.maximum(np.minimum(half, up + other) - np.maximum(-half, up - other), 0)


def shared_footprints(left: Array, right: Array) -> Array:
    """Return the area of the intersection of each pair of rectangles.

    Everything is computed in the frame of the left rectangle, which is upright there with its centre at 0. By Green's theorem
    the shared area is the sum of one integral for each side of the right rectangle: over the part of the side that is neither
    left nor right of the upright one, the height above that one's bottom edge, at most that of its top edge. It does not matter
    which sides cross, so sides that lie on each other need no case of their own, and equal rectangles share all of their area
    to the last bit.

    Parameters
    ----------
    left, right
        x, y, length, width and yaw of rectangles, of shape (5, pairs); angles that are multiples of a right angle but for
        rounding are treated as exact

    >>> import numpy as np
    >>> square, moved = np.array([[0.0], [0.0], [2.0], [2.0], [0.0]]), np.array([[1.0], [0.5], [2.0], [2.0], [np.pi / 2]])
    >>> shared_footprints(square, moved).tolist()
    [1.5]
    """
    import numpy as np

    cos, sin = _turned(left[4])
    right_x, up = right[0] - left[0], right[1] - left[1]
    x, y = cos * right_x + sin * up, cos * up - sin * right_x
    half, top = left[2] / 2, left[3] / 2
    cos, sin = _turned(right[4] - left[4])
    ahead, aside = (cos * right[2] / 2, sin * right[2] / 2), (-sin * right[3] / 2, cos * right[3] / 2)
    signs = ((1, 1), (-1, 1), (-1, -1), (1, -1))  # of the corners, counter-clockwise
    corners = [(x + a * ahead[0] + b * aside[0], y + a * ahead[1] + b * aside[1]) for a, b in signs]
    area = np.zeros(x.shape)
    for (x0, y0), (x1, y1) in zip(corners, [*corners[1:], corners[0]], strict=True):
        begin, end = x0.clip(-half, half), x1.clip(-half, half)
        crosses = begin != end
        slope = np.divide(y1 - y0, x1 - x0, out=np.zeros(x.shape), where=crosses)
        y0, y1 = y0 + (begin - x0) * slope, y1 + (end - x1) * slope
        low, high = np.minimum(y0, y1), np.maximum(y0, y1)
        rise, below = high - low, np.maximum(np.minimum(high, -top) - low, 0)
        low, high = low.clip(-top, top), high.clip(-top, top)
        # the mean height over a side, from that of its upper end, so that sides which are nearly level lose no digits
        share = np.divide((high - low) / 2 + below, rise, out=np.zeros(x.shape), where=rise > 0)
        mean = high + top - (high - low) * share
        area += np.where(crosses, (begin - end) * mean, 0)
    return np.maximum(area, 0)


def _turned(angle: Array) -> tuple[Array, Array]:
    """Return the cosine and sine, exact at multiples of a right angle."""
    import numpy as np

    cos, sin = np.cos(angle), np.sin(angle)
    is_across, is_along = abs(cos) < _RIGHT_ANGLE, abs(sin) < _RIGHT_ANGLE
    cos[is_across], sin[is_along] = 0, 0
    cos[is_along], sin[is_across] = np.sign(cos[is_along]), np.sign(sin[is_across])
    return cos, sin
