"""pycocotools' arrays of precision, recall and scores."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from apframe.metrics.cells import Cells
from apframe.metrics.list_sums import ranges, suffix_maxima
from apframe.metrics.plain_sums import Recalls, precision_down
from apframe.metrics.running_counts import count_down, count_hits
from apframe.threads import pool

if TYPE_CHECKING:
    from apframe.metrics.definitions import Levels


def compute_arrays(cells: Cells, definition: Levels, addend: float, precision_at: Sequence[int]) -> dict[str, np.ndarray]:
    """Return the reference's arrays: `precision`, `scores` (T, R, K, A, M) and `recall` (T, K, A, M), -1 if not evaluated.

    Parameters
    ----------
    cells
        the cells of all lists; at recall levels of 0, the reference writes the score of each list's first detection, whatever
        its outcome
    definition, addend
        the recall levels, and a small number that is added to the divisor of precision
    precision_at
        positions in `max_detections` at which `precision` and `scores` are computed; they are -1 at the others

    Source: `COCOeval.accumulate`. T thresholds, R recall levels, K categories, A area ranges, M max_detections.
    """
    (n_lists, n_ranges), n_thresholds, n_limits = cells.positives.shape, len(cells.thresholds), len(cells.limits)
    n_levels, recalls, scores = len(definition.levels), Recalls.of(cells), cells.detections["score"]
    # the axes that are filled at the same time come last
    precisions, at_scores = np.full((2, n_ranges, n_limits, n_thresholds, n_levels, n_lists), -1.0)
    recall = np.zeros((n_thresholds, n_lists, n_ranges, n_limits))
    at_zero = np.asarray(definition.levels) <= 0
    first_scores = np.zeros(n_lists)
    first_scores[cells.detections["list"][::-1]] = scores[::-1]  # the first of each list is written last
    reached = definition.levels_reached(pl.col("k"), pl.col("n_positives"))
    levels = recalls.table.select(reached).to_series().to_numpy().astype(np.int64)

    def fill(k: int, m: int) -> None:
        rows = cells.rows_of([k], m, for_curves=m in precision_at)
        recall[:, :, k, m] = count_hits(rows, n_thresholds)
        if m not in precision_at:
            return
        is_evaluated = cells.positives[:, k] > 0
        precisions[k, m] = np.where(is_evaluated, 0.0, -1.0)
        at_scores[k, m] = np.where(is_evaluated, np.where(at_zero[:, None], np.nan_to_num(first_scores), 0.0), -1.0)
        counts = count_down(rows, n_thresholds)
        best = suffix_maxima(precision_down(counts, addend), counts.run)
        # k can exceed the number of positives if lists were combined: such true positives reach no further level
        each = np.flatnonzero(counts.k <= cells.positives[counts.category, k][counts.run])
        # each true positive fills the levels that it is the first to reach
        step = recalls.rows_of([k], counts)[each]
        before, new = levels[step - 1], levels[step] - levels[step - 1]
        level, hit = ranges(before, new)
        each = each[hit]
        at = (k, m, counts.threshold[counts.run[each]], level, counts.category[counts.run[each]])
        precisions[at] = best[each]
        at_scores[at] = np.where(at_zero[level], at_scores[at], scores[rows.detection[counts.row[each]]])

    with pool() as threads:
        list(threads.map(fill, *zip(*product(range(n_ranges), range(n_limits)), strict=True)))
    n_positives = cells.positives[None, :, :, None]
    return {
        "precision": precisions.transpose(2, 3, 4, 0, 1),
        "recall": np.where(n_positives > 0, recall / np.maximum(n_positives, 1), -1),
        "scores": at_scores.transpose(2, 3, 4, 0, 1),
    }
