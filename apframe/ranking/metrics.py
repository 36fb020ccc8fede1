"""Average precision and recall of every category, slice, threshold and number of detections."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
import polars as pl

from apframe.ranking.counts import Counts, SliceRows, Walk, count_down, select_rows, tally
from apframe.ranking.definitions import Levels, WeightedSum
from apframe.ranking.precision import precision


@dataclass(frozen=True)
class Ranking:
    """All that metrics are computed from: matches, the order of the detections, and who counts in which slice.

    `assignments` are a table for each of `max_detections`; the same one, where lower scores change no match of higher ones.
    `counts` are flags of the detections in order, for each slice: would it count if it were not matched? Slices may share them.
    `ignored` are flags of shape (slices, annotations). `n_positives` is of shape (categories, slices).
    """

    assignments: Sequence[pl.DataFrame]
    order: pl.DataFrame
    counts: Sequence[np.ndarray]
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
        key = id(self.counts[s]), m
        walk = self._walks.get(key)
        if walk is None:
            self._walks[key] = walk = Walk(self._category, self._starts, self.counts[s], self._is_within[m])
        return select_rows(self._assigned[m], walk, s, self.ignored[s], for_curves=for_curves)

    @cached_property
    def _walks(self) -> dict[tuple[int, int], Walk]:
        return {}

    @cached_property
    def _assigned(self) -> list[dict[str, np.ndarray]]:
        return [{column.name: column.to_numpy() for column in table} for table in self.assignments]

    @cached_property
    def _category(self) -> np.ndarray:
        return self.order["category"].to_numpy()

    @cached_property
    def _starts(self) -> np.ndarray:
        return np.searchsorted(self._category, np.arange(self.n_positives.shape[0] + 1, dtype=self._category.dtype))

    @cached_property
    def _is_within(self) -> list[np.ndarray]:
        cell_rank = self.order["cell_rank"].to_numpy()
        return [cell_rank <= limit for limit in self.max_detections]

    def step(self, s: int, counts: Counts) -> np.ndarray:
        """Where the recalls of the counts stand in `recalls`."""
        return self._recalls_and_starts[1][:, s][counts.category] + counts.k

    def prepare(self) -> None:
        """Make what threads are going to share."""
        _ = self.weights_by_count, self.deepest, self._walks, self._assigned, self._starts, self._is_within

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


@dataclass(frozen=True)
class Cells:
    """One slice of the objects at one of `max_detections`, in arrays of shape (thresholds, categories).

    `ap` is 0 where a category has no positives, and None where it was not asked for; `hits` are the true positives.
    """

    ap: np.ndarray | None
    hits: np.ndarray
    n_detections: np.ndarray


def compute_cells(ranking: Ranking, s: int, limits: Sequence[int], ap_at: Sequence[int]) -> dict[int, Cells]:
    """Slice number s at some of `max_detections`, given by their places, the last one always.

    Hits are cheap. `ap` takes the most time, and is computed for the places in `ap_at`, and for the last one.
    """
    n_thresholds, *_, n_limits = ranking.shape
    cells: dict[int, Cells] = {}
    for m in sorted({*limits, n_limits - 1}, reverse=True):
        is_last = m == n_limits - 1
        rows = ranking.rows_of(s, m, for_curves=is_last or m in ap_at)
        ap = None
        if is_last:
            ap = _average_precisions(ranking, s, rows)
        elif m in ap_at:
            # a category that has no cell beyond the limit is the same as without the limit
            limited, whole = ranking.deepest > ranking.max_detections[m], cells[n_limits - 1].ap
            assert whole is not None
            ap = whole.copy()
            if limited.any():
                ap[:, limited] = _average_precisions(ranking, s, rows.only(limited[rows.category]))[:, limited]
        cells[m] = Cells(ap, *tally(rows, n_thresholds))
    return cells


def compute_metrics(ranking: Ranking, ap_at: Sequence[int]) -> dict[str, np.ndarray]:
    """`ap`, `recall` and `n_detections` as arrays of shape (thresholds, categories, slices, max_detections).

    Recall is that of the whole list. `ap` is NaN at those of `max_detections` that are not in `ap_at`, see `compute_cells`.
    `ap` and `recall` are NaN where a category has no positives in a slice.
    """
    *_, n_slices, n_limits = ranking.shape
    ap = np.full(ranking.shape, np.nan)
    hits, n_detections = np.zeros(ranking.shape), np.zeros(ranking.shape, dtype=np.int64)

    def fill(s: int) -> None:
        for m, cells in compute_cells(ranking, s, range(n_limits), ap_at).items():
            hits[:, :, s, m], n_detections[:, :, s, m] = cells.hits, cells.n_detections
            if cells.ap is not None:
                ap[:, :, s, m] = cells.ap

    ranking.prepare()
    with ThreadPoolExecutor(2) as threads:
        list(threads.map(fill, range(n_slices)))
    positives = np.where(ranking.n_positives > 0, ranking.n_positives, np.nan)[None, :, :, None]
    return {"ap": np.where(np.isnan(positives), np.nan, ap), "recall": hits / positives, "n_detections": n_detections}


def _average_precisions(ranking: Ranking, s: int, rows: SliceRows) -> np.ndarray:
    """Average precision of slice number s, of shape (thresholds, categories)."""
    n_thresholds, n_categories = ranking.shape[:2]
    ap = np.zeros((n_thresholds, n_categories))
    for block in rows.blocks():
        counts = count_down(block, n_thresholds)
        first_rows = np.flatnonzero(np.diff(counts.category, prepend=-1))
        observed = precision(counts.k, counts.n)
        # Between true positives the precision only falls, so rows that are none at a threshold leave the envelope as it is.
        taken = running_best(observed, first_rows) if ranking.definition.interpolated else observed
        weights = ranking.weights_by_count[ranking.step(s, counts)] * counts.is_true
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


def compute_arrays(
    ranking: Ranking, definition: Levels, first_scores: np.ndarray, scores: np.ndarray, precision_at: Sequence[int]
) -> dict[str, np.ndarray]:
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
    precision_at
        places of the `max_detections` at which `precision` and `scores` are computed; they are -1 at the others

    Source: `COCOeval.accumulate`. T thresholds, R recall levels, K categories, A slices (area ranges), M max_detections.
    """
    n_thresholds, n_categories, n_slices, n_limits = ranking.shape
    n_levels = len(definition.levels)
    # the axes that are filled together come last
    precisions, at_scores = np.full((2, n_slices, n_limits, n_thresholds, n_levels, n_categories), -1.0)
    recall = np.zeros(ranking.shape)
    at_zero = np.asarray(definition.levels) <= 0
    reached = definition.levels_reached(pl.col("k"), pl.col("n_positives"))
    levels = ranking.recalls.select(reached).to_series().to_numpy().astype(np.int64)

    def fill(s: int, m: int) -> None:
        rows = ranking.rows_of(s, m, for_curves=m in precision_at)
        recall[:, :, s, m] = tally(rows, n_thresholds)[0]
        if m not in precision_at:
            return
        is_evaluated = ranking.n_positives[:, s] > 0
        precisions[s, m] = np.where(is_evaluated, 0.0, -1.0)
        at_scores[s, m] = np.where(is_evaluated, np.where(at_zero[:, None], np.nan_to_num(first_scores), 0.0), -1.0)
        for block in rows.blocks():
            counts = count_down(block, n_thresholds)
            best = running_best(precision(counts.k, counts.n), np.flatnonzero(np.diff(counts.category, prepend=-1)))
            # no level is left for more true positives than there are annotations, which others may have put together
            threshold, row = np.nonzero(counts.is_true & (counts.k <= ranking.n_positives[counts.category, s]))
            # each true positive fills the levels that it is the first to reach
            step = ranking.step(s, counts)[threshold, row]
            before, new = levels[step - 1], levels[step] - levels[step - 1]
            hit = np.repeat(np.arange(len(new)), new)
            level = before[hit] + np.arange(len(hit)) - (np.cumsum(new) - new)[hit]
            threshold, row = threshold[hit], row[hit]
            at = (s, m, threshold, level, counts.category[row])
            precisions[at] = best[threshold, row]
            at_scores[at] = np.where(at_zero[level], at_scores[at], scores[counts.detection[row]])

    ranking.prepare()
    with ThreadPoolExecutor(2) as threads:
        list(threads.map(fill, *zip(*product(range(n_slices), range(n_limits)), strict=True)))
    n_positives = ranking.n_positives[None, :, :, None]
    return {
        "precision": precisions.transpose(2, 3, 4, 0, 1),
        "recall": np.where(n_positives > 0, recall / np.maximum(n_positives, 1), -1),
        "scores": at_scores.transpose(2, 3, 4, 0, 1),
    }
