"""The first screen: the answer, the numbers, and what is clearly better or worse."""

from __future__ import annotations

import warnings
from dataclasses import replace

import polars as pl
import pytest

import apframe as apf
from apframe.exceptions import ApframeWarning
from apframe.report.compared import Compared
from apframe.report.first_screen import first_screen_markup
from apframe.report.marks import Mark
from apframe.report.searched import Searched, merge_runs
from apframe.report.sections import leaderboard, models_compared, overview, search
from tests.conformance.rows import HAND as TINY
from tests.conformance.tiny import ONE_HIT, ONE_OF_TWO
from tests.protocols.test_protocol_values import tiny
from tests.report.sections.test_error_types import of
from tests.report.sections.test_search import DATA, RUNS


@pytest.fixture(scope="module")
def by_time(models: list[apf.Evaluation]) -> Compared:
    return Compared(models, ["model_a", "model_b"], by=["time_of_day"])


@pytest.mark.slow
def test_the_slice_that_differs_is_named(by_time: Compared) -> None:
    """model_b is clearly better at night; its chip leads to the errors there."""
    first = overview.of_models(by_time)
    assert first.sentence == models_compared.answer(by_time)
    (chip,) = first.chips
    night = by_time.by_key("time_of_day").filter(time_of_day="night").row(0, named=True)
    assert night["q"] < 0.05 and chip.words == f"night {night['difference']:+.3f}" and chip.verdict == "better"
    errors = by_time.rows.table().drop_nulls("error")
    n = errors.filter(pl.col("time_of_day").list.contains("night")).height
    assert chip.mark == Mark({"time_of_day": "night"}, n)
    assert first.chips_about == "Clearly better or worse in model_b (q < 0.05):"
    assert f'data-select="time_of_day=night" data-rows="{n}"' in first_screen_markup("x", first)
    without = overview.of_models(replace(by_time, max_images=0)).chips
    assert [each.mark for each in without] == ["slices"]


@pytest.mark.slow
def test_nothing_that_is_clear_is_said(pair: Compared) -> None:
    """12 categories, 4 kinds of weather and 3 sizes, of which two kinds of weather and two sizes have no interval."""
    first = overview.of_models(pair)
    assert first.chips == []
    assert first.chips_about == "None of 15 categories, slices and size ranges is clearly better or worse."


def test_one_model_has_its_costliest_error_types(one: Compared, models: list[apf.Evaluation]) -> None:
    first = overview.of_models(one)
    impact = models[0].error_impact(0.5).filter(pl.col("name").is_null()).head(6).sort("delta_ap", descending=True)
    assert [chip.words.rpartition(" ")[2] for chip in first.chips] == [f"−{cost:.3f}" for cost in impact["delta_ap"].head(3)]
    expected = [Mark({"error": kind, "model": "model_a"}, n) for kind, n in impact.select("error", "n").head(3).rows()]
    assert [chip.mark for chip in first.chips] == expected
    assert first.chips_about == "Error types that cost most AP at IoU 0.5:"


@pytest.mark.slow
def test_figures_are_those_of_intervals(pair: Compared, models: list[apf.Evaluation]) -> None:
    for figure, name, each in zip(overview.of_models(pair).figures, pair.names, models, strict=True):
        row = each.intervals(metrics="AP").row(0, named=True)
        interval = f"{row['low']:.3f} to {row['high']:.3f}"
        assert (figure.name, figure.metric, figure.value, figure.interval) == (name, "AP", f"{row['estimate']:.3f}", interval)


def test_the_operating_point_is_said(pair: Compared, one: Compared) -> None:
    a, b = (f"{score:.3f}" for score in pair.point.best)  # type: ignore[union-attr]
    assert f"best F1 over all categories: {a} (model_a) and {b} (model_b)." in overview.of_models(pair).notes[-1]
    assert f"best F1 over all categories: {a}." in overview.of_models(one).notes[-1]


@pytest.mark.slow
def test_three_models_are_compared_with_the_first(models: list[apf.Evaluation]) -> None:
    half = apf.evaluate(models[1].dataset, models[1].detections.gather_every(2))
    three = Compared([*models, half], ["model_a", "model_b", "half_b"])
    first = overview.of_models(three)
    assert first.sentence == leaderboard.answer(three) and len(first.figures) == 3
    (chip,) = first.chips
    assert chip.words.startswith("half_b −") or chip.words.startswith("half_b -")
    assert (chip.verdict, chip.mark) == ("worse", "comparison")
    equal = overview.of_models(Compared([models[0]] * 3, ["a", "b", "c"]))
    assert (equal.chips_about, equal.chips) == ("No model is clearly better or worse than a.", [])


@pytest.mark.slow
def test_doubts_about_the_data_are_said_first() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ApframeWarning)
        compared = of(apf.evaluate(ONE_OF_TWO, []))
        first = overview.of_models(compared)
    assert first.doubts == [f"{doubt[0].upper()}{doubt[1:]}." for doubt in compared.doubts]
    assert "no detections" in first.doubts[0]


@pytest.mark.slow
def test_a_number_without_a_value() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ApframeWarning)
        first = overview.of_models(of(apf.evaluate(ONE_OF_TWO | {"annotations": []}, ONE_HIT)))
    assert first.sentence == "AP has no value: no annotation counts."
    assert [(each.value, each.interval) for each in first.figures] == [("–", "")] and first.chips == []


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("name", TINY)
def test_every_protocol_has_a_first_screen(name: str, n: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ApframeWarning)
        compared = Compared([tiny(name)] * n, ["a", "b", "c"][:n], n_resamples=50)
        first = overview.of_models(compared)
    assert first.sentence and len(first.figures) == n
    assert first.chips == [] or n == 1, "equal models differ in nothing"
    assert bool(first.notes) or compared.point is None or not compared.first.protocol.has_precision


def test_lower_errors_are_better() -> None:
    assert overview._verdict(-0.1, "ATE") == overview._verdict(0.1, "AP") == "better"
    assert overview._verdict(0.1, "ATE") == overview._verdict(-0.1, "AP") == "worse"


@pytest.mark.slow
def test_search_runs() -> None:
    evaluation = apf.evaluate_run(DATA / "qrels.txt", RUNS[:2])
    searched = Searched(evaluation, ["run_lexical", "run_hybrid"])
    first = overview.of_runs(searched)
    assert first.sentence == search.answer(searched)
    means = evaluation.summary.filter(measure="AP")
    expected = [dict(means.select("run", "value").rows())[name] for name in searched.names]
    assert [each.value for each in first.figures] == [f"{value:.3f}" for value in expected]
    assert first.notes == ["60 judged queries. Judged documents among the first 10: 74 % (run_lexical) and 92 % (run_hybrid)."]
    geometric = apf.evaluate_run(DATA / "qrels.txt", RUNS[:2], "GMAP")
    without = overview.of_runs(Searched(geometric, ["run_lexical", "run_hybrid"]))
    assert (without.figures, without.chips, without.notes) == ((), (), first.notes)


@pytest.mark.slow
def test_slices_and_measures_that_differ_between_two_runs() -> None:
    """The slices come first, then the other measures; the first one is in the sentence."""
    evaluation = apf.evaluate_run(DATA / "qrels.txt", RUNS[:2], queries=DATA / "queries.csv")
    first = overview.of_runs(Searched(evaluation, ["run_lexical", "run_hybrid"], by=["topic"]))
    slices = evaluation.compare("run_lexical", by="topic").filter(pl.col("q") < 0.05, measure="AP").sort("q")
    others = evaluation.compare("run_lexical").filter(pl.col("measure") != "AP", pl.col("p") * 4 < 0.05).sort("p")
    expected = [*slices.select("topic", "difference").rows(), *others.select("measure", "difference").rows()]
    assert [chip.words for chip in first.chips] == [f"{name} {difference:+.3f}" for name, difference in expected[:5]]
    assert {chip.verdict for chip in first.chips} == {"better"}
    assert first.chips[0].mark == Mark({"topic": "cooking"}, 12, "queries") and first.chips[2].mark == "comparison"
    assert first.chips_about == "Clearly better or worse in run_hybrid (q < 0.05):"
    swapped = apf.evaluate_run(DATA / "qrels.txt", {"new": RUNS[1], "old": RUNS[0]}, queries=DATA / "queries.csv")
    assert {chip.verdict for chip in overview.of_runs(Searched(swapped, ["new", "old"], by=["topic"])).chips} == {"worse"}
    dense = apf.evaluate_run(DATA / "qrels.txt", {"lexical": RUNS[0], "dense": RUNS[2]}, queries=DATA / "queries.csv")
    by_length = overview.of_runs(Searched(dense, ["lexical", "dense"], by=["n_words"])).chips
    assert all(chip.words.startswith("n_words ") for chip in by_length) and by_length
    unclear = overview.of_runs(Searched(dense, ["lexical", "dense"]))
    assert unclear.chips_about == "None of 4 other measures and slices is clearly better or worse." and not unclear.chips
    alone = apf.evaluate_run(DATA / "qrels.txt", {"lexical": RUNS[0], "dense": RUNS[2]}, "AP")
    assert overview.of_runs(Searched(alone, ["lexical", "dense"])).chips_about == ""


@pytest.mark.slow
def test_runs_that_differ_from_the_first_one() -> None:
    evaluation = apf.evaluate_run(DATA / "qrels.txt", [RUNS[1], RUNS[0], RUNS[2]], "AP")
    first = overview.of_runs(Searched(evaluation, ["run_hybrid", "run_lexical", "run_dense"]))
    assert [chip.words for chip in first.chips] == ["run_dense -0.163", "run_lexical -0.104"]
    assert {chip.verdict for chip in first.chips} == {"worse"}
    assert first.chips_about == "Clearly better or worse than run_hybrid (corrected p < 0.05):"
    same = apf.evaluate_run(DATA / "qrels.txt", dict.fromkeys("abc", RUNS[0]), "AP")
    assert overview.of_runs(Searched(same, [*"abc"])).chips_about == "No run is clearly better or worse than a."


@pytest.mark.slow
def test_the_lowest_queries_of_one_run() -> None:
    """Queries without relevant documents have 0 anyway: they are not named."""
    evaluation = apf.evaluate_run(DATA / "qrels.txt", RUNS[0], queries=DATA / "queries.csv")
    searched = Searched(*merge_runs([evaluation], ["lexical"]))
    first = overview.of_runs(searched)
    relevant = evaluation.judgements.filter(pl.col("relevance") >= 1)
    rows = evaluation.per_query.filter(measure="AP").join(relevant, on="query_id", how="semi").sort("value", "query_id").head(3)
    assert [chip.words.rpartition(" ")[2] for chip in first.chips] == [f"{value:.3f}" for value in rows["value"]]
    assert [chip.mark for chip in first.chips] == searched.query_marks(rows["query_id"])
    assert first.chips[0].words.startswith("BC547 transistor heat sink table ")
    assert first.chips_about == "Queries with the lowest AP:"
    with pytest.warns(apf.exceptions.FewUnitsWarning):
        equal = overview.of_runs(Searched(*merge_runs([apf.evaluate_run({"q": {"d": 1}}, {"q": {"d": 1.0}}, "AP")], ["a"])))
    assert (equal.chips_about, equal.chips) == ("", [])
