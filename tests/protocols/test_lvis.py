"""LVIS: every number is that of lvis-api 0.5.3."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Sequence
from copy import deepcopy
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pycocotools import mask

import apframe as apf
from tests.protocols.generated import Row, Truth, half_as_often, references_at_work, sets
from tests.protocols.row import federated_boxes, federated_masks

try:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what it imports: cv2 and matplotlib
        from lvis import LVIS, LVISEval, LVISResults
except ImportError as error:
    pytest.skip(f"lvis-api cannot be imported: {error}", allow_module_level=True)

pytestmark = [
    pytest.mark.filterwarnings(f"ignore::apframe.exceptions.{name}")
    for name in ("NoAnnotationsWarning", "NothingMatchesWarning", "UnknownCategoryWarning")
]


def by_lvis_api(truth: Truth, results: Sequence[Row], iou_type: str, limit: int) -> Any:
    """LVISEval on data in memory, with what newer NumPy and Python have left out."""
    expected = LVIS.__new__(LVIS)  # which reads a file otherwise
    expected.logger, expected.dataset = logging.getLogger(__name__), deepcopy(truth)
    old_float = patch.object(np, "float", float, create=True)
    old_warn = patch.object(logging.Logger, "warn", lambda *_: None, create=True)
    with references_at_work(), old_float, old_warn:
        expected._create_index()
        evaluation = LVISEval(expected, LVISResults(expected, deepcopy(list(results)), max_dets=limit), iou_type)
        evaluation.params.max_dets = limit
        evaluation.run()
    return evaluation


def assert_parity(truth: Truth, results: Sequence[Row], iou_type: str, limit: int = 300) -> None:
    reference = by_lvis_api(truth, results, iou_type, limit)
    evaluation = apf.evaluate(truth, results, apf.LVIS, iou_type=iou_type, max_detections=limit)
    arrays = evaluation.arrays()
    for name in ("precision", "recall"):
        np.testing.assert_array_equal(arrays[name][..., 0], reference.eval[name], err_msg=name, strict=True)
    metrics = f"AP AP50 AP75 APs APm APl APr APc APf AR@{limit} ARs@{limit} ARm@{limit} ARl@{limit}".split()
    assert list(reference.get_results()) == metrics
    assert evaluation.summary["metric"].to_list() == [f"AR{limit}" if "AR@" in name else name.split("@")[0] for name in metrics]
    np.testing.assert_allclose(evaluation.stats, [reference.get_results()[name] for name in metrics], rtol=0, atol=1e-12)


@pytest.mark.slow
@given(sets(federated_boxes), st.just(300) | st.integers(1, 6))
def test_boxes_equal_reference(data: tuple[Truth, list[Row]], limit: int) -> None:
    # a detection that is not judged, or of an unknown category, takes a place among the first of an image
    assert_parity(*data, "bbox", limit)


@pytest.mark.slow
@half_as_often
@given(sets(federated_masks))
def test_masks_equal_reference(data: tuple[Truth, list[Row]]) -> None:
    assert_parity(*data, "segm")


@pytest.mark.slow
@pytest.mark.parametrize("frequencies", ["rrr", "ccc", "fff"])
def test_frequencies_without_categories_equal_reference(frequencies: str) -> None:
    truth, results = federated_boxes(np.random.default_rng(5), 4)
    for category, frequency in zip(truth["categories"], frequencies, strict=True):
        category["frequency"] = frequency
    assert_parity(truth, results, "bbox")


@pytest.mark.parametrize("without", ["annotation", "detection", "both"])
def test_objects_without_area_equal_reference(without: str) -> None:
    # LVIS.get_ann_ids asks for an area above 0: without it, an object does not exist
    truth, results = a_case()
    if without != "detection":
        truth["annotations"][1]["area"] = 0
    if without != "annotation":
        results[0]["bbox"] = [60, 60, 0, 0]
    assert_parity(truth, results, "bbox")


@pytest.mark.slow
def test_detections_without_pixels_are_left_out() -> None:
    truth, results = federated_masks(np.random.default_rng(5), 4)
    empty = mask.encode(np.zeros(results[0]["segmentation"]["size"], dtype=np.uint8, order="F"))
    without_pixels = results[0] | {"segmentation": {"size": empty["size"], "counts": empty["counts"].decode()}}
    evaluations = [apf.evaluate(truth, rows, apf.LVIS, iou_type="segm") for rows in ([without_pixels, *results], results)]
    pairs = [evaluation.pairs.select("annotation_id", "similarity") for evaluation in evaluations]
    assert len(pairs[0])
    assert pairs[0].equals(pairs[1])
    assert evaluations[0].metrics.equals(evaluations[1].metrics)


def a_case(**lists: list[int]) -> tuple[Truth, list[Row]]:
    """One image: category 1 is annotated and found, then found beside it; category 2 is found, and not annotated."""
    cell = {"image_id": 1, "category_id": 1}
    there, beside = [10, 10, 20, 20], [60, 60, 20, 20]
    truth = {
        "images": [{"id": 1} | NOTHING | lists, {"id": 2} | NOTHING],
        "categories": [{"id": 1, "name": "cup", "frequency": "f"}, {"id": 2, "name": "saucer", "frequency": "r"}, SPOON],
        "annotations": [
            cell | {"id": 1, "bbox": there, "area": 400},
            {"id": 2, "image_id": 2, "category_id": 2, "bbox": there, "area": 400},
        ],
    }
    results = [
        cell | {"bbox": beside, "score": 0.9},
        cell | {"bbox": there, "score": 0.8},
        cell | {"category_id": 2, "bbox": there, "score": 0.7},
        {"image_id": 2, "category_id": 2, "bbox": there, "score": 0.6},
    ]
    return truth, results


SPOON = {"id": 3, "name": "spoon", "frequency": "c"}  # which is nowhere
NOTHING: dict[str, list[int]] = {"neg_category_ids": [], "not_exhaustive_category_ids": []}
RULES = {
    # the detection of category 2 on image 1 does not exist; that beside the cup is false
    "as it is": ({}, {"APf": 0.5, "APr": 1.0}, {1: "fp", 2: "tp", 4: "tp"}),
    # it is judged, and false
    "verified to be absent": ({"neg_category_ids": [2]}, {"APf": 0.5, "APr": 0.5}, {1: "fp", 2: "tp", 3: "fp", 4: "tp"}),
    # that beside the cup may be a cup
    "not exhaustive": ({"not_exhaustive_category_ids": [1]}, {"APf": 1.0, "APr": 1.0}, {1: "ignored", 2: "tp", 4: "tp"}),
    "both": (
        {"neg_category_ids": [2], "not_exhaustive_category_ids": [2]},
        {"APf": 0.5, "APr": 1.0}, {1: "fp", 2: "tp", 3: "ignored", 4: "tp"},
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("lists", "values", "outcomes"), RULES.values(), ids=RULES)
def test_rules_one_by_one(lists: dict[str, list[int]], values: dict[str, float], outcomes: dict[int, str]) -> None:
    truth, results = a_case(**lists)
    evaluation = apf.evaluate(truth, results, apf.LVIS)
    summary = dict(evaluation.summary.rows())
    assert {name: round(summary[name], 9) for name in values} == values
    assert summary["APc"] is None
    assert dict(evaluation.matches(0.5).drop_nulls("detection_id").select("detection_id", "outcome").rows()) == outcomes
    assert_parity(truth, results, "bbox")
