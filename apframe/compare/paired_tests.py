"""Tests of paired differences: by random exchange, and the t test."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

BLOCK = 1 << 21  # numbers in a block of signs, at most: 16 MB
EQUAL = 1e-12  # sums that differ by less than this part of the sum of sizes are equal but for rounding


def randomisation(d: np.ndarray, n_resamples: int, seed: int) -> np.ndarray:
    """p of each column: the share of sign vectors whose sum is as far from 0 as the sum itself.

    If there are at most `n_resamples` sign vectors, all are taken. Otherwise so many are drawn, and p is
    `(1 + count) / (n_resamples + 1)`.

    >>> randomisation(np.array([[0.75], [0.5], [0.25]]), n_resamples=8, seed=0).tolist()
    [0.25]
    """
    n, rng = len(d), np.random.default_rng(seed)
    exact = 2**n <= n_resamples
    total = 2**n if exact else n_resamples
    least = np.abs(d.sum(axis=0)) - EQUAL * np.abs(d).sum(axis=0)
    count = np.zeros(d.shape[1])
    for start, stop in _blocks(total, n):
        numbers = np.arange(start, stop)[:, None]  # whose bits are all choices there are
        flips = (numbers >> np.arange(n)) & 1 if exact else rng.integers(0, 2, (len(numbers), n), np.int8)
        count += (np.abs((1.0 - 2.0 * flips) @ d) >= least).sum(axis=0)
    return count / total if exact else (1 + count) / (1 + total)


def paired_t(d: np.ndarray) -> np.ndarray:
    """p of each column by the paired t test, two-sided, NaN with one row; 1 where all rows are 0, 0 where all are the same.

    >>> paired_t(np.array([[0.75], [0.5], [0.25]])).round(4).tolist()
    [0.0742]
    """
    n = len(d)
    if n < 2:
        return np.full(d.shape[1], np.nan)
    mean, error = d.mean(axis=0), d.std(axis=0, ddof=1) / math.sqrt(n)
    error[error <= EQUAL * np.abs(mean)] = 0  # all the same
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where((d == 0).all(axis=0), 0, mean / error)
    return np.array([t_p_value(value, n - 1) for value in t.tolist()])


def t_p_value(t: float, df: float) -> float:
    """The chance of a Student's t with df degrees of freedom at least as far from 0.

    This is `I_x(df / 2, 1 / 2)` at `x = df / (df + t²)`, the regularised incomplete beta function (DLMF 8.17), of which the
    continued fraction 8.17.22 converges fast on one side of the mean and its mirror image on the other.

    For two degrees of freedom it is `1 - t / √(t² + 2)`:

    >>> round(t_p_value(2 * 3**0.5, 2), 6), round(1 - (12 / 14) ** 0.5, 6)
    (0.07418, 0.07418)
    """
    odds = t * t / df
    if odds == 0 or math.isinf(odds):
        return float(odds == 0)
    # x and 1 - x each from the odds: of a small t nothing would be left in 1 - x
    a, b, x, y = df / 2, 0.5, 1 / (1 + odds), odds / (1 + odds)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) - a * math.log1p(odds) + b * math.log(y))
    if x < (a + 1) / (a + b + 2):
        return front / (a * _beta_fraction(a, b, x))
    return 1 - front / (b * _beta_fraction(b, a, y))


def _beta_fraction(a: float, b: float, x: float) -> float:
    """The continued fraction 1 + d1 / (1 + d2 / (1 + ...)) by Lentz's method; takes some √max(a, b) steps."""
    value, above, below = 1.0, 1.0, 0.0
    for k in range(1, 100_000):
        m = k // 2
        part = (m * (b - m) if k % 2 == 0 else -(a + m) * (a + b + m)) * x / ((a + k - 1) * (a + k))
        above, below = 1 + part / above, 1 / (1 + part * below)
        value *= above * below
        if abs(above * below - 1) < 1e-15:
            break
    return value


def _blocks(n_rows: int, n_columns: int) -> Iterator[tuple[int, int]]:
    """First and last (exclusive) of the rows of each block."""
    size = max(1, BLOCK // n_columns)
    return ((start, min(start + size, n_rows)) for start in range(0, n_rows, size))
