"""Weighted sums and counts as unweighted numbers, for all lists, area ranges and thresholds at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from apframe.metrics.cells import Cells
from apframe.metrics.list_sums import ranges as numbers_from
from apframe.metrics.list_sums import suffix_maxima
from apframe.metrics.running_counts import Counts, SliceRows, count_detections, count_down, count_hits

if TYPE_CHECKING:
    from apframe.metrics.points import WeightedSum


@dataclass(frozen=True)
class Recalls:
    """All possible recalls: of k = 0..R true positives for each number R of positives.

    Attributes
    ----------
    table
        the columns k and n_positives
    starts
        the first row of each list and range, of shape (lists, ranges)
    """

    table: pl.DataFrame
    starts: np.ndarray

    @classmethod
    def of(cls, cells: Cells) -> Recalls:
        """Return the recalls for the lists and ranges of cells.

        >>> from apframe.matching.verdicts import example
        >>> Recalls.of(Cells.of(example())).table.rows()
        [(0, 1), (1, 1)]
        """

        def make() -> Recalls:
            distinct, which = np.unique(cells.positives, return_inverse=True)
            k, of = numbers_from(np.zeros_like(distinct), distinct + 1)
            start = np.cumsum(distinct + 1) - (distinct + 1)
            table = pl.DataFrame({"k": k, "n_positives": distinct[of]})
            return cls(table, start[which].reshape(cells.positives.shape).astype(np.int32))

        return cells.kept("recalls", make)

    def rows_of(self, ranges: Sequence[int], counts: Counts) -> np.ndarray:
        """Return the rows of the table for some counts in area ranges (numbers)."""
        return counts.k + self.starts.T[list(ranges)].ravel()[counts.category][counts.run]

    def added(self, definition: WeightedSum) -> np.ndarray:
        """Return the weight of the k-th of R true positives; 0 for k = 0."""
        gains = definition.reached(pl.col("k"), pl.col("n_positives")).diff()  # the row before is for k - 1
        return self.table.select(pl.when(pl.col("k") > 0).then(gains).otherwise(0.0)).to_series().to_numpy()


def average_precision(definition: WeightedSum, addend: float, absent: float, cells: Cells) -> np.ndarray:
    """Return the average precision of each output, of shape (cells, lists, 1); `absent` without positives."""
    gains = cells.kept((definition, "added"), lambda: Recalls.of(cells).added(definition))
    ap = _at_limits(cells, partial(_sums, definition, addend, gains, cells))
    ap[cells.positives.T[[cell.area_range for cell in cells.wanted]] == 0] = absent
    return ap


def _sums(
    definition: WeightedSum,
    addend: float,
    gains: np.ndarray,
    cells: Cells,
    ranges: Sequence[int],
    m: int,
    lists: np.ndarray | None,
) -> np.ndarray:
    """Return the average precision of all thresholds in some ranges, at limit number m, (thresholds, ranges, lists)."""
    counts = count_down(_rows(cells, ranges, m, lists, for_curves=True), len(cells.thresholds))
    ap = np.zeros((len(cells.thresholds), len(ranges) * cells.n_lists))
    if len(counts.starts):
        precision = precision_down(counts, addend)
        if definition.interpolated:
            # precision can only fall between true positives, so these alone determine the envelope
            precision = suffix_maxima(precision, counts.run)
        precision *= gains[Recalls.of(cells).rows_of(ranges, counts)]
        ap[counts.threshold, counts.category] = np.add.reduceat(precision, counts.starts)
    return ap.reshape(len(cells.thresholds), len(ranges), cells.n_lists)


def precision_down(counts: Counts, addend: float) -> np.ndarray:
    """Return the precision at each count; 0 as long as nothing counts."""
    return counts.k / (counts.n + addend if addend else np.maximum(counts.n, 1))


def hits(cells: Cells) -> np.ndarray:
    """Count the true positives of each output, averaged over thresholds, of shape (cells, lists, 1)."""
    return _at_limits(cells, partial(_counts, count_hits, cells))


def detections(cells: Cells) -> np.ndarray:
    """Return the number of detections that count, averaged as in `hits`."""
    return _at_limits(cells, partial(_counts, count_detections, cells))


def _counts(
    count: Callable[[SliceRows, int], np.ndarray], cells: Cells, ranges: Sequence[int], m: int, lists: np.ndarray | None
) -> np.ndarray:
    counted = count(_rows(cells, ranges, m, lists, for_curves=False), len(cells.thresholds))
    return counted.reshape(len(cells.thresholds), len(ranges), cells.n_lists)


def _rows(cells: Cells, ranges: Sequence[int], m: int, lists: np.ndarray | None, *, for_curves: bool) -> SliceRows:
    """See `Cells.rows_of`; metrics that are read one after the other share the rows."""
    key = SliceRows, (*ranges,), m, lists is None
    for_curves = for_curves or cells.has((*key, True))
    return cells.kept((*key, for_curves), lambda: cells.rows_of(ranges, m, lists=lists, for_curves=for_curves))


def _at_limits(cells: Cells, compute: Callable[[Sequence[int], int, np.ndarray | None], np.ndarray]) -> np.ndarray:
    """Assemble the outputs; for some ranges at a limit, `compute` returns an array of shape (thresholds, ranges, lists).

    A list with no more detections than a limit does not change, so smaller limits are computed only for the other lists, which
    have a flag in the argument of `compute`. The values that it returns for lists without a flag are ignored.
    """
    limits = sorted({cell.limit for cell in cells.wanted}, reverse=True)
    every = sorted({cell.area_range for cell in cells.wanted})
    unlimited = compute(every, limits[0], None) if limits else np.empty((0, 0, cells.n_lists))
    result = np.empty((len(cells.wanted), cells.n_lists, 1))
    for m in limits:
        ranges, values = every, unlimited
        if m < limits[0]:
            ranges = sorted({cell.area_range for cell in cells.wanted if cell.limit == m})
            is_limited, same = cells.deepest > cells.limits[m], [every.index(k) for k in ranges]
            values = np.where(is_limited, compute(ranges, m, is_limited), unlimited[:, same])
        places = [place for place, cell in enumerate(cells.wanted) if cell.limit == m]
        of_ranges = [ranges.index(cells.wanted[place].area_range) for place in places]
        thresholds = [cells.wanted[place].thresholds for place in places]
        if all(len(each) == 1 for each in thresholds):
            result[places, :, 0] = values[[each[0] for each in thresholds], of_ranges]
            continue
        for place, k, each in zip(places, of_ranges, thresholds, strict=True):
            result[place, :, 0] = values[list(each), k].mean(axis=0)
    return result
