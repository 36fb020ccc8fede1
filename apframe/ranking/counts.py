"""Running counts of true positives and of counted detections, down the ranking of every category and threshold."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import polars as pl

from apframe.matching.by_score import EVERY_SLICE


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
    """What one slice of the objects makes of the detections, with at most so many of each cell.

    `n_counted` is how many detections of each category count when none is matched. The others have one entry per assignment
    that changes a count: its `category` and `detection`, `n_unmatched` (how many of the category count when none is
    matched, down to and including this detection), `is_true` (matched to an annotation that is not ignored), `is_counted`
    (the detection counts when it is not matched) and `first`, `last` (thresholds).
    """

    n_counted: np.ndarray
    category: np.ndarray
    detection: np.ndarray
    n_unmatched: np.ndarray
    is_true: np.ndarray
    is_counted: np.ndarray
    first: np.ndarray
    last: np.ndarray

    def only(self, kept: np.ndarray | slice) -> SliceRows:
        """Some of the assignments: whole categories."""
        columns = (self.category, self.detection, self.n_unmatched, self.is_true, self.is_counted, self.first, self.last)
        return SliceRows(self.n_counted, *(column[kept] for column in columns))

    def blocks(self, size: int = 1 << 16) -> Iterator[SliceRows]:
        """All assignments, in runs of whole categories of about this size, so that tables of thresholds × rows stay small."""
        first_rows = np.flatnonzero(np.diff(self.category, prepend=-1))
        cuts = np.unique(np.searchsorted(first_rows, np.arange(0, len(self.category), size)))
        bounds = np.append(first_rows[cuts[cuts < len(first_rows)]], len(self.category))
        for begin, end in pairwise(bounds.tolist()):
            yield self.only(slice(begin, end))


def select_rows(
    assignments: pl.DataFrame,
    order: pl.DataFrame,
    slice_number: int,
    counts: np.ndarray,
    ignored: np.ndarray,
    max_detections: int,
    n_categories: int,
    *,
    for_curves: bool = True,
) -> SliceRows:
    """The assignments of one slice of the objects, those beyond `max_detections` of a cell left out.

    Parameters
    ----------
    assignments
        from `match_by_score`
    order
        from `order_detections`
    slice_number
        which slice; assignments that hold in every slice belong to it too
    counts
        one flag per detection, in order: whether it lies in the slice itself
    ignored
        one flag per annotation: whether it is ignored in this slice
    max_detections
        the largest place in a cell that takes part
    for_curves
        whether `n_unmatched` is wanted, which `tally` does without
    """
    category, is_within = order["category"].to_numpy(), order["cell_rank"].to_numpy() <= max_detections
    counts = counts & is_within
    slices, detection = assignments["slice"].to_numpy(), assignments["detection"].to_numpy()
    is_true, is_counted = ~ignored[assignments["annotation"].to_numpy()], counts[detection]
    # matched to an ignored annotation and outside itself: such a row changes no count
    matters = ((slices == EVERY_SLICE) | (slices == slice_number)) & (is_true | is_counted) & is_within[detection]
    detection = detection[matters]
    starts = np.searchsorted(category, np.arange(n_categories + 1, dtype=category.dtype))
    before_category = _count_before(starts, counts)
    n_unmatched = np.zeros(len(detection), dtype=np.int32)
    if for_curves:
        n_unmatched = _count_before(detection + 1, counts) - before_category[category[detection]]
    return SliceRows(
        n_counted=np.diff(before_category),
        category=category[detection],
        detection=detection,
        n_unmatched=n_unmatched,
        is_true=is_true[matters],
        is_counted=is_counted[matters],
        first=assignments["first"].to_numpy()[matters],
        last=assignments["last"].to_numpy()[matters],
    )


def tally(rows: SliceRows, n_thresholds: int) -> tuple[np.ndarray, np.ndarray]:
    """All true positives, and all detections counted, of shape (thresholds, categories).

    >>> rows = SliceRows(np.array([2]), *(np.array([v]) for v in (0, 1, 2, True, True, 0, 1)))
    >>> [part.tolist() for part in tally(rows, n_thresholds=2)]
    [[[1], [0]], [[2], [2]]]
    """
    n_categories = len(rows.n_counted)
    shape = (n_thresholds + 1, n_categories)
    first, last = (threshold * np.int64(n_categories) + rows.category for threshold in (rows.first, rows.last))

    def held(value: np.ndarray) -> np.ndarray:
        """The sums of the values at each threshold: each is added where it begins to hold, and taken off where it ends."""
        begun, ended = (np.bincount(at, weights=value, minlength=math.prod(shape)) for at in (first, last))
        return np.cumsum((begun - ended).reshape(shape), axis=0)[:-1].astype(np.int64)

    return held(rows.is_true), rows.n_counted + held(rows.is_true.astype(np.int8) - rows.is_counted)


def count_down(rows: SliceRows, n_thresholds: int) -> Counts:
    """Count the true positives, and all detections that count, down to each matched detection.

    Between two matched detections all are alike: not matched, and counted as false positives if they lie in the slice
    themselves. So the number of detections counted up to a rank is a running sum over all detections, the same for every
    threshold, corrected for matched ones: a true positive counts even if it lies outside, and a detection that is matched
    to an ignored annotation does not count even if it lies inside.

    >>> rows = SliceRows(np.array([2]), *(np.array([v]) for v in (0, 1, 2, True, True, 0, 1)))
    >>> counts = count_down(rows, n_thresholds=2)
    >>> counts.k.tolist(), counts.n.tolist()
    ([[1], [0]], [[2], [2]])
    """
    threshold = np.arange(n_thresholds, dtype=rows.first.dtype)[:, None]
    held = (rows.first <= threshold) & (threshold < rows.last)
    first_rows = np.flatnonzero(np.diff(rows.category, prepend=-1))
    is_true = held & rows.is_true
    k = _running_in_categories(is_true, first_rows)
    n = np.broadcast_to(rows.n_unmatched, k.shape)
    if (rows.is_true != rows.is_counted).any():
        n = n + _running_in_categories(held * (rows.is_true.astype(np.int8) - rows.is_counted), first_rows)
    return Counts(rows.category, rows.detection, is_true, k, n)


def _count_before(places: np.ndarray, flags: np.ndarray) -> np.ndarray:
    """How many flags are set before each place; the places ascend, and there are far fewer of them than flags."""
    if not len(places):
        return np.zeros(0, dtype=np.int32)
    is_new = np.diff(places, prepend=places[:1]) != 0
    distinct = np.append(places[0], places[is_new])
    between = np.add.reduceat(np.append(flags, False), distinct, dtype=np.int32)
    before = np.cumsum(np.append(np.count_nonzero(flags[: distinct[0]]), between[:-1]), dtype=np.int32)
    return before[np.cumsum(is_new)]


def _running_in_categories(values: np.ndarray, first_rows: np.ndarray) -> np.ndarray:
    """Running sums along the rows, begun anew in each category: what the one before has summed up to is taken off."""
    steps = values.astype(np.int32)
    if len(first_rows):
        sums = np.add.reduceat(steps, first_rows, axis=1)
        steps[:, first_rows[1:]] -= sums[:, :-1]
    return np.cumsum(steps, axis=1, dtype=np.int32)
