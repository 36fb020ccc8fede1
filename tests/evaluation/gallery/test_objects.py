"""Objects of images: outcomes and words, with one model and two, at a lowest score, for each shape."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import apframe as apf
from apframe.evaluation.gallery.objects import objects_of, with_outlines
from apframe.exceptions import ParameterError
from apframe.show.drawings import draw_objects

STREET = Path(__file__).parents[3] / "data" / "street"


def box(image_id: int, left: float, **more: Any) -> dict[str, Any]:
    return {"image_id": image_id, "category_id": 1, "bbox": [left, 0, 10, 10]} | more


TRUTH = {
    "images": [{"id": 1, "width": 100, "height": 50}, {"id": 2}, {"id": 3}],
    "categories": [{"id": 1, "name": "cat"}],
    "annotations": [box(1, 0, id=5), box(1, 30, id=6), box(1, 60, id=7, iscrowd=1), box(2, 0, id=8)],
}
FOUND_A = [box(1, 0, score=0.9), box(1, 30, score=0.2), box(1, 61, score=0.5), box(1, 85, score=0.6)]
FOUND_B = [box(1, 1, score=0.755)]
IMAGES = pl.Series([1, 3])  # 3 is empty


def test_one_model() -> None:
    objects = objects_of([apf.evaluate(TRUTH, FOUND_A)], ["mine"], IMAGES, 0.5)
    assert objects.select("role", "outcome", "label", "title").rows() == [
        ("truth", "tp", "cat 0.90", "ground truth: cat 0.90, found, annotation 5"),
        ("truth", "tp", "cat 0.20", "ground truth: cat 0.20, found, annotation 6"),
        ("truth", "ignored", "cat", "ground truth: cat, ignored, annotation 7"),
        ("a", "tp", "cat 0.20", "mine: cat 0.20, true positive, similarity 1.0 to annotation 6, detection 2"),
        ("a", "ignored", "cat 0.50", "mine: cat 0.50, ignored, similarity 0.9 to annotation 7, detection 3"),
        ("a", "fp", "cat 0.60", "mine: cat 0.60, false positive, detection 4"),
        ("a", "tp", "cat 0.90", "mine: cat 0.90, true positive, similarity 1.0 to annotation 5, detection 1"),
    ]


@pytest.mark.slow
def test_two_models() -> None:
    both = [apf.evaluate(TRUTH, FOUND_A), apf.evaluate(TRUTH, FOUND_B)]
    objects = objects_of(both, ["mine", "theirs"], IMAGES, 0.5)
    assert objects.filter(role="truth").select("outcome", "label").rows() == [
        ("tp", "cat 0.90, 0.76"),
        ("fn", "cat 0.20, missed by theirs"),
        ("ignored", "cat"),
    ]
    assert objects_of(both, ["mine", "theirs"], pl.Series([2]))["label"].to_list() == ["cat, missed"]
    assert objects.filter(role="b")["title"].to_list() == [
        "theirs: cat 0.76, true positive, similarity 0.818 to annotation 5, detection 1"
    ]


def test_a_lowest_score_makes_misses() -> None:
    objects = objects_of([apf.evaluate(TRUTH, FOUND_A)], ["mine"], IMAGES, 0.5, min_score=0.55)
    assert objects.filter(role="truth")["outcome"].to_list() == ["tp", "fn", "ignored"]
    assert objects.filter(role="a")["score"].to_list() == [0.6, 0.9]


@pytest.mark.slow
def test_outcomes_are_those_of_matches() -> None:
    ev = apf.evaluate(STREET / "instances.json", STREET / "model_a.json")
    objects = objects_of([ev], ["a"], ev.dataset.images["image_id"], 0.75)
    matches = ev.matches(0.75)
    own = (
        objects.filter(role="a").sort("detection_id").select("detection_id", "annotation_id", pl.col("outcome").cast(pl.String))
    )
    theirs = matches.drop_nulls("detection_id").sort("detection_id").select(own.columns)
    assert own.equals(theirs.with_columns(pl.col("outcome").cast(pl.String)))
    missed = objects.filter(role="truth", outcome="fn")["annotation_id"].sort()
    assert missed.equals(matches.filter(outcome="fn")["annotation_id"].sort())


@pytest.mark.slow
def test_the_shape_that_is_compared_is_there() -> None:
    square = [[2.0, 2.0, 12.0, 2.0, 12.0, 12.0, 2.0, 12.0]]
    images, categories = TRUTH["images"], [{"id": 1, "name": "cat", "skeleton": [[1, 2]]}]
    points = [1.0, 1.0, 2, 5.0, 5.0, 2]
    one = {"id": 5, "image_id": 1, "category_id": 1, "bbox": [2, 2, 10, 10], "area": 100, "iscrowd": 0}
    truth = {"images": images, "categories": categories} | {
        "annotations": [one | {"segmentation": square, "keypoints": points, "num_keypoints": 2}]
    }
    detection = {"image_id": 1, "category_id": 1, "score": 0.5}
    by_masks = apf.evaluate(truth, [detection | {"segmentation": square}], iou_type="segm")
    objects = with_outlines([by_masks], objects_of([by_masks], ["a"], IMAGES, 0.5))
    assert objects["outline"].to_list() == [[[2.0, 2.0, 12.0, 2.0, 12.0, 12.0, 2.0, 12.0]]] * 2
    assert "keypoints" not in objects.columns
    assert "M2 2l10 0 0 10-10 0z" in draw_objects(objects)["shape"][0]
    by_points = apf.evaluate(truth, [detection | {"keypoints": points}], similarity=apf.similarity.OKS(sigmas=(0.1, 0.1)))
    objects = objects_of([by_points], ["a"], IMAGES, 0.5)
    assert objects["skeleton"].to_list() == [[[1, 2]]] * 2
    assert "M1 1L5 5" in draw_objects(objects)["shape"][1]


def test_intervals_have_their_times_in_words() -> None:
    video = {"image_id": 1, "category_id": 1}
    truth = {
        "images": [{"id": 1}],
        "categories": TRUTH["categories"],
        "annotations": [video | {"id": 1, "start_time": 2.0, "end_time": 6.0}],
    }
    ev = apf.evaluate(truth, [video | {"score": 0.5, "start_time": 2.0, "end_time": 5.04}], protocol="activitynet")
    objects = objects_of([ev], ["a"], pl.Series([1]), 0.5)
    assert objects["label"].to_list() == ["cat 0.50, 2.0 to 6.0 s", "cat 0.50, 2.0 to 5.0 s"]
    assert 'd="M333.3 50H1000V66H333.3z"' in draw_objects(objects)["shape"][0]


@pytest.mark.slow
def test_stored_runs_and_parts_have_the_same(tmp_path: Path) -> None:
    ev = apf.evaluate(TRUTH, FOUND_A)
    ev.write_parquet(tmp_path / "run")
    whole = objects_of([ev], ["a"], IMAGES, 0.5)
    assert objects_of([apf.read_evaluation(tmp_path / "run")], ["a"], IMAGES, 0.5).equals(whole)
    assert objects_of([ev.where([1, 3])], ["a"], IMAGES, 0.5).equals(whole)


def test_unknown_thresholds_are_errors() -> None:
    with pytest.raises(ParameterError, match="was not evaluated"):
        objects_of([apf.evaluate(TRUTH, FOUND_A)], ["a"], IMAGES, 0.33)
