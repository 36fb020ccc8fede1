"""Uncertainty of a ranking: how often each run leads if the units are drawn again, and the range of its ranks."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import polars as pl

from apframe.compare.inference import EQUAL
from apframe.exceptions import ParameterError
from apframe.option_values import proper_share


def rank_ranges(draws: np.ndarray, runs: Sequence[str], *, confidence: float = 0.95) -> pl.DataFrame:
    """Count how often each run is best among the draws, and compute the range of its ranks.

    Parameters
    ----------
    draws
        n_resamples × runs: the value of each run in each draw of the units, with the same draws for all runs. Higher is better.
        NaN if a run is undefined in a draw: it has no rank there and cannot lead.
    runs
        the names of the runs, in the order of the columns
    confidence
        the smallest share of the draws within the range of ranks

    Returns
    -------
    A row for each run, in the order given, with

    - `run`
    - `share_best`: the share of draws in which the run has the highest value. Runs with equal values (within 1e-12) share a
      draw equally.
    - `rank_low`, `rank_high`: the best and the worst rank within the middle `confidence` of the draws with a value. A rank is
      one plus the number of runs with a higher value, so equal runs share the better rank.

    The three are null for a run with a value in fewer than half of the draws, as for intervals.

    Raises
    ------
    ParameterError
        the number of names differs from the number of columns; confidence is not between 0 and 1

    Run b leads in two draws of four, and shares one with a:

    >>> draws = np.array([[0.5, 0.6], [0.5, 0.7], [0.5, 0.5], [0.5, 0.4]])
    >>> rank_ranges(draws, ["a", "b"]).rows()
    [('a', 0.375, 1, 2), ('b', 0.625, 1, 2)]
    """
    n_draws, n_runs = draws.shape
    if len(runs) != n_runs:
        raise ParameterError(f"{len(runs)} names for {n_runs} columns of draws", "give one name for each column", option="runs")
    proper_share("confidence", confidence)
    if n_runs == 0:
        return _table([], np.empty(0), np.empty((2, 0)))
    ranks = competition_ranks(draws)
    leads = ranks == 1
    shared = leads / np.maximum(leads.sum(axis=1, keepdims=True), 1)
    share_best = shared.sum(axis=0) / max(leads.any(axis=1).sum(), 1)
    has_value = np.isfinite(ranks)
    n_values = has_value.sum(axis=0)
    ordered = np.sort(ranks, axis=0)  # NaN comes last
    tail = (1 - confidence) / 2
    # whole ranks, rounded outwards, so that at least the requested share is between them
    first = np.floor(tail * (n_values - 1) + EQUAL).astype(np.int64)
    last = np.ceil((1 - tail) * (n_values - 1) - EQUAL).astype(np.int64)
    ends = np.stack([ordered[np.maximum(k, 0), np.arange(n_runs)] for k in (first, last)]) if n_draws else np.empty((2, n_runs))
    too_few = 2 * n_values < max(n_draws, 1)
    share_best = np.where(too_few, np.nan, share_best)
    return _table(list(runs), share_best, np.where(too_few, np.nan, ends))


def competition_ranks(values: np.ndarray) -> np.ndarray:
    """Return the rank of each column in each row: one plus the number of higher values; NaN has no rank.

    Values are equal if neighbours in sorted order differ by at most 1e-12.

    >>> competition_ranks(np.array([[0.2, 0.9, 0.2, 0.1], [0.3, np.nan, 0.4, 0.5]])).tolist()
    [[2.0, 1.0, 2.0, 4.0], [3.0, nan, 2.0, 1.0]]
    """
    order = np.argsort(-values, axis=1, kind="stable")  # NaN comes last
    sorted_values = np.take_along_axis(values, order, axis=1)
    places = np.broadcast_to(np.arange(1, values.shape[1] + 1), values.shape)
    starts = np.ones(values.shape, dtype=bool)
    starts[:, 1:] = ~(sorted_values[:, :-1] - sorted_values[:, 1:] <= EQUAL)
    first = np.maximum.accumulate(np.where(starts, places, 0), axis=1)
    ranks = np.empty(values.shape)
    np.put_along_axis(ranks, order, np.where(np.isnan(sorted_values), math.nan, first), axis=1)
    return ranks


def _table(runs: list[str], share_best: np.ndarray, ends: np.ndarray) -> pl.DataFrame:
    numbers = {"share_best": share_best, "rank_low": ends[0], "rank_high": ends[1]}
    table = pl.DataFrame({"run": pl.Series(runs, dtype=pl.String)} | numbers).with_columns(pl.exclude("run").fill_nan(None))
    return table.with_columns(pl.col("rank_low", "rank_high").cast(pl.Int64))
