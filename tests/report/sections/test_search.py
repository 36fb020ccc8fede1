"""The sections about search runs."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import apframe as apf
from apframe.cli.command import main
from apframe.exceptions import NotComparableError, ParameterError
from apframe.report.html_tables import table_markup
from apframe.report.searched import MOST_BARS, Searched, evenly, merge_runs
from apframe.report.section import Fragment, Table
from apframe.report.sections import search
from tests.report.read_back import number, read_tables

DATA = Path(__file__).parents[3] / "data" / "search"
RUNS = [DATA / f"run_{name}.txt" for name in ("lexical", "hybrid", "dense")]


@pytest.fixture(scope="module")
def two() -> apf.RunEvaluation:
    return apf.evaluate_run(DATA / "qrels.txt", RUNS[:2], queries=DATA / "queries.csv")


@pytest.mark.slow
def test_numbers_equal_the_tables_they_come_from(two: apf.RunEvaluation, tmp_path: Path) -> None:
    text = apf.write_report(tmp_path / "r.html", two, by="topic").read_text()
    tables = read_tables(text)
    head, *rows = tables["Means over queries and their differences"]
    expected = two.compare("run_lexical")
    for column, name in (("run_lexical", "estimate_a"), ("difference", "difference"), ("to", "high")):
        assert [number(row[head.index(column)]) for row in rows] == [round(value, 3) for value in expected[name]]
    head, *rows = tables["AP by query, lowest first"]
    values = two.per_query.with_columns(pl.col("value").round(12)).filter(measure="AP", run="run_hybrid")  # as in the page
    values = values.sort("value", "query_id", maintain_order=True)
    assert [row[0] for row in rows] == values["query_id"].to_list()
    assert [number(row[head.index("run_hybrid")]) for row in rows] == [round(value, 3) for value in values["value"]]
    assert [row[0] for row in tables["AP by topic"][1:]] == two.by("topic")["topic"].unique().sort().to_list()


@pytest.mark.slow
def test_sentences_name_significant_differences_and_others(two: apf.RunEvaluation) -> None:
    pair = Searched(two, ["run_lexical", "run_hybrid"])
    assert search.better(pair).sentences == []
    sentence = search.answer(pair)
    assert sentence == "run_hybrid is better by 0.104 AP (95 % CI 0.050 to 0.157, p < 0.001)."
    other, names = merge_runs([apf.evaluate_run(DATA / "qrels.txt", path) for path in (RUNS[0], RUNS[2])], ["lexical", "dense"])
    sentence = search.answer(Searched(other, names))
    assert sentence == (
        "No significant difference in AP: −0.058 for dense (95 % CI −0.145 to +0.030). "
        "With 59 queries, differences below about 0.122 cannot be told from chance."
    )
    worse, names = merge_runs([apf.evaluate_run(DATA / "qrels.txt", path) for path in RUNS[1:] + RUNS[:1]], ["h", "d", "l"])
    sentences = search.better(Searched(worse, names)).sentences
    assert search.answer(Searched(worse, names)) == "h has the highest AP, 0.586, and leads in 100 % of sets like this one."
    assert sentences == [
        "d is worse than h by 0.163 AP (95 % CI 0.108 to 0.218, p < 0.001, corrected for 2 comparisons).",
        "l is worse than h by 0.104 AP (95 % CI 0.050 to 0.157, p < 0.001, corrected for 2 comparisons).",
    ]


@pytest.mark.slow
def test_p_is_that_of_compare_and_of_the_command(two: apf.RunEvaluation, capsys: pytest.CaptureFixture[str]) -> None:
    """One question has one answer, whoever is asked."""
    expected = two.compare().select("measure", "p").rows()
    section = search.better(Searched(two, ["run_lexical", "run_hybrid"]))
    (table,) = (block.frame for block in section.blocks if isinstance(block, Table))
    assert table.select("measure", "p").rows() == [(measure, pytest.approx(p, rel=1e-9)) for measure, p in expected]
    with pytest.raises(SystemExit):
        main(["rank", str(DATA / "qrels.txt"), *map(str, RUNS[:2]), "--compare", "--csv"])
    printed = pl.read_csv(capsys.readouterr().out.encode())
    assert printed.select("measure", "p").rows() == [(measure, pytest.approx(p, rel=1e-9)) for measure, p in expected]


@pytest.mark.slow
def test_three_runs_have_a_leaderboard(two: apf.RunEvaluation) -> None:
    dense = apf.evaluate_run(DATA / "qrels.txt", RUNS[2])
    evaluation, names = merge_runs([two, dense], ["lexical", "hybrid", "dense"])
    section = search.better(Searched(evaluation, names))
    board, others = (block.frame for block in section.blocks if isinstance(block, Table))
    assert board["run"].unique().sort().to_list() == sorted(names)
    assert others["run_b"].unique(maintain_order=True).to_list() == ["hybrid", "dense"]
    assert_frame_equal(evaluation.summary.filter(run="dense").drop("run"), dense.summary, abs_tol=1e-12)
    assert "hybrid has the highest AP, 0.586" in search.answer(Searched(evaluation, names))
    by_topic = search.where(Searched(evaluation, names, by=["topic"]))
    assert by_topic is not None
    table = by_topic.blocks[0]
    assert isinstance(table, Table)
    expected = evaluation.by("topic").filter(measure="AP", run="dense")  # which lacks a query
    assert table.frame["topic"].to_list() == expected["topic"].to_list()
    assert table.frame["run 2"].to_list() == pytest.approx(expected["value"].to_list(), abs=1e-12)


@pytest.mark.slow
def test_which_queries_differences_are_over(two: apf.RunEvaluation) -> None:
    """The dense run lacks one of the 60 queries, so that the means of pairs are not those of the runs."""
    dense = apf.evaluate_run(DATA / "qrels.txt", RUNS[2])
    evaluation, names = merge_runs([two, dense], ["lexical", "hybrid", "dense"])
    (note,) = search.better(Searched(evaluation, names)).notes
    assert note == (
        "Differences from lexical are over the queries that both runs have (59 queries with dense); "
        "means are over all queries of each run."
    )
    lexical = apf.evaluate_run(DATA / "qrels.txt", RUNS[0])
    (note,) = search.better(Searched(*merge_runs([lexical, dense], ["lexical", "dense"]))).notes
    assert note == "Both means and their difference are over the 59 queries that both runs have."
    assert search.better(Searched(two, ["run_lexical", "run_hybrid"])).notes == []


@pytest.mark.slow
def test_one_run(tmp_path: Path) -> None:
    one = apf.evaluate_run(DATA / "qrels.txt", RUNS[0])
    text = apf.write_report(tmp_path / "r.html", one, names=["lexical"]).read_text()
    assert "How good is lexical?" in text and "Which queries?" not in text
    row = one.intervals().row(0, named=True)
    assert f"AP is {row['estimate']:.3f}; with other queries of the same kind, {row['low']:.3f} to {row['high']:.3f}." in text


@pytest.mark.slow
def test_measures_without_plain_means_have_no_intervals() -> None:
    mixed = apf.evaluate_run(DATA / "qrels.txt", RUNS[:2], "GMAP AP")
    section = search.better(Searched(mixed, ["run_lexical", "run_hybrid"]))
    _, others = (block.frame for block in section.blocks if isinstance(block, Table))
    expected = mixed.summary.filter(measure="GMAP")["value"].to_list()
    assert others.rows() == [("GMAP", *expected)]
    alone = search.better(Searched(*merge_runs([apf.evaluate_run(DATA / "qrels.txt", RUNS[0], "GMAP")], ["a"])))
    assert alone.sentences == [] and len(alone.blocks) == 1
    nothing_plain = search.answer(Searched(*merge_runs([apf.evaluate_run(DATA / "qrels.txt", RUNS[0], "GMAP")], ["a"])))
    assert nothing_plain == "No measure of a is a plain mean, so there are no intervals."


def test_one_query_has_no_interval() -> None:
    runs = {name: {"q": {"d": score, "e": 0.5}} for name, score in (("old", 0.1), ("new", 0.9))}
    with pytest.warns(apf.exceptions.FewUnitsWarning):
        answer = search.answer(Searched(apf.evaluate_run({"q": {"d": 1}}, runs, "AP"), ["old", "new"]))
    assert answer == "No interval for the difference in AP, +0.500 for new: too few queries have a value."


@pytest.mark.slow
def test_methods_in_words(two: apf.RunEvaluation) -> None:
    block = search.rules(Searched(two, ["run_lexical", "run_hybrid"])).blocks[-1]
    assert isinstance(block, Fragment)
    assert "It is that of the paired t test" in block.markup and "drawn" not in block.markup
    dense = apf.evaluate_run(DATA / "qrels.txt", RUNS[2])
    block = search.rules(Searched(*merge_runs([two, dense], ["a", "b", "c"]), seed=7)).blocks[-1]
    assert isinstance(block, Fragment) and "drawn 10,000 times, starting from seed 7" in block.markup


def test_policies_in_words() -> None:
    options = {"missing": "zero", "no_relevant": "skip", "unjudged": "remove"}
    one = apf.evaluate_run({"q": {"d": 1}}, {"q": {"d": 1.0}}, "AP", **options)
    block = search.rules(Searched(*merge_runs([one], ["a"]))).blocks[-1]
    assert isinstance(block, Fragment)
    assert "not in a run counts as 0; one without relevant documents is left out" in block.markup
    assert "without judgement are removed" in block.markup


@pytest.mark.slow
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


@pytest.mark.slow
def test_attributes_may_be_called_what_other_columns_are(two: apf.RunEvaluation) -> None:
    assert two.queries is not None
    queries = two.queries.with_columns(pl.col("topic").alias("interval"))
    evaluation = apf.evaluate_run(DATA / "qrels.txt", RUNS[:2], queries=queries)
    section = search.where(Searched(evaluation, ["run_lexical", "run_hybrid"], by=["interval"]))
    assert section is not None and isinstance(section.blocks[0], Table)
    head, *rows = next(iter(read_tables(table_markup(section.blocks[0])).values()))
    assert head[0] == "interval" and [row[0] for row in rows] == sorted(queries["topic"].unique())


@pytest.mark.slow
def test_equal_runs_lead_together() -> None:
    runs = {name: {"q": {"d": score, "e": 0.5}, "r": {"d": 1.0}} for name, score in (("a", 0.9), ("b", 0.9), ("c", 0.1))}
    with pytest.warns(apf.exceptions.FewUnitsWarning):
        answer = search.answer(Searched(apf.evaluate_run({"q": {"d": 1}, "r": {"d": 1}}, runs, "AP"), ["a", "b", "c"]))
    assert answer == "a and b have the highest AP, 1.000."


def test_of_very_many_some_are_drawn() -> None:
    places = evenly(5_000)
    assert len(set(places)) == MOST_BARS and (places[0], places[-1]) == (0, 4_999)
    assert {later - place for place, later in pairwise(places)} == {50, 51}
    assert evenly(MOST_BARS) == [*range(MOST_BARS)] and evenly(0) == []
