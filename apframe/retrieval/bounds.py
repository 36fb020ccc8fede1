"""Bounds on the measures of a run that unjudged documents leave open."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING, Any

import polars as pl

from apframe.lists.measures import Measure
from apframe.retrieval.comparing import plain_means, with_units
from apframe.retrieval.one_run import Policies, evaluate_one, ranked_list

if TYPE_CHECKING:
    from apframe.retrieval.evaluation import RunEvaluation

_CASES = ["if_nonrelevant", "if_relevant"]


def bounds(
    self: RunEvaluation,
    *,
    per_query: bool = False,
    method: str = "influence",
    unit: str | None = None,
    within: str | None = None,
    n_resamples: int = 10_000,
    confidence: float = 0.95,
    seed: int = 0,
) -> pl.DataFrame:
    """Compute every measure twice: with all unjudged documents of a run as non-relevant, and with all of them as relevant.

    The unjudged documents of a run are those in its lists without a judgement, or with negative relevance. For a measure with a
    cut-off k, only those among the first k count. They get relevance 0 in one case, and the highest grade in the other: the
    largest of the judgements' grades, the measure's `max_grade` or `rel`, and 1. All other documents keep their relevance.

    For P, Success, RR, ERR and RBP these are bounds: no judgement of these documents gives a value outside. AP, nDCG, R, F,
    Rprec and similar measures divide by the number of relevant documents, which grows too, so the second value may even be the
    smaller one.

    The difference is the residual of Moffat and Zobel 2008 for RBP. As in their paper, it includes the ranks after the end of a
    list, down to the cut-off, as if they contained unjudged documents.

    Parameters
    ----------
    per_query
        return the values of each query instead of the means
    method, n_resamples, confidence, seed
        options of the intervals, as in `intervals`
    unit, within
        attributes of `queries`, as in `compare`

    Returns
    -------
    By measure and run: run (if several were evaluated), measure, if_nonrelevant and if_relevant (the means over the queries
    with both values), residual (if_relevant - if_nonrelevant), low, high, n_unjudged (unjudged documents among the first k, or
    in the lists, of these queries), n_units, n_resamples and method. `low` and `high` also include the uncertainty from the
    choice of queries: the lower end of the interval of the smaller mean, and the upper end of that of the larger one.

    With `per_query`: run, query_id, measure, if_nonrelevant, if_relevant, residual and n_unjudged. GMAP, GMBpref and counts are
    left out.

    Raises
    ------
    ParameterError
        no measure has a plain mean, an unknown attribute, missing `queries`, invalid options

    Warns
    -----
    FewUnitsWarning
        there are fewer than 20 queries or units

    The first document is relevant, the second unjudged:

    >>> from apframe.retrieval.evaluation import evaluate_run
    >>> ev = evaluate_run({"q": {"a": 1}}, {"q": {"a": 0.9, "b": 0.8}}, "P@2 RBP(p=0.5)@2 RBP(p=0.5)")
    >>> ev.bounds(per_query=True).select("measure", "if_nonrelevant", "if_relevant", "residual", "n_unjudged").rows()
    [('P@2', 0.5, 1.0, 0.5, 1), ('RBP(p=0.5)@2', 0.5, 0.75, 0.25, 1), ('RBP(p=0.5)', 0.5, 1.0, 0.5, 1)]
    """
    names = plain_means(self)["measure"].unique(maintain_order=True).to_list()
    measures = [measure for measure in self.measures if str(measure) in names]
    policies = Policies.of(self.options)
    parts = [_of_run(name, self.judgements, run, measures, policies) for name, run in self.runs.items()]
    values = pl.concat(parts)
    values = values if "run" in self.per_query.columns else values.drop("run")
    if per_query:
        return values
    values = with_units(self, values, unit, within)
    return _means(values, method=method, unit=unit, within=within, n_resamples=n_resamples, confidence=confidence, seed=seed)


def _of_run(
    name: str | None, judgements: pl.DataFrame, run: pl.DataFrame, measures: list[Measure], policies: Policies
) -> pl.DataFrame:
    """Return the values of one run in both cases, query by query, in the order of `per_query`."""
    ids = ["query_id", "document_id"]
    judged = judgements.select(*ids, "relevance")
    judged_documents = judged.filter(pl.col("relevance") >= 0)
    highest = max(1.0, float(judged_documents["relevance"].max() or 0))  # type: ignore[arg-type]
    # unjudged documents stay in the lists, because they are judged now
    lists = ranked_list(name, judged, run, replace(policies, unjudged="nonrelevant"))
    unjudged = lists.join(judged_documents, on=ids, how="anti", maintain_order="left")
    alike: dict[tuple[float, float], list[Measure]] = {}
    for measure in measures:
        grade = max(highest, float(measure.get("rel") or 0), float(measure.get("max_grade") or 0))
        alike.setdefault((grade, float(measure.k or inf)), []).append(measure)
    tables, counts = [], []
    for (grade, k), same in alike.items():
        first = unjudged.filter(pl.col("rank") <= k)
        rest = judged.join(first, on=ids, how="anti", maintain_order="left")
        cases = []
        for relevance, case in zip((0.0, grade), _CASES, strict=True):
            grades = first.select(*ids, relevance=pl.lit(relevance))
            values, _, _ = evaluate_one(name, pl.concat([rest, grades]), run, tuple(same), policies, warns=False)
            cases.append(values.rename({"value": case}))
        tables.append(cases[0].join(cases[1], on=["run", "query_id", "measure"], nulls_equal=True))
        count = first.group_by("query_id").agg(n_unjudged=pl.len().cast(pl.Int64))
        counts.append(count.join(pl.DataFrame({"measure": [str(measure) for measure in same]}), how="cross"))
    lengths = lists.group_by("query_id").agg(n_ranked=pl.len().cast(pl.Int64))
    tails = pl.DataFrame(
        [(str(each), each.get("p"), float(each.k or inf)) for each in measures if each.name == "RBP"],
        schema={"measure": pl.String, "p": pl.Float64, "k": pl.Float64}, orient="row",
    )  # fmt: skip
    values = (
        pl.concat(tables).join(pl.concat(counts), on=["query_id", "measure"], how="left").join(tails, on="measure", how="left")
    )
    values = values.join(lengths, on="query_id", how="left")
    has_both = pl.all_horizontal(pl.col(_CASES).is_not_null())
    # the ranks after the end of a list
    tail = pl.col("p") ** pl.min_horizontal("n_ranked", "k") - pl.col("p") ** pl.col("k")
    order = pl.DataFrame({"query_id": judged["query_id"].unique(maintain_order=True)}).with_row_index("query")
    places = pl.DataFrame({"measure": [str(each) for each in measures]}).with_row_index("place")
    return (
        values.with_columns(if_relevant=pl.col("if_relevant") + tail.fill_null(0))
        .with_columns(pl.when(has_both).then(pl.col(_CASES)))
        .with_columns(residual=pl.col("if_relevant") - pl.col("if_nonrelevant"), n_unjudged=pl.col("n_unjudged").fill_null(0))
        .join(order, on="query_id")
        .join(places, on="measure")
        .sort("query", "place")
        .select("run", "query_id", "measure", *_CASES, "residual", "n_unjudged")
    )


def _means(values: pl.DataFrame, **options: Any) -> pl.DataFrame:
    """Return the means of both cases and of the residual, with the ends of both intervals."""
    from apframe.compare.comparison import describe_means

    keys = [name for name in ("run", "measure") if name in values.columns]
    others = [name for name in values.columns if name not in (*_CASES, "residual", "n_unjudged")]
    # one table for both cases, so that both have the same draws
    long = values.unpivot(_CASES, index=others, variable_name="case", value_name="value")
    means = describe_means(long.with_columns(measure=pl.format("{} {}", "case", "measure")), **options)
    means = means.with_columns(pl.col("measure").str.splitn(" ", 2).struct.rename_fields(["case", "measure"]).struct.unnest())
    first, second = (means.filter(case=case) for case in _CASES)
    both = first.rename({"estimate": "if_nonrelevant"}).join(second, on=keys, suffix="_2", maintain_order="left")
    counts = values.group_by(keys).agg(pl.col("n_unjudged").filter(pl.col("residual").is_not_null()).sum())
    return both.join(counts, on=keys, maintain_order="left").select(
        *keys, "if_nonrelevant", if_relevant="estimate", residual=pl.col("estimate") - pl.col("if_nonrelevant"),
        low=pl.min_horizontal("low", "low_2"), high=pl.max_horizontal("high", "high_2"),
        n_unjudged="n_unjudged", n_units="n_units", n_resamples="n_resamples", method="method",
    )  # fmt: skip
