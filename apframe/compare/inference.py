"""Intervals, tests and corrections, from the values that numbers take in resamples: one rule for all of them.

Rows are numbers, columns are resamples. NaN marks a resample in which a number is undefined, such as the AP of a category that
is in none of the drawn images.
"""

from __future__ import annotations

import math

import numpy as np

from apframe.exceptions import BiasWarning, FewResamplesWarning, warn
from apframe.wording import counted, option_name

LEAST_UNITS = 5  # with positives, required for an interval
EQUAL = 1e-12  # numbers that differ by less are equal except for rounding
POWER = 2.8  # standard errors of the difference that is detected in 80 % of all cases at 5 %
SIGNIFICANT = 0.05
COARSE = "p cannot fall below"  # the beginning of the warning about too few resamples for a correction


def describe(
    estimate: np.ndarray, draws: np.ndarray, confidence: float = 0.95, n_units_with_positives: np.ndarray | None = None
) -> dict[str, np.ndarray]:
    """Summarise the resamples of each number.

    Parameters
    ----------
    estimate, draws
        of shape (rows,) and (rows, resamples)
    confidence
        the share of the resamples within the interval
    n_units_with_positives
        the number of units of each row with positives; with fewer than five, the interval is NaN. None: enough

    Returns
    -------
    Arrays by name: `low` and `high` (the percentile interval, numpy's linear quantiles), `se` (the standard deviation of the
    resamples), `bias` (their mean minus the estimate) and `n_resamples` (those in which the number is defined). The first four
    are NaN if the number is undefined in more than half of the resamples.

    >>> summary = describe(np.array([0.25]), np.array([[0.0, 0.25, 0.5, 1.0]]), confidence=0.5)
    >>> summary["low"].tolist(), summary["high"].tolist(), summary["bias"].tolist(), summary["n_resamples"].tolist()
    ([0.1875], [0.625], [0.1875], [4])
    """
    has_value = np.isfinite(draws)
    n = has_value.sum(axis=1)
    is_defined = (2 * n >= draws.shape[1]) & (n > 0) & np.isfinite(estimate)
    if n_units_with_positives is not None:
        is_defined &= n_units_with_positives >= LEAST_UNITS
    ordered = np.sort(draws, axis=1)  # NaN comes last
    low, high = (np.where(is_defined, _quantile(ordered, n, q), np.nan) for q in ((1 - confidence) / 2, (1 + confidence) / 2))
    divisor = np.maximum(n, 1)
    mean = np.where(has_value, draws, 0).sum(axis=1) / divisor
    squares = np.where(has_value, draws - mean[:, None], 0) ** 2
    se = np.sqrt(squares.sum(axis=1) / np.maximum(n - 1, 1))
    return {
        "low": low,
        "high": high,
        "se": np.where(is_defined & (n > 1), se, np.nan),
        "bias": np.where(is_defined, mean - estimate, np.nan),
        "n_resamples": n,
    }


def compare(
    estimate: np.ndarray, draws: np.ndarray, confidence: float = 0.95, n_units_with_positives: np.ndarray | None = None
) -> dict[str, np.ndarray]:
    """Summarise the resamples of each difference: as `describe`, and `share_better`, `p` and `detectable`.

    `share_better` is the share of resamples above 0, those of exactly 0 by half. `p` is two-sided and inverts the interval: 2
    (1 + the smaller number of those at or below 0 and of those at or above 0) / (n_resamples + 1), at most 1. `detectable` is
    the difference that a set like this one detects in four of five cases at 5 %: 2.8 standard errors.

    One of 19 resamples is not above 0:

    >>> float(compare(np.array([0.1]), np.array([[-0.1, *[0.1] * 18]]))["p"][0])
    0.2
    """
    draws = np.where(np.abs(draws) < EQUAL, 0, draws)
    summary = describe(np.where(np.abs(estimate) < EQUAL, 0, estimate), draws, confidence, n_units_with_positives)
    n, is_defined = summary["n_resamples"], np.isfinite(summary["low"])
    above, below = (draws > 0).sum(axis=1), (draws < 0).sum(axis=1)
    equal = n - above - below
    share = (above + equal / 2) / np.maximum(n, 1)
    p = np.minimum(1, 2 * (1 + np.minimum(above, below) + equal) / (n + 1))
    summary["share_better"] = np.where(is_defined, share, np.nan)
    summary["p"] = np.where(is_defined, p, np.nan)
    summary["detectable"] = POWER * summary["se"]
    return summary


def holm(p: np.ndarray) -> np.ndarray:
    """Correct p values for their number (Holm 1979); NaN means no test: it does not count, and stays NaN.

    In ascending order the k-th of m (from 0) is multiplied by `m - k`, is at least the one before it, and at most 1.

    >>> holm(np.array([0.01, 0.04, 0.03, np.nan])).tolist()
    [0.03, 0.06, 0.06, nan]
    """
    order = np.argsort(p)  # NaN comes last
    factors = np.isfinite(p).sum() - np.arange(len(p))
    corrected = np.empty(len(p))
    corrected[order] = np.minimum(np.maximum.accumulate(p[order] * factors), 1)
    return corrected


def false_discovery(p: np.ndarray) -> np.ndarray:
    """Return false discovery rates of p values (Benjamini and Hochberg 1995); NaN means no test, and stays NaN.

    In ascending order the k-th of m (from 1) is multiplied by `m / k`, and is at most the one after it.

    >>> false_discovery(np.array([0.01, 0.04, 0.03, np.nan])).round(9).tolist()
    [0.03, 0.04, 0.04, nan]
    """
    order = np.argsort(p)
    m = int(np.isfinite(p).sum())
    corrected = np.full(len(p), np.nan)
    scaled = p[order[:m]] * m / np.arange(1, m + 1)
    corrected[order[:m]] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1)
    return corrected


def warn_of_few_resamples(n_resamples: int, n_rows: int) -> None:
    """Warn if so many comparisons are corrected for that none can be significant."""
    if n_rows > 1 and 2 / (n_resamples + 1) > SIGNIFICANT / n_rows:
        warn(
            f"{COARSE} {2 / (n_resamples + 1):.2g} with {counted(n_resamples, 'resample')}, which is too coarse for "
            f"{n_rows:,} comparisons; set {option_name('n_resamples')} to {math.ceil(2 * n_rows / SIGNIFICANT):,} or more",
            FewResamplesWarning,
        )


def warn_of_bias(names: list[str], bias: np.ndarray, se: np.ndarray) -> None:
    """Warn of numbers whose resamples are off by more than a quarter of their standard error."""
    with np.errstate(invalid="ignore"):
        shifted = np.flatnonzero(np.abs(bias) > 0.25 * se)
    if len(shifted):
        which = ", ".join(names[k] for k in shifted)
        warn(
            f"the resamples of {which} are off from the estimate by more than a quarter of their "
            "standard error (column bias), so that the intervals are shifted; differences of models are less affected",
            BiasWarning,
        )


def _quantile(ordered: np.ndarray, n: np.ndarray, q: float) -> np.ndarray:
    """Return the quantile of the first n numbers of each row, interpolated as in numpy."""
    at = q * (np.maximum(n, 1) - 1)
    below = np.floor(at).astype(np.int64)
    above = np.minimum(below + 1, np.maximum(n, 1) - 1)
    rows, weight = np.arange(len(ordered)), at - below
    a, b = ordered[rows, below], ordered[rows, above]
    return np.where(weight < 0.5, a + (b - a) * weight, b - (b - a) * (1 - weight))
