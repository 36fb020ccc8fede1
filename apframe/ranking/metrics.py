"""Average precision and recall of every list, area range, threshold and number of detections."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from apframe.ranking.counts import Counts, SliceRows, count_down, tally
from apframe.ranking.ranking import Ranking
from apframe.threads import pool


@dataclass(frozen=True)
class Cells:
    """The lists of some area ranges at one of `max_detections`, in arrays of shape (thresholds, ranges, lists).

    `ap` is 0 where a list has no positives, and None where it was not asked for; `hits` are the true positives.
    """

    ap: np.ndarray | None
    hits: np.ndarray
    n_detections: np.ndarray


def compute_cells(ranking: Ranking, ranges: Sequence[int], limits: Sequence[int], ap_at: Sequence[int]) -> dict[int, Cells]:
    """Some area ranges at some of `max_detections`, given by their places, the last one always.

    Hits are cheap. `ap` takes the most time, and is computed for the places in `ap_at`, and for the last one.
    """
    n_thresholds, n_lists, _, n_limits = ranking.shape
    shape = (n_thresholds, len(ranges), n_lists)
    cells: dict[int, Cells] = {}
    for m in sorted({*limits, n_limits - 1}, reverse=True):
        is_last = m == n_limits - 1
        rows = ranking.rows_of(ranges, m, for_curves=is_last or m in ap_at)
        ap = None
        if is_last:
            ap = _average_precisions(ranking, ranges, rows)
        elif m in ap_at:
            # a list that has no cell beyond the limit is the same as without the limit
            limited, whole = np.tile(ranking.deepest > ranking.limits[m], len(ranges)), cells[n_limits - 1].ap
            assert whole is not None
            ap = whole.reshape(n_thresholds, -1).copy()
            if limited.any():
                ap[:, limited] = _average_precisions(ranking, ranges, rows.only(limited[rows.category]))[:, limited]
        hits, n_detections = (counts.reshape(shape) for counts in tally(rows, n_thresholds))
        cells[m] = Cells(None if ap is None else ap.reshape(shape), hits, n_detections)
    return cells


def compute_metrics(ranking: Ranking, ap_at: Sequence[int]) -> dict[str, np.ndarray]:
    """`ap`, `recall` and `n_detections` as arrays of shape (thresholds, lists, ranges, max_detections).

    Recall is that of the whole list. `ap` is NaN at those of `max_detections` that are not in `ap_at`, see `compute_cells`.
    `ap` and `recall` are NaN where a category has no positives in a slice.
    """
    *_, n_ranges, n_limits = ranking.shape
    ap = np.full(ranking.shape, np.nan)
    hits, n_detections = np.zeros(ranking.shape), np.zeros(ranking.shape, dtype=np.int64)

    def fill(part: tuple[slice, Ranking]) -> None:
        lists, own = part
        for m, cells in compute_cells(own, range(n_ranges), range(n_limits), ap_at).items():
            filled = [(hits, cells.hits), (n_detections, cells.n_detections)]
            for target, values in filled if cells.ap is None else [*filled, (ap, cells.ap)]:
                target[:, lists, :, m] = values.transpose(0, 2, 1)

    with pool() as threads:
        list(threads.map(fill, ranking.parts()))
    positives = np.where(ranking.positives > 0, ranking.positives, np.nan)[None, :, :, None]
    return {"ap": np.where(np.isnan(positives), np.nan, ap), "recall": hits / positives, "n_detections": n_detections}


def _average_precisions(ranking: Ranking, ranges: Sequence[int], rows: SliceRows) -> np.ndarray:
    """Average precision in some area ranges, of shape (thresholds, ranges * lists)."""
    n_thresholds, n_lists = ranking.shape[:2]
    ap = np.zeros((n_thresholds, len(ranges) * n_lists))
    counts = count_down(rows, n_thresholds)
    if len(counts.starts):
        taken = ranking.precision(counts)
        if ranking.definition.interpolated:
            # between true positives the precision only falls, so they alone make the envelope
            taken = running_best(taken, counts)
        weighted = taken * ranking.weights[ranking.step(ranges, counts)]
        ap[counts.threshold, counts.category] = np.add.reduceat(weighted, counts.starts)
    return ap


def running_best(values: np.ndarray, counts: Counts) -> np.ndarray:
    """The largest value from each true positive to the end of its run.

    Complex numbers are compared by their real parts first. With the number of the run there, all values of a run are larger
    than those of the later ones, where the maximum comes from.
    """
    backwards = np.empty(len(values), dtype=np.complex128)
    backwards.real[::-1] = counts.spread(-np.arange(len(counts.starts)))
    backwards.imag[::-1] = values
    best: np.ndarray = np.maximum.accumulate(backwards, out=backwards).imag[::-1]
    return best
