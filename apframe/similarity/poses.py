"""Poses as arrays with one row for each keypoint, so that the pairs of a block are computed at once."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from apframe.lazily import cached_property
from apframe.similarity.pairs import join_on_cell
from apframe.tables.shapes.boxes import BOX
from apframe.tables.shapes.keypoints import Places, check_keypoints, complex_of, place_keypoints
from apframe.threads import keep_pages, pool

if TYPE_CHECKING:
    from apframe.similarity.oks import OKS

_BLOCK = 1 << 15  # distances at a time: the few arrays of a block stay in the processor's cache
_TINY = -87.0  # smaller exponents, whose results are denormal or 0 in single precision, take many times as long
_SLACK = 1e-6  # more than rounding to single precision adds to a similarity: an exponent e is off by 6e-8 e, so exp(-e) by 2e-8


def pair_poses(
    oks: OKS,
    detections: pl.DataFrame,
    annotations: pl.DataFrame,
    min_similarity: float,
    prepared: tuple[Places | None, Places | None],
) -> pl.DataFrame:
    """Return the pairs of `OKS.pair`, for tables that have the columns."""
    sides = []
    for table, frame, places in zip(("detections", "annotations"), (detections, annotations), prepared, strict=True):
        n = len(oks.sigmas)
        sides.append(place_keypoints(check_keypoints(table, frame, n)["keypoints"], n) if places is None else places)
    x, y, width, height = (annotations[name].to_numpy() for name in BOX)
    enlarged = complex_of(x - width, y - height), complex_of(x + width * 2, y + height * 2)
    areas = annotations["area"].to_numpy() if oks.box_area_factor is None else height * width * oks.box_area_factor
    pairs = join_on_cell(detections, annotations, []).select("detection", "annotation").collect(engine="streaming")
    return Poses(sides[0], sides[1], enlarged, np.array(oks.sigmas), areas).compare(pairs, min_similarity)


@dataclass(frozen=True, eq=False)
class Poses:
    """The keypoints of the detections and annotations to compare. Positions are complex numbers, x + iy.

    Attributes
    ----------
    detection_poses, annotation_poses
        the keypoints of each
    enlarged
        the first and the last corners of the annotations' boxes, enlarged by their size on every side
    sigmas
        one for each keypoint
    areas
        areas of the annotations; malformed ones with a negative area match every pose, as exp(distance²) is above 1
    """

    detection_poses: Places
    annotation_poses: Places
    enlarged: tuple[np.ndarray, np.ndarray]
    sigmas: np.ndarray
    areas: np.ndarray

    @cached_property
    def n_visible(self) -> np.ndarray:
        """Number of visible keypoints of each annotation."""
        return self.annotation_poses.visible.sum(axis=1, dtype=np.intp)

    def compare(self, pairs: pl.DataFrame, min_similarity: float) -> pl.DataFrame:
        """Return the pairs (`detection`, `annotation`: row numbers) of at least `min_similarity`, and their `similarity`.

        >>> places, nowhere = Places(np.array([[1 + 1j], [5 + 5j]]), np.array([[True], [True]])), np.zeros(2, dtype=complex)
        >>> poses = Poses(places, places, (nowhere, nowhere), np.array([0.1]), np.array([4.0, 4.0]))
        >>> poses.compare(pl.DataFrame({"detection": [0, 1], "annotation": [0, 0]}), min_similarity=0.5).rows()
        [(0, 0, 1.0)]
        """
        if pairs.height > _BLOCK:
            keep_pages()
        rows = self._near(pairs["detection"].to_numpy(), pairs["annotation"].to_numpy(), min_similarity)
        none_visible = self.n_visible[rows[1]] == 0
        are_inside = (none_visible & self._are_inside(rows)) | (self.areas < 0).take(rows[1])
        inside = rows.take(np.flatnonzero(are_inside), axis=1)  # where every distance is 0, or any is alike
        few = max(1, _BLOCK // len(self.sigmas))
        blocks = []  # in the order of the pairs, whose objects are near each other in memory
        for of_kind in (none_visible & ~are_inside, ~none_visible & ~are_inside):
            kind = rows.take(np.flatnonzero(of_kind), axis=1)
            blocks += [kind[:, start : start + few] for start in range(0, kind.shape[1], few)]
        with pool() as others:
            done = list(others.map(lambda block: self._may_reach(block, min_similarity), blocks))
            rows = np.concatenate([rows[:, :0], *(kept for kept, _ in done)], axis=1)
            exponents = np.concatenate([np.empty((0, len(self.sigmas))), *(each for _, each in done)])
            similarity = np.empty(rows.shape[1])

            def fill(group: np.ndarray) -> None:
                counted = self._counted[rows[1, group]]
                terms = exponents[group][counted].reshape(len(group), -1)
                similarity[group] = np.exp(terms, out=terms).sum(axis=1) / terms.shape[1]

            list(others.map(fill, _alike(self._n_counted[rows[1]], few)))
        kept = np.flatnonzero(similarity >= min_similarity)
        numbers = np.concatenate([rows.take(kept, axis=1), inside], axis=1, dtype=np.uint32, casting="unsafe")
        similarity = np.concatenate([similarity[kept], np.ones(inside.shape[1])])
        return pl.DataFrame({"detection": numbers[0], "annotation": numbers[1], "similarity": similarity})

    def _near(self, detection: np.ndarray, annotation: np.ndarray, min_similarity: float) -> np.ndarray:
        """Return the pairs that may reach `min_similarity`: no keypoint is nearer than the gap between the hulls of both.

        A keypoint at that distance adds at most `exp(-gap² / (2 sigma)² / area / 2)` to the mean, with the largest sigma.
        """
        # a little more than the bound, to allow for rounding
        farthest = -2.0001 * math.log(min_similarity) * (2 * self.sigmas.max()) ** 2 if min_similarity > 1e-300 else math.inf
        reach = np.where(self.areas < 0, math.inf, farthest * (self.areas + 1e-9))
        (low, high), (first, last) = self.detection_poses.hull, self._expected_hull

        def of_block(start: int) -> np.ndarray:
            rows = np.array([each[start : start + _BLOCK] for each in (detection, annotation)], dtype=np.intp)
            with np.errstate(over="ignore"):
                before, behind = first.take(rows[1]) - high.take(rows[0]), low.take(rows[0]) - last.take(rows[1])
                gap = np.maximum(before.view(float), behind.view(float))
                np.maximum(gap, 0, out=gap)
                gap *= gap
                return rows.take(np.flatnonzero(gap[::2] + gap[1::2] <= reach.take(rows[1])), axis=1)

        with pool() as others:
            near = others.map(of_block, range(0, len(detection), _BLOCK))
            return np.concatenate([np.empty((2, 0), dtype=np.intp), *near], axis=1)

    def _are_inside(self, rows: np.ndarray) -> np.ndarray:
        """Flag the pairs in which all keypoints of the detection are inside the enlarged box."""
        (low, high), (first, last) = self.detection_poses.hull, self.enlarged
        flags = low.take(rows[0]).view(float) >= first.take(rows[1]).view(float)
        flags &= high.take(rows[0]).view(float) <= last.take(rows[1]).view(float)
        return flags[::2] & flags[1::2]

    def _may_reach(self, rows: np.ndarray, min_similarity: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the pairs that may reach `min_similarity`, by a fast sum in single precision; and their exact exponents.

        Either all annotations have visible keypoints, or none.
        """
        with np.errstate(over="ignore"):  # keypoints so far away have exp(-inf) = 0
            apart = self._distances(*rows)
            square = np.square(apart.real)
            square += np.square(apart.imag)
            terms = np.multiply(square, self._factors.take(rows[1], axis=0), out=np.empty(square.shape, np.float32))
            np.exp(np.maximum(terms, _TINY, out=terms), out=terms)
            reached = np.einsum("ij->i", terms) >= self._n_counted.take(rows[1]) * (min_similarity - _SLACK)
            kept = np.flatnonzero(reached)
            rows = rows.take(kept, axis=1)
            # in the order of the reference, for the last bit
            exponents = square.take(kept, axis=0)
            exponents /= self._variances
            exponents /= (-2 * (self.areas[rows[1]] + np.spacing(1)))[:, None]
            return rows, exponents

    def _distances(self, detection: np.ndarray, annotation: np.ndarray) -> np.ndarray:
        """Return the distances of the keypoints from those of the annotations, or from the enlarged boxes."""
        places: np.ndarray = self.detection_poses.points.take(detection, axis=0)
        if self.n_visible[annotation[0]]:
            places -= self.annotation_poses.points.take(annotation, axis=0)
        else:
            first, last = (corner.take(annotation)[:, None] for corner in self.enlarged)
            for along, low, high in ((places.real, first.real, last.real), (places.imag, first.imag, last.imag)):
                nearest = np.maximum(along, low)
                along -= np.minimum(nearest, high, out=nearest)
        return places

    @cached_property
    def _expected_hull(self) -> tuple[np.ndarray, np.ndarray]:
        """The corners around the visible keypoints of each annotation, or around the enlarged box if none is visible."""
        places, seen, (first, last) = self.annotation_poses, self.n_visible > 0, self.enlarged
        any_visible = np.take_along_axis(places.points, places.visible.argmax(axis=1)[:, None], axis=1)
        low, high = replace(places, points=np.where(places.visible, places.points, any_visible)).hull
        return np.where(seen, low, first), np.where(seen, high, last)

    @cached_property
    def _variances(self) -> np.ndarray:
        return np.square(self.sigmas * 2)

    @cached_property
    def _counted(self) -> np.ndarray:
        """Flags of the keypoints that the mean is over: the visible ones, or all of them if none is visible."""
        return self.annotation_poses.visible | (self.n_visible == 0)[:, None]

    @cached_property
    def _n_counted(self) -> np.ndarray:
        return self._counted.sum(axis=1)

    @cached_property
    def _factors(self) -> np.ndarray:
        """Factors from squared distances to exponents; hugely negative for keypoints that do not count."""
        return np.where(self._counted, -0.5 / self._variances / (self.areas + np.spacing(1))[:, None], -1e300)


def _alike(n_visible: np.ndarray, size: int) -> Iterator[np.ndarray]:
    """Yield groups of at most `size` rows whose annotations have the same number of visible keypoints.

    The sum over a row is then NumPy's own, over the visible keypoints alone and in the same order.
    """
    by_number = np.argsort(n_visible.astype(np.min_scalar_type(n_visible.max(initial=0))), kind="stable")
    starts = np.flatnonzero(np.diff(n_visible[by_number]) != 0) + 1
    for group in np.split(by_number, starts):
        yield from (group[start : start + size] for start in range(0, len(group), size))
