"""Masks of Open Images: each rule on a table of its own; see open_images_reference.py for the four steps as loops."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import polars as pl
import pytest
from pycocotools import mask

import apframe as apf
from apframe.exceptions import ColumnError, MaskSizeWarning
from tests.protocols.generated import BOX

pytestmark = [
    pytest.mark.filterwarnings(f"ignore::apframe.exceptions.{name}")
    for name in ("NoAnnotationsWarning", "MissingColumnWarning")  # the latter of lists of verified classes
]

PLAIN, CHALLENGE = apf.OPEN_IMAGES, apf.OPEN_IMAGES_CHALLENGE
Place = tuple[int, int, int, int]
A, B, FAR, GROUP = (0, 0, 10, 10), (50, 50, 10, 10), (200, 200, 10, 10), (100, 100, 60, 60)
INSIDE, INSIDE_TOO = (110, 110, 10, 10), (130, 130, 10, 10)


def filled(place: Place) -> str:
    x, y, width, height = place
    return json.dumps([[x, y, x + width, y, x + width, y + height, x, y + height]])


def one_class(annotations: list[tuple[Place, str]], detections: list[tuple[Place, float]]) -> tuple[apf.Dataset, pl.DataFrame]:
    """Annotations as (box, kind), where a `mask` fills its box; detections as (box that the mask fills, score)."""
    cell = {"image_id": 1, "category_id": 1}
    truth = [
        cell | dict(zip(BOX, map(float, place), strict=True)) | {"is_crowd": "group" in kind}
        | {"mask": filled(place) if "mask" in kind else None}
        for place, kind in annotations
    ]  # fmt: skip
    results = [cell | {"score": score, "mask": filled(place)} for place, score in detections]
    image = {"image_id": [1], "image_width": [300], "image_height": [300]}
    frame = pl.DataFrame(truth, schema_overrides={"mask": pl.String})
    return apf.Dataset(image, {"category_id": [1]}, frame), pl.DataFrame(results)


Outcomes = list[tuple[int | None, int | None, str]]
# annotations; detections; outcomes, positives and AP of the challenge; the same of OPEN_IMAGES where they differ
RULES: dict[str, tuple[list[tuple[Place, str]], list[tuple[Place, float]], tuple[Outcomes, int, float | None], Any]] = {
    "masks are hit or not": (
        [(A, "mask"), (B, "mask")], [(A, 0.9), (FAR, 0.8), (B, 0.7)],
        ([(1, 1, "tp"), (2, None, "fp"), (3, 2, "tp")], 2, 0.833333333), None,
    ),
    "what hits a box without a mask is left out, and the box is no positive": (
        [(A, "mask"), (B, "box")], [(B, 0.9), (A, 0.8)], ([(1, 2, "ignored"), (2, 1, "tp")], 1, 1.0), None,
    ),
    "a group with a mask counts once in the challenge": (
        [(A, "mask"), (GROUP, "mask group")], [(INSIDE, 0.9), (INSIDE_TOO, 0.85), (A, 0.8)],
        ([(1, 2, "tp"), (2, 2, "ignored"), (3, 1, "tp")], 2, 1.0),
        ([(1, 2, "ignored"), (2, 2, "ignored"), (3, 1, "tp")], 1, 1.0),
    ),
    "a group without a mask never counts": (
        [(A, "mask"), (GROUP, "box group")], [(INSIDE, 0.9), (INSIDE_TOO, 0.85), (A, 0.8)],
        ([(1, 2, "ignored"), (2, 2, "ignored"), (3, 1, "tp")], 1, 1.0), None,
    ),
    "a box without a mask that nothing hits is not missed": (
        [(A, "mask"), (B, "box")], [(A, 0.8)], ([(1, 1, "tp")], 1, 1.0), None,
    ),
    "a second hit of a box without a mask is false": (
        [(A, "mask"), (B, "box")], [(B, 0.9), (B, 0.85), (A, 0.8)],
        ([(1, 2, "ignored"), (2, None, "fp"), (3, 1, "tp")], 1, 0.5), None,
    ),
    "unless it is in a group without a mask": (
        [(A, "mask"), (INSIDE, "box"), (GROUP, "box group")], [(INSIDE, 0.9), (INSIDE, 0.85), (A, 0.8)],
        ([(1, 2, "ignored"), (2, 3, "ignored"), (3, 1, "tp")], 1, 1.0), None,
    ),
    # the box is more similar than the mask: 1 against .8
    "masks come before boxes that are nearer": (
        [((0, 0, 10, 8), "mask"), (A, "box")], [(A, 0.9), (A, 0.8)], ([(1, 1, "tp"), (2, 2, "ignored")], 1, 1.0), None,
    ),
    "groups with masks come before groups without that hold more": (
        [((100, 100, 10, 30), "mask group"), (GROUP, "box group")], [((100, 100, 16, 16), 0.9)],
        ([(1, 1, "tp")], 1, 1.0), ([(1, 1, "ignored")], 0, None),
    ),
    "groups with masks come before boxes without": (
        [(GROUP, "mask group"), (INSIDE, "box")], [(INSIDE, 0.9), (INSIDE, 0.8)],
        ([(1, 1, "tp"), (2, 1, "ignored")], 1, 1.0), ([(1, 1, "ignored"), (2, 1, "ignored")], 0, None),
    ),
    "without any mask all of it is boxes": (
        [(A, "box"), (GROUP, "box group")], [(A, 0.9), (FAR, 0.8)], ([(1, 1, "ignored"), (2, None, "fp")], 0, None), None,
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES)
def test_rules_one_by_one(rule: str) -> None:
    annotations, detections, challenge, plain = RULES[rule]
    data = one_class(annotations, detections)
    for protocol, (outcomes, n_positives, ap) in ((CHALLENGE, challenge), (PLAIN, plain or challenge)):
        evaluation = apf.evaluate(*data, protocol, iou_type="segm")
        assert evaluation.matches().select("detection_id", "annotation_id", "outcome").rows() == outcomes
        assert evaluation.metrics["n_positives"].to_list() == [n_positives]
        assert evaluation.summary["value"].to_list() == [ap if ap is None else pytest.approx(ap, abs=1e-9)]


def test_the_box_of_a_detection_is_that_of_its_mask() -> None:
    dataset, detections = one_class([(B, "box")], [(B, 0.9)])
    elsewhere = detections.with_columns(**{name: pl.lit(7.0) for name in BOX})
    evaluation = apf.evaluate(dataset, elsewhere, PLAIN, iou_type="segm")
    assert evaluation.matches()["outcome"].to_list() == ["ignored"]


def test_masks_of_another_size_than_their_image() -> None:
    # the image is 300 x 300, its masks are 150 x 100: B covers columns 25 to 30 and rows 17 to 20 of them, about
    dataset, detections = one_class([(A, "mask"), ((50, 51, 10, 9), "box")], [(B, 0.9), (FAR, 0.8)])
    small = np.zeros((2, 100, 150), dtype=np.uint8, order="F")
    small[0, 17:20, 25:30] = 1
    small[1, 60:70, 100:120] = 1
    rles = [mask.encode(np.asfortranarray(each)) for each in small]
    texts = [json.dumps({"size": rle["size"], "counts": rle["counts"].decode()}) for rle in rles]
    annotated = dataset.annotations.with_columns(mask=pl.Series([texts[1], None]))
    dataset = apf.Dataset(dataset.images, dataset.categories, annotated)
    with pytest.warns(MaskSizeWarning):
        evaluation = apf.evaluate(dataset, detections.with_columns(mask=pl.Series(texts)), PLAIN, iou_type="segm")
        rows = evaluation.pairs.sort("detection_id").rows()
    assert rows == [(1, 2, pytest.approx(1, abs=1e-12)), (2, 1, 1.0)]


@pytest.mark.slow
def test_other_thresholds_and_policies() -> None:
    # .8 of the mask at the lower threshold, the box at the higher one
    data = one_class([((0, 0, 10, 8), "mask"), (A, "box")], [(A, 0.9)])
    evaluation = apf.evaluate(*data, PLAIN, iou_type="segm", iou_thresholds=[0.5, 0.9])
    columns = ["iou_threshold", "annotation_id", "outcome"]
    matches = pl.concat([evaluation.matches(iou_threshold=threshold) for threshold in (0.5, 0.9)]).drop_nulls("detection_id")
    assert matches.select(columns).rows() == [(0.5, 1, "tp"), (0.9, 2, "ignored")]
    # where annotations are not tried last, those without a mask are only ignored
    by_score = apf.evaluate(*data, PLAIN, iou_type="segm", matching="score")
    assert by_score.matches()["outcome"].to_list() == ["tp"]


NO_PIXELS: dict[str, list[Any]] = {
    "no polygons": [filled(A), "[]"],
    "no pixels": [filled(A), '{"size": [300, 300], "counts": [90000]}'],
    "an empty list": [[[0.0, 0.0, 10.0, 0.0, 10.0, 10.0, 0.0, 10.0]], []],
    "null": [[[0.0, 0.0, 10.0, 0.0, 10.0, 10.0, 0.0, 10.0]], None],
}


@pytest.mark.parametrize("masks", NO_PIXELS.values(), ids=NO_PIXELS)
def test_masks_without_pixels_are_none(masks: list[Any]) -> None:
    dataset, detections = one_class([(A, "mask"), (B, "box")], [(B, 0.9), (A, 0.8)])
    annotations = dataset.annotations.with_columns(pl.Series("mask", masks))
    evaluation = apf.evaluate(apf.Dataset(dataset.images, dataset.categories, annotations), detections, PLAIN, iou_type="segm")
    assert evaluation.matches().select("detection_id", "annotation_id", "outcome").rows() == [(1, 2, "ignored"), (2, 1, "tp")]


def test_masks_are_needed() -> None:
    dataset, detections = one_class([(A, "mask")], [(A, 0.9)])
    without = apf.Dataset(dataset.images, dataset.categories, dataset.annotations.drop("mask"))
    evaluation = apf.evaluate(without, detections, PLAIN, iou_type="segm")
    with pytest.raises(ColumnError, match="annotations: no column mask"):
        evaluation.matches()
