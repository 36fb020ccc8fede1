"""The rules on what is evaluated: which protocols have which, and that the others are left alone by them."""

from __future__ import annotations

import math

import pytest

import apframe as apf
from apframe.evaluation.prepare import rules
from apframe.evaluation.prepare.inputs import make_inputs
from apframe.exceptions import TurnedBoxesWarning
from apframe.tables.dataset import Dataset

ULTRALYTICS = {"ULTRALYTICS", "ULTRALYTICS_8_4_175", "ULTRALYTICS_8_4_35"}
OF = {  # the parameter of a protocol that a rule goes by, and the published protocols that have it
    rules.limit_detections: ("per_image", {"LVIS", "AVA", "LUNA16", *ULTRALYTICS}),
    rules.leave_out_annotations_without_area: ("with_area_only", {"LVIS"}),
    rules.expand_hierarchy: ("expands_hierarchy", {"OPEN_IMAGES", "OPEN_IMAGES_CHALLENGE"}),
    rules.keep_judged_detections: ("judged_only", {"LVIS", "OPEN_IMAGES_CHALLENGE"}),
    rules.leave_out_detections_without_area: ("with_area_only", {"LVIS"}),
    rules.keep_detected_images: ("detected_images_only", set()),
}
IMAGES = {"image_id": [1, 2]}
OBJECTS = {"image_id": [1, 1], "category_id": [1, 2], "x": [0, 0], "y": [0, 0], "width": [4, 0], "height": [4, 4]}
CATEGORIES = {"category_id": [1, 2]}
DATASET = Dataset(IMAGES, CATEGORIES | {"parent_ids": [[2], []]}, OBJECTS)


@pytest.mark.parametrize("rule", OF, ids=lambda rule: rule.__name__)
def test_the_protocols_of_a_rule(rule: rules.Rule) -> None:
    parameter, names = OF[rule]
    assert {name for name, protocol in apf.PUBLISHED.items() if getattr(protocol, parameter)} == names
    written = str(rule.__doc__).replace("its challenge", "OPEN_IMAGES_CHALLENGE")
    assert all(name in written for name in names - ULTRALYTICS)
    assert "ULTRALYTICS" in written or not names & ULTRALYTICS


@pytest.mark.parametrize("rule", OF, ids=lambda rule: rule.__name__)
def test_what_has_not_the_rule_is_left_alone(rule: rules.Rule) -> None:
    inputs = make_inputs(DATASET, OBJECTS | {"score": [0.5, 0.4]}, None, apf.COCO)
    assert rule(inputs, apf.COCO) is inputs


def test_every_rule_is_in_the_list_once() -> None:
    assert len(set(rules.RULES)) == len(rules.RULES)
    assert set(OF) < set(rules.RULES)
    assert set(rules.WHEN_READ) < set(rules.RULES)


def test_the_limit_counts_what_is_left_out_later() -> None:
    found = OBJECTS | {"score": [0.4, 0.5]}  # the second has no area, but the higher score
    protocol = apf.LVIS.with_options(max_detections=[1])
    with pytest.warns(apf.exceptions.MissingColumnWarning):
        assert make_inputs(DATASET, found, None, protocol).detections.is_empty()


TURNED = OBJECTS | {"x": [10, 10], "y": [20, 20], "width": [60, 60], "height": [40, 40], "angle": [math.pi / 2, math.pi]}


def test_turned_boxes_become_upright_and_keep_the_area_of_the_shape() -> None:
    truth = TURNED | {"angle": [math.atan2(3, 4), None], "width": [60, 60], "height": [40, 40]}
    with pytest.warns(TurnedBoxesWarning, match=r"^boxes turned by angle: 1 of 2 annotations and 1 of 2 detections; COCO uses"):
        inputs = make_inputs(Dataset(IMAGES, CATEGORIES, truth), TURNED | {"score": [0.5, 0.4]}, None, apf.COCO)
    columns = ["x", "y", "width", "height", "angle", "area"]
    annotations, detections = inputs.annotations.select(columns), inputs.detections.select(columns)
    # .8 * 60 + .6 * 40 wide and .6 * 60 + .8 * 40 high, about (40, 40)
    assert annotations.row(0) == pytest.approx((4, 6, 72, 68, 0, 2400))
    assert annotations.row(1) == (10, 20, 60, 40, None, 2400)
    assert detections.rows() == [(20, 10, 40, 60, 0, 2400), (10, 20, 60, 40, math.pi, 2400)]  # half a turn changes nothing
    assert inputs.dataset.annotations.select(columns).equals(annotations)


@pytest.mark.parametrize("protocol", [apf.DOTA, apf.COCO.with_options(similarity=apf.UserSimilarity(lambda pairs: pairs["x"]))])
def test_the_angle_stays_where_it_is_compared(protocol: apf.Protocol) -> None:
    inputs = make_inputs(Dataset(IMAGES, CATEGORIES, TURNED), TURNED | {"score": [0.5, 0.4]}, None, protocol)
    assert inputs.annotations["angle"].to_list() == inputs.detections["angle"].to_list() == TURNED["angle"]
    assert inputs.notes == [] and inputs.detections["x"].to_list() == [10, 10]


@pytest.mark.parametrize("angle", [[None, None], [0.0, 0.0], [0.0, -math.pi]])
def test_boxes_that_are_not_turned_are_left_alone(angle: list[float | None]) -> None:
    objects = TURNED | {"angle": angle}
    inputs = make_inputs(Dataset(IMAGES, CATEGORIES, objects), objects | {"score": [0.5, 0.4]}, None, apf.COCO)
    left = rules.turn_upright(inputs, apf.COCO)
    assert left.dataset is inputs.dataset and left.detections is inputs.detections and left.notes == []
