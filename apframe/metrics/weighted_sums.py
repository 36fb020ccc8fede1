"""Weighted sums and counts under weights of the images: running sums of the weights down the lists, in chunks of rows.

A chunk fits into the processor's cache, and so does a block of weightings for its rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import polars as pl

from apframe.metrics.cells import Cells
from apframe.metrics.definitions import Levels
from apframe.metrics.points import WeightedSum
from apframe.metrics.running_counts import SliceRows
from apframe.metrics.segments import (
    cut_into_runs,
    lasts_of,
    ranges,
    running_sums,
    starts_of,
    suffix_maxima_of_shares,
    sums_of_weights,
)
from apframe.metrics.weights import ROUNDING, Weights

_ROWS = 1 << 9  # of a chunk, unless a single list has more
_SEGMENTS = 64  # of a chunk, at most: whole numbers are added to keep their precisions apart, which costs bits
_MARKS = 1 << 12  # of the lists that are counted together, unless a single list has more
_TINY = 1e-300


@dataclass(frozen=True)
class _Corrections:
    """Rows that count otherwise than unmatched detections do: `factor` is 1 or -1, see `SliceRows.change`.

    Each segment begins with a row of no image. `image`, `factor` and `segment` are of each row, `starts` has the first row of
    each segment, and `upto` the last row down to each true positive.
    """

    image: np.ndarray
    factor: np.ndarray
    segment: np.ndarray
    starts: np.ndarray
    upto: np.ndarray


@dataclass(frozen=True)
class _Chunk:
    """Some segments, each of which holds the true positives of one list at one threshold, in rank order.

    Each row has a `mark`, where the detections down to it are counted, its `image`, and the number of its `segment`. Each
    segment has its first row in `starts`, the number of its list, and the place of its threshold. Where the counts need no
    corrections, these are None.
    """

    mark: np.ndarray
    image: np.ndarray
    corrections: _Corrections | None
    segment: np.ndarray
    starts: np.ndarray
    number: np.ndarray
    threshold: np.ndarray


@dataclass(frozen=True)
class _Lists:
    """The lists number `first` .. `last` - 1, down which detections are counted at marks: at true positives of any threshold.

    `image` is that of the detections which count while they are not matched, down to the last mark of each list. Each list
    begins with one of no image, so that no stretch between marks is empty. `blocks` are runs of marks, with the rows of `image`
    that lie before them, and the places where the stretches begin there. `starts` is the first mark of each list, `segment`
    the number of each mark's list among these.
    """

    first: int
    last: int
    image: np.ndarray
    blocks: Sequence[tuple[slice, slice, np.ndarray]]
    starts: np.ndarray
    segment: np.ndarray
    chunks: Sequence[_Chunk]

    def count(self, weights: np.ndarray) -> np.ndarray:
        """The weights of the detections that count while they are not matched, down to each mark."""
        sums = np.empty((self.blocks[-1][0].stop, weights.shape[1]))
        for marks, rows, starts in self.blocks:
            np.add.reduceat(weights.take(self.image[rows], axis=0), starts, axis=0, out=sums[marks])
        return running_sums(sums, self.starts, self.segment)


class Curves:
    """The rows that average precision is computed from, in one area range at one limit."""

    def __init__(
        self, cells: Cells, definition: WeightedSum, addend: float, k: int, m: int, thresholds: Sequence[tuple[int, ...]]
    ) -> None:
        """`thresholds` are those that each number is a mean over."""
        every = sorted({t for each in thresholds for t in each})
        self._n_thresholds = len(every)
        self._means = [_as_slice([every.index(t) for t in each]) for each in thresholds]
        self._definition, self._n_lists = definition, cells.n_lists
        self._least = addend or _TINY  # keeps 0 / 0 from being anything but 0
        self._reached = None
        if isinstance(definition, Levels):
            self._reached, self._n_levels = levels_reached(definition), len(definition.levels)
        rows, image = cells.rows_of([k], m, for_curves=False), cells.detections["image"]
        counted = cells.walk([k], m).counted
        self._groups = list(_prepare(rows, counted, cells.starts, image, every)) if rows.is_true.any() else []

    def compute(self, weights: np.ndarray, positives: np.ndarray, slack: float) -> np.ndarray:
        """Mean average precision of shape (numbers, lists, weightings); `positives` are of shape (lists, weightings)."""
        means = np.zeros((len(self._means), self._n_lists, weights.shape[1]))
        with_none = np.concatenate([weights, np.zeros((1, weights.shape[1]))])  # of no image
        for group in self._groups:
            counted = group.count(with_none)
            ap = np.zeros((self._n_thresholds, group.last - group.first, weights.shape[1]))
            for chunk in group.chunks:
                ap[chunk.threshold, chunk.number - group.first] = self._of_chunk(chunk, counted, with_none, positives, slack)
            for mean, thresholds in zip(means, self._means, strict=True):
                np.mean(ap[thresholds], axis=0, out=mean[group.first : group.last])
        return means

    def _of_chunk(
        self, chunk: _Chunk, counted: np.ndarray, weights: np.ndarray, positives: np.ndarray, slack: float
    ) -> np.ndarray:
        """Average precision of each segment, of shape (segments, weightings)."""
        own = weights.take(chunk.image, axis=0)
        n = counted.take(chunk.mark, axis=0)
        if chunk.corrections is not None:
            some = chunk.corrections
            change = weights.take(some.image, axis=0) * some.factor[:, None]
            n += running_sums(change, some.starts, some.segment).take(some.upto, axis=0)
        k = running_sums(own, chunk.starts, chunk.segment)
        expected = positives.take(chunk.number, axis=0)
        if slack:  # what should be 0 is not quite
            k *= k > slack * expected.take(chunk.segment, axis=0)
            np.maximum(n, k, out=n)
        n += self._least
        precision = np.divide(k, n, out=n)
        if self._definition.interpolated:
            precision = suffix_maxima_of_shares(precision, chunk.segment)
        if self._reached is None:
            precision *= own
            return np.add.reduceat(precision, chunk.starts, axis=0) / expected
        reached = self._reached(k, expected.take(chunk.segment, axis=0), slack)
        gain = np.empty_like(precision)
        np.subtract(reached[1:], reached[:-1], out=gain[1:])
        gain[chunk.starts] = reached[chunk.starts]
        precision *= gain
        return np.add.reduceat(precision, chunk.starts, axis=0) / self._n_levels


def weighted_average_precision(
    definition: WeightedSum, addend: float, absent: float, cells: Cells, weights: Weights
) -> np.ndarray:
    """Average precision of what is wanted, of shape (cells, lists, weightings); `absent` without positives.

    For definitions with an envelope and whole weights, the numbers are those of a data set with copies of its images; other
    definitions take the precision after all copies of a detection. Detections of one image that have equal scores must be alike
    for that. Where weights are not whole numbers, their sums are rounded, so a recall within 1e-9 of a level is taken as equal
    to it: what is perfect stays perfect.
    """
    found = np.empty((len(cells.wanted), cells.n_lists, weights.n))
    for k, m in dict.fromkeys((cell.area_range, cell.limit) for cell in cells.wanted):
        places = [place for place, cell in enumerate(cells.wanted) if (cell.area_range, cell.limit) == (k, m)]
        thresholds = tuple(cells.wanted[place].thresholds for place in places)
        key = Curves, definition, addend, k, m, thresholds
        curves = cells.kept(key, partial(Curves, cells, definition, addend, k, m, thresholds))
        expected = cells.positives_under(k, weights)
        nothing = expected == 0
        means = curves.compute(weights.given, np.where(nothing, 1, expected), weights.slack)
        means[:, nothing] = absent
        found[places] = means
    return found


def weighted_hits(cells: Cells, weights: Weights) -> np.ndarray:
    """The weights of the true positives of what is wanted, the mean over thresholds, of shape (cells, lists, weightings)."""

    def make(k: int, m: int, thresholds: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        rows = cells.rows_of([k], m, for_curves=False)
        times = _times(cells, rows, thresholds) * rows.is_true
        kept = np.flatnonzero(times)
        return cells.detections["image"][rows.detection[kept]], rows.category[kept], times[kept] / len(thresholds)

    return _sums(cells, weights, "hits", make)


def weighted_detections(cells: Cells, weights: Weights) -> np.ndarray:
    """The weights of the detections that count, as in `weighted_hits`."""

    def make(k: int, m: int, thresholds: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        rows, counted = cells.rows_of([k], m, for_curves=False), cells.walk([k], m).counted
        change = _times(cells, rows, thresholds) * rows.change / len(thresholds)
        number = np.concatenate([cells.detections["list"][counted], rows.category])
        image = cells.detections["image"][np.concatenate([counted, rows.detection])]
        order = np.argsort(number, kind="stable")
        return image[order], number[order], np.concatenate([np.ones(len(counted)), change])[order]

    return _sums(cells, weights, "detections", make)


def _sums(
    cells: Cells,
    weights: Weights,
    name: str,
    make: Callable[[int, int, tuple[int, ...]], tuple[np.ndarray, np.ndarray, np.ndarray]],
) -> np.ndarray:
    """The sums of image, list and factor of each row, which `make` gives once for each cell."""
    found = np.empty((len(cells.wanted), cells.n_lists, weights.n))
    for place, cell in enumerate(cells.wanted):
        of = partial(make, cell.area_range, cell.limit, cell.thresholds)
        image, number, factor = cells.kept((name, cell), of)
        found[place] = sums_of_weights(weights.given, image, number, cells.n_lists, factor)
    return found


def _times(cells: Cells, rows: SliceRows, thresholds: tuple[int, ...]) -> np.ndarray:
    """At how many of the thresholds each row holds."""
    upto = np.append(0, np.cumsum(np.isin(np.arange(len(cells.thresholds)), thresholds)))
    return upto[rows.last] - upto[rows.first]


def _prepare(
    rows: SliceRows, counted: np.ndarray, starts: np.ndarray, image: np.ndarray, thresholds: Sequence[int]
) -> Iterator[_Lists]:
    """The rows in groups of whole lists.

    `counted` are the detections that count while they are not matched, `starts` the first detection of each list, and `image`
    that of each detection.
    """
    true, changing = rows.only(np.flatnonzero(rows.is_true)), rows.only(np.flatnonzero(rows.change))
    first = starts_of(true.category)
    last = lasts_of(first, len(true.category))
    before = np.searchsorted(counted, starts[true.category[first]])
    upto = np.searchsorted(counted, true.detection, side="right")
    # what follows the last true positive of a list changes nothing
    at, begin = _stretches(before, upto[last] - before)
    images = np.append(image[counted].astype(np.int64), -1)[at]
    ends = upto + 1 + np.repeat(begin - before, last - first + 1)  # of `images`, down to each true positive
    is_new = np.diff(ends, prepend=-1) > 0
    mark = np.cumsum(is_new) - 1
    bounds_of_marks = np.append(0, ends[is_new])
    first_mark = np.append(mark[first], mark[-1] + 1)
    for some, end in cut_into_runs(np.diff(first_mark), _MARKS):
        marks = slice(int(first_mark[some]), int(first_mark[end]))
        own = slice(int(first[some]), int(last[end - 1]) + 1)
        bounds = bounds_of_marks[marks.start : marks.stop + 1]
        lists = [int(true.category[first[some]]), int(true.category[first[end - 1]])]
        within = slice(*np.searchsorted(changing.category, [lists[0], lists[1] + 1]).tolist())
        yield _Lists(
            first=lists[0],
            last=lists[1] + 1,
            image=images[bounds[0] : bounds[-1]],
            blocks=[
                (slice(a, b), slice(*(bounds[[a, b]] - bounds[0]).tolist()), bounds[a:b] - bounds[a])
                for a, b in cut_into_runs(np.diff(bounds), 4 * _ROWS)
            ],
            starts=first_mark[some:end] - marks.start,
            segment=np.repeat(np.arange(end - some), np.diff(first_mark[some : end + 1])),
            chunks=list(_chunks(true.only(own), mark[own] - marks.start, changing.only(within), image, thresholds)),
        )


def _chunks(
    true: SliceRows, mark: np.ndarray, changing: SliceRows, image: np.ndarray, thresholds: Sequence[int]
) -> Iterator[_Chunk]:
    """The true positives of some lists by threshold and list, with the rows that change their counts."""
    row, threshold = _held(true, thresholds)
    number = true.category[row].astype(np.int64)
    starts = starts_of(number, threshold)
    lengths = np.diff(starts, append=len(row))
    # down the lists, threshold after threshold: how many rows with a change there are before each segment and down to each row
    other, other_threshold = _held(changing, thresholds)
    n = len(image)
    place = other_threshold * n + changing.detection[other]
    upto = np.searchsorted(place, threshold * n + true.detection[row], side="right")
    n_lists = int(true.category[-1]) + 1
    of_segment = other_threshold * n_lists + changing.category[other]
    before = np.searchsorted(of_segment, threshold[starts] * n_lists + number[starts])
    for a, b in cut_into_runs(lengths, _ROWS, _SEGMENTS):
        own = slice(int(starts[a]), int(starts[b - 1] + lengths[b - 1]))
        segment = np.repeat(np.arange(b - a), lengths[a:b])
        n_others = upto[starts[a:b] + lengths[a:b] - 1] - before[a:b]
        corrections = None
        if n_others.any():
            at, begin = _stretches(before[a:b], n_others)
            kept = other[at]
            corrections = _Corrections(
                image=np.where(at < 0, -1, image[changing.detection[kept]].astype(np.int64)),
                factor=changing.change[kept].astype(np.float64),
                segment=np.repeat(np.arange(b - a), n_others + 1),
                starts=begin,
                upto=upto[own] + (begin - before[a:b])[segment],
            )
        yield _Chunk(
            mark=mark[row[own]],
            image=image[true.detection[row[own]]].astype(np.int64),
            corrections=corrections,
            segment=segment,
            starts=starts[a:b] - own.start,
            number=number[starts[a:b]],
            threshold=threshold[starts[a:b]],
        )


def _held(rows: SliceRows, thresholds: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """The rows that hold at each threshold, one threshold after the other, and the place of the threshold of each."""
    held = [np.flatnonzero((rows.first <= t) & (t < rows.last)) for t in thresholds]
    return np.concatenate(held), np.repeat(np.arange(len(thresholds)), [len(each) for each in held])


def _stretches(first: np.ndarray, n: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The numbers from each first one on, n of each after a -1, and where these are.

    >>> [each.tolist() for each in _stretches(np.array([5, 2]), np.array([2, 1]))]
    [[-1, 5, 6, -1, 2], [0, 3]]
    """
    at, begin = ranges(first - 1, n + 1)[0], np.cumsum(n + 1) - (n + 1)
    at[begin] = -1
    return at, begin


def _as_slice(places: Sequence[int]) -> slice | list[int]:
    """Places as a slice if they are without a gap, which spares a copy."""
    whole = slice(places[0], places[-1] + 1)
    return whole if list(places) == list(range(whole.start, whole.stop)) else list(places)


def levels_reached(definition: Levels) -> Callable[[np.ndarray, np.ndarray, float], np.ndarray]:
    """What counts the levels that k of n positives reach, of arrays, where sums are rounded by less than `slack`.

    That level 0 counts as reached by nothing does no harm: the envelope is the same down to the first true positive.
    """
    levels = np.array(definition.levels)
    n = len(levels) - 1
    number = np.arange(n + 1)
    multiplied = np.array_equal(levels, number * levels[1])
    if type(definition).levels_reached is Levels.levels_reached and (multiplied or np.array_equal(levels, number / n)):
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
