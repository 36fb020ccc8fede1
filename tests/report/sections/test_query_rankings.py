"""The rankings of single queries."""

from __future__ import annotations

import re
from typing import Any

import duckdb
import polars as pl
import pytest

import apframe as apf
from apframe.report.searched import Searched, merge_runs
from apframe.report.section import Details, Fragment
from apframe.report.sections.query_rankings import ranking_lines, rankings
from tests.report.sections.test_search import DATA, RUNS

# ranks by score, ties by document id; a move is the rank in the first run less that in the second
QUERY = """
WITH ranked AS (
  SELECT *, row_number() OVER (PARTITION BY run, query_id ORDER BY score DESC, document_id DESC) AS rank FROM runs
), wanted AS (
  SELECT run, query_id, document_id, rank FROM ranked WHERE rank <= 10
  UNION ALL FROM (
    SELECT run, query_id, document_id, rank FROM (SELECT DISTINCT run FROM runs)
    CROSS JOIN (SELECT query_id, document_id FROM judgements WHERE relevance >= 1)
    LEFT JOIN ranked USING (run, query_id, document_id) WHERE rank IS NULL OR rank > 10
    QUALIFY row_number() OVER (PARTITION BY run, query_id ORDER BY rank NULLS LAST, document_id) <= 10
  )
)
SELECT query_id, run, document_id, wanted.rank, relevance, a.rank - b.rank AS up FROM wanted
LEFT JOIN (SELECT * EXCLUDE (run) FROM ranked WHERE run = 'run_lexical') AS a USING (query_id, document_id)
LEFT JOIN (SELECT * EXCLUDE (run) FROM ranked WHERE run = 'run_hybrid') AS b USING (query_id, document_id)
LEFT JOIN judgements USING (query_id, document_id)
ORDER BY query_id, run = 'run_hybrid', wanted.rank NULLS LAST, document_id
"""


def of(qrels: dict[str, Any], runs: dict[str, Any], measures: str = "AP", **options: Any) -> Searched:
    return Searched(apf.evaluate_run(qrels, runs, measures, **options), [*runs])


def markup(searched: Searched) -> str:
    block = rankings(searched, {})
    assert isinstance(block, Details)
    (inside,) = block.blocks
    assert isinstance(inside, Fragment)
    return inside.markup


@pytest.mark.slow
def test_lines_and_moves_equal_those_of_sql() -> None:
    two = apf.evaluate_run(DATA / "qrels.txt", RUNS[:2])
    lines = ranking_lines(Searched(two, ["run_lexical", "run_hybrid"]))
    with duckdb.connect() as database:
        of_runs = [run.select("query_id", "document_id", "score", run=pl.lit(name)) for name, run in two.runs.items()]
        database.register("runs", pl.concat(of_runs))
        database.register("judgements", two.judgements)
        expected = database.sql(QUERY).pl()
    columns = ["query_id", "run", "document_id", "rank", "relevance"]
    assert lines.select(columns).rows() == expected.select(columns).rows()
    words = {1: "▲", -1: "▼"}
    both = [(text, up) for text, up in zip(lines["moved"], expected["up"], strict=True) if up is not None]
    assert [text for text, _ in both] == ["=" if not up else f"{words[up // abs(up)]} {abs(up)}" for _, up in both]
    only = lines.filter(expected["up"].is_null(), pl.col("rank").is_not_null())
    assert only.filter(run="run_lexical")["moved"].unique().to_list() == ["gone"]
    assert only.filter(run="run_hybrid")["moved"].unique().to_list() == ["new"]


@pytest.mark.slow
def test_ranks_are_those_of_the_measures() -> None:
    """Equal scores are by document id, descending."""
    qrels = {"q": {"a": 1, "b": 1}}
    lines = ranking_lines(of(qrels, {"x": {"q": {"a": 0.5, "c": 0.5, "b": 0.5}}, "y": {"q": {"a": 0.5, "b": 0.4}}}))
    assert lines.select("run", "document_id", "rank", "moved").rows() == [
        ("x", "c", 1, "gone"), ("x", "b", 2, "="), ("x", "a", 3, "▲ 2"), ("y", "a", 1, "▲ 2"), ("y", "b", 2, "="),
    ]  # fmt: skip
    removed = ranking_lines(of(qrels, {"x": {"q": {"c": 3.0, "b": 2.0, "a": 1.0}}, "y": {"q": {"a": 1.0}}}, unjudged="remove"))
    assert removed.select("run", "document_id", "rank", "moved").rows() == [
        ("x", "b", 1, "gone"), ("x", "a", 2, "▲ 1"), ("y", "a", 1, "▲ 1"), ("y", "b", None, "gone (rank 1 in x)"),
    ]  # fmt: skip
    cut = ranking_lines(of(qrels, {"x": {"q": {"a": 3.0, "c": 2.0, "b": 1.0}}, "y": {"q": {"b": 1.0}}}, max_documents=2))
    assert cut.filter(run="x").select("document_id", "rank", "moved").rows() == [
        ("a", 1, "gone"), ("c", 2, "gone"), ("b", None, "new (rank 1 in y)"),
    ]  # fmt: skip


@pytest.mark.slow
def test_relevant_documents_that_come_later_are_counted() -> None:
    qrels = {"q": {f"d{k:02}": 1 for k in range(30)}}
    run = {"q": {f"d{k:02}": 100.0 - k for k in range(25)}}
    lines = ranking_lines(Searched(*merge_runs([apf.evaluate_run(qrels, run, "P@5 AP")], ["a"])))
    assert lines["rank"].to_list() == [*range(1, 16)] and lines["n_more"].unique().to_list() == [15]
    assert lines["moved"].unique().to_list() == [""]
    text = markup(Searched(*merge_runs([apf.evaluate_run(qrels, run, "P@5 AP")], ["a"])))
    assert "15 more relevant documents came later or were not found." in text and "moved" not in text


def test_relevance_is_in_words() -> None:
    qrels = {"q": {"two": 2, "one": 1, "zero": 0, "pool": -1}}
    run = {"q": {"two": 5.0, "one": 4.0, "zero": 3.0, "pool": 2.0, "other": 1.0}}
    text = markup(Searched(*merge_runs([apf.evaluate_run(qrels, run, "AP(rel=2)")], ["a"])))
    cells = re.findall(r"<td>([^<]*)</td>", text)
    assert cells[1::3] == ["two", "one", "zero", "pool", "other"]
    assert cells[2::3] == ["● relevant, 2", "not relevant, 1", "not relevant", "? not judged", "? not judged"]
    half = apf.evaluate_run({"q": {"a": 1, "b": 0.5}}, {"q": {"a": 2.0, "b": 1.0}}, "AP", relevance_level=0.5)
    assert "● relevant, 0.5<" in markup(Searched(*merge_runs([half], ["a"])))


def test_queries_that_one_run_lacks_and_ids_that_look_like_html() -> None:
    bad = "<img src=x onerror='alert(1)'> \"ü\""
    qrels = {bad: {bad: 1}, "q": {"d": 0}}
    searched = of(qrels, {"x": {bad: {bad: 1.0}, "q": {"d": 1.0}}, bad: {"q": {"d": 1.0, "e": 0.5}}}, missing="zero")
    text = markup(searched)
    assert "<img" not in text and text.count("The run has no documents for this query.") == 1
    assert re.findall('id="([^"]*)"', text) == ["query-1", "query-2"]
    assert "AP 1.000 → 0.000 (−1.000)" in text
    assert "by 0 ranks" not in text


@pytest.mark.slow
@pytest.mark.parametrize(("n", "shown"), [(1, 1), (100, 100), (2_000, 120)])
def test_of_many_queries_some_have_rankings(n: int, shown: int) -> None:
    """Those that are drawn, that changed most, and the lowest."""
    names = [f"q{k:04}" for k in range(n)]
    qrels = {name: {"d": 1} for name in names}
    lists = [{name: {"d": 0.5, "e": float(k % 7 > place)} for k, name in enumerate(names)} for place in (1, 2)]
    searched = of(qrels, dict(zip("ab", lists, strict=True)))
    assert min(n, 100) <= searched.ranked.height <= shown
    assert set(searched.drawn["query_id"]) <= set(searched.ranked["query_id"])
    assert {*searched.by_query["query_id"].head(10)} <= set(searched.ranked["query_id"])
    assert markup(searched).count("<details") == searched.ranked.height
    summary = rankings(searched, {}).summary
    assert ("those drawn" in summary) == (searched.ranked.height < n)
