"""The rules on what is evaluated: which protocols have which, and that the others are left alone by them."""

from __future__ import annotations

import pytest

import apframe as apf
from apframe.detection.prepare import rules
from apframe.detection.prepare.inputs import make_inputs
from apframe.schema import Dataset

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
DATASET = Dataset(IMAGES, {"category_id": [1, 2], "parent_ids": [[2], []]}, OBJECTS)


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
