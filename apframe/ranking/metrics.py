"""Average precision and recall of every category, slice, threshold and number of detections."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from apframe.ranking.average_precision import average_precision, envelope, levels_reached, precision
from apframe.ranking.counts import count_true_positives


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
    recall_levels: Sequence[float]
    n_thresholds: int

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Numbers of thresholds, categories, slices and max_detections, the axes of the reference's arrays."""
        return (self.n_thresholds, *self.n_positives.shape, len(self.max_detections))

    def true_positives(self) -> Iterator[tuple[int, int, pl.DataFrame, np.ndarray]]:
        """For each slice and place in `max_detections`: the true positives with their counts, and all counted.

        Beside the columns of `count_true_positives` the rows have `precision`, `before` and `reached`: the number of
        recall levels that the true positive before it reached, and that it reaches itself.
        """
        n_categories, n_slices = self.n_positives.shape
        levels, start = self._levels_by_count()
        for s in range(n_slices):
            group_start = np.tile(start[:, s], self.n_thresholds)
            for m, limit in enumerate(self.max_detections):
                rows, total = count_true_positives(
                    self.assignments, self.order, s, self.counts[s], self.ignored[s], limit, n_categories, self.n_thresholds
                )
                place = group_start[rows["group"].to_numpy()] + rows["k"].to_numpy()
                yield s, m, rows.with_columns(
                    precision=precision(pl.col("k"), pl.col("n")),
                    before=levels[place - 1], reached=levels[place],
                ), total

    def _levels_by_count(self) -> tuple[np.ndarray, np.ndarray]:
        """The levels reached by k of R true positives, a run of k = 0..R for each R that occurs; where runs start."""
        distinct, which = np.unique(self.n_positives, return_inverse=True)
        runs = pl.DataFrame({"n_positives": distinct}).select("n_positives", k=pl.int_ranges(0, pl.col("n_positives") + 1))
        reached = runs.explode("k").select(levels_reached(pl.col("k"), pl.col("n_positives"), self.recall_levels))
        start = np.cumsum(distinct + 1) - (distinct + 1)
        return reached.to_series().to_numpy(), start[which].reshape(self.n_positives.shape)


def compute_metrics(ranking: Ranking) -> dict[str, np.ndarray]:
    """`ap`, `recall` and `n_detections` as arrays of shape (thresholds, categories, slices, max_detections).

    `ap` and `recall` are NaN where a category has no positives in a slice. `recall` is that of the whole list.
    """
    shape = ranking.shape
    n_thresholds, n_categories = shape[:2]
    ap, hits = np.zeros(shape), np.zeros(shape)
    n_detections = np.zeros(shape, dtype=np.int64)
    for s, m, rows, total in ranking.true_positives():
        n_levels = len(ranking.recall_levels)
        groups = rows.group_by("group").agg(
            ap=average_precision(pl.col("precision"), pl.col("reached") - pl.col("before")) / n_levels, hits=pl.len()
        )
        at = np.divmod(groups["group"].to_numpy(), n_categories)
        ap[*at, s, m] = groups["ap"].to_numpy()
        hits[*at, s, m] = groups["hits"].to_numpy()
        n_detections[:, :, s, m] = total.reshape(n_thresholds, n_categories)
    positives = np.where(ranking.n_positives > 0, ranking.n_positives, np.nan)[None, :, :, None]
    return {"ap": np.where(np.isnan(positives), np.nan, ap), "recall": hits / positives, "n_detections": n_detections}


def compute_arrays(ranking: Ranking, first_scores: np.ndarray, scores: np.ndarray) -> dict[str, np.ndarray]:
    """The reference's arrays: `precision` and `scores` (T, R, K, A, M) and `recall` (T, K, A, M), -1 if not evaluated.

    Parameters
    ----------
    ranking
        what to compute from
    first_scores
        the score of each category's first-ranked detection, NaN without any; the reference puts it at recall levels
        of 0, whatever the detection's outcome
    scores
        of the detections in order

    Source: `COCOeval.accumulate`. T thresholds, R recall levels, K categories, A slices (area ranges), M max_detections.
    """
    n_thresholds, n_categories, n_slices, n_limits = ranking.shape
    n_levels = len(ranking.recall_levels)
    evaluated = (ranking.n_positives > 0)[None, None, :, :, None]
    shape = (n_thresholds, n_levels, n_categories, n_slices, n_limits)
    precisions, at_scores = np.zeros(shape), np.zeros(shape)
    recall = np.zeros(ranking.shape)
    at_zero = np.asarray(ranking.recall_levels) <= 0
    for s, m, rows, _ in ranking.true_positives():
        rows = rows.with_columns(envelope(pl.col("precision")).over("group"))
        threshold, category = np.divmod(rows["group"].to_numpy(), n_categories)
        np.add.at(recall, (threshold, category, s, m), 1)
        before, new = rows["before"].to_numpy(), (rows["reached"] - rows["before"]).to_numpy()
        row = np.repeat(np.arange(len(new)), new)
        level = before[row] + np.arange(len(row)) - (np.cumsum(new) - new)[row]
        at = (threshold[row], level, category[row], s, m)
        precisions[at] = rows["precision"].to_numpy()[row]
        at_scores[at] = scores[rows["detection"].to_numpy()[row]]
    at_scores[:, at_zero] = np.nan_to_num(first_scores)[None, None, :, None, None]
    positives = np.maximum(ranking.n_positives, 1)[None, :, :, None]
    return {
        "precision": np.where(evaluated, precisions, -1),
        "recall": np.where(evaluated[0], recall / positives, -1),
        "scores": np.where(evaluated, at_scores, -1),
    }
