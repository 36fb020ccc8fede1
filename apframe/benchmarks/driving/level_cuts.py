"""Recall levels among the true positives of a list, and the numbers at these levels: nuScenes, Argoverse 2."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from apframe.matching.verdicts import list_bounds
from apframe.metrics.cells import Cells, Columns, Counted
from apframe.metrics.definitions import COCO_101
from apframe.metrics.list_sums import divide, is_first, lasts_of, ranges, running_sums, suffix_maxima, sums, sums_before
from apframe.metrics.weighted_sums import levels_reached
from apframe.metrics.weights import Weights

if TYPE_CHECKING:
    from apframe.benchmarks.driving.box_errors import BoxErrors
    from apframe.benchmarks.driving.recall_levels import RecallLevels

_REACHED = levels_reached(COCO_101)
_TINY = np.finfo(float).tiny


def average_over_levels(definition: RecallLevels, addend: float, absent: float, cells: Cells, weights: Weights) -> np.ndarray:
    """Return average precision in the wanted cells of each list, see `Definition.average`."""

    def read(down: SumsDown, cuts_from: Callable[[int], Cuts]) -> dict[str, np.ndarray]:
        cuts = cuts_from(definition.first_level)
        best = suffix_maxima(down.tp / (np.maximum(down.n, _TINY) + addend), down.true.segment)
        table = cuts.tabulate(best)
        values = table.select(definition.at_level({name: pl.col(name) for name in table.columns})).to_series().to_numpy()
        return {"ap": np.where(down.expected > 0, cuts.add_up(values) / definition.n_levels, absent)}

    return _read(("ap",), cells, weights, read)["ap"]


def mean_errors(errors: BoxErrors, cells: Cells, weights: Weights) -> dict[str, np.ndarray]:
    """Return the mean errors in the wanted cells of each list, by kind; NaN if undefined.

    Over recall, they are those of nuScenes. The running means of the errors down the true positives, leaving out those without
    an error (0 before the first; 1 if there are none), are interpolated linearly as a function of the score. The score is
    interpolated linearly as a function of recall, between all items. The result is the mean at the levels from .11 on whose
    score is not 0; without such a level, it is that of an absent category.

    Source: `accumulate` and `calc_tp` of nuscenes-devkit; `summarize_metrics` of av2-api.
    """

    def read(down: SumsDown, cuts_from: Callable[[int], Cuts]) -> dict[str, np.ndarray]:
        averages, true = {}, down.true
        scores = Scores(cuts_from(errors.first_level)) if errors.over_recall else None
        for place, (kind, name, absent) in enumerate(zip(errors.kinds, errors.hit_columns, errors.absent, strict=True)):
            error = true.column(name)[:, None]
            has_error = np.isfinite(error)
            counts, errs = down.own if has_error.all() else down.own * has_error, down.own * np.nan_to_num(error)
            n = sums(counts, true.bounds)
            if scores is None:
                means = divide(sums(errs, true.bounds), n)
            else:
                means, n_levels = scores.average(counts, errs)
                n = np.minimum(n, n_levels)  # both must be positive
            averages[kind] = np.where(n > 0, means, absent)
            averages[kind][cells.undefined >> place & 1 > 0] = np.nan
        return averages

    return _read(errors.kinds, cells, weights, read)


def _read(
    columns: Sequence[str],
    cells: Cells,
    weights: Weights,
    read: Callable[[SumsDown, Callable[[int], Cuts]], Mapping[str, np.ndarray]],
) -> dict[str, np.ndarray]:
    """Return columns for the wanted cells of each list, from sums of weights at each threshold, range and limit.

    Sums and cuts are kept with the weights, so that precision and errors share them.
    """

    def at(some: Weights, *place: int) -> Mapping[str, np.ndarray]:
        down = cells.kept_under(some, (SumsDown, place), lambda: SumsDown.of(cells, some, *place))
        return read(down, lambda level: cells.kept_under(some, (Cuts, place, level), lambda: Cuts.of(down, level)))

    return cells.means(columns, at, weights)


@dataclass(frozen=True, eq=False)
class TruePositives:
    """The true positives at a threshold, in a range, within a limit; by list, then rank.

    Attributes
    ----------
    rows
        the detections that count
    hits
        the hits of the limit
    at, list
        the row of each true positive among the detections that count, and its list
    bounds
        the first true positive of each list, and the end of the last list
    starts, segment
        the first true positive of each list that has any, and the number, among these lists, of the list of each
    first, last
        the first and the last true positive in the list of each
    """

    rows: Counted
    hits: Columns
    at: np.ndarray
    list: np.ndarray
    bounds: np.ndarray
    starts: np.ndarray
    segment: np.ndarray
    first: np.ndarray
    last: np.ndarray

    @classmethod
    def of(cls, cells: Cells, t: int, k: int, m: int) -> TruePositives:
        """Find the true positives at threshold t, in range k and within limit m, all by number."""
        rows = cells.counted(t, k, m)
        at = np.flatnonzero(rows.is_true)
        number = rows.list[at].astype(np.int64)
        flags = is_first(number)
        starts, segment = np.flatnonzero(flags), np.cumsum(flags) - 1
        last, bounds = lasts_of(starts, len(at)), list_bounds(number, cells.n_lists)
        return cls(rows, cells.hits[m], at, number, bounds, starts, segment, starts[segment], last[segment])

    def column(self, name: str) -> np.ndarray:
        """Return a column of the hits of the true positives."""
        return self.hits[name][self.rows.hit[self.at]]


@dataclass(frozen=True, eq=False)
class SumsDown:
    """Sums of weights down each list, at its true positives; except for the first two, of shape (true positives, weightings).

    Attributes
    ----------
    expected, of_all
        the positives of each list, and the weight of each detection that counts
    true
        the true positives
    own, tp, n
        the weight of the true positive, and the sums of true positives and of all items down to it
    total, positives
        the weight of all items of its list, and of its positives (1 if there are none)
    slack
        see `Weights`
    """

    true: TruePositives
    expected: np.ndarray
    of_all: np.ndarray
    own: np.ndarray
    tp: np.ndarray
    n: np.ndarray
    total: np.ndarray
    positives: np.ndarray
    slack: float

    @classmethod
    def of(cls, cells: Cells, weights: Weights, t: int, k: int, m: int) -> SumsDown:
        """Add up the weights at threshold t, in range k and within limit m, all by number."""
        true = cells.kept((TruePositives, t, k, m), lambda: TruePositives.of(cells, t, k, m))

        def sum_all() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            of_all = weights.scaled.take(true.rows.image, axis=0)
            return of_all, sums_before(of_all), cells.expected(k, weights.scaled)

        # thresholds at which the same detections count share their sums
        of_all, upto, expected = cells.kept_under(weights, ("all", k, id(true.rows.image)), sum_all)
        own, number, bounds = of_all[true.at], true.list, true.rows.bounds
        tp = running_sums(own, true.starts, true.segment)
        n = np.maximum(upto[true.at + 1] - upto[bounds[number]], tp)
        total = upto[bounds[number + 1]] - upto[bounds[number]]
        positives = np.where(expected > 0, expected, 1.0)[number]
        return cls(true, expected, of_all, own, tp, n, total, positives, weights.slack)


@dataclass(frozen=True, eq=False)
class Cuts:
    """Positions of the levels of recall among the true positives, one entry for each level, list and weighting.

    Attributes
    ----------
    down
        the sums of weights
    row, weighting
        the first true positive whose recall reaches the level, and the weighting
    after
        the next true positive of the list that weighs something; -1 if there is none
    copy
        the number of copies of the true positive above the level, fractional only if weights are
    columns
        the columns of `RecallLevels`, except the envelope
    """

    down: SumsDown
    row: np.ndarray
    weighting: np.ndarray
    after: np.ndarray
    copy: np.ndarray
    columns: Columns

    @classmethod
    def of(cls, down: SumsDown, first_level: int) -> Cuts:
        """Find the true positive at each level, from the level of this number on."""
        true, own, n = down.true, down.own, down.n
        reached = np.maximum(_REACHED(down.tp.copy(), down.positives, down.slack).astype(np.int64), first_level)
        before = np.full_like(reached, first_level)
        before[1:] = reached[:-1]
        before[true.starts] = first_level
        place, cell = ranges(before.ravel(), np.maximum(reached - before, 0).ravel())
        level = np.array(COCO_101.levels)[place]
        row, weighting = np.divmod(cell, own.shape[1])
        following = np.full(own.shape, len(own))
        following[:-1] = np.minimum.accumulate(np.where(own > 0, np.arange(len(own))[:, None], len(own))[:0:-1], axis=0)[::-1]
        after = following[row, weighting]
        after[after > true.last[row]] = -1
        tp, end, weight, positives = (of[row, weighting] for of in (down.tp, n, own, down.positives))
        above_tp, above_n = tp - weight, end - weight
        # the distance of the level beyond the items above, and the copies of the detection around it
        beyond = np.clip(level * positives - above_tp, 0, weight)
        copies = np.minimum(np.floor(beyond), np.maximum(np.ceil(weight) - 1, 0))
        upto = np.minimum(copies + 1, weight)
        columns = {
            "level": level,
            "n_positives": positives,
            "left_tp": above_tp + copies,
            "left_n": above_n + copies,
            "right_tp": above_tp + upto,
            "right_n": above_n + upto,
            "is_end": np.abs(level - tp / positives) <= down.slack,
            "tp": tp,
            "end_n": np.where(after >= 0, (n - own)[after, weighting], down.total[row, weighting]),
        }
        return cls(down, row, weighting, after, copies, columns)

    def tabulate(self, best: np.ndarray) -> pl.DataFrame:
        """Return the columns of `RecallLevels`; `best` is the envelope at each true positive and weighting."""
        after = np.where(self.after >= 0, best[self.after, self.weighting], np.nan)
        columns = {"best": best[self.row, self.weighting], "best_after": pl.Series(after).fill_nan(None)}
        return pl.DataFrame({**self.columns, **columns})

    def add_up(self, values: np.ndarray) -> np.ndarray:
        """Add up a value over the levels of each list; the result has shape (lists, weightings)."""
        n_lists, n = self.down.expected.shape
        at = self.down.true.list[self.row] * n + self.weighting
        return np.bincount(at, values, minlength=n_lists * n).reshape(n_lists, n)


class Scores:
    """The score at each level of recall, and its position among the scores of the true positives."""

    def __init__(self, cuts: Cuts) -> None:
        self.cuts, down, true = cuts, cuts.down, cuts.down.true
        row, weighting, after, score_of_all = cuts.row, cuts.weighting, cuts.after, true.rows.score
        begin, end = true.rows.bounds[true.list[row]], true.rows.bounds[true.list[row] + 1]
        above = last_with_weight(down.of_all, true.at[row] - 1, weighting, begin)
        lowest = last_with_weight(down.of_all, np.where(after >= 0, true.at[after], end) - 1, weighting, begin)
        self._score_of = score_of_all[true.at]
        score = self._score_of[row]
        score_above = np.where(above >= begin, score_of_all[above], score)
        # operations in the order of numpy.interp, as the last bit decides on which side of a score the result lies
        recall, right = (cuts.columns[name] / cuts.columns["n_positives"] for name in ("left_tp", "right_tp"))
        slope = divide(score - score_above, right - recall)
        between = np.where(cuts.copy > 0, score, slope * (cuts.columns["level"] - recall) + score_above)
        self.score = np.where(cuts.columns["is_end"], score_of_all[lowest], between)

        self._further = 1 - divide(np.minimum(down.own, 1.0), down.own)  # the share of all copies but the first
        n, weighs = len(true.at), down.own > 0
        at = np.arange(n)[:, None]
        self._previous = np.full(down.own.shape, -1)
        self._previous[1:] = np.maximum.accumulate(np.where(weighs, at, -1), axis=0)[:-1]
        self._previous[self._previous < true.first[:, None]] = -1
        # the first of equally scored true positives that weighs something
        same = np.maximum.accumulate(np.where(is_first(true.list, self._score_of), np.arange(n), 0))
        self._first_of_equals = np.minimum.accumulate(np.where(weighs, at, n - 1)[::-1], axis=0)[::-1][same]

    def average(self, counts: np.ndarray, errors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the means over the levels whose score is not 0, and the number of these levels, of shape (lists, weightings).

        `counts` are the weights of the true positives that have an error, and `errors` these errors times the weights.
        """
        down, true = self.cuts.down, self.cuts.down.true
        total = running_sums(errors, true.starts, true.segment)
        n = down.tp if counts is down.own else running_sums(counts, true.starts, true.segment)
        values = self._read(divide(total - errors * self._further, n - counts * self._further), divide(total, n))
        used = self.score != 0
        n_levels = self.cuts.add_up(used.astype(float))
        return divide(self.cuts.add_up(np.where(used, values, 0.0)), n_levels), n_levels

    def _read(self, first: np.ndarray, last: np.ndarray) -> np.ndarray:
        """Interpolate the values at the scores from those at the first and the last copy of each true positive."""
        row, weighting, after = self.cuts.row, self.cuts.weighting, self.cuts.after
        own_score = self._score_of[row]
        previous = self._previous[row, weighting]

        def first_at(rows: np.ndarray) -> np.ndarray:
            return first[self._first_of_equals[rows, weighting], weighting]

        here = first_at(row)
        above = self._score_of[previous]
        slope = divide(last[previous, weighting] - here, above - own_score)
        higher = np.where(self.score >= above, first_at(previous), slope * (self.score - own_score) + here)
        higher = np.where(previous < 0, here, higher)
        below = self._score_of[after]
        slope = divide(last[row, weighting] - first_at(after), own_score - below)
        lower = np.where(self.score <= below, first_at(after), slope * (self.score - below) + first_at(after))
        lower = np.where(after < 0, last[row, weighting], lower)
        return np.where(self.score == own_score, here, np.where(self.score > own_score, higher, lower))


def last_with_weight(weights: np.ndarray, place: np.ndarray, weighting: np.ndarray, first: np.ndarray) -> np.ndarray:
    """Find the last detection up to each place that has a weight; a number below `first` if there is none from `first` on.

    >>> last_with_weight(np.array([[1.0], [0.0], [0.0]]), np.array([2, 2]), np.array([0, 0]), np.array([0, 1])).tolist()
    [0, 0]
    """
    last = place.copy()
    sought = np.flatnonzero(last >= first)
    while len(sought):  # most weigh something, so that few are left after some rounds
        sought = sought[weights[last[sought], weighting[sought]] == 0]
        last[sought] -= 1
        sought = sought[last[sought] >= first[sought]]
    return last
