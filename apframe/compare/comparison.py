"""Runs compared query by query: standard errors and t tests from influences; on request, the bootstrap and random exchange.

All start from one matrix for each measure, queries × runs, with the queries in the order of their ids. The influence of a query
on a mean is its distance from the mean, divided by the number of queries. A resample of the queries is a column of counts, a
random exchange of two runs is a row of signs, so many resamples are one matrix product. The draws restart from the seed for
each set of queries: apart from the corrections, a pair's numbers do not depend on the other runs in the table.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from apframe.compare import inference, standard_errors
from apframe.compare.inference import false_discovery, holm, warn_of_few_resamples
from apframe.compare.paired_tests import randomisation
from apframe.compare.rank_intervals import competition_ranks, rank_ranges
from apframe.compare.resampling import FEW, Draws
from apframe.compare.standard_errors import METHODS
from apframe.compare.values import (
    Resampling,
    Values,
    checked,
    complete,
    influence_on_means,
    matrices,
    resampled_means,
)
from apframe.exceptions import FewUnitsWarning, ParameterError, warn
from apframe.option_values import one_of
from apframe.wording import counted, did_you_mean, listed

TESTS = ("t", "randomisation", "bootstrap")
INTERVAL = ["low", "high", "se", "bias"]
FURTHER = ["p_randomisation", "p_t"]
NUMBERS = [
    "estimate_a", "estimate_b", "difference", *INTERVAL, "share_better", "p", "p_holm", "q", "detectable",
    *FURTHER, *(f"{name}_holm" for name in FURTHER), "n_units", "n_resamples",
]  # fmt: skip
COMPARED = [*NUMBERS, "method"]


def compare_runs(
    per_query: pl.DataFrame,
    *,
    baseline: str | None = None,
    unit: str | None = None,
    within: str | None = None,
    test: str = "t",
    n_resamples: int = 10_000,
    confidence: float = 0.95,
    seed: int = 0,
) -> pl.DataFrame:
    """Compare runs in pairs, over the queries on which both have a value.

    With d the differences `value_b - value_a` of n queries, whose mean is the difference:

    - `se` is sd(d) / √n, from the influence (d - mean) / n of each query on the difference.
    - `low`, `high` are the difference plus and minus se times the quantile of Student's distribution with n - 1 degrees of
      freedom.
    - `p` is from `test`. "t" is the paired t test, two-sided, which agrees with the interval. In the study of Smucker, Allan
      and Carterette (CIKM 2007) it nearly always agrees with the randomisation test, while the sign and Wilcoxon tests miss
      differences or report false ones.
    - "randomisation" makes the fewest assumptions. If the runs were alike, the two values of a query could be exchanged. So p
      is the share of random signs s with `|sum(s d)| >= |sum(d)|`, computed as `(1 + count) / (n_resamples + 1)`, which is
      never 0. With at most `n_resamples` combinations of signs, all 2^n are used and p is exact.
    - "bootstrap" draws n queries with replacement. `low` and `high` are then the middle `confidence` of the means (Efron 1979,
      1981), and p is twice the smaller share of the means on either side of 0, `2 (1 + count) / (n_resamples + 1)`. With few
      queries, intervals are too narrow and p is too small.
    - `..._holm` are corrected over all pairs of a measure that have a p (Holm 1979): as safe as Bonferroni's correction, never
      larger. `q` is the false discovery rate over the same pairs (Benjamini and Hochberg 1995): the share of false positives
      among the pairs up to this one. There is no correction across measures.

    Parameters
    ----------
    per_query
        run, query_id, measure and value (null where undefined), each run, query and measure at most once
    baseline
        compare this run with every other one; by default, every pair is compared once
    unit
        a column of per_query, such as the user or the topic of a query: its queries count as one unit, whose influence is their
        sum, and which is drawn and exchanged as a whole
    within
        a column of per_query, the strata: their sizes are fixed, so differences between them add no uncertainty
    test
        "t", "randomisation" or "bootstrap"
    n_resamples, seed
        for the randomisation test and the bootstrap: the number of draws, and the start of the generator. The same seed gives
        the same table, whatever the order of the queries; "t" draws nothing
    confidence
        of the interval, such as 0.95

    Returns
    -------
    By measure and pair, in order of appearance: measure, run_a, run_b, estimate_a, estimate_b (the means), difference
    `estimate_b - estimate_a`, low, high, se, bias (null; for the bootstrap, the mean of the resamples minus the difference),
    share_better (the share of Student's distribution, or of the resamples, above 0; resamples of exactly 0 count half), p,
    p_holm, q, detectable (2.8 se: the difference that such a set of queries detects in four of five cases at 5 %),
    p_randomisation (null with "t"), p_t, p_randomisation_holm, p_t_holm, n_units (the queries or units that both runs have),
    n_resamples (null with "t") and method ("influence" or "bootstrap", the source of se and interval). If all d are 0, the
    interval is [0, 0] and each p is 1; if they are all equal but not 0, p_t is 0. With one unit, only estimates and difference
    are present; with none, only n_units.

    Raises
    ------
    ColumnError, RowError, DuplicateIdError
        columns are missing or have another type; rows are repeated, have no name, or are not finite
    ParameterError
        fewer than two runs, an unknown baseline, invalid options, a query with two units

    Warns
    -----
    FewUnitsWarning
        a pair has fewer than 20 units in common, so its interval may be too narrow
    FewResamplesWarning
        so many pairs are compared that p values of resamples cannot be significant after the correction

    Three differences, 0.75, 0.5 and 0.25: their standard deviation is 0.25, so se is 0.25 / √3 and t is 2 √3. Among the eight
    combinations of signs, only +++ and --- have sums this far from 0.

    >>> per_query = pl.DataFrame({
    ...     "run": ["old"] * 3 + ["new"] * 3, "query_id": [1, 2, 3] * 2, "measure": ["AP"] * 6,
    ...     "value": [0.0, 0.25, 0.5, 0.75, 0.75, 0.75],
    ... })
    >>> compared = compare_runs(per_query)
    >>> compared.select("run_a", "run_b", "n_units", "estimate_a", "estimate_b", "difference").rows()
    [('old', 'new', 3, 0.25, 0.75, 0.5)]
    >>> compared.select(pl.col("se", "low", "high", "p").round(4)).rows()
    [(0.1443, -0.121, 1.121, 0.0742)]
    >>> compare_runs(per_query, test="randomisation")["p"].to_list()
    [0.25]
    """
    values, options = checked(per_query, unit, within), _drawn_for("test", test, TESTS, n_resamples, confidence, seed)
    compared = _compared(values, baseline, test, options)
    warn_of_few(compared["n_units"], unit or within)
    return compared


def _compared(values: Values, baseline: str | None, test: str, options: Resampling) -> pl.DataFrame:
    runs = values.table["run"].unique(maintain_order=True).to_list()
    a, b = np.array(pairs_of(runs, baseline)).T
    if options.is_drawn:
        warn_of_few_resamples(options.n_resamples, len(a))
    tables = []
    for measure, query_ids, matrix in matrices(values.table, runs):
        differences = matrix[:, b] - matrix[:, a]
        columns = _nothing(NUMBERS, len(a), options)
        for pairs, queries in complete(differences):
            d = differences[np.ix_(queries, pairs)]
            draws = values.draws_of(query_ids.gather(queries), options)
            means_a, means_b = (matrix[np.ix_(queries, runs_of[pairs])].mean(axis=0) for runs_of in (a, b))
            numbers_of_pairs = {"estimate_a": means_a, "estimate_b": means_b, "difference": means_b - means_a}
            numbers_of_pairs |= _test(d, numbers_of_pairs["difference"], draws, test, options)
            for name, numbers in numbers_of_pairs.items():
                columns[name][pairs] = numbers
        columns["p_holm"], columns["q"] = holm(columns["p"]), false_discovery(columns["p"])
        for name in FURTHER:
            columns[f"{name}_holm"] = holm(columns[name])
        names = {"measure": [measure] * len(a), "run_a": [runs[k] for k in a], "run_b": [runs[k] for k in b]}
        tables.append(pl.DataFrame(names | columns))
    method = "bootstrap" if test == "bootstrap" else "influence"
    return _with_nulls(pl.concat(tables)).with_columns(method=pl.lit(method))


def _test(d: np.ndarray, difference: np.ndarray, draws: Draws, test: str, options: Resampling) -> dict[str, np.ndarray | float]:
    """Return the interval and the p values of the mean of each column of differences, which has no missing values."""
    influence = influence_on_means(d, draws)
    results: dict[str, Any] = standard_errors.compare(difference, influence.se, influence.n_units, options.confidence)
    results |= {"p_t": results["p"], "n_units": influence.n_units}
    if test == "t" or draws.n_units < 2:
        return results
    if test == "bootstrap":
        results |= inference.compare(difference, resampled_means(d, draws), options.confidence)
    results["p_randomisation"] = randomisation(draws.sums(d.T).T, options.n_resamples, options.seed)
    if test == "randomisation":
        results |= {"p": results["p_randomisation"], "n_resamples": min(options.n_resamples, 2**draws.n_units)}
    return results


def compare_groups(
    per_query: pl.DataFrame,
    keys: list[str],
    *,
    baseline: str | None = None,
    unit: str | None = None,
    within: str | None = None,
    test: str = "t",
    **resampling: Any,
) -> pl.DataFrame:
    """Compare runs within each group of queries, see `compare_runs`; sorted by the columns `keys`, which come first.

    All runs are compared in every group: n_units is 0 if two runs have no query of the group in common. `..._holm` are
    corrected over the pairs of a measure within each group, q over the groups of a measure and pair.

    >>> per_query = pl.DataFrame({
    ...     "topic": ["birds", "fish"] * 2, "run": ["a", "a", "b", "b"], "query_id": [1, 2, 1, 2], "measure": ["AP"] * 4,
    ...     "value": [0.0, 0.5, 1.0, 0.25],
    ... })
    >>> compare_groups(per_query, ["topic"]).select("topic", "run_a", "run_b", "difference").rows()
    [('birds', 'a', 'b', 1.0), ('fish', 'a', 'b', -0.25)]
    """
    values, options = checked(per_query, unit, within), _drawn_for("test", test, TESTS, **resampling)
    names = [f"key_{number}" for number in range(len(keys))]  # own names, because names from the data may be patterns
    groups = pl.DataFrame([per_query[key].alias(name) for key, name in zip(keys, names, strict=True)])
    table = values.table.with_columns(groups)
    # every run in every group
    runs = table.select(pl.col("run").unique(maintain_order=True))
    every_run = table.select(*names, "query_id", "measure").unique(maintain_order=True).join(runs, how="cross")
    every_run = every_run.join(values.table, on=["query_id", "measure", "run"], how="left", maintain_order="left")
    parts = every_run.group_by(names, maintain_order=True)
    tables = [
        _compared(
            Values(part.select("run", "query_id", "measure", "value"), values.query_ids, values.draws), baseline, test, options
        ).select(
            *(pl.lit(value, every_run.schema[name]).alias(name) for name, value in zip(names, group, strict=True)), pl.all()
        )
        for group, part in parts
    ]
    comparisons = pl.concat(tables).sort(names, maintain_order=True)
    n_groups = comparisons.select(names).n_unique()
    if options.is_drawn:
        warn_of_few_resamples(options.n_resamples, n_groups)
    few = comparisons.filter(pl.col("n_units") < FEW).select(names).n_unique()
    if few:
        warn(
            f"{few} of {counted(n_groups, 'group')} {'has' if few == 1 else 'have'} fewer than {FEW} {unit or 'queries'}, "
            "so intervals may be too narrow there",
            FewUnitsWarning,
        )
    q = pl.col("p").map_batches(lambda p: pl.Series(_rates(p), nan_to_null=True), return_dtype=pl.Float64)
    comparisons = comparisons.with_columns(q=q.over("measure", "run_a", "run_b"))
    return comparisons.rename(dict(zip(names, keys, strict=True)))


def describe_means(
    per_query: pl.DataFrame,
    *,
    method: str = "influence",
    unit: str | None = None,
    within: str | None = None,
    n_resamples: int = 10_000,
    confidence: float = 0.95,
    seed: int = 0,
) -> pl.DataFrame:
    """Compute the mean of each run and measure over its queries, with standard error and interval.

    With "influence", se is sd / √n. The interval is the mean plus and minus se times the quantile of Student's distribution
    with n - 1 degrees of freedom; it is cut to [0, 1] if all values are between 0 and 1. See `bootstrap_mean` for the other
    method, the parameters and the result.

    >>> per_query = pl.DataFrame({"query_id": [1, 2, 3], "measure": ["AP"] * 3, "value": [0.5, 1.0, None]})
    >>> describe_means(per_query).select("measure", "estimate", "se", "n_units", "method").rows()
    [('AP', 0.75, 0.25, 2, 'influence')]
    """
    options = _drawn_for("method", method, METHODS, n_resamples, confidence, seed)
    run_column = ["run"] if "run" in per_query.columns else []
    values = checked(per_query, unit, within, bool(run_column))
    runs = values.table["run"].unique(maintain_order=True).to_list() if run_column else [None]
    names = ["estimate", *INTERVAL, "n_units", "n_resamples"]
    means = [pl.DataFrame(schema={"run": pl.String, "measure": pl.String} | dict.fromkeys(names, pl.Float64))]
    for measure, query_ids, matrix in matrices(values.table, runs):
        statistics = _nothing(names, len(runs), options)
        for columns, queries in complete(matrix):
            present = matrix[np.ix_(queries, columns)]
            draws = values.draws_of(query_ids.gather(queries), options)
            statistics["estimate"][columns], statistics["n_units"][columns] = present.mean(axis=0), draws.n_units
            described, _ = _describe(present, statistics["estimate"][columns], draws, options)
            for name, numbers in described.items():
                statistics[name][columns] = numbers
        labels = {"run": pl.Series(runs, dtype=pl.String), "measure": [measure] * len(runs)}
        means.append(pl.DataFrame(labels | statistics))
    table = _with_nulls(pl.concat(means)).with_columns(method=pl.lit(method))
    warn_of_few(table["n_units"], unit or within)
    return table.select(*run_column, pl.exclude("run"))


def bootstrap_mean(
    per_query: pl.DataFrame,
    *,
    unit: str | None = None,
    within: str | None = None,
    n_resamples: int = 10_000,
    confidence: float = 0.95,
    seed: int = 0,
) -> pl.DataFrame:
    """Compute the mean of each run and measure over its queries, with percentile bootstrap intervals (Efron 1979, 1981).

    The interval shows how far the mean would move with other queries of the same kind. Do not compare two runs by checking if
    their intervals overlap: both saw the same queries, which `compare_runs` takes into account.

    Parameters
    ----------
    per_query
        query_id, measure and value (null if undefined, which excludes the query), and run unless there is only one
    unit, within, n_resamples, confidence, seed
        as in `compare_runs`

    Returns
    -------
    By measure and run, in order of appearance: run (if present in per_query), measure, estimate (the mean), low, high, se,
    bias, n_units, n_resamples and method. With one unit only the mean is present; with none, only n_units.

    Raises
    ------
    ColumnError, RowError, DuplicateIdError, ParameterError
        as `compare_runs`

    Warns
    -----
    FewUnitsWarning
        a run has fewer than 20 units, so its interval may be too narrow

    >>> per_query = pl.DataFrame({"query_id": [1, 2, 3], "measure": ["AP"] * 3, "value": [0.5, 1.0, None]})
    >>> bootstrap_mean(per_query).select("measure", "estimate", "low", "high", "n_units").rows()
    [('AP', 0.75, 0.5, 1.0, 2)]
    """
    return describe_means(
        per_query, method="bootstrap", unit=unit, within=within, n_resamples=n_resamples, confidence=confidence, seed=seed
    )


def rank_runs(
    per_query: pl.DataFrame,
    *,
    method: str = "influence",
    unit: str | None = None,
    within: str | None = None,
    n_resamples: int = 10_000,
    confidence: float = 0.95,
    seed: int = 0,
) -> pl.DataFrame:
    """Rank the runs by measure, the best first, with the shares and ranges of `rank_ranges`, from the same draws for all runs.

    Parameters and errors are the same as in `describe_means`; see `RunEvaluation.leaderboard` for the columns.

    >>> per_query = pl.DataFrame({
    ...     "run": ["a", "a", "b", "b"], "query_id": [1, 2, 1, 2], "measure": ["AP"] * 4, "value": [0.0, 0.5, 0.5, 0.25],
    ... })
    >>> rank_runs(per_query).select("rank", "run", "estimate", "rank_low", "rank_high").rows()
    [(1, 'b', 0.375, 1, 2), (2, 'a', 0.25, 1, 2)]
    """
    options = _drawn_for("method", method, METHODS, n_resamples, confidence, seed)
    values = checked(per_query, unit, within)
    runs = values.table["run"].unique().sort().to_list()
    boards = []
    for measure, query_ids, matrix in matrices(values.table, runs):
        has_query = np.isfinite(matrix).any(axis=1)
        matrix, draws = matrix[has_query], values.draws_of(query_ids.filter(has_query), options)
        has_value = np.isfinite(matrix)
        estimate = np.where(has_value, matrix, 0).sum(axis=0) / np.where(has_value.any(axis=0), has_value.sum(axis=0), np.nan)
        intervals, others = _describe(matrix, estimate, draws, options)
        intervals = _nothing(["n_resamples"], len(runs), options) | intervals
        board = rank_ranges(others(), runs, confidence=confidence).with_columns(
            measure=pl.lit(measure), rank=competition_ranks(estimate[None, :])[0], estimate=estimate, n_units=draws.n_units,
            low=intervals["low"], high=intervals["high"], n_resamples=intervals["n_resamples"],
        )  # fmt: skip
        boards.append(_with_nulls(board).sort("rank", "run", nulls_last=True))
    board_of_all = pl.concat(boards).with_columns(pl.col("rank").cast(pl.Int64), method=pl.lit(method))
    warn_of_few(board_of_all["n_units"], unit or within)
    return board_of_all.select(
        "measure", "rank", "run", "estimate", *INTERVAL[:2], pl.col("^(share|rank)_.*$"), "^n_.*$", "method"
    )


def _drawn_for(
    option: str,
    choice: str,
    choices: tuple[str, ...],
    n_resamples: int = 10_000,
    confidence: float = 0.95,
    seed: int = 0,
) -> Resampling:
    """Return the options of a method or test; its first choice draws nothing."""
    one_of(option, choice, choices)
    return Resampling(n_resamples, confidence, seed, is_drawn=choice != choices[0])


def _nothing(names: list[str], n_rows: int, options: Resampling) -> dict[str, np.ndarray]:
    """Return empty columns of numbers: NaN, but 0 for counts."""
    counts = ["n_units", "n_resamples"] if options.is_drawn else ["n_units"]
    return {name: np.full(n_rows, 0.0 if name in counts else np.nan) for name in names}


def _with_nulls(table: pl.DataFrame) -> pl.DataFrame:
    """Replace undefined numbers by null, and convert counts to whole numbers."""
    numbers = pl.col(pl.Float64).fill_nan(None)
    return table.with_columns(numbers).with_columns(pl.col("n_units", "n_resamples").cast(pl.Int64))


def _describe(
    values: np.ndarray, estimate: np.ndarray, draws: Draws, options: Resampling
) -> tuple[dict[str, np.ndarray], Callable[[], np.ndarray]]:
    """Return the interval of each column's mean, and a function for its values in other samples, of shape (draws, columns).

    Both are from the resamples if these are drawn. Otherwise they are from the influence, and the function draws the values.
    """
    if options.is_drawn:
        means = resampled_means(values, draws)
        return inference.describe(estimate, means, options.confidence), lambda: means.T
    influence = influence_on_means(values, draws)
    defined = np.where(np.isfinite(influence.se), estimate, np.nan)
    others = partial(standard_errors.draw_models, defined, influence.of_units, options.seed, draws.stratum)
    min_value, max_value = np.nanmin(values, initial=0), np.nanmax(values, initial=1)
    bounds = (0, 1) if min_value >= 0 and max_value <= 1 else (-np.inf, np.inf)
    return standard_errors.describe(estimate, influence.se, influence.n_units, options.confidence, bounds=bounds), others


def _rates(p: pl.Series) -> np.ndarray:
    return false_discovery(p.cast(pl.Float64).fill_null(np.nan).to_numpy())


def warn_of_few(n_units: pl.Series, units: str | None) -> None:
    """Warn if intervals rest on few queries; with units or strata of queries, `make_units` has already warned."""
    min_units = n_units.filter(n_units > 0).min()
    if units is None and isinstance(min_units, int) and min_units < FEW:
        what = "an interval needs two or more" if min_units < 2 else f"with fewer than {FEW}, intervals may be too narrow"
        warn(f"there {'is' if min_units == 1 else 'are'} only {counted(min_units, 'query')}; {what}", FewUnitsWarning)


def pairs_of(runs: list[str], baseline: str | None) -> list[tuple[int, int]]:
    """Return the positions of both runs of each pair: the baseline with each other run, or all pairs without a baseline.

    >>> pairs_of(["x", "y", "z"], None), pairs_of(["x", "y", "z"], "y")
    ([(0, 1), (0, 2), (1, 2)], [(1, 0), (1, 2)])
    """
    if len(runs) < 2:
        raise ParameterError("a comparison needs two runs or more", f"there is {listed(runs) or 'none'}")
    if baseline is None:
        return list(combinations(range(len(runs)), 2))
    if baseline not in runs:
        raise ParameterError(f"no run {baseline!r}", did_you_mean(str(baseline), runs), option="baseline")
    return [(runs.index(baseline), k) for k, run in enumerate(runs) if run != baseline]
