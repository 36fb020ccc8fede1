"""Running counts of true positives and of counted detections, down the ranking of every category and threshold."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from apframe.matching.verdicts import has_bit


@dataclass(frozen=True)
class Counts:
    """Matched detections in ranking order, with the counts down to each at every threshold.

    `category` and `detection` are of shape (rows,); `is_true`, `k` (true positives so far) and `n` (counted detections so
    far) of shape (thresholds, rows).
    """

    category: np.ndarray
    detection: np.ndarray
    is_true: np.ndarray
    k: np.ndarray
    n: np.ndarray


@dataclass(frozen=True)
class SliceRows:
    """Effects of one slice of the objects on the counts of detections, at one limit per cell.

    `n_counted` is how many detections of each category count when none is matched (or of shape (thresholds, categories)). The
    others have one entry per assignment that changes a count: its `category` and `detection`, `n_unmatched` (how many of the
    category count when none is matched, down to and including this detection; or an array of shape (thresholds, rows)),
    `is_true` (matched to an annotation that is not ignored), `change` (of the number of detections that count: -1 where one
    counts when it is not matched, and is matched to an ignored annotation; 1 where it is the other way round) and `first`,
    `last` (it holds at thresholds number first .. last - 1).
    """

    n_counted: np.ndarray
    category: np.ndarray
    detection: np.ndarray
    n_unmatched: np.ndarray
    is_true: np.ndarray
    change: np.ndarray
    first: np.ndarray
    last: np.ndarray

    def only(self, kept: np.ndarray | slice) -> SliceRows:
        """Some of the assignments: whole categories."""
        columns = (self.category, self.detection, self.n_unmatched, self.is_true, self.change, self.first, self.last)
        return SliceRows(self.n_counted, *(column[..., kept] for column in columns))

    def blocks(self, size: int = 1 << 16) -> Iterator[SliceRows]:
        """All assignments, in runs of whole categories of about this size, so that tables of thresholds × rows stay small."""
        first_rows = np.flatnonzero(np.diff(self.category, prepend=-1))
        cuts = np.unique(np.searchsorted(first_rows, np.arange(0, len(self.category), size)))
        bounds = np.append(first_rows[cuts[cuts < len(first_rows)]], len(self.category))
        for begin, end in pairwise(bounds.tolist()):
            yield self.only(slice(begin, end))


@dataclass(frozen=True)
class Walk:
    """The detections in rank order, and which of them count while they are not matched, within a limit.

    Attributes
    ----------
    category
        number of the list of each detection
    starts
        the place of each list's first detection, and the number of all detections at the end
    counts
        one flag per detection: it is inside the area range, and within the limit
    is_within
        one flag per detection: it is within the limit
    before
        how many count before each detection, of all lists; one more number for the end
    """

    category: np.ndarray
    starts: np.ndarray
    counts: np.ndarray
    is_within: np.ndarray
    before: np.ndarray

    @classmethod
    def of(cls, category: np.ndarray, starts: np.ndarray, inside: np.ndarray, is_within: np.ndarray) -> Walk:
        """The walk down detections of which these are `inside`."""
        counts = inside & is_within
        before = np.zeros(len(counts) + 1, dtype=np.int32)
        np.cumsum(counts, dtype=np.int32, out=before[1:])
        return cls(category, starts, counts, is_within, before)

    @property
    def n_counted(self) -> np.ndarray:
        """How many count in each list."""
        return np.diff(self.before[self.starts])


def select_rows(hits: Mapping[str, np.ndarray], walk: Walk, k: int, *, for_curves: bool = True) -> SliceRows:
    """The hits of one area range, those of detections that take no part left out.

    Parameters
    ----------
    hits
        columns of `Verdicts.hits`
    walk
        the detections
    k
        the number of the range
    for_curves
        whether `n_unmatched` is wanted, which `tally` does without
    """
    rows = np.flatnonzero(has_bit(hits["ranges"], k))
    detection = hits["detection"][rows]
    is_true, is_counted = has_bit(hits["true"], k)[rows], walk.counts[detection]
    # matched to an ignored annotation and outside itself: such a row changes no count
    matters = (is_true | is_counted) & walk.is_within[detection]
    rows, detection = rows[matters], detection[matters]
    category, n_unmatched = walk.category[detection], np.zeros(len(detection), dtype=np.int32)
    if for_curves:
        n_unmatched = walk.before[detection + 1] - walk.before[walk.starts[category]]
    return SliceRows(
        n_counted=walk.n_counted,
        category=category,
        detection=detection,
        n_unmatched=n_unmatched,
        is_true=is_true[matters],
        change=(is_true.astype(np.int8) - is_counted)[matters],
        first=hits["first"][rows],
        last=hits["last"][rows],
    )


def tally(rows: SliceRows, n_thresholds: int) -> tuple[np.ndarray, np.ndarray]:
    """All true positives, and all detections counted, of shape (thresholds, categories).

    >>> rows = SliceRows(np.array([2]), *(np.array([v]) for v in (0, 1, 2, True, 0, 0, 1)))
    >>> [part.tolist() for part in tally(rows, n_thresholds=2)]
    [[[1], [0]], [[2], [2]]]
    """
    n_categories = rows.n_counted.shape[-1]
    shape = (n_thresholds + 1, n_categories)
    first, last = (threshold * np.int64(n_categories) + rows.category for threshold in (rows.first, rows.last))

    def held(value: np.ndarray) -> np.ndarray:
        """The sums of the values at each threshold: each is added where it begins to hold, and taken off where it ends."""
        begun, ended = (np.bincount(at, weights=value, minlength=math.prod(shape)) for at in (first, last))
        return np.cumsum((begun - ended).reshape(shape), axis=0)[:-1].astype(np.int64)

    return held(rows.is_true), rows.n_counted + held(rows.change)


def count_down(rows: SliceRows, n_thresholds: int) -> Counts:
    """Count the true positives, and all detections that count, down to each matched detection.

    Between two matched detections all are alike: not matched, and counted as false positives if they lie in the slice
    themselves. So the number of detections counted up to a rank is a running sum over all detections, the same for every
    threshold, corrected for matched ones: a true positive counts even if it lies outside, and a detection that is matched
    to an ignored annotation does not count even if it lies inside.

    >>> rows = SliceRows(np.array([2]), *(np.array([v]) for v in (0, 1, 2, True, 0, 0, 1)))
    >>> counts = count_down(rows, n_thresholds=2)
    >>> counts.k.tolist(), counts.n.tolist()
    ([[1], [0]], [[2], [2]])
    """
    held = _holds(rows, n_thresholds)
    first_rows = np.flatnonzero(np.diff(rows.category, prepend=-1))
    is_true = held & rows.is_true
    k = _running_in_categories(is_true, first_rows)
    n = np.broadcast_to(rows.n_unmatched, k.shape)
    if rows.change.any():
        n = n + _running_in_categories(held * rows.change, first_rows)
    return Counts(rows.category, rows.detection, is_true, k, n)


def count_at(rows: SliceRows, walk: Walk, category: np.ndarray, detection: np.ndarray, n_thresholds: int) -> np.ndarray:
    """How many detections count down to and including each of some, of shape (thresholds, rows); these need no assignment.

    Parameters
    ----------
    rows, walk
        all assignments of a slice, and the detections that they are of
    category, detection
        what is asked for

    >>> walk = Walk.of(np.array([0, 0]), np.array([0, 2]), np.array([True, True]), np.array([True, True]))
    >>> rows = SliceRows(np.array([2]), *(np.array([v]) for v in (0, 0, 1, False, -1, 0, 1)))
    >>> count_at(rows, walk, np.array([0, 0]), np.array([0, 1]), n_thresholds=2).tolist()
    [[0, 1], [1, 2]]
    """
    counted = np.broadcast_to(walk.before[detection + 1] - walk.before[walk.starts[category]], (n_thresholds, len(detection)))
    last = np.searchsorted(rows.detection, detection, side="right") - 1  # the last assignment down to there
    has_some = (last >= 0) & (rows.category[last] == category) if len(rows.category) else np.zeros(len(last), dtype=bool)
    if not has_some.any():
        return counted
    first_rows = np.flatnonzero(np.diff(rows.category, prepend=-1))
    running = _running_in_categories(_holds(rows, n_thresholds) * rows.change, first_rows)
    return counted + np.where(has_some, running[:, last], 0)


def _holds(rows: SliceRows, n_thresholds: int) -> np.ndarray:
    """Whether each assignment holds at each threshold, of shape (thresholds, rows)."""
    threshold = np.arange(n_thresholds, dtype=rows.first.dtype)[:, None]
    held: np.ndarray = (rows.first <= threshold) & (threshold < rows.last)
    return held


def _running_in_categories(values: np.ndarray, first_rows: np.ndarray) -> np.ndarray:
    """Running sums along the rows, begun anew in each category: what the one before has summed up to is taken off."""
    steps = values.astype(np.int32)
    if len(first_rows):
        sums = np.add.reduceat(steps, first_rows, axis=1)
        steps[:, first_rows[1:]] -= sums[:, :-1]
    return np.cumsum(steps, axis=1, dtype=np.int32)
