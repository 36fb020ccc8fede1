"""Keypoints: x, y and visibility of each, in one list."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from apframe.lazily import cached_property
from apframe.validation import Sieve, sound_rows

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

REMEDY = "keypoints without a position are 0, 0, 0"


@dataclass(frozen=True, eq=False)
class Places:
    """The keypoints of some rows, the same number in each.

    Attributes
    ----------
    points
        x + iy, of shape (rows, keypoints)
    visible
        flags of the visible keypoints, of the same shape
    """

    points: Array
    visible: Array

    def take(self, rows: Array) -> Places:
        """Select rows, in any order."""
        return Places(self.points[rows], self.visible[rows])

    @cached_property
    def hull(self) -> tuple[Array, Array]:
        """The first and last corners of the rectangle around the keypoints of each row."""
        import numpy as np

        return _hull(self.points.reshape(-1), np.arange(0, self.points.size, self.points.shape[1]))


def keypoint_extents(table: str, shapes: pl.DataFrame | Places) -> pl.DataFrame:
    """Return x, y, width, height and area of the rectangle around all keypoints, visible or not.

    Rows stay in their order. `table` is used in errors: lists that are missing or empty, do not have three numbers for each
    keypoint, or have values that are not finite numbers (`RowError`).

    Source: `COCO.loadRes` of pycocotools.

    >>> keypoint_extents("detections", pl.DataFrame({"keypoints": [[3.0, 1.0, 2.0, 1.0, 5.0, 0.0]]})).rows()
    [(1.0, 1.0, 2.0, 4.0, 8.0)]
    """
    if isinstance(shapes, pl.DataFrame):
        frame = check_keypoints(table, shapes)
        length = frame["keypoints"].list.len()
        low, high = _hull(_points(frame["keypoints"].explode().to_numpy()), (length.cum_sum() - length).to_numpy() // 3)
    else:
        low, high = shapes.hull
    width, height = high.real - low.real, high.imag - low.imag
    return pl.DataFrame({"x": low.real, "y": low.imag, "width": width, "height": height, "area": width * height})


def check_keypoints(table: str, frame: pl.DataFrame, number: int | None = None) -> pl.DataFrame:
    """Return the rows with three finite numbers for each keypoint, and `number` keypoints if given; see `sound_rows`.

    >>> check_keypoints("annotations", pl.DataFrame({"keypoints": [[1.0, 2.0, 2.0]]}), 1).height
    1
    """
    length = frame["keypoints"].list.len().fill_null(0)
    sieve = Sieve(table, frame)
    sieve.refuse(length == 0, "keypoints is missing", "supply it or remove these rows")
    if number is None:
        problem = "keypoints is not a list of three numbers, x, y, visibility, for each keypoint,"
        sieve.refuse(length % 3 != 0, problem, "correct or remove these rows")
    else:
        problem = f"keypoints is not a list of {3 * number} numbers, x, y, visibility for each of {number} sigmas,"
        sieve.refuse(length != 3 * number, problem, "correct these rows, or give other sigmas to OKS(sigmas=...)")
    frame = sieve.sound(frame)
    return sound_rows(table, frame, are_not_finite(frame), "keypoints holds a number that is missing or not finite", REMEDY)


def place_keypoints(lists: pl.Series, number: int) -> Places:
    """Return the keypoints of lists with `number` keypoints each, whose numbers must be finite.

    >>> places = place_keypoints(pl.Series([[1.0, 2.0, 2.0], [3.0, 4.0, 0.0]]), 1)
    >>> places.points.tolist(), places.visible.tolist()
    ([[(1+2j)], [(3+4j)]], [[True], [False]])
    """
    numbers = lists.explode().to_numpy()
    return Places(_points(numbers).reshape(-1, number), (numbers[2::3] > 0).reshape(-1, number))


def are_sound(lists: pl.Series, number: int) -> bool:
    """Return True if `place_keypoints` can be called; a fast check, which may return False for sound lists of huge numbers.

    >>> are_sound(pl.Series([[1.0, 2.0, 2.0]]), 1), are_sound(pl.Series([[1.0, 2.0, 2.0], None]), 1)
    (True, False)
    """
    return bool((lists.list.len() == 3 * number).fill_null(False).all()) and _are_finite(lists.explode())


def _are_finite(numbers: pl.Series) -> bool:
    return not numbers.null_count() and math.isfinite(numbers.sum())  # much cheaper than checking every list


def _points(numbers: Array) -> Array:
    import numpy as np

    return np.ascontiguousarray(numbers.reshape(-1, 3)[:, :2].view(complex)[:, 0])


def _hull(points: Array, starts: Array) -> tuple[Array, Array]:
    """Return the corners of the rectangle around the points of each row; `starts` has the first point of each."""
    import numpy as np

    low, high = (
        complex_of(ends.reduceat(points.real, starts), ends.reduceat(points.imag, starts)) for ends in (np.minimum, np.maximum)
    )
    return low, high


def complex_of(real: Array, imaginary: Array) -> Array:
    """Return complex numbers from their parts.

    >>> import numpy as np
    >>> complex_of(np.array([1.0]), np.array([2.0])).tolist()
    [(1+2j)]
    """
    numbers = real.astype(complex)
    numbers.imag = imaginary
    return numbers


def are_not_finite(frame: pl.DataFrame) -> pl.Series:
    """Flag the rows whose `keypoints` have a number that is missing or not finite.

    >>> are_not_finite(pl.DataFrame({"keypoints": [[1.0, 2.0, 2.0], [1.0, None, 2.0]]})).to_list()
    [False, True]
    """
    finite = pl.element().is_finite().fill_null(False).all()
    if _are_finite(frame["keypoints"].explode()):
        return pl.repeat(False, frame.height, eager=True)
    return ~frame["keypoints"].list.eval(finite).list.first()
