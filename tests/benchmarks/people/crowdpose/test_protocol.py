"""CrowdPose: every number is that of COCO's evaluation, given CrowdPose's joints, areas and parts of the images."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import apframe as apf
from tests.benchmarks.people.crowdpose.row import METRICS, PARTS, expected_values, fourteen_joints, in_all_parts
from tests.parity.reference import close
from tests.protocols.generated import Row, Truth, sets

pytestmark = pytest.mark.filterwarnings(
    "ignore::apframe.exceptions.NoAnnotationsWarning", "ignore::apframe.exceptions.NothingMatchesWarning"
)


def assert_parity(truth: Truth, results: list[Row]) -> apf.Evaluation:
    evaluation = apf.evaluate(truth, results, apf.CROWDPOSE)
    assert evaluation.summary["metric"].to_list() == METRICS
    assert evaluation.summary["value"].to_list() == close(expected_values(truth, results))
    return evaluation


@pytest.mark.slow
@given(st.one_of(sets(in_all_parts, most=4), sets(fourteen_joints, most=3)))
def test_summary_with_the_parts_equals_adapted_reference(data: tuple[Truth, list[Row]]) -> None:
    """The parts of the second ones may have no images."""
    assert_parity(*data)


@pytest.mark.parametrize("part", PARTS)
def test_a_part_without_images_is_null(part: str) -> None:
    truth, results = in_all_parts(np.random.default_rng(3), 6)
    above, up_to = PARTS[part]
    kept = [row for row in truth["images"] if not above < row["crowdIndex"] <= up_to]
    ids = {row["id"] for row in kept}
    assert kept and len(kept) < len(truth["images"])
    rest = {
        "images": kept,
        "categories": truth["categories"],
        "annotations": [row for row in truth["annotations"] if row["image_id"] in ids],
    }
    evaluation = assert_parity(rest, [row for row in results if row["image_id"] in ids])
    values = dict(evaluation.summary.rows())
    assert values[part] is None
    assert values["AP"] is not None


@pytest.mark.slow
def test_a_part_without_people_is_null() -> None:
    truth, results = in_all_parts(np.random.default_rng(3), 6)
    easy = {row["id"] for row in truth["images"] if row["crowdIndex"] <= 0.1}
    annotations = [row for row in truth["annotations"] if row["image_id"] not in easy]
    values = dict(assert_parity(truth | {"annotations": annotations}, results).summary.rows())
    assert values["AP_easy"] is None


@pytest.mark.slow
def test_borders_between_the_parts() -> None:
    """Each image has one person, found on all but one of them: the part of that one has lost it."""
    joints = [float(number) for k in range(14) for number in (k, 2 * k, 2)]
    person: Row = {"category_id": 1, "keypoints": joints}
    indices = {1: 0.0, 2: 0.1, 3: 0.1000001, 4: 0.8, 5: 0.8000001, 6: 1.0}
    truth: dict[str, Any] = {
        "images": [{"id": key, "crowdIndex": index} for key, index in indices.items()],
        "categories": [{"id": 1, "name": "person"}],
        "annotations": [
            person | {"id": key, "image_id": key, "bbox": [0, 0, 13, 26], "iscrowd": 0, "num_keypoints": 14} for key in indices
        ],
    }
    part_of = {1: "AP_easy", 2: "AP_easy", 3: "AP_medium", 4: "AP_medium", 5: "AP_hard", 6: "AP_hard"}
    for lost, part in part_of.items():
        results = [person | {"image_id": key, "score": 0.9} for key in indices if key != lost]
        values = dict(apf.evaluate(truth, results, apf.CROWDPOSE).summary.rows())
        assert {name for name in PARTS if values[name] < 0.99} == {part}
