"""COCO's run-length encodings as runs: counts of pixels outside and inside in turn, down the columns, plain or as text.

Source: `rleFrString` of the COCO mask API, which is lenient; here, invalid encodings are a fault. Masks are encoded exactly as
by `rleEncode` and `rleToString`.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from apframe.tables.shapes.mask_limits import MOST_PIXELS, MOST_RUNS
from apframe.tables.shapes.pixel_runs import (
    BLOCK,
    TOO_MANY,
    Fault,
    Runs,
    join_blocks,
    most_runs,
    split_at_columns,
    stretches,
)

_OFFSET, _MORE = 48, 32  # the character for 0, and the flag that the number continues
_MOST_DIGITS = 7  # digits of a number of 32 bits
_LAST_BITS = 26  # bits of the digits before the last one, which adds five and the sign
NOT_TEXT = "the run lengths are not valid COCO text"
CUT_OFF = "the run lengths are cut off"
NEGATIVE = "run lengths are negative"
NOT_WHOLE = "the run lengths do not add up to height × width"


def from_text(
    characters: np.ndarray | Callable[[int, int], np.ndarray], n_characters: np.ndarray, height: np.ndarray, width: np.ndarray
) -> Runs | Fault:
    """Decode masks from COCO's compressed counts: all texts one after the other, or a function that returns those of a block.

    Each character, minus 48, holds five bits, lowest first, and a flag that more follow; the highest bit of the last one is
    the sign. From the fourth on, each number is the difference to the number two before it.

    >>> text = np.frombuffer(b"13", dtype=np.uint8)  # one pixel outside, three inside
    >>> masks = from_text(text, np.array([2]), np.array([2]), np.array([2]))
    >>> masks.column.tolist(), masks.top.tolist(), masks.bottom.tolist()
    ([0, 1], [1, 0], [2, 2])
    """

    def of_block(text: np.ndarray, stop: np.ndarray, height: np.ndarray, width: np.ndarray) -> Runs | Fault:
        return _decoded(text - np.uint8(_OFFSET), stop, height, width)

    return _of_blocks(of_block, characters, n_characters, height, width)


def from_counts(counts: np.ndarray, n_counts: np.ndarray, height: np.ndarray, width: np.ndarray) -> Runs | Fault:
    """Decode masks from the plain counts of all masks, one after the other.

    >>> from_counts(np.array([1, 3]), np.array([2]), np.array([2]), np.array([2])).area.tolist()
    [3]
    """

    def of_block(counts: np.ndarray, stop: np.ndarray, height: np.ndarray, width: np.ndarray) -> Runs | Fault:
        n_counts = np.diff(stop, prepend=0)
        pairs, rest = _in_pairs(counts, n_counts)
        return _runs_of(pairs[:, 0], pairs[:, 1], rest, n_counts, height, width)

    return _of_blocks(of_block, counts, n_counts, height, width)


def _of_blocks(
    decode: Callable[..., Runs | Fault],
    numbers: np.ndarray | Callable[[int, int], np.ndarray],
    n_numbers: np.ndarray,
    height: np.ndarray,
    width: np.ndarray,
) -> Runs | Fault:
    """Return the masks of all blocks, each decoded on its own; or the first fault, with its masks in all blocks."""
    stop, max_runs = np.cumsum(n_numbers), most_runs(int(n_numbers.sum()))
    n_runs: list[int] = []

    def of_block(first: int, last: int) -> Runs | Fault:
        begin, masks = int(stop[first - 1]) if first else 0, slice(first, last)
        if sum(n_runs) > max_runs:
            return TOO_MANY, np.arange(first, last)
        own = numbers(first, last) if callable(numbers) else numbers[begin : int(stop[last - 1]) if last else 0]
        decoded = decode(own, stop[masks] - begin, height[masks], width[masks])
        if not isinstance(decoded, Runs):
            return decoded[0], decoded[1] + first
        n_runs.append(len(decoded.column))
        return decoded

    # limits the numbers, the pixels and the columns of a block
    weights = n_numbers + height * width * BLOCK // MOST_PIXELS + width * BLOCK // MOST_RUNS
    return join_blocks(of_block, weights, height, width, n_numbers // 2)


def _decoded(text: np.ndarray, stop: np.ndarray, height: np.ndarray, width: np.ndarray) -> Runs | Fault:
    """Decode the masks of a block from their characters minus 48."""
    n_characters = np.diff(stop, prepend=0)
    if text.max(initial=0) >= 64:
        return NOT_TEXT, np.unique(np.searchsorted(stop, np.flatnonzero(text >= 64), side="right"))
    is_cut = n_characters > 0
    is_cut[is_cut] = text[stop[is_cut] - 1] >= _MORE
    if is_cut.any():
        return CUT_OFF, np.flatnonzero(is_cut)
    is_last = text < _MORE  # digit of its number, which has the sign
    counts = ((text[is_last] ^ 16).view(np.int8) - np.int8(16)).astype(np.int32)
    digit = np.flatnonzero(~is_last)  # all others, lowest first
    bounds = stop - np.searchsorted(digit, stop)
    number = digit - np.arange(len(digit))
    value = text[digit] & 31
    row = np.flatnonzero(np.concatenate([number[1:] != number[:-1], [True]])[: len(number)])
    for n_before in range(1, _MOST_DIGITS):
        of = number[row]
        if n_before == _MOST_DIGITS - 1 and (far := (counts[of] >> _LAST_BITS != counts[of] >> 31)).any():
            return NOT_WHOLE, np.unique(np.searchsorted(bounds, of[far], side="right"))
        counts[of] = (counts[of] << 5) | value[row]
        row = row[1:][number[row[1:] - 1] == of[1:]] - 1 if len(row) and row[0] == 0 else row[number[row - 1] == of] - 1
    if len(row):
        return NOT_TEXT, np.unique(np.searchsorted(bounds, number[row], side="right"))
    n_counts = np.diff(bounds, prepend=0)
    pairs, rest = _in_pairs(counts, n_counts)
    return _runs_of(*_summed_up(pairs, rest, n_counts), n_counts, height, width)


def _in_pairs(counts: np.ndarray, n_counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return two counts for each run, outside before it and inside; and the last count of each mask if it is outside.

    >>> [part.tolist() for part in _in_pairs(np.array([1, 2, 1, 0, 4]), np.array([3, 2]))]
    [[[1, 2], [0, 4]], [1, 0]]
    """
    is_open = n_counts % 2 == 1
    last = np.cumsum(n_counts)[is_open] - 1
    rest = np.zeros(len(n_counts), dtype=counts.dtype)
    rest[is_open] = counts[last]
    is_paired = np.ones(len(counts), dtype=bool)
    is_paired[last] = False
    return counts[is_paired].reshape(-1, 2), rest


def _summed_up(pairs: np.ndarray, rest: np.ndarray, n_counts: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return counts outside, inside and at the end from differences: sum up every other number of a mask, except its first."""
    n_runs = n_counts // 2
    stop = np.cumsum(n_runs)
    second = (stop - n_runs + 1)[n_runs > 1]
    pairs[second, 0] -= pairs[second - 1, 0]
    outside, inside = (_add_up(pairs[:, place], n_runs) for place in (0, 1))
    is_difference = n_counts % 2 * n_runs > 1
    rest[is_difference] += outside[stop[is_difference] - 1]
    return outside, inside, rest


def _add_up(numbers: np.ndarray, n: np.ndarray) -> np.ndarray:
    """Return cumulative sums of the numbers of each mask.

    NumPy adds five times as fast if the numbers are every other one of an array instead of adjacent.
    """
    sums = np.cumsum(numbers, dtype=numbers.dtype)
    begin = np.cumsum(n) - n
    sums -= np.repeat(np.where(begin > 0, sums[begin - 1], 0) if len(sums) else begin, n)
    return sums


def _runs_of(
    outside: np.ndarray, inside: np.ndarray, rest: np.ndarray, n_counts: np.ndarray, height: np.ndarray, width: np.ndarray
) -> Runs | Fault:
    """Return the masks of a block from their counts, see `_in_pairs`."""
    n_runs, n_pixels = n_counts // 2, height * width
    bounds = np.cumsum(n_runs)
    for problem, low, high in ((NEGATIVE, 0, None), (NOT_WHOLE, None, MOST_PIXELS)):
        wrong = [(part < low) if high is None else (part > high) for part in (outside, inside, rest)]
        if any(flags.any() for flags in wrong):
            of_runs = np.searchsorted(bounds, np.flatnonzero(wrong[0] | wrong[1]), side="right")
            return problem, np.union1d(of_runs, np.flatnonzero(wrong[2]))
    both = np.empty((len(inside), 2), dtype=np.int32)[:, 0]
    np.add(outside, inside, out=both, casting="same_kind")
    stop = _add_up(both, n_runs)
    total = rest.astype(np.int64)
    total[n_runs > 0] += stop[bounds[n_runs > 0] - 1]
    if stop.min(initial=0) < 0 or (total != n_pixels).any():  # negative beyond 32 bits
        sums = np.concatenate([[0], np.cumsum(outside.astype(np.int64) + inside)])
        return NOT_WHOLE, np.flatnonzero(sums[bounds] - sums[bounds - n_runs] + rest != n_pixels)
    return split_at_columns(height, width, n_runs, stop - inside, stop)


def to_text(counts: np.ndarray, n_counts: np.ndarray) -> list[bytes]:
    """Return COCO's compressed counts of masks, from the plain counts of all masks one after the other; reverses `from_text`.

    Source: `rleToString` of the COCO mask API.

    >>> to_text(np.array([1, 3, 0, 40]), np.array([2, 2]))
    [b'13', b'0X1']
    """
    counts, stop = np.asarray(counts, dtype=np.int64), np.cumsum(n_counts)
    place = np.arange(len(counts)) - np.repeat(stop - n_counts, n_counts)
    later = np.flatnonzero(place > 2)
    left = counts.copy()
    left[later] -= counts[later - 2]
    characters = np.zeros((len(counts), _MOST_DIGITS), dtype=np.uint8)
    goes_on, n_characters = np.ones(len(counts), dtype=bool), np.zeros(len(counts), dtype=np.int64)
    for column in characters.T:
        digit = left & 31
        left >>= 5
        n_characters += goes_on
        goes_on = goes_on & (left != np.where(digit & 16, -1, 0))
        column[:] = digit + _OFFSET + np.where(goes_on, _MORE, 0)
    text = characters[np.arange(_MOST_DIGITS) < n_characters[:, None]].tobytes()
    ends = np.concatenate([[0], np.cumsum(n_characters)])[np.concatenate([[0], stop])].tolist()
    return [text[begin:end] for begin, end in pairwise(ends)]


def count_runs(masks: Runs) -> tuple[np.ndarray, np.ndarray]:
    """Return the plain counts of all masks, one after the other, and their number for each mask; reverses `from_counts`.

    >>> [part.tolist() for part in count_runs(from_counts(np.array([1, 2, 1]), np.array([3]), np.array([2]), np.array([2])))]
    [[1, 2, 1], [3]]
    """
    n_runs, start, stop = stretches(masks)
    n_pixels = masks.height * masks.width
    owner = np.repeat(np.arange(len(masks)), n_runs)
    joins = (stop[:-1] == start[1:]) & (owner[:-1] == owner[1:])  # at the end of a column
    edges = np.stack([start, stop], axis=1).ravel()
    is_edge = np.ones(len(edges), dtype=bool)
    is_edge[1:-1] = ~np.repeat(joins, 2)
    is_edge[1::2] &= stop < n_pixels[owner]  # at the end of the image no count follows
    return _counts(edges[is_edge], np.bincount(np.repeat(owner, 2)[is_edge], minlength=len(masks)), n_pixels)


def count_pixels(bitmaps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the runs of bitmaps of one size, Booleans of shape (masks, columns, rows).

    >>> [part.tolist() for part in count_pixels(np.array([[[False, True], [True, False]]]))]
    [[1, 2, 1], [3]]
    """
    n_pixels = int(np.prod(bitmaps.shape[1:]))
    flags = bitmaps.reshape(-1)
    changes = np.empty(len(flags), dtype=bool)
    np.not_equal(flags[1:], flags[:-1], out=changes[1:])
    begins = np.arange(len(bitmaps)) * n_pixels
    if n_pixels:
        changes[begins] = flags[begins]
    edges = np.flatnonzero(changes)
    n_edges = np.diff(np.searchsorted(edges, begins), append=len(edges))
    return _counts(edges - np.repeat(begins, n_edges), n_edges, np.full(len(bitmaps), n_pixels))


def _counts(edges: np.ndarray, n_edges: np.ndarray, n_pixels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return counts from the places of each mask, in order, where inside and outside change."""
    n_counts = n_edges + 1
    last = np.cumsum(n_counts) - 1
    is_edge = np.ones(len(edges) + len(n_edges), dtype=bool)
    is_edge[last] = False
    ends = np.empty(len(is_edge), dtype=np.int64)
    ends[is_edge], ends[last] = edges, n_pixels
    counts = np.diff(ends, prepend=0)
    counts[last[:-1] + 1] = ends[last[:-1] + 1]
    return counts, n_counts
