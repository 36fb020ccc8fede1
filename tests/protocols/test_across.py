"""Pairs across categories: those of plain loops, and which pairs of different categories are left out."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import apframe as apf
from apframe.exceptions import CategoriesNotComparedWarning
from apframe.protocols.across import pair_across, place_pairs
from tests.parity.families import scenes
from tests.protocols.generated import Row, Truth, box_iou, boxes, half_as_often, sets

pytestmark = pytest.mark.filterwarnings(
    "ignore::apframe.exceptions.NoAnnotationsWarning", "ignore::apframe.exceptions.NothingMatchesWarning"
)
HIERARCHY = {
    "category_id": [1, 2, 3, 4, 5], "name": ["animal", "mammal", "pet", "dog", "car"], "parent_ids": [[], [1], [1], [2, 3], []],
}  # fmt: skip
BOX = {"x": 0.0, "y": 0.0, "width": 10.0, "height": 10.0}


def pairs_of(evaluation: apf.Evaluation, least: float = 0.1) -> set[tuple[Any, ...]]:
    inputs = evaluation._inputs
    pairs = pair_across(inputs, least)
    ids = (
        inputs.detections["detection_id"].gather(pairs["detection"]),
        inputs.annotations["annotation_id"].gather(pairs["annotation"]),
    )
    return set(pairs.select(*ids, pl.col("similarity").round(12), "is_same").rows())


@pytest.mark.slow
@half_as_often
@given(sets(boxes))
def test_pairs_are_those_of_plain_loops(data: tuple[Truth, list[Row]]) -> None:
    truth, results = data
    expected = set()
    for number, row in enumerate(results, 1):
        for other in truth["annotations"]:
            iou = box_iou(row["bbox"], other["bbox"])
            if row["image_id"] == other["image_id"] and iou >= 0.1 and not other["iscrowd"]:
                expected.add((number, other["id"], round(iou, 12), row["category_id"] == other["category_id"]))
    assert pairs_of(apf.evaluate(truth, results)) == expected


def test_pooled_categories_are_one() -> None:
    annotations = [{"annotation_id": 1, "image_id": 1, "category_id": 4} | BOX]
    detections = [{"image_id": 1, "category_id": 5, "score": 0.5} | BOX]
    dataset = apf.Dataset({"image_id": [1]}, HIERARCHY, annotations)
    assert pairs_of(apf.evaluate(dataset, pl.DataFrame(detections), agnostic=True)) == {(1, 1, 1.0, True)}


@pytest.mark.filterwarnings("ignore::apframe.exceptions.MissingColumnWarning")
@pytest.mark.parametrize("annotation_id", [7, "seven"])
@pytest.mark.parametrize("protocol", [apf.OPEN_IMAGES, apf.OPEN_IMAGES_CHALLENGE], ids=lambda protocol: protocol.name)
def test_relatives_of_a_category_are_no_others(protocol: apf.Protocol, annotation_id: Any) -> None:
    # a dog is also a mammal, a pet and an animal; mammal and pet are no ancestors of each other, but show the same dog here
    annotations = [{"annotation_id": annotation_id, "image_id": 1, "category_id": 4} | BOX]
    detections = pl.DataFrame([{"image_id": 1, "category_id": key, "score": 0.5} | BOX for key in (1, 2, 3, 4, 5)])
    dataset = apf.Dataset({"image_id": [1]}, HIERARCHY, annotations)
    evaluation = apf.evaluate(dataset, detections, protocol)
    inputs = evaluation._inputs
    pairs = pair_across(inputs, 0.1)
    found_as, annotated_as = (
        frame["category_id"].gather(pairs[name])
        for frame, name in ((inputs.detections, "detection"), (inputs.annotations, "annotation"))
    )
    met = set(zip(found_as, annotated_as, pairs["is_same"], strict=True))
    # a car may be mistaken for the dog, but not for its copies; the challenge does not judge cars here
    of_car = {(5, 4, False)} if protocol is apf.OPEN_IMAGES else set()
    assert met == {(key, key, True) for key in (1, 2, 3, 4)} | of_car


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::apframe.exceptions.MissingColumnWarning")
@pytest.mark.parametrize("protocol", [apf.OPEN_IMAGES, apf.OPEN_IMAGES_CHALLENGE], ids=lambda protocol: protocol.name)
@given(data=st.data())
@half_as_often
def test_errors_and_confusion_are_about_no_relatives(protocol: apf.Protocol, data: st.DataObject) -> None:
    """Whatever they say is of another category: not above or below the detection's, no copy and no group."""
    family = "open images" if protocol is apf.OPEN_IMAGES else "open images challenge"
    scene = data.draw(scenes(family))
    evaluation = scene.evaluate()
    own = {row["id"]: row["category_id"] for row in scene.truth["annotations"] if not row["iscrowd"]}
    kin = {(1, 2), (2, 3), (1, 3)}  # 2 is a kind of 1, and 3 of 2
    errors = evaluation.errors(0.3).filter(pl.col("error").is_in(["cls", "both"]))
    suspects = evaluation.label_errors(0.3, min_score=0.1).filter(kind="wrong_class")
    mistaken = evaluation.confusion_pairs(0.3).filter(pl.col("true_category_id") != pl.col("found_category_id"))
    rows = [
        *errors.select("annotation_id", "target_category_id", "category_id").rows(),
        *suspects.select("annotation_id", "category_id", "proposed_category_id").rows(),
        *mistaken.select("annotation_id", "true_category_id", "found_category_id").rows(),
    ]
    for annotation_id, expected, found in rows:
        assert own[annotation_id] == expected  # the copies of an annotation have ids of their own
        assert tuple(sorted([expected, found])) not in kin
        assert expected != found


def test_objects_of_related_categories_are_no_others_either() -> None:
    annotations = [
        {"annotation_id": 1, "image_id": 1, "category_id": 2} | BOX,  # a mammal, which is an animal
        {"annotation_id": 2, "image_id": 1, "category_id": 3} | BOX,  # a pet, another one
    ]
    detections = pl.DataFrame([{"image_id": 1, "category_id": key, "score": 0.5} | BOX for key in (2, 4)])
    evaluation = apf.evaluate(apf.Dataset({"image_id": [1]}, HIERARCHY, annotations), detections, apf.OPEN_IMAGES)
    ids = {(one, other) for one, other, *_ in pairs_of(evaluation)}
    assert ids == {(1, 1), (1, 2)}  # mammal and pet are confused; a dog is both


@pytest.mark.parametrize("names", [(["nose"], ["nose"]), (["nose"], ["tail"])])
def test_other_keypoints_are_not_compared(names: tuple[list[str], list[str]]) -> None:
    truth = {
        "images": [{"id": 1}],
        "categories": [{"id": key, "name": f"c{key}", "keypoints": each} for key, each in enumerate(names, 1)],
        "annotations": [
            {"id": 1, "image_id": 1, "category_id": 1, "bbox": [0, 0, 10, 10], "area": 100, "num_keypoints": 1,
             "keypoints": [5, 5, 2]},
        ],
    }  # fmt: skip
    detections = [{"image_id": 1, "category_id": key, "score": 0.5, "keypoints": [5, 5, 1]} for key in (1, 2)]
    protocol = apf.COCO.variant("keypoints").with_options(similarity=apf.similarity.OKS(sigmas=(0.1,)))
    evaluation = apf.evaluate(truth, detections, protocol)
    if names[0] == names[1]:
        assert len(pairs_of(evaluation)) == 2
        assert evaluation.errors()["error"].to_list() == ["cls"]
        return
    with pytest.warns(CategoriesNotComparedWarning, match="the categories have different keypoints"):
        assert pairs_of(evaluation) == {(1, 1, 1.0, True)}
    with pytest.warns(CategoriesNotComparedWarning):
        assert evaluation.errors()["error"].to_list() == ["bkg"]


def test_pairs_are_placed_where_their_rows_are() -> None:
    truth = {
        "images": [{"id": 1}, {"id": 2}],
        "categories": [{"id": 1, "name": "cat"}],
        "annotations": [{"id": key, "image_id": key, "category_id": 1, "bbox": [0, 0, 10, 10]} for key in (1, 2)],
    }
    detections = [{"image_id": key, "category_id": 1, "score": key / 10, "bbox": [0, 0, 10, 10]} for key in (1, 2)]
    evaluation = apf.evaluate(truth, detections)
    verdicts = evaluation._pipeline.verdicts
    pairs = pair_across(evaluation._inputs, 0.1)
    assert pairs.select("detection", "annotation").sort(pl.all()).rows() == [(0, 0), (1, 1)]
    placed = place_pairs(pairs, verdicts, evaluation._inputs)
    assert placed.select("detection", "annotation").sort(pl.all()).rows() == [(0, 1), (1, 0)]  # the better score ranks first
    placed = place_pairs(pairs, verdicts.without([0]), evaluation._inputs)
    assert placed.select("detection", "annotation").rows() == [(0, 0)]
