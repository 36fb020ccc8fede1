"""Run lengths along the rows of a crop, as CVAT has them, of COCO's, which run down the columns of the image; and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple


class Crop(NamedTuple):
    """The smallest part of an image that holds a mask: its runs outside and inside in turn, along the rows; where it lies."""

    counts: list[int]
    left: int
    top: int
    width: int
    height: int


def to_columns(crop: Crop, image_height: int, image_width: int) -> list[int]:
    """The run lengths down the columns of the whole image, outside and inside in turn.

    The counts of the crop add up to its pixels, and it lies inside the image.

    >>> to_columns(Crop([0, 3, 1], left=1, top=0, width=2, height=2), image_height=3, image_width=4)
    [3, 2, 1, 1, 5]
    """
    import numpy as np  # slow to import, and no other format needs it

    pixels = np.repeat(np.arange(len(crop.counts)) % 2, crop.counts).reshape(crop.height, crop.width)
    framed = np.pad(pixels.T.astype(np.int8), ((0, 0), (1, 1)))
    steps = np.diff(framed)
    column, top = np.nonzero(steps == 1)
    bottom = np.nonzero(steps == -1)[1]
    above = (crop.left + column) * image_height + crop.top
    start, stop = above + top, above + bottom
    apart = start[1:] != stop[:-1]  # a run may go on in the next column
    start, stop = start[np.concatenate([[True], apart])[: len(start)]], stop[np.concatenate([apart, [True]])[: len(stop)]]
    edges = np.concatenate([[0], np.stack([start, stop], axis=1).ravel(), [image_height * image_width]])
    counts: list[int] = np.diff(edges).tolist()
    return counts if counts[-1] or len(counts) == 1 else counts[:-1]


def to_crop(mask: Any) -> Crop | None:
    """The crop of a mask: COCO's encoding (`size` and `counts`, numbers or text) or a bitmap; None where it has no pixels.

    Raises
    ------
    ValueError
        what is no encoding, or does not fill its size

    >>> to_crop({"size": [3, 4], "counts": [3, 2, 1, 1, 5]})
    Crop(counts=[0, 3, 1], left=1, top=0, width=2, height=2)
    """
    import numpy as np

    if isinstance(mask, dict):
        try:
            (height, width), counts = mask["size"], mask["counts"]
            counts = _counts_of_text(counts) if isinstance(counts, str) else counts
            pixels = np.repeat(np.arange(len(counts)) % 2, counts).reshape(width, height).T
        except (LookupError, TypeError) as error:
            raise ValueError("no size and counts") from error
    else:
        pixels = np.asarray(mask) != 0
    rows, columns = np.flatnonzero(pixels.any(axis=1)), np.flatnonzero(pixels.any(axis=0))
    if not len(rows):
        return None
    part = pixels[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    flat = np.concatenate([[False], part.ravel()])  # runs begin outside
    turns = np.flatnonzero(flat[1:] != flat[:-1])
    counts = np.diff(np.concatenate([[0], turns, [part.size]])).tolist()
    return Crop(counts, int(columns[0]), int(rows[0]), part.shape[1], part.shape[0])


def _counts_of_text(text: str) -> Sequence[int]:
    """COCO's compressed counts as numbers.

    Five bits a character, lowest first, and a flag that more follow; from the fourth on, a number is the difference to the one
    before the last. Source: `rleFrString` of the COCO mask API.
    """
    counts: list[int] = []
    number, shift = 0, 0
    for character in text.encode("ascii", "replace"):
        digit = character - 48
        number |= (digit & 31) << shift
        shift += 5
        if digit & 32:
            continue
        if digit & 16:
            number -= 1 << shift
        counts.append(number + (counts[-2] if len(counts) > 2 else 0))
        number, shift = 0, 0
    return counts
