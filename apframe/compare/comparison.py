"""Runs compared query by query: intervals by bootstrap, p values by randomisation and by the t test.

All start from one matrix for each measure, queries × runs, with the queries in the order of their ids. A resample of the
queries is a row of counts, a random exchange of two runs a row of signs, so many resamples are one matrix product. The
draws start anew from the seed for each set of queries: but for Holm's correction, a pair's numbers do not depend on which
other runs are in the table.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from apframe.compare.intervals import holm
from apframe.compare.resampling import draw_counts
from apframe.exceptions import ColumnError, DuplicateIdError, ParameterError, RowError, listed
from apframe.rows import row_numbers

MEANS = ["mean_a", "mean_b", "difference", "low", "high", "p_randomisation", "p_t", "p_randomisation_holm", "p_t_holm"]
BLOCK = 1 << 21  # numbers in a block of resamples, at most: 16 MB of counts or signs
EQUAL = 1e-12  # sums that differ by less than this part of the sum of sizes are equal but for rounding


def compare_runs(
    per_query: pl.DataFrame,
    *,
    baseline: str | None = None,
    n_resamples: int = 10_000,
    confidence: float = 0.95,
    seed: int = 0,
) -> pl.DataFrame:
    """Compare runs in pairs, over the queries on which both have a value.

    With d the differences `value_b - value_a` of n queries:

    - `low`, `high` bound the mean of d by the percentile bootstrap (Efron 1979, 1981): the middle `confidence` of the means
      of n queries drawn with replacement. It takes no shape of d for granted, and its ends are means that can occur.
    - `p_randomisation` is two-sided. If the runs were alike, the two values of a query could be exchanged. So p is the
      share of random signs s with `|sum(s d)| >= |sum(d)|`, computed as `(1 + count) / (n_resamples + 1)`, which is never
      0. If there are at most `n_resamples` combinations of signs, all 2^n are taken and p is exact. This is the test to
      read first: Smucker, Allan and Carterette (CIKM 2007) find that it assumes least, and that the sign and Wilcoxon tests
      miss differences or find false ones.
    - `p_t` is that of the paired t test with n - 1 degrees of freedom, two-sided. In their study it nearly always agrees with
      the former; where the two disagree, look at the differences.
    - `..._holm` are corrected over all pairs of a measure that have a p (Holm 1979): as safe as Bonferroni's correction, never
      larger. Measures are not corrected for one another.

    Parameters
    ----------
    per_query
        run, query_id, measure and value (null where undefined), each run, query and measure at most once
    baseline
        compare this run with every other; without it, every pair is compared once
    n_resamples
        random draws for the interval and for the randomisation test
    confidence
        the share of the resampled means within the interval
    seed
        the same seed gives the same table, whatever the order of the queries

    Returns
    -------
    By measure and pair, in order of appearance: measure, run_a, run_b, n_queries, mean_a, mean_b, difference
    `mean_b - mean_a`, low, high, p_randomisation, p_t, p_randomisation_holm, p_t_holm. Where all d are 0, the interval is
    [0, 0] and each p 1; where they are all the same and not 0, p_t is 0. With one query p_t is null, with none all numbers
    but n_queries are.

    Raises
    ------
    ColumnError, RowError, DuplicateIdError
        columns that are missing or of another type; rows that are doubled, or lack what names them, or are not finite
    ParameterError
        fewer than two runs, an unknown baseline, options that cannot be

    Three differences, 0.75, 0.5 and 0.25: of the eight choices of signs only +++ and --- take the sum as far from 0, and t
    is 2 √3.

    >>> per_query = pl.DataFrame({
    ...     "run": ["old"] * 3 + ["new"] * 3, "query_id": [1, 2, 3] * 2, "measure": ["AP"] * 6,
    ...     "value": [0.0, 0.25, 0.5, 0.75, 0.75, 0.75],
    ... })
    >>> compared = compare_runs(per_query)
    >>> compared.select("run_a", "run_b", "n_queries", "mean_a", "mean_b", "difference").rows()
    [('old', 'new', 3, 0.25, 0.75, 0.5)]
    >>> compared.select(pl.col("low", "high", "p_randomisation", "p_t").round(4)).rows()
    [(0.25, 0.75, 0.25, 0.0742)]
    """
    _check_options(n_resamples, confidence, seed)
    table = _checked(per_query, ["run", "query_id", "measure", "value"])
    runs = table["run"].unique(maintain_order=True).to_list()
    a, b = np.array(_pairs(runs, baseline)).T
    compared = []
    for measure, values in _matrices(table, runs):
        differences = values[:, b] - values[:, a]
        found = {name: np.full(len(a), np.nan) for name in MEANS}
        for pairs, queries in _complete(differences):
            d = differences[np.ix_(queries, pairs)]
            found["mean_a"][pairs] = values[np.ix_(queries, a[pairs])].mean(axis=0)
            found["mean_b"][pairs] = values[np.ix_(queries, b[pairs])].mean(axis=0)
            found["low"][pairs], found["high"][pairs] = _bootstrap(d, n_resamples, confidence, seed)
            found["p_randomisation"][pairs] = _randomisation(d, n_resamples, seed)
            found["p_t"][pairs] = _paired_t(d)
        found["difference"] = found["mean_b"] - found["mean_a"]
        for name in ("p_randomisation", "p_t"):
            found[f"{name}_holm"] = holm(found[name])
        names = {"measure": [measure] * len(a), "run_a": [runs[k] for k in a], "run_b": [runs[k] for k in b]}
        compared.append(pl.DataFrame(names | {"n_queries": np.isfinite(differences).sum(axis=0)} | found))
    return pl.concat(compared).with_columns(pl.col(MEANS).fill_nan(None))


def compare_groups(per_query: pl.DataFrame, keys: list[str], *, baseline: str | None = None, **options: Any) -> pl.DataFrame:
    """`compare_runs` of the queries of each group alone, sorted by the columns `keys`, which come first.

    All runs are compared in every group: n_queries is 0 where two have no query of it in common.

    >>> per_query = pl.DataFrame({
    ...     "topic": ["birds", "fish"] * 2, "run": ["a", "a", "b", "b"], "query_id": [1, 2, 1, 2], "measure": ["AP"] * 4,
    ...     "value": [0.0, 0.5, 1.0, 0.25],
    ... })
    >>> compare_groups(per_query, ["topic"]).select("topic", "run_a", "run_b", "difference").rows()
    [('birds', 'a', 'b', 1.0), ('fish', 'a', 'b', -0.25)]
    """
    columns = ["run", "query_id", "measure", "value"]
    names = [f"key_{number}" for number in range(len(keys))]  # of ours, for those of the data may be patterns
    renamed = per_query.rename(dict(zip(keys, names, strict=True))).select(*names, *columns)
    # every run in every group
    runs = renamed.select(pl.col("run").unique(maintain_order=True))
    whole = renamed.select(*names, "query_id", "measure").unique(maintain_order=True).join(runs, how="cross")
    whole = whole.join(renamed.drop(names), on=columns[:-1], how="left", maintain_order="left")
    compared = [
        compare_runs(part, baseline=baseline, **options).select(
            *(pl.lit(value, whole.schema[name]).alias(name) for name, value in zip(names, group, strict=True)), pl.all()
        )
        for group, part in whole.group_by(names, maintain_order=True)
    ]
    return pl.concat(compared).sort(names, maintain_order=True).rename(dict(zip(names, keys, strict=True)))


def bootstrap_mean(
    per_query: pl.DataFrame, *, n_resamples: int = 10_000, confidence: float = 0.95, seed: int = 0
) -> pl.DataFrame:
    """The mean of each run and measure over its queries, with the percentile bootstrap's interval (Efron 1979, 1981).

    The interval says how far the mean would move with other queries of the same kind. Do not compare two runs by whether
    their intervals overlap: both saw the same queries, which `compare_runs` takes into account.

    Parameters
    ----------
    per_query
        query_id, measure and value (null where undefined: the query is left out), and run unless there is only one
    n_resamples, confidence, seed
        as in `compare_runs`

    Returns
    -------
    By measure and run, in order of appearance: run (if it was given), measure, mean, low, high, n_queries. One query gives
    an interval of its value alone, none nulls.

    Raises
    ------
    ColumnError, RowError, DuplicateIdError, ParameterError
        as `compare_runs`

    >>> per_query = pl.DataFrame({"query_id": [1, 2, 3], "measure": ["AP"] * 3, "value": [0.5, 1.0, None]})
    >>> bootstrap_mean(per_query).rows()
    [('AP', 0.75, 0.5, 1.0, 2)]
    """
    _check_options(n_resamples, confidence, seed)
    given = ["run"] if "run" in per_query.columns else []
    table = _checked(per_query, [*given, "query_id", "measure", "value"])
    runs = table["run"].unique(maintain_order=True).to_list() if given else [None]
    schema = {"run": pl.String, "measure": pl.String, "mean": pl.Float64, "low": pl.Float64, "high": pl.Float64}
    means = [pl.DataFrame(schema=schema | {"n_queries": pl.Int64})]
    for measure, values in _matrices(table, runs):
        mean, low, high = np.full((3, len(runs)), np.nan)
        for columns, queries in _complete(values):
            complete = values[np.ix_(queries, columns)]
            mean[columns] = complete.mean(axis=0)
            low[columns], high[columns] = _bootstrap(complete, n_resamples, confidence, seed)
        names = {"run": pl.Series(runs, dtype=pl.String), "measure": [measure] * len(runs)}
        counts = {"n_queries": np.isfinite(values).sum(axis=0)}
        means.append(pl.DataFrame(names | {"mean": mean, "low": low, "high": high} | counts))
    return pl.concat(means).with_columns(pl.col("mean", "low", "high").fill_nan(None)).select(*given, pl.exclude("run"))


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


def _bootstrap(values: np.ndarray, n_resamples: int, confidence: float, seed: int) -> np.ndarray:
    """Low and high end of the interval of each column's mean; one draw of rows serves all columns."""
    n = len(values)
    means = np.concatenate([counts @ values / n for counts in draw_counts(n, n_resamples, seed, n_resamples)])
    return np.quantile(means, [(1 - confidence) / 2, (1 + confidence) / 2], axis=0)


def _randomisation(d: np.ndarray, n_resamples: int, seed: int) -> np.ndarray:
    """p of each column: the share of sign vectors whose sum is as far from 0 as the sum itself."""
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


def _paired_t(d: np.ndarray) -> np.ndarray:
    n = len(d)
    if n < 2:
        return np.full(d.shape[1], np.nan)
    mean, error = d.mean(axis=0), d.std(axis=0, ddof=1) / math.sqrt(n)
    error[error <= EQUAL * np.abs(mean)] = 0  # all the same
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where((d == 0).all(axis=0), 0, mean / error)
    return np.array([t_p_value(value, n - 1) for value in t.tolist()])


def _blocks(n_rows: int, n_columns: int) -> Iterator[tuple[int, int]]:
    """First and last (exclusive) of the rows of each block."""
    size = max(1, BLOCK // n_columns)
    return ((start, min(start + size, n_rows)) for start in range(0, n_rows, size))


def _complete(values: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The columns in groups that have values in the same rows, with these rows; columns without any are in no group."""
    patterns, group = np.unique(np.isfinite(values), axis=1, return_inverse=True)
    return ((np.flatnonzero(group == k), np.flatnonzero(rows)) for k, rows in enumerate(patterns.T) if rows.any())


def _matrices(table: pl.DataFrame, runs: list[str | None]) -> Iterator[tuple[str, np.ndarray]]:
    """Each measure with its values, queries (by id) × runs (as listed), NaN where there is none."""
    column = pl.DataFrame({"run": pl.Series(runs, dtype=pl.String), "column": np.arange(len(runs))})
    placed = table.join(column, on="run", maintain_order="left", nulls_equal=True)
    for (measure,), rows in placed.group_by("measure", maintain_order=True):
        query = rows["query_id"].rank("dense").to_numpy().astype(np.int64) - 1
        values = np.full((query.max() + 1, len(runs)), np.nan)
        values[query, rows["column"].to_numpy()] = rows["value"].to_numpy()
        yield str(measure), values


def _pairs(runs: list[str], baseline: str | None) -> list[tuple[int, int]]:
    if len(runs) < 2:
        raise ParameterError("a comparison needs two runs or more", f"there is {listed(runs) or 'none'}")
    if baseline is None:
        return list(combinations(range(len(runs)), 2))
    if baseline not in runs:
        near = difflib.get_close_matches(str(baseline), runs)
        hint = f" (did you mean {listed(near)}?)" if near else ""
        raise ParameterError(f"no run {baseline!r}{hint}", f"there are {listed(runs)}", option="baseline")
    return [(runs.index(baseline), k) for k, run in enumerate(runs) if run != baseline]


def _check_options(n_resamples: int, confidence: float, seed: int) -> None:
    for name, value, least in (("n_resamples", n_resamples, 1), ("seed", seed, 0)):
        if not isinstance(value, (int, np.integer)) or value < least:
            raise ParameterError(f"is a whole number, at least {least}, not {value!r}", option=name)
    if not 0 < confidence < 1:
        raise ParameterError(f"is between 0 and 1, such as 0.95, not {confidence!r}", option="confidence")


def _checked(per_query: pl.DataFrame, columns: list[str]) -> pl.DataFrame:
    """The columns run (null if not asked for), query_id, measure, value, or an error that says what is wrong with them."""
    missing = [name for name in columns if name not in per_query.columns]
    if missing:
        raise ColumnError(
            f"no column {', '.join(missing)}", f"there are {', '.join(per_query.columns) or 'none'}", table="per_query"
        )
    keys = columns[:-1]
    for name in columns:
        dtype = per_query[name].dtype
        text = dtype in (pl.String, pl.Categorical, pl.Enum) and name != "value"
        number = dtype.is_integer() if name == "query_id" else name == "value" and dtype.is_numeric()
        if not (text or number or dtype == pl.Null):
            kind = {"query_id": "strings or integers", "value": "numbers"}.get(name, "strings")
            raise ColumnError(f"{kind} expected, got {dtype}", table="per_query", column=name)
    names = [name for name in keys if not per_query[name].dtype.is_integer()]
    table = per_query.select(columns).with_columns(pl.col(names).cast(pl.String), pl.col("value").cast(pl.Float64))
    nameless = table.select(pl.any_horizontal(pl.col(keys).is_null())).to_series()
    endless = ~table["value"].is_finite().fill_null(True)
    doubled = table.select(keys).is_duplicated()
    listing = ", ".join(keys)
    for error, broken, problem, remedy in (
        (RowError, nameless, f"{listing} are not all given", "give them, or remove the rows"),
        (RowError, endless, "value is not a finite number", "write null where it is undefined"),
        (DuplicateIdError, doubled, f"{listing} are not unique", "keep one value of each"),
    ):
        if broken.any():
            raise error("per_query", problem, "row", row_numbers(broken), remedy)
    return table if "run" in keys else table.with_columns(run=pl.lit(None, dtype=pl.String))
