"""Advice: each sentence has a number with an interval that can be computed again, and leads to what it is about."""

from __future__ import annotations

import re
from dataclasses import replace

import polars as pl
import pytest
from scipy.stats import binomtest

import apframe as apf
from apframe.report.compared import Compared
from apframe.report.marks import Mark
from apframe.report.section import NextStep
from apframe.report.sections.next_steps import next_steps
from apframe.report.write import about, sections_of
from tests.conformance.tiny import ONE_HIT, ONE_OF_TWO
from tests.protocols.test_protocol_values import tiny
from tests.report.sections.test_search import DATA

_NUMBER = re.compile(r"[−+-]?\d[\d,]*\.?\d*")


def steps(compared: Compared) -> dict[str, NextStep]:
    """The advice by the first three words of what to do."""
    return {" ".join(step.action.split()[:3]): step for each in next_steps(compared) for step in each.steps}


def numbers(step: NextStep) -> list[float]:
    """The numbers in the reason."""
    return [float(text.replace(",", "").replace("−", "-")) for text in _NUMBER.findall(step.reason)]


@pytest.mark.slow
def test_each_has_an_interval(one: Compared, pair: Compared) -> None:
    for compared in (one, pair):
        (found,) = next_steps(compared)
        assert 3 <= len(found.steps) <= 5
        assert all("95 % CI" in step.reason for step in found.steps)


@pytest.mark.slow
def test_the_costliest_type_is_that_of_the_leader(pair: Compared, models: list[apf.Evaluation]) -> None:
    """model_b has the higher AP."""
    impact = models[1].error_impact(0.5, intervals=True).filter(pl.col("name").is_null()).head(6)
    row = impact.sort("delta_ap").row(-1, named=True)
    step = steps(pair)["Look at missed"]
    assert step.action == "Look at missed annotations first" and row["error"] == "miss"
    assert numbers(step)[1:] == [pytest.approx(each, abs=5e-4) for each in (row["delta_ap"], 95, row["low"], row["high"])]
    assert step.mark == Mark({"model": "model_b", "error": "miss"}, row["n"])


@pytest.mark.slow
def test_the_images_needed_are_those_of_n_needed(pair: Compared, models: list[apf.Evaluation]) -> None:
    needed, now, difference, _, low, high = numbers(steps(pair)["Test on more"])
    table = models[0].compare(models[1], metrics="AP")
    row = table.row(0, named=True)
    n = apf.n_needed(table, row["difference"])["n_needed"][0]
    assert needed == pytest.approx(n, rel=0.05) and now == 300
    assert [difference, low, high] == [pytest.approx(row[name], abs=5e-4) for name in ("difference", "low", "high")]


@pytest.mark.slow
def test_a_clear_difference_needs_no_images(models: list[apf.Evaluation]) -> None:
    night = [each.where("time_of_day = 'night'") for each in models]
    assert "Test on more" not in steps(Compared(night, ["a", "b"]))
    assert "Test on more" not in steps(Compared([models[0], models[0]], ["a", "b"]))  # equal


@pytest.mark.slow
def test_the_slice_or_category_that_costs_more(pair: Compared, one: Compared, models: list[apf.Evaluation]) -> None:
    """The rise is that of AP at 0.5 over all if only the errors of these images, or of this category, are fixed."""
    step = steps(pair)["Look at weather"]
    assert step.action == "Look at weather = rain, the lowest AP by weather among those with enough images"
    assert models[1].intervals(by="weather", metrics="AP").drop_nulls("low").sort("estimate")["weather"][0] == "rain"
    rain = models[1].dataset.images.filter(weather="rain")["image_id"]
    errors = models[1].errors(0.5)
    wrong = errors.filter(pl.col("image_id").is_in(rain.implode()), pl.col("error") != "miss")["detection_id"]
    kept = models[1].detections.filter(~pl.col("detection_id").is_in(wrong.implode()))
    outcomes = models[1].matches(0.5).filter(pl.col("image_id").is_in(rain.implode()), outcome="fn")["annotation_id"]
    dataset = models[1].dataset
    fixed = apf.Dataset(
        dataset.images, dataset.categories, dataset.annotations.filter(~pl.col("annotation_id").is_in(outcomes.implode()))
    )
    before, after = (each.intervals(metrics="AP50")["estimate"][0] for each in (models[1], apf.evaluate(fixed, kept)))
    assert numbers(step)[1] == pytest.approx(after - before, abs=2e-3)
    assert isinstance(step.mark, Mark) and step.mark.selection == {"weather": "rain"}
    (alone,) = next_steps(one)  # without slices
    lowest = models[0].by("name").sort("AP")["name"][0]
    assert f"Look at {lowest}, the lowest AP by category" in [each.action for each in alone.steps]


@pytest.mark.slow
def test_the_threshold_has_the_best_f1(pair: Compared, models: list[apf.Evaluation]) -> None:
    score = pair.point.best[1]  # type: ignore[union-attr]
    row = models[1].at(score, 0.5).by(intervals=True).row(0, named=True)
    step = steps(pair)["Set the score"]
    assert step.action.endswith(f"{score:.3f}") and step.mark == "threshold"
    _, f1, _, low, high, precision, recall = numbers(step)
    assert [f1, low, high, precision, recall] == [
        pytest.approx(row[name], abs=5e-4) for name in ("f1", "f1_low", "f1_high", "precision", "recall")
    ]


@pytest.mark.slow
def test_the_share_of_doubtful_labels(pair: Compared, models: list[apf.Evaluation]) -> None:
    """An annotation counts once, and crowds do not count. The leading model says so."""
    rows = Compared([models[1]], ["model_b"]).label_rows
    n_wrong = rows["annotation_id"].drop_nulls().n_unique()
    n = models[0].dataset.annotations.filter(~pl.col("is_crowd")).height
    got_wrong, of, share, _, low, high, n_missing = numbers(steps(pair)["Check the labels"])
    assert (got_wrong, of) == (n_wrong, n)
    assert n_missing == rows.filter(kind="missing").height
    ends = binomtest(n_wrong, n).proportion_ci(method="wilson")
    assert [share, low, high] == [pytest.approx(100 * each, abs=0.05) for each in (n_wrong / n, ends.low, ends.high)]


def test_models_that_agree_have_each_doubtful_label_once(models: list[apf.Evaluation], one: Compared) -> None:
    twice = Compared([models[0], models[0]], ["a", "b"])
    assert twice.label_rows.drop("model").equals(one.label_rows.drop("model"))


@pytest.mark.slow
def test_links_lead_to_sections_without_cards(pair: Compared) -> None:
    sections = sections_of(replace(pair, max_images=0))
    keys = {section.key for section in sections}
    marks = [step.mark for each in next_steps(replace(pair, max_images=0)) for step in each.steps]
    assert {mark for mark in marks if isinstance(mark, str)} == set(marks) <= keys


@pytest.mark.slow
def test_without_numbers_there_is_no_advice() -> None:
    """A few images have no intervals; a protocol without precision has no errors."""
    assert next_steps(Compared([apf.evaluate(ONE_OF_TWO, ONE_HIT)], ["a"])) == []
    assert next_steps(Compared([tiny("refcoco")], ["a"])) == []


@pytest.mark.slow
def test_queries_that_would_tell_runs_apart() -> None:
    """Of runs that differ little; those that differ clearly, and a run alone, have no such advice."""
    for names, is_said in ((["lexical", "dense"], True), (["lexical", "hybrid"], False), (["lexical"], False)):
        evaluation = apf.evaluate_run(DATA / "qrels.txt", [DATA / f"run_{name}.txt" for name in names], "AP")
        advice = next_steps(about([evaluation]))
        assert bool(advice) == is_said
        if is_said:
            ((step,),) = [each.steps for each in advice]
            rows = evaluation.compare("run_lexical")
            n = apf.n_needed(rows, abs(rows["difference"][0]))["n_needed"][0]
            assert numbers(step)[0] == pytest.approx(n, rel=0.05) and numbers(step)[1] == rows["n_units"][0]
            assert (step.action, step.mark) == ("Test on more queries", "comparison")
