"""Matching by score: each detection, best score first, takes the best free annotation (COCO)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import polars as pl

from apframe.matching.assignments import EVERY_SLICE, find_contested
from apframe.matching.order import place_within
from apframe.matching.reached import count_reached, reached_before

_BITS = 64  # of one integer
_ONE = np.uint64(1)


def match_by_score(
    pairs: pl.DataFrame,
    is_crowd: np.ndarray,
    ignored: np.ndarray,
    thresholds: np.ndarray,
    *,
    strict: bool = False,
    first_of_equals: bool = False,
) -> pl.DataFrame:
    """Assign detections to annotations, for all thresholds and all slices of the objects (area ranges) at once.

    COCO walks the detections of an image and category by descending score. Among the free annotations that are similar
    enough, each takes one that is not ignored before one that is, then the most similar, then the later one. A crowd is
    always free. So all annotations rank detections in the same way, by score, and there is exactly one stable matching.
    It is found in two steps:

    1. If no rival for an annotation has another candidate, the matching is known immediately: a detection has the
       annotation at the thresholds that it reaches and no better ranked rival does. This holds in all slices.
       2. The few others are walked as COCO does, but for all images, thresholds and slices at once: first the best ranked
       detection of each, then the second one, and so on.

    Arguments and result, in the order of `detection`, are described in `apframe.matching.assignments`. With `first_of_equals`,
    the first of equally similar annotations is taken, not the last.

    Source: `COCOeval.evaluateImg`.

    >>> pairs = pl.DataFrame({"detection": [0, 1], "annotation": [0, 0], "similarity": [0.6, 0.8]})
    >>> match_by_score(pairs, np.array([False]), np.array([[False]]), np.array([0.5, 0.75])).select(
    ...     "detection", "annotation", "first", "last").rows()
    [(0, 0, 0, 1), (1, 0, 1, 2)]
    """
    detection, annotation, similarity = (pairs[name].to_numpy() for name in ("detection", "annotation", "similarity"))
    # by annotation, its best ranked rival first
    by_annotation = np.argsort((annotation.astype(np.int64) << 32) | detection)
    detection, annotation, similarity = detection[by_annotation], annotation[by_annotation], similarity[by_annotation]
    reach = count_reached(similarity, thresholds, strict=strict)

    contested = find_contested(pairs, len(is_crowd))[by_annotation]
    start = np.where(is_crowd[annotation], 0, reached_before(annotation, reach))
    simple = np.flatnonzero(~contested & (start < reach))
    rows, slices, first, last = _settle(
        np.flatnonzero(contested & (reach > 0)),
        detection,
        annotation,
        similarity,
        reach,
        is_crowd,
        ignored,
        first_of_equals=first_of_equals,
    )
    row = np.concatenate([simple, rows])
    in_order = np.argsort(detection[row], kind="stable")
    row = row[in_order]
    return pl.DataFrame(
        {
            "detection": detection[row],
            "annotation": annotation[row],
            "similarity": similarity[row],
            "slice": np.concatenate([np.full(len(simple), EVERY_SLICE), slices]).astype(np.int16)[in_order],
            "first": np.concatenate([start[simple], first]).astype(np.uint16)[in_order],
            "last": np.concatenate([reach[simple], last]).astype(np.uint16)[in_order],
            "is_repeat": np.zeros(len(row), dtype=bool),
        }
    )


def match_nearest(
    pairs: pl.DataFrame, is_crowd: np.ndarray, ignored: np.ndarray, thresholds: np.ndarray, *, strict: bool
) -> pl.DataFrame:
    """Match as `match_by_score`, but of equally similar annotations take the first.

    Source: `accumulate` of nuscenes-devkit, `eval/detection/algo.py`.

    >>> pairs = pl.DataFrame({"detection": [0, 0], "annotation": [0, 1], "similarity": [-0.5, -0.5]})
    >>> match_nearest(pairs, np.zeros(2, dtype=bool), np.zeros((1, 2), dtype=bool), np.array([-1.0]),
    ...               strict=True)["annotation"].to_list()
    [0]
    """
    return match_by_score(pairs, is_crowd, ignored, thresholds, strict=strict, first_of_equals=True)


def _settle(
    pair: np.ndarray,
    detection: np.ndarray,
    annotation: np.ndarray,
    similarity: np.ndarray,
    reach: np.ndarray,
    is_crowd: np.ndarray,
    ignored: np.ndarray,
    *,
    first_of_equals: bool,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the stable matching of some pairs: pair, slice, first and last threshold of every assignment."""
    # a detection's candidates are together, the most similar first, of equal ones the later annotation or the first
    place = annotation[pair].astype(np.int64)
    pair = pair[np.lexsort((place if first_of_equals else -place, -similarity[pair], detection[pair]))]
    if not len(pair):
        return pair, pair, pair, pair
    detection, annotation, reach = detection[pair], annotation[pair], reach[pair]
    target = np.unique(annotation, return_inverse=True)[1]
    first_rows = np.flatnonzero(np.diff(detection, prepend=np.int64(-1)) != 0)
    n_candidates = np.diff(first_rows, append=len(pair))
    part = connect(np.repeat(np.arange(len(first_rows)), n_candidates), target)
    place = np.repeat(place_within(part[first_rows]), n_candidates)
    # if no detection chooses between an annotation that counts and one that does not, all slices are alike
    flags = ignored[:, annotation]
    has_both = np.logical_or.reduceat(flags, first_rows, axis=1) & np.logical_or.reduceat(~flags, first_rows, axis=1)
    differs = np.zeros(len(pair), dtype=bool)
    differs[part[first_rows[has_both.any(axis=0)]]] = True
    differs = differs[part]

    candidates = _Candidates(detection, target, place, reach, is_crowd[annotation])
    alike, apart = np.flatnonzero(~differs), np.flatnonzero(differs)
    assignments = [candidates.settle(alike, np.zeros((1, len(alike)), dtype=bool)), candidates.settle(apart, flags[:, apart])]
    assignments[0][1][:] = EVERY_SLICE
    rows, slices, first, last = (np.concatenate(columns) for columns in zip(*assignments, strict=True))
    return pair[rows], slices, first, last


def connect(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Number the connected components of pairs: the same number for all pairs that are linked by shared ends.

    >>> connect(np.array([0, 1, 2]), np.array([0, 0, 1])).tolist()
    [0, 0, 2]
    """
    part = np.arange(len(left))
    while True:
        before = part
        for ends in (left, right):
            smallest = np.full(int(ends.max(initial=0)) + 1, len(left))
            np.minimum.at(smallest, ends, part)
            part = smallest[ends]
        part = part[part]  # parts are numbered by pairs, whose own parts are closer to the end
        if np.array_equal(part, before):
            return part


@dataclass(frozen=True)
class _Candidates:
    """Pairs among which the detections still have to choose, in the order of the detections and their preference.

    `target` numbers the annotations, `place` the detections within a part; `reach` counts the thresholds reached.
    """

    detection: np.ndarray
    target: np.ndarray
    place: np.ndarray
    reach: np.ndarray
    is_crowd: np.ndarray

    def settle(self, rows: np.ndarray, ignored: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return the stable matching among some rows: row, slice, first and last threshold of every assignment.

        `ignored` has a flag for each slice and row. All parts, slices and thresholds are walked at once.
        """
        n_thresholds = int(self.reach[rows].max(initial=0))
        width = min(n_thresholds, _BITS)
        wins: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        for first in range(0, n_thresholds, _BITS):
            for slice_ in range(0, len(ignored), _BITS // width):
                wins += self._walk(rows, ignored[slice_ : slice_ + _BITS // width], slice_, first, width)
        if not wins:
            return rows[:0], rows[:0], rows[:0], rows[:0]
        slices, row, threshold = (np.concatenate(column) for column in zip(*wins, strict=True))
        # consecutive thresholds form one assignment
        step, n = n_thresholds + 1, len(self.reach)
        keys = np.sort((slices * n + row) * step + threshold)
        starts = np.flatnonzero(np.diff(keys, prepend=-2) != 1)
        start, number = keys[starts] % step, keys[starts] // step
        return number % n, number // n, start, start + np.diff(starts, append=len(keys))

    def _walk(
        self, rows: np.ndarray, ignored: np.ndarray, slice_: int, first: int, width: int
    ) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Yield the assignments in some slices, from number `slice_` on, and at some thresholds, from number `first` on.

        Each bit of an integer is one slice and threshold. First the best ranked detection of each part takes the annotation it
        prefers among those free in each bit; then the second one, and so on by `place`.
        """
        reached = (_ONE << (self.reach[rows] - first).clip(0, width).astype(np.uint64)) - _ONE
        # ignored annotations come last: each candidate occurs twice, for slices where it counts and for the rest
        masks = np.zeros((2, len(rows)), dtype=np.uint64)
        for number, flags in enumerate(ignored):
            masks[flags.astype(np.int8), np.arange(len(rows))] |= reached << np.uint64(number * width)
        is_ignored, at = np.nonzero(masks)
        in_order = np.lexsort((is_ignored, self.detection[rows[at]], self.place[rows[at]]))
        mask, row = masks[is_ignored[in_order], at[in_order]], rows[at[in_order]]
        detection, target, is_closed = self.detection[row], self.target[row], ~self.is_crowd[row]  # once it is assigned
        is_second = is_ignored[in_order] > 0
        starts = np.flatnonzero(np.diff(detection.astype(np.int64), prepend=-1))
        nth = np.arange(len(row)) - np.repeat(starts, np.diff(starts, append=len(row)))
        free = np.full(int(target.max(initial=-1)) + 1, ~np.uint64(0))
        for begin, end in pairwise([0, *np.cumsum(np.bincount(self.place[row])).tolist()]):
            own = slice(begin, end)
            won = mask[own] & free[target[own]]
            won &= ~_before(won, nth[own])
            mask[own] = won
            for copy in (~is_second[own], is_second[own]):  # so that no annotation occurs twice
                is_used = copy & is_closed[own]
                free[target[own][is_used]] &= ~won[is_used]
        some = np.flatnonzero(mask)
        mask, row = mask[some], row[some]
        for bit in range(len(ignored) * width):
            at_bit = np.flatnonzero(mask & (_ONE << np.uint64(bit)))
            yield np.full(len(at_bit), slice_ + bit // width), row[at_bit], np.full(len(at_bit), first + bit % width)


def _before(sets: np.ndarray, nth: np.ndarray) -> np.ndarray:
    """Return the union of the sets before each one in its group; `nth` is its number in the group, from 0."""
    union, step = np.where(nth > 0, np.append(sets[:1], sets[:-1]), np.uint64(0)), 1
    while step < nth.max(initial=0):  # each set now has those of `step` before
        union[step:] |= np.where(nth[step:] > step, union[:-step], np.uint64(0))
        step *= 2
    return union
