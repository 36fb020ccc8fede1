"""The sections about single queries of search runs: changes, values, and judgements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from apframe.columns import exact
from apframe.report.charts.sorted_bars import sorted_bars
from apframe.report.html_tables import NOTHING, minus
from apframe.report.searched import DEPTHS, MOST_BARS, QUERIES, RUN, Searched, filter_name
from apframe.report.section import MOST_ROWS, Block, Chart, Fragment, Section, Table
from apframe.report.sections.card_gallery import CardFilter, filter_data, filter_form
from apframe.report.sections.query_rankings import rankings
from apframe.show.elements import element
from apframe.show.run_means import coverage_lines
from apframe.wording import counted, cut

_MOST_ATTRIBUTES = 4
_LONGEST = 80  # letters of a query next to its bar
_MOST_DOCUMENTS = 500_000  # documents in all runs up to which bounds are computed, which evaluates the runs again
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
    for k in DEPTHS
    for head, text in ((f"n {k}", f"documents among the first {k}"), (f"judged {k}", "share that is judged"))
}


def changed(searched: Searched) -> Section | None:
    """Return the section of queries won and lost: all differences, and the largest on either side; None for one run."""
    if len(searched.compared) == 1:
        return None
    (a, b), (first, second), rows = searched.compared, searched.compared_columns, searched.changes
    n_won, n_lost = rows.filter(pl.col("difference") > 0).height, rows.filter(pl.col("difference") < 0).height
    against = "" if searched.is_pair else f" against {a}"
    sentence = (
        f"By {searched.measure}, {b} wins {counted(n_won, 'query')} and loses {n_lost:,}{against}; "
        f"{rows.height - n_won - n_lost:,} are the same."
    )
    blocks: list[Block] = [_bars(searched)] if n_won + n_lost else []
    for table, verb in zip(searched.most_changed, ("wins", "loses"), strict=True):
        if not table.is_empty():
            shown = _with_attributes(table.select("query_id", first, second, "difference", "n_relevant"), searched)
            blocks.append(_table(shown, f"Queries that {b} {verb} most", searched, signed=["difference"]))
    which = f"{a} is the first run. Of the others, {b} has the highest {searched.measure}."
    return Section("changed", "Which queries?", (sentence,), blocks, [] if searched.is_pair else [which])


def _bars(searched: Searched) -> Chart:
    """Draw the differences as bars, each of which leads to the rankings of its query."""
    (a, b), rows, drawn = searched.compared, searched.changes, searched.drawn
    caption = f"{searched.measure} of {b} less that of {a}, the queries that {b} wins first"
    some = f" {MOST_BARS} of {rows.height:,} queries are drawn, evenly among them." if rows.height > MOST_BARS else ""
    texts = searched.texts
    said_of = [cut(f"{query_id} {texts.get(query_id) or ''}".rstrip(), _LONGEST) for query_id in drawn["query_id"]]
    words = [f"{query}: {minus(f'{gain:+.3f}')}" for query, gain in zip(said_of, drawn["difference"], strict=True)]
    bars = sorted_bars(drawn["difference"].to_list(), caption, searched.query_marks(drawn["query_id"]), words)
    return Chart(bars, f"{caption}. A click opens the rankings.{some}", scrolls=True)


def each(searched: Searched) -> Section:
    """Return the section of every query with rankings, the lowest of the last run first: all measures for a single run."""
    alone, rows = len(searched.names) == 1, searched.by_query
    last = [*searched.columns][-1]
    sentences, values_of_last = list[str](), rows[last].drop_nulls()
    if len(values_of_last):
        low, middle, high = (values_of_last.quantile(share, "linear") or 0.0 for share in (0.25, 0.5, 0.75))
        sentences.append(
            f"{searched.measure} of {searched.names[-1]} has the median {middle:.3f} over queries; "
            f"the middle half of the queries is from {low:.3f} to {high:.3f}."
        )
    shown = _measures(searched) if alone else rows.drop("difference")
    caption = f"{'Measures' if alone else searched.measure} by query, lowest first"
    table = _table(_with_attributes(shown, searched), caption, searched)
    values, codes = _values(searched, rows["query_id"].head(table.most))
    table = replace(table, row_data=[codes[query_id] for query_id in rows["query_id"].head(table.most)])
    form = [_form(values)] if values else []
    return Section(QUERIES, "How did each query do?", sentences, [*form, table, rankings(searched, codes)])


def _table(rows: pl.DataFrame, caption: str, searched: Searched, signed: Sequence[str] = ()) -> Table:
    """Return a table about queries, whose ids lead to the rankings."""
    marks = {"query_id": searched.query_marks(rows["query_id"].head(MOST_ROWS))}
    return Table(rows, caption, _HEADS | searched.columns, signed=signed, links=marks)


def _form(values: Mapping[str, Sequence[str]]) -> Fragment:
    """Return the form that filters queries by their attributes."""
    filters = [CardFilter(filter_name(key), key, {value: value for value in names}) for key, names in values.items()]
    selected = element("p", element("output", aria_live="polite", tabindex=-1), class_="selected", hidden=True)
    return Fragment(
        element(
            "div",
            filter_form(filters),
            selected,
            **filter_data({filter_name(key): names for key, names in values.items()}, QUERIES, "all queries"),
        )
    )


def _values(searched: Searched, shown: pl.Series) -> tuple[dict[str, list[str]], dict[Any, str]]:
    """Return the values of the attributes that filter queries, and the positions of the values of each query.

    It includes visible queries and queries with a ranking.
    """
    keys = list(dict.fromkeys(searched.by))
    ids = pl.DataFrame({"query_id": pl.concat([shown, searched.ranked["query_id"]]).unique(maintain_order=True)})
    if not keys:
        return {}, dict.fromkeys(ids["query_id"], "")
    rows = searched.evaluation.with_attributes(ids, keys, [])
    texts = rows.with_columns(pl.exclude("query_id").cast(pl.String).fill_null(NOTHING))
    values = {key: texts[key].gather(rows[key].arg_sort(nulls_last=True)).unique(maintain_order=True).to_list() for key in keys}
    codes = [texts[key].replace_strict(names, [*map(str, range(len(names)))]) for key, names in values.items()]
    return values, dict(zip(rows["query_id"], map(".".join, zip(*codes, strict=True)), strict=True))


def coverage(searched: Searched) -> Section:
    """Return the section of judgements: queries left out, documents without judgement, and their possible effect."""
    evaluation = searched.evaluation
    lines, n_runs = coverage_lines(evaluation.coverage, evaluation.options), evaluation.coverage.height
    sentences = [f"{line}." for line in lines[:n_runs]] + [f"{line[0].upper()}{line[1:]}." for line in lines[n_runs:]]
    blocks: list[Block] = [Table(evaluation.coverage, "Queries of each run", _HEADS)]
    if evaluation.options["unjudged"] == "remove":
        return Section("coverage", HEADING, [*sentences, "Documents without judgement were removed."], blocks)
    blocks.append(Table(searched.judged_documents, "Judged documents among the first ones", _HEADS))
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


def _measures(searched: Searched) -> pl.DataFrame:
    """Return the measures of every query of one run, a column for each, in the order of `by_query`."""
    wide = searched.evaluation.per_query.pivot("measure", index="query_id", values="value")
    rows = searched.by_query.select("query_id", "n_relevant").join(wide, on="query_id", how="left", maintain_order="left")
    return rows.select(pl.exclude("n_relevant"), "n_relevant")


def _with_attributes(rows: pl.DataFrame, searched: Searched) -> pl.DataFrame:
    """Add the text and the first attributes of queries to rows, as far as names are free."""
    queries = searched.evaluation.queries
    if queries is None:
        return rows
    free = [name for name in queries.columns if name not in rows.columns and not queries.schema[name].is_nested()]
    first = [name for name in (searched.text_column, *searched.by) if name in free]
    chosen = list(dict.fromkeys([*first, *free]))[: max(_MOST_ATTRIBUTES, len(first))]
    rows = rows.join(queries.select("query_id", *map(exact, chosen)), on="query_id", how="left", maintain_order="left")
    text = [name for name in chosen if name == searched.text_column]
    return rows.select("query_id", *map(exact, text), pl.exclude("query_id", *text))
