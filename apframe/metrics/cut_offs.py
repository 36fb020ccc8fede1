"""Average precision from the counts at score cut-offs, for any weights of the images (KITTI, Waymo)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from apframe.lazily import cached_property
from apframe.matching.verdicts import Verdicts, has_bit
from apframe.metrics.at_cut_offs import AtCutOffs
from apframe.metrics.changes import changes_of_hits, held_at

_MOST = 1 << 22  # numbers of one column that are summed together
_NAMES = ("ap", "oriented_ap", "hits", "n_detections", "positives")


class CutOffRanking:
    """Verdicts of a policy that ranks by score cut-offs; it replaces a `Ranking`.

    An image of weight 2 counts as two copies of it, also where cut-offs are chosen. KITTI's numbers depend on how many
    annotations there are, so weights that are not whole are divided by their mean.
    """

    rest = None
    further = ("oriented_ap",)

    def __init__(self, verdicts: Verdicts, definition: AtCutOffs, *, counts_absent: bool = False) -> None:
        """`counts_absent`: lists without annotations have 0."""
        self._verdicts, self._definition, self.counts_absent = verdicts, definition, counts_absent
        self.shape = (len(verdicts.thresholds), verdicts.lists.height, len(verdicts.ranges), len(verdicts.limits))
        self._ready: dict[tuple[int, int], _Counts] = {}

    def parts(self) -> list[tuple[slice, CutOffRanking]]:
        """All lists at once."""
        return [(slice(None), self)]

    def counts(self, threshold: int, k: int) -> _Counts:
        """The counts at a threshold in an area range, both by number."""
        if (threshold, k) not in self._ready:
            made = _Counts.of(self._verdicts, self._definition, threshold, k)
            self._ready[threshold, k] = replace(made, counts_absent=self.counts_absent)
        return self._ready[threshold, k]

    @cached_property
    def positives(self) -> np.ndarray:
        """How many annotations recall divides by at the lowest cut-off and threshold, of shape (lists, ranges)."""
        return self.compute([0], range(self.shape[2]))["positives"][0].T

    def compute(self, thresholds: Sequence[int], ranges: Sequence[int]) -> dict[str, np.ndarray]:
        """What `_Counts.compute` gives without weights, each of shape (thresholds, ranges, lists)."""
        once = np.ones((self._verdicts.images.height, 1))
        cells = [[self.counts(t, k).compute(once) for k in ranges] for t in thresholds]
        return {name: np.array([[cell[name][:, 0] for cell in row] for row in cells]) for name in _NAMES}

    def weighted(self, column: str, thresholds: Sequence[int], k: int, weights: np.ndarray) -> np.ndarray:
        """A column of the metrics under weights of shape (images, weightings): the mean over thresholds, by list."""
        total = np.zeros((self.shape[1], weights.shape[1]))
        for t in thresholds:
            found = self.counts(t, k).compute(weights)
            with np.errstate(invalid="ignore"):
                found["recall"] = found["hits"] / found["positives"]
            total += found[column]
        return total / len(thresholds)


@dataclass(frozen=True)
class _Counts:
    """The counts of all lists at one threshold, in one area range.

    Attributes
    ----------
    definition
        what is made of them
    expected
        list and image of each annotation that counts
    image, changes
        of each row of `Changes`: the number of the image, and tp, tp + fp, fn and weight by name
    is_weighted
        whether there are weights
    bounds
        where the rows of each list begin, and the last one ends
    chosen
        image of each hit whose score may be a cut-off; by list, then score descending
    starts
        where these begin in each list, and the last one ends
    upto
        how many rows of the changes there are down to each of these scores, or to each fixed cut-off of each list
    counts_absent
        whether lists without annotations have 0; otherwise they have no value
    """

    definition: AtCutOffs
    expected: tuple[np.ndarray, np.ndarray]
    image: np.ndarray
    changes: dict[str, np.ndarray]
    is_weighted: bool
    bounds: np.ndarray
    chosen: np.ndarray
    starts: np.ndarray
    upto: np.ndarray
    counts_absent: bool = False

    @classmethod
    def of(cls, verdicts: Verdicts, definition: AtCutOffs, threshold: int, k: int) -> _Counts:
        n_lists = verdicts.lists.height
        changes = changes_of_hits(verdicts, verdicts.hits_at_cut_offs, threshold, k, cut_offs=definition.cut_offs)
        counts = np.flatnonzero(has_bit(verdicts.annotations["counts"].to_numpy(), k))
        expected = tuple(verdicts.annotations[name].to_numpy()[counts] for name in ("list", "image"))
        number, score, image = np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0, dtype=np.int64)
        if definition.chooses:
            first = held_at(verdicts.hits_to_choose_by, threshold, k)
            at = first["detection"].to_numpy()[has_bit(first["true"].to_numpy(), k)]
            number, score, image = (verdicts.detections[name].to_numpy()[at] for name in ("list", "score", "image"))
            order = np.lexsort((-score, number))
            number, score, image = number[order], score[order], image[order]
        else:
            fixed = np.array(definition.cut_offs[::-1])  # the highest first, as where they are chosen
            number, score = np.repeat(np.arange(n_lists), len(fixed)), np.tile(fixed, n_lists)
        return cls(
            definition=definition,
            expected=(expected[0].astype(np.int64), expected[1].astype(np.int64)),
            image=changes.image,
            changes={"tp": changes.tp, "n": changes.tp + changes.fp, "fn": changes.fn, "weight": changes.weight},
            is_weighted="weight" in verdicts.hits.columns,
            bounds=np.searchsorted(changes.number, np.arange(n_lists + 1)),
            chosen=image.astype(np.int64),
            starts=np.searchsorted(number, np.arange(n_lists + 1)),
            upto=_count_down_to(changes.number, changes.score, number, score),
        )

    def compute(self, weights: np.ndarray) -> dict[str, np.ndarray]:
        """The numbers `_NAMES` under weights of shape (images, weightings), each of shape (lists, weightings)."""
        step = max(1, _MOST // max(len(self.image), 1))
        parts = [self._compute(weights[:, begin : begin + step]) for begin in range(0, weights.shape[1], step)]
        return {name: np.concatenate([part[name] for part in parts], axis=1) for name in _NAMES}

    def _compute(self, weights: np.ndarray) -> dict[str, np.ndarray]:
        is_whole = bool((weights == np.rint(weights)).all())
        if not is_whole:
            weights = weights / np.maximum(weights.mean(axis=0), np.finfo(float).tiny)
        n_lists = len(self.bounds) - 1
        expected = np.zeros((n_lists, weights.shape[1]))
        np.add.at(expected, self.expected[0], weights[self.expected[1]])
        sums = {name: self._sums(values, weights) for name, values in self.changes.items()}
        at = self._positions(weights, expected)
        columns = np.arange(weights.shape[1])

        def counted(name: str, places: np.ndarray) -> np.ndarray:
            return sums[name][places, columns] - sums[name][self.bounds[:-1]]

        is_filled = at >= 0
        tp, n, fn, weight = (np.where(is_filled, counted(name, np.maximum(at, 0)), 0) for name in self.changes)
        fn = fn + expected
        ends = np.broadcast_to(self.bounds[1:, None], expected.shape)
        hits, n_detections = counted("tp", ends), counted("n", ends)
        positives = self.definition.positives(expected, tp[-1] + fn[-1])
        with np.errstate(invalid="ignore", divide="ignore"):
            recall = np.where(is_filled & (tp + fn > 0), tp / (tp + fn), 0)
            areas = [
                np.where(
                    ((positives > 0) | self.counts_absent) & is_known,
                    self.definition.area(np.where(n > 0, values / n, 0), recall),
                    np.nan,
                )
                for values, is_known in ((tp, True), (weight, self.is_weighted))
            ]
        return dict(zip(_NAMES, (*areas, hits, n_detections, positives), strict=True))

    def _sums(self, values: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """The weighted sums over the rows before each, of shape (rows + 1, weightings), all lists in one."""
        sums = np.zeros((len(values) + 1, weights.shape[1]))
        np.cumsum(weights.take(self.image, axis=0) * values[:, None], axis=0, out=sums[1:])
        return sums

    def _positions(self, weights: np.ndarray, expected: np.ndarray) -> np.ndarray:
        """How many rows there are down to each cut-off, of shape (cut-offs, lists, weightings); -1 for cut-offs that lack."""
        if not self.definition.chooses:
            fixed = self.upto.reshape(len(expected), -1).T
            return np.broadcast_to(fixed[..., None], (*fixed.shape, weights.shape[1]))
        running = np.zeros((len(self.chosen) + 1, weights.shape[1]))
        np.cumsum(weights.take(self.chosen, axis=0), axis=0, out=running[1:])
        before = running[self.starts]
        n_copies = np.ceil(np.diff(before, axis=0) - 1e-9).astype(np.int64)
        copies = choose_copies(n_copies, expected)
        # the first row down to which there are more than so many copies, found in all weightings at once
        lift = np.arange(weights.shape[1]) * (running[-1].max(initial=0) + 1)
        wanted = before[:-1] + np.maximum(copies, 0) + 1e-9 + lift
        row = np.searchsorted((running[1:] + lift).T.ravel(), wanted, side="right")
        row -= np.arange(weights.shape[1]) * len(self.chosen)
        return np.where(copies >= 0, self.upto[np.minimum(row, max(len(self.upto) - 1, 0))] if len(self.upto) else -1, -1)


def choose_copies(n: np.ndarray, n_positives: np.ndarray) -> np.ndarray:
    """Which of n true positives, from the best score on, KITTI takes the scores of as cut-offs: numbers, at most 41.

    With c = 0 at first, the i-th (from 0) is taken unless (i + 2) / R - c < c - (i + 1) / R, and c is then 1/40 larger; the
    last one is taken in any case. All this is in doubles, as it decides about ties.

    Parameters
    ----------
    n, n_positives
        of any shape

    Returns
    -------
    An array of shape (41, ...), -1 where there are fewer.

    Source: `getThresholds` of KITTI's `evaluate_object.cpp`.

    >>> choose_copies(np.array([8, 100]), np.array([8.0, 100.0]))[[0, 1, 2, 7, 8, 40]].tolist()
    [[0, 0], [1, 2], [2, 4], [7, 16], [-1, 19], [-1, 99]]
    """
    c = np.append(0.0, np.cumsum(np.full(40, 1 / 40)))
    copies = np.full((41, *n.shape), -1)
    positives = np.maximum(n_positives, np.finfo(float).tiny)
    last = np.full(n.shape, -1)
    for j in range(41):
        i = np.maximum(last + 1, np.ceil(c[j] * n_positives - 1.5).astype(np.int64) - 1)
        for _ in range(3):  # what is skipped is left by then
            i += (i + 2) / positives - c[j] < c[j] - (i + 1) / positives
        is_left = last < n - 1
        last = np.where(is_left, np.minimum(i, n - 1), last)
        copies[j] = np.where(is_left, last, -1)
    return copies


def _count_down_to(number: np.ndarray, score: np.ndarray, at_number: np.ndarray, at_score: np.ndarray) -> np.ndarray:
    """How many rows there are in the lists before, and in the same list with at least the score.

    >>> _count_down_to(np.array([0, 0, 1]), np.array([0.9, 0.5, 0.7]), np.array([0, 0, 1]), np.array([0.9, 0.6, 0.7])).tolist()
    [1, 1, 3]
    """
    is_asked = np.repeat([0, 1], [len(number), len(at_number)])
    order = np.lexsort((is_asked, -np.append(score, at_score), np.append(number, at_number)))
    asked = np.flatnonzero(is_asked[order])
    upto = np.empty(len(at_number), dtype=np.int64)
    upto[order[asked] - len(number)] = asked - np.arange(len(asked))
    return upto
