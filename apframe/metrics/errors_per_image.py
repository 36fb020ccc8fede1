"""Log-average miss rates and mean recalls of lists at numbers of false positives per image, under weights of the images.

An image of weight 2 counts as two images that are copies, whose detections follow one another. Weights that are not whole are
divided by their mean, and the last copy of a detection then is a fraction of one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from apframe.metrics.cells import Cells, Counted
from apframe.metrics.list_sums import divide, is_first, lasts_of, starts_of, sums, sums_before
from apframe.metrics.weights import Weights

if TYPE_CHECKING:
    from apframe.metrics.miss_rates import Froc, MissRates

_TINY = np.finfo(float).tiny


def read_rates(
    columns: tuple[str], of_rows: Callable[[Cells, Counted, int, Weights], np.ndarray], cells: Cells, weights: Weights
) -> dict[str, np.ndarray]:
    """Return the numbers of each output; `of_rows` computes them from the rows that count in a range under some weightings."""

    def at(some: Weights, t: int, k: int, m: int) -> dict[str, np.ndarray]:
        return {columns[0]: of_rows(cells, cells.counted(t, k, m), k, some)}

    return cells.means(columns, at, weights)


def mean_recalls(rule: Froc, cells: Cells, rows: Counted, k: int, weights: Weights) -> np.ndarray:
    """Return the CPM of each list: the mean recall on straight lines between the points of the FROC curve."""
    positives, images = cells.expected(k, weights.scaled), cells.images_of(weights.scaled)
    ends = lasts_of(starts_of(rows.list, rows.score), len(rows.at))  # the last detections of equal score
    # each list begins with a point (0, 0)
    begins, every = np.searchsorted(ends, rows.bounds[:-1]), np.arange(cells.n_lists)
    place, of = np.insert(ends + 1, begins, rows.bounds[:-1]), np.insert(rows.list[ends], begins, every)
    begins += every
    finals = lasts_of(begins, len(of))[:, None]

    def at_points(counted: np.ndarray) -> np.ndarray:
        upto = sums_before(weights.scaled.take(rows.image, axis=0) * counted[:, None])
        return upto[place] - upto[rows.bounds[of]]

    fp, tp = at_points(~rows.is_true), at_points(rows.is_true)
    total, column = np.zeros(positives.shape), np.arange(weights.n)
    for point in rule.points:
        allowed = point * images
        left = begins[:, None] + np.add.reduceat(fp <= allowed[of] + weights.slack, begins, axis=0) - 1
        right = np.minimum(left + 1, finals)
        low, high = fp[left, column], fp[right, column]
        share = divide(allowed - low, high - low).clip(0, 1)
        total += tp[left, column] + share * (tp[right, column] - tp[left, column])
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(positives > 0, total / len(rule.points) / positives, np.nan)


def mean_miss_rates(rule: MissRates, cells: Cells, rows: Counted, k: int, weights: Weights) -> np.ndarray:
    """Return the LAMR of each list: the geometric mean of the miss rates of the rows that the rule names."""
    positives = cells.expected(k, weights.scaled)
    own, is_true = weights.scaled.take(rows.image, axis=0), rows.is_true[:, None]
    true, false = own * is_true, own * ~is_true
    firsts = ends = np.arange(len(own))  # the first and last of equally scored rows
    if rule.ties_together:
        starts, group = starts_of(rows.list, rows.score), np.cumsum(is_first(rows.list, rows.score)) - 1
        firsts, ends = starts[group], lasts_of(starts, len(own))[group]
    upto = sums_before(false)
    # of several copies of a false positive, the first one is a separate row
    copies = 0.0 if rule.ties_together else np.maximum(false - 1, 0)
    # the first row that reaches the number is a false positive, so it adds nothing to recall
    fp = upto[firsts] if rule.row == "first" else upto[ends + 1] - copies
    fppi = (fp - upto[rows.bounds[rows.list]]) / np.maximum(cells.images_of(weights.scaled), _TINY)[rows.list]
    final, logarithms = sums(true, rows.bounds), np.zeros(positives.shape)
    with np.errstate(invalid="ignore", divide="ignore"):
        for point in rule.points:
            is_above = fppi < point - weights.slack if rule.row == "first" else fppi <= point + weights.slack
            hits = sums(true * is_above, rows.bounds)
            if rule.row == "last_or_final":
                hits = np.where(sums(own * is_above, rows.bounds) > 0, hits, final)
            missed = 1 - hits / positives
            logarithms += np.log(np.maximum(np.where(missed <= weights.slack, 0.0, missed), rule.least))
        return np.where(positives > 0, np.exp(logarithms / len(rule.points)), np.nan)
