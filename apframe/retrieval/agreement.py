"""Agreement between the runs of an evaluation, and between two leaderboards."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import polars as pl

from apframe.exceptions import ParameterError
from apframe.option_values import proper_share, whole_number
from apframe.retrieval.comparing import plain_means, refuse_one_run, with_units
from apframe.retrieval.one_run import Policies, ranked_list
from apframe.tables.ids import different_id_types
from apframe.wording import listed

if TYPE_CHECKING:
    import numpy as np

    from apframe.retrieval.evaluation import RunEvaluation

_STATISTICS = ["tau_b", "tau_ap_b", "rbo"]


def agreement(
    self: RunEvaluation,
    baseline: str | None = None,
    *,
    depth: int | None = None,
    p: float = 0.9,
    per_query: bool = False,
    method: str = "influence",
    unit: str | None = None,
    within: str | None = None,
    n_resamples: int = 10_000,
    confidence: float = 0.95,
    seed: int = 0,
) -> pl.DataFrame:
    """Measure how much the lists of two runs agree, query by query, regardless of relevance.

    - `tau_b`: Kendall's tau-b of the scores of the documents in both lists
    - `tau_ap_b`: the AP rank correlation of these scores, by the symmetric variant "b"
    - `rbo`: the rank-biased overlap of the whole lists, extrapolated (RBO_EXT)

    `kendall_tau`, `tau_ap` and `rank_biased_overlap` of `apframe.lists` define them. The lists are the evaluated ones,
    with the options of `evaluate_run`, and the queries are the judged queries that both runs contain. Check `n_common`: the
    first two ignore documents that only one run contains.

    Parameters
    ----------
    baseline
        compare this run with every other; by default, every pair is compared once
    depth
        the number of documents of each list to compare; None for all
    p
        the persistence of rank-biased overlap: the probability of looking at the next rank, between 0 and 1
    per_query
        return the values of each query instead of the means
    method, n_resamples, confidence, seed
        options of the intervals, as in `intervals`
    unit, within
        attributes of `queries`, as in `compare`

    Returns
    -------
    By pair: run_a, run_b, statistic, estimate (the mean over the queries with a value), low, high, se, bias, n_units,
    n_resamples and method, as in `intervals`. For two runs without a common query, the counts are 0 and the rest is null.

    With `per_query`: run_a, run_b, query_id, n_a, n_b (documents of each run), n_common (of both), tau_b, tau_ap_b and rbo. The
    first two are null with fewer than two common documents, or if one run gives them all the same score.

    Raises
    ------
    ParameterError
        only one run, an unknown baseline or attribute, missing `queries`, invalid options

    Warns
    -----
    FewUnitsWarning
        there are fewer than 20 queries or units

    >>> from apframe.retrieval.evaluation import evaluate_run
    >>> runs = {"x": {"q": {"a": 0.9, "b": 0.8, "c": 0.7}}, "y": {"q": {"b": 3.0, "a": 2.0, "c": 1.0}}}
    >>> evaluate_run({"q": {"a": 1}}, runs).agreement(per_query=True).drop("run_a", "run_b", "rbo").rows()
    [('q', 3, 3, 3, 0.3333333333333333, 0.0)]
    """
    from apframe.compare.comparison import describe_means, pairs_of
    from apframe.compare.rank_correlation import P

    proper_share("p", p, P)
    depth = None if depth is None else whole_number("depth", depth)
    refuse_one_run(self, "agreement")
    names = [name for name in self.runs if name is not None]
    pairs = [(names[a], names[b]) for a, b in pairs_of(names, baseline)]
    policies = Policies.of(self.options)
    lists = {name: ranked_list(name, self.judgements, self.runs[name], policies) for name in names}
    if depth is not None:
        lists = {name: each.filter(pl.col("rank") <= depth) for name, each in lists.items()}
    values = pl.concat(_of_pair(a, b, lists, p) for a, b in pairs)
    if per_query:
        return values
    numbers = pl.DataFrame(pairs, schema={"run_a": pl.String, "run_b": pl.String}, orient="row")
    numbers = numbers.with_columns(run=pl.int_range(pl.len()).cast(pl.String))
    long = values.join(numbers, on=["run_a", "run_b"], maintain_order="left").unpivot(
        _STATISTICS, index=["run", "query_id"], variable_name="measure"
    )
    long = with_units(self, long, unit, within)
    means = describe_means(
        long, method=method, unit=unit, within=within, n_resamples=n_resamples, confidence=confidence, seed=seed
    )
    # pairs without a common query have rows, too
    every = numbers.join(pl.DataFrame({"statistic": _STATISTICS}), how="cross", maintain_order="left_right")
    means = every.join(means.rename({"measure": "statistic"}), on=["run", "statistic"], how="left", maintain_order="left")
    counts = ["n_units", "n_resamples"] if method == "bootstrap" else ["n_units"]
    return means.drop("run").with_columns(pl.col(counts).fill_null(0), method=pl.lit(method))


def leaderboard_agreement(
    first: RunEvaluation,
    second: RunEvaluation,
    *,
    p: float = 0.9,
    n_resamples: int = 10_000,
    confidence: float = 0.95,
    seed: int = 0,
) -> pl.DataFrame:
    """Measure how much two evaluations of the same runs, such as with two sets of judgements, agree on the order of the runs.

    For each common measure, the runs are ranked by their means over the queries on which both evaluations have values:

    - `tau_b`: Kendall's tau-b of the means
    - `tau_ap_b`: the AP rank correlation of the means, in which the order of the best runs weighs more, by the symmetric
      variant "b"
    - `rbo`: the rank-biased overlap of the two orders; runs with equal means are in the order of their names

    Means that differ by less than 1e-12 are equal. The interval comes from the bootstrap: both leaderboards are recomputed from
    the same draws of the queries. Draws are noisier than the sets themselves, so they agree less; see `bias`.

    Parameters
    ----------
    first, second
        results of `evaluate_run` for the same runs
    p
        the persistence of rank-biased overlap: the probability of looking at the next rank, between 0 and 1
    n_resamples, confidence, seed
        options of the bootstrap over the queries, as in `compare_runs`

    Returns
    -------
    By measure: measure, statistic, estimate, low, high, se, bias, n_runs, n_units (queries) and n_resamples. An estimate is
    null if a run has no value. tau_b and tau_ap_b are null if all means are equal.

    Raises
    ------
    ParameterError
        the runs differ or are fewer than two, no common measure or query, invalid options
    IdTypeError
        the query ids are integers in one evaluation, and strings in the other

    Warns
    -----
    FewUnitsWarning
        there are fewer than 20 queries

    >>> from apframe.retrieval.evaluation import evaluate_run
    >>> runs = {"x": {"q": {"a": 0.9, "b": 0.8}}, "y": {"q": {"b": 0.9, "a": 0.8}}}
    >>> strict, lenient = (evaluate_run({"q": grades}, runs, "RR") for grades in ({"a": 1}, {"a": 1, "b": 1}))
    >>> leaderboard_agreement(strict, strict).select("measure", "statistic", "estimate").rows()
    [('RR', 'tau_b', 1.0), ('RR', 'tau_ap_b', 1.0), ('RR', 'rbo', 1.0)]
    >>> leaderboard_agreement(strict, lenient)["estimate"].to_list()  # where both runs have 1.0
    [None, None, 1.0]
    """
    import numpy as np

    from apframe.compare.comparison import INTERVAL, warn_of_few
    from apframe.compare.inference import describe
    from apframe.compare.rank_correlation import P
    from apframe.compare.values import Resampling, checked, matrices, resampled_means

    proper_share("p", p, P)
    options = Resampling(n_resamples, confidence, seed)
    tables = _in_common(first, second)
    runs = tables[0]["run"].unique().sort().to_list()
    sides = [checked(table, None, None) for table in tables]
    boards = []
    of_measure = {measure: matrix for measure, _, matrix in matrices(sides[1].table, runs)}
    for measure, query_ids, matrix in matrices(sides[0].table, runs):
        draws = sides[0].draws_of(query_ids, options)
        estimates, resampled = [], []
        for values in (matrix, of_measure[measure]):
            has_value = np.isfinite(values)
            counts = np.where(has_value.any(axis=0), has_value.sum(axis=0), np.nan)
            estimates.append(np.where(has_value, values, 0).sum(axis=0, keepdims=True) / counts)
            resampled.append(resampled_means(values, draws).T)
        estimate = _of_leaderboards(estimates[0], estimates[1], p)[:, 0]
        interval = describe(estimate, _of_leaderboards(resampled[0], resampled[1], p), confidence)
        numbers = {name: interval[name] for name in (*INTERVAL, "n_resamples")}
        board = pl.DataFrame({"statistic": _STATISTICS, "estimate": estimate} | numbers)
        boards.append(board.with_columns(measure=pl.lit(measure), n_units=draws.n_units, n_runs=len(runs)))
    agreements = pl.concat(boards).with_columns(
        pl.col("estimate", *INTERVAL).fill_nan(None), pl.col("n_units", "n_runs").cast(pl.Int64)
    )
    warn_of_few(agreements["n_units"], None)
    return agreements.select("measure", "statistic", "estimate", *INTERVAL, "n_runs", "n_units", "n_resamples")


def _of_pair(run_a: str, run_b: str, lists: Mapping[str, pl.DataFrame], p: float) -> pl.DataFrame:
    """Return the agreement of two runs on each common query."""
    import numpy as np

    from apframe.compare.rank_correlation import Pairs, overlaps, tau_ap_b

    a, b = lists[run_a], lists[run_b]
    lengths = [each.group_by("query_id").agg(pl.len().cast(pl.Int64).alias(name)) for each, name in ((a, "n_a"), (b, "n_b"))]
    queries = lengths[0].join(lengths[1], on="query_id").sort("query_id").with_row_index("group")
    common = a.join(b, on=["query_id", "document_id"]).join(queries.select("query_id", "group"), on="query_id").sort("group")
    group = common["group"].to_numpy().astype(np.int64)
    deeper = common.select(pl.max_horizontal("rank", "rank_right")).to_series().to_numpy()
    shorter, longer = (
        queries.select(ends("n_a", "n_b")).to_series().to_numpy() for ends in (pl.min_horizontal, pl.max_horizontal)
    )
    statistics = {name: np.full(len(queries), np.nan) for name in _STATISTICS[:2]}
    present, number = np.unique(group, return_inverse=True)
    if len(present):
        scores = [common[name].to_numpy().astype(np.float64) for name in ("score", "score_right")]
        pairs, exchanged = Pairs.of(number, *scores), Pairs.of(number, *scores[::-1])
        statistics["tau_b"][present], statistics["tau_ap_b"][present] = pairs.tau_b(), tau_ap_b(pairs, exchanged)
    statistics["rbo"] = overlaps(group, deeper, shorter, longer, p)
    n_common = pl.Series(np.bincount(group, minlength=len(queries)), dtype=pl.Int64)
    table = queries.with_columns(run_a=pl.lit(run_a), run_b=pl.lit(run_b), n_common=n_common, **statistics)
    return table.select("run_a", "run_b", "query_id", "n_a", "n_b", "n_common", pl.col(_STATISTICS).fill_nan(None))


def _of_leaderboards(a: np.ndarray, b: np.ndarray, p: float) -> np.ndarray:
    """Compute the three statistics of each pair of rows of means; NaN if a run has none."""
    import numpy as np

    from apframe.compare.rank_correlation import Pairs, overlaps, tau_ap_b

    n_rows, n_runs = a.shape
    statistics = np.full((len(_STATISTICS), n_rows), np.nan)
    has_all_means = np.isfinite(a).all(axis=1) & np.isfinite(b).all(axis=1)
    n = int(has_all_means.sum())
    if n:
        group = np.repeat(np.arange(n), n_runs)
        first, second = (np.round(means[has_all_means], 12) for means in (a, b))
        scores = first.ravel(), second.ravel()
        pairs, exchanged = Pairs.of(group, *scores), Pairs.of(group, *scores[::-1])
        ranks = [np.argsort(np.argsort(-means, axis=1, kind="stable"), axis=1) + 1 for means in (first, second)]
        lengths = np.full(n, n_runs)
        overlap = overlaps(group, np.maximum(*ranks).ravel(), lengths, lengths, p)
        statistics[:, has_all_means] = pairs.tau_b(), tau_ap_b(pairs, exchanged), overlap
    return statistics


def _in_common(first: RunEvaluation, second: RunEvaluation) -> list[pl.DataFrame]:
    """Return the values of both evaluations for their common measures and queries."""
    sides = [plain_means(each) for each in (first, second)]
    names = [each["run"].unique().sort().to_list() if "run" in each.columns else [] for each in sides]
    for k in (0, 1):
        extra = [name for name in names[k] if name not in names[1 - k]]
        if extra:
            which = ("first", "second")[k]
            raise ParameterError(f"only {which} has the runs {listed(extra)}", "evaluate the same runs, with the same names")
    if len(names[0]) < 2:
        raise ParameterError(
            "a leaderboard needs at least two runs", "pass evaluate_run several runs, as a dict from names to runs"
        )
    mine, theirs = (each.schema["query_id"] for each in sides)
    if mine != theirs:
        cast = 'cast query_id to strings in the judgements and runs of both: pl.col("query_id").cast(pl.String)'
        raise different_id_types("query_id of first", "", mine, "second", theirs, cast)
    for name, what in (("measure", "measure"), ("query_id", "query")):
        common = [each.filter(pl.col("value").is_not_null())[name].unique(maintain_order=True) for each in sides]
        if not common[0].is_in(common[1].implode()).any():
            has = [listed(each.to_list(), 3) or "none" for each in common]
            raise ParameterError(f"no {what} in common: first has {has[0]}; second has {has[1]}")
    keys = ["query_id", "measure"]
    values = [each.filter(pl.col("value").is_not_null()) for each in sides]
    return [each.join(values[1 - k], on=keys, how="semi", maintain_order="left") for k, each in enumerate(values)]
