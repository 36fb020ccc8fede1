"""The section of the report: calibration."""

from __future__ import annotations

import warnings

import polars as pl
import pytest

import apframe as apf
from apframe.exceptions import ApframeWarning
from apframe.report.compared import Compared
from apframe.report.section import Chart, Details, Table
from apframe.report.sections import score_calibration
from tests.conformance.tiny import ONE_HIT, ONE_OF_TWO
from tests.protocols.test_protocol_values import RANKED, tiny
from tests.report.sections.test_error_types import of, tables


@pytest.mark.slow
def test_numbers_are_those_of_calibration(pair: Compared, models: list[apf.Evaluation]) -> None:
    section = score_calibration.section(pair)
    shown = tables(section)
    for name, each in zip(pair.names, models, strict=True):
        whole = each.calibration(0.5).filter(average="detections").select("n", "ece", "mce", "brier", "mean_gap")
        assert shown["Calibration at IoU 0.5"].filter(model=name).drop("model").equals(whole)
        assert shown["Ranges of scores"].filter(model=name)["gap"].equals(each.reliability(0.5)["gap"])
        of_each = each.calibration(0.5, level="category").select("name", "n", "ece", "mean_gap").sort("name")
        of_model = shown["Calibration of each category, most detections first"].filter(model=name)
        assert of_model.drop("model").sort("category").rows() == of_each.rows()
    assert section.sentences[0].startswith("model_a: scores are too low. Their mean is 0.32")
    assert section.scope == "all scores"


def test_ranges_link_to_their_detections(pair: Compared) -> None:
    """Each range has as many detections as its link says: from its lower end to the next one's."""
    (details, *_) = (each for each in score_calibration.section(pair).blocks if isinstance(each, Details))
    table = details.blocks[0]
    assert isinstance(table, Table)
    rows = pair.rows.table().explode("model").drop_nulls("detection_id")
    for name, n, mark in zip(table.frame["model"], table.frame["n"], table.links["n"], strict=True):
        assert (mark is None) == (n == 0)
        if mark is not None:
            begin, end = (float(mark.selection[key]) for key in ("from", "to"))
            detections = rows.filter(pl.col("model") == name, pl.col("score").is_between(begin, end, closed="left"))
            assert (mark.selection["model"], mark.n, detections.height) == (name, n, n)


def hits(*scores: tuple[float, bool]) -> Compared:
    """One model whose detections are right or wrong."""
    n = len(scores)
    box = {"image_id": [*range(n)], "category_id": [1] * n, "y": [0] * n, "width": [9] * n, "height": [9] * n}
    truth = apf.Dataset({"image_id": range(n)}, {"category_id": [1], "name": ["cat"]}, box | {"x": [0] * n})
    detections = box | {"x": [0 if right else 50 for _, right in scores], "score": [score for score, _ in scores]}
    return of(apf.evaluate(truth, detections))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scores", "found"),
    [
        (
            [(0.9, True), (0.9, False)],
            "scores are too high. Their mean is 0.900, and 50 % of 2 detections are right (ECE 0.4",
        ),
        ([(0.1, True), (0.1, False)], "scores are too low. Their mean is 0.100, and 50 %"),
        ([(0.5, True), (0.5, False)], "scores are calibrated. Their mean is 0.500, and 50 %"),
        ([(0.1, True), (0.9, False)], "scores fit on average, but are too high in some ranges and too low in others."),
    ],
)
def test_scores_in_words(scores: list[tuple[float, bool]], found: str) -> None:
    assert found in score_calibration.section(hits(*scores)).sentences[0]


@pytest.mark.slow
@pytest.mark.parametrize("name", RANKED)
def test_every_protocol_has_the_section(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ApframeWarning)
        assert score_calibration.section(of(tiny(name))).sentences


@pytest.mark.slow
def test_what_has_no_calibration_is_said_in_words() -> None:
    logits = apf.evaluate(ONE_OF_TWO, [row | {"score": 7.5} for row in ONE_HIT])
    section = score_calibration.section(of(logits, apf.evaluate(ONE_OF_TWO, ONE_HIT)))
    assert "model_0 cannot be measured: detections: score is outside [0, 1]" in section.sentences[0]
    assert section.sentences[1].startswith("model_1: ")
    assert tables(section)["Calibration at IoU 0.5"]["model"].to_list() == ["model_1"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ApframeWarning)
        nothing = score_calibration.section(of(apf.evaluate(ONE_OF_TWO, [])))
    assert (list(nothing.sentences), list(nothing.blocks)) == (["model_0 has no detections that count."], [])


@pytest.mark.slow
def test_more_models_than_can_be_drawn(models: list[apf.Evaluation]) -> None:
    section = score_calibration.section(Compared([models[0]] * 8, [f"m{k}" for k in range(8)]))
    assert sum(isinstance(block, Chart) for block in section.blocks) == 6
    assert tables(section)["Calibration at IoU 0.5"].height == 8
    assert "Charts show the first 6 of 8 models." in section.notes


def test_pooled_categories_have_one_row() -> None:
    pooled = apf.evaluate(ONE_OF_TWO, ONE_HIT, agnostic=True)
    assert set(tables(score_calibration.section(of(pooled)))) == {"Calibration at IoU 0.5", "Ranges of scores"}


@pytest.mark.slow
def test_one_detection_is_no_share(one: Compared, pair: Compared) -> None:
    box = {"image_id": 1, "category_id": 1, "bbox": [0, 0, 9, 9]}
    truth = {"images": [{"id": 1}], "categories": [{"id": 1, "name": "cat"}], "annotations": [box | {"id": 1}]}
    sentence = score_calibration.section(Compared([apf.evaluate(truth, [box | {"score": 0.9}])], ["a"])).sentences[0]
    assert "and the only detection is right (ECE 0.100)" in sentence
    assert "Compare models" in " ".join(score_calibration.section(pair).notes)
    assert "Compare models" not in " ".join(score_calibration.section(one).notes)
