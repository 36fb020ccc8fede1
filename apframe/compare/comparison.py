"""Runs compared query by query: intervals by bootstrap, p values by bootstrap, by randomisation and by the t test.

All start from one matrix for each measure, queries × runs, with the queries in the order of their ids. A resample of the
queries is a column of counts, a random exchange of two runs a row of signs, so many resamples are one matrix product. The
draws start anew from the seed for each set of queries: but for the corrections, a pair's numbers do not depend on which
other runs are in the table.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from apframe.compare.intervals import compare, describe, false_discovery, holm, warn_of_few_resamples
from apframe.compare.paired_tests import paired_t, randomisation
from apframe.compare.ranks import competition_ranks, rank_ranges
from apframe.compare.resampling import FEW, Draws
from apframe.compare.values import Resampling, Values, checked, complete, matrices, resampled_means
from apframe.exceptions import FewUnitsWarning, ParameterError, warn
from apframe.wording import counted, did_you_mean, listed

INTERVAL = ["low", "high", "se", "bias"]
TESTS = ["p_randomisation", "p_t"]
COMPARED = [
    "estimate_a", "estimate_b", "difference", *INTERVAL, "share_better", "p", "p_holm", "q", "detectable",
    *TESTS, *(f"{name}_holm" for name in TESTS), "n_units", "n_resamples",
]  # fmt: skip


def compare_runs(
    per_query: pl.DataFrame,
    *,
    baseline: str | None = None,
    unit: str | None = None,
    within: str | None = None,
    n_resamples: int = 10_000,
    confidence: float = 0.95,
    seed: int = 0,
) -> pl.DataFrame:
    """Compare runs in pairs, over the queries on which both have a value.

    With d the differences `value_b - value_a` of n queries:

    - `low`, `high` bound the mean of d by the percentile bootstrap (Efron 1979, 1981): the middle `confidence` of the means
      of n queries drawn with replacement. It takes no shape of d for granted, and its ends are means that can occur.
    - `p` is that of the bootstrap and says the same as the interval: twice the smaller share of the means on either side of 0,
      `2 (1 + count) / (n_resamples + 1)`. With few queries it is too small, as intervals are too narrow.
    - `p_randomisation` is two-sided. If the runs were alike, the two values of a query could be exchanged. So p is the
      share of random signs s with `|sum(s d)| >= |sum(d)|`, computed as `(1 + count) / (n_resamples + 1)`, which is never
      0. If there are at most `n_resamples` combinations of signs, all 2^n are taken and p is exact. This is the test to
      read first: Smucker, Allan and Carterette (CIKM 2007) find that it assumes least, and that the sign and Wilcoxon tests
      miss differences or find false ones.
    - `p_t` is that of the paired t test with n - 1 degrees of freedom, two-sided. In their study it nearly always agrees with
      the former; where the two disagree, look at the differences.
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
        a column of per_query, such as the user or the topic of a query: its queries are drawn together and exchanged together.
        p_t is null then, for the t test assumes independent queries.
    within
        a column of per_query: as many units are drawn from each of its values as it has
    n_resamples
        random draws for the interval and for the randomisation test
    confidence
        the share of the resampled means within the interval
    seed
        the same seed gives the same table, whatever the order of the queries

    Returns
    -------
    By measure and pair, in order of appearance: measure, run_a, run_b, estimate_a, estimate_b (the means), difference
    `estimate_b - estimate_a`, low, high, se (the standard deviation of the resampled means), bias (their mean - difference),
    share_better (the share of them above 0; those of 0 count half), p, p_holm, q, detectable (2.8 se: the difference that such
    a set of queries shows in four of five cases at 5 %), p_randomisation, p_t, p_randomisation_holm, p_t_holm, n_units (the
    queries, or units, that both have) and n_resamples. Where all d are 0, the interval is [0, 0] and each p 1; where they are
    all the same and not 0, p_t is 0. With one unit, only estimates, difference and p_randomisation are there, with none n_units
    alone.

    Raises
    ------
    ColumnError, RowError, DuplicateIdError
        columns that are missing or of another type; rows that are doubled, or lack what names them, or are not finite
    ParameterError
        fewer than two runs, an unknown baseline, options that cannot be, a query with two units

    Warns
    -----
    FewUnitsWarning
        a pair has fewer than 20 units in common, so that its interval is too narrow
    FewResamplesWarning
        so many pairs are compared that p cannot be significant after the correction

    Three differences, 0.75, 0.5 and 0.25: of the eight choices of signs only +++ and --- take the sum as far from 0, and t
    is 2 √3.

    >>> per_query = pl.DataFrame({
    ...     "run": ["old"] * 3 + ["new"] * 3, "query_id": [1, 2, 3] * 2, "measure": ["AP"] * 6,
    ...     "value": [0.0, 0.25, 0.5, 0.75, 0.75, 0.75],
    ... })
    >>> compared = compare_runs(per_query)
    >>> compared.select("run_a", "run_b", "n_units", "estimate_a", "estimate_b", "difference").rows()
    [('old', 'new', 3, 0.25, 0.75, 0.5)]
    >>> compared.select(pl.col("low", "high", "p_randomisation", "p_t").round(4)).rows()
    [(0.25, 0.75, 0.25, 0.0742)]
    """
    options = Resampling(n_resamples, confidence, seed)
    compared = _compared(checked(per_query, unit, within), baseline, options)
    warn_of_few(compared["n_units"], unit)
    return compared


def _compared(values: Values, baseline: str | None, options: Resampling) -> pl.DataFrame:
    runs = values.table["run"].unique(maintain_order=True).to_list()
    a, b = np.array(pairs_of(runs, baseline)).T
    warn_of_few_resamples(options.n_resamples, len(a))
    compared = []
    for measure, query_ids, matrix in matrices(values.table, runs):
        differences = matrix[:, b] - matrix[:, a]
        found = {name: np.full(len(a), np.nan) for name in COMPARED} | {
            name: np.zeros(len(a), np.int64) for name in ("n_units", "n_resamples")
        }
        for pairs, queries in complete(differences):
            d = differences[np.ix_(queries, pairs)]
            draws = values.draws_of(query_ids.gather(queries), options)
            found["estimate_a"][pairs] = matrix[np.ix_(queries, a[pairs])].mean(axis=0)
            found["estimate_b"][pairs] = matrix[np.ix_(queries, b[pairs])].mean(axis=0)
            found["difference"][pairs] = found["estimate_b"][pairs] - found["estimate_a"][pairs]
            made = compare(found["difference"][pairs], resampled_means(d, draws), options.confidence)
            for name, numbers in made.items():
                found[name][pairs] = numbers
            found["n_units"][pairs] = draws.n_units
            found["p_randomisation"][pairs] = randomisation(_sums(d, draws), options.n_resamples, options.seed)
            if draws.n_units == len(d):
                found["p_t"][pairs] = paired_t(d)
        found["p_holm"], found["q"] = holm(found["p"]), false_discovery(found["p"])
        for name in TESTS:
            found[f"{name}_holm"] = holm(found[name])
        names = {"measure": [measure] * len(a), "run_a": [runs[k] for k in a], "run_b": [runs[k] for k in b]}
        compared.append(pl.DataFrame(names | found))
    return pl.concat(compared).with_columns(pl.col(COMPARED[:-2]).fill_nan(None))


def compare_groups(
    per_query: pl.DataFrame,
    keys: list[str],
    *,
    baseline: str | None = None,
    unit: str | None = None,
    within: str | None = None,
    **options: Any,
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
    resampling = Resampling(**{"n_resamples": 10_000, "confidence": 0.95, "seed": 0} | options)
    values = checked(per_query, unit, within)
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
            Values(part.select("run", "query_id", "measure", "value"), values.query_ids, values.draws), baseline, resampling
        ).select(*(pl.lit(value, whole.schema[name]).alias(name) for name, value in zip(names, group, strict=True)), pl.all())
        for group, part in parts
    ]
    made = pl.concat(compared).sort(names, maintain_order=True)
    n_groups = made.select(names).n_unique()
    warn_of_few_resamples(resampling.n_resamples, n_groups)
    few = made.filter(pl.col("n_units") < FEW).select(names).n_unique()
    if few:
        warn(
            f"{few} of {counted(n_groups, 'group')} {'has' if few == 1 else 'have'} fewer than {FEW} {unit or 'queries'}, "
            "so intervals are too narrow there",
            FewUnitsWarning,
        )
    q = pl.col("p").map_batches(lambda p: pl.Series(_rates(p)), return_dtype=pl.Float64)
    made = made.with_columns(q=q.over("measure", "run_a", "run_b"))
    return made.rename(dict(zip(names, keys, strict=True)))


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
    n_units and n_resamples. With one unit only the mean is there, with none nothing but n_units.

    Raises
    ------
    ColumnError, RowError, DuplicateIdError, ParameterError
        as `compare_runs`

    Warns
    -----
    FewUnitsWarning
        a run has fewer than 20 units, so that its interval is too narrow

    >>> per_query = pl.DataFrame({"query_id": [1, 2, 3], "measure": ["AP"] * 3, "value": [0.5, 1.0, None]})
    >>> bootstrap_mean(per_query).select("measure", "estimate", "low", "high", "n_units").rows()
    [('AP', 0.75, 0.5, 1.0, 2)]
    """
    options = Resampling(n_resamples, confidence, seed)
    given = ["run"] if "run" in per_query.columns else []
    values = checked(per_query, unit, within, bool(given))
    runs = values.table["run"].unique(maintain_order=True).to_list() if given else [None]
    names, counts = ["estimate", *INTERVAL], ["n_units", "n_resamples"]
    schema = {"run": pl.String, "measure": pl.String} | dict.fromkeys(names, pl.Float64) | dict.fromkeys(counts, pl.Int64)
    means = [pl.DataFrame(schema=schema)]
    for measure, query_ids, matrix in matrices(values.table, runs):
        found = {name: np.full(len(runs), np.nan) for name in names} | {name: np.zeros(len(runs), np.int64) for name in counts}
        for columns, queries in complete(matrix):
            known = matrix[np.ix_(queries, columns)]
            draws = values.draws_of(query_ids.gather(queries), options)
            found["estimate"][columns] = known.mean(axis=0)
            made = describe(found["estimate"][columns], resampled_means(known, draws), options.confidence)
            for name, numbers in made.items():
                found[name][columns] = numbers
            found["n_units"][columns] = draws.n_units
        labels = {"run": pl.Series(runs, dtype=pl.String), "measure": [measure] * len(runs)}
        means.append(pl.DataFrame(labels | found))
    whole = pl.concat(means).with_columns(pl.col(names).fill_nan(None))
    warn_of_few(whole["n_units"], unit)
    return whole.select(*given, pl.exclude("run"))


def rank_runs(
    per_query: pl.DataFrame,
    *,
    unit: str | None = None,
    within: str | None = None,
    n_resamples: int = 10_000,
    confidence: float = 0.95,
    seed: int = 0,
) -> pl.DataFrame:
    """The runs by measure, the best first, with the shares and ranges of `rank_ranges`; all runs have the same draws.

    Parameters and errors are those of `bootstrap_mean`; `RunEvaluation.leaderboard` says what the columns are.

    >>> per_query = pl.DataFrame({
    ...     "run": ["a", "a", "b", "b"], "query_id": [1, 2, 1, 2], "measure": ["AP"] * 4, "value": [0.0, 0.5, 0.5, 0.25],
    ... })
    >>> rank_runs(per_query).select("rank", "run", "estimate", "rank_low", "rank_high").rows()
    [(1, 'b', 0.375, 1, 2), (2, 'a', 0.25, 1, 2)]
    """
    options = Resampling(n_resamples, confidence, seed)
    values = checked(per_query, unit, within)
    runs = values.table["run"].unique().sort().to_list()
    boards = []
    for measure, query_ids, matrix in matrices(values.table, runs):
        known = np.isfinite(matrix).any(axis=1)
        matrix, draws = matrix[known], values.draws_of(query_ids.filter(known), options)
        means = resampled_means(matrix, draws)
        has_value = np.isfinite(matrix)
        estimate = np.where(has_value, matrix, 0).sum(axis=0) / np.where(has_value.any(axis=0), has_value.sum(axis=0), np.nan)
        made = describe(estimate, means, confidence)
        board = rank_ranges(means.T, runs, confidence=confidence).with_columns(
            measure=pl.lit(measure), rank=competition_ranks(estimate[None, :])[0], estimate=estimate, n_units=draws.n_units,
            low=made["low"], high=made["high"], n_resamples=made["n_resamples"],
        )  # fmt: skip
        boards.append(
            board.with_columns(pl.col("rank", "estimate", "low", "high").fill_nan(None)).sort("rank", "run", nulls_last=True)
        )
    whole = pl.concat(boards).with_columns(pl.col("rank", "n_units").cast(pl.Int64))
    warn_of_few(whole["n_units"], unit)
    return whole.select("measure", "rank", "run", "estimate", *INTERVAL[:2], pl.col("^(share|rank)_.*$"), "^n_.*$")


def _sums(d: np.ndarray, draws: Draws) -> np.ndarray:
    """The sums of the rows of each unit; the rows themselves where each is a unit."""
    if draws.n_units == len(d):
        return d
    sums = np.zeros((draws.n_units, d.shape[1]))
    np.add.at(sums, draws.unit, d)
    return sums


def _rates(p: pl.Series) -> np.ndarray:
    return false_discovery(p.cast(pl.Float64).fill_null(np.nan).to_numpy())


def warn_of_few(n_units: pl.Series, unit: str | None) -> None:
    """A warning if intervals rest on few queries; with units of queries, `make_units` has warned."""
    least = n_units.filter(n_units > 0).min()
    if unit is None and isinstance(least, int) and least < FEW:
        warn(
            f"only {counted(least, 'query')} can be drawn for an interval; with fewer than {FEW}, intervals are too narrow",
            FewUnitsWarning,
        )


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
