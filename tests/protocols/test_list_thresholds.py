"""Which threshold each list has."""

from __future__ import annotations

import pytest

import apframe as apf
from apframe.exceptions import ParameterError
from apframe.protocols.application import make_inputs
from apframe.protocols.list_thresholds import thresholds_of

BOX = {"image_id": [1], "category_id": [7], "x": [0], "y": [0], "width": [9], "height": [9]}
DATASET = apf.Dataset({"image_id": [1]}, {"category_id": [7, 3, 5], "name": ["CAR", None, "Cyclist"]}, BOX)
OWN = apf.COCO.with_options(iou_thresholds={"cyclist": 0.5, "Car": 0.7, "van": 0.6})


def test_one_for_all() -> None:
    inputs = make_inputs(DATASET, {}, None, apf.COCO)
    assert thresholds_of(inputs, apf.COCO, apf.COCO.iou_thresholds[9]).tolist() == [0.95] * 3
    assert thresholds_of(inputs, apf.COCO.with_options(agnostic=True)).tolist() == [0.5]


def test_one_for_each_in_the_order_of_the_ids() -> None:
    chosen = DATASET.categories["category_id"].filter(DATASET.categories["name"].is_not_null())
    assert thresholds_of(make_inputs(DATASET, {}, chosen, OWN), OWN).tolist() == [0.5, 0.7]


def test_a_category_without_a_threshold() -> None:
    message = r"^iou_thresholds has no threshold for '3'; there are cyclist, Car, van; add them, or name the others"
    with pytest.raises(ParameterError, match=message):
        make_inputs(DATASET, {}, None, OWN)
