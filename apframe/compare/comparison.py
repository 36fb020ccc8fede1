"""Runs compared query by query: standard errors and t tests from influences; on request, the bootstrap and random exchange.

All start from one matrix for each measure, queries × runs, with the queries in the order of their ids. The influence of a
query on a mean is its distance from the mean, divided by the number of queries. A resample of the queries is a column of
counts, a random exchange of two runs a row of signs, so many resamples are one matrix product. The draws start anew from the
seed for each set of queries: but for the corrections, a pair's numbers do not depend on which other runs are in the table.
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
from apframe.exceptions import FewUnitsWarning, ParameterError, one_of, warn
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
    - `p` is that of `test`. "t" is the paired t test, two-sided, and says the same as the interval. In the study of Smucker,
      Allan and Carterette (CIKM 2007) it nearly always agrees with the randomisation test, while the sign and Wilcoxon tests
      miss differences or find false ones.
    - "randomisation" assumes least. If the runs were alike, the two values of a query could be exchanged. So p is the
      share of random signs s with `|sum(s d)| >= |sum(d)|`, computed as `(1 + count) / (n_resamples + 1)`, which is never
      0. If there are at most `n_resamples` combinations of signs, all 2^n are taken and p is exact.
    - "bootstrap" draws n queries with replacement. `low` and `high` are then the middle `confidence` of the means (Efron 1979,
      1981), and p is twice the smaller share of the means on either side of 0, `2 (1 + count) / (n_resamples + 1)`. With few
      queries, intervals are too narrow and p is too small.
    - `..._holm` are corrected over all pairs of a measure that have a p (Holm 1979): as safe as Bonferroni's correction, never
      larger. `q` is the false discovery rate over the same pairs (Benjamini and Hochberg 1995): the share of false ones among
      the pairs up to this one. Measures are not corrected for one another.

    Parameters
    ----------
    per_query
        run, query_id, measure and value (null where undefined), each run, query and measure at most once
    baseline
        compare this run with every other; without it, every pair is compared once
    unit
        a column of per_query, such as the user or the topic of a query: its queries count as one, whose influence is their sum,
        and are drawn together and exchanged together
    within
        a column of per_query, the strata: their sizes are no matter of chance, so differences between them add no doubt
    test
        "t", "randomisation" or "bootstrap"
    n_resamples, seed
        of the randomisation test and the bootstrap: how often is drawn, and from where. The same seed gives the same table,
        whatever the order of the queries; with "t" nothing is drawn
    confidence
        of the interval

    Returns
    -------
    By measure and pair, in order of appearance: measure, run_a, run_b, estimate_a, estimate_b (the means), difference
    `estimate_b - estimate_a`, low, high, se, bias (null; of the bootstrap the mean of the resamples - difference),
    share_better (the share of Student's distribution, or of the resamples, above 0; those of 0 count half), p, p_holm, q,
    detectable (2.8 se: the difference that such a set of queries shows in four of five cases at 5 %), p_randomisation (null
    with "t"), p_t, p_randomisation_holm, p_t_holm, n_units (the queries, or units, that both have), n_resamples (null with
    "t") and method ("influence" or "bootstrap", where se and the interval come from). Where all d are 0, the interval is
    [0, 0] and each p 1; where they are all the same and not 0, p_t is 0. With one unit, only estimates and difference are
    there, with none n_units alone.

    Raises
    ------
    ColumnError, RowError, DuplicateIdError
        columns that are missing or of another type; rows that are doubled, or lack what names them, or are not finite
    ParameterError
        fewer than two runs, an unknown baseline, options that cannot be, a query with two units

    Warns
    -----
    FewUnitsWarning
        a pair has fewer than 20 units in common, so that its interval may be too narrow
    FewResamplesWarning
        so many pairs are compared that the p of resamples cannot be significant after the correction

    Three differences, 0.75, 0.5 and 0.25: their standard deviation is 0.25, so se is 0.25 / √3 and t is 2 √3. Of the eight
    choices of signs only +++ and --- take the sum as far from 0.

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
    compared = []
    for measure, query_ids, matrix in matrices(values.table, runs):
        differences = matrix[:, b] - matrix[:, a]
        found = _nothing(NUMBERS, len(a), options)
        for pairs, queries in complete(differences):
            d = differences[np.ix_(queries, pairs)]
            draws = values.draws_of(query_ids.gather(queries), options)
            means_a, means_b = (matrix[np.ix_(queries, runs_of[pairs])].mean(axis=0) for runs_of in (a, b))
            made = {"estimate_a": means_a, "estimate_b": means_b, "difference": means_b - means_a}
            made |= _test(d, made["difference"], draws, test, options)
            for name, numbers in made.items():
                found[name][pairs] = numbers
        found["p_holm"], found["q"] = holm(found["p"]), false_discovery(found["p"])
        for name in FURTHER:
            found[f"{name}_holm"] = holm(found[name])
        names = {"measure": [measure] * len(a), "run_a": [runs[k] for k in a], "run_b": [runs[k] for k in b]}
        compared.append(pl.DataFrame(names | found))
    method = "bootstrap" if test == "bootstrap" else "influence"
    return _with_nulls(pl.concat(compared)).with_columns(method=pl.lit(method))


def _test(d: np.ndarray, difference: np.ndarray, draws: Draws, test: str, options: Resampling) -> dict[str, np.ndarray | float]:
    """The interval and the p values of the mean of each column of differences, none of which is missing."""
    influence = influence_on_means(d, draws)
    made: dict[str, Any] = standard_errors.compare(difference, influence.se, influence.n_units, options.confidence)
    made |= {"p_t": made["p"], "n_units": influence.n_units}
    if test == "t" or draws.n_units < 2:
        return made
    if test == "bootstrap":
        made |= inference.compare(difference, resampled_means(d, draws), options.confidence)
    made["p_randomisation"] = randomisation(draws.sums(d.T).T, options.n_resamples, options.seed)
    if test == "randomisation":
        made |= {"p": made["p_randomisation"], "n_resamples": min(options.n_resamples, 2**draws.n_units)}
    return made


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
    """`compare_runs` of the queries of each group alone, sorted by the columns `keys`, which come first.

    All runs are compared in every group: n_units is 0 where two have no query of it in common. `..._holm` are corrected over
    the pairs of a measure within each group, q over the groups of a measure and pair.

    >>> per_query = pl.DataFrame({
    ...     "topic": ["birds", "fish"] * 2, "run": ["a", "a", "b", "b"], "query_id": [1, 2, 1, 2], "measure": ["AP"] * 4,
    ...     "value": [0.0, 0.5, 1.0, 0.25],
    ... })
    >>> compare_groups(per_query, ["topic"]).select("topic", "run_a", "run_b", "difference").rows()
    [('birds', 'a', 'b', 1.0), ('fish', 'a', 'b', -0.25)]
    """
    values, options = checked(per_query, unit, within), _drawn_for("test", test, TESTS, **resampling)
    names = [f"key_{number}" for number in range(len(keys))]  # of ours, for those of the data may be patterns
    groups = pl.DataFrame([per_query[key].alias(name) for key, name in zip(keys, names, strict=True)])
    table = values.table.with_columns(groups)
    # every run in every group
    runs = table.select(pl.col("run").unique(maintain_order=True))
    whole = table.select(*names, "query_id", "measure").unique(maintain_order=True).join(runs, how="cross")
    whole = whole.join(values.table, on=["query_id", "measure", "run"], how="left", maintain_order="left")
    parts = whole.group_by(names, maintain_order=True)
    compared = [
        _compared(
            Values(part.select("run", "query_id", "measure", "value"), values.query_ids, values.draws), baseline, test, options
        ).select(*(pl.lit(value, whole.schema[name]).alias(name) for name, value in zip(names, group, strict=True)), pl.all())
        for group, part in parts
    ]
    made = pl.concat(compared).sort(names, maintain_order=True)
    n_groups = made.select(names).n_unique()
    if options.is_drawn:
        warn_of_few_resamples(options.n_resamples, n_groups)
    few = made.filter(pl.col("n_units") < FEW).select(names).n_unique()
    if few:
        warn(
            f"{few} of {counted(n_groups, 'group')} {'has' if few == 1 else 'have'} fewer than {FEW} {unit or 'queries'}, "
            "so intervals may be too narrow there",
            FewUnitsWarning,
        )
    q = pl.col("p").map_batches(lambda p: pl.Series(_rates(p), nan_to_null=True), return_dtype=pl.Float64)
    made = made.with_columns(q=q.over("measure", "run_a", "run_b"))
    return made.rename(dict(zip(names, keys, strict=True)))


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
    """The mean of each run and measure over its queries, with its standard error and interval.

    By "influence", se is sd / √n. The interval is the mean plus and minus se times the quantile of Student's distribution with
    n - 1 degrees of freedom; it is cut to [0, 1] if all values are between 0 and 1. `bootstrap_mean` has the other method, the
    parameters and what is returned.

    >>> per_query = pl.DataFrame({"query_id": [1, 2, 3], "measure": ["AP"] * 3, "value": [0.5, 1.0, None]})
    >>> describe_means(per_query).select("measure", "estimate", "se", "n_units", "method").rows()
    [('AP', 0.75, 0.25, 2, 'influence')]
    """
    options = _drawn_for("method", method, METHODS, n_resamples, confidence, seed)
    given = ["run"] if "run" in per_query.columns else []
    values = checked(per_query, unit, within, bool(given))
    runs = values.table["run"].unique(maintain_order=True).to_list() if given else [None]
    names = ["estimate", *INTERVAL, "n_units", "n_resamples"]
    means = [pl.DataFrame(schema={"run": pl.String, "measure": pl.String} | dict.fromkeys(names, pl.Float64))]
    for measure, query_ids, matrix in matrices(values.table, runs):
        found = _nothing(names, len(runs), options)
        for columns, queries in complete(matrix):
            known = matrix[np.ix_(queries, columns)]
            draws = values.draws_of(query_ids.gather(queries), options)
            found["estimate"][columns], found["n_units"][columns] = known.mean(axis=0), draws.n_units
            made, _ = _describe(known, found["estimate"][columns], draws, options)
            for name, numbers in made.items():
                found[name][columns] = numbers
        labels = {"run": pl.Series(runs, dtype=pl.String), "measure": [measure] * len(runs)}
        means.append(pl.DataFrame(labels | found))
    whole = _with_nulls(pl.concat(means)).with_columns(method=pl.lit(method))
    warn_of_few(whole["n_units"], unit or within)
    return whole.select(*given, pl.exclude("run"))


def bootstrap_mean(
    per_query: pl.DataFrame,
    *,
    unit: str | None = None,
    within: str | None = None,
    n_resamples: int = 10_000,
    confidence: float = 0.95,
    seed: int = 0,
) -> pl.DataFrame:
    """The mean of each run and measure over its queries, with the percentile bootstrap's interval (Efron 1979, 1981).

    The interval says how far the mean would move with other queries of the same kind. Do not compare two runs by whether
    their intervals overlap: both saw the same queries, which `compare_runs` takes into account.

    Parameters
    ----------
    per_query
        query_id, measure and value (null where undefined: the query is left out), and run unless there is only one
    unit, within, n_resamples, confidence, seed
        as in `compare_runs`

    Returns
    -------
    By measure and run, in order of appearance: run (if it was given), measure, estimate (the mean), low, high, se, bias,
    n_units, n_resamples and method. With one unit only the mean is there, with none nothing but n_units.

    Raises
    ------
    ColumnError, RowError, DuplicateIdError, ParameterError
        as `compare_runs`

    Warns
    -----
    FewUnitsWarning
        a run has fewer than 20 units, so that its interval may be too narrow

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
    """The runs by measure, the best first, with the shares and ranges of `rank_ranges`; all runs have the same draws.

    Parameters and errors are those of `describe_means`; `RunEvaluation.leaderboard` says what the columns are.

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
        known = np.isfinite(matrix).any(axis=1)
        matrix, draws = matrix[known], values.draws_of(query_ids.filter(known), options)
        has_value = np.isfinite(matrix)
        estimate = np.where(has_value, matrix, 0).sum(axis=0) / np.where(has_value.any(axis=0), has_value.sum(axis=0), np.nan)
        made, others = _describe(matrix, estimate, draws, options)
        made = _nothing(["n_resamples"], len(runs), options) | made
        board = rank_ranges(others(), runs, confidence=confidence).with_columns(
            measure=pl.lit(measure), rank=competition_ranks(estimate[None, :])[0], estimate=estimate, n_units=draws.n_units,
            low=made["low"], high=made["high"], n_resamples=made["n_resamples"],
        )  # fmt: skip
        boards.append(_with_nulls(board).sort("rank", "run", nulls_last=True))
    whole = pl.concat(boards).with_columns(pl.col("rank").cast(pl.Int64), method=pl.lit(method))
    warn_of_few(whole["n_units"], unit or within)
    return whole.select("measure", "rank", "run", "estimate", *INTERVAL[:2], pl.col("^(share|rank)_.*$"), "^n_.*$", "method")


def _drawn_for(
    option: str,
    choice: str,
    choices: tuple[str, ...],
    n_resamples: int = 10_000,
    confidence: float = 0.95,
    seed: int = 0,
) -> Resampling:
    """The options of a method or test, of which the first choice draws nothing."""
    one_of(option, choice, choices)
    return Resampling(n_resamples, confidence, seed, is_drawn=choice != choices[0])


def _nothing(names: list[str], n_rows: int, options: Resampling) -> dict[str, np.ndarray]:
    """Columns of numbers before any is known: NaN, but 0 for counts."""
    counts = ["n_units", "n_resamples"] if options.is_drawn else ["n_units"]
    return {name: np.full(n_rows, 0.0 if name in counts else np.nan) for name in names}


def _with_nulls(table: pl.DataFrame) -> pl.DataFrame:
    """Numbers that are not known are null, and counts whole numbers."""
    numbers = pl.col(pl.Float64).fill_nan(None)
    return table.with_columns(numbers).with_columns(pl.col("n_units", "n_resamples").cast(pl.Int64))


def _describe(
    values: np.ndarray, estimate: np.ndarray, draws: Draws, options: Resampling
) -> tuple[dict[str, np.ndarray], Callable[[], np.ndarray]]:
    """The interval of the mean of each column, and a function of its values in other samples, of shape (draws, columns).

    Both are of the resamples if these are drawn. Otherwise they are of the influence, and the values are drawn when asked for.
    """
    if options.is_drawn:
        means = resampled_means(values, draws)
        return inference.describe(estimate, means, options.confidence), lambda: means.T
    influence = influence_on_means(values, draws)
    known = np.where(np.isfinite(influence.se), estimate, np.nan)
    others = partial(standard_errors.draw_models, known, influence.of_units, options.seed, draws.stratum)
    least, most = np.nanmin(values, initial=0), np.nanmax(values, initial=1)
    bounds = (0, 1) if least >= 0 and most <= 1 else (-np.inf, np.inf)
    return standard_errors.describe(estimate, influence.se, influence.n_units, options.confidence, bounds=bounds), others


def _rates(p: pl.Series) -> np.ndarray:
    return false_discovery(p.cast(pl.Float64).fill_null(np.nan).to_numpy())


def warn_of_few(n_units: pl.Series, units: str | None) -> None:
    """A warning if intervals rest on few queries; with units or strata of queries, `make_units` has warned."""
    least = n_units.filter(n_units > 0).min()
    if units is None and isinstance(least, int) and least < FEW:
        what = "an interval needs two or more" if least < 2 else f"with fewer than {FEW}, intervals may be too narrow"
        warn(f"there {'is' if least == 1 else 'are'} only {counted(least, 'query')}; {what}", FewUnitsWarning)


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
