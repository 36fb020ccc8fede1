"""Verdicts made ready to be ranked: as arrays, with what each true positive weighs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from apframe.lazily import cached_property
from apframe.matching.verdicts import Verdicts, has_bit, list_bounds
from apframe.metrics.counted import count_images
from apframe.metrics.counts import Counts, SliceRows, Walk, count_at, count_detections, pack, select_rows
from apframe.metrics.definition import WeightedSum
from apframe.metrics.precision import precision
from apframe.threads import part_bounds

N_IMAGES = "n_images"


@dataclass(frozen=True)
class Ranking:
    """The verdicts as arrays, complete when made, so that threads can share them.

    Attributes
    ----------
    definition, addend
        of average precision, and what is added to the divisor of precision
    limits, n_thresholds
        numbers of `max_detections`, and how many thresholds there are
    positives
        how many annotations count, of shape (lists, ranges)
    number, place, inside
        of the detections: the list and the other columns of `Verdicts.detections`
    starts
        the position of each list's first detection, and the number of all detections at the end
    deepest
        the largest place of each list: a limit of that many detections, or more, does not change the list
    hits
        columns of `Verdicts.hits`, and `list`, `place` and `inside` of their detections; a dict for each limit
    recalls
        columns k and n_positives, all recalls there can be: a run of k = 0..R for each R among the positives
    recall_starts
        where the run of each list and range starts, of shape (lists, ranges)
    weights
        what the k-th of R true positives weighs, for each of the recalls; 0 for k = 0
    rest
        detections that are not among these, but count
    counts_absent
        whether a list without positives has an average precision, of 0
    n_images
        how many images have annotations that count, of shape (lists, ranges), where lists count in means as often; or None
    """

    definition: WeightedSum
    addend: float
    limits: tuple[int, ...]
    n_thresholds: int
    positives: np.ndarray
    number: np.ndarray
    place: np.ndarray
    inside: np.ndarray
    starts: np.ndarray
    deepest: np.ndarray
    hits: Sequence[dict[str, np.ndarray]]
    recalls: pl.DataFrame
    recall_starts: np.ndarray
    weights: np.ndarray
    rest: Rest | None = None
    counts_absent: bool = False
    n_images: np.ndarray | None = None

    @property
    def further(self) -> tuple[str, ...]:
        """The names of further numbers."""
        return () if self.n_images is None else (N_IMAGES,)

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Numbers of thresholds, lists, ranges and limits, the axes of the reference's arrays."""
        return (self.n_thresholds, *self.positives.shape, len(self.limits))

    def parts(self) -> list[tuple[slice, Ranking]]:
        """The ranking in parts of whole lists, which can be computed on their own, and the numbers of their lists."""
        if self.rest is not None:
            return [(slice(None), self)]
        work = self.starts // 8  # of a detection there are some bits, of a hit a number at each threshold where it holds
        work += self.n_thresholds // 2 * np.searchsorted(self.hits[-1]["detection"], self.starts)
        return [(slice(*bounds), self._of_lists(*bounds)) for bounds in part_bounds(np.diff(work))]

    def _of_lists(self, begin: int, end: int) -> Ranking:
        """The lists number begin .. end - 1."""
        first, last = self.starts[[begin, end]]
        hits = []
        for each in self.hits:
            own = slice(*np.searchsorted(each["detection"], [first, last]))
            part = {name: column[own] for name, column in each.items()}
            for name, before in (("detection", first), ("list", begin)):
                part[name] = part[name] - part[name].dtype.type(before)
            hits.append(part)
        lists, detections = slice(begin, end), slice(first, last)
        return replace(
            self,
            positives=self.positives[lists],
            number=self.number[detections] - self.number.dtype.type(begin),
            place=self.place[detections],
            inside=self.inside[detections],
            starts=self.starts[begin : end + 1] - first,
            deepest=self.deepest[lists],
            hits=hits,
            recall_starts=self.recall_starts[lists],
            n_images=None if self.n_images is None else self.n_images[lists],
        )

    @cached_property
    def _inside(self) -> np.ndarray:
        return pack(np.stack([has_bit(self.inside, k) for k in range(self.positives.shape[1])]))

    def walk(self, ranges: Sequence[int], m: int) -> Walk:
        """The detections, of which those count that are inside area ranges, given by number, within limit number m."""
        inside, limit = self._inside[list(ranges)], self.limits[m]
        if limit >= self.deepest.max(initial=0):
            return Walk(self.starts, inside)
        return Walk(self.starts, inside & pack((self.place <= limit)[None]), limit)

    def rows_of(self, ranges: Sequence[int], m: int, *, lists: np.ndarray | None = None, for_curves: bool = True) -> SliceRows:
        """Return the assignments that change a count in area ranges, given by number, within limit number m.

        `lists` has a flag for each list that is wanted. There is one range only where there is a `rest`.
        """
        rows = select_rows(self.hits[m], self.walk(ranges, m), ranges, lists=lists, for_curves=for_curves)
        return rows if self.rest is None else self.rest.count(rows, ranges, m, self.number, for_curves=for_curves)

    def precision(self, counts: Counts) -> np.ndarray:
        """Precision at each of the counts; 0 where nothing counts yet."""
        return precision(counts.k, counts.n if self.addend else np.maximum(counts.n, 1), self.addend)

    def step(self, ranges: Sequence[int], counts: Counts) -> np.ndarray:
        """Where the recalls of the counts of `rows_of` stand in `recalls`."""
        return counts.k + self.recall_starts.T[list(ranges)].ravel()[counts.category][counts.run]


def rank(
    verdicts: Verdicts,
    definition: WeightedSum,
    addend: float = 0.0,
    rest: Rest | None = None,
    *,
    counts_absent: bool = False,
    means_by_images: bool = False,
) -> Ranking:
    """Make verdicts ready to be ranked by a definition.

    >>> from apframe.matching.verdicts import example
    >>> from apframe.metrics.definitions import as_definition
    >>> rank(example(), as_definition("step")).weights.tolist()
    [0.0, 1.0]
    """
    positives = verdicts.positives
    distinct, which = np.unique(positives, return_inverse=True)
    start = np.cumsum(distinct + 1) - (distinct + 1)
    n_positives = np.repeat(distinct, distinct + 1)
    recalls = pl.DataFrame({"k": np.arange(len(n_positives)) - np.repeat(start, distinct + 1), "n_positives": n_positives})
    added = definition.reached(pl.col("k"), pl.col("n_positives")).diff()  # the row before holds k - 1
    number, place = (verdicts.detections[name].to_numpy() for name in ("list", "place"))
    starts = list_bounds(number, verdicts.lists.height)
    filled = np.flatnonzero(np.diff(starts))
    deepest = np.zeros(len(starts) - 1, dtype=np.int64)
    if len(filled):
        deepest[filled] = np.maximum.reduceat(place, starts[filled])
    inside, hits = verdicts.detections["inside"].to_numpy(), []
    once = np.ones((verdicts.images.height, 1))
    for m in range(len(verdicts.limits)):
        columns = {column.name: column.to_numpy() for column in verdicts.hits_at(m)}
        of = columns["detection"]
        hits.append(columns | {"list": number[of], "place": place[of], "inside": inside[of]})
    return Ranking(
        definition=definition,
        addend=addend,
        limits=verdicts.limits,
        n_thresholds=len(verdicts.thresholds),
        positives=positives,
        number=number,
        place=place,
        inside=inside,
        starts=starts,
        deepest=deepest,
        hits=hits,
        recalls=recalls,
        recall_starts=start[which].reshape(positives.shape).astype(np.int32),
        weights=recalls.select(pl.when(pl.col("k") > 0).then(added).otherwise(0.0)).to_series().to_numpy(),
        rest=rest,
        counts_absent=counts_absent,
        n_images=np.hstack([count_images(verdicts, k, once) for k in range(len(verdicts.ranges))]) if means_by_images else None,
    )


@dataclass(frozen=True)
class Rest:
    """Detections that count in lists although these do not have them, as all that is found near them is ignored there.

    `ranking` is of whole lists, all annotations ignored. Some detections of them are in lists of another ranking: `place` is
    theirs in the whole lists, and `whole` says of which of these each list is a part. Counted there is what they make of the
    whole list: so many as all annotations ignored leave, corrected for those that are in the list.
    """

    ranking: Ranking
    place: np.ndarray
    whole: np.ndarray

    def n_detections(self, k: int, m: int) -> np.ndarray:
        """How many detections count in each whole list, of shape (thresholds, whole lists)."""
        return count_detections(self.ranking.rows_of([k], m, for_curves=False), self.ranking.n_thresholds)

    def count(self, rows: SliceRows, ranges: Sequence[int], m: int, category: np.ndarray, *, for_curves: bool) -> SliceRows:
        """The assignments of the lists in one range, with the counts of whole lists; `category` is that of the detections."""
        walk, n_thresholds = self.ranking.walk(ranges, m), self.ranking.n_thresholds
        of_whole = select_rows(self.ranking.hits[m], walk, ranges)
        begin, end = (np.searchsorted(of_whole.detection, self.place, side) for side in ("left", "right"))
        n = end - begin
        again = np.repeat(np.arange(len(n)), n)
        at = begin[again] + np.arange(len(again)) - np.repeat(np.cumsum(n) - n, n)
        # what became of these detections in the whole list is taken back, before what becomes of them here
        back = (
            category[again],
            again,
            np.zeros(len(at), dtype=bool),
            -of_whole.change[at],
            of_whole.first[at],
            of_whole.last[at],
        )
        here = rows.category, rows.detection, rows.is_true, rows.change, rows.first, rows.last
        order = np.argsort(np.concatenate([back[1], here[1]]), kind="stable")
        of_list, detection, is_true, change, first, last = (
            np.concatenate(both)[order] for both in zip(back, here, strict=True)
        )
        n_unmatched = np.zeros(len(order), dtype=np.int32)
        if for_curves:
            n_unmatched = count_at(of_whole, walk, self.whole[of_list], self.place[detection], n_thresholds)
        n_counted = count_detections(of_whole, n_thresholds)[:, self.whole]
        return SliceRows(n_counted, of_list, detection, n_unmatched, is_true, change, first, last)
