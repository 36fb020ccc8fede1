"""Methods of `RunEvaluation` that say how sure the means of its runs are: intervals, differences, ranks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from apframe.exceptions import ParameterError

if TYPE_CHECKING:
    from apframe.retrieval.evaluation import RunEvaluation


def compare(
    self: RunEvaluation,
    baseline: str | None = None,
    *,
    by: str | Sequence[str] = (),
    unit: str | None = None,
    within: str | None = None,
    n_resamples: int = 10_000,
    confidence: float = 0.95,
    seed: int = 0,
) -> pl.DataFrame:
    """Compare the runs in pairs, query by query: see `apframe.compare_runs`. GMAP, GMBpref and counts are left out.

    Each pair, or with `baseline` that run and each other one, is compared on the queries that both have. With `by`, one
    attribute of `queries` or several, the queries of each value are compared alone: these columns come first, `..._holm` is
    corrected over the pairs within each value, and `q` over the values of each pair.

    `unit` and `within` are attributes of `queries`: the queries of one unit, such as a user, are drawn together, and `within`
    draws from each of its values as many units as it has.

    Raises
    ------
    ParameterError
        one run alone, an unknown baseline or attribute, no queries were given, options that cannot be

    Warns
    -----
    FewUnitsWarning, FewResamplesWarning
        as `apframe.compare_runs`

    >>> from apframe.retrieval.evaluation import evaluate_run
    >>> qrels = {query: {"good": 1, "bad": 0} for query in "pqr"}
    >>> better, worse = ({query: {"good": score, "bad": 0.5} for query in "pqr"} for score in (0.9, 0.1))
    >>> ev = evaluate_run(qrels, {"better": better, "worse": worse}, "AP")
    >>> ev.compare().select("run_a", "run_b", "difference", "low", "high").rows()
    [('better', 'worse', -0.5, -0.5, -0.5)]
    """
    from apframe.compare.comparison import COMPARED, compare_groups, compare_runs

    refuse_one_run(self, "compare")
    options: dict[str, Any] = {
        "baseline": baseline, "unit": unit, "within": within,
        "n_resamples": n_resamples, "confidence": confidence, "seed": seed,
    }  # fmt: skip
    keys = list(dict.fromkeys([by] if isinstance(by, str) else by))
    values = with_units(self, plain_means(self), unit, within)
    if not keys:
        return compare_runs(values, **options)
    taken = ["run", "query_id", "measure", "value", "run_a", "run_b", *COMPARED]
    grouped = self.with_attributes(values, [key for key in keys if key not in (unit, within)], taken)
    return compare_groups(grouped, keys, **options)


def intervals(
    self: RunEvaluation,
    *,
    unit: str | None = None,
    within: str | None = None,
    n_resamples: int = 10_000,
    confidence: float = 0.95,
    seed: int = 0,
) -> pl.DataFrame:
    """Compute the mean of every measure but GMAP, GMBpref and counts, with its bootstrap interval over the queries.

    The columns are those of `apframe.bootstrap_mean`; `unit` and `within` are attributes of `queries`, as in `compare`.

    Raises
    ------
    ParameterError
        no measure has a plain mean, an unknown attribute, no queries were given, options that cannot be

    Warns
    -----
    FewUnitsWarning
        fewer than 20 queries or units are drawn from

    >>> from apframe.retrieval.evaluation import evaluate_run
    >>> ev = evaluate_run({"p": {"a": 1}, "q": {"a": 1}}, {"p": {"a": 2.0}, "q": {"b": 2.0, "a": 1.0}}, "AP")
    >>> ev.intervals().select("measure", "estimate", "low", "high", "n_units").rows()
    [('AP', 0.75, 0.5, 1.0, 2)]
    """
    from apframe.compare.comparison import bootstrap_mean

    values = with_units(self, plain_means(self), unit, within)
    return bootstrap_mean(values, unit=unit, within=within, n_resamples=n_resamples, confidence=confidence, seed=seed)


def leaderboard(
    self: RunEvaluation,
    *,
    unit: str | None = None,
    within: str | None = None,
    n_resamples: int = 10_000,
    confidence: float = 0.95,
    seed: int = 0,
) -> pl.DataFrame:
    """Rank the runs by each measure, and say how sure the ranks are when the queries are drawn again.

    Every run is measured on the same draws of the queries. A run that lacks queries is averaged over those that it has.
    GMAP, GMBpref and counts are left out.

    Returns
    -------
    By measure, the best run first: measure, rank (one plus the number of better runs), run, estimate (the mean), low, high,
    share_best (the share of draws in which the run leads; ties are split), rank_low and rank_high (the range of its rank in
    the middle `confidence` of the draws), n_units and n_resamples. Equal runs are in the order of their names.

    Raises
    ------
    ParameterError
        one run alone, an unknown attribute, no queries were given, options that cannot be

    Warns
    -----
    FewUnitsWarning
        fewer than 20 queries or units are drawn from

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
    return rank_runs(values, unit=unit, within=within, n_resamples=n_resamples, confidence=confidence, seed=seed)


def refuse_one_run(self: RunEvaluation, method: str) -> None:
    """An error of a method that compares runs, where a single one was evaluated."""
    if "run" not in self.per_query.columns:
        problem = f"{method}: only one run was evaluated"
        raise ParameterError(problem, "give evaluate_run several runs, as a dict from names to runs")


def plain_means(self: RunEvaluation) -> pl.DataFrame:
    """`per_query` without the measures whose summary is not a plain mean: their intervals would be of another number."""
    plain = [str(measure) for measure in self.measures if measure.kind.average == "mean"]
    if not plain:
        names = ", ".join(map(str, self.measures))
        problem = f"the summary of {names} is not a plain mean, so no interval or test is computed"
        raise ParameterError(problem, "measure AP too")
    return self.per_query.filter(pl.col("measure").is_in(plain))


def with_units(self: RunEvaluation, values: pl.DataFrame, unit: str | None, within: str | None) -> pl.DataFrame:
    """Join the attributes of the queries that say what is drawn together."""
    for option, name in (("unit", unit), ("within", within)):
        if name is not None and not (option == "within" and name == unit):
            values = self.with_attributes(values, [name], ["run", "query_id", "measure", "value"], option)
    return values
