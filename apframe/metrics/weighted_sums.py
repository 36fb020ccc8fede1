"""Weighted sums and counts under weights of the images: running sums of the weights down the lists."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from apframe.metrics.cells import Cell, Cells
from apframe.metrics.list_sums import sums_of_weights
from apframe.metrics.rankings import Ranking
from apframe.metrics.running_counts import SliceRows
from apframe.metrics.weights import ROUNDING, Weights

if TYPE_CHECKING:
    from apframe.metrics.definitions import Levels
    from apframe.metrics.points import WeightedSum

_ROWS = 1 << 12  # detections of lists that are computed at once, so that they fit into the processor's cache
_FEW = 16  # up to this many weightings, all lists are computed at once, as for influences


def weighted_average_precision(
    definition: WeightedSum, addend: float, absent: float, cells: Cells, weights: Weights
) -> np.ndarray:
    """Return the average precision of each output, of shape (cells, lists, weightings); `absent` without positives.

    For definitions with an envelope and whole weights, the numbers equal those of a data set with copies of its images; other
    definitions read the precision after all copies of a detection. This requires that detections of one image with equal scores
    are alike. If weights are not whole numbers, their sums are rounded, so a recall within 1e-9 of a level counts as equal to
    it: a perfect result stays perfect.
    """
    result = np.empty((len(cells.wanted), cells.n_lists, weights.n))
    for k, m in dict.fromkeys((cell.area_range, cell.limit) for cell in cells.wanted):
        places = [place for place, cell in enumerate(cells.wanted) if (cell.area_range, cell.limit) == (k, m)]
        expected = cells.positives_under(k, weights)
        positives = np.where(expected == 0, 1, expected)
        for lists, own in cells.blocks(_ROWS) if weights.n > _FEW else [(slice(None), cells)]:
            down = Ranking.of(own, k, m).count(weights.given, positives[lists], addend, weights.slack)
            precision = down.precision(interpolated=definition.interpolated)
            precision *= definition.gains(down, weights.slack)
            ap = down.sums(precision, len(cells.thresholds))
            for place in places:
                result[place, lists] = ap[list(cells.wanted[place].thresholds)].mean(axis=0)
        for place in places:
            result[place][expected == 0] = absent
    return result


def weighted_hits(cells: Cells, weights: Weights) -> np.ndarray:
    """Sum the weights of the true positives of each output, averaged over thresholds, (cells, lists, weightings)."""
    return _sums(cells, weights, true_positives)


def weighted_detections(cells: Cells, weights: Weights) -> np.ndarray:
    """Sum the weights of the detections that count, as in `weighted_hits`."""
    return _sums(cells, weights, _counted)


def _sums(cells: Cells, weights: Weights, rows: Callable[[Cells, Cell], tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    result = np.empty((len(cells.wanted), cells.n_lists, weights.n))
    for place, cell in enumerate(cells.wanted):
        detection, share = rows(cells, cell)
        image, number = cells.detections["image"][detection], cells.detections["list"][detection]
        result[place] = sums_of_weights(weights.given, image, number, cells.n_lists, share)
    return result


def true_positives(cells: Cells, cell: Cell) -> tuple[np.ndarray, np.ndarray]:
    """Return the detections that are true positives, ascending, and the share of the thresholds at which they are.

    >>> from apframe.matching.verdicts import example
    >>> [each.tolist() for each in true_positives(Cells.of(example()), Cell((0,), area_range=0, limit=0))]
    [[0], [1.0]]
    """

    def make() -> tuple[np.ndarray, np.ndarray]:
        rows = cells.rows_of([cell.area_range], cell.limit, for_curves=False)
        share = _held(cells, rows, cell.thresholds) * rows.is_true
        kept = np.flatnonzero(share)
        return rows.detection[kept], share[kept]

    return cells.kept((true_positives, cell), make)


def _counted(cells: Cells, cell: Cell) -> tuple[np.ndarray, np.ndarray]:
    """Return the detections that count, ascending, with shares of the thresholds; a detection in two rows has their sum."""

    def make() -> tuple[np.ndarray, np.ndarray]:
        rows = cells.rows_of([cell.area_range], cell.limit, for_curves=False)
        unmatched = cells.walk([cell.area_range], cell.limit).counted
        detection = np.concatenate([unmatched, rows.detection])
        share = np.concatenate([np.ones(len(unmatched)), _held(cells, rows, cell.thresholds) * rows.change])
        order = np.argsort(detection, kind="stable")
        return detection[order], share[order]

    return cells.kept((_counted, cell), make)


def _held(cells: Cells, rows: SliceRows, thresholds: tuple[int, ...]) -> np.ndarray:
    """Return the share of the thresholds at which each row holds."""
    upto = np.append(0, np.cumsum(np.isin(np.arange(len(cells.thresholds)), thresholds)))
    held: np.ndarray = (upto[rows.last] - upto[rows.first]) / len(thresholds)
    return held


def levels_reached(definition: Levels) -> Callable[[np.ndarray, np.ndarray, float], np.ndarray]:
    """Return a function that counts the levels reached by k of n positives, in arrays whose sums are rounded within `slack`.

    Level 0 counts as reached by k = 0. This changes nothing, as the envelope is the same down to the first true positive.
    """
    levels = np.array(definition.levels)
    n = len(levels) - 1
    number = np.arange(n + 1)
    multiplied = np.array_equal(levels, number * levels[1])
    if definition.are_recalls and (multiplied or np.array_equal(levels, number / n)):
        too_large = levels > number / n  # by a bit: j of n positives do not reach level j / n

        def evenly_spaced(k: np.ndarray, positives: np.ndarray, slack: float) -> np.ndarray:
            recall = np.divide(k, positives, out=k)
            reached = recall * n
            reached += 100 * ROUNDING
            np.floor(reached, out=reached)
            level = reached * levels[1] if multiplied else reached / n
            if slack:
                level += np.where(too_large, slack, -slack).take(reached.astype(np.intp), mode="clip")
            reached -= level > recall
            reached += 1
            return reached

        return evenly_spaced

    def at_all(k: np.ndarray, positives: np.ndarray, slack: float) -> np.ndarray:
        table = pl.DataFrame({"k": np.minimum(k * (1 + slack), positives).ravel(), "n": positives.ravel()})
        return table.select(definition.levels_reached(pl.col("k"), pl.col("n"))).to_series().to_numpy().reshape(k.shape)

    return at_all
