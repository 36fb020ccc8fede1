"""Operations on each list over whole columns: sums, running sums, largest values, and ranges of numbers.

Rows of one list follow one another. `bounds` are the first row of each list, and the end of the last list: a list may have no
rows. `segment` is the number of each row's list, ascending; it may skip numbers.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

_ROWS = 1 << 13  # rows whose weights are summed at once, so that they fit into the processor's cache


def is_first(*columns: np.ndarray) -> np.ndarray:
    """Return True for rows in which a column differs from the row before.

    >>> is_first(np.array([3, 3, 3, 5]), np.array([1, 1, 2, 2])).tolist()
    [True, False, True, True]
    """
    flags = np.zeros(len(columns[0]), dtype=bool)
    flags[:1] = True
    for column in columns:
        flags[1:] |= column[1:] != column[:-1]
    return flags


def starts_of(*columns: np.ndarray) -> np.ndarray:
    """Return the rows in which a column differs from the row before.

    >>> starts_of(np.array([3, 3, 5])).tolist()
    [0, 2]
    """
    return np.flatnonzero(is_first(*columns))


def lasts_of(starts: np.ndarray, n: int) -> np.ndarray:
    """Return the last row of each run: runs begin at `starts`, and there are n rows.

    >>> lasts_of(np.array([0, 2]), 5).tolist()
    [1, 4]
    """
    return np.append(starts[1:], n)[: len(starts)] - 1


def ranges(first: np.ndarray, n: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers x, x + 1 … x + n - 1 for each x of `first`, one after the other, and the position of each one's x.

    >>> [each.tolist() for each in ranges(np.array([5, 0, 2]), np.array([2, 0, 1]))]
    [[5, 6, 2], [0, 0, 2]]
    """
    of = np.repeat(np.arange(len(n)), n)
    return np.arange(len(of)) + (first - (np.cumsum(n) - n))[of], of


def sums(values: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """Sum the rows of each list, down the columns; 0 for a list without rows.

    >>> sums(np.array([[1.0], [2.0], [4.0]]), np.array([0, 2, 2, 3])).tolist()
    [[3.0], [0.0], [4.0]]
    """
    summed = np.zeros((len(bounds) - 1, *values.shape[1:]))
    filled = np.flatnonzero(np.diff(bounds))
    if len(filled):
        summed[filled] = np.add.reduceat(values, bounds[filled], axis=0)
    return summed


def sums_of_weights(
    weights: np.ndarray, image: np.ndarray, number: np.ndarray, n_lists: int, factor: np.ndarray | None = None
) -> np.ndarray:
    """Sum the weights of each list's images; the result has the shape (lists, weightings).

    Parameters
    ----------
    weights
        the weights, of shape (images, weightings)
    image, number
        for each row: the number of its image, and the number of its list, ascending
    n_lists
        the number of lists
    factor
        a factor for the weight of each row

    >>> sums_of_weights(np.array([[2.0], [1.0]]), np.array([0, 0, 1]), np.array([0, 2, 2]), 3).ravel().tolist()
    [2.0, 0.0, 3.0]
    """
    summed = np.zeros((n_lists, weights.shape[1]))
    starts = starts_of(number)
    for first, last in cut_into_runs(np.diff(starts, append=len(number)), _ROWS):
        rows = slice(int(starts[first]), int(starts[last]) if last < len(starts) else len(number))
        own = weights.take(image[rows], axis=0)
        if factor is not None:
            own *= factor[rows, None]
        summed[number[starts[first:last]]] = np.add.reduceat(own, starts[first:last] - rows.start, axis=0)
    return summed


def extremes(pick: np.ufunc, values: np.ndarray, bounds: np.ndarray, empty: float) -> np.ndarray:
    """Return the smallest (`np.minimum`) or largest (`np.maximum`) value of each list, down the columns.

    >>> extremes(np.maximum, np.array([1, 5, 2]), np.array([0, 2, 2, 3]), empty=0).tolist()
    [5, 0, 2]
    """
    result = np.full((len(bounds) - 1, *values.shape[1:]), empty, dtype=values.dtype)
    filled = np.flatnonzero(np.diff(bounds))
    if len(filled):
        result[filled] = pick.reduceat(values, bounds[filled], axis=0)
    return result


def sums_before(values: np.ndarray) -> np.ndarray:
    """Sum all rows before each row, and all rows at the end, down the columns; differences give the sums of lists.

    >>> sums_before(np.array([1.0, 2.0, 4.0])).tolist()
    [0.0, 1.0, 3.0, 7.0]
    """
    upto = np.zeros((len(values) + 1, *values.shape[1:]))
    np.cumsum(values, axis=0, out=upto[1:])
    return upto


def running_sums(values: np.ndarray, starts: np.ndarray, segment: np.ndarray) -> np.ndarray:
    """Sum the rows down to each row, starting again at each of `starts`; `segment` is the number of each row's start.

    >>> running_sums(np.array([[1.0], [2.0], [4.0]]), np.array([0, 2]), np.array([0, 0, 1])).ravel().tolist()
    [1.0, 3.0, 4.0]
    """
    upto = np.cumsum(values, axis=0)
    if len(starts) > 1:
        before = np.zeros((len(starts), *values.shape[1:]))
        before[1:] = upto[starts[1:] - 1]
        upto -= before.take(segment, axis=0)
    return upto


def suffix_maxima(values: np.ndarray, segment: np.ndarray) -> np.ndarray:
    """Return the largest value from each row to the end of its list, down the columns: the envelope of precision.

    Complex numbers are compared by their real parts first. With the list's number as the real part, the running maximum, which
    comes from the end, starts again in each list. The values are exact.

    >>> suffix_maxima(np.array([0.5, 0.6, 0.9]), np.array([0, 0, 1])).tolist()
    [0.6, 0.6, 0.9]
    """
    backwards = np.empty(values.shape, dtype=np.complex128)
    np.negative(segment[::-1].reshape(-1, *[1] * (values.ndim - 1)), out=backwards.real, casting="unsafe")
    backwards.imag = values[::-1]
    best: np.ndarray = np.maximum.accumulate(backwards, axis=0, out=backwards).imag[::-1]
    return best


def cut_into_runs(lengths: np.ndarray, most: int, most_items: int | None = None) -> list[tuple[int, int]]:
    """Split items into runs with a total length of about `most`; returns the first and last (exclusive) item of each run.

    >>> cut_into_runs(np.array([2, 2, 9, 1]), most=4)
    [(0, 2), (2, 3), (3, 4)]
    """
    if not len(lengths):
        return []
    run = (np.cumsum(lengths) - lengths) // most
    item = np.arange(len(lengths)) // (most_items or len(lengths))
    return list(pairwise([0, *(starts_of(run, item)[1:]).tolist(), len(lengths)]))


def divide(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the quotients, 0 where the divisor is 0.

    >>> divide(np.array([1.0, 1.0]), np.array([2.0, 0.0])).tolist()
    [0.5, 0.0]
    """
    return np.divide(a, b, out=np.zeros(np.broadcast_shapes(a.shape, b.shape)), where=b != 0)
