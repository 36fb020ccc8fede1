"""The errors of true positives, averaged over each list, for any weights of the images: nuScenes, Argoverse 2."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from apframe.metrics.box_errors import BoxErrors
from apframe.metrics.segments import running_sums

if TYPE_CHECKING:
    from apframe.metrics.sampled_ranking import Walk


@dataclass(frozen=True)
class Cuts:
    """Where levels of recall lie among the true positives, one entry for each level, list and weighting.

    Attributes
    ----------
    row, weighting
        the first true positive whose recall reaches the level, and the weighting
    after
        the next true positive of the list that weighs something; -1 if there is none
    copy
        how many copies of the true positive are above the level, which are not whole only if weights are not
    is_end
        the level is the recall of the true positive
    columns
        those of `Sampled`, but the envelope
    """

    row: np.ndarray
    weighting: np.ndarray
    after: np.ndarray
    copy: np.ndarray
    is_end: np.ndarray
    columns: Mapping[str, np.ndarray]

    def frame(self, best: np.ndarray) -> pl.DataFrame:
        """The columns of `Sampled`; `best` is the envelope at each true positive and weighting."""
        after = np.where(self.after >= 0, best[self.after, self.weighting], np.nan)
        columns = {"best": best[self.row, self.weighting], "is_end": self.is_end}
        return pl.DataFrame({**self.columns, **columns, "best_after": pl.Series(after).fill_nan(None)})


def mean_errors(
    errors: BoxErrors, walk: Walk, weights: np.ndarray, cuts: Cuts | None, hits: np.ndarray
) -> dict[str, np.ndarray]:
    """The averages of each list, by kind, of shape (lists, weightings); NaN where they are not defined.

    Over recall, they are those of nuScenes: the running means of the errors down the true positives, those without one left
    out (0 before the first; 1 if there are none), are a function of the score, on straight lines. The score is a function of
    recall, on straight lines between all items. The mean at the levels from .11 on whose score is not 0 is the average; it is
    that of an absent category if there is no such level.

    Parameters
    ----------
    walk
        the detections that count
    weights
        of these, of shape (detections, weightings)
    cuts
        the levels of recall; None without true positives
    hits
        the true positives of each list, of shape (lists, weightings)

    Source: `accumulate` and `calc_tp` of nuscenes-devkit; `summarize_metrics` of av2-api.
    """
    found = {kind: np.full(hits.shape, float(absent)) for kind, absent in zip(errors.kinds, errors.absent, strict=True)}
    if cuts is not None:
        own = weights[walk.true]
        score = _Scores(walk, weights, own, cuts) if errors.over_recall else None
        for kind in errors.kinds:
            _fill(found[kind], walk, own, np.isfinite(walk.errors[kind]), np.nan_to_num(walk.errors[kind]), score)
    for place, kind in enumerate(errors.kinds):
        found[kind][walk.undefined >> place & 1 > 0] = np.nan
    return found


def _fill(
    means: np.ndarray, walk: Walk, own: np.ndarray, has_error: np.ndarray, error: np.ndarray, scores: _Scores | None
) -> None:
    """Put the averages of one kind in the place of those of absent categories, where there are some."""
    sums = running_sums(own * error[:, None], walk.starts, walk.segment)
    counts = running_sums(own * has_error[:, None], walk.starts, walk.segment)
    number, last = walk.number[walk.last], walk.last
    if scores is None:
        means[number] = np.where(counts[last] > 0, _divide(sums[last], counts[last]), means[number])
        return
    once = np.minimum(own, 1.0)  # the first copy of a detection
    first = _divide(sums - (own - once) * error[:, None], counts - (own - once) * has_error[:, None])
    values = scores.read(first, _divide(sums, counts))
    at = walk.number[scores.cuts.row] * means.shape[1] + scores.cuts.weighting
    used = scores.score != 0
    summed = np.bincount(at[used], values[used], minlength=means.size).reshape(means.shape)
    n = np.bincount(at[used], minlength=means.size).reshape(means.shape)
    is_known = np.zeros(means.shape, dtype=bool)
    is_known[number] = counts[last] > 0
    means[:] = np.where((n > 0) & is_known, _divide(summed, n), means)


class _Scores:
    """The score at each level of recall, and where it lies among those of the true positives."""

    def __init__(self, walk: Walk, weights: np.ndarray, own: np.ndarray, cuts: Cuts) -> None:
        self.cuts, n = cuts, len(walk.true)
        row, weighting, after = cuts.row, cuts.weighting, cuts.after
        number = walk.number[row]
        above = _last_with_weight(weights, walk.true[row] - 1, weighting, walk.bounds[number])
        end = np.where(after >= 0, walk.true[after], walk.bounds[number + 1])
        self._score_of = walk.score[walk.true]
        score = self._score_of[row]
        score_above = np.where(above >= walk.bounds[number], walk.score[above], score)
        score_end = walk.score[_last_with_weight(weights, end - 1, weighting, walk.bounds[number])]
        # in the order of numpy.interp, as one bit decides on which side of a score the result is
        recall, right = (cuts.columns[name] / cuts.columns["n_positives"] for name in ("left_tp", "right_tp"))
        slope = _divide(score - score_above, right - recall)
        between = np.where(cuts.copy > 0, score, slope * (cuts.columns["level"] - recall) + score_above)
        self.score = np.where(cuts.is_end, score_end, between)

        at = np.arange(n)[:, None]
        self._previous = np.full(own.shape, -1)
        self._previous[1:] = np.maximum.accumulate(np.where(own > 0, at, -1), axis=0)[:-1]
        self._previous = np.where(self._previous >= walk.starts[walk.segment][:, None], self._previous, -1)
        # the first of equally scored true positives that weighs something
        is_first = (np.diff(walk.segment, prepend=-1) != 0) | (np.diff(self._score_of, prepend=np.nan) != 0)
        begin = np.maximum.accumulate(np.where(is_first, np.arange(n), 0))
        self._first_of_equals = np.minimum.accumulate(np.where(own > 0, at, n - 1)[::-1], axis=0)[::-1][begin]

    def read(self, first: np.ndarray, last: np.ndarray) -> np.ndarray:
        """The values at the scores, from those at the first and the last copy of each true positive."""
        row, weighting, after = self.cuts.row, self.cuts.weighting, self.cuts.after
        own_score = self._score_of[row]
        previous = self._previous[row, weighting]

        def first_at(rows: np.ndarray) -> np.ndarray:
            return first[self._first_of_equals[rows, weighting], weighting]

        here = first_at(row)
        above = self._score_of[previous]
        slope = _divide(last[previous, weighting] - here, above - own_score)
        higher = np.where(self.score >= above, first_at(previous), slope * (self.score - own_score) + here)
        higher = np.where(previous < 0, here, higher)
        below = self._score_of[after]
        slope = _divide(last[row, weighting] - first_at(after), own_score - below)
        lower = np.where(self.score <= below, first_at(after), slope * (self.score - below) + first_at(after))
        lower = np.where(after < 0, last[row, weighting], lower)
        return np.where(self.score == own_score, here, np.where(self.score > own_score, higher, lower))


def _last_with_weight(weights: np.ndarray, place: np.ndarray, weighting: np.ndarray, first: np.ndarray) -> np.ndarray:
    """The last detection down to each place that weighs something; a number below `first` if there is none from there on.

    >>> _last_with_weight(np.array([[1.0], [0.0], [0.0]]), np.array([2, 2]), np.array([0, 0]), np.array([0, 1])).tolist()
    [0, 0]
    """
    found = place.copy()
    sought = np.flatnonzero(found >= first)
    while len(sought):  # most weigh something, so that few are left after some rounds
        sought = sought[weights[found[sought], weighting[sought]] == 0]
        found[sought] -= 1
        sought = sought[found[sought] >= first[sought]]
    return found


def _divide(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The quotients, 0 where the divisor is 0."""
    return np.divide(a, b, out=np.zeros(np.broadcast_shapes(a.shape, b.shape)), where=b != 0)
