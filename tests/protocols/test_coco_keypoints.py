"""Keypoints by COCO's rules: every number is that of pycocotools 2.0.11."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import apframe as apf
from tests.protocols.generated import Row, Truth, assert_equal, by_pycocotools, half_as_often, people, sets

pytestmark = pytest.mark.filterwarnings(
    "ignore::apframe.exceptions.NoAnnotationsWarning", "ignore::apframe.exceptions.NothingMatchesWarning"
)


def assert_parity(truth: Truth, results: list[Row], iou_type: str = "keypoints") -> None:
    assert_equal(apf.evaluate(truth, results, iou_type=iou_type), by_pycocotools(truth, results, iou_type))


@pytest.mark.slow
@pytest.mark.parametrize("iou_type", ["keypoints", "bbox"])  # for bbox, the boxes of results are made of their keypoints
@given(data=sets(people))
def test_people_equal_reference(data: tuple[Truth, list[Row]], iou_type: str) -> None:
    # crowds, people without visible keypoints, and num_keypoints that say otherwise; more than 20 detections in a few images
    assert_parity(*data, iou_type)


@pytest.mark.slow
@half_as_often
@given(sets(partial(people, counted=False)))
def test_visible_keypoints_are_counted_where_no_number_is_given(data: tuple[Truth, list[Row]]) -> None:
    truth, results = data
    numbers = [sum(visibility > 0 for visibility in row["keypoints"][2::3]) for row in truth["annotations"]]
    rows = [row | {"num_keypoints": number} for row, number in zip(truth["annotations"], numbers, strict=True)]
    counted = truth | {"annotations": rows}
    assert_equal(apf.evaluate(truth, results, iou_type="keypoints"), by_pycocotools(counted, results, "keypoints"))


@pytest.mark.slow
@half_as_often
@given(sets(people), st.integers(0, 2**32))
def test_area_of_results_with_boxes_equals_reference(data: tuple[Truth, list[Row]], seed: int) -> None:
    truth, results = data
    sizes = np.random.default_rng(seed).choice([20.0, 32.0, 60.0, 96.0, 200.0], (len(results), 2)).tolist()
    assert_parity(truth, [row | {"bbox": [5.0, 5.0, *size]} for row, size in zip(results, sizes, strict=True)])


@pytest.mark.slow
@half_as_often
@given(sets(partial(people, n_joints=5)), st.lists(st.sampled_from([0.02, 0.05, 0.1, 0.5]), min_size=5, max_size=5))
def test_own_sigmas_equal_reference(data: tuple[Truth, list[Row]], sigmas: list[float]) -> None:
    truth, results = data
    evaluation = apf.evaluate(truth, results, iou_type="keypoints", similarity=apf.similarity.OKS(sigmas=sigmas))
    assert_equal(evaluation, by_pycocotools(truth, results, "keypoints", sigmas=sigmas))


@pytest.mark.slow(every=True)
@pytest.mark.parametrize("iou_type", ["keypoints", "bbox"])
def test_files_equal_reference(iou_type: str, tmp_path: Path) -> None:
    truth, results = people(np.random.default_rng(1), 20)
    paths = tmp_path / "truth.json", tmp_path / "results.json"
    for path, content in zip(paths, (truth, results), strict=True):
        path.write_text(json.dumps(content))
    evaluation = apf.evaluate(*paths, iou_type=iou_type)
    assert_equal(evaluation, by_pycocotools(truth, results, iou_type))
    # they can be told apart: the numbers differ
    assert iou_type == "bbox" or evaluation.summary["value"].n_unique() == 10


@pytest.mark.slow
@pytest.mark.parametrize("box", [None, []], ids=["no box", "an empty list"])
@pytest.mark.parametrize("from_file", [False, True], ids=["in memory", "file"])
def test_areas_are_those_of_keypoints_without_a_first_box(box: list[float] | None, from_file: bool, tmp_path: Path) -> None:
    truth, results = people(np.random.default_rng(2), 12)
    without = {} if box is None else {"bbox": box}
    results = [row | (without if place % 2 == 0 else {"bbox": [1.0, 1.0, 40.0, 40.0]}) for place, row in enumerate(results)]
    path = tmp_path / "results.json"
    path.write_text(json.dumps(results))
    evaluation = apf.evaluate(truth, path if from_file else results, iou_type="keypoints")
    assert_equal(evaluation, by_pycocotools(truth, results, "keypoints"))


@pytest.mark.parametrize("missing", ["results", "annotations", "both"])
def test_nothing_found_or_nothing_there_equals_reference(missing: str) -> None:
    truth, results = people(np.random.default_rng(1), 3)
    truth = truth if missing == "results" else truth | {"annotations": []}
    assert_parity(truth, results if missing == "annotations" else [])
