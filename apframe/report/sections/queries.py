"""The sections about single queries of search runs: which changed, how each did, and what was judged."""

from __future__ import annotations

import polars as pl

from apframe.lists.measures import lowest_level
from apframe.report.charts.sorted_bars import MOST_BARS, sorted_bars
from apframe.report.searched import RUN, Searched
from apframe.report.section import Block, Chart, Section, Table
from apframe.retrieval.one_run import rankable
from apframe.show.runs import coverage_lines
from apframe.wording import counted

_CHANGED = 10  # queries that are shown on either side
_MOST_ATTRIBUTES = 4
_DEPTHS = (10, 100)  # up to which rank judged documents are counted
_MOST_DOCUMENTS = 500_000  # in all runs, to ask what documents without judgement could change: that evaluates them again
HEADING = "What was judged?"
_HEADS = {
    "query_id": "query",
    "n_relevant": "relevant documents",
    "n_judged": "judged queries",
    "n_evaluated": "evaluated",
    "n_missing": "not in the run",
    "n_without_relevant": "without relevant documents",
    "n_not_judged": "without judgements",
    "if_nonrelevant": "if none is relevant",
    "if_relevant": "if all are relevant",
    "n_unjudged": "unjudged documents",
} | {
    head: text
    for k in _DEPTHS
    for head, text in ((f"n {k}", f"documents among the first {k}"), (f"judged {k}", "share that is judged"))
}


def changed(searched: Searched) -> Section | None:
    """Queries won and lost: all differences, and the largest on either side; None unless there are two runs."""
    if not searched.is_pair:
        return None
    (a, b), (first, second) = searched.names, searched.columns
    rows = _by_query(searched).with_columns(difference=pl.col(second) - pl.col(first)).drop_nulls("difference")
    won, lost = rows.filter(pl.col("difference") > 0), rows.filter(pl.col("difference") < 0)
    n_same = rows.height - won.height - lost.height
    sentence = (
        f"By {searched.measure}, {b} wins {counted(won.height, 'query')} and loses {lost.height:,}; {n_same:,} are the same."
    )
    blocks = list[Block]()
    if won.height + lost.height:
        said = f"{searched.measure} of {b} less that of {a}, the queries that {b} wins first"
        some = f" {MOST_BARS} of {rows.height:,} queries are drawn, evenly among them." if rows.height > MOST_BARS else ""
        blocks.append(Chart(sorted_bars(rows["difference"], said), f"{said}.{some}", scrolls=True))
    for table, verb in (
        (won.sort("difference", "query_id", descending=[True, False]), "wins"),
        (lost.sort("difference", "query_id"), "loses"),
    ):
        if not table.is_empty():
            most = _with_attributes(table.head(_CHANGED), searched)
            blocks.append(Table(most, f"Queries that {b} {verb} most", _HEADS | searched.columns, signed=["difference"]))
    return Section("changed", "Which queries?", (sentence,), blocks)


def each(searched: Searched) -> Section:
    """Every query: of one run all measures, of several the first one; the lowest of the last run first."""
    alone = len(searched.names) == 1
    last = searched.measure if alone else [*searched.columns][-1]
    rows = _measures(searched) if alone else _by_query(searched)
    rows = rows.sort(last, "query_id", nulls_last=True, maintain_order=True)
    sentences, known = list[str](), rows[last].drop_nulls()
    if len(known):
        low, middle, high = (known.quantile(share, "linear") or 0.0 for share in (0.25, 0.5, 0.75))
        sentences.append(
            f"{searched.measure} of {searched.names[-1]} has the median {middle:.3f} over queries; "
            f"the middle half of the queries is from {low:.3f} to {high:.3f}."
        )
    caption = f"{'Measures' if alone else searched.measure} by query, lowest first"
    table = Table(_with_attributes(rows, searched), caption, _HEADS | searched.columns)
    return Section("queries", "How did each query do?", sentences, (table,))


def coverage(searched: Searched) -> Section:
    """Return the section of judgements: queries left out, documents without judgement, and what these could change."""
    evaluation = searched.evaluation
    lines, n_runs = coverage_lines(evaluation.coverage, evaluation.options), evaluation.coverage.height
    sentences = [f"{line}." for line in lines[:n_runs]] + [f"{line[0].upper()}{line[1:]}." for line in lines[n_runs:]]
    blocks: list[Block] = [Table(evaluation.coverage, "Queries of each run", _HEADS)]
    if evaluation.options["unjudged"] == "remove":
        return Section("coverage", HEADING, [*sentences, "Documents without judgement were removed."], blocks)
    blocks.append(Table(judged_documents(searched), "Judged documents among the first ones", _HEADS))
    if not searched.plain:
        return Section("coverage", HEADING, sentences, blocks)
    if sum(run.height for run in evaluation.runs.values()) > _MOST_DOCUMENTS:
        call = "What documents without judgement could change is left out, as the runs are long: see a.bounds()."
        return Section("coverage", HEADING, sentences, blocks, (call,))
    bounds = evaluation.bounds().select(RUN, "measure", "n_unjudged", "if_nonrelevant", "if_relevant")
    blocks.append(Table(bounds, "Measures if documents without judgement were relevant", _HEADS))
    note = (
        "More relevant documents also raise what could have been found, so of AP, nDCG and recall these are no bounds. "
        "Of P, RR and RBP they are."
    )
    return Section("coverage", HEADING, sentences, blocks, (note,))


def judged_documents(searched: Searched) -> pl.DataFrame:
    """Count the judged documents among the first 10 and the first 100 of the judged queries of each run.

    Columns: run, and for each of both the number of documents, and the share of them that are judged, null without any.

    >>> from apframe.report.searched import together
    >>> from apframe.retrieval.evaluation import evaluate_run
    >>> ev = evaluate_run({"q": {"a": 1}}, {"q": {"a": 0.9, "b": 0.8}}, "AP")
    >>> judged_documents(Searched(*together([ev], ["new"]))).rows()
    [('new', 2, 0.5, 2, 0.5)]
    """
    evaluation = searched.evaluation
    runs = [rankable(table).select(pl.lit(name).alias(RUN), "query_id") for name, table in evaluation.runs.items()]
    judged_queries = evaluation.judgements.select("query_id").unique()
    lengths = pl.concat(runs).join(judged_queries, on="query_id", how="semi").group_by(RUN, "query_id").len()
    found = evaluation.matches.filter(pl.col("relevance") >= 0)
    table = pl.DataFrame({RUN: searched.names})
    for k in _DEPTHS:
        most = min(k, evaluation.options.get("max_documents", k))
        n = lengths.group_by(RUN).agg(pl.col("len").clip(upper_bound=most).sum().cast(pl.Int64).alias(f"n {k}"))
        judged = found.filter(pl.col("rank") <= most).group_by(RUN).agg(pl.len().alias("judged"))
        table = table.join(n, on=RUN, how="left", maintain_order="left").join(judged, on=RUN, how="left", maintain_order="left")
        table = table.with_columns(pl.col("judged").fill_null(0) / pl.col(f"n {k}")).rename({"judged": f"judged {k}"})
    return table


def _by_query(searched: Searched) -> pl.DataFrame:
    """The first measure of every query, a column for each run."""
    return searched.beside(searched.evaluation.per_query.filter(measure=searched.measure), ["query_id"])


def _measures(searched: Searched) -> pl.DataFrame:
    """The measures of every query of one run, a column for each."""
    return searched.evaluation.per_query.pivot("measure", index="query_id", values="value", maintain_order=True)


def _with_attributes(rows: pl.DataFrame, searched: Searched) -> pl.DataFrame:
    """The rows with the number of relevant documents and the first attributes of their queries, as far as names are free."""
    evaluation = searched.evaluation
    is_relevant = pl.col("relevance") >= lowest_level(evaluation.measures)
    counts = evaluation.judgements.group_by("query_id").agg(n_relevant=is_relevant.sum().cast(pl.Int64))
    rows = rows.join(counts, on="query_id", how="left", maintain_order="left")
    if evaluation.queries is None:
        return rows
    free = [name for name in evaluation.queries.columns if name not in rows.columns][:_MOST_ATTRIBUTES]
    return rows.join(evaluation.queries.select("query_id", *free), on="query_id", how="left", maintain_order="left")
