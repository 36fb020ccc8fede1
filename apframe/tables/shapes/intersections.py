"""Intersections of masks: numbers of shared pixels, for many pairs at once."""

from __future__ import annotations

import numpy as np

from apframe.lazily import cached_property
from apframe.tables.shapes.pixel_runs import Runs, in_blocks, spread

_FEW = 8  # largest number of runs of a column that are compared one by one


def intersect(left: Runs, right: Runs, left_mask: np.ndarray, right_mask: np.ndarray) -> np.ndarray:
    """Count the shared pixels of each pair of masks of one image: number `left_mask` of `left`, `right_mask` of `right`.

    Each run of the left mask is looked up in the same column of the right one, which nearly always has one run there, or none.
    A few more runs are compared one by one. If there are many, as in masks of noise, the pixels above the ends of the run are
    counted, so that the cost stays linear.

    >>> from apframe.tables.shapes.pixel_runs import pack
    >>> one = pack([3], [3], [2], np.array([0, 1]), np.array([0, 0]), np.array([3, 2]))
    >>> other = pack([3], [3], [2], np.array([1, 1]), np.array([0, 2]), np.array([1, 3]))
    >>> intersect(one, other, np.array([0, 0]), np.array([0, 0])).tolist()
    [1, 1]
    """
    order = np.argsort(right_mask, kind="stable")
    left_mask, right_mask = left_mask[order], right_mask[order]

    def of_block(first: int, last: int) -> np.ndarray:
        used, number = np.unique(right_mask[first:last], return_inverse=True)
        return _Lookup(right.take(used)).shared(left.take(left_mask[first:last]), number)

    shared = np.empty(len(order), dtype=np.int64)
    n_runs = (left.stop - left.start)[left_mask] + (right.stop - right.start)[right_mask]
    shared[order] = np.concatenate(in_blocks(of_block, 2 * n_runs))  # the lookup takes twice the memory
    return shared


class _Lookup:
    """The runs of masks by column: a table with a place for every column of each mask's box, and one after them.

    The table holds the first run of a column; further runs are in a list, in the order of their places.
    """

    def __init__(self, masks: Runs) -> None:
        self.left = masks.box[:, 0].astype(np.int32)
        self.n_columns = (masks.box[:, 2] - masks.box[:, 0]).astype(np.uint32)
        n_places = self.n_columns.astype(np.int64) + 1
        self.base = np.cumsum(n_places) - n_places
        size, dtype = int(n_places.sum()), masks.top.dtype
        self.top, self.bottom = np.zeros(size, dtype=dtype), np.zeros(size, dtype=dtype)
        n = masks.stop - masks.start
        run = spread(masks.start, n)
        place = np.repeat(self.base - self.left, n)
        place += masks.column[run]
        # backwards, so that the first run of a column is written last
        self.top[place[::-1]], self.bottom[place[::-1]] = masks.top[run[::-1]], masks.bottom[run[::-1]]
        further = np.flatnonzero(place[1:] == place[:-1]) + 1
        self.place, run = place[further], run[further]
        self.further_top, self.further_bottom = masks.top[run], masks.bottom[run]
        begins = np.flatnonzero(np.diff(self.place, prepend=-1))
        self.has_further = np.zeros(size, dtype=bool)
        self.has_further[self.place] = True
        self.n_further, self.first_further = np.zeros(size, dtype=dtype), np.zeros(size, dtype=np.int32)
        self.n_further[self.place[begins]] = np.diff(begins, append=len(run))
        self.first_further[self.place[begins]] = begins
        self.step = int(masks.height.max(initial=0)) + 1

    def shared(self, masks: Runs, number: np.ndarray) -> np.ndarray:
        """Count the pixels that each mask shares with the mask of the given number."""
        n = masks.stop - masks.start
        run = spread(masks.start, n)
        top, bottom = masks.top[run], masks.bottom[run]
        x = masks.column[run] - np.repeat(self.left[number], n)
        # a column left of the mask is a large number without a sign
        place = np.minimum(x.view(np.uint32), np.repeat(self.n_columns[number], n)) + np.repeat(self.base[number], n)
        pixels = np.minimum(bottom, self.bottom[place])
        pixels -= np.maximum(top, self.top[place])
        np.maximum(pixels, 0, out=pixels)
        several = np.flatnonzero(self.has_further[place])
        if len(several):
            pixels[several] += self._further(place[several], top[several], bottom[several])
        total = np.zeros(len(n), dtype=np.int64)
        filled = n > 0
        if filled.any():
            total[filled] = np.add.reduceat(pixels, (np.cumsum(n) - n)[filled], dtype=np.int64)
        return total

    def _further(self, place: np.ndarray, top: np.ndarray, bottom: np.ndarray) -> np.ndarray:
        """Count the pixels of runs that lie in the further runs of their columns."""
        pixels = np.zeros(len(place), dtype=top.dtype)
        n, first = self.n_further[place], self.first_further[place]
        row, number = np.flatnonzero(n <= _FEW), 0
        while len(row):
            run = first[row] + number
            common = np.minimum(bottom[row], self.further_bottom[run]) - np.maximum(top[row], self.further_top[run])
            pixels[row] += np.maximum(common, 0)
            number += 1
            row = row[n[row] > number]
        many = np.flatnonzero(n > _FEW)
        if len(many):
            pixels[many] = self._above(place[many], bottom[many]) - self._above(place[many], top[many])
        return pixels

    def _above(self, place: np.ndarray, row: np.ndarray) -> np.ndarray:
        """Count the pixels of further runs above a row in a column, or in places before it."""
        key = place * self.step + row
        run = np.searchsorted(self._key, key, side="right") - 1
        return np.where(run < 0, 0, self._before[run] + np.minimum(key - self._key[run], self._length[run]))

    @cached_property
    def _key(self) -> np.ndarray:
        return self.place * self.step + self.further_top

    @cached_property
    def _length(self) -> np.ndarray:
        return np.subtract(self.further_bottom, self.further_top, dtype=np.int64)

    @cached_property
    def _before(self) -> np.ndarray:
        return np.cumsum(self._length) - self._length
