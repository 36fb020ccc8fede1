"""A resample is a weight for every image, and that is what pycocotools computes of a data set with copies of images."""

from __future__ import annotations

from contextlib import redirect_stdout
from copy import deepcopy
from io import StringIO
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

import apframe as apf
from tests.parity.families import FAMILIES, Scene, scenes
from tests.parity.strategies import half_as_often

pytestmark = pytest.mark.filterwarnings(
    "ignore::apframe.exceptions.NoAnnotationsWarning", "ignore::apframe.exceptions.NothingMatchesWarning"
)
IOU_TYPES = {"boxes": "bbox", "masks": "segm", "people": "keypoints"}


def reference_stats(truth: dict[str, list[dict[str, Any]]], results: list[dict[str, Any]], iou_type: str) -> np.ndarray:
    with redirect_stdout(StringIO()):
        ground_truth, detections = COCO(), COCO()
        ground_truth.dataset = deepcopy(truth)
        ground_truth.createIndex()
        if results:
            detections = ground_truth.loadRes(deepcopy(results))
        else:
            detections.dataset = truth | {"annotations": []}
            detections.createIndex()
        evaluation = COCOeval(ground_truth, detections, iou_type)
        evaluation.evaluate()
        evaluation.accumulate()
        evaluation.summarize()
    return evaluation.stats


def copied(scene: Scene, weights: list[int]) -> tuple[dict[str, list[dict[str, Any]]], list[dict[str, Any]]]:
    """The scene with as many copies of each image as it weighs; those of one image follow one another."""
    truth = scene.truth
    copies = [
        (image["id"], 10 * image["id"] + n)
        for image, weight in zip(truth["images"], weights, strict=True)
        for n in range(weight)
    ]
    rows = [row | {"image_id": new} for old, new in copies for row in truth["annotations"] if row["image_id"] == old]
    images = [image | {"id": new} for old, new in copies for image in truth["images"] if image["id"] == old]
    detections = [row | {"image_id": new} for old, new in copies for row in scene.results if row["image_id"] == old]
    return truth | {"images": images, "annotations": [row | {"id": n} for n, row in enumerate(rows, 1)]}, detections


@half_as_often
@given(st.data(), st.sampled_from(list(IOU_TYPES)))
def test_weights_of_images_are_copies_of_them(data: st.DataObject, family: str) -> None:
    """All headline numbers of COCO, for boxes, masks and keypoints."""
    scene = data.draw(scenes(family, ties=False))
    weights = data.draw(st.lists(st.integers(0, 3), min_size=3, max_size=3))
    if not any(weights):
        return
    truth, results = copied(scene, weights)
    expected = reference_stats(truth, results, IOU_TYPES[family])
    images = [image | {"copies": weight} for image, weight in zip(scene.truth["images"], weights, strict=True)]
    ev = apf.evaluate(scene.truth | {"images": images}, scene.results, iou_type=IOU_TYPES[family])
    table = ev.intervals(weights="copies", n_resamples=1)
    np.testing.assert_allclose(table["estimate"].fill_null(-1), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("family", list(FAMILIES))
@pytest.mark.filterwarnings("ignore::apframe.exceptions.ApframeWarning")
@half_as_often
@given(data=st.data())
def test_weights_of_one_are_the_plain_numbers(family: str, data: st.DataObject) -> None:
    """By every family of protocols and every way to match."""
    ev = data.draw(scenes(family)).evaluate()
    table = ev.intervals(n_resamples=1)
    assert table["metric"].to_list() == ev.summary["metric"].to_list()
    np.testing.assert_allclose(table["estimate"].fill_null(-1), ev.stats, rtol=0, atol=1e-12)
