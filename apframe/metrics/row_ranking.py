"""Verdicts ranked by definitions of all rows of a list, with weights for the images or without."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from apframe.lazily import cached_property
from apframe.matching.verdicts import Verdicts, list_bounds
from apframe.metrics.counted import Counted, count_positives, count_rows
from apframe.metrics.of_rows import ListedRows, OfRows

_MOST = 1 << 22  # of sums that are computed together
_TINY = np.finfo(float).tiny


class RowRanking:
    """Verdicts of a policy that decides once, ranked by an `OfRows` definition; it stands in the place of a `Ranking`.

    An image of weight 2 counts as two copies of it, whose detections follow one another; an image of weight 0 is not there, its
    scores neither. Weights that are not whole are divided by their mean.

    Parameters
    ----------
    verdicts
        what matching decided
    definition
        of average precision
    counts_absent
        whether lists without positives have an average precision, of 0
    """

    rest = None
    further: tuple[str, ...] = ()

    def __init__(self, verdicts: Verdicts, definition: OfRows, *, counts_absent: bool = False) -> None:
        self._verdicts, self._definition, self.counts_absent = verdicts, definition, counts_absent
        self.limits = verdicts.limits
        self.shape = (len(verdicts.thresholds), verdicts.lists.height, len(verdicts.ranges), len(verdicts.limits))
        self._rows: dict[tuple[int, int, int], Counted] = {}

    def parts(self) -> list[tuple[slice, RowRanking]]:
        """All lists at once."""
        return [(slice(None), self)]

    @cached_property
    def positives(self) -> np.ndarray:
        """How many annotations count, of shape (lists, ranges)."""
        return self._verdicts.positives

    def compute(self, ranges: Sequence[int], m: int) -> dict[str, np.ndarray]:
        """`ap`, `hits` and `n_detections`, of shape (thresholds, ranges, lists), at limit number m.

        `ap` is NaN in lists without positives, unless these count.
        """
        once = np.ones((self._verdicts.images.height, 1))
        found = [self.weighted(range(self.shape[0]), k, m, once) for k in ranges]
        return {
            name: np.array([[of_range[t][name][:, 0] for of_range in found] for t in range(self.shape[0])])
            for name in ("ap", "hits", "n_detections")
        }

    def weighted(self, thresholds: Sequence[int], k: int, m: int, weights: np.ndarray) -> dict[int, dict[str, np.ndarray]]:
        """The numbers of each list by threshold, in range number k at limit number m, of shape (lists, weightings).

        `weights` are at least 0, of shape (images, weightings). Beside what `compute` gives there are `positives` and `recall`.
        """
        if not (weights == np.rint(weights)).all():
            weights = weights / np.maximum(weights.mean(axis=0), _TINY)
        work = max(self._verdicts.detections.height, 1000 * self.shape[1], 1)
        step = max(1, _MOST // work)
        blocks = [weights[:, begin : begin + step] for begin in range(0, weights.shape[1], step)]
        found = {}
        for t in thresholds:
            if (t, k, m) not in self._rows:
                self._rows[t, k, m] = count_rows(self._verdicts, t, k, m)
            parts = list(map(partial(self._of_rows, self._rows[t, k, m], k), blocks))
            found[t] = {name: np.concatenate([part[name] for part in parts], axis=1) for name in parts[0]}
        return found

    def _of_rows(self, rows: Counted, k: int, weights: np.ndarray) -> dict[str, np.ndarray]:
        """The numbers of each list under some weightings."""
        low, high = self._scores(weights)
        own, positives = weights.take(rows.image, axis=0), count_positives(self._verdicts, k, weights)
        listed = ListedRows(rows.list, rows.score, rows.is_true, rows.bounds, own, positives, low, high)
        hits = listed.sums(own * rows.is_true[:, None])
        with np.errstate(invalid="ignore"):
            recall = hits / positives
        ap = np.where(positives > 0, self._definition.area(listed), 0.0 if self.counts_absent else np.nan)
        return {"ap": ap, "hits": hits, "n_detections": listed.sums(own), "positives": positives, "recall": recall}

    def _scores(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The lowest and the highest score of each list on images that weigh something; NaN where there is none."""
        number, image, score = (self._verdicts.detections[name].to_numpy() for name in ("list", "image", "score"))
        bounds = list_bounds(number, self.shape[1])
        filled = np.flatnonzero(np.diff(bounds))
        low, high = (np.full((self.shape[1], weights.shape[1]), np.nan) for _ in range(2))
        if len(filled):
            is_there = weights.take(image, axis=0) > 0
            for ends, none, pick in ((low, np.inf, np.minimum), (high, -np.inf, np.maximum)):
                found = pick.reduceat(np.where(is_there, score[:, None], none), bounds[filled], axis=0)
                ends[filled] = np.where(np.isfinite(found), found, np.nan)
        return low, high
