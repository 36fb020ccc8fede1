"""Weights of the images: a resample is one weighting, and so is the image mix of a deployment."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

BLOCK = 64  # weightings that are computed at once
ROUNDING = 1e-9  # the relative error of sums of weights that are not whole, in shares of a list's positives
_MOST = 1 << 22  # numbers of one column that are summed at once


class Kept:
    """Values that are computed once and read several times, by key.

    Threads may share them: two that request a value at the same time may both compute it, but both get the same one.
    """

    def __init__(self) -> None:
        self.values: dict[Hashable, Any] = {}

    def get(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """Return the value under a key; compute and store it if it is not there."""
        if key in self.values:
            return self.values[key]
        return self.values.setdefault(key, make())


@dataclass(frozen=True, eq=False)
class Weights:
    """Weights of the images, of several weightings; `Weights.of` makes them.

    An image of weight 2 counts as two copies of it, with two copies of its detections and annotations. Copies of a
    detection follow one another in their list.

    Attributes
    ----------
    given
        the weights, at least 0, of shape (images, weightings)
    scaled
        the weights divided by the mean of their weighting, unless all are whole: for rules about single rows or images, which
        have a weight of 1
    is_whole
        True if all are whole numbers
    are_once
        True for one weighting with 1 for each image, which gives unweighted numbers; some metrics compute these faster
    kept
        sums of the weights that several metrics need
    """

    given: np.ndarray
    scaled: np.ndarray
    is_whole: bool
    are_once: bool = False
    kept: Kept = field(default_factory=Kept, repr=False)

    @classmethod
    def of(cls, weights: np.ndarray) -> Weights:
        """Return weights from an array of shape (images, weightings).

        >>> Weights.of(np.array([[0.5], [1.5]])).scaled.tolist(), Weights.of(np.array([[2], [4]])).scaled.tolist()
        ([[0.5], [1.5]], [[2.0], [4.0]])
        """
        weights = np.ascontiguousarray(weights, dtype=np.float64)
        is_whole = bool((weights == np.rint(weights)).all())
        scaled = weights if is_whole else weights / np.maximum(weights.mean(axis=0), np.finfo(float).tiny)
        return cls(weights, scaled, is_whole)

    @classmethod
    def once(cls, n_images: int) -> Weights:
        """Return weights of 1 for every image, which give the unweighted numbers."""
        weights = np.ones((n_images, 1))
        return cls(weights, weights, is_whole=True, are_once=True)

    @property
    def n(self) -> int:
        """The number of weightings."""
        return self.given.shape[1]

    @property
    def slack(self) -> float:
        """The relative error of sums of the weights."""
        return 0.0 if self.is_whole else ROUNDING

    def blocks(self, n_rows: int) -> Iterator[Weights]:
        """Yield some of the weightings at a time, so that one column per weighting with `n_rows` rows stays small.

        >>> [block.n for block in Weights.of(np.ones((2, 5))).blocks(1 << 21)]
        [2, 2, 1]
        """
        step = max(1, _MOST // max(1, n_rows))
        if step >= self.n:
            yield self
            return
        for begin in range(0, self.n, step):
            block = slice(begin, begin + step)
            yield Weights(self.given[:, block], self.scaled[:, block], self.is_whole)
