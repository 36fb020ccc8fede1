"""The true positives of lists in rank order, and the weighted counts down to each of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from apframe.metrics.cells import Cells
from apframe.metrics.list_sums import divide, running_sums, starts_of, suffix_maxima, sums_before
from apframe.metrics.weights import Weights

_TINY = 1e-300  # makes 0 / 0 equal to 0


@dataclass(frozen=True, eq=False)
class Stretches:
    """The begin and the end of stretches of rows, whose sums are differences of sums before marks.

    `begin` and `end` are numbers of marks, from 1; 0 is the first row.
    """

    marks: np.ndarray
    begin: np.ndarray
    end: np.ndarray

    @classmethod
    def of(cls, begin: np.ndarray, end: np.ndarray) -> Stretches:
        """Make stretches from their first rows and their last rows (exclusive)."""
        is_mark = np.zeros(int(end.max(initial=0)) + 1, dtype=bool)
        is_mark[begin] = is_mark[end] = True
        is_mark[0] = False
        number = np.cumsum(is_mark)
        return cls(np.flatnonzero(is_mark), number[begin], number[end])

    def sums(self, values: np.ndarray) -> np.ndarray:
        """Sum the rows of each stretch, down the columns.

        >>> Stretches.of(np.array([0, 1, 2]), np.array([2, 3, 2])).sums(np.array([[1.0], [2.0], [4.0]])).ravel().tolist()
        [3.0, 6.0, 0.0]
        """
        sums = np.zeros((len(self.marks) + 1, values.shape[1]))
        if len(self.marks):
            first = np.append(0, self.marks[:-1])
            np.cumsum(np.add.reduceat(values[: self.marks[-1]], first, axis=0), axis=0, out=sums[1:])
        between: np.ndarray = sums.take(self.end, axis=0)
        between -= sums.take(self.begin, axis=0)
        return between


@dataclass(frozen=True, eq=False)
class Ranking:
    """The true positives of every threshold and list, in one area range within one limit.

    They are in segments of one threshold and one list, in rank order. A true positive has `detection`, its number among all
    detections, and `segment`. A segment has `starts`, its first true positive, `threshold` and `list`.

    Attributes
    ----------
    image, bounds
        the image of each detection; the first detection of each list and the end of the last list
    unmatched, unmatched_end
        the detections that count while they are not matched, and the end of each one's list
    down
        the `unmatched` from the first of the list down to each true positive
    changing, change, changing_at
        detections whose count changes when they are matched, the change, and the number of the threshold, ascending
    changed_down
        the `changing` from the first of the list down to each true positive
    """

    image: np.ndarray
    bounds: np.ndarray
    detection: np.ndarray
    segment: np.ndarray
    starts: np.ndarray
    threshold: np.ndarray
    list: np.ndarray
    unmatched: np.ndarray
    unmatched_end: np.ndarray
    down: Stretches
    changing: np.ndarray
    change: np.ndarray
    changing_at: np.ndarray
    changed_down: Stretches

    @classmethod
    def of(cls, cells: Cells, k: int, m: int) -> Ranking:
        """Return the ranking of all lists and thresholds, in range k and within limit m (numbers).

        >>> from apframe.matching.verdicts import example
        >>> Ranking.of(Cells.of(example()), 0, 0).detection.tolist()
        [0]
        """
        return cells.kept((cls, k, m), lambda: cls._of(cells, k, m))

    @classmethod
    def _of(cls, cells: Cells, k: int, m: int) -> Ranking:
        rows, unmatched = cells.rows_of([k], m, for_curves=False), cells.walk([k], m).counted
        thresholds, n = np.arange(len(cells.thresholds)), len(cells.detections["image"]) + 1

        def held(some: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            at = [some[(rows.first[some] <= t) & (t < rows.last[some])] for t in thresholds]
            return np.concatenate(at), np.repeat(thresholds, [len(each) for each in at])

        true, at = held(np.flatnonzero(rows.is_true))
        changing_row, changing_at = held(np.flatnonzero(rows.change))
        detection, number, changing = rows.detection[true], rows.category[true], rows.detection[changing_row]
        starts = starts_of(at, number)
        segment = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(true)))
        of_list, place = cells.starts[number[starts]], changing_at * n + changing
        upto, before = (np.searchsorted(unmatched, each) for each in (rows.detection + 1, of_list))
        changed = [np.searchsorted(place, each * n + of) for each, of in ((at, detection + 1), (at[starts], of_list))]
        return cls(
            image=cells.detections["image"],
            bounds=cells.starts,
            detection=detection,
            segment=segment,
            starts=starts,
            threshold=at[starts],
            list=number[starts],
            unmatched=unmatched,
            unmatched_end=np.repeat(cells.starts[1:], np.diff(np.searchsorted(unmatched, cells.starts))),
            down=Stretches.of(before[segment], upto[true]),
            changing=changing,
            change=rows.change[changing_row].astype(np.float64),
            changing_at=changing_at,
            changed_down=Stretches.of(changed[1][segment], changed[0]),
        )

    def count(self, weights: np.ndarray, positives: np.ndarray, addend: float, slack: float = 0.0) -> WeightsDown:
        """Sum the weights down to each true positive.

        Parameters
        ----------
        weights, positives
            the weights of the images and the total weights of each list's positives (not 0), (images or lists, weightings)
        addend
            a number that is added to the divisor of precision
        slack
            the share of the positives by which sums of weights may be rounded
        """
        own = weights.take(self.image[self.detection], axis=0)
        n = self.down.sums(weights.take(self.image[self.unmatched], axis=0))
        if len(self.change):
            n += self.changed_down.sums(weights.take(self.image[self.changing], axis=0) * self.change[:, None])
        k, expected = running_sums(own, self.starts, self.segment), positives.take(self.list[self.segment], axis=0)
        if slack:  # values that should be 0 may be off by rounding
            k *= k > slack * expected
            np.maximum(n, k, out=n)
        n += addend or _TINY
        return WeightsDown(self, own, k, n, expected)


@dataclass(frozen=True, eq=False)
class WeightsDown:
    """Weights at each true positive of a ranking, of shape (true positives, weightings).

    Attributes
    ----------
    own
        the weight of the true positive's image
    k, n
        the total weights of the true positives, and of all detections that count, down to this one
    positives
        the total weight of the list's positives
    """

    ranking: Ranking
    own: np.ndarray
    k: np.ndarray
    n: np.ndarray
    positives: np.ndarray

    def precision(self, *, interpolated: bool) -> np.ndarray:
        """Return precision, or its envelope."""
        precision = self.k / self.n
        return suffix_maxima(precision, self.ranking.segment) if interpolated else precision

    def gains(self, reached: np.ndarray) -> np.ndarray:
        """Return the increase, at each true positive, of a column that rises down the ranks."""
        gain = np.empty_like(reached)
        np.subtract(reached[1:], reached[:-1], out=gain[1:])
        gain[self.ranking.starts] = reached[self.ranking.starts]
        return gain

    def sums(self, values: np.ndarray, n_thresholds: int) -> np.ndarray:
        """Sum values over each threshold and list; the result has the shape (thresholds, lists, weightings)."""
        ranking = self.ranking
        summed = np.zeros((n_thresholds, len(ranking.bounds) - 1, values.shape[1]))
        if len(ranking.starts):
            summed[ranking.threshold, ranking.list] = np.add.reduceat(values, ranking.starts, axis=0)
        return summed


@dataclass(frozen=True, eq=False)
class AreaSlopes:
    """The derivative of the area under precision, or its envelope, at each true positive; see `RowInfluence`.

    Attributes
    ----------
    rise
        the increase of the segment's area with the weight of the true positive, apart from its effect on the precision of
        others
    fall
        the decrease of the precisions attained at it with the weight of any detection down to it
    area
        the area, of shape (thresholds, lists)
    """

    ranking: Ranking
    rise: np.ndarray
    fall: np.ndarray
    area: np.ndarray

    @classmethod
    def of(cls, cells: Cells, weights: Weights, k: int, m: int, addend: float, *, interpolated: bool) -> AreaSlopes:
        """Compute the slopes under a single weighting, in range k and within limit m (numbers)."""

        def make() -> AreaSlopes:
            ranking, expected = Ranking.of(cells, k, m), cells.positives_under(k, weights)
            down = ranking.count(weights.given, np.where(expected == 0, 1, expected), addend, weights.slack)
            own, n, positives = (each[:, 0] for each in (down.own, down.n, down.positives))
            precision = down.precision(interpolated=False)[:, 0]
            reached, mass = precision, own
            if interpolated:  # the next true positive at which the envelope is attained
                reached = down.precision(interpolated=True)[:, 0]
                is_attained = precision >= reached * (1 - weights.slack)  # sums of weights may be rounded
                attained = np.where(is_attained, np.arange(len(own)), len(own))
                mass = np.bincount(np.minimum.accumulate(attained[::-1])[::-1], own, minlength=len(own))
            slope = divide(mass, positives * n)
            sums = sums_before(slope)
            end = np.append(ranking.starts[1:], len(own))[ranking.segment]
            gain = reached / positives
            area = down.sums((own * gain)[:, None], len(cells.thresholds))[..., 0]
            return cls(ranking, sums[end] - sums[:-1] + gain, slope * reached, area)

        return cells.kept_under(weights, (cls, k, m, addend, interpolated), make)

    def of_detections(self, thresholds: Sequence[int]) -> np.ndarray:
        """Return the derivative of the mean area over thresholds with respect to the weight of each detection."""
        ranking, n = self.ranking, len(self.ranking.image)
        at = ranking.threshold[ranking.segment]
        inside = np.isin(at, thresholds)
        detection, fall = ranking.detection[inside], np.where(inside, self.fall, 0)
        slopes = np.bincount(detection, self.rise[inside], minlength=n).astype(np.float64)  # of nothing: integers
        below = sums_before(np.bincount(detection, self.fall[inside], minlength=n))
        slopes[ranking.unmatched] -= below[ranking.unmatched_end] - below[ranking.unmatched]
        if len(ranking.change):
            below, place = sums_before(fall), at * (n + 1) + ranking.detection
            end = ranking.bounds[np.searchsorted(ranking.bounds, ranking.changing, side="right")]
            first, last = (np.searchsorted(place, ranking.changing_at * (n + 1) + each) for each in (ranking.changing, end))
            slopes -= np.bincount(ranking.changing, ranking.change * (below[last] - below[first]), minlength=n)
        return slopes / len(thresholds)
