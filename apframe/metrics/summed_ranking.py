"""Verdicts summed by list, with weights for the images or without: what definitions that need no ranks are made of."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from apframe.lazily import cached_property
from apframe.matching.verdicts import Verdicts, has_bit
from apframe.metrics.summed import Summed, Sums

_MOST = 1 << 22  # weights at a time


class SummedRanking:
    """Verdicts made ready to be summed: rankings of definitions without ranks.

    Parameters
    ----------
    verdicts
        what matching decided
    definition
        whose numbers are wanted

    >>> from apframe.matching.verdicts import example
    >>> from apframe.metrics.summed import PanopticQuality
    >>> found = SummedRanking(example(), PanopticQuality()).compute([0], 0)
    >>> found["pq"].tolist(), found["sq"].tolist()
    ([[[0.5]]], [[[0.75]]])
    """

    rest = None
    counts_absent = False

    def __init__(self, verdicts: Verdicts, definition: Summed) -> None:
        self._verdicts, self._definition = verdicts, definition
        self.limits = verdicts.limits
        self.shape = (len(verdicts.thresholds), verdicts.lists.height, len(verdicts.ranges), len(verdicts.limits))

    def parts(self) -> list[tuple[slice, SummedRanking]]:
        """All lists at once."""
        return [(slice(None), self)]

    @cached_property
    def positives(self) -> np.ndarray:
        """How many annotations count, of shape (lists, ranges)."""
        return self._verdicts.positives

    @property
    def further(self) -> tuple[str, ...]:
        """The names of the numbers of each list beside counts."""
        return self._definition.columns

    def compute(self, ranges: Sequence[int], m: int) -> dict[str, np.ndarray]:
        """`hits`, `n_detections` and the numbers of the definition, of shape (thresholds, ranges, lists), at limit number m."""
        once = np.ones((self._verdicts.images.height, 1))
        found = [self.weighted(range(self.shape[0]), k, m, once) for k in ranges]
        return {
            name: np.array([[of_range[t][name][:, 0] for of_range in found] for t in range(self.shape[0])])
            for name in ("hits", "n_detections", *self.further)
        }

    def weighted(self, thresholds: Sequence[int], k: int, m: int, weights: np.ndarray) -> dict[int, dict[str, np.ndarray]]:
        """The numbers of each list by threshold, in range number k at limit number m, of shape (lists, weightings).

        `weights` are at least 0, of shape (images, weightings). Beside what `compute` gives there are `positives` and `recall`.
        """
        return {t: self._at(t, k, m, weights) for t in thresholds}

    def _at(self, t: int, k: int, m: int, weights: np.ndarray) -> dict[str, np.ndarray]:
        rows, expected, hits = self._verdicts.detections, self._verdicts.annotations, self._verdicts.hits_at(m)
        holds = (hits["first"].to_numpy() <= t) & (t < hits["last"].to_numpy()) & has_bit(hits["ranges"].to_numpy(), k)
        is_true = has_bit(hits["true"].to_numpy()[holds], k)
        matched = hits["detection"].to_numpy()[holds]
        counted = has_bit(rows["inside"].to_numpy(), k).copy()
        counted[matched] = is_true
        counted &= rows["place"].to_numpy() <= self.limits[m]
        true = np.flatnonzero(holds)[is_true]
        true = true[counted[hits["detection"].to_numpy()[true]]]
        of_hits = hits["detection"].to_numpy()[true]
        positives = np.flatnonzero(has_bit(expected["counts"].to_numpy(), k))
        of_annotations = None
        weight = hits["weight"].to_numpy()[true] if "weight" in hits.columns else np.ones(len(true))
        if self._definition.weighs.startswith("images"):
            of_annotations, weight = self._shares(positives, hits["annotation"].to_numpy()[true])
        sides = {
            "detections": (rows, np.flatnonzero(counted), None),
            "annotations": (expected, positives, of_annotations),
            "hits": (rows, of_hits, weight),
            "similarity": (rows, of_hits, hits["similarity"].to_numpy()[true]),
        }
        sums, counts = {}, {}
        for name, (table, at, factor) in sides.items():
            number, image = (table[column].to_numpy()[at] for column in ("list", "image"))
            if factor is None and "weight" in table.columns:
                factor = table["weight"].to_numpy()[at]
            sums[name] = self._sum(number, image, factor, weights)
            counts[name] = sums[name] if factor is None else self._sum(number, image, None, weights)
        with np.errstate(invalid="ignore", divide="ignore"):
            recall = counts["hits"] / counts["annotations"]
        found = {"hits": counts["hits"], "n_detections": counts["detections"], "positives": counts["annotations"]}
        return {**found, "recall": recall, **self._definition.of_sums(Sums(**sums))}

    def _shares(self, positives: np.ndarray, found: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What annotations that count weigh, and the true positives of those that were found; see `Summed.weighs`."""
        expected = self._verdicts.annotations
        number, image = (expected[name].to_numpy().astype(np.int64) for name in ("list", "image"))
        cell = number * self._verdicts.images.height + image
        _, place, n = np.unique(cell[positives], return_inverse=True, return_counts=True)
        shares = np.zeros(expected.height)
        shares[positives] = 1 / n[place]
        if self._definition.weighs == "images":
            return shares[positives], shares[found]
        is_first = np.zeros(len(found))
        is_first[np.unique(cell[found], return_index=True)[1]] = 1
        return shares[positives], is_first

    def _sum(self, number: np.ndarray, image: np.ndarray, factor: np.ndarray | None, weights: np.ndarray) -> np.ndarray:
        """The sums of the weights of some rows, times a factor, of shape (lists, weightings)."""
        order = np.argsort(number, kind="stable")
        starts = np.flatnonzero(np.diff(number[order].astype(np.int64), prepend=-1))
        sums = np.zeros((self.shape[1], weights.shape[1]))
        step = max(1, _MOST // max(1, len(order)))
        for begin in range(0, weights.shape[1] if len(order) else 0, step):
            block = slice(begin, begin + step)
            own = weights[:, block].take(image[order], axis=0)
            if factor is not None:
                own *= factor[order, None]
            sums[number[order][starts], block] = np.add.reduceat(own, starts, axis=0)
        return sums
