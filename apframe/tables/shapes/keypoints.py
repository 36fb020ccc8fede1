"""Keypoints: x, y and visibility of each, in one list."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import polars as pl

from apframe.validation import Sieve, sound_rows

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

_BLOCK = 256  # rows whose keypoints are laid out at a time
REMEDY = "keypoints without a position are 0, 0, 0"


def keypoint_extents(table: str, frame: pl.DataFrame) -> pl.DataFrame:
    """The box columns of keypoints: the rectangle around all of them, whatever their visibility: x, y, width, height, area.

    Rows stay in their order. `table` is the name that errors use: lists that are missing or empty, that are not three
    numbers for each keypoint, or that hold what is no finite number (`RowError`).

    Source: `COCO.loadRes` of pycocotools.

    >>> keypoint_extents("detections", pl.DataFrame({"keypoints": [[3.0, 1.0, 2.0, 1.0, 5.0, 0.0]]})).rows()
    [(1.0, 1.0, 2.0, 4.0, 8.0)]
    """
    frame = check_keypoints(table, frame)
    length = frame["keypoints"].list.len()
    import numpy as np

    if length.n_unique() == 1:
        points = keypoint_rows(frame, length[0] // 3, 2)
        low, high = points.min(axis=1), points.max(axis=1)
    else:
        numbers, starts = frame["keypoints"].explode().to_numpy(), (length.cum_sum() - length).to_numpy() // 3
        low, high = ([ends.reduceat(numbers[side::3], starts) for side in (0, 1)] for ends in (np.minimum, np.maximum))
    boxes = pl.DataFrame({"x": low[0], "y": low[1], "width": high[0] - low[0], "height": high[1] - low[1]})
    return boxes.with_columns(area=pl.col("width") * pl.col("height"))


def check_keypoints(table: str, frame: pl.DataFrame, number: int | None = None) -> pl.DataFrame:
    """The rows that have three finite numbers for each keypoint, of which there are `number`, if given; see `sound_rows`.

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


def keypoint_rows(frame: pl.DataFrame, number: int, n_columns: int = 3) -> Array:
    """x, y and visibility, or the first of these, of equally many keypoints in each row, of shape (columns, keypoints, rows).

    >>> keypoint_rows(pl.DataFrame({"keypoints": [[1.0, 2.0, 2.0], [3.0, 4.0, 0.0]]}), 1).tolist()
    [[[1.0, 3.0]], [[2.0, 4.0]], [[2.0, 0.0]]]
    """
    import numpy as np

    numbers = frame["keypoints"].explode().to_numpy().reshape(-1, number, 3)
    points = np.empty((n_columns, number, len(numbers)))
    for start in range(0, len(numbers), _BLOCK):  # which the processor's cache holds
        points[:, :, start : start + _BLOCK] = numbers[start : start + _BLOCK, :, :n_columns].transpose(2, 1, 0)
    return points


def are_not_finite(frame: pl.DataFrame) -> pl.Series:
    """Flags: rows whose `keypoints` hold a number that is missing or not finite.

    >>> are_not_finite(pl.DataFrame({"keypoints": [[1.0, 2.0, 2.0], [1.0, None, 2.0]]})).to_list()
    [False, True]
    """
    finite = pl.element().is_finite().fill_null(False).all()
    numbers = frame["keypoints"].explode()
    if not numbers.null_count() and math.isfinite(numbers.sum()):  # much cheaper than a look at every list
        return pl.repeat(False, frame.height, eager=True)
    return ~frame["keypoints"].list.eval(finite).list.first()
