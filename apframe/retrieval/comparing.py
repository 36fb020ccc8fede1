"""Methods of `RunEvaluation` about the uncertainty of means: influence, intervals, differences, ranks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from apframe.columns import exact
from apframe.exceptions import ParameterError
from apframe.option_values import one_of
from apframe.show.fitted import ComparisonTable

if TYPE_CHECKING:
    from apframe.lists.measures import Measure
    from apframe.retrieval.evaluation import RunEvaluation


def influence(self: RunEvaluation, measure: str | Measure = "AP", by: str | Sequence[str] = ()) -> pl.DataFrame:
    """Compute the influence of each query on the mean of a measure: `(value - mean) / n` for the n queries with a value.

    The influences of a run sum to 0, and their squares give its standard error, `sqrt(n / (n - 1) sum(influence²))`. The
    influences on the difference of two runs on the same queries are the differences of their influences.

    Parameters
    ----------
    measure
        one of the evaluated measures, but not GMAP, GMBpref or a count
    by
        attributes of `queries`, for the influence on the mean of each group of queries

    Returns
    -------
    The columns of `by`, run (if several were evaluated), measure, query_id and influence. Queries without a value are left
    out.

    Raises
    ------
    ParameterError
        a measure that was not evaluated or has no plain mean, an unknown attribute, missing `queries`

    >>> from apframe.retrieval.evaluation import evaluate_run
    >>> ev = evaluate_run({"p": {"a": 1}, "q": {"a": 1}}, {"p": {"a": 2.0}, "q": {"b": 2.0, "a": 1.0}}, "AP")
    >>> influence = ev.influence("AP")
    >>> influence.rows()
    [('AP', 'p', 0.125), ('AP', 'q', -0.125)]
    >>> n, u = pl.len(), pl.col("influence")
    >>> influence.select(se=((u**2).sum() * n / (n - 1)).sqrt()).item(), ev.intervals()["se"].item()
    (0.25, 0.25)
    """
    values = plain_means(self)
    one_of("measure", str(measure), values["measure"].unique(maintain_order=True).to_list())
    values = values.filter(pl.col("measure") == str(measure), pl.col("value").is_not_null())
    keys = list(dict.fromkeys([by] if isinstance(by, str) else by))
    if keys:
        values = self.with_attributes(values, keys, [*values.columns, "influence"])
    group = [*map(exact, keys), *(pl.col(name) for name in values.columns if name == "run")]
    value = pl.col("value")
    mean, n = (each.over(group) if group else each for each in (value.mean(), pl.len()))
    return values.select(*group, "measure", "query_id", influence=(value - mean) / n)


def compare(
    self: RunEvaluation,
    baseline: str | None = None,
    *,
    by: str | Sequence[str] = (),
    unit: str | None = None,
    within: str | None = None,
    test: str = "t",
    n_resamples: int = 10_000,
    confidence: float = 0.95,
    seed: int = 0,
) -> pl.DataFrame:
    """Compare the runs in pairs, query by query: see `apframe.compare_runs`. GMAP, GMBpref and counts are left out.

    Each pair, or each run with `baseline`, is compared on the common queries. With `by`, one or more attributes of `queries`,
    each group of queries is compared separately: these columns come first, `..._holm` is corrected over the pairs within each
    group, and `q` over the groups of each pair.

    `p` comes from the paired t test, or from `test="randomisation"` or `test="bootstrap"`. `unit` and `within` are attributes
    of `queries`: the queries of one unit, such as a user, are resampled together, and differences between the values of
    `within` add no uncertainty.

    Raises
    ------
    ParameterError
        only one run, an unknown baseline or attribute, missing `queries`, invalid options

    Warns
    -----
    FewUnitsWarning, FewResamplesWarning
        as `apframe.compare_runs`

    >>> from apframe.retrieval.evaluation import evaluate_run
    >>> qrels = {query: {"good": 1, "bad": 0} for query in "pqr"}
    >>> better, worse = ({query: {"good": score, "bad": 0.5} for query in "pqr"} for score in (0.9, 0.1))
    >>> ev = evaluate_run(qrels, {"better": better, "worse": worse}, "AP")
    >>> ev.compare().select("run_a", "run_b", "difference", "low", "high", "p").rows()
    [('better', 'worse', -0.5, -0.5, -0.5, 0.0)]
    >>> ev.compare(test="randomisation")["p"].to_list()
    [0.25]
    """
    from apframe.compare.comparison import COMPARED, compare_groups, compare_runs

    refuse_one_run(self, "compare")
    options: dict[str, Any] = {
        "baseline": baseline, "unit": unit, "within": within, "test": test,
        "n_resamples": n_resamples, "confidence": confidence, "seed": seed,
    }  # fmt: skip
    keys = list(dict.fromkeys([by] if isinstance(by, str) else by))
    values = with_units(self, plain_means(self), unit, within)
    if not keys:
        return ComparisonTable(compare_runs(values, **options))
    reserved_names = ["run", "query_id", "measure", "value", "run_a", "run_b", *COMPARED]
    grouped = self.with_attributes(values, [key for key in keys if key not in (unit, within)], reserved_names)
    return ComparisonTable(compare_groups(grouped, keys, **options))


def intervals(
    self: RunEvaluation,
    *,
    method: str = "influence",
    unit: str | None = None,
    within: str | None = None,
    n_resamples: int = 10_000,
    confidence: float = 0.95,
    seed: int = 0,
) -> pl.DataFrame:
    """Compute the mean of every measure but GMAP, GMBpref and counts, with its standard error and interval over the queries.

    With `method="influence"`, se is sd / √n. The interval is the mean plus and minus se times the quantile of Student's
    distribution with n - 1 degrees of freedom, clipped to [0, 1] if all values are between 0 and 1. `method="bootstrap"`
    resamples the queries with replacement, see `apframe.lists.bootstrap_mean`; only it uses `n_resamples` and `seed`.

    `unit` and `within` are attributes of `queries`, as in `compare`.

    Returns
    -------
    By measure and run: run (if several were evaluated), measure, estimate, low, high, se, bias (null for influence), n_units
    (queries or units), n_resamples (null for influence) and method. With one unit, there is only an estimate.

    Raises
    ------
    ParameterError
        no measure has a plain mean, an unknown attribute, missing `queries`, invalid options

    Warns
    -----
    FewUnitsWarning
        there are fewer than 20 queries or units

    >>> from apframe.retrieval.evaluation import evaluate_run
    >>> ev = evaluate_run({"p": {"a": 1}, "q": {"a": 1}}, {"p": {"a": 2.0}, "q": {"b": 2.0, "a": 1.0}}, "AP")
    >>> ev.intervals().select("measure", "estimate", "se", "n_units", "method").rows()
    [('AP', 0.75, 0.25, 2, 'influence')]
    """
    from apframe.compare.comparison import describe_means

    values = with_units(self, plain_means(self), unit, within)
    options: dict[str, Any] = {"n_resamples": n_resamples, "confidence": confidence, "seed": seed}
    return ComparisonTable(describe_means(values, method=method, unit=unit, within=within, **options))


def leaderboard(
    self: RunEvaluation,
    *,
    method: str = "influence",
    unit: str | None = None,
    within: str | None = None,
    n_resamples: int = 10_000,
    confidence: float = 0.95,
    seed: int = 0,
) -> pl.DataFrame:
    """Rank the runs by each measure, with intervals of the ranks for other queries of the same kind.

    With `method="influence"`, the means of all runs are drawn 10,000 times, with `seed`, as they would be with other queries:
    from their joint normal distribution, because runs find the same queries hard. `method="bootstrap"` resamples the queries
    `n_resamples` times with replacement instead. A run that lacks queries is averaged over those that it has. GMAP, GMBpref and
    counts are left out.

    Returns
    -------
    By measure, the best run first: measure, rank (one plus the number of better runs), run, estimate (the mean), low and high
    (as in `intervals`), share_best (the share of draws in which the run leads; ties are split), rank_low and rank_high
    (the range of its rank in the middle `confidence` of the draws), n_units (queries or units of any run), n_resamples (null
    by influence) and method. Equal runs are in the order of their names. With one query, there are only the means and ranks.

    Raises
    ------
    ParameterError
        only one run, an unknown attribute, missing `queries`, invalid options

    Warns
    -----
    FewUnitsWarning
        there are fewer than 20 queries or units

    >>> from apframe.retrieval.evaluation import evaluate_run
    >>> qrels = {query: {"good": 1, "bad": 0} for query in "pqr"}
    >>> better, worse = ({query: {"good": score, "bad": 0.5} for query in "pqr"} for score in (0.9, 0.1))
    >>> board = evaluate_run(qrels, {"worse": worse, "better": better}, "AP").leaderboard()
    >>> board.select("rank", "run", "estimate", "share_best", "rank_low", "rank_high").rows()
    [(1, 'better', 1.0, 1.0, 1, 1), (2, 'worse', 0.5, 0.0, 2, 2)]
    """
    from apframe.compare.comparison import rank_runs

    refuse_one_run(self, "leaderboard")
    values = with_units(self, plain_means(self), unit, within)
    return rank_runs(values, method=method, unit=unit, within=within, n_resamples=n_resamples, confidence=confidence, seed=seed)


def refuse_one_run(self: RunEvaluation, method: str) -> None:
    """Raise an error if a method that compares runs is called after a single run was evaluated."""
    if "run" not in self.per_query.columns:
        problem = f"{method}: only one run was evaluated"
        raise ParameterError(problem, "pass evaluate_run several runs, as a dict from names to runs")


def plain_means(self: RunEvaluation) -> pl.DataFrame:
    """Return `per_query` without measures whose summary is not a plain mean, because intervals would be of another number."""
    plain = [str(measure) for measure in self.measures if measure.kind.average == "mean"]
    if not plain:
        names = ", ".join(map(str, self.measures))
        problem = f"the summary of {names} is not a plain mean, so no interval or test is computed"
        raise ParameterError(problem, "evaluate AP too")
    return self.per_query.filter(pl.col("measure").is_in(plain))


def with_units(self: RunEvaluation, values: pl.DataFrame, unit: str | None, within: str | None) -> pl.DataFrame:
    """Join the attributes of the queries that define clusters and strata."""
    for option, name in (("unit", unit), ("within", within)):
        if name is not None and not (option == "within" and name == unit):
            values = self.with_attributes(values, [name], ["run", "query_id", "measure", "value"], option)
    return values
