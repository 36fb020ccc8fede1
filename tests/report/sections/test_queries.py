"""The sections about single queries of search runs."""

from __future__ import annotations

import json
import re
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import apframe as apf
from apframe.report.searched import Searched, merge_runs
from apframe.report.section import Chart, Details, Fragment, Section, Table
from apframe.report.sections import queries
from tests.report.sections.test_search import DATA, RUNS

NAMES = ["run_lexical", "run_hybrid"]


@pytest.fixture(scope="module")
def two() -> apf.RunEvaluation:
    return apf.evaluate_run(DATA / "qrels.txt", RUNS[:2], queries=DATA / "queries.csv")


def frames(section: Section | None) -> list[pl.DataFrame]:
    assert section is not None
    return [block.frame for block in section.blocks if isinstance(block, Table)]


@pytest.mark.slow
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
    text = "".join(block.blocks[0].markup for block in queries.each(Searched(two, NAMES)).blocks if isinstance(block, Details))
    falling = ap.with_columns(gain=gain.round(12)).sort("gain", "query_id", descending=[True, False])["query_id"].to_list()
    numbers = re.findall('href="#query-([0-9]+)"', chart.svg)
    places = dict(re.findall(r"<strong>(\d+)</strong>.*?id=\"query-(\d+)\"", text))
    assert numbers == [places[query_id] for query_id in falling]


@pytest.mark.slow
def test_of_three_runs_the_first_and_the_best_other_are_compared() -> None:
    three = apf.evaluate_run(DATA / "qrels.txt", [RUNS[2], RUNS[0], RUNS[1]])
    section = queries.changed(Searched(three, ["run_dense", "run_lexical", "run_hybrid"]))
    assert section is not None
    assert " against run_dense; " in section.sentences[0] and section.sentences[0].startswith("By AP, run_hybrid wins ")
    assert section.notes == ["run_dense is the first run. Of the others, run_hybrid has the highest AP."]
    assert frames(section)[0].columns == ["query_id", "run 0", "run 2", "difference", "n_relevant"]


@pytest.mark.slow
def test_texts_are_beside_the_ids_and_cut(tmp_path: Path) -> None:
    whole = "<img src=x onerror=alert(1)> " + "größe " * 40
    attributes = pl.DataFrame({"query_id": ["a\"'<", "b"], **{f"x{k}": [k, k] for k in range(6)}, "title": [whole, "kurz"]})
    qrels = {query_id: {"d": 1, "e": 0} for query_id in attributes["query_id"]}
    runs = {name: {key: {"d": score, "e": 0.5} for key in qrels} for name, score in (("old", 0.1), ("new", 0.9))}
    evaluation = apf.evaluate_run(qrels, runs, "AP", queries=attributes)
    searched = Searched(evaluation, ["old", "new"], by=["x5"])
    assert frames(queries.each(searched))[0].columns == ["query_id", "title", "run 0", "run 1", "n_relevant", "x5", "x0", "x1"]
    text = apf.write_report(tmp_path / "r.html", evaluation).read_text()
    assert "<img" not in text and "&lt;img src=x onerror=alert(1)&gt; größe größe" in text
    cut = f"{whole[:99]}…".replace("<", "&lt;").replace(">", "&gt;")
    assert text.count(f'">{cut}</span>') == text.count(f'title="{whole}"'.replace("<", "&lt;").replace(">", "&gt;")) == 3
    assert ">a&quot;&#x27;&lt;</a>" in text


@pytest.mark.slow
def test_ids_without_blanks_keep_their_beginning(tmp_path: Path) -> None:
    long = "x" * 90
    qrels = {long: {"d": 1, "e": 0}, "b": {"d": 1}}
    runs = {name: {long: {"d": score, "e": 0.5}, "b": {"d": 0.5}} for name, score in (("old", 0.1), ("new", 0.9))}
    both = apf.write_report(tmp_path / "both.html", apf.evaluate_run(qrels, runs, "AP")).read_text()
    assert f'aria-label="{long[:79]}…: +0.500"' in both and 'aria-label="b: +0.000"' in both
    one = apf.write_report(tmp_path / "one.html", apf.evaluate_run(qrels, runs["old"], "AP")).read_text()
    assert f"▼ {long[:39]}… 0.500</a>" in one


@pytest.mark.slow
def test_filters_are_the_attributes_that_were_asked_for(two: apf.RunEvaluation) -> None:
    form, table, _ = queries.each(Searched(two, NAMES, by=["n_words", "topic"])).blocks
    assert isinstance(form, Fragment) and isinstance(table, Table) and two.queries is not None
    assert re.findall('<select name="([^"]*)"', form.markup) == ["n_words", "topic"]
    data = re.search('data-values="([^"]*)"', form.markup)
    assert data is not None
    values = dict(json.loads(data[1].replace("&quot;", '"')))
    assert values["n_words"] == [*map(str, sorted(two.queries["n_words"].unique()))]
    read = [tuple(values[name][int(code)] for name, code in zip(values, has.split("."), strict=True)) for has in table.row_data]
    assert read == [(str(n), topic) for n, topic in table.frame.select("n_words", "topic").rows()]
    assert not isinstance(queries.each(Searched(two, NAMES)).blocks[0], Fragment)


def test_queries_without_the_attribute_are_filtered_too() -> None:
    qrels = {query_id: {"d": 1} for query_id in "pqr"}
    attributes = {"query_id": ["p", "q"], "kind": ["long", None]}
    evaluation = apf.evaluate_run(qrels, qrels, "AP", queries=attributes)
    form, table, _ = queries.each(Searched(*merge_runs([evaluation], ["a"]), by=["kind"])).blocks
    assert isinstance(form, Fragment) and isinstance(table, Table)
    assert '<option value="long">long</option><option value="–">–</option>' in form.markup
    assert table.row_data == ["0", "1", "1"]


def test_no_difference_has_no_chart() -> None:
    lexical = apf.evaluate_run(DATA / "qrels.txt", RUNS[0])
    section = queries.changed(Searched(*merge_runs([lexical, lexical], ["a", "b"])))
    assert section is not None
    assert (section.sentences, section.blocks) == (("By AP, b wins 0 queries and loses 0; 60 are the same.",), [])
    assert queries.changed(Searched(*merge_runs([lexical], ["a"]))) is None


def test_names_of_runs_may_be_those_of_columns() -> None:
    runs = [apf.evaluate_run({"q": {"d": 1}}, {"q": {"d": score, "e": 0.5}}, "AP") for score in (0.1, 0.9)]
    searched = Searched(*merge_runs(runs, ["difference", "query_id"]))
    (won,) = frames(queries.changed(searched))
    assert won.rows() == [("q", 0.5, 1.0, 0.5, 1)]
    assert frames(queries.each(searched))[0].rows() == [("q", 0.5, 1.0, 1)]


@pytest.mark.slow
def test_of_one_run_every_measure_is_shown() -> None:
    one = apf.evaluate_run(DATA / "qrels.txt", RUNS[0])
    section = queries.each(Searched(*merge_runs([one], ["a"])))
    (table,) = frames(section)
    assert table.columns == ["query_id", "AP", "nDCG@10", "P@10", "R@100", "RR", "n_relevant"]
    ap = one.per_query.filter(measure="AP")["value"]
    assert table["AP"].equals(ap.round(12).sort(), check_names=False)
    assert section.sentences[0].startswith(f"AP of a has the median {ap.median():.3f} over queries; the middle half")
    relevant = one.judgements.filter(pl.col("relevance") >= 1).group_by("query_id").len()
    expected = table.select("query_id").join(relevant, on="query_id", how="left", maintain_order="left")["len"].fill_null(0)
    assert table["n_relevant"].to_list() == expected.to_list()


@pytest.mark.slow
def test_what_was_judged(two: apf.RunEvaluation) -> None:
    section = queries.coverage(Searched(two, NAMES))
    table, judged, bounds = frames(section)
    assert table.equals(two.coverage)
    expected = two.bounds().select("run", "measure", "n_unjudged", "if_nonrelevant", "if_relevant")
    assert_frame_equal(bounds, expected, abs_tol=1e-12)  # sums of groups are taken in parallel
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
    table = Searched(evaluation, ["old", "new"]).judged_documents
    assert table.rows() == [("old", 2, 0.5, 2, 0.5), ("new", 1, 0.0, 1, 0.0)]


@pytest.mark.slow
def test_long_runs_are_not_evaluated_again(two: apf.RunEvaluation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "_MOST_DOCUMENTS", 5_999)
    section = queries.coverage(Searched(two, NAMES))
    assert len(frames(section)) == 2
    assert "see a.bounds()" in section.notes[0]


def test_documents_that_were_removed() -> None:
    removed = apf.evaluate_run({"q": {"d": 1}}, {"q": {"d": 1.0, "e": 0.5}}, "AP", unjudged="remove")
    section = queries.coverage(Searched(*merge_runs([removed], ["a"])))
    assert section.sentences[-1] == "Documents without judgement were removed."
    assert len(section.blocks) == 1


def test_no_measure_with_a_plain_mean() -> None:
    without = apf.evaluate_run({"q": {"d": 1}}, {"q": {"d": 1.0}}, "GMAP")
    assert len(queries.coverage(Searched(*merge_runs([without], ["a"]))).blocks) == 2
