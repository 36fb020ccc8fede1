"""Running counts of true positives and of counted detections, down the ranking of every category and threshold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from apframe.matching.by_score import EVERY_SLICE


@dataclass(frozen=True)
class Counts:
    """Matched detections in ranking order, with the counts down to each at every threshold.

    `category` and `detection` are of shape (rows,); `is_true`, `k` (true positives so far) and `n` (counted detections so
    far) of shape (thresholds, rows); `hits` and `total` (all true positives, all counted) of shape (thresholds, categories).
    """

    category: np.ndarray
    detection: np.ndarray
    is_true: np.ndarray
    k: np.ndarray
    n: np.ndarray
    hits: np.ndarray
    total: np.ndarray


def count_down(
    assignments: pl.DataFrame,
    order: pl.DataFrame,
    slice_number: int,
    counts: np.ndarray,
    ignored: np.ndarray,
    max_detections: int,
    n_categories: int,
    n_thresholds: int,
) -> Counts:
    """Count the true positives of one slice of the objects, and all detections that count, down to each matched one.

    Between two matched detections all are alike: not matched, and counted as false positives if they lie in the slice
    themselves. So the number of detections counted up to a rank is a running sum over all detections, the same for every
    threshold, corrected for matched ones: a true positive counts even if it lies outside, and a detection that is matched
    to an ignored annotation does not count even if it lies inside.

    Parameters
    ----------
    assignments
        from `match_by_score`
    order
        from `order_detections`
    slice_number
        which slice; assignments that hold in every slice belong to it too
    counts
        one flag per detection, in order: whether it lies in the slice itself, and so counts when it is not matched
    ignored
        one flag per annotation: whether it is ignored in this slice
    max_detections
        detections of a cell beyond this place are left out

    >>> assignments = pl.DataFrame({"detection": [1], "annotation": [0], "slice": [-1], "first": [0], "last": [1]})
    >>> order = pl.DataFrame({"category": [0, 0, 0], "cell_rank": [1, 2, 3]})
    >>> counts = count_down(assignments, order, 0, np.array([True] * 3), np.array([False]), 100, 1, n_thresholds=2)
    >>> counts.k.tolist(), counts.n.tolist(), counts.total.tolist()
    ([[1], [0]], [[2], [2]], [[3], [3]])
    """
    category, cell_rank = order["category"].to_numpy(), order["cell_rank"].to_numpy()
    is_within = cell_rank <= max_detections
    running = np.zeros(len(category) + 1, dtype=np.int32)
    np.cumsum(counts & is_within, out=running[1:])
    before_category = running[np.searchsorted(category, np.arange(n_categories + 1, dtype=category.dtype))]

    slices, detection = assignments["slice"].to_numpy(), assignments["detection"].to_numpy()
    is_true, is_counted = ~ignored[assignments["annotation"].to_numpy()], counts[detection]
    # matched to an ignored annotation and outside itself: such a row changes no count
    matters = ((slices == EVERY_SLICE) | (slices == slice_number)) & (is_true | is_counted) & is_within[detection]
    detection, is_true, is_counted = detection[matters], is_true[matters], is_counted[matters]
    first, last = assignments["first"].to_numpy()[matters], assignments["last"].to_numpy()[matters]
    category = category[detection]

    threshold = np.arange(n_thresholds, dtype=first.dtype)[:, None]
    held = (first <= threshold) & (threshold < last)
    starts = np.searchsorted(category, np.arange(n_categories + 1, dtype=category.dtype))
    true_at = held & is_true
    k, hits = _running_in_categories(true_at, starts)
    n = np.broadcast_to(running[detection + 1] - before_category[category], k.shape)
    total = np.broadcast_to(np.diff(before_category), hits.shape)
    departs = is_true != is_counted
    if departs.any():
        correction, all_corrections = _running_in_categories(held * (is_true.astype(np.int8) - is_counted), starts)
        n, total = n + correction, total + all_corrections
    return Counts(category, detection, true_at, k, n, hits, total)


def _running_in_categories(values: np.ndarray, starts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Running sums along the rows, begun anew where each category starts; and the sums of the categories."""
    sums = np.zeros((len(values), values.shape[1] + 1), dtype=np.int32)
    np.cumsum(values, axis=1, out=sums[:, 1:])
    at_starts = sums[:, starts]
    return sums[:, 1:] - np.repeat(at_starts[:, :-1], np.diff(starts), axis=1), np.diff(at_starts, axis=1)
