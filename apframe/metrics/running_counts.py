"""Running counts of true positives and of counted detections, down the ranking of every category and threshold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from apframe.lazily import cached_property
from apframe.matching.verdicts import has_bit


@dataclass(frozen=True)
class Counts:
    """The true positives of every threshold and category in rank order, in runs of one threshold and category.

    A true positive has `row`, the number of its assignment; `k` and `n`, the true positives and the counted detections so far;
    and `run`, the number of its run. A run has `threshold`, `category` and `starts`, the position of its first true positive.
    """

    row: np.ndarray
    k: np.ndarray
    n: np.ndarray
    run: np.ndarray
    threshold: np.ndarray
    category: np.ndarray
    starts: np.ndarray


@dataclass(frozen=True)
class SliceRows:
    """Effects of slices of the objects (area ranges) on the counts of detections, at one limit per cell.

    A category here is a list in one of the slices: the numbers of the second slice continue those of the first one. `n_counted`
    is the number of detections of each category that count when none is matched (or it has the shape (thresholds, categories)).
    The other arrays have one entry per assignment that changes a count: its `category` and `detection`, `n_unmatched` (the
    number of the category's detections that count when none is matched, down to and including this one; or an array of shape
    (thresholds, rows)), `is_true` (matched to an annotation that is not ignored), `change` (of the number of detections that
    count: -1 if the detection counts when it is not matched, and is matched to an ignored annotation; 1 in the opposite case)
    and `first`, `last` (it holds at thresholds number first .. last - 1).
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
        """Return some of the assignments: whole categories."""
        columns = (self.category, self.detection, self.n_unmatched, self.is_true, self.change, self.first, self.last)
        return SliceRows(self.n_counted, *(column[..., kept] for column in columns))


@dataclass(frozen=True)
class Walk:
    """The detections in rank order, and flags of those that count while not matched, in some area ranges within a limit.

    Attributes
    ----------
    starts
        the position of each list's first detection, and the number of all detections at the end
    words
        flags packed by `pack`, a row for each range: True inside the range and within the limit
    limit
        the largest position within the limit; None without a limit
    """

    starts: np.ndarray
    words: np.ndarray
    limit: int | None = None

    @property
    def counted(self) -> np.ndarray:
        """The numbers of the detections that count in the first range."""
        return np.flatnonzero(np.unpackbits(self.words[0].view(np.uint8), bitorder="little"))

    @cached_property
    def _sums(self) -> np.ndarray:
        """Number of detections that count before each word, range by range."""
        sums = np.zeros(self.words.shape, dtype=np.int64)
        np.cumsum(np.bitwise_count(self.words[:, :-1]), axis=1, out=sums[:, 1:])
        return sums

    def before(self, which: np.ndarray | int, position: np.ndarray) -> np.ndarray:
        """Return the number of detections, of all lists, that count before each position; the range number is `which`.

        >>> Walk(np.array([0, 70]), pack(np.ones((1, 70), dtype=bool))).before(0, np.array([0, 66, 70]))
        array([ 0, 66, 70])
        """
        at = which * self.words.shape[1] + (position >> 6)
        below = (np.uint64(1) << (position & 63).astype(np.uint64)) - np.uint64(1)
        return self._sums.ravel()[at] + np.bitwise_count(self.words.ravel()[at] & below)

    @cached_property
    def at_starts(self) -> np.ndarray:
        """Number of detections that count before each list, and before the end, of shape (ranges, lists + 1)."""
        return self.before(
            np.arange(len(self.words))[:, None], np.broadcast_to(self.starts, (len(self.words), len(self.starts)))
        )


def pack(flags: np.ndarray) -> np.ndarray:
    """Pack rows of flags into integers of 64 bits, padded with zeros.

    >>> pack(np.array([[True, False, True]]))
    array([[5]], dtype=uint64)
    """
    packed = np.packbits(flags, axis=1, bitorder="little")
    words = np.zeros((len(packed), flags.shape[1] // 64 + 1), dtype="<u8")
    words.view(np.uint8)[:, : packed.shape[1]] = packed
    return words


def select_rows(
    hits: Mapping[str, np.ndarray],
    walk: Walk,
    ranges: Sequence[int],
    *,
    lists: np.ndarray | None = None,
    for_curves: bool = True,
) -> SliceRows:
    """Select the hits of some area ranges, without hits that change no count.

    Parameters
    ----------
    hits
        columns of `Cells.hits`
    walk
        the detections in rank order, in the same ranges
    ranges
        the numbers of the ranges
    lists
        one flag for each list; hits of unflagged lists are left out; None keeps all
    for_curves
        True to compute `n_unmatched`, which `count_hits` and `count_detections` do not read
    """
    # a detection outside the range that is matched to an ignored annotation changes no count
    matters = hits["ranges"] & (hits["true"] | hits["inside"])
    if walk.limit is not None:
        matters[hits["place"] > walk.limit] = 0
    if lists is not None:
        matters[~lists[hits["list"]]] = 0
    each = [np.flatnonzero(has_bit(matters, k)) for k in ranges]
    rows, lengths = np.concatenate(each), [len(some) for some in each]
    which, bit = np.repeat(np.arange(len(each)), lengths), np.repeat(np.array(ranges, dtype=matters.dtype), lengths)
    detection, number, n_lists = hits["detection"][rows], hits["list"][rows], len(walk.starts) - 1
    is_true, is_counted = ((hits[name][rows] >> bit & 1).astype(bool) for name in ("true", "inside"))
    n_unmatched = np.zeros(len(rows), dtype=np.int32)
    if for_curves:
        n_unmatched = walk.before(which, detection + 1) - walk.at_starts[which, number]
    return SliceRows(
        n_counted=np.diff(walk.at_starts).ravel(),
        category=which * n_lists + number,
        detection=detection,
        n_unmatched=n_unmatched,
        is_true=is_true,
        change=is_true.view(np.int8) - is_counted.view(np.int8),
        first=hits["first"][rows],
        last=hits["last"][rows],
    )


def count_hits(rows: SliceRows, n_thresholds: int) -> np.ndarray:
    """Count the true positives, of shape (thresholds, categories).

    >>> rows = SliceRows(np.array([2]), *(np.array([v]) for v in (0, 1, 2, True, 0, 0, 1)))
    >>> count_hits(rows, n_thresholds=2).tolist()
    [[1], [0]]
    """
    return _held(rows, np.flatnonzero(rows.is_true), n_thresholds)


def count_detections(rows: SliceRows, n_thresholds: int) -> np.ndarray:
    """Return the number of detections that count, of shape (thresholds, categories).

    >>> rows = SliceRows(np.array([2]), *(np.array([v]) for v in (0, 1, 2, False, -1, 0, 1)))
    >>> count_detections(rows, n_thresholds=2).tolist()
    [[1], [2]]
    """
    changed = np.flatnonzero(rows.change)
    return rows.n_counted + _held(rows, changed, n_thresholds, rows.change[changed])


def _held(rows: SliceRows, row: np.ndarray, n_thresholds: int, value: np.ndarray | None = None) -> np.ndarray:
    """Count these rows that hold at each threshold, or sum their values: added at `first`, subtracted at `last`."""
    shape = (n_thresholds + 1, rows.n_counted.shape[-1])
    category = rows.category[row]
    begun, ended = (
        np.bincount(at[row] * np.int64(shape[1]) + category, weights=value, minlength=shape[0] * shape[1])
        for at in (rows.first, rows.last)
    )
    return np.cumsum((begun - ended).reshape(shape), axis=0)[:-1].astype(np.int64)


def count_down(rows: SliceRows, n_thresholds: int) -> Counts:
    """Count the true positives, and all detections that count, down to each true positive.

    All detections between two matched ones are alike: not matched, and counted as false positives if they are inside the slice.
    So the number of detections counted down to a rank is a running sum over all detections, the same for every threshold,
    corrected for matched ones: a true positive counts even if it is outside the slice, and a detection that is matched to an
    ignored annotation does not count even if it is inside.

    >>> rows = SliceRows(np.array([2]), *(np.array([v]) for v in (0, 1, 2, True, 0, 0, 1)))
    >>> counts = count_down(rows, n_thresholds=2)
    >>> counts.threshold.tolist(), counts.k.tolist(), counts.n.tolist()
    ([0], [1], [2])
    """
    # np.repeat and sums of flags would hold the interpreter lock, so runs are numbered and counts are whole numbers
    held, n_rows = _holds(rows, n_thresholds), len(rows.category)
    at = np.flatnonzero(held & rows.is_true)
    bounds = np.searchsorted(at, np.arange(n_thresholds + 1) * n_rows).tolist()
    row = at.copy()
    for number, (begin, end) in enumerate(pairwise(bounds)):
        row[begin:end] -= number * n_rows
    category = rows.category[row]
    is_first = np.ones(len(at) + 1, dtype=bool)
    np.not_equal(category[1:], category[:-1], out=is_first[1:-1])
    is_first[bounds] = True
    starts = np.flatnonzero(is_first[:-1])
    run = np.cumsum(is_first[:-1].astype(np.int64)) - 1
    threshold, category = np.searchsorted(bounds, starts, side="right") - 1, category[starts]
    n = rows.n_unmatched[row] if rows.n_unmatched.ndim == 1 else rows.n_unmatched.ravel()[at]
    if rows.change.any():
        changes = _running(held, rows)
        before = changes[threshold * n_rows + np.searchsorted(rows.category, category)]
        n = n + (changes[at + 1] - before[run])
    k = np.arange(1, len(at) + 1) - starts[run]
    return Counts(row=row, k=k, n=n, run=run, threshold=threshold, category=category, starts=starts)


def count_at(rows: SliceRows, walk: Walk, category: np.ndarray, detection: np.ndarray, n_thresholds: int) -> np.ndarray:
    """Return the number of detections that count, down to and including given ones, of shape (thresholds, rows).

    Parameters
    ----------
    rows, walk
        all assignments of a slice, and its detections in rank order
    category, detection
        the given detections, which need no assignment, and their categories

    >>> walk = Walk(np.array([0, 2]), pack(np.array([[True, True]])))
    >>> rows = SliceRows(np.array([2]), *(np.array([v]) for v in (0, 0, 1, False, -1, 0, 1)))
    >>> count_at(rows, walk, np.array([0, 0]), np.array([0, 1]), n_thresholds=2).tolist()
    [[0, 1], [1, 2]]
    """
    counted = np.broadcast_to(walk.before(0, detection + 1) - walk.at_starts[0, category], (n_thresholds, len(detection)))
    last = np.searchsorted(rows.detection, detection, side="right") - 1  # the last assignment so far
    has_some = (last >= 0) & (rows.category[last] == category) if len(rows.category) else np.zeros(len(last), dtype=bool)
    if not has_some.any():
        return counted
    before = np.arange(n_thresholds)[:, None] * len(rows.category)
    changes = _running(_holds(rows, n_thresholds), rows)
    changed = changes[before + last + 1] - changes[before + np.searchsorted(rows.category, category)]
    return counted + np.where(has_some, changed, 0)


def _holds(rows: SliceRows, n_thresholds: int) -> np.ndarray:
    """Return True where an assignment holds at a threshold, of shape (thresholds, rows)."""
    threshold = np.arange(n_thresholds, dtype=rows.first.dtype)[:, None]
    held: np.ndarray = (rows.first <= threshold) & (threshold < rows.last)
    return held


def _running(held: np.ndarray, rows: SliceRows) -> np.ndarray:
    """Sum the changes before each assignment and threshold, threshold by threshold, and all changes at the end."""
    sums = np.zeros(held.size + 1, dtype=np.int32)
    np.cumsum(np.multiply(held, rows.change, dtype=np.int32).ravel(), dtype=np.int32, out=sums[1:])
    return sums
