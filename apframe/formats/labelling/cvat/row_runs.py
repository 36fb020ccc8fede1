"""Conversion between run lengths along the rows of a crop (CVAT) and down the columns of the image (COCO)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from apframe.tables.shapes.mask_limits import MOST_PIXELS, MOST_RUNS, MOST_SIDE
from apframe.tables.shapes.pixel_runs import Runs
from apframe.tables.shapes.run_lengths import from_counts, from_text


class Crop(NamedTuple):
    """The smallest part of an image that holds a mask: run lengths outside and inside in turn, along rows; and its place."""

    counts: list[int]
    left: int
    top: int
    width: int
    height: int


def to_columns(crop: Crop, image_height: int, image_width: int) -> list[int]:
    """Return the run lengths down the columns of the whole image, outside and inside in turn.

    The counts of the crop must add up to its pixels, and it must be inside the image, which must be within the limits in
    `apframe.tables.shapes.mask_limits`.

    Raises
    ------
    ValueError
        the mask has too many run lengths

    >>> to_columns(Crop([0, 3, 1], left=1, top=0, width=2, height=2), image_height=3, image_width=4)
    [3, 2, 1, 1, 5]
    """
    rows = _runs(_as_counts(crop.counts), crop.width, crop.height)  # columns here are the rows of the crop
    x, y = _turns(*rows)
    return _counts((crop.left + x) * image_height + crop.top + y, image_height * image_width)


def to_crop(mask: Any) -> Crop | None:
    """Return the crop of a mask: COCO's encoding (`size` and `counts`, numbers or text) or a bitmap; None without pixels.

    Raises
    ------
    ValueError
        the mask is not an encoding, does not fill its size, or is beyond the limits in `apframe.tables.shapes.mask_limits`

    >>> to_crop({"size": [3, 4], "counts": [3, 2, 1, 1, 5]})
    Crop(counts=[0, 3, 1], left=1, top=0, width=2, height=2)
    """
    if isinstance(mask, dict):
        try:
            (height, width), counts = mask["size"], mask["counts"]
            is_within = 0 < height <= MOST_SIDE and 0 < width <= MOST_SIDE and height * width <= MOST_PIXELS
            counts = counts if isinstance(counts, str) else _as_counts(counts)
        except (LookupError, TypeError, OverflowError) as error:
            raise ValueError("size or counts are missing") from error
        if not is_within:
            raise ValueError("the size is not positive, or beyond the limits")
    else:
        pixels = np.asarray(mask) != 0
        height, width = pixels.shape
        flat = np.concatenate([[False], pixels.T.ravel()])  # runs begin outside
        counts = np.diff(np.concatenate([[0], np.flatnonzero(flat[1:] != flat[:-1]), [pixels.size]]))
    column, top, bottom = _runs(counts, height, width)
    if not len(column):
        return None
    left, above = int(column.min()), int(top.min())
    across, down = int(column.max()) + 1 - left, int(bottom.max()) - above
    y, x = _turns(column, top, bottom)
    return Crop(_counts((y - above) * across + x - left, across * down), left, above, across, down)


def _as_counts(counts: Any) -> np.ndarray:
    """Return run lengths as an array; raise an error if one is negative or more than the pixels of a mask."""
    array = np.asarray(counts, dtype=object if not len(counts) else None)
    if len(array) and array.dtype.kind not in "iu":
        raise ValueError("counts are not whole numbers")
    if len(array) and not (array.min() >= 0 and array.max() <= MOST_PIXELS):
        raise ValueError("counts are negative, or beyond the limits")
    return array.astype(np.int64)


def _runs(counts: str | np.ndarray, height: int, width: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return column, beginning and end of the runs of one mask from its counts, plain or as COCO's text."""
    size = np.array([height], dtype=np.int64), np.array([width], dtype=np.int64)
    if isinstance(counts, str):
        characters = np.frombuffer(counts.encode(), dtype=np.uint8)
        runs = from_text(characters, np.array([len(characters)]), *size)
    else:
        runs = from_counts(counts, np.array([len(counts)]), *size)
    if not isinstance(runs, Runs):
        raise ValueError(runs[0])
    column, top, bottom = (part.astype(np.int64) for part in (runs.column, runs.top, runs.bottom))
    return column, top, bottom


def _turns(line: np.ndarray, begin: np.ndarray, end: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the pixels that differ from the line before: place in the line, and line."""
    step = int(end.max(initial=0)) + 1
    # the sorted ends of a line and the next one form pairs around pixels that differ
    ends = np.sort(np.concatenate([at * step + side for at in (line, line + 1) for side in (begin, end)]))
    start, n = ends[::2], ends[1::2] - ends[::2]
    if n.sum() > MOST_RUNS:
        raise ValueError("more run lengths than a mask can have")
    at = np.arange(n.sum()) + np.repeat(start - (np.cumsum(n) - n), n)
    return at % step, at // step


def _counts(turns: np.ndarray, n_pixels: int) -> list[int]:
    """Return run lengths from the places where inside and outside change, in any order; two at one place cancel out."""
    turns = np.sort(turns)
    is_double = np.concatenate([turns[1:] == turns[:-1], [False]])
    is_double[1:] |= is_double[:-1].copy()
    edges = np.concatenate([[0], turns[~is_double[: len(turns)]], [n_pixels]])
    counts: list[int] = np.diff(edges).tolist()
    return counts if counts[-1] or len(counts) == 1 else counts[:-1]
