"""Running counts of true positives and of counted detections, down the ranking of every category and threshold."""

from __future__ import annotations

import numpy as np
import polars as pl

from apframe.matching.by_score import EVERY_SLICE


def count_true_positives(
    assignments: pl.DataFrame,
    order: pl.DataFrame,
    slice_number: int,
    counts: np.ndarray,
    ignored: np.ndarray,
    max_detections: int,
    n_categories: int,
    n_thresholds: int,
) -> tuple[pl.DataFrame, np.ndarray]:
    """The true positives of one slice of the objects, each with the counts up to and including it.

    Between two matched detections all are alike: not matched, and counted as false positives if they are inside the
    slice themselves. So the number of detections counted up to a rank is a running sum over all detections, the
    same for every threshold, plus a correction for the few that are matched: a true positive counts even when it lies
    outside itself, and one matched to an ignored annotation does not count. Only matched rows are ever expanded.

    Parameters
    ----------
    assignments
        from `match_by_score`
    order
        from `order_detections`
    slice_number
        which slice; assignments of every slice count too
    counts, ignored
        for this slice, one flag per detection (in order: counts when unmatched) and per annotation
    max_detections
        detections of a cell beyond this place are left out

    Returns
    -------
    A frame with a row for each true positive: `group` (threshold number · n_categories + category), `detection`, `k`
    (true positives so far) and `n` (true and false positives so far), in the order of group and rank; and the number
    of all detections counted, one for each group.

    >>> assignments = pl.DataFrame({"detection": [1], "annotation": [0], "slice": [-1], "first": [0], "last": [1]})
    >>> order = pl.DataFrame({"category": [0, 0, 0], "cell_rank": [1, 2, 3]})
    >>> rows, total = count_true_positives(
    ...     assignments, order, 0, np.array([True, True, True]), np.array([False]), 100, n_categories=1, n_thresholds=2)
    >>> rows.rows(), total.tolist()
    ([(0, 1, 1, 2)], [3, 3])
    """
    category, cell_rank = order["category"].to_numpy(), order["cell_rank"].to_numpy()
    counted = counts & (cell_rank <= max_detections)
    running = np.cumsum(counted, dtype=np.int32)
    n_counted = np.bincount(category, weights=counted, minlength=n_categories).astype(np.int32)
    before_category = np.cumsum(n_counted, dtype=np.int32) - n_counted

    here = np.isin(assignments["slice"].to_numpy(), (EVERY_SLICE, slice_number))
    detection, annotation, first, last = (
        assignments[name].to_numpy()[here] for name in ("detection", "annotation", "first", "last")
    )
    is_true, is_counted = ~ignored[annotation], counts[detection]
    matters = (cell_rank[detection] <= max_detections) & (is_true | is_counted)
    detection, first, last = detection[matters], first[matters], last[matters]
    is_true, is_counted = is_true[matters], is_counted[matters]

    # one row for each threshold at which an assignment holds, thresholds outermost
    length = last.astype(np.int32) - first
    row = np.repeat(np.arange(len(length), dtype=np.int32), length)
    starts = np.cumsum(length) - length
    threshold = (np.arange(len(row), dtype=np.int32) - np.repeat(starts - first, length)).astype(np.uint16)
    by_threshold = np.argsort(threshold, kind="stable")
    row, threshold = row[by_threshold], threshold[by_threshold].astype(np.int32)
    group = threshold * np.int32(n_categories) + category[detection[row]].astype(np.int32)

    tp = is_true[row]
    correction = tp.astype(np.int32) - is_counted[row]
    k = _running_within(group, tp)
    corrected = _running_within(group, correction)
    detection = detection[row]
    n = running[detection] - before_category[category[detection]] + corrected
    total = np.tile(n_counted, n_thresholds) + np.bincount(
        group, weights=correction, minlength=n_thresholds * n_categories
    ).astype(np.int32)
    frame = pl.DataFrame({"group": group[tp], "detection": detection[tp], "k": k[tp], "n": n[tp]})
    return frame, total


def _running_within(group: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The running sum, begun anew in each group; the rows of a group stand together."""
    running = np.cumsum(values, dtype=np.int32)
    is_first = np.diff(group, prepend=-1) != 0
    before = (running - values)[is_first]
    return running - before[np.cumsum(is_first) - 1]
