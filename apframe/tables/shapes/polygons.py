"""Polygons as masks, pixel for pixel as drawn by the COCO mask API.

The reference (`rleFrPoly`) enlarges a polygon five times, walks along its outline point by point, and records the row where the
walk passes from one column of pixels to the next; the pixels inside lie between every two such crossings of a column. This
module only computes the crossings, with the same numbers and roundings, without the walk.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from apframe.tables.shapes.mask_limits import MOST_PIXELS, MOST_STEPS
from apframe.tables.shapes.pixel_runs import BLOCK, TOO_MANY, Fault, Runs, in_blocks, join_blocks, most_runs, pack

_SCALE = 5
TOO_LONG = f"the outline crosses more than 2**{MOST_STEPS.bit_length() - 1} columns of pixels, counted both ways,"
_MIDDLE = 2  # a column of pixels is passed where the enlarged x goes from 5 k + 2 to 5 k + 3, or back


def rasterise(
    coordinates: np.ndarray, n_points: np.ndarray, n_polygons: np.ndarray, height: np.ndarray, width: np.ndarray
) -> Runs | Fault:
    """Return the masks of objects with one or more polygons each, which are merged and clipped to the image.

    Outlines that are longer than the limits in `apframe.tables.shapes.mask_limits` are a fault.

    Parameters
    ----------
    coordinates
        x, y, x, y ... of all polygons, one after the other; finite
    n_points
        number of points of each polygon, at least one
    n_polygons, height, width
        number of polygons and size of the image for each mask

    >>> corners = np.array([1.0, 1, 3, 1, 3, 3, 1, 3])
    >>> square = rasterise(corners, np.array([4]), np.array([1]), np.array([4]), np.array([4]))
    >>> square.box.tolist(), square.area.tolist()
    ([[1, 1, 3, 3]], [4])
    """
    last_polygon = np.cumsum(n_polygons)
    stop = np.concatenate([[0], np.cumsum(n_points)])[np.concatenate([[0], last_polygon])]
    x, y = coordinates[::2], coordinates[1::2]
    of_mask = np.diff(stop)

    def parts(first: int, last: int) -> tuple[slice, slice, slice]:
        """Return the slices of points, polygons and masks of a block."""
        before = last_polygon[first - 1] if first else 0
        return slice(stop[first], stop[last]), slice(before, last_polygon[last - 1] if last else 0), slice(first, last)

    def count_steps(first: int, last: int) -> np.ndarray:
        points, polygons, masks = parts(first, last)
        return _count_steps(x[points], n_points[polygons], of_mask[masks], width[masks])

    n_steps = np.concatenate(in_blocks(count_steps, 8 * of_mask))  # which takes eight times the memory
    if (n_steps > MOST_STEPS).any():
        return TOO_LONG, np.flatnonzero(n_steps > MOST_STEPS)
    n_runs = np.cumsum(n_steps) // 2
    if n_runs[-1:].max(initial=0) > most_runs(len(coordinates)):
        return TOO_MANY, np.flatnonzero(n_runs > most_runs(len(coordinates)))
    weight = 4 * of_mask + 2 * n_steps + (height + 1) * (width + 1) * BLOCK // MOST_PIXELS

    def draw(first: int, last: int) -> Runs:
        points, polygons, masks = parts(first, last)
        return _drawn(x[points], y[points], n_points[polygons], n_polygons[masks], height[masks], width[masks])

    return join_blocks(draw, weight, height, width, n_steps // 2 + 1)


def _count_steps(x: np.ndarray, n_points: np.ndarray, of_mask: np.ndarray, width: np.ndarray) -> np.ndarray:
    """Return the approximate number of columns that the outlines of each mask in a block cross, in both directions."""
    inside = np.clip(x, 0, np.repeat(width, of_mask))
    steps, end = np.abs(np.diff(inside, append=inside[-1:])), np.cumsum(n_points) - 1
    steps[end] = np.abs(inside[end - n_points + 1] - inside[end])  # back to the first point
    return (np.add.reduceat(steps, np.cumsum(of_mask) - of_mask) if len(steps) else steps).astype(np.int64)


def _drawn(
    x: np.ndarray, y: np.ndarray, n_points: np.ndarray, n_polygons: np.ndarray, height: np.ndarray, width: np.ndarray
) -> Runs:
    """Return the masks of a block."""
    stop = np.cumsum(n_points)
    to = np.arange(1, len(x) + 1)
    to[stop - 1] = stop - n_points
    # cast to int as in C, towards zero and within its range
    x, y = (np.trunc(np.clip(_SCALE * part + 0.5, -(2.0**31), 2.0**31 - 1)) for part in (x, y))
    x_to, y_to = x[to], y[to]
    mask = np.repeat(np.arange(len(n_polygons)), n_polygons)
    owner = np.repeat(mask, n_points)
    # the columns k with low <= 5 k + 2 < high
    begin = np.maximum(np.ceil((np.minimum(x, x_to) - _MIDDLE) / _SCALE), 0)
    end = np.minimum(np.ceil((np.maximum(x, x_to) - _MIDDLE) / _SCALE), width[owner])
    n_columns = np.maximum(end - begin, 0).astype(np.int64)

    # a row of a column is a number, in order of polygons, columns and rows
    step = int(height.max(initial=0)) + 1
    base = np.cumsum(width[mask]) - width[mask]
    place = (np.repeat(base, n_points) + begin.astype(np.int64)) * step
    dtype: Any = np.int32 if len(base) and (int(base[-1]) + int(width[-1])) * step < 2**31 else np.int64
    rows = height.astype(np.int32)
    if (height == height[:1]).all():
        rows = rows[:1].max(initial=0)
    is_flat = np.abs(x_to - x) >= np.abs(y_to - y)
    turn = np.where(is_flat, x > x_to, y > y_to)  # the walk goes to the right, or down
    x, x_to, y, y_to = np.where(turn, x_to, x), np.where(turn, x, x_to), np.where(turn, y_to, y), np.where(turn, y, y_to)
    edge, filled = np.empty(int(n_columns.sum()), dtype=dtype), 0
    for which, rows_at in ((is_flat, _rows_of_flat), (~is_flat, _rows_of_steep)):
        line = np.flatnonzero(which & (n_columns > 0))
        n = n_columns[line]
        before = np.cumsum(n) - n
        of = np.repeat(np.arange(len(line)), n)  # the line of each crossing: indexing by it is faster than repeating again
        row = rows_at(_SCALE * (begin[line] - before) + _MIDDLE, x[line], y[line], x_to[line], y_to[line], of)
        row = np.clip(row, 0, _SCALE * step, out=row).astype(np.int32 if step < 2**28 else np.int64)
        row += _MIDDLE
        row //= _SCALE
        np.minimum(row, rows if rows.ndim == 0 else rows[owner[line]][of], out=row)
        number = edge[filled : filled + len(row)]
        np.multiply(np.arange(len(row), dtype=dtype), dtype(step), out=number)
        number += (place[line] - before * step).astype(dtype)[of]
        number += row
        filled += len(row)
    edge.sort()
    start, stop = edge[::2], edge[1::2]
    if len(n_points) > len(n_polygons):
        n_runs = np.bincount(np.repeat(np.arange(len(n_points)), n_points), n_columns, len(n_points)).astype(np.int64) // 2
        merged_base = np.cumsum(width) - width
        move = np.repeat(((merged_base[mask] - base) * step).astype(dtype), n_runs)
        start, stop = _merged(start + move, stop + move)
        base = merged_base
    return _as_runs(start, stop, base, step, height, width)


def _rows_of_flat(
    first: np.ndarray, x: np.ndarray, y: np.ndarray, x_to: np.ndarray, y_to: np.ndarray, of: np.ndarray
) -> np.ndarray:
    """Return the enlarged rows where lines up to 45 degrees, going right, pass from one column to the next.

    Crossing number k belongs to line `of[k]`, and lies right of `first` of this line + 5 k.
    """
    slope = (y_to - y) / (x_to - x)
    # the higher one of the points before and after the crossing
    steps = _SCALE * np.arange(float(len(of)))
    steps += (first - x + (slope < 0))[of]
    steps *= slope[of]
    steps += y[of]
    steps += 0.5
    return steps


def _rows_of_steep(
    first: np.ndarray, x: np.ndarray, y: np.ndarray, x_to: np.ndarray, y_to: np.ndarray, of: np.ndarray
) -> np.ndarray:
    """Return the rows for steeper lines, going down: one less than the first step behind the crossing."""
    slope = ((x_to - x) / (y_to - y))[of]
    middle = _SCALE * np.arange(float(len(of))) + first[of]
    x = x[of]
    steps = np.rint((middle + 0.5 - x) / slope)  # or one more, depending on the sum that the walk computes
    is_behind = (x + slope * steps + 0.5 >= middle + 1) == (slope > 0)
    return y[of] + steps - is_behind


def _merged(start: np.ndarray, stop: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the union of ranges that may overlap, in order."""
    start, stop = np.sort(start, kind="stable"), np.sort(stop, kind="stable")
    gap = start[1:] > stop[:-1]  # every range that began has ended
    return start[np.concatenate([[True], gap])[: len(start)]], stop[np.concatenate([gap, [True]])[: len(start)]]


def _as_runs(start: np.ndarray, stop: np.ndarray, base: np.ndarray, step: int, height: np.ndarray, width: np.ndarray) -> Runs:
    """Return masks from ranges of row numbers; the columns of each mask are numbered from its base."""
    filled = start < stop
    if not filled.all():
        start, stop = start[filled], stop[filled]
    joins = start[1:] == stop[:-1]
    if joins.any():
        start, stop = start[np.concatenate([[True], ~joins])], stop[np.concatenate([~joins, [True]])]
    column = start // start.dtype.type(step)
    top = start - column * start.dtype.type(step)
    n_runs = np.diff(np.searchsorted(start, (base * step).astype(start.dtype)), append=len(start))
    return pack(height, width, n_runs, column - np.repeat(base.astype(column.dtype), n_runs), top, top + (stop - start))
