"""Standard errors, intervals and p values from influences, the contributions of units (images or queries) to a number.

The influence of a unit is the derivative of the number with respect to the weight of the unit, times that weight; those of all
units sum to 0. The influence on a mean over units is `(value - mean) / n`, so for means these are the textbook's formulas.
"""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
import polars as pl

from apframe.compare.inference import EQUAL, POWER
from apframe.compare.paired_tests import t_p_value, t_quantile
from apframe.exceptions import ColumnError, ParameterError
from apframe.tables.column_sources import to_polars

METHODS = ("influence", "bootstrap")  # of standard errors
LEAST_UNITS = 10  # with annotations that count, required for a standard error
HALVES = 2 ** (2 / 3) - 1  # the bias of halves minus the bias of the whole, if the bias of n units falls as n ** -(2 / 3)
SPLITS = 4  # how often units are split into halves, to see how much higher the AP of half as many is


def standard_errors(influence: np.ndarray, n_units: np.ndarray, stratum: np.ndarray | None = None) -> np.ndarray:
    """Return the standard error of each number: `sqrt(n / (n - 1) sum(u²))`; NaN with fewer than two units.

    Parameters
    ----------
    influence
        of shape (rows, units); 0 for units that are not in a row
    n_units
        the number of units of each row in each stratum, of shape (rows, strata)
    stratum
        the number of the stratum of each unit. The mean of a stratum is then subtracted from the influences in it, and the
        squares of all strata are added. A stratum of one unit adds nothing; if all strata have one unit, the result is NaN

    >>> standard_errors(np.array([[0.25, -0.25]]), np.array([[2]])).tolist()
    [0.5]
    """
    max_units, n = n_units.max(axis=1, initial=0), n_units.sum(axis=1)
    if stratum is None:
        squares = np.einsum("ru,ru->r", influence, influence) * n / np.maximum(n - 1, 1)
    else:
        some, stratum = np.unique(stratum, return_inverse=True)  # strata with units
        order, sizes, n_units = np.argsort(stratum, kind="stable"), np.bincount(stratum), n_units[:, some]
        starts, ordered = np.cumsum(sizes) - sizes, influence[:, order]
        means = np.add.reduceat(ordered, starts, axis=1) / np.maximum(n_units, 1)
        rest = ordered - np.repeat(means, sizes, axis=1)
        own = np.add.reduceat(rest * rest, starts, axis=1) - (sizes - n_units) * means**2  # minus units that are not in a row
        squares = (np.maximum(own, 0) * n_units / np.maximum(n_units - 1, 1)).sum(axis=1, where=n_units > 1)
    return np.where(max_units > 1, np.sqrt(squares), np.nan)


def describe(
    estimate: np.ndarray,
    se: np.ndarray,
    n_units: np.ndarray,
    confidence: float = 0.95,
    bias: np.ndarray | None = None,
    bounds: tuple[float, float] = (-np.inf, np.inf),
) -> dict[str, np.ndarray]:
    """Return the interval of each number: `low`, `high`, `se` and `bias`. All are NaN if the standard error is unknown.

    It is `estimate - bias` plus and minus the standard error times the quantile of Student's distribution with n - 1 degrees of
    freedom. It is widened to contain the estimate, and cut to the bounds. A bias of NaN is unknown, and nothing is corrected.

    >>> interval = describe(np.array([0.5]), np.array([0.1]), np.array([10]), bounds=(0, 1))
    >>> interval["low"].round(4).tolist(), interval["high"].round(4).tolist()
    ([0.2738], [0.7262])
    """
    bias = np.full(len(estimate), np.nan) if bias is None else bias
    half = t_quantile(confidence, np.maximum(n_units - 1, 1)) * se
    centre = estimate - np.nan_to_num(bias)
    low = np.clip(np.minimum(centre - half, estimate), *bounds)
    high = np.clip(np.maximum(centre + half, estimate), *bounds)
    return {"low": low, "high": high, "se": se, "bias": np.where(np.isfinite(se), bias, np.nan)}


def compare(difference: np.ndarray, se: np.ndarray, n_units: np.ndarray, confidence: float = 0.95) -> dict[str, np.ndarray]:
    """Return the interval and the t test of each difference. All are NaN if the standard error is unknown.

    `low` and `high` are the difference plus and minus the standard error `se` times the quantile of Student's distribution with
    n - 1 degrees of freedom; `share_better` is the share of that distribution above 0, `p` the two-sided t test, and
    `detectable` 2.8 se. If all units agree that there is no difference, the interval is [0, 0] and p is 1.

    >>> test = compare(np.array([0.5]), np.array([0.25 / 3**0.5]), np.array([3]))
    >>> {name: test[name].round(4).item() for name in ("p", "share_better", "low")}
    {'p': 0.0742, 'share_better': 0.9629, 'low': -0.121}
    """
    difference = np.where(np.abs(difference) < EQUAL, 0, difference)
    se = np.where(se < EQUAL, 0, se)
    df = np.maximum(n_units - 1, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where((difference == 0) & (se == 0), 0, difference / se)
    p, half = t_p_value(t, df), t_quantile(confidence, df) * se
    return {
        "low": difference - half,
        "high": difference + half,
        "se": se,
        "bias": np.full(len(se), np.nan),
        "share_better": np.where(t > 0, 1 - p / 2, p / 2),
        "p": p,
        "detectable": POWER * se,
    }


def n_needed(compared: Any, delta: float) -> pl.DataFrame:
    """Return the number of images or queries needed to detect a difference of `delta`: `n (2.8 se / delta)²`.

    A test set of this size finds the difference significant at 5 % in four of five cases.

    Parameters
    ----------
    compared
        a table from `Evaluation.compare`, `RunSets.compare` or `apframe.compare_runs`, with the columns difference, se and
        n_units. The models need not be the ones of interest, but should agree with each other about as much
    delta
        the difference that matters, such as 0.01

    Returns
    -------
    The table with a column `n_needed`, the number of units, rounded up. It is null if the standard error is not known, or
    if the number is too large for an integer.

    Raises
    ------
    ParameterError
        `delta` is not a number above 0
    ColumnError
        a column is missing

    >>> n_needed(pl.DataFrame({"difference": [0.008], "se": [0.012], "n_units": [300]}), 0.01)["n_needed"].to_list()
    [3387]
    """
    if isinstance(delta, bool) or not isinstance(delta, Real) or not np.isfinite(delta) or not delta > 0:
        raise ParameterError(f"is the difference that matters, such as 0.01, not {delta!r}", option="delta")
    table = to_polars(compared, "compared")
    for name in ("difference", "se", "n_units"):
        if name not in table.columns or not table[name].dtype.is_numeric():
            raise ColumnError(f"no column {name} of numbers", "give a table of `compare`", table="compared")
    needed = pl.col("n_units") * (POWER * pl.col("se") / float(delta)) ** 2
    return table.with_columns(n_needed=needed.ceil().cast(pl.Int64, strict=False))


def draw_models(
    estimates: np.ndarray, influence: np.ndarray, seed: int, stratum: np.ndarray | None = None, n_draws: int = 10_000
) -> np.ndarray:
    """Draw numbers of several models in other samples, of shape (draws, models), from their joint normal distribution.

    `influence` has the shape (models, units), `stratum` is the same as in `standard_errors`. Models that find the same images
    hard move together.

    >>> drawn = draw_models(np.array([0.5, 0.25]), np.array([[0.1, -0.1], [0.1, -0.1]]), seed=0)
    >>> drawn.shape, drawn.std(axis=0).round(1).tolist(), np.ptp(drawn[:, 0] - drawn[:, 1]).round(9).item()
    ((10000, 2), [0.2, 0.2], 0.0)
    """
    of = np.zeros(influence.shape[1], dtype=np.int64) if stratum is None else stratum
    size = np.bincount(of)
    means = np.stack([np.bincount(of, each, minlength=len(size)) for each in influence]) / np.maximum(size, 1)
    scaled = (influence - means[:, of]) * np.sqrt(size / np.maximum(size - 1, 1))[of]
    values, vectors = np.linalg.eigh(scaled @ scaled.T)
    values[values < EQUAL * values.max(initial=0)] = 0  # so that equal models stay equal
    root = (vectors * np.sqrt(values)) @ vectors.T
    drawn: np.ndarray = estimates + np.random.default_rng(seed).standard_normal((n_draws, len(estimates))) @ root
    return drawn
