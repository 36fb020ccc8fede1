"""The section of the report: honest scores."""

from __future__ import annotations

import warnings

import pytest

import apframe as apf
from apframe.exceptions import ApframeWarning
from apframe.report.compared import Compared
from apframe.report.section import Table
from apframe.report.sections import honest
from tests.report.sections.test_kinds import of
from tests.rule_sets.test_protocol_values import ONE_HIT, ONE_OF_TWO, TINY, tiny


def test_numbers_are_those_of_calibration(pair: Compared, models: list[apf.Evaluation]) -> None:
    section = honest.section(pair)
    numbers, bins = [block for block in section.blocks if isinstance(block, Table)]
    for name, each in zip(pair.names, models, strict=True):
        row = each.calibration(0.5).filter(average="detections").row(0, named=True)
        assert numbers.frame.filter(model=name)["ece"].item() == row["ece"]
        assert bins.frame.filter(model=name)["gap"].equals(each.reliability(0.5)["gap"])
    assert section.sentences[0].startswith("model_a: scores are too low by 0.263 on average")


@pytest.mark.parametrize("name", TINY)
def test_every_protocol_has_the_section(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ApframeWarning)
        assert honest.section(of(tiny(name))).sentences


def test_what_has_no_calibration_is_said_in_words() -> None:
    logits = [row | {"score": 7.5} for row in ONE_HIT]
    assert "score is outside [0, 1]" in honest.section(of(apf.evaluate(ONE_OF_TWO, logits))).sentences[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ApframeWarning)
        nothing = honest.section(of(apf.evaluate(ONE_OF_TWO, [])))
    assert (list(nothing.sentences), nothing.blocks) == (["model_0 has no detections that count."], [])
