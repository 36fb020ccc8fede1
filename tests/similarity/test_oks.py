"""Keypoints, bit by bit beside pycocotools."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

from apframe.benchmarks.people.crowdpose.protocol import CROWDPOSE_SIGMAS
from apframe.exceptions import ColumnError, ParameterError, RowError
from apframe.similarity.oks import COCO_SIGMAS, OKS
from apframe.tables.shapes.keypoints import keypoint_extents

SHAPE = {"cell": pl.Int64, "keypoints": pl.List(pl.Float64)}
BOX = dict.fromkeys(["x", "y", "width", "height", "area"], pl.Float64)


@st.composite
def people(draw: st.DrawFn, number: int, most: int = 4) -> list[dict[str, Any]]:
    """People with boxes and keypoints near each other; some of them with few or no visible keypoints."""
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows = []
    for _ in range(draw(st.integers(0, most))):
        size = draw(st.sampled_from([0.0, 3.0, 40.0, 400.0]))
        share = draw(st.sampled_from([0.0, 0.2, 0.7, 1.0]))
        places = random.uniform(0, 60, (number, 2)).round(2)
        visibility = np.where(random.random(number) < share, random.integers(1, 3, number), 0)
        x, y = random.uniform(0, 60, 2).round(2).tolist()
        box = {"x": x, "y": y, "width": size, "height": size / 2, "area": size * size / 3}
        points = np.column_stack([places, visibility]).ravel().tolist()
        rows.append({"cell": draw(st.integers(0, 1)), "keypoints": points, **box, "is_crowd": draw(st.booleans())})
    return rows


def frames(found: list[dict[str, Any]], truth: list[dict[str, Any]]) -> tuple[pl.DataFrame, pl.DataFrame]:
    detections = pl.DataFrame([{name: row[name] for name in SHAPE} for row in found], schema=SHAPE)
    annotations = pl.DataFrame(truth, schema=SHAPE | BOX | {"is_crowd": pl.Boolean})
    return detections.with_row_index("detection_id", 10), annotations.with_row_index("annotation_id", 20)


def pairs(similarity: OKS, found: list[dict[str, Any]], truth: list[dict[str, Any]], least: float = 0.0) -> dict[Any, float]:
    table = similarity.pair(*frames(found, truth), least)
    assert table.schema == {"detection": pl.UInt32, "annotation": pl.UInt32, "similarity": pl.Float64}
    return {(detection, annotation): value for detection, annotation, value in table.rows()}


def reference(found: list[dict[str, Any]], truth: list[dict[str, Any]], sigmas: Any, factor: float | None) -> dict[Any, float]:
    """What pycocotools has for every pair; with a factor, for annotations of that part of their boxes' area."""
    evaluation = COCOeval(iouType="keypoints")
    evaluation.params.kpt_oks_sigmas = np.array(sigmas)
    evaluation._gts, evaluation._dts = defaultdict(list), defaultdict(list)
    for number, row in enumerate(truth):
        area = row["area"] if factor is None else row["height"] * row["width"] * factor
        bbox = [row["x"], row["y"], row["width"], row["height"]]
        evaluation._gts[row["cell"], 1].append({"keypoints": row["keypoints"], "bbox": bbox, "area": area, "row": number})
    for number, row in enumerate(found):
        evaluation._dts[row["cell"], 1].append({"keypoints": row["keypoints"], "score": -number, "row": number})
    values = {}
    for cell in {row["cell"] for row in found} & {row["cell"] for row in truth}:
        similarities = evaluation.computeOks(cell, 1)
        for i, detection in enumerate(evaluation._dts[cell, 1]):
            for j, annotation in enumerate(evaluation._gts[cell, 1]):
                values[detection["row"], annotation["row"]] = similarities[i, j]
    return values


@given(people(17), people(17))
def test_as_pycocotools(found: list[dict[str, Any]], truth: list[dict[str, Any]]) -> None:
    assert pairs(OKS(), found, truth) == reference(found, truth, COCOeval(iouType="keypoints").params.kpt_oks_sigmas, None)


@pytest.mark.slow
@given(people(14), people(14))
def test_with_a_part_of_the_boxes_area(found: list[dict[str, Any]], truth: list[dict[str, Any]]) -> None:
    sigmas = np.array([0.79, 0.79, 0.72, 0.72, 0.62, 0.62, 1.07, 1.07, 0.87, 0.87, 0.89, 0.89, 0.79, 0.79]) / 10
    assert pairs(OKS(CROWDPOSE_SIGMAS, 0.53), found, truth) == reference(found, truth, sigmas, 0.53)


def person(points: list[Any], is_crowd: bool = False) -> dict[str, Any]:
    box = {"x": 0.0, "y": 0.0, "width": 4.0, "height": 4.0, "area": 16.0}
    numbers = [None if number is None else float(number) for number in points]
    return {"cell": 0, "keypoints": numbers, **box, "is_crowd": is_crowd}


TWO = OKS((0.125, 0.125))


@pytest.mark.parametrize("is_crowd", [False, True])
def test_by_hand(is_crowd: bool) -> None:
    # e = d² / 0.0625 / 16 / 2 = d² / 2
    truth = [person([1, 1, 2, 3, 3, 1], is_crowd=is_crowd), person([1, 1, 2, 9, 9, 0], is_crowd=is_crowd)]
    detections = [person([1, 2, 0, 3, 3, 0])]
    half = np.exp(-0.5)
    assert pairs(TWO, detections, truth) == {(0, 0): pytest.approx((half + 1) / 2), (0, 1): pytest.approx(half)}


def test_without_visible_keypoints_the_enlarged_box_counts() -> None:
    # from -4 to 8 in both directions: the first keypoint is inside, the second 1 and 2 away
    assert pairs(TWO, [person([-4, 8, 1, 9, -6, 1])], [person([0] * 6)]) == {(0, 0): pytest.approx((1 + np.exp(-2.5)) / 2)}


def test_least_is_inclusive() -> None:
    detections, truth = [person([1, 2, 1, 3, 3, 1])], [person([1, 1, 2, 0, 0, 0])]
    value = pairs(TWO, detections, truth)[0, 0]
    assert pairs(TWO, detections, truth, least=value) == {(0, 0): value}
    assert pairs(TWO, detections, truth, least=value + 1e-12) == {}


@pytest.mark.parametrize("place", [1e200, 1e153])  # whose square is infinite, or is once it is divided
def test_places_far_away_are_no_warning(place: float) -> None:
    assert pairs(OKS((0.01, 0.01)), [person([place, 0, 1, 0, 0, 1])], [person([0, 0, 1, 0, 0, 1])]) == {(0, 0): 0.5}


GOOD = person([1, 1, 2, 3, 3, 1])


@pytest.mark.parametrize(
    ("found", "truth", "message"),
    [
        ([GOOD, person([1, 2, 3])], [GOOD], r"^detections: keypoints is not a list of 6 .* 2 sigmas,.*detection_id 11;"),
        ([GOOD], [person([]), GOOD], r"^annotations: keypoints is missing for annotation_id 20; supply it or remove"),
        ([GOOD], [GOOD, GOOD | {"keypoints": None}], r"^annotations: keypoints is missing for annotation_id 21;"),
        ([person([1, 1, 2, 3, None, 1])], [GOOD], r"^detections: keypoints holds a number.*detection_id 10;"),
        ([GOOD], [person([1, 1, 2, float("nan"), 3, 1])], r"^annotations: keypoints holds a number.*annotation_id 20;"),
        ([GOOD, person([1, 1, float("inf"), 3, 3, 1])], [GOOD], r"^detections: .* not finite for detection_id 11;"),
    ],
)  # fmt: skip
def test_keypoints_that_cannot_be_right(found: list[Any], truth: list[Any], message: str) -> None:
    with pytest.raises(RowError, match=message):
        pairs(TWO, found, truth)


def test_other_keypoints_than_sigmas() -> None:
    with pytest.raises(
        ParameterError,
        match=r"^all objects have 2 keypoints, but there are 17 sigmas; give 2 sigmas",
    ):
        pairs(OKS(), [GOOD], [GOOD, GOOD])
    with pytest.raises(ParameterError, match="all objects have 2 keypoints"):
        pairs(OKS(), [], [GOOD])


def test_missing_column() -> None:
    detections, annotations = frames([GOOD], [GOOD])
    with pytest.raises(ColumnError, match=r"^detections: no column keypoints, needed to compare by object keypoint similarity"):
        TWO.pair(detections.drop("keypoints"), annotations, 0.5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sigmas": ()}, r"^sigmas must be positive numbers, one for each keypoint, got \[\]"),
        ({"sigmas": (0.1, 0)}, "sigmas must be positive"),
        ({"sigmas": (0.1, float("nan"))}, "sigmas must be positive"),
        ({"sigmas": (0.1, float("inf"))}, "sigmas must be positive"),
        ({"sigmas": 0.1}, "sigmas must be numbers, one for each keypoint"),
        ({"sigmas": ("a",)}, "sigmas must be numbers, one for each keypoint"),
        ({"box_area_factor": 0}, "box_area_factor must be a positive number, got 0.0"),
        ({"box_area_factor": float("inf")}, "box_area_factor must be a positive number"),
        ({"box_area_factor": "half"}, "box_area_factor a number"),
    ],
)
def test_parameters_that_cannot_be_taken(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        OKS(**options)


def test_values() -> None:
    assert OKS([0.125, 0.125]) == TWO == OKS(np.array([0.125, 0.125]))
    assert len({OKS(), OKS(COCO_SIGMAS), OKS(CROWDPOSE_SIGMAS), OKS(CROWDPOSE_SIGMAS, 0.53)}) == 3
    assert OKS().words == "object keypoint similarity of 17 keypoints"
    assert OKS(CROWDPOSE_SIGMAS, 0.53).words == "object keypoint similarity of 14 keypoints, area 0.53 of the box"


@given(people(5, most=6).filter(len))
def test_extents_as_pycocotools(found: list[dict[str, Any]]) -> None:
    truth = COCO()
    truth.dataset = {"images": [{"id": 1}], "categories": [], "annotations": []}
    truth.createIndex()
    results = [{"image_id": 1, "category_id": 1, "score": 1.0, "keypoints": row["keypoints"]} for row in found]
    expected = [(*row["bbox"], row["area"]) for row in truth.loadRes(results).dataset["annotations"]]
    table = keypoint_extents("detections", frames(found, [])[0])
    assert table.columns == ["x", "y", "width", "height", "area"]
    assert table.rows() == expected


@pytest.mark.parametrize(
    ("points", "message"),
    [
        ([1.0, 2.0], r"^detections: keypoints is not a list of three numbers, x, y, visibility, .*for row 2;"),
        ([], "keypoints is missing for row 2;"),
        (None, "keypoints is missing for row 2;"),
        ([1.0, float("nan"), 2.0], "keypoints holds a number that is missing or not finite for row 2;"),
    ],
)
def test_extents_of_what_cannot_be_right(points: list[float] | None, message: str) -> None:
    frame = pl.DataFrame({"keypoints": [[1.0, 2.0, 2.0], points]}, schema_overrides={"keypoints": pl.List(pl.Float64)})
    with pytest.raises(RowError, match=message):
        keypoint_extents("detections", frame)


def test_extents_of_nothing() -> None:
    expected = dict.fromkeys(["x", "y", "width", "height", "area"], pl.Float64)
    assert keypoint_extents("detections", frames([], [])[0]).schema == expected
