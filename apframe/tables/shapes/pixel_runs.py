"""Masks as runs of pixels, column by column: sizes and erosion.

A run is a sequence of pixels in one column. The runs of a mask are in the order of columns, then rows, and two runs of a
column do not touch. All steps process many masks at once, block by block, so that memory stays bounded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from apframe.exceptions import InputError
from apframe.tables.shapes.mask_limits import MOST_RUNS, RUNS_PER_NUMBER
from apframe.threads import keep_pages, pool
from apframe.wording import option_name

BLOCK = 1 << 20  # runs or pixels in a block: few enough for a cache, enough that two threads seldom wait
Result = TypeVar("Result")
Fault = tuple[str, np.ndarray]  # the problem, and the numbers of the masks
_OF_MASKS, _OF_RUNS = ("height", "width", "start", "stop", "area", "box"), ("column", "top", "bottom")
TOO_MANY = (
    f"all masks together have too many runs of pixels (over 2**{MOST_RUNS.bit_length() - 1}, "
    f"and over {RUNS_PER_NUMBER} for each number in the input)"
)


@dataclass(frozen=True, eq=False)
class Runs:
    """Masks as runs. Arrays over masks are `height` and `width` of the image, `start`, `stop`, `area`, `box`; others over runs.

    The runs of a mask have numbers `start` to `stop - 1`; a run has the pixels `top` to `bottom - 1` of its `column`. `box` is
    left, top, right and bottom, the latter two exclusive; all 0 for a mask without pixels.

    >>> square = pack([4], [4], [2], np.array([1, 2]), np.array([0, 0]), np.array([2, 2]))
    >>> square.area.tolist(), square.box.tolist()
    ([4], [[1, 0, 3, 2]])
    """

    height: np.ndarray
    width: np.ndarray
    start: np.ndarray
    stop: np.ndarray
    area: np.ndarray
    box: np.ndarray
    column: np.ndarray
    top: np.ndarray
    bottom: np.ndarray

    def __len__(self) -> int:
        return len(self.start)

    def take(self, masks: np.ndarray) -> Runs:
        """Select masks, in any order; their runs are not moved."""
        return replace(self, **{name: getattr(self, name)[masks] for name in _OF_MASKS})


def pack(
    height: Sequence[int] | np.ndarray,
    width: Sequence[int] | np.ndarray,
    n_runs: Sequence[int] | np.ndarray,
    column: np.ndarray,
    top: np.ndarray,
    bottom: np.ndarray,
) -> Runs:
    """Return masks from consecutive runs, with derived values; coordinates have 16 bits if that is enough.

    >>> pack([2], [2], [1], np.array([0]), np.array([1]), np.array([2])).bottom.dtype
    dtype('int16')
    """
    height, width, n_runs = (np.asarray(values, dtype=np.int64) for values in (height, width, n_runs))
    column, top, bottom = _narrowed(height, width, column, top, bottom)
    stop = np.cumsum(n_runs)
    start = stop - n_runs
    area, box = np.zeros(len(start), dtype=np.int64), np.zeros((len(start), 4), dtype=np.int64)
    filled = np.flatnonzero(n_runs)
    if len(filled):
        first = start[filled]
        area[filled] = np.add.reduceat(bottom - top, first, dtype=np.int32)
        box[filled] = np.stack(
            [column[first], np.minimum.reduceat(top, first), column[stop[filled] - 1] + 1, np.maximum.reduceat(bottom, first)],
            axis=1,
        )
    return Runs(height, width, start, stop, area, box, column, top, bottom)


def _narrowed(height: np.ndarray, width: np.ndarray, *parts: np.ndarray) -> list[np.ndarray]:
    dtype = _dtype(height, width)
    return [np.asarray(part, dtype=dtype) for part in parts]


def _dtype(height: np.ndarray, width: np.ndarray) -> Any:
    return np.int16 if max(height.max(initial=0), width.max(initial=0)) < 2**15 else np.int32


def concatenate(parts: Sequence[Runs]) -> Runs:
    """Concatenate the masks of several parts.

    >>> one = pack([2], [2], [1], np.array([0]), np.array([1]), np.array([2]))
    >>> concatenate([one, one]).start.tolist()
    [0, 1]
    """
    if len(parts) == 1:
        return parts[0]
    before = np.cumsum([0, *(len(part.column) for part in parts)])
    with pool() as others:
        whole = others.map(lambda name: np.concatenate([getattr(part, name) for part in parts]), _OF_RUNS)
    return _joined(parts, before[:-1].tolist(), list(whole))


def _joined(parts: Sequence[Runs], places: Sequence[int], of_runs: Sequence[np.ndarray]) -> Runs:
    """Return the masks of several parts, whose runs were moved to the given places of common arrays."""
    shifted = [replace(part, start=part.start + n, stop=part.stop + n) for part, n in zip(parts, places, strict=True)]
    return Runs(*(np.concatenate([getattr(part, name) for part in shifted]) for name in _OF_MASKS), *of_runs)


def in_blocks(function: Callable[[int, int], Result], weight: np.ndarray, max_weight: int = BLOCK) -> list[Result]:
    """Apply a function to blocks of items `first` to `last - 1` of about equal weight, on two threads, in order.

    A block weighs less than `max_weight` plus its first item. There is at least one block, which may be empty.

    >>> in_blocks(lambda first, last: last - first, np.array([2, 2, 2, 9, 1]), max_weight=4)
    [2, 1, 2]
    """
    number = (np.cumsum(weight) - 1) // max_weight
    bounds = [0, *(np.flatnonzero(np.diff(number)) + 1).tolist(), len(weight)]
    if len(bounds) == 2:
        return [function(*bounds)]
    keep_pages()
    with pool() as others:
        return list(others.map(function, bounds[:-1], bounds[1:]))


def join_blocks(
    function: Callable[[int, int], Runs | Fault], weight: np.ndarray, height: np.ndarray, width: np.ndarray, room: np.ndarray
) -> Runs | Fault:
    """Return the masks that a function makes block by block, see `in_blocks`; or the first fault, with its masks in all blocks.

    The runs of a block are moved into common arrays immediately, so that they never exist twice. `room` is the approximate
    number of runs of each mask; if a block has more, all are copied at the end.

    >>> stripes = lambda first, last: pack([2], [2], [1], np.array([1]), np.array([first]), np.array([last]))
    >>> join_blocks(stripes, np.array([BLOCK, 1]), np.array([2, 2]), np.array([2, 2]), np.array([1, 1])).bottom.tolist()
    [1, 2]
    """
    if weight.sum() <= BLOCK:
        return function(0, len(weight))
    begin = np.cumsum(room) - room
    stop = int(room.sum())
    whole = [np.empty(stop, dtype=_dtype(height, width)) for _ in range(3)]

    def of_block(first: int, last: int) -> tuple[int, Runs | Fault]:
        result, place = function(first, last), int(begin[first])
        if isinstance(result, Runs) and place + len(result.column) <= (int(begin[last]) if last < len(begin) else stop):
            there = [values[place : place + len(result.column)] for values in whole]
            for values, part in zip(there, (result.column, result.top, result.bottom), strict=True):
                values[:] = part
            result = replace(result, column=there[0], top=there[1], bottom=there[2])
        return place, result

    places, parts = zip(*in_blocks(of_block, weight, BLOCK), strict=True)
    faults = [part for part in parts if not isinstance(part, Runs)]
    if faults:
        return faults[0][0], np.concatenate([numbers for problem, numbers in faults if problem == faults[0][0]])
    result = [part for part in parts if isinstance(part, Runs)]
    return _joined(result, places, whole) if all(part.column.base is whole[0] for part in result) else concatenate(result)


def spread(start: np.ndarray, n: np.ndarray) -> np.ndarray:
    """Return start, start + 1, ... start + n - 1 for each pair of start and n, one after the other.

    >>> spread(np.array([7, 9, 0]), np.array([2, 0, 3])).tolist()
    [7, 8, 0, 1, 2]
    """
    stop = np.cumsum(n)
    numbers = np.arange(stop[-1] if len(n) else 0)
    numbers += np.repeat(start + n - stop, n)
    return numbers


def most_runs(n_numbers: int) -> int:
    """Return the largest number of runs for the masks of a table whose input has `n_numbers` numbers.

    >>> most_runs(100) == MOST_RUNS, most_runs(MOST_RUNS) == MOST_RUNS * RUNS_PER_NUMBER
    (True, True)
    """
    return max(MOST_RUNS, RUNS_PER_NUMBER * n_numbers)


def split_at_columns(height: np.ndarray, width: np.ndarray, n_runs: np.ndarray, start: np.ndarray, stop: np.ndarray) -> Runs:
    """Return masks from ranges of pixels, numbered down the columns as in COCO, in order; `stop` is exclusive.

    Empty ranges are left out, and ranges that touch become one.

    >>> two_columns = split_at_columns(np.array([3]), np.array([2]), np.array([1]), np.array([1]), np.array([5]))
    >>> two_columns.column.tolist(), two_columns.top.tolist(), two_columns.bottom.tolist()
    ([0, 1], [1, 0], [3, 2])
    """
    if len(start) and ((stop <= start).any() or (stop[:-1] == start[1:]).any()):
        n_runs, start, stop = _tidied(n_runs, start, stop)
    if len(height) and (height == height[0]).all():
        rows: np.ndarray = height[0].astype(np.int32)
        column = start // rows
    else:
        rows = np.repeat(height.astype(np.int32), n_runs)
        column = (start / rows).astype(np.int32)  # exact below 2**52, and faster than integer division
    top = start - column * rows
    bottom = top + (stop - start)
    crossing = np.flatnonzero(bottom > rows)
    if len(crossing):
        tall = rows if rows.ndim == 0 else rows[crossing]
        n_more = (bottom[crossing] - 1) // tall  # columns after the first
        new = spread(crossing + np.cumsum(n_more) - n_more + 1, n_more)
        from_run = np.repeat(crossing, n_more)
        step = (new - np.repeat(new[np.cumsum(n_more) - n_more], n_more) + 1).astype(np.int32)
        tall = np.repeat(np.broadcast_to(tall, len(crossing)), n_more)
        end = np.minimum(bottom[from_run] - step * tall, tall)
        owner = np.searchsorted(np.cumsum(n_runs), from_run, side="right")
        n_runs = n_runs + np.bincount(owner, minlength=len(n_runs))
        is_new = np.zeros(len(top) + len(new), dtype=bool)
        is_new[new] = True
        added = (column[from_run] + step, np.zeros(len(new), dtype=np.int32), end)
        runs = _narrowed(height, width, column, top, np.minimum(bottom, rows))
        column, top, bottom = (_inserted(old, is_new, more) for old, more in zip(runs, added, strict=True))
    return pack(height, width, n_runs, column, top, bottom)


def _inserted(values: np.ndarray, is_new: np.ndarray, new: np.ndarray) -> np.ndarray:
    joined = np.empty(len(is_new), dtype=values.dtype)
    joined[~is_new] = values
    joined[is_new] = new
    return joined


def _tidied(n_runs: np.ndarray, start: np.ndarray, stop: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Drop empty ranges, and merge ranges that touch."""
    owner = np.repeat(np.arange(len(n_runs)), n_runs)
    filled = stop > start
    owner, start, stop = owner[filled], start[filled], stop[filled]
    joins = (stop[:-1] == start[1:]) & (owner[:-1] == owner[1:])
    begins, ends = np.concatenate([[True], ~joins])[: len(start)], np.concatenate([~joins, [True]])[: len(start)]
    return np.bincount(owner[begins], minlength=len(n_runs)), start[begins], stop[ends]


def from_bitmaps(pixels: np.ndarray, height: np.ndarray, width: np.ndarray) -> Runs:
    """Return masks from flags of pixels, row after row, mask after mask.

    >>> masks = from_bitmaps(np.array([False, True, True, True]), np.array([2]), np.array([2]))
    >>> masks.column.tolist(), masks.top.tolist(), masks.bottom.tolist()
    ([0, 1], [1, 0], [2, 2])
    """
    stop = np.cumsum(height * width)

    def of_block(first: int, last: int) -> Runs:
        tall, wide = height[first:last], width[first:last]
        begin = int(stop[first - 1]) if first else 0
        flags = pixels[begin : int(stop[last - 1]) if last else 0].view(np.int8)
        n_pixels = tall * wide
        before = np.cumsum(n_pixels) - n_pixels
        edge = np.diff(flags, prepend=0, append=0)
        starts, stops = np.flatnonzero(edge == 1), np.flatnonzero(edge == -1)
        # cut where one mask ends and the next begins
        cuts = before[1:][(flags[before[1:]] & flags[before[1:] - 1]) == 1] if len(before) > 1 else before[:0]
        starts, stops = np.sort(np.concatenate([starts, cuts])), np.sort(np.concatenate([stops, cuts]))
        n_runs = np.diff(np.searchsorted(starts, before), append=len(starts))
        shift = np.repeat(before, n_runs)
        # the rows of an image are the columns of its transpose
        return split_at_columns(wide, tall, n_runs, (starts - shift).astype(np.int32), (stops - shift).astype(np.int32))

    return transpose(concatenate(in_blocks(of_block, height * width, 1 << 24)))


def transpose(masks: Runs, shorten: np.ndarray | None = None) -> Runs:
    """Exchange x and y of masks, so that runs are along the rows of the image.

    `shorten` is a number of pixels for each mask, by which both ends of every run are shortened first.

    >>> row = pack([2], [3], [3], np.array([0, 1, 2]), np.array([0, 0, 0]), np.array([1, 1, 1]))
    >>> transpose(row).column.tolist(), transpose(row).top.tolist(), transpose(row).bottom.tolist()
    ([0], [0], [3])
    """
    n_runs = masks.stop - masks.start

    def of_block(first: int, last: int) -> Runs:
        n, height, width = n_runs[first:last], masks.height[first:last], masks.width[first:last]
        run = spread(masks.start[first:last], n)
        column, top, bottom = masks.column[run], masks.top[run], masks.bottom[run]
        if shorten is not None:
            less = np.repeat(np.minimum(shorten[first:last], height // 2 + 1).astype(np.int32), n)
            top, bottom = top + less, bottom - less
            kept = np.flatnonzero(top < bottom)
            column, top, bottom = column[kept], top[kept], bottom[kept]
            stop = np.searchsorted(kept, np.cumsum(n))
            n = np.diff(stop, prepend=0)
        return _across(height, width, n, column, top, bottom)

    # every pixel may become a run of its own, but seldom does
    return concatenate(in_blocks(of_block, 4 * n_runs + masks.area // 8))


def _across(
    height: np.ndarray, width: np.ndarray, n_runs: np.ndarray, column: np.ndarray, top: np.ndarray, bottom: np.ndarray
) -> Runs:
    """Return the masks of a block along the rows."""
    # a row of a column is a number, in order of masks, columns and rows; and the other way round
    step, across = int(height.max(initial=0)) + 1, int(width.max(initial=0)) + 1
    columns_before, rows_before = np.cumsum(width + 1) - width - 1, np.cumsum(height) - height
    largest = max(int((width + 1).sum()) * step, int(height.sum()) * across)
    dtype: Any = np.int32 if largest < 2**31 else np.int64
    place = np.repeat(columns_before.astype(dtype), n_runs)
    place += column
    place *= step
    # a column differs from the one before it between the ends of the runs of both, in order
    ends = np.empty((2, len(place), 2), dtype=dtype)
    ends[0, :, 0], ends[0, :, 1] = place + top, place + bottom
    np.add(ends[0], step, out=ends[1])
    ends = np.sort(ends, axis=None)
    begin, length = ends[::2], ends[1::2] - ends[::2]
    # each of these rows begins or ends a run at that column
    total = np.concatenate([[0], np.cumsum(length, dtype=np.int64)])
    if total[-1] > 2 * MOST_RUNS:
        raise InputError(
            f"a mask has {total[-1] // 2:,} runs of pixels along its rows, too many to compute a boundary",
            f"use {option_name('iou_type', 'segm')}",
        )
    n_edges = np.diff(total[np.searchsorted(begin, (columns_before * step).astype(dtype))], append=total[-1])
    edges: np.ndarray = spread(begin, length).astype(dtype)
    x = edges // dtype(step)
    edges -= x * dtype(step)
    edges *= across
    edges += x
    edges += np.repeat((rows_before * across - columns_before).astype(dtype), n_edges)
    edges.sort()
    begin = edges[::2]
    row = begin // dtype(across)
    left = row * dtype(across)
    n_rows = np.diff(np.searchsorted(row, rows_before.astype(dtype)), append=len(row))
    return pack(width, height, n_rows, row - np.repeat(rows_before.astype(dtype), n_rows), begin - left, edges[1::2] - left)


def erode(masks: Runs, distance: np.ndarray) -> Runs:
    """Erode each mask: remove the pixels within a distance, in x and in y, of a pixel outside.

    Everything beyond the border of the image is outside. The result equals `distance` erosions by a square of 3 × 3 pixels.

    >>> square = pack([5], [5], [4], np.arange(4), np.zeros(4), np.full(4, 4))
    >>> erode(square, np.array([1])).box.tolist()
    [[1, 1, 3, 3]]
    """
    return transpose(transpose(masks, distance), distance)


def stretches(masks: Runs) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the number of runs of each mask, and their starts and stops among the pixels numbered down the columns.

    >>> two_columns = pack([3], [2], [2], np.array([0, 1]), np.array([1, 0]), np.array([3, 2]))
    >>> [part.tolist() for part in stretches(two_columns)]
    [[2], [1, 3], [3, 5]]
    """
    n_runs = masks.stop - masks.start
    run = spread(masks.start, n_runs)
    above = masks.column[run] * np.repeat(masks.height, n_runs)
    return n_runs, above + masks.top[run], above + masks.bottom[run]


def to_bitmaps(masks: Runs) -> np.ndarray:
    """Return masks of one size as an array of flags, 0 or 1, of shape (masks, columns, rows).

    >>> to_bitmaps(pack([3], [2], [1], np.array([1]), np.array([0]), np.array([2]))).tolist()
    [[[0, 0, 0], [1, 1, 0]]]
    """
    n_runs, start, stop = stretches(masks)
    size = (len(masks), int(masks.width.max(initial=0)), int(masks.height.max(initial=0)))
    before = np.repeat(np.arange(len(masks)) * (size[1] * size[2]), n_runs)
    steps = np.zeros(int(np.prod(size)) + 1, dtype=np.int8)
    steps[before + start] += 1
    steps[before + stop] -= 1  # cancels out if the run of the next column starts there
    return np.cumsum(steps, dtype=np.int8, out=steps)[:-1].view(np.uint8).reshape(size)


def in_at_least(masks: Runs, min_masks: int) -> Runs:
    """Return one mask of the pixels in at least `min_masks` of the masks, which have one size: 1 is the union.

    >>> one = pack([3, 3], [1, 1], [1, 1], np.array([0, 0]), np.array([0, 1]), np.array([2, 3]))
    >>> in_at_least(one, 1).area.tolist(), in_at_least(one, 2).area.tolist()
    ([3], [1])
    """
    _, start, stop = stretches(masks)
    edge = np.concatenate([start, stop])
    order = np.argsort(edge, kind="stable")  # of equal edges, starts come first: ranges that touch are one
    is_inside = np.cumsum(np.where(order < len(start), 1, -1)) >= min_masks
    turns = np.flatnonzero(np.diff(is_inside, prepend=False))
    ends = edge[order[turns]].astype(np.int32)
    return split_at_columns(masks.height[:1], masks.width[:1], np.array([len(ends) // 2]), ends[::2], ends[1::2])
