"""The outlines of masks: closed lines around their pixels, with few enough points for drawing."""

from __future__ import annotations

import numpy as np
import polars as pl

from apframe.tables.shapes.pixel_runs import Runs, spread

_COARSE = 100  # a point is left out if the outline moves by less than the mask's longer side over this number
_FINE = 1.0  # pixels: steps that are one pixel high or wide are drawn as a slope
_ROUNDS = 12


def outlines(masks: Runs) -> pl.Series:
    """Return the closed lines around each mask and around its holes, clockwise around pixels.

    Pixels are squares: the first goes from 0 to 1. Steps along slopes and curves are smoothed by a pixel or a hundredth of
    the mask's longer side, whichever is more.

    Returns
    -------
    A list of lines for each mask. A line is x and y of its points in turn, in pixels. The list is empty without pixels.

    >>> from apframe.tables.shapes.pixel_runs import pack
    >>> square = pack([9], [9], [2], np.array([1, 2]), np.array([0, 0]), np.array([2, 2]))
    >>> outlines(square).to_list()
    [[[1.0, 0.0, 3.0, 0.0, 3.0, 2.0, 1.0, 2.0]]]
    """
    n_runs = masks.stop - masks.start
    run = spread(masks.start, n_runs)
    mask = np.repeat(np.arange(len(masks)), n_runs)
    left, top, bottom = (values[run].astype(np.int64) for values in (masks.column, masks.top, masks.bottom))
    begin, end = np.concatenate([left, left + 1]), np.concatenate([left + 1, left])  # upper sides to the right, lower back
    order, line = _in_turn(_next(mask, left, top, bottom))
    x = np.stack([begin, end], axis=1)[order].reshape(-1).astype(np.float64)
    y = np.repeat(np.concatenate([top, bottom])[order], 2).astype(np.float64)
    owner, line = np.repeat(np.concatenate([mask, mask])[order], 2), np.repeat(line, 2)
    sides = masks.box[:, 2:] - masks.box[:, :2]
    slack = np.maximum(sides.max(axis=1, initial=0) / _COARSE, _FINE)
    kept = _thinned(x, y, line, slack[owner])
    points = pl.DataFrame({"mask": owner[kept], "line": line[kept], "xy": np.stack([x[kept], y[kept]], axis=1)})
    by_mask = ["mask", "line"]
    lines = points.group_by(by_mask, maintain_order=True).agg(pl.col("xy").arr.explode())
    by_owner = lines.group_by("mask", maintain_order=True).agg("xy")
    every = pl.DataFrame({"mask": np.arange(len(masks))}).join(by_owner, on="mask", how="left", maintain_order="left")
    return every["xy"].fill_null([]).alias("outline")


def _next(mask: np.ndarray, left: np.ndarray, top: np.ndarray, bottom: np.ndarray) -> np.ndarray:
    """Return the next side of the outline for each side, upper sides first.

    Where two columns meet, the ends of their sides form pairs from top to bottom: between the two of a pair, one column is
    inside and the other outside, so the outline runs there.
    """
    n = len(left)
    side = np.arange(2 * n)
    y = np.concatenate([top, bottom])
    at = np.concatenate([left, left])
    # each side twice: with its left end, then with its right end
    owner, place = np.concatenate([mask] * 4), np.concatenate([at, at + 1])
    order = np.lexsort((np.concatenate([y, y]), place, owner)).reshape(-1, 2)
    other = np.empty(4 * n, dtype=np.int64)
    other[order[:, 0]], other[order[:, 1]] = order[:, 1], order[:, 0]
    last = np.where(side < n, side + 2 * n, side)  # upper sides end at the right
    return other[last] % (2 * n)


def _in_turn(following: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the items of closed chains in order, from the first item of each, chains by first item; and these first items.

    >>> [part.tolist() for part in _in_turn(np.array([2, 1, 3, 0]))]
    [[0, 2, 3, 1], [0, 0, 0, 1]]
    """
    n = len(following)
    first, step = np.arange(n), following
    for _ in range(n.bit_length()):  # the smallest number among ever longer stretches
        first = np.minimum(first, first[step])
        step = step[step]
    # how far it is to the end of the chain, which is before its first item
    distance, step = np.ones(n, dtype=np.int64), np.where(following == first, n, following)
    distance, step = np.append(distance, 0), np.append(step, n)
    for _ in range(n.bit_length()):
        distance += distance[step]
        step = step[step]
    order = np.lexsort((-distance[:n], first))
    return order, first[order]


def _thinned(x: np.ndarray, y: np.ndarray, line: np.ndarray, slack: np.ndarray) -> np.ndarray:
    """Return the numbers of the points to keep: each round drops every second point of a line that is near its chord.

    The first rounds only drop points within straight lines, so that corners are far from the chords of later rounds.
    """
    kept = np.arange(len(x))
    for turn in range(2 * _ROUNDS):
        own = line[kept]
        begins = np.flatnonzero(np.diff(own, prepend=-1))
        n = np.diff(begins, append=len(own))
        place = np.arange(len(own)) - np.repeat(begins, n)
        before, after = np.arange(-1, len(own) - 1), np.arange(1, len(own) + 1)
        before[begins], after[begins + n - 1] = begins + n - 1, begins
        px, py = x[kept], y[kept]
        dx, dy = px[after] - px[before], py[after] - py[before]
        length = np.hypot(dx, dy)
        off = np.abs(dx * (py - py[before]) - dy * (px - px[before]))
        far = np.hypot(px - px[before], py - py[before])
        distance = np.divide(off, length, out=far, where=length > 0)
        size = np.repeat(n, n)
        drop = (place % 2 == turn % 2) & (place < size - size % 2) & (size > 4) & (distance <= slack[kept] * (turn >= _ROUNDS))
        kept = kept[~drop]
    return kept
