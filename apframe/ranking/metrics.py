"""Average precision and recall of every category, slice, threshold and number of detections."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
import polars as pl

from apframe.ranking.counts import Counts, SliceRows, count_down, select_rows, tally
from apframe.ranking.definitions import Levels, WeightedSum, envelope
from apframe.ranking.precision import precision


@dataclass(frozen=True)
class Ranking:
    """All that metrics are computed from: matches, the order of the detections, and who counts in which slice.

    `counts` are flags of shape (slices, detections in order): would the detection count if it were not matched?
    `ignored` are flags of shape (slices, annotations). `n_positives` is of shape (categories, slices).
    """

    assignments: pl.DataFrame
    order: pl.DataFrame
    counts: np.ndarray
    ignored: np.ndarray
    n_positives: np.ndarray
    max_detections: Sequence[int]
    definition: WeightedSum
    n_thresholds: int

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Numbers of thresholds, categories, slices and max_detections, the axes of the reference's arrays."""
        return (self.n_thresholds, *self.n_positives.shape, len(self.max_detections))

    @cached_property
    def deepest(self) -> np.ndarray:
        """The largest cell rank of each category: a limit of that many detections, or more, leaves it as it is."""
        deepest = np.zeros(self.n_positives.shape[0], dtype=np.int64)
        largest = self.order.group_by("category").agg(pl.col("cell_rank").max())
        deepest[largest["category"].to_numpy()] = largest["cell_rank"].to_numpy()
        return deepest

    def rows_of(self, s: int, m: int, *, for_curves: bool = True) -> SliceRows:
        """What takes part in slice number s with the m-th of `max_detections`."""
        limit = self.max_detections[m]
        n_categories = self.n_positives.shape[0]
        return select_rows(
            self.assignments, self.order, s, self.counts[s], self.ignored[s], limit, n_categories, for_curves=for_curves
        )

    def step(self, s: int, counts: Counts) -> np.ndarray:
        """Where the recalls of the counts stand in `recalls`."""
        return self._recalls_and_starts[1][:, s][counts.category] + counts.k

    @property
    def recalls(self) -> pl.DataFrame:
        """All recalls there can be, k of R true positives: a run of k = 0..R for each R there is."""
        return self._recalls_and_starts[0]

    @cached_property
    def _recalls_and_starts(self) -> tuple[pl.DataFrame, np.ndarray]:
        """The recalls, and where the run of each category and slice starts."""
        distinct, which = np.unique(self.n_positives, return_inverse=True)
        start = np.cumsum(distinct + 1) - (distinct + 1)
        n_positives = np.repeat(distinct, distinct + 1)
        k = np.arange(len(n_positives)) - np.repeat(start, distinct + 1)
        recalls = pl.DataFrame({"k": k, "n_positives": n_positives})
        return recalls, start[which].reshape(self.n_positives.shape).astype(np.int32)

    @cached_property
    def weights_by_count(self) -> np.ndarray:
        """What the k-th of R true positives weighs, for each of the recalls; 0 for k = 0."""
        k = pl.col("k")
        added = self.definition.reached(k, pl.col("n_positives")).diff()  # the row before holds k - 1
        return self.recalls.select(pl.when(k > 0).then(added).otherwise(0.0)).to_series().to_numpy()


def compute_metrics(ranking: Ranking, ap_at: Sequence[int]) -> dict[str, np.ndarray]:
    """`ap`, `recall` and `n_detections` as arrays of shape (thresholds, categories, slices, max_detections).

    Recall is that of the whole list, and cheap. `ap` takes the most time, and is computed for those of `max_detections`
    whose places are in `ap_at`, the last one always; elsewhere it is NaN. `ap` and `recall` are NaN where a category has no
    positives in a slice.
    """
    n_thresholds, _, n_slices, n_limits = ranking.shape
    ap = np.full(ranking.shape, np.nan)
    hits, n_detections = np.zeros(ranking.shape), np.zeros(ranking.shape, dtype=np.int64)

    def fill(s: int) -> None:
        for m in reversed(range(n_limits)):
            rows = ranking.rows_of(s, m, for_curves=m == n_limits - 1 or m in ap_at)
            hits[:, :, s, m], n_detections[:, :, s, m] = tally(rows, n_thresholds)
            if m == n_limits - 1:
                ap[:, :, s, m] = _average_precisions(ranking, s, rows)
            elif m in ap_at:
                # a category that has no cell beyond the limit is the same as without the limit
                limited = ranking.deepest > ranking.max_detections[m]
                ap[:, :, s, m] = ap[:, :, s, -1]
                if limited.any():
                    limited_rows = rows.only(limited[rows.category])
                    ap[:, limited, s, m] = _average_precisions(ranking, s, limited_rows)[:, limited]

    _ = ranking.weights_by_count, ranking.deepest if ap_at else None  # made before the threads share them
    with ThreadPoolExecutor(2) as threads:
        list(threads.map(fill, range(n_slices)))
    positives = np.where(ranking.n_positives > 0, ranking.n_positives, np.nan)[None, :, :, None]
    return {"ap": np.where(np.isnan(positives), np.nan, ap), "recall": hits / positives, "n_detections": n_detections}


def _average_precisions(ranking: Ranking, s: int, rows: SliceRows) -> np.ndarray:
    """Average precision of slice number s, of shape (thresholds, categories)."""
    n_thresholds, n_categories = ranking.shape[:2]
    columns = [str(t) for t in range(n_thresholds)]
    sums = [ranking.definition.weighted(pl.col(f"precision {t}"), pl.col(f"weight {t}")).alias(t) for t in columns]
    ap = np.zeros((n_thresholds, n_categories))
    for block in rows.blocks():
        counts = count_down(block, n_thresholds)
        weights = ranking.weights_by_count[ranking.step(s, counts)] * counts.is_true
        # Between true positives the precision only falls, so rows that are none at a threshold leave the envelope as it is.
        table = pl.DataFrame(
            {"category": counts.category}
            | {f"precision {t}": row for t, row in zip(columns, precision(counts.k, counts.n), strict=True)}
            | {f"weight {t}": row for t, row in zip(columns, weights, strict=True)}
        )
        groups = table.with_columns(pl.col("category").set_sorted()).group_by("category").agg(sums)
        ap[:, groups["category"].to_numpy()] = groups.select(columns).to_numpy().T
    return ap


def compute_arrays(ranking: Ranking, definition: Levels, first_scores: np.ndarray, scores: np.ndarray) -> dict[str, np.ndarray]:
    """The reference's arrays: `precision` and `scores` (T, R, K, A, M) and `recall` (T, K, A, M), -1 if not evaluated.

    Parameters
    ----------
    ranking
        what to compute from
    definition
        the ranking's, which has recall levels
    first_scores
        the score of each category's first-ranked detection, NaN without any; the reference puts it at recall levels
        of 0, whatever the detection's outcome
    scores
        of the detections in order

    Source: `COCOeval.accumulate`. T thresholds, R recall levels, K categories, A slices (area ranges), M max_detections.
    """
    n_thresholds, n_categories, n_slices, n_limits = ranking.shape
    n_levels = len(definition.levels)
    evaluated = (ranking.n_positives > 0)[None, None, :, :, None]
    shape = (n_thresholds, n_levels, n_categories, n_slices, n_limits)
    precisions, at_scores = np.zeros(shape), np.zeros(shape)
    recall = np.zeros(ranking.shape)
    at_zero = np.asarray(definition.levels) <= 0
    reached = definition.levels_reached(pl.col("k"), pl.col("n_positives"))
    levels = ranking.recalls.select(reached).to_series().to_numpy().astype(np.int64)
    for s, m in product(range(n_slices), range(n_limits)):
        rows = ranking.rows_of(s, m)
        recall[:, :, s, m] = tally(rows, n_thresholds)[0]
        counts = count_down(rows, n_thresholds)
        threshold, row = np.nonzero(counts.is_true)
        category = counts.category[row]
        table = pl.DataFrame(
            {"group": threshold * n_categories + category, "precision": precision(counts.k, counts.n)[threshold, row]}
        )
        best = table.select(envelope(pl.col("precision")).over("group")).to_series().to_numpy()
        # each true positive fills the levels that it is the first to reach
        step = ranking.step(s, counts)[threshold, row]
        before, new = levels[step - 1], levels[step] - levels[step - 1]
        hit = np.repeat(np.arange(len(new)), new)
        level = before[hit] + np.arange(len(hit)) - (np.cumsum(new) - new)[hit]
        at = (threshold[hit], level, category[hit], s, m)
        precisions[at] = best[hit]
        at_scores[at] = scores[counts.detection[row[hit]]]
    at_scores[:, at_zero] = np.nan_to_num(first_scores)[None, None, :, None, None]
    positives = np.maximum(ranking.n_positives, 1)[None, :, :, None]
    return {
        "precision": np.where(evaluated, precisions, -1),
        "recall": np.where(evaluated[0], recall / positives, -1),
        "scores": np.where(evaluated, at_scores, -1),
    }
