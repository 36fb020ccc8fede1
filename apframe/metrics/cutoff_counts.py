"""Average precision from the counts at score cut-offs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from apframe.matching.verdicts import has_bit, list_bounds
from apframe.metrics.cells import Cells, held_at
from apframe.metrics.count_changes import changes_of_hits
from apframe.metrics.list_sums import divide, sums_before
from apframe.metrics.weights import Weights

if TYPE_CHECKING:
    from apframe.metrics.score_cutoffs import AtCutOffs


def areas(definition: AtCutOffs, absent: float, cells: Cells, weights: Weights, names: Sequence[str]) -> dict[str, np.ndarray]:
    """Return the AP of each output from true positives ("tp") and from their further weights ("weight"), by name.

    An image of weight 2 counts as two copies of it, also when cut-offs are chosen. The arrays have the shape (cells, lists,
    weightings). At a threshold, lists without positives have the value `absent`. "weight" is undefined without further weights.
    """

    def at(some: Weights, t: int, k: int, m: int) -> dict[str, np.ndarray]:
        counts = cells.kept((definition, t, k, m), lambda: CutOffCounts.of(cells, definition, t, k))
        return counts.areas(some.scaled, names, absent)

    return cells.means(names, at, weights)


@dataclass(frozen=True)
class CutOffCounts:
    """The counts of all lists at one threshold, in one area range.

    Attributes
    ----------
    definition
        the definition that computes a number from the counts
    expected
        the list and the image of each annotation that counts
    image, changes
        for each row of `Changes`: the number of the image; and tp, tp + fp, fn and weight, by name
    is_weighted
        True if the hits have weights
    bounds
        the first row of each list, and the end of the last list
    chosen
        the image of each hit whose score may be a cut-off; by list, then score descending
    starts
        the first of these in each list, and the end of the last list
    upto
        the number of rows of changes down to each of these scores, or to each fixed cut-off of each list
    """

    definition: AtCutOffs
    expected: Sequence[np.ndarray]
    image: np.ndarray
    changes: Mapping[str, np.ndarray]
    is_weighted: bool
    bounds: np.ndarray
    chosen: np.ndarray
    starts: np.ndarray
    upto: np.ndarray

    @classmethod
    def of(cls, cells: Cells, definition: AtCutOffs, threshold: int, k: int) -> CutOffCounts:
        """Count at a threshold in an area range, both given as numbers."""
        assert cells.at_cut_offs is not None and cells.to_choose_by is not None  # protocols reject other matching
        changes = changes_of_hits(cells, cells.at_cut_offs, threshold, k, cut_offs=definition.cut_offs)
        if definition.chooses:
            first = cells.to_choose_by
            at = first["detection"][held_at(first, threshold, k) & has_bit(first["true"], k)]
            number, score, image = (cells.detections[name][at] for name in ("list", "score", "image"))
            order = np.lexsort((-score, number))
            number, score, image = number[order], score[order], image[order]
        else:
            fixed = np.array(definition.cut_offs[::-1])  # the highest first, as for chosen cut-offs
            number, score = np.repeat(np.arange(cells.n_lists), len(fixed)), np.tile(fixed, cells.n_lists)
            image = np.zeros(0, dtype=np.int64)
        return cls(
            definition=definition,
            expected=[cells.annotations[name][has_bit(cells.annotations["counts"], k)] for name in ("list", "image")],
            image=changes.image,
            changes={"tp": changes.tp, "n": changes.tp + changes.fp, "fn": changes.fn, "weight": changes.weight},
            is_weighted="weight" in cells.at_cut_offs,
            bounds=list_bounds(changes.number, cells.n_lists),
            chosen=image,
            starts=list_bounds(number, cells.n_lists),
            upto=_count_down_to(changes.number, changes.score, number, score),
        )

    def areas(self, weights: np.ndarray, names: Sequence[str], absent: float) -> dict[str, np.ndarray]:
        """Return average precision by name, of shape (lists, weightings), from weights of shape (images, weightings)."""
        expected = np.zeros((len(self.bounds) - 1, weights.shape[1]))
        # one by one, because cut-offs depend on the last bit
        np.add.at(expected, self.expected[0], weights[self.expected[1]])
        at, columns = self._positions(weights, expected), np.arange(weights.shape[1])
        is_filled = at >= 0

        def counted(name: str) -> np.ndarray:
            upto = sums_before(weights.take(self.image, axis=0) * self.changes[name][:, None])
            return np.where(is_filled, upto[np.maximum(at, 0), columns] - upto[self.bounds[:-1]], 0)

        tp, n, fn = counted("tp"), counted("n"), counted("fn") + expected
        positives = self.definition.positives(expected, tp[-1] + fn[-1])
        recall = np.where(is_filled & (tp + fn > 0), divide(tp, tp + fn), 0)
        results = {}
        for name in names:
            is_known = name == "tp" or self.is_weighted
            values = tp if name == "tp" else counted(name)
            area = self.definition.area(np.where(n > 0, divide(values, n), 0), recall) if is_known else np.nan
            results[name] = np.where(positives > 0, area, absent if is_known else np.nan)
        return results

    def _positions(self, weights: np.ndarray, expected: np.ndarray) -> np.ndarray:
        """Count the rows down to each cut-off, of shape (cut-offs, lists, weightings); -1 for cut-offs that do not exist."""
        if not self.definition.chooses:
            fixed = self.upto.reshape(len(expected), -1).T
            return np.broadcast_to(fixed[..., None], (*fixed.shape, weights.shape[1]))
        running = sums_before(weights.take(self.chosen, axis=0))
        before = running[self.starts]
        n_copies = np.ceil(np.diff(before, axis=0) - 1e-9).astype(np.int64)
        copies = choose_copies(n_copies, expected)
        # the first row down to which there are more copies than this, searched in all weightings at once
        lift = np.arange(weights.shape[1]) * (running[-1].max(initial=0) + 1)
        targets = before[:-1] + np.maximum(copies, 0) + 1e-9 + lift
        row = np.searchsorted((running[1:] + lift).T.ravel(), targets, side="right")
        row -= np.arange(weights.shape[1]) * len(self.chosen)
        return np.where(copies >= 0, self.upto[np.minimum(row, max(len(self.upto) - 1, 0))] if len(self.upto) else -1, -1)


def choose_copies(n: np.ndarray, n_positives: np.ndarray) -> np.ndarray:
    """Return the ranks (from 0) of at most 41 of n true positives whose scores become the cut-offs.

    Start with c = 0. The i-th true positive, from the best score on, is chosen unless (i + 2) / R - c < c - (i + 1) / R; each
    choice increases c by 1/40. The last one is always chosen. All of this is computed in doubles, because they decide ties.

    Parameters
    ----------
    n, n_positives
        the numbers of true positives and of positives, of any shape

    Returns
    -------
    An array of shape (41, ...), with -1 for missing cut-offs.

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
        for _ in range(3):  # three steps pass everything that is skipped
            i += (i + 2) / positives - c[j] < c[j] - (i + 1) / positives
        is_left = last < n - 1
        last = np.where(is_left, np.minimum(i, n - 1), last)
        copies[j] = np.where(is_left, last, -1)
    return copies


def _count_down_to(number: np.ndarray, score: np.ndarray, at_number: np.ndarray, at_score: np.ndarray) -> np.ndarray:
    """Count the rows in earlier lists, and those in the same list with a score at least as high.

    >>> _count_down_to(np.array([0, 0, 1]), np.array([0.9, 0.5, 0.7]), np.array([0, 0, 1]), np.array([0.9, 0.6, 0.7])).tolist()
    [1, 1, 3]
    """
    is_query = np.repeat([0, 1], [len(number), len(at_number)])
    order = np.lexsort((is_query, -np.append(score, at_score), np.append(number, at_number)))
    queries = np.flatnonzero(is_query[order])
    upto = np.empty(len(at_number), dtype=np.int64)
    upto[order[queries] - len(number)] = queries - np.arange(len(queries))
    return upto
