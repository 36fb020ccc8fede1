"""Log-average miss rates, or CPM, beside whatever else is made of the lists, with weights for the images or without."""

from __future__ import annotations

import numpy as np

from apframe.matching.verdicts import Verdicts
from apframe.metrics.counted import Counted, count_positives, count_rows
from apframe.metrics.miss_rates import Froc, MissRates
from apframe.metrics.weights import ROUNDING

_MOST = 1 << 22  # of sums that are computed together
_TINY = np.finfo(float).tiny


class MissRateRanking:
    """Verdicts ranked by other rules (`base`), and the log-average miss rate (or CPM) of each list.

    An image of weight 2 counts as two copies of it, whose detections follow one another; it is two images. Weights that are
    not whole are divided by their mean, and the last copy of a detection is a part of one.

    Parameters
    ----------
    base
        what gives all other numbers
    verdicts
        what matching decided
    miss_rates
        how the miss rates, or sensitivities, are read
    """

    rest = None

    def __init__(self, verdicts: Verdicts, miss_rates: MissRates | Froc) -> None:
        self._verdicts, self._miss_rates = verdicts, miss_rates
        self.column = miss_rates.column
        self._rows: dict[tuple[int, int, int], Counted] = {}

    def weighted(self, t: int, k: int, m: int, weights: np.ndarray) -> np.ndarray:
        """The number at threshold t, in range k and within limit m, all by number, of shape (lists, weightings).

        `weights` are at least 0, of shape (images, weightings).
        """
        if (t, k, m) not in self._rows:
            self._rows[t, k, m] = count_rows(self._verdicts, t, k, m)
        rows = self._rows[t, k, m]
        step = max(1, _MOST // max(1, len(rows.at)))
        parts = [self._of_rows(rows, k, weights[:, begin : begin + step]) for begin in range(0, weights.shape[1], step)]
        return np.concatenate(parts, axis=1)

    def _of_rows(self, rows: Counted, k: int, weights: np.ndarray) -> np.ndarray:
        """The number of each list under some weightings."""
        slack = 0.0
        if not (weights == np.rint(weights)).all():
            weights, slack = weights / np.maximum(weights.mean(axis=0), _TINY), ROUNDING
        if isinstance(self._miss_rates, Froc):
            return self._mean_recall(self._miss_rates, rows, k, weights, slack)
        return self._mean_miss_rate(self._miss_rates, rows, k, weights, slack)

    def _mean_recall(self, rule: Froc, rows: Counted, k: int, weights: np.ndarray, slack: float) -> np.ndarray:
        """CPM of each list: the mean recall on straight lines between the points of the FROC curve."""
        positives, n_lists = count_positives(self._verdicts, k, weights), len(rows.bounds) - 1
        own, is_true, n_rows = weights.take(rows.image, axis=0), rows.is_true[:, None], len(rows.at)
        is_last = np.append((np.diff(rows.list) != 0) | (np.diff(rows.score) != 0), True)[:n_rows]  # of equal scores
        ends, number = np.flatnonzero(is_last), rows.list[is_last]
        bounds = np.searchsorted(number, np.arange(n_lists + 1))
        # each list begins with a point (0, 0)
        fp, tp = (np.zeros((len(ends) + n_lists, weights.shape[1])) for _ in range(2))
        at = np.arange(len(ends)) + number + 1
        for target, counted in ((fp, own * ~is_true), (tp, own * is_true)):
            upto = np.zeros((n_rows + 1, weights.shape[1]))
            np.cumsum(counted, axis=0, out=upto[1:])
            target[at] = upto[ends + 1] - upto[rows.bounds[number]]
        begins = bounds[:-1] + np.arange(n_lists)
        finals = bounds[1:] + np.arange(n_lists)
        images, total, column = self._verdicts.n_images(weights), np.zeros(positives.shape), np.arange(weights.shape[1])
        of = np.repeat(np.arange(n_lists), np.diff(np.append(begins, len(fp))))
        for point in rule.points:
            allowed = point * images
            reached = np.add.reduceat(fp <= allowed[of] + slack, begins, axis=0)
            left = begins[:, None] + reached - 1
            right = np.minimum(left + 1, finals[:, None])
            low, high = fp[left, column], fp[right, column]
            share = np.divide(allowed - low, high - low, out=np.zeros_like(low), where=high > low).clip(0, 1)
            total += tp[left, column] + share * (tp[right, column] - tp[left, column])
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(positives > 0, total / len(rule.points) / positives, np.nan)

    def _mean_miss_rate(self, rule: MissRates, rows: Counted, k: int, weights: np.ndarray, slack: float) -> np.ndarray:
        """LAMR of each list."""
        own, is_true = weights.take(rows.image, axis=0), rows.is_true[:, None]
        positives = count_positives(self._verdicts, k, weights)
        found, n_rows = own * is_true, len(rows.at)
        begins, ends = rows.bounds[rows.list], np.arange(n_rows)  # of the list, and the last of equally scored rows
        firsts = ends
        if rule.ties_together:
            is_first = np.append(True, (np.diff(rows.list) != 0) | (np.diff(rows.score) != 0))[:n_rows]
            group, starts = np.cumsum(is_first) - 1, np.flatnonzero(is_first)
            firsts, ends = starts[group], np.append(starts[1:], n_rows)[group] - 1
        fp = np.zeros((n_rows + 1, own.shape[1]))
        np.cumsum(own * ~is_true, axis=0, out=fp[1:])
        images = np.maximum(self._verdicts.n_images(weights), _TINY)[rows.list]
        if rule.row == "first":
            # the row that gets there is a false positive, so that what it adds to recall is nothing
            fppi = (fp[firsts] - fp[begins]) / images
        else:
            # of several copies of a false positive, the first one is a row of its own
            copies = 0.0 if rule.ties_together else np.maximum(own * ~is_true - 1, 0)
            fppi = (fp[ends + 1] - fp[begins] - copies) / images
        final, logarithms = _sums(found, rows.bounds), np.zeros(positives.shape)
        with np.errstate(invalid="ignore", divide="ignore"):
            for point in rule.points:
                is_above = fppi < point - slack if rule.row == "first" else fppi <= point + slack
                hits = _sums(found * is_above, rows.bounds)
                if rule.row == "last_or_final":
                    hits = np.where(_sums(own * is_above, rows.bounds) > 0, hits, final)
                missed = 1 - hits / positives
                logarithms += np.log(np.maximum(np.where(missed <= slack, 0.0, missed), rule.least))
            return np.where(positives > 0, np.exp(logarithms / len(rule.points)), np.nan)


def _sums(values: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """The sums down each list, whose rows lie between bounds.

    >>> _sums(np.array([[1.0], [2.0], [4.0]]), np.array([0, 2, 2, 3])).tolist()
    [[3.0], [0.0], [4.0]]
    """
    sums = np.zeros((len(bounds) - 1, values.shape[1]))
    filled = np.flatnonzero(np.diff(bounds))
    if len(filled):
        sums[filled] = np.add.reduceat(values, bounds[filled], axis=0)
    return sums
