"""The rankings of single queries: of two runs side by side, with the moves of documents, or of one run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from apframe.report.html_tables import NOTHING, minus, shortened
from apframe.report.searched import RUN, Searched
from apframe.report.section import Details, Fragment
from apframe.retrieval.one_run import Policies, ranked_list
from apframe.show.elements import Markup, element, joined, scrolling
from apframe.wording import counted

_PAIR = ["query_id", "document_id"]
_USUAL_DEPTH, _MOST_DEPTH = 10, 20
_MOST_DEEPER = 10  # maximum number of relevant documents of a query below its first documents
_HEADS = ("rank", "document", "relevance", "moved")


def depth(searched: Searched) -> int:
    """Return the number of documents of a ranking: the cut-off of the first measure, at most 20; 10 without a cut-off.

    >>> from apframe.report.searched import merge_runs
    >>> from apframe.retrieval.evaluation import evaluate_run
    >>> runs = [evaluate_run({"q": {"a": 1}}, {"q": {"a": 1.0}}, measure) for measure in ("AP", "P@5", "R@99")]
    >>> [depth(Searched(*merge_runs([run], ["x"]))) for run in runs]
    [10, 5, 20]
    """
    return min(searched.first_measure.k or _USUAL_DEPTH, _MOST_DEPTH)


def ranking_lines(searched: Searched) -> pl.DataFrame:
    """Compute the lines of the rankings on the page, for the compared runs or the only one.

    A line is one of the first documents of a query by a run, or below them a relevant document that comes later or was not
    retrieved. Ranks are those of the measures.

    Returns
    -------
    query_id, run, document_id, rank (null if the run did not retrieve it), relevance (null if not judged), is_relevant, moved
    (in words, from the first run to the second), and n_more: the number of relevant documents after the lines of the query and
    run. By query, run and rank.

    >>> from apframe.report.searched import merge_runs
    >>> from apframe.retrieval.evaluation import evaluate_run
    >>> runs = {"old": {"q": {"a": 3.0, "b": 2.0}}, "new": {"q": {"b": 3.0, "c": 2.0}}}
    >>> both = evaluate_run({"q": {"a": 1, "b": 0}}, runs, "AP")
    >>> ranking_lines(Searched(both, ["old", "new"])).select("run", "rank", "document_id", "moved").rows()[:3]
    [('old', 1, 'a', 'gone'), ('old', 2, 'b', '▲ 1'), ('new', 1, 'b', '▲ 1')]
    >>> ranking_lines(Searched(both, ["old", "new"])).select("run", "rank", "document_id", "moved").rows()[3:]
    [('new', 2, 'c', 'new'), ('new', None, 'a', 'gone (rank 1 in old)')]
    """
    evaluation, names = searched.evaluation, searched.compared
    judged = evaluation.judgements.select(*_PAIR, "relevance").join(searched.ranked, on="query_id", how="semi")
    is_relevant = (pl.col("relevance") >= searched.level).fill_null(False)
    documents = judged.filter(is_relevant).select(_PAIR)
    policies = Policies.of(evaluation.options)
    for place, name in enumerate(names):
        of_run = ranked_list(name, judged, evaluation.runs[name], policies).select(
            *_PAIR, pl.col("rank").alias(f"rank {place}")
        )
        documents = documents.join(of_run, on=_PAIR, how="full", coalesce=True)
    documents = documents.join(judged, on=_PAIR, how="left").with_columns(is_relevant=is_relevant)
    lines = pl.concat(_of_run(documents, names, place, depth(searched)) for place in range(len(names)))
    return lines.sort("query_id", "place", "rank", "document_id", nulls_last=True).drop("place")


def _of_run(documents: pl.DataFrame, names: tuple[str, ...], place: int, depth: int) -> pl.DataFrame:
    """Return the lines of one of the runs."""
    rank = pl.col(f"rank {place}")
    is_deeper = (rank > depth).fill_null(True)
    number = pl.int_range(pl.len(), dtype=pl.Int64).over("query_id", "is_deeper")
    lines = documents.filter(~is_deeper | pl.col("is_relevant")).with_columns(is_deeper=is_deeper, rank=rank)
    lines = lines.sort("query_id", "rank", "document_id", nulls_last=True).with_columns(number=number)
    is_shown = ~pl.col("is_deeper") | (pl.col("number") < _MOST_DEEPER)
    lines = lines.with_columns(n_more=(~is_shown).sum().over("query_id").cast(pl.Int64)).filter(is_shown)
    moved = _moved(names, place) if len(names) > 1 else pl.lit("")
    run = pl.lit(names[place]).alias(RUN)
    return lines.select(
        "query_id", run, "document_id", "rank", "relevance", "is_relevant", moved.alias("moved"), "n_more", place=place
    )


def _moved(names: tuple[str, ...], place: int) -> pl.Expr:
    """Return the distance that a document moved from the first run to the second, in words."""
    up, other = pl.col("rank 0") - pl.col("rank 1"), 1 - place
    alone = ("gone", "new")[place]
    elsewhere = pl.format(f"{('new', 'gone')[place]} (rank {{}} in {{}})", f"rank {other}", pl.lit(names[other]))
    return (
        pl.when(up > 0)
        .then(pl.format("▲ {}", up))
        .when(up < 0)
        .then(pl.format("▼ {}", -up))
        .when(up == 0)
        .then(pl.lit("="))
        .when(pl.col("rank").is_not_null())
        .then(pl.lit(alone))
        .otherwise(pl.coalesce(elsewhere, pl.lit("")))
    )


def rankings(searched: Searched, codes: Mapping[Any, str]) -> Details:
    """Return the rankings, which open query by query; `codes` are the data by which the page's script filters queries."""
    lines = ranking_lines(searched).partition_by("query_id", RUN, as_dict=True)
    texts = searched.texts
    rankings_markup = []
    for row, mark in zip(searched.ranked.iter_rows(named=True), searched.query_marks(searched.ranked["query_id"]), strict=True):
        query_id, values = row["query_id"], [row[column] for column in searched.compared_columns]
        lists = [
            _list(
                f"{name}: {searched.measure} {_number(value)}",
                f"Query {query_id} by {name}",
                lines.get((query_id, name)),
                is_alone=len(values) == 1,
            )
            for name, value in zip(searched.compared, values, strict=True)
        ]
        change = "" if row["difference"] is None else f" ({minus(format(row['difference'], '+.3f'))})"
        values_markup = element("span", f"{searched.measure} {' → '.join(map(_number, values))}{change}", class_="values")
        head = element(
            "summary",
            element("strong", shortened(str(query_id))),
            " ",
            shortened(texts.get(query_id) or ""),
            " ",
            values_markup,
        )
        both_lists = element("div", lists, id=mark.section if mark else None, class_="beside")
        rankings_markup.append(element("details", head, both_lists, data_has=codes.get(query_id), class_="ranking"))
    return Details(_summary(searched), [Fragment(joined(element("p", _rule(searched), class_="note"), rankings_markup))])


def _summary(searched: Searched) -> str:
    n, n_all = searched.ranked.height, searched.by_query.height
    of = counted(n_all, "query") if n == n_all else f"{n:,} of {counted(n_all, 'query')}"
    rule = "" if n == n_all else ", those with the lowest values"
    if len(searched.compared) > 1:
        rule = "" if n == n_all else ": those drawn, those that changed most, and the lowest"
        return f"Rankings of {of} by {' and '.join(searched.compared)}{rule}"
    return f"Rankings of {of}{rule}"


def _rule(searched: Searched) -> str:
    """Return a line about the choice of documents, and the meaning of the words next to them."""
    rule = (
        f"The first {counted(depth(searched), 'document')} of each query; below them the relevant ones that come later or were "
        f"not found, at most {_MOST_DEEPER}."
    )
    if len(searched.compared) == 1:
        return rule
    first, second = searched.compared
    return f"{rule} ▲ and ▼ say by how many ranks a document is higher or lower in {second} than in {first}."


def _list(caption: str, label: str, lines: pl.DataFrame | None, *, is_alone: bool) -> Markup:
    """Return the ranking of one run."""
    if lines is None or lines["rank"].null_count() == lines.height:
        return element("p", f"{caption}. The run has no documents for this query.", class_="note")
    n_columns = len(_HEADS) - is_alone
    last = 0 if lines.is_empty() else lines["n_more"][0]
    rows = [_line(line, n_columns) for line in lines.iter_rows(named=True)]
    more = element("p", f"{counted(last, 'more relevant document')} came later or were not found.", class_="note")
    heads = element("thead", element("tr", [element("th", head, scope="col") for head in _HEADS[:n_columns]]))
    table = element("table", element("caption", caption), heads, element("tbody", rows))
    return element("div", scrolling(table, "table", label), more if last else None)


def _line(line: Mapping[str, Any], n_columns: int) -> Markup:
    grade = line["relevance"]
    if grade is None or grade < 0:
        relevance = "? not judged"
    else:
        relevance = f"● relevant, {grade:g}" if line["is_relevant"] else "not relevant" + f", {grade:g}" * (grade > 0)
    rank = "not found" if line["rank"] is None else f"{line['rank']:,}"
    cells = (rank, shortened(str(line["document_id"])), relevance, line["moved"])[:n_columns]
    return element("tr", [element("td", cell) for cell in cells], class_="relevant" if line["is_relevant"] else None)


def _number(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.3f}"
