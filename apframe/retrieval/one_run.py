"""One run against judgements: the value of every measure for every query, the coverage, and the matches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from apframe.exceptions import InputError, NothingMatchesWarning, warn
from apframe.lists.measures import Measure, condensed, lowest_level, measure_queries
from apframe.matching.by_key import find_spans, match_by_key, order_run
from apframe.tables.ids import different_id_types
from apframe.wording import counted, listed, option_name

_RARE = 100  # one in this many is suspiciously few


@dataclass(frozen=True)
class Policies:
    """Policies for queries and documents that only the run or only the judgements contain; see `evaluate_run`."""

    missing: str
    no_relevant: str
    unjudged: str
    trec_eval: int
    max_documents: int | None

    @staticmethod
    def of(options: Mapping[str, Any]) -> Policies:
        """Return the policies from the options of an evaluation; stored ones may lack newer options."""
        take = options.get
        return Policies(
            take("missing", "skip"), take("no_relevant", "zero"), take("unjudged", "nonrelevant"), take("trec_eval", 10),
            take("max_documents"),
        )  # fmt: skip


def evaluate_one(
    name: str | None,
    judgements: pl.DataFrame,
    run: pl.DataFrame,
    measures: tuple[Measure, ...],
    policies: Policies,
    warns: bool = True,
) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Return the tables per_query, coverage and matches of one run, as `RunEvaluation` describes them.

    With `warns`, it warns if the run and the judgements have hardly anything in common.

    Raises
    ------
    InputError
        the run and the judgements have no common query, or, with missing="error", the run lacks some
    """
    shown = name_shown(name)
    run = same_ids(shown, run, judgements, ["query_id", "document_id"])
    ranked_rows = _scores(run, policies)
    judged_ids = judgements["query_id"].unique(maintain_order=True)
    spans = find_spans(run)
    in_run = spans["query_id"].unique()
    if ranked_rows.height < run.height:
        spans = find_spans(ranked_rows)
    ordered = order_run(ranked_rows, spans, judged_ids)
    if ordered is not ranked_rows:
        spans = find_spans(ordered)
    # attributes are left out until all is computed, because they may have any name
    matches = match_by_key(judgements.select("query_id", "document_id", "relevance"), ordered, spans)
    queries = pl.DataFrame({"query_id": judged_ids}).join(
        spans.select("query_id", "n_ranked"), on="query_id", how="left", maintain_order="left"
    )
    queries = queries.with_columns(is_found=judged_ids.is_in(in_run.implode()), n_ranked=pl.col("n_ranked").fill_null(0))
    # of the queries that are missing too: runs are measured alike whatever they lack
    queries = queries.with_columns(max_grade=pl.lit(judgements["relevance"].max(), pl.Float64))
    gone = queries.filter(~pl.col("is_found"))["query_id"].to_list()
    if len(gone) == queries.height:
        ids = f"the run has {listed(in_run.sort().to_list(), 3) or 'none'}, the judgements {listed(judged_ids.to_list(), 3)}"
        raise InputError(f"{shown} and the judgements have no query in common: {ids}", "do they belong together?")
    if gone and policies.missing == "error":
        raise InputError(
            f"{shown} lacks {len(gone)} of {queries.height} judged queries: {listed(gone)}",
            f'add them, or choose {option_name("missing", "skip")} or "zero"',
        )
    if warns:
        _warn_of_few(shown, in_run, queries, matches, ordered)
    if policies.max_documents is not None:
        is_kept = pl.col("rank") <= policies.max_documents
        matches = matches.with_columns(pl.when(is_kept).then(pl.col("score", "rank")))
        queries = queries.with_columns(pl.col("n_ranked").clip(upper_bound=policies.max_documents))
    if policies.missing == "skip":
        queries = queries.filter("is_found")
    queries = queries.with_row_index("group")
    judged = matches.join(queries.select("query_id", "group"), on="query_id", maintain_order="left")
    if policies.unjudged == "remove":
        judged, queries = pl.collect_all(condensed(judged.lazy(), queries.lazy()))
    values = measure_queries(judged, queries, measures, policies.trec_eval)
    wide = queries.select("query_id").with_columns(value.alias(str(measure)) for measure, value in values.items())
    per_query = wide.with_row_index("row").unpivot(index=["row", "query_id"], variable_name="measure", value_name="value")
    if policies.no_relevant == "zero":
        per_query = per_query.with_columns(pl.col("value").fill_null(0.0))
    relevant = judged.filter(pl.col("relevance") >= lowest_level(measures))["group"].n_unique()
    coverage = pl.DataFrame(
        {
            "n_judged": len(judged_ids),
            "n_evaluated": relevant if policies.no_relevant == "skip" else queries.height,
            "n_missing": len(gone),
            "n_without_relevant": queries.height - relevant,
            "n_not_judged": (~in_run.is_in(judged_ids.implode())).sum(),
        }
    )
    run_name = pl.lit(name, pl.String).alias("run")
    return (
        per_query.sort("row", maintain_order=True).select(run_name, "query_id", "measure", "value"),
        coverage.select(run_name, pl.all()),
        _with_attributes(matches, judgements).select(run_name, pl.all()),
    )


def ranked_list(name: str | None, judgements: pl.DataFrame, run: pl.DataFrame, policies: Policies) -> pl.DataFrame:
    """Return the evaluated lists of one run for the judged queries: query_id, document_id, score and rank, in this order.

    Equal scores are ordered as in trec_eval, by document id, descending.

    >>> judged = pl.DataFrame({"query_id": ["q"], "document_id": ["a"], "relevance": [1.0]})
    >>> run = pl.DataFrame({"query_id": ["q"] * 3, "document_id": ["a", "b", "c"], "score": [0.5, 0.5, 0.9]})
    >>> ranked_list(None, judged, run, Policies("skip", "zero", "nonrelevant", 10, 2)).select("document_id", "rank").rows()
    [('c', 1), ('b', 2)]
    """
    ids = ["query_id", "document_id"]
    lists = _scores(same_ids(name_shown(name), run, judgements, ids), policies).join(judgements, on="query_id", how="semi")
    rank = pl.int_range(1, pl.len() + 1, dtype=pl.Int64).over("query_id")
    lists = lists.sort("query_id", "score", "document_id", descending=[False, True, True]).with_columns(rank=rank)
    if policies.max_documents is not None:
        lists = lists.filter(pl.col("rank") <= policies.max_documents)
    if policies.unjudged == "remove":
        judged = judgements.filter(pl.col("relevance") >= 0)
        lists = lists.join(judged, on=ids, how="semi", maintain_order="left").with_columns(rank=rank)
    return lists


def _scores(run: pl.DataFrame, policies: Policies) -> pl.DataFrame:
    """Return query_id, document_id and score of the rows that take a rank, in the precision in which scores are compared."""
    precision = pl.Float32 if policies.trec_eval == 9 else pl.Float64
    return rankable(run).select("query_id", "document_id", pl.col("score").cast(precision))


def rankable(run: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of a run that take a rank, which are those without the flag `ignore`."""
    return run.filter(~pl.col("ignore")) if "ignore" in run.columns else run


def _warn_of_few(shown: str, in_run: pl.Series, queries: pl.DataFrame, matches: pl.DataFrame, ordered: pl.DataFrame) -> None:
    """Warn if a run and the judgements have hardly anything in common, so that the numbers are meaningless.

    That is less than a hundredth of what they could have in common, because a run may be far longer or shorter than the
    judgements. Documents that are only in the pool (negative relevance) do not count.
    """
    is_found = queries["is_found"]
    n_found, n_possible = int(is_found.sum()), min(len(in_run), queries.height)
    if n_found * _RARE < n_possible:
        theirs = queries["query_id"].filter(~is_found).sort()[0]
        mine = in_run.filter(~in_run.is_in(queries["query_id"].implode())).sort()[0]
        warn(
            f"{shown} has only {n_found:,} of {queries.height:,} judged queries, among its {len(in_run):,}; for "
            f"example, it has query {mine!r}, but the judgements have {theirs!r}; do both use the same query ids?",
            NothingMatchesWarning,
        )
    judged = matches.filter(pl.col("relevance") >= 0)
    n_found = judged["rank"].count()
    if n_found * _RARE >= judged.height:  # the usual case
        return
    per_query = judged.group_by("query_id", maintain_order=True).agg(n_judged=pl.len(), n_found=pl.count("rank"))
    per_query = per_query.join(queries.filter("is_found"), on="query_id", maintain_order="left").with_columns(
        n_possible=pl.min_horizontal("n_judged", "n_ranked")
    )
    n_possible, n_ranked = per_query.select(pl.sum("n_possible"), pl.sum("n_ranked")).row(0)
    if n_found * _RARE >= n_possible:
        return
    of_query = pl.col("query_id") == per_query.filter(pl.col("n_found") < pl.col("n_possible"))["query_id"][0]
    judged_of_query = judged.filter(of_query)
    query, theirs = judged_of_query.filter(pl.col("rank").is_null()).select("query_id", "document_id").row(0)
    mine = ordered.filter(of_query, ~pl.col("document_id").is_in(judged_of_query["document_id"].implode()))["document_id"][0]
    documents = f"its {counted(n_ranked, 'document')} for {counted(per_query.height, 'judged query')}"
    share = f"none of {documents} is judged, so no measure is above 0"
    if n_found:
        share = f"only {n_found:,} of {documents} {'is' if n_found == 1 else 'are'} judged, of {n_possible:,} that could be"
    warn(
        f"{shown}: {share}; for query {query!r} the run has document {mine!r}, the judgements have {theirs!r}; do both "
        "use the same document ids?",
        NothingMatchesWarning,
    )


def _with_attributes(matches: pl.DataFrame, judgements: pl.DataFrame) -> pl.DataFrame:
    """Join the attributes of the judgements to the matches."""
    if judgements.width == 3:
        return matches
    attributes = judgements.drop("relevance")
    return matches.join(attributes, on=["query_id", "document_id"], how="left", maintain_order="left")


def name_shown(name: str | None) -> str:
    """Return the name of a run for messages; a single run has none."""
    return "the run" if name is None else f"run {name!r}"


def same_ids(name: str, table: pl.DataFrame, judgements: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    """Return the table if its ids have the judgements' types; the ids of an empty table are cast."""
    if table.is_empty():
        return table.with_columns(pl.col(column).cast(judgements[column].dtype) for column in columns)
    for column in columns:
        mine, theirs = table[column].dtype, judgements[column].dtype
        if mine != theirs:
            side = name if theirs == pl.String else "the judgements"
            cast = f'cast {column} of {side} to strings (as those of text files are): pl.col("{column}").cast(pl.String)'
            raise different_id_types(f"{name}: {column}", "", mine, "the judgements", theirs, cast)
    return table
