"""The section of the report: what."""

from __future__ import annotations

import polars as pl

import apframe as apf
from apframe.report.compared import Compared
from apframe.report.section import Fragment, Table
from apframe.report.sections import what


def test_says_what_was_compared(pair: Compared) -> None:
    section = what.section(pair)
    assert section.sentences[0] == "model_a and model_b on 300 images, 2,400 annotations, 12 categories, by the rules of COCO."
    table, facts = section.blocks[:2]
    assert isinstance(facts, Fragment) and "Resamples" not in facts.markup
    assert isinstance(table, Table)
    assert table.frame["detections"].to_list() == [each.detections.height for each in pair.evaluations]


def test_copies_for_other_classes_are_not_counted() -> None:
    car = {"image_id": "0", "category_id": "Car", "x": 0.0, "y": 0.0, "width": 90.0, "alpha": 0.0}
    truth = apf.Dataset(
        {"image_id": ["0"]},
        {"category_id": ["Car", "Pedestrian", "Cyclist"], "name": ["Car", "Pedestrian", "Cyclist"]},
        pl.DataFrame([car | {"height": 90.0, "occluded": 0, "truncated": 0.0}]),
    )
    found = pl.DataFrame([car | {"height": 90.0, "score": 0.9}, car | {"height": 20.0, "score": 0.8}])
    table = what.section(Compared([apf.evaluate(truth, found, protocol="kitti")], ["a"])).blocks[0]
    assert isinstance(table, Table)
    assert table.frame["detections"].to_list() == [2]
