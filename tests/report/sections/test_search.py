"""The sections about search runs."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import apframe as apf
from apframe.exceptions import NotComparableError, ParameterError
from apframe.report.searched import Searched, together
from apframe.report.section import Table
from apframe.report.sections import search
from tests.report.read_back import number, read_tables

DATA = Path(__file__).parents[3] / "data" / "search"
RUNS = [DATA / f"run_{name}.txt" for name in ("lexical", "hybrid", "dense")]


@pytest.fixture(scope="module")
def two() -> apf.RunEvaluation:
    return apf.evaluate_run(DATA / "qrels.txt", RUNS[:2], queries=DATA / "queries.csv")


def test_numbers_equal_the_tables_they_come_from(two: apf.RunEvaluation, tmp_path: Path) -> None:
    text = apf.write_report(tmp_path / "r.html", two, by="topic", n_resamples=500).read_text()
    tables = read_tables(text)
    head, *rows = tables["Means over queries and their differences"]
    wanted = two.compare("run_lexical", n_resamples=500)
    for column, name in (("run_lexical", "estimate_a"), ("difference", "difference"), ("to", "high")):
        assert [number(row[head.index(column)]) for row in rows] == [round(value, 3) for value in wanted[name]]
    head, *rows = tables["AP by query"]
    values = two.per_query.filter(measure="AP", run="run_hybrid").sort("value", "query_id", maintain_order=True)
    assert [row[0] for row in rows] == values["query_id"].to_list()
    assert [number(row[2]) for row in rows] == [round(value, 3) for value in values["value"]]
    assert [row[0] for row in tables["AP by topic"][1:]] == two.by("topic")["topic"].unique().sort().to_list()


def test_queries_won_and_lost(two: apf.RunEvaluation) -> None:
    section = search.changed(Searched(two, ["run_lexical", "run_hybrid"]))
    assert section is not None
    ap = two.per_query.filter(measure="AP").pivot("run", index="query_id", values="value")
    gain = ap["run_hybrid"] - ap["run_lexical"]
    counts = [(gain > 0).sum(), (gain < 0).sum(), (gain == 0).sum()]
    assert (
        section.sentences[0] == f"By AP, run_hybrid wins {counts[0]} queries and loses {counts[1]}; {counts[2]} are the same."
    )
    won, lost = (block.frame["difference"] for block in section.blocks if isinstance(block, Table))
    assert won[0] == gain.max() and lost[0] == gain.min()


def test_three_runs_have_a_leaderboard(two: apf.RunEvaluation) -> None:
    dense = apf.evaluate_run(DATA / "qrels.txt", RUNS[2])
    evaluation, names = together([two, dense], ["lexical", "hybrid", "dense"])
    section = search.better(Searched(evaluation, names, n_resamples=200))
    board, others = (block.frame for block in section.blocks if isinstance(block, Table))
    assert board["run"].unique().sort().to_list() == sorted(names)
    assert others["run_b"].unique(maintain_order=True).to_list() == ["hybrid", "dense"]
    assert evaluation.summary.filter(run="dense").drop("run").equals(dense.summary)
    assert search.changed(Searched(evaluation, names)) is None


def test_one_run(tmp_path: Path) -> None:
    one = apf.evaluate_run(DATA / "qrels.txt", RUNS[0])
    text = apf.write_report(tmp_path / "r.html", one, names=["lexical"], n_resamples=200).read_text()
    assert "How good is lexical?" in text and "Which queries?" not in text


def test_what_cannot_be_reported_on(two: apf.RunEvaluation, models: list[apf.Evaluation], tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="cannot be in one report"):
        apf.write_report(tmp_path / "r.html", two, models[0])
    with pytest.raises(ParameterError, match="needs 2 names, all different"):
        apf.write_report(tmp_path / "r.html", two, names=["a"])
    with pytest.raises(NotComparableError, match="different measures"):
        apf.write_report(tmp_path / "r.html", two, apf.evaluate_run(DATA / "qrels.txt", RUNS[2], "AP"))
    fewer = pl.DataFrame({"query_id": ["301"], "document_id": ["D0025701"], "relevance": [1]})
    with pytest.raises(NotComparableError, match="different judgements"):
        apf.write_report(tmp_path / "r.html", two, apf.evaluate_run(fewer, RUNS[2]))
