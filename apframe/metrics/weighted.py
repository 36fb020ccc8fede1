"""Average precision and recall under many weightings of the images: a resample is one, and matches nothing again.

The rows of the verdicts are sorted once. What remains for a weighting are running sums of its weights down the lists, computed
for a block of weightings at a time, in chunks of rows that fit into the processor's cache.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from apframe.matching.verdicts import Verdicts, has_bit
from apframe.metrics.counts import SliceRows
from apframe.metrics.cut_offs import CutOffRanking
from apframe.metrics.definition import WeightedSum
from apframe.metrics.miss_rate_ranking import MissRateRanking
from apframe.metrics.ranking import Ranking, rank
from apframe.metrics.row_ranking import RowRanking
from apframe.metrics.rules import RankingRules, rank_by
from apframe.metrics.sampled_ranking import SampledRanking
from apframe.metrics.summed_ranking import SummedRanking
from apframe.metrics.weighted_curves import ROUNDING, Curves, cut_into_runs

BLOCK = 64  # weightings that are computed together
_ROWS = 1 << 13  # of sums that are computed together


@dataclass(frozen=True)
class Cell:
    """A number that every list has in an area range, at a limit; the mean over thresholds.

    `column` is "ap", "recall", "n_detections" or one that only some rankings have, such as "oriented_ap" or "ate".
    `thresholds`, `area_range` and `limit` are the numbers of those of the verdicts, from 0.
    """

    column: str
    thresholds: tuple[int, ...]
    area_range: int
    limit: int


class WeightedRanking:
    """Verdicts made ready to be ranked with weights for their images.

    An image of weight 2 counts as two copies of it: its detections, false positives and annotations all do. For definitions
    with an envelope and whole weights, the numbers are those of a data set with such copies; other definitions take the
    precision after all copies of a detection. Copies of an image follow one another, so detections of one image that have equal
    scores must be alike for that. Where weights are not whole numbers, their sums are rounded, so a recall within 1e-9 of a
    level is taken as equal to it: what is perfect stays perfect.

    Parameters
    ----------
    verdicts
        what matching decided
    definition, addend
        of average precision, and what is added to the divisor of precision
    cells
        the numbers that are wanted
    counts_absent
        whether average precision is 0 without positives
    """

    def __init__(
        self,
        verdicts: Verdicts,
        definition: WeightedSum,
        addend: float,
        cells: Sequence[Cell],
        *,
        counts_absent: bool = False,
    ) -> None:
        self._absent = 0.0 if counts_absent else np.nan
        ranking = rank(verdicts, definition, addend)
        image = verdicts.detections["image"].to_numpy()
        self.n_lists, self.cells = verdicts.lists.height, tuple(cells)
        number, of_image, counts = (verdicts.annotations[name].to_numpy() for name in ("list", "image", "counts"))
        self._positives = {
            k: _Sums.of(number[has], of_image[has]) for k in {cell.area_range for cell in cells} for has in [has_bit(counts, k)]
        }
        sums = {"recall": _sums_of_hits, "n_detections": _sums_of_detections}
        self._sums = {cell: sums[cell.column](ranking, image, cell) for cell in cells if cell.column in sums}
        places: dict[tuple[int, int], list[int]] = {}  # of cells that are read from the same curves
        for place, cell in enumerate(self.cells):
            if cell.column == "ap":
                places.setdefault((cell.area_range, cell.limit), []).append(place)
        self._curves = [
            (own, Curves(ranking, image, k, m, [self.cells[place].thresholds for place in own]))
            for (k, m), own in places.items()
        ]

    def values(self, weights: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
        """The number of each cell, by the cell's place, and its values of shape (lists, weightings).

        Average precision and recall are NaN without positives, but for an average precision that counts as 0 there.

        `weights` are at least 0, of shape (images, weightings). Cells come in any order.
        """
        is_whole = bool((weights == np.rint(weights)).all())
        positives = {k: sums.compute(weights, self.n_lists) for k, sums in self._positives.items()}
        nothing = {k: n == 0 for k, n in positives.items()}
        for n in positives.values():
            n[n == 0] = 1  # of lists that have no value in the end
        for place, cell in enumerate(self.cells):
            if cell in self._sums:
                found = self._sums[cell].compute(weights, self.n_lists) / len(cell.thresholds)
                if cell.column == "recall":
                    found /= positives[cell.area_range]
                    found[nothing[cell.area_range]] = np.nan
                yield place, found
        for places, curves in self._curves:
            k = self.cells[places[0]].area_range
            means = curves.compute(weights, positives[k], 0.0 if is_whole else ROUNDING)
            means[:, nothing[k]] = self._absent
            yield from zip(places, means, strict=True)


class WeightedCutOffs:
    """As `WeightedRanking`, of verdicts whose policy ranks by score cut-offs; see `CutOffRanking`."""

    def __init__(self, ranking: CutOffRanking, cells: Sequence[Cell]) -> None:
        self._ranking, self.cells = ranking, tuple(cells)

    def values(self, weights: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
        """The number of each cell, by the cell's place, and its values of shape (lists, weightings); see `WeightedRanking`."""
        for place, cell in enumerate(self.cells):
            yield place, self._ranking.weighted(cell.column, cell.thresholds, cell.area_range, weights)


class WeightedSamples:
    """As `WeightedRanking`, of definitions that are no weighted sum; see `SampledRanking`, `RowRanking` and `SummedRanking`."""

    def __init__(self, ranking: SampledRanking | RowRanking | SummedRanking, cells: Sequence[Cell]) -> None:
        self._ranking, self.cells = ranking, tuple(cells)

    def values(self, weights: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
        """The number of each cell, by the cell's place, and its values of shape (lists, weightings); see `WeightedRanking`."""
        for k, m in dict.fromkeys((cell.area_range, cell.limit) for cell in self.cells):
            own = {place: cell for place, cell in enumerate(self.cells) if (cell.area_range, cell.limit) == (k, m)}
            found = self._ranking.weighted(sorted({t for cell in own.values() for t in cell.thresholds}), k, m, weights)
            for place, cell in own.items():
                yield place, np.mean([found[t][cell.column] for t in cell.thresholds], axis=0)


class WeightedMissRates:
    """As `WeightedRanking`, where there are log-average miss rates, or CPM, beside other numbers; see `MissRateRanking`."""

    def __init__(self, ranking: MissRateRanking, others: AnyWeighted, cells: Sequence[Cell]) -> None:
        """`others` has those of the cells that are no miss rates, in their order."""
        self._ranking, self._others, self.cells = ranking, others, tuple(cells)

    def values(self, weights: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
        """The number of each cell, by the cell's place, and its values of shape (lists, weightings); see `WeightedRanking`."""
        places = [place for place, cell in enumerate(self.cells) if cell.column != self._ranking.column]
        yield from ((places[place], values) for place, values in self._others.values(weights))
        for place, cell in enumerate(self.cells):
            if cell.column == self._ranking.column:
                found = [self._ranking.weighted(t, cell.area_range, cell.limit, weights) for t in cell.thresholds]
                yield place, np.mean(found, axis=0)


AnyWeighted = WeightedRanking | WeightedCutOffs | WeightedSamples | WeightedMissRates


def weighted_ranking(verdicts: Verdicts, rules: RankingRules, cells: Sequence[Cell]) -> AnyWeighted:
    """Make verdicts ready to be ranked with weights for their images, by whatever rules."""
    if rules.miss_rates is not None:
        others = [cell for cell in cells if cell.column != rules.miss_rates.column]
        by_others = weighted_ranking(verdicts, replace(rules, miss_rates=None), others)
        beside = rank_by(verdicts, rules)
        assert isinstance(beside, MissRateRanking)
        return WeightedMissRates(beside, by_others, cells)
    if isinstance(rules.definition, WeightedSum):
        return WeightedRanking(verdicts, rules.definition, rules.addend, cells, counts_absent=rules.counts_absent)
    ranking = rank_by(verdicts, rules)
    if isinstance(ranking, SampledRanking | RowRanking | SummedRanking):
        return WeightedSamples(ranking, cells)
    assert isinstance(ranking, CutOffRanking)
    return WeightedCutOffs(ranking, cells)


def average_precision(
    verdicts: Verdicts, definition: WeightedSum, image_weights: np.ndarray, cells: Sequence[Cell], addend: float = 0.0
) -> np.ndarray:
    """The numbers of some cells under weightings of the images, see `WeightedRanking`.

    Parameters
    ----------
    verdicts, definition, addend, cells
        as `WeightedRanking` takes them
    image_weights
        of shape (weightings, images), at least 0

    Returns
    -------
    An array of shape (cells, weightings, lists); NaN where no annotation counts.

    >>> from apframe.matching.verdicts import example
    >>> from apframe.metrics.definitions import as_definition
    >>> cell = Cell("ap", (0,), area_range=0, limit=0)
    >>> average_precision(example(), as_definition("step"), np.array([[1, 1], [0, 3], [2, 0]]), [cell]).tolist()
    [[[1.0], [nan], [1.0]]]
    """
    ranking = WeightedRanking(verdicts, definition, addend, cells)
    result = np.empty((len(cells), len(image_weights), ranking.n_lists))
    for start in range(0, len(image_weights), BLOCK):
        block = slice(start, start + BLOCK)
        for place, values in ranking.values(np.ascontiguousarray(image_weights[block].T, dtype=np.float64)):
            result[place, block] = values.T
    return result


@dataclass(frozen=True)
class _Sums:
    """Sums over the rows of each list: `image` and `factor` of the rows, and the lists with their first rows, in chunks."""

    image: np.ndarray
    factor: np.ndarray | None
    lists: np.ndarray
    chunks: Sequence[tuple[slice, slice, np.ndarray]]

    @classmethod
    def of(cls, number: np.ndarray, image: np.ndarray, factor: np.ndarray | None = None) -> _Sums:
        """Of rows in the order of their lists, which are given by number."""
        starts = np.flatnonzero(np.diff(number.astype(np.int64), prepend=-1))
        chunks = []
        for first, last in cut_into_runs(np.diff(starts, append=len(number)), _ROWS):
            rows = slice(int(starts[first]), int(starts[last]) if last < len(starts) else len(number))
            chunks.append((slice(first, last), rows, starts[first:last] - rows.start))
        return cls(image, factor, number[starts], chunks)

    def compute(self, weights: np.ndarray, n_lists: int) -> np.ndarray:
        """The sums of the weights, times the factor, of shape (lists, weightings)."""
        sums = np.zeros((n_lists, weights.shape[1]))
        for lists, rows, starts in self.chunks:
            own = weights.take(self.image[rows], axis=0)
            if self.factor is not None:
                own *= self.factor[rows, None]
            sums[self.lists[lists]] = np.add.reduceat(own, starts, axis=0)
        return sums


def _sums_of_detections(ranking: Ranking, image: np.ndarray, cell: Cell) -> _Sums:
    """The detections that count, each as often as it does at the thresholds of the cell."""
    counted = ranking.walk([cell.area_range], cell.limit).counted
    rows = ranking.rows_of([cell.area_range], cell.limit, for_curves=False)
    times = _times(ranking, rows, cell) * rows.change
    number = np.concatenate([ranking.number[counted], rows.category])
    order = np.argsort(number, kind="stable")
    images = np.concatenate([image[counted], image[rows.detection]])
    factor = np.concatenate([np.full(len(counted), float(len(cell.thresholds))), times])
    return _Sums.of(number[order], images[order], factor[order])


def _times(ranking: Ranking, rows: SliceRows, cell: Cell) -> np.ndarray:
    """At how many thresholds of the cell each row holds."""
    upto = np.concatenate([[0], np.cumsum(np.isin(np.arange(ranking.n_thresholds), cell.thresholds))])
    return upto[rows.last] - upto[rows.first]


def _sums_of_hits(ranking: Ranking, image: np.ndarray, cell: Cell) -> _Sums:
    """The true positives of a cell, each as often as it is one at the thresholds of the cell."""
    rows = ranking.rows_of([cell.area_range], cell.limit, for_curves=False)
    times = _times(ranking, rows, cell) * rows.is_true
    kept = times > 0
    return _Sums.of(rows.category[kept], image[rows.detection[kept]], times[kept].astype(np.float64))
