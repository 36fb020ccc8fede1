"""The sections about single queries of search runs."""

from __future__ import annotations

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import apframe as apf
from apframe.report.searched import Searched, together
from apframe.report.section import Chart, Section, Table
from apframe.report.sections import queries
from tests.report.sections.test_search import DATA, RUNS

NAMES = ["run_lexical", "run_hybrid"]


@pytest.fixture(scope="module")
def two() -> apf.RunEvaluation:
    return apf.evaluate_run(DATA / "qrels.txt", RUNS[:2], queries=DATA / "queries.csv")


def frames(section: Section | None) -> list[pl.DataFrame]:
    assert section is not None
    return [block.frame for block in section.blocks if isinstance(block, Table)]


def test_queries_won_and_lost(two: apf.RunEvaluation) -> None:
    section = queries.changed(Searched(two, NAMES))
    ap = two.per_query.filter(measure="AP").pivot("run", index="query_id", values="value")
    gain = ap["run_hybrid"] - ap["run_lexical"]
    won, lost, same = (gain > 0).sum(), (gain < 0).sum(), (gain == 0).sum()
    assert section is not None
    assert section.sentences[0] == f"By AP, run_hybrid wins {won} queries and loses {lost}; {same} are the same."
    most, least = frames(section)
    assert most["difference"][0] == gain.max() and least["difference"][0] == gain.min()
    assert two.queries is not None
    assert most.select("query_id", "topic", "text").equals(
        most.select("query_id").join(two.queries, on="query_id", maintain_order="left").select("query_id", "topic", "text")
    )
    chart = section.blocks[0]
    assert isinstance(chart, Chart)
    assert (chart.svg.count('class="better"'), chart.svg.count('class="worse"')) == (won, lost)


def test_no_difference_has_no_chart() -> None:
    lexical = apf.evaluate_run(DATA / "qrels.txt", RUNS[0])
    section = queries.changed(Searched(*together([lexical, lexical], ["a", "b"])))
    assert section is not None
    assert (section.sentences, section.blocks) == (("By AP, b wins 0 queries and loses 0; 60 are the same.",), [])
    assert queries.changed(Searched(*together([lexical], ["a"]))) is None


def test_names_of_runs_may_be_those_of_columns() -> None:
    runs = [apf.evaluate_run({"q": {"d": 1}}, {"q": {"d": score, "e": 0.5}}, "AP") for score in (0.1, 0.9)]
    searched = Searched(*together(runs, ["difference", "query_id"]))
    (won,) = frames(queries.changed(searched))
    assert won.rows() == [("q", 0.5, 1.0, 0.5, 1)]
    assert frames(queries.each(searched))[0].rows() == [("q", 0.5, 1.0, 1)]


def test_of_one_run_every_measure_is_shown() -> None:
    one = apf.evaluate_run(DATA / "qrels.txt", RUNS[0])
    section = queries.each(Searched(*together([one], ["a"])))
    (table,) = frames(section)
    assert table.columns == ["query_id", "AP", "nDCG@10", "P@10", "R@100", "RR", "n_relevant"]
    ap = one.per_query.filter(measure="AP")["value"]
    assert table["AP"].equals(ap.round(12).sort(), check_names=False)
    assert section.sentences[0].startswith(f"AP of a has the median {ap.median():.3f} over queries; the middle half")
    relevant = one.judgements.filter(pl.col("relevance") >= 1).group_by("query_id").len()
    wanted = table.select("query_id").join(relevant, on="query_id", how="left", maintain_order="left")["len"].fill_null(0)
    assert table["n_relevant"].to_list() == wanted.to_list()


@pytest.mark.slow
def test_what_was_judged(two: apf.RunEvaluation) -> None:
    section = queries.coverage(Searched(two, NAMES))
    table, judged, bounds = frames(section)
    assert table.equals(two.coverage)
    wanted = two.bounds().select("run", "measure", "n_unjudged", "if_nonrelevant", "if_relevant")
    assert_frame_equal(bounds, wanted, abs_tol=1e-12)  # sums of groups are taken in parallel
    assert section.sentences[0].startswith("run_lexical: 60 of 60 judged queries evaluated: 1 without relevant documents")
    # all lists have 50 documents, so the share is the mean over the queries
    means = apf.evaluate_run(DATA / "qrels.txt", RUNS[:2], "Judged@10 Judged@100").summary
    for k in (10, 100):
        assert judged[f"n {k}"].to_list() == [60 * min(k, 50)] * 2
        assert judged[f"judged {k}"].to_list() == pytest.approx(means.filter(measure=f"Judged@{k}")["value"].to_list())


def test_judged_documents_by_hand() -> None:
    runs = {"old": {"p": {"a": 3.0, "b": 2.0, "c": 1.0}, "x": {"a": 1.0}}, "new": {"q": {"z": 1.0}, "p": {}}}
    with pytest.warns(apf.exceptions.NothingMatchesWarning):
        evaluation = apf.evaluate_run({"p": {"a": 1, "b": -1, "c": 0}, "q": {"a": 1}}, runs, "AP", max_documents=2)
    table = queries.judged_documents(Searched(evaluation, ["old", "new"]))
    assert table.rows() == [("old", 2, 0.5, 2, 0.5), ("new", 1, 0.0, 1, 0.0)]


def test_long_runs_are_not_evaluated_again(two: apf.RunEvaluation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "_MOST_DOCUMENTS", 5_999)
    section = queries.coverage(Searched(two, NAMES))
    assert len(frames(section)) == 2
    assert "see a.bounds()" in section.notes[0]


def test_documents_that_were_removed() -> None:
    removed = apf.evaluate_run({"q": {"d": 1}}, {"q": {"d": 1.0, "e": 0.5}}, "AP", unjudged="remove")
    section = queries.coverage(Searched(*together([removed], ["a"])))
    assert section.sentences[-1] == "Documents without judgement were removed."
    assert len(section.blocks) == 1


def test_no_measure_with_a_plain_mean() -> None:
    without = apf.evaluate_run({"q": {"d": 1}}, {"q": {"d": 1.0}}, "GMAP")
    assert len(queries.coverage(Searched(*together([without], ["a"]))).blocks) == 2
