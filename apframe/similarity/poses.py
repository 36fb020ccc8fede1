"""Poses as arrays with one row for each keypoint, so that the pairs of a block are computed side by side."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from apframe.lazily import cached_property
from apframe.threads import pool

_BLOCK = 1 << 15  # distances at a time: the few arrays of a block stay in the processor's cache
_TINY = -700.0  # smaller exponents, whose results are denormal or 0, take many times as long
_SLACK = 1e-9  # more than rounding adds to a similarity


@dataclass(frozen=True)
class Poses:
    """The keypoints of both sides of some pairs.

    Attributes
    ----------
    found, expected
        places, of shape (x and y, keypoints, rows)
    visible
        which of the expected ones are, of shape (keypoints, rows)
    enlarged
        the boxes of the annotations with their size added on every side, of shape (x and y, first and last, rows)
    sigmas
        one for each keypoint
    areas
        of the annotations; those of negative area, which are malformed, are alike to every pose, as exp(distance²) is above 1
    """

    found: np.ndarray
    expected: np.ndarray
    visible: np.ndarray
    enlarged: np.ndarray
    sigmas: np.ndarray
    areas: np.ndarray

    @cached_property
    def n_visible(self) -> np.ndarray:
        """How many keypoints of each annotation are visible."""
        return self.visible.sum(axis=0, dtype=np.intp)

    def compare(self, pairs: pl.DataFrame, least: float) -> pl.DataFrame:
        """The pairs (`detection`, `annotation`: row numbers) that are at least so similar, and their `similarity`.

        >>> places, visible = np.array([[[1.0, 5.0]], [[1.0, 5.0]]]), np.array([[True, True]])
        >>> poses = Poses(places, places, visible, np.zeros((2, 2, 2)), np.array([0.1]), np.array([4.0, 4.0]))
        >>> poses.compare(pl.DataFrame({"detection": [0, 1], "annotation": [0, 0]}), least=0.5).rows()
        [(0, 0, 1.0)]
        """
        rows = self._near(pairs["detection"].to_numpy(), pairs["annotation"].to_numpy(), least)
        none_visible = self.n_visible[rows[1]] == 0
        are_inside = (none_visible & self._are_inside(rows)) | (self.areas < 0).take(rows[1])
        inside = rows.take(np.flatnonzero(are_inside), axis=1)  # where every distance is 0, or any is alike
        few = max(1, _BLOCK // len(self.sigmas))
        blocks = []  # in the order of the pairs, whose objects are near each other in memory
        for of_kind in (none_visible & ~are_inside, ~none_visible & ~are_inside):
            kind = rows.take(np.flatnonzero(of_kind), axis=1)
            blocks += [kind[:, start : start + few] for start in range(0, kind.shape[1], few)]
        with pool() as others:
            done = list(others.map(lambda block: self._may_reach(block, least), blocks))
            rows = np.concatenate([rows[:, :0], *(kept for kept, _ in done)], axis=1)
            exponents = np.concatenate([np.empty((0, len(self.sigmas))), *(each for _, each in done)])
            similarity = np.empty(rows.shape[1])

            def fill(group: np.ndarray) -> None:
                counted = self._counted[rows[1, group]]
                terms = exponents[group][counted].reshape(len(group), -1)
                similarity[group] = np.exp(terms, out=terms).sum(axis=1) / terms.shape[1]

            list(others.map(fill, _alike(self._n_counted[rows[1]], few)))
        kept = np.flatnonzero(similarity >= least)
        numbers = np.concatenate([rows.take(kept, axis=1), inside], axis=1, dtype=np.uint32, casting="unsafe")
        similarity = np.concatenate([similarity[kept], np.ones(inside.shape[1])])
        return pl.DataFrame({"detection": numbers[0], "annotation": numbers[1], "similarity": similarity})

    def _near(self, detection: np.ndarray, annotation: np.ndarray, least: float) -> np.ndarray:
        """The pairs that may be so similar: no keypoint is nearer than the gap between the hulls of both.

        A keypoint at that distance adds at most `exp(-gap² / (2 sigma)² / area / 2)` to the mean, with the largest sigma.
        """
        # a little more than the bound, for what rounding may add
        farthest = -2.0001 * math.log(least) * (2 * self.sigmas.max()) ** 2 if least > 1e-300 else math.inf
        reach = np.where(self.areas < 0, math.inf, farthest * (self.areas + 1e-9))
        expected = []
        unseen = np.where(self.visible, 0, np.inf)
        for places, (first, last) in zip(self.expected, self.enlarged, strict=True):
            low, high = (places + unseen).min(axis=0), (places - unseen).max(axis=0)
            expected.append((np.where(self.n_visible > 0, low, first), np.where(self.n_visible > 0, high, last)))

        def of_block(start: int) -> np.ndarray:
            rows = np.array([each[start : start + _BLOCK] for each in (detection, annotation)], dtype=np.intp)
            square = np.zeros(rows.shape[1])
            with np.errstate(over="ignore"):
                for (low, high), (first, last) in zip(self._hulls, expected, strict=True):
                    gap = np.maximum(first.take(rows[1]) - high.take(rows[0]), low.take(rows[0]) - last.take(rows[1]))
                    np.maximum(gap, 0, out=gap)
                    square += np.multiply(gap, gap, out=gap)
            return rows.take(np.flatnonzero(square <= reach.take(rows[1])), axis=1)

        with pool() as others:
            near = others.map(of_block, range(0, len(detection), _BLOCK))
            return np.concatenate([np.empty((2, 0), dtype=np.intp), *near], axis=1)

    def _are_inside(self, rows: np.ndarray) -> np.ndarray:
        """Flags: pairs in which all keypoints found are inside the enlarged box."""
        flags = np.ones(rows.shape[1], dtype=bool)
        for (low, high), (first, last) in zip(self._hulls, self.enlarged, strict=True):
            flags &= low.take(rows[0]) >= first.take(rows[1])
            flags &= high.take(rows[0]) <= last.take(rows[1])
        return flags

    def _may_reach(self, rows: np.ndarray, least: float) -> tuple[np.ndarray, np.ndarray]:
        """The pairs that may be so similar, by a quick sum that may be wrong by a little; and their exponents, exact.

        Either all annotations have visible keypoints, or none.
        """
        outside = not self.n_visible[rows[1, 0]]
        with np.errstate(over="ignore"):  # what is so far away has exp(-inf) = 0
            square, dy = (self._distances(side, *rows, outside=outside) for side in (0, 1))
            square *= square
            dy *= dy
            square += dy
            terms = np.multiply(square, self._factors.take(rows[1], axis=1), out=dy)
            np.exp(np.maximum(terms, _TINY, out=terms), out=terms)
            kept = np.flatnonzero(terms.sum(axis=0) >= self._n_counted.take(rows[1]) * (least - _SLACK))
            rows = rows[:, kept]
            # in the order of the reference, for the last bit
            return rows, (square[:, kept] / self._variances / (-2 * (self.areas[rows[1]] + np.spacing(1)))).T

    def _distances(self, side: int, detection: np.ndarray, annotation: np.ndarray, *, outside: bool) -> np.ndarray:
        """How far the keypoints are from those expected, or from the enlarged boxes that they are outside of."""
        places: np.ndarray = self.found[side].take(detection, axis=1)
        if outside:
            first, last = self.enlarged[side].take(annotation, axis=1)
            nearest = np.maximum(places, first)
            places -= np.minimum(nearest, last, out=nearest)
        else:
            places -= self.expected[side].take(annotation, axis=1)
        return places

    @cached_property
    def _hulls(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """The first and last place of the keypoints found, in x and y."""
        return [(each.min(axis=0), each.max(axis=0)) for each in self.found]

    @cached_property
    def _variances(self) -> np.ndarray:
        return np.square(self.sigmas * 2)[:, None]

    @cached_property
    def _counted(self) -> np.ndarray:
        """Flags: the keypoints whose mean is taken, which are the visible ones, or all without any."""
        return np.ascontiguousarray((self.visible | (self.n_visible == 0)).T)

    @cached_property
    def _n_counted(self) -> np.ndarray:
        return self._counted.sum(axis=1)

    @cached_property
    def _factors(self) -> np.ndarray:
        """What a squared distance is multiplied by for the exponent; hugely negative for a keypoint that does not count."""
        return np.where(self._counted.T, -0.5 / self._variances / (self.areas + np.spacing(1)), -1e300)


def _alike(n_visible: np.ndarray, size: int) -> Iterator[np.ndarray]:
    """Rows that go together: their annotations have equally many visible keypoints, and there are at most so many.

    The sum over a row is then NumPy's own over the visible keypoints alone, in the same order.
    """
    by_number = np.argsort(n_visible.astype(np.min_scalar_type(n_visible.max(initial=0))), kind="stable")
    starts = np.flatnonzero(np.diff(n_visible[by_number]) != 0) + 1
    for group in np.split(by_number, starts):
        yield from (group[start : start + size] for start in range(0, len(group), size))
