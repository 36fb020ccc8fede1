"""The test of paired differences by random exchange, and Student's distribution."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from statistics import NormalDist

import numpy as np

BLOCK = 1 << 21  # numbers in a block of signs, at most: 16 MB
EQUAL = 1e-12  # sums that differ by less than this share of the sum of sizes are equal except for rounding


def randomisation(d: np.ndarray, n_resamples: int, seed: int) -> np.ndarray:
    """Return p of each column: the share of sign vectors whose sum is as far from 0 as the column's sum.

    With at most `n_resamples` sign vectors, all are used. Otherwise `n_resamples` are drawn, and p is `(1 + count) /
    (n_resamples + 1)`.

    >>> randomisation(np.array([[0.75], [0.5], [0.25]]), n_resamples=8, seed=0).tolist()
    [0.25]
    """
    n, rng = len(d), np.random.default_rng(seed)
    exact = 2**n <= n_resamples
    total = 2**n if exact else n_resamples
    min_size = np.abs(d.sum(axis=0)) - EQUAL * np.abs(d).sum(axis=0)
    count = np.zeros(d.shape[1])
    for start, stop in _blocks(total, n):
        numbers = np.arange(start, stop)[:, None]  # their bits are all combinations of signs
        flips = (numbers >> np.arange(n)) & 1 if exact else rng.integers(0, 2, (len(numbers), n), np.int8)
        count += (np.abs((1.0 - 2.0 * flips) @ d) >= min_size).sum(axis=0)
    return count / total if exact else (1 + count) / (1 + total)


def t_p_value(t: np.ndarray | float, df: np.ndarray | float) -> np.ndarray:
    """Return the chance of a Student's t with df degrees of freedom at least as far from 0; NaN if t is NaN.

    This is `I_x(df / 2, 1 / 2)` at `x = df / (df + t²)`, the regularised incomplete beta function (DLMF 8.17). Its continued
    fraction 8.17.22 converges fast on one side of the mean, and its mirror image on the other.

    For two degrees of freedom it is `1 - t / √(t² + 2)`:

    >>> t_p_value(2 * 3**0.5, 2).round(6).item(), round(1 - (12 / 14) ** 0.5, 6)
    (0.07418, 0.07418)
    """
    t, df = np.broadcast_arrays(np.asarray(t, dtype=np.float64), np.asarray(df, dtype=np.float64))
    with np.errstate(over="ignore"):
        odds = np.square(t / np.sqrt(df))
    p = np.where(np.isnan(odds), np.nan, np.where(odds == 0, 1.0, 0.0))
    inner = (odds > 0) & np.isfinite(odds)
    # compute x and 1 - x both from the odds: for a small t, nothing would be left in 1 - x
    a, b, x, y = df[inner] / 2, 0.5, 1 / (1 + odds[inner]), odds[inner] / (1 + odds[inner])
    front = np.exp(_log_beta(a) - a * np.log1p(odds[inner]) + b * np.log(y))
    is_far = x < (a + 1) / (a + b + 2)
    first, second, at = np.where(is_far, a, b), np.where(is_far, b, a), np.where(is_far, x, y)
    share = front / (first * _beta_fraction(first, second, at))
    p[inner] = np.where(is_far, share, 1 - share)
    return p


def t_quantile(share: float, df: np.ndarray) -> np.ndarray:
    """Return the t that encloses, on both sides of 0, a share of Student's distribution with df degrees of freedom.

    >>> t_quantile(0.95, np.array([1, 9, 299])).round(4).tolist()
    [12.7062, 2.2622, 1.9679]
    """
    distinct, which = np.unique(np.asarray(df, dtype=np.float64), return_inverse=True)
    return _quantiles(share, tuple(distinct.tolist()))[which].reshape(np.shape(df))


@lru_cache(maxsize=64)
def _quantiles(share: float, df: tuple[float, ...]) -> np.ndarray:
    distinct = np.array(df)
    t = np.full(len(distinct), NormalDist().inv_cdf((1 + share) / 2))  # at most the quantile, from which Newton's steps rise
    log_norm = _log_beta(distinct / 2) - np.log(distinct) / 2
    for _ in range(100):
        density = np.exp(log_norm - (distinct + 1) / 2 * np.log1p(t * t / distinct))
        step = (t_p_value(t, distinct) - (1 - share)) / (2 * density)
        t += step
        if (np.abs(step) <= 1e-13 * t).all():
            break
    return t


def _log_beta(a: np.ndarray) -> np.ndarray:
    """Return the negative logarithm of the beta function B(a, 1/2)."""
    distinct, which = np.unique(a, return_inverse=True)
    logs = [math.lgamma(each + 0.5) - math.lgamma(each) - math.lgamma(0.5) for each in distinct.tolist()]
    return np.array(logs)[which]


def _beta_fraction(a: np.ndarray, b: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return the continued fraction 1 + d1 / (1 + d2 / (1 + ...)) by Lentz's method, in about √max(a, b) steps."""
    value, above, below = np.ones(len(x)), np.ones(len(x)), np.zeros(len(x))
    for k in range(1, 100_000):
        m = k // 2
        part = (m * (b - m) if k % 2 == 0 else -(a + m) * (a + b + m)) * x / ((a + k - 1) * (a + k))
        above, below = 1 + part / above, 1 / (1 + part * below)
        value *= above * below
        if (np.abs(above * below - 1) < 1e-15).all():
            break
    return value


def _blocks(n_rows: int, n_columns: int) -> Iterator[tuple[int, int]]:
    """Return the first and last (exclusive) row of each block."""
    size = max(1, BLOCK // n_columns)
    return ((start, min(start + size, n_rows)) for start in range(0, n_rows, size))
