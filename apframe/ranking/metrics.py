"""Average precision and recall of every list, area range, threshold and number of detections."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from apframe.ranking.counts import SliceRows, count_down, tally
from apframe.ranking.ranking import Ranking
from apframe.threads import pool


@dataclass(frozen=True)
class Cells:
    """One area range at one of `max_detections`, in arrays of shape (thresholds, categories).

    `ap` is 0 where a category has no positives, and None where it was not asked for; `hits` are the true positives.
    """

    ap: np.ndarray | None
    hits: np.ndarray
    n_detections: np.ndarray


def compute_cells(ranking: Ranking, k: int, limits: Sequence[int], ap_at: Sequence[int]) -> dict[int, Cells]:
    """Area range number k at some of `max_detections`, given by their places, the last one always.

    Hits are cheap. `ap` takes the most time, and is computed for the places in `ap_at`, and for the last one.
    """
    n_thresholds, *_, n_limits = ranking.shape
    cells: dict[int, Cells] = {}
    for m in sorted({*limits, n_limits - 1}, reverse=True):
        is_last = m == n_limits - 1
        rows = ranking.rows_of(k, m, for_curves=is_last or m in ap_at)
        ap = None
        if is_last:
            ap = _average_precisions(ranking, k, rows)
        elif m in ap_at:
            # a category that has no cell beyond the limit is the same as without the limit
            limited, whole = ranking.deepest > ranking.limits[m], cells[n_limits - 1].ap
            assert whole is not None
            ap = whole.copy()
            if limited.any():
                ap[:, limited] = _average_precisions(ranking, k, rows.only(limited[rows.category]))[:, limited]
        cells[m] = Cells(ap, *tally(rows, n_thresholds))
    return cells


def compute_metrics(ranking: Ranking, ap_at: Sequence[int]) -> dict[str, np.ndarray]:
    """`ap`, `recall` and `n_detections` as arrays of shape (thresholds, lists, ranges, max_detections).

    Recall is that of the whole list. `ap` is NaN at those of `max_detections` that are not in `ap_at`, see `compute_cells`.
    `ap` and `recall` are NaN where a category has no positives in a slice.
    """
    *_, n_ranges, n_limits = ranking.shape
    ap = np.full(ranking.shape, np.nan)
    hits, n_detections = np.zeros(ranking.shape), np.zeros(ranking.shape, dtype=np.int64)

    def fill(k: int) -> None:
        for m, cells in compute_cells(ranking, k, range(n_limits), ap_at).items():
            hits[:, :, k, m], n_detections[:, :, k, m] = cells.hits, cells.n_detections
            if cells.ap is not None:
                ap[:, :, k, m] = cells.ap

    with pool() as threads:
        list(threads.map(fill, range(n_ranges)))
    positives = np.where(ranking.positives > 0, ranking.positives, np.nan)[None, :, :, None]
    return {"ap": np.where(np.isnan(positives), np.nan, ap), "recall": hits / positives, "n_detections": n_detections}


def _average_precisions(ranking: Ranking, k: int, rows: SliceRows) -> np.ndarray:
    """Average precision of area range number k, of shape (thresholds, categories)."""
    n_thresholds, n_categories = ranking.shape[:2]
    ap = np.zeros((n_thresholds, n_categories))
    for block in rows.blocks():
        counts = count_down(block, n_thresholds)
        first_rows = np.flatnonzero(np.diff(counts.category, prepend=-1))
        observed = ranking.precision(counts)
        # Between true positives the precision only falls, so rows that are none at a threshold leave the envelope as it is.
        taken = running_best(observed, first_rows) if ranking.definition.interpolated else observed
        weights = ranking.weights[ranking.step(k, counts)] * counts.is_true
        ap[:, counts.category[first_rows]] = np.add.reduceat(taken * weights, first_rows, axis=1)
    return ap


def running_best(values: np.ndarray, first_rows: np.ndarray) -> np.ndarray:
    """The largest value from here to the end of the group, along the rows (the second axis); groups begin at `first_rows`.

    Groups of about the same length are laid side by side, padded with their last value, so that there may be many of them.

    >>> running_best(np.array([[0.5, 0.25, 0.75, 0.25]]), np.array([0, 1])).tolist()
    [[0.5, 0.75, 0.75, 0.25]]
    """
    last_rows = np.append(first_rows[1:], values.shape[1]) - 1
    doublings = np.frexp(last_rows - first_rows)[1]  # a group has at most 2 to the power of this many rows
    best = values.copy()
    for n in np.unique(doublings[doublings > 0]).tolist():
        alike = doublings == n
        backwards = np.minimum(first_rows[alike, None] + np.arange((1 << n) - 1, -1, -1), last_rows[alike, None])
        best[:, backwards] = np.maximum.accumulate(values[:, backwards], axis=-1)
    return best
