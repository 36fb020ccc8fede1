"""Weights of the images: a resample is one weighting, and so is the mix of a deployment."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

BLOCK = 64  # weightings that are computed together
ROUNDING = 1e-9  # the share of a list's positives that sums of weights may be short of, where these are not whole
_MOST = 1 << 22  # numbers of one column that are summed together


class Kept:
    """What is made once and read several times, under keys.

    Threads may share it: two that ask for something at the same time may both make it, and then have the same.
    """

    def __init__(self) -> None:
        self.values: dict[Hashable, Any] = {}

    def get(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """What has been made under a key, or is made now."""
        if key in self.values:
            return self.values[key]
        return self.values.setdefault(key, make())


@dataclass(frozen=True, eq=False)
class Weights:
    """Weights of the images, of several weightings; `Weights.of` makes them.

    An image of weight 2 counts as two copies of it: its detections, false positives and annotations all do. Copies of a
    detection follow one another in their list.

    Attributes
    ----------
    given
        at least 0, of shape (images, weightings)
    scaled
        divided by the mean of their weighting, unless all are whole: for rules that know single rows or images, of which a
        weight of 1 is one
    is_whole
        whether all are whole numbers
    are_once
        whether these are the plain numbers, of which some metrics have a faster way: one weighting, with 1 for each image
    kept
        sums of the weights that several metrics need
    """

    given: np.ndarray
    scaled: np.ndarray
    is_whole: bool
    are_once: bool = False
    kept: Kept = field(default_factory=Kept, repr=False)

    @classmethod
    def of(cls, given: np.ndarray) -> Weights:
        """Weights as they are given.

        >>> Weights.of(np.array([[0.5], [1.5]])).scaled.tolist(), Weights.of(np.array([[2], [4]])).scaled.tolist()
        ([[0.5], [1.5]], [[2.0], [4.0]])
        """
        given = np.ascontiguousarray(given, dtype=np.float64)
        is_whole = bool((given == np.rint(given)).all())
        scaled = given if is_whole else given / np.maximum(given.mean(axis=0), np.finfo(float).tiny)
        return cls(given, scaled, is_whole)

    @classmethod
    def once(cls, n_images: int) -> Weights:
        """Every image once, which gives the plain numbers."""
        given = np.ones((n_images, 1))
        return cls(given, given, is_whole=True, are_once=True)

    @property
    def n(self) -> int:
        """How many weightings there are."""
        return self.given.shape[1]

    @property
    def slack(self) -> float:
        """By which share sums of the weights may be rounded."""
        return 0.0 if self.is_whole else ROUNDING

    def blocks(self, n_rows: int) -> Iterator[Weights]:
        """Some of the weightings at a time, so that a column for each of them over so many rows stays small.

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
