"""The facts of the report: models, ground truth, rules and versions."""

from __future__ import annotations

import polars as pl
import pytest

import apframe as apf
from apframe.report.compared import Compared
from apframe.report.section import Fragment, Table
from apframe.report.sections import provenance
from tests.conformance.tiny import ONE_HIT, ONE_OF_TWO


def test_says_what_was_compared(pair: Compared) -> None:
    table, facts, rules = provenance.facts(pair)
    assert isinstance(facts, Fragment) and isinstance(rules, Fragment)
    assert "<dd>300 images, 2,400 annotations, 12 categories</dd>" in facts.markup
    assert "<dd>COCO, bbox, as published</dd>" in facts.markup and "Resamples" not in facts.markup
    assert provenance.ground_truth_hash(pair.first.dataset) in facts.markup
    assert "All rules in words" in rules.markup
    assert isinstance(table, Table)
    assert table.frame["model"].to_list() == ["model_a", "model_b"]
    assert table.frame["detections"].to_list() == [each.detections.height for each in pair.evaluations]


@pytest.mark.slow
def test_departures_and_subsets_are_named() -> None:
    evaluation = apf.evaluate(ONE_OF_TWO, ONE_HIT, max_detections=[7]).where("image_id = 1")
    facts = provenance.facts(Compared([evaluation], ["a"]))[1]
    assert isinstance(facts, Fragment)
    assert "but with other max_detections" in facts.markup and "image_id = 1" in facts.markup


@pytest.mark.slow
def test_copies_for_other_classes_are_not_counted() -> None:
    car = {"image_id": "0", "category_id": "Car", "x": 0.0, "y": 0.0, "width": 90.0, "alpha": 0.0}
    truth = apf.Dataset(
        {"image_id": ["0"]},
        {"category_id": ["Car", "Pedestrian", "Cyclist"], "name": ["Car", "Pedestrian", "Cyclist"]},
        pl.DataFrame([car | {"height": 90.0, "occluded": 0, "truncated": 0.0}]),
    )
    detections = pl.DataFrame([car | {"height": 90.0, "score": 0.9}, car | {"height": 20.0, "score": 0.8}])
    table = provenance.facts(Compared([apf.evaluate(truth, detections, protocol="kitti")], ["a"]))[0]
    assert isinstance(table, Table)
    assert table.frame["detections"].to_list() == [2]
