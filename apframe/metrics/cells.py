"""Cells of verdicts as arrays, which every metric reads."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import polars as pl

from apframe.matching.verdicts import Verdicts, has_bit, list_bounds
from apframe.metrics.list_sums import cut_into_runs, extremes, sums_before, sums_of_weights
from apframe.metrics.running_counts import SliceRows, Walk, pack, select_rows
from apframe.metrics.weights import Kept, Weights
from apframe.threads import part_bounds

if TYPE_CHECKING:
    from apframe.metrics.remainder import Remainder

Made = TypeVar("Made")
Columns = Mapping[str, np.ndarray]
Reader = Callable[[Weights, int, int, int], Columns]


@dataclass(frozen=True)
class Cell:
    """One number per list: in an area range, at a limit, averaged over thresholds; all of them are numbers from 0."""

    thresholds: tuple[int, ...]
    area_range: int
    limit: int


@dataclass(frozen=True, eq=False)
class Counted:
    """The detections that count at a threshold, in a range, within a limit; by list, then rank.

    Attributes
    ----------
    at
        the position of each among all detections
    list, image, score
        the list, the image and the score of each detection
    bounds
        the first row of each list, and the end of the last list
    hit
        the row of the limit's hits by which the detection is a true positive; -1 for false positives
    """

    at: np.ndarray
    list: np.ndarray
    image: np.ndarray
    score: np.ndarray
    bounds: np.ndarray
    hit: np.ndarray

    @property
    def is_true(self) -> np.ndarray:
        """True for true positives."""
        flags: np.ndarray = self.hit >= 0
        return flags


@dataclass(frozen=True, eq=False)
class Cells:
    """Verdicts of whole lists as arrays, complete from the start, so that threads can share them; `Cells.of` makes them.

    Values that metrics prepare from the cells are stored in them, see `kept`.

    Attributes
    ----------
    wanted
        the outputs: cells whose numbers are computed
    thresholds, limits
        similarity thresholds, and values of `max_detections`, ascending
    n_images
        the number of images, including those without rows
    detections, annotations
        the columns of these tables of `Verdicts`, by list
    hits
        for each limit: the columns of `Verdicts.hits`, with `list`, `place` and `inside` of the detections
    at_cut_offs, to_choose_by
        hits at score cut-offs, and the hits whose scores are candidates for cut-offs; None if matching has no cut-offs
    positives
        the number of annotations that count, of shape (lists, ranges)
    starts
        the first detection of each list, and the end of the last list
    deepest
        the largest place of each list: a limit of at least this many detections does not change the list
    undefined
        for each list, bits of the errors that are undefined
    members, members_of
        numbers of images; and the first and the last (exclusive) member of each list, of shape (2, lists)
    remainder
        detections that count without being among these
    """

    wanted: tuple[Cell, ...]
    thresholds: tuple[float, ...]
    limits: tuple[int, ...]
    n_images: int
    detections: Columns
    annotations: Columns
    hits: Sequence[Columns]
    at_cut_offs: Columns | None
    to_choose_by: Columns | None
    positives: np.ndarray
    starts: np.ndarray
    deepest: np.ndarray
    undefined: np.ndarray
    members: np.ndarray
    members_of: np.ndarray
    remainder: Remainder | None = None
    _kept: Kept = field(default_factory=Kept, repr=False)

    @classmethod
    def of(cls, verdicts: Verdicts, wanted: Sequence[Cell] = (), remainder: Remainder | None = None) -> Cells:
        """Return the cells of all lists.

        >>> from apframe.matching.verdicts import example
        >>> Cells.of(example()).positives.tolist()
        [[1]]
        """
        detections, annotations = columns_of(verdicts.detections), columns_of(verdicts.annotations)
        n_lists, has_cut_offs = verdicts.lists.height, "above" in verdicts.hits.columns
        starts = list_bounds(detections["list"], n_lists)
        undefined = np.zeros(n_lists, dtype=np.uint8)
        if "undefined_errors" in verdicts.lists.columns:
            undefined = verdicts.lists["undefined_errors"].to_numpy()
        members, members_of = _members(verdicts)

        def beside(hits: pl.DataFrame) -> Columns:
            columns = columns_of(hits)
            return columns | {name: detections[name][columns["detection"]] for name in ("list", "place", "inside")}

        frames = [verdicts.hits_at(m) for m in range(len(verdicts.limits))]
        hits = [beside(frames[0])]
        for before, frame in pairwise(frames):
            hits.append(hits[-1] if frame is before else beside(frame))
        return cls(
            wanted=tuple(wanted),
            thresholds=verdicts.thresholds,
            limits=verdicts.limits,
            n_images=verdicts.images.height,
            detections=detections,
            annotations=annotations,
            hits=hits,
            at_cut_offs=beside(verdicts.hits_at_score_cutoffs) if has_cut_offs else None,
            to_choose_by=beside(verdicts.hits_to_choose_by) if has_cut_offs else None,
            positives=verdicts.positives,
            starts=starts,
            deepest=extremes(np.maximum, detections["place"], starts, empty=0).astype(np.int64),
            undefined=undefined,
            members=members,
            members_of=members_of,
            remainder=remainder,
        )

    @property
    def n_lists(self) -> int:
        """The number of lists."""
        return len(self.positives)

    def wanting(self, wanted: Sequence[Cell]) -> Cells:
        """Return the same cells with other outputs; stored values are shared."""
        return replace(self, wanted=tuple(wanted))

    def kept(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """Return the value stored under a key, or compute and store it: it is prepared once, and read under many weights."""
        value: Made = self._kept.get(key, make)
        return value

    def has(self, key: Hashable) -> bool:
        """Return True if a value is stored under this key."""
        return key in self._kept.values

    def parts(self) -> list[tuple[slice, Cells]]:
        """Split the cells into parts of whole lists that can be read separately; returns the lists' numbers with each part."""
        if self.remainder is not None:
            return [(slice(None), self)]
        work = self.starts // 8  # a detection has a few bits, a hit has a number at each threshold where it holds
        work += len(self.thresholds) // 2 * np.searchsorted(self.hits[-1]["detection"], self.starts)
        return [(slice(*bounds), self._of_lists(*bounds)) for bounds in part_bounds(np.diff(work))]

    def blocks(self, n_rows: int) -> list[tuple[slice, Cells]]:
        """Split the cells into runs of whole lists with about `n_rows` detections each, as in `parts`; the runs are stored."""
        bounds = cut_into_runs(np.diff(self.starts), n_rows)
        if len(bounds) < 2:
            return [(slice(0, self.n_lists), self)]
        return self.kept(("blocks", n_rows), lambda: [(slice(*each), self._of_lists(*each)) for each in bounds])

    def _of_lists(self, begin: int, end: int) -> Cells:
        """Return the lists with numbers begin .. end - 1."""
        lists, detections = slice(begin, end), slice(*self.starts[[begin, end]])
        number = self.annotations["list"]
        expected = slice(*np.searchsorted(number, np.array([begin, end], dtype=number.dtype)))
        before = {"list": begin, "detection": detections.start, "annotation": expected.start}

        def cut(columns: Columns, rows: slice) -> Columns:
            cuts = {name: column[rows] for name, column in columns.items()}
            return cuts | {name: cuts[name] - cuts[name].dtype.type(first) for name, first in before.items() if name in cuts}

        def cut_hits(columns: Columns) -> Columns:
            return cut(columns, slice(*np.searchsorted(columns["detection"], [detections.start, detections.stop])))

        hits = [cut_hits(self.hits[0])]
        for m in range(1, len(self.hits)):
            hits.append(hits[-1] if self.hits[m] is self.hits[m - 1] else cut_hits(self.hits[m]))
        return replace(
            self,
            detections=cut(self.detections, detections),
            annotations=cut(self.annotations, expected),
            hits=hits,
            at_cut_offs=None if self.at_cut_offs is None else cut_hits(self.at_cut_offs),
            to_choose_by=None if self.to_choose_by is None else cut_hits(self.to_choose_by),
            positives=self.positives[lists],
            starts=self.starts[begin : end + 1] - detections.start,
            deepest=self.deepest[lists],
            undefined=self.undefined[lists],
            members_of=self.members_of[:, lists],
            _kept=Kept(),
        )

    def walk(self, ranges: Sequence[int], m: int) -> Walk:
        """Return the detections in rank order, with those that count inside area ranges (numbers) and within limit number m."""
        every, limit = range(self.positives.shape[1]), self.limits[m]
        flags = self.kept("inside", lambda: pack(np.stack([has_bit(self.detections["inside"], k) for k in every])))
        inside = flags[list(ranges)]
        if limit >= self.deepest.max(initial=0):
            return Walk(self.starts, inside)
        return Walk(self.starts, inside & pack((self.detections["place"] <= limit)[None]), limit)

    def rows_of(self, ranges: Sequence[int], m: int, *, lists: np.ndarray | None = None, for_curves: bool = True) -> SliceRows:
        """Return the assignments that change a count in area ranges (numbers) within limit number m.

        `lists` has a flag for each list; unflagged lists are left out. With a `remainder`, there must be only one range.
        """
        rows = select_rows(self.hits[m], self.walk(ranges, m), ranges, lists=lists, for_curves=for_curves)
        if self.remainder is None:
            return rows
        return self.remainder.count(rows, ranges, m, self.detections["list"], for_curves=for_curves)

    def counted(self, t: int, k: int, m: int) -> Counted:
        """Return the detections that count at threshold t, in range k and within limit m (numbers).

        If the same detections count at several thresholds, their `image` is the same array.

        >>> from apframe.matching.verdicts import example
        >>> Cells.of(example()).counted(0, 0, 0).is_true.tolist()
        [True, False]
        """
        return self.kept(("counted", t, k, m), lambda: self._count(t, k, m))

    def _count(self, t: int, k: int, m: int) -> Counted:
        rows, hits = self.detections, self.hits[m]
        held = np.flatnonzero(held_at(hits, t, k))
        detection, is_true = hits["detection"][held], has_bit(hits["true"][held], k)
        counts = has_bit(rows["inside"], k).copy()
        hit = np.full(len(counts), -1)
        counts[detection], hit[detection[is_true]] = is_true, held[is_true]
        counts &= rows["place"] <= self.limits[m]
        at = np.flatnonzero(counts)
        of, image, score = (rows[name][at] for name in ("list", "image", "score"))
        for other in range(len(self.thresholds)):
            other_rows = self._kept.values.get(("counted", other, k, m))
            if other_rows is not None and np.array_equal(other_rows.image, image):
                image = other_rows.image
        return Counted(at, of, image, score, list_bounds(of, self.n_lists), hit[at])

    def rows_at(self, kind: str, factor: str | None, t: int, k: int, m: int) -> tuple[np.ndarray, np.ndarray | None]:
        """Return the rows that count at threshold t, in range k, within limit m, ascending, and their values of a column.

        `kind` is "annotations", "detections" or "true_positives". Rows of true positives are numbers of detections, and their
        columns are columns of `hits`. The values are those of column `factor`; None stands for ones.
        """
        if kind == "annotations":
            rows = np.flatnonzero(has_bit(self.annotations["counts"], k))
            columns, at = self.annotations, rows
        elif kind == "detections":
            columns, rows = self.detections, self.counted(t, k, m).at
            at = rows
        else:
            counted = self.counted(t, k, m)
            columns, rows, at = self.hits[m], counted.at[counted.is_true], counted.hit[counted.is_true]
        return rows, None if factor is None or factor not in columns else columns[factor][at]

    def sum_rows(self, kind: str, factor: str | None, weights: np.ndarray, t: int, k: int, m: int) -> np.ndarray:
        """Sum weights of shape (images, weightings) over the rows of `rows_at`; the sums are of shape (lists, weightings)."""
        columns = self.annotations if kind == "annotations" else self.detections
        rows, factors = self.rows_at(kind, factor, t, k, m)
        return sums_of_weights(weights, columns["image"][rows], columns["list"][rows], self.n_lists, factors)

    def expected(self, k: int, weights: np.ndarray) -> np.ndarray:
        """Return the weighted number of annotations that count in range k, of shape (lists, weightings); see `sum_rows`.

        >>> from apframe.matching.verdicts import example
        >>> Cells.of(example()).expected(0, np.array([[2.0], [1.0]])).tolist()
        [[2.0]]
        """
        return self.sum_rows("annotations", None, weights, 0, k, 0)

    def kept_under(self, weights: Weights, key: Hashable, make: Callable[[], Made]) -> Made:
        """Return a value as `kept` does, but store it with these weights, so that metrics read one after the other share it."""
        value: Made = weights.kept.get((self._kept, key), make)
        return value

    def positives_under(self, k: int, weights: Weights) -> np.ndarray:
        """Return the numbers of `expected` under unscaled weights."""
        return self.kept_under(weights, ("positives", k), lambda: self.expected(k, weights.given))

    def first_positives(self, k: int) -> np.ndarray:
        """Return the first annotation of each list and image among those that count in range k.

        >>> from apframe.matching.verdicts import example
        >>> Cells.of(example()).first_positives(0).tolist()
        [0]
        """
        counts = np.flatnonzero(has_bit(self.annotations["counts"], k))
        key = self.annotations["list"][counts].astype(np.int64) * self.n_images + self.annotations["image"][counts]
        return counts[np.unique(key, return_index=True)[1]]

    def images_with_positives(self, k: int, weights: np.ndarray) -> np.ndarray:
        """Return the weighted number of images with annotations that count in range k, with the shapes of `expected`.

        >>> from apframe.matching.verdicts import example
        >>> Cells.of(example()).images_with_positives(0, np.array([[2.0], [1.0]])).tolist()
        [[2.0]]
        """
        rows, first = self.annotations, self.first_positives(k)
        return sums_of_weights(weights, rows["image"][first], rows["list"][first], self.n_lists)

    def images_of(self, weights: np.ndarray) -> np.ndarray:
        """Return the weighted number of images of each list, (lists, weightings), from weights of shape (images, weightings).

        >>> from apframe.matching.verdicts import example
        >>> Cells.of(example()).images_of(np.array([[1.0, 2.0], [1.0, 0.0]])).tolist()
        [[2.0, 2.0]]
        """
        upto = sums_before(weights.take(self.members, axis=0))
        begin, end = self.members_of
        return upto[end] - upto[begin]

    def means(self, columns: Sequence[str], read: Reader, weights: Weights, n_rows: int = 0) -> dict[str, np.ndarray]:
        """Return the means over thresholds for each output, by column, each of shape (cells, lists, weightings).

        `read` gets weights and the numbers of a threshold, a range and a limit, and returns the columns there, of shape (lists,
        weightings). The mean is undefined (NaN) if a number is undefined at any of the thresholds. Weightings are split into
        blocks, so that columns with one row per detection, or with `n_rows` rows, stay small.
        """
        blocks = weights.blocks(max(n_rows, len(self.detections["list"])))
        parts = [self._means(columns, partial(read, block), block.n) for block in blocks]
        if len(parts) == 1:
            return parts[0]
        return {name: np.concatenate([part[name] for part in parts], axis=2) for name in columns}

    def _means(
        self, columns: Sequence[str], read: Callable[[int, int, int], Mapping[str, np.ndarray]], n_weightings: int
    ) -> dict[str, np.ndarray]:
        places = {(t, cell.area_range, cell.limit) for cell in self.wanted for t in cell.thresholds}
        columns_at = {place: read(*place) for place in sorted(places)}
        results = {name: np.empty((len(self.wanted), self.n_lists, n_weightings)) for name in columns}
        for place, cell in enumerate(self.wanted):
            of = [columns_at[t, cell.area_range, cell.limit] for t in cell.thresholds]
            for name, values in results.items():
                values[place] = np.mean([each[name] for each in of], axis=0)
        return results


def held_at(hits: Columns, threshold: int, k: int) -> np.ndarray:
    """Return True for the hits that hold at the threshold in the area range."""
    held: np.ndarray = (hits["first"] <= threshold) & (threshold < hits["last"]) & has_bit(hits["ranges"], k)
    return held


def columns_of(table: pl.DataFrame) -> dict[str, np.ndarray]:
    """Return the columns of a table as arrays."""
    return {column.name: column.to_numpy() for column in table}


def _members(verdicts: Verdicts) -> tuple[np.ndarray, np.ndarray]:
    """Return the images of the lists, see `Cells.members`."""
    if verdicts.members is None:
        n = verdicts.images.height
        return np.arange(n), np.tile(np.array([[0], [n]]), (1, verdicts.lists.height))
    group, image = (verdicts.members[name].to_numpy() for name in ("group", "image"))
    order, of = np.argsort(group, kind="stable"), verdicts.lists["images"].to_numpy()
    return image[order], np.stack([np.searchsorted(group[order], of, side) for side in ("left", "right")])
