"""Detections that match nothing at all: the warning says what is probably wrong; a model that is merely bad causes none."""

from __future__ import annotations

import re
import warnings
from typing import Any

import polars as pl
import pytest

import apframe as apf
from apframe.exceptions import NothingMatchesWarning, UnknownCategoryWarning, UnknownImageWarning

N = 12
TRUTH = apf.Dataset(
    {"image_id": [1, 2, 3]},
    {"category_id": [4, 5]},
    {"annotation_id": range(1, N + 1), "image_id": [1, 2] * 6, "category_id": [4] * N, "x": [20 * k for k in range(N)],
     "y": [0] * N, "width": [10] * N, "height": [10] * N},
)  # fmt: skip


def found(n: int = N, **changes: Any) -> pl.DataFrame:
    """The annotations as detections, some columns of them changed."""
    boxes = TRUTH.core("annotations").head(n).select("image_id", "category_id", "x", "y", "width", "height")
    return boxes.with_columns(score=pl.int_range(n) / n).with_columns(**changes)


def warnings_of(detections: pl.DataFrame, **options: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        evaluation = apf.evaluate(TRUTH, detections, **options)
        _ = evaluation.summary, evaluation.metrics, evaluation.stats, str(evaluation)
    assert {warning.filename for warning in caught} <= {__file__}
    return [str(warning.message) for warning in caught]


CHECK = "; run `apframe check` on both to find out why"
CASES = {
    "boxes elsewhere": (
        found(x=pl.col("x") + 1000),
        "none of the 12 detections on images with annotations overlaps one by IoU 0.1 or more; on image 1, for example, "
        "detection 1 is at [1000, 0, 10, 10], annotation 1 at [0, 0, 10, 10] (x, y, width, height)",
    ),
    "boxes in other units": (
        found(x=pl.col("x") / 1000 + 20, y=20.0, width=0.01, height=0.01),
        "none of the 12 detections on images with annotations overlaps one by IoU 0.1 or more; on image 1, for example, "
        "detection 1 is at [20, 20, 0.01, 0.01], annotation 1 at [0, 0, 10, 10] (x, y, width, height)",
    ),
    "images without annotations": (
        found(image_id=3),
        "none of the 12 detections is on an image with annotations; for example, there are detections on image 3, annotations "
        "on image 1",
    ),
    "other categories": (
        found(category_id=5),
        "12 of 12 detections overlap an annotation, but never one of their own category; on image 1, for example, a detection "
        "has category_id 5, the annotation that it overlaps has 4; category_id of the detections looks 1 too large: by that "
        "numbering 100% of the annotations have a detection that fits, with the ids as they are 0%; use the ids of the "
        'categories of the ground truth, or give names as a JSON file with the name of each of these numbers, {"1": ...}',
    ),
}  # fmt: skip


@pytest.mark.slow(every=True)
@pytest.mark.parametrize(("detections", "message"), CASES.values(), ids=CASES)
def test_nothing_matches(detections: pl.DataFrame, message: str) -> None:
    assert warnings_of(detections) == [message + CHECK]


ELSEWHERE: dict[str, tuple[dict[str, float], dict[str, float], str]] = {
    "activitynet": (
        {"start_time": 500.0, "end_time": 510.0}, {"start_time": 0.0, "end_time": 10.0},
        "overlaps one by tIoU 0.1 or more; on image 1, for example, detection 1 is at [500, 510], annotation 1 at [0, 10] "
        "(start_time, end_time)",
    ),
    "luna16": (
        {"sphere_x": 500.0, "sphere_y": 0.0, "sphere_z": 1.0},
        {"sphere_x": 0.0, "sphere_y": 2.0, "sphere_z": 3.0, "sphere_diameter": 9.0},
        "is near one; on image 1, for example, detection 1 is at [500, 0, 1], annotation 1 at [0, 2, 3] (sphere_x, sphere_y, "
        "sphere_z)",
    ),
}  # fmt: skip


@pytest.mark.parametrize("protocol", ELSEWHERE)
def test_intervals_and_spheres_have_their_own_words(protocol: str) -> None:
    detection, annotation, message = ELSEWHERE[protocol]
    cell = {"image_id": 1, "category_id": "nodule"}
    truth = apf.Dataset({"image_id": [1]}, {"category_id": ["nodule"]}, pl.DataFrame([cell | annotation]))
    detections = pl.DataFrame([cell | detection | {"score": 0.5}] * 12)
    with pytest.warns(NothingMatchesWarning, match=re.escape(message)):
        _ = apf.evaluate(truth, detections, protocol).summary


SILENT: dict[str, tuple[pl.DataFrame, dict[str, Any]]] = {
    "all is well": (found(), {}),
    "a few detections": (found(9, x=pl.col("x") + 1000), {}),
    "half of the boxes": (found(x=pl.when(pl.col("x") > 100).then(pl.col("x") + 1000).otherwise("x")), {}),
    "pooled categories": (found(category_id=5), {"agnostic": True}),
    "one category alone": (found(category_id=5), {"categories": [5]}),
    "a comparison of one's own": (
        found(x=pl.col("x") + 1000), {"similarity": lambda pairs: pairs["x"] * 0.0, "iou_thresholds": [0.5]},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("detections", "options"), SILENT.values(), ids=SILENT)
def test_a_model_that_is_merely_bad_causes_no_warning(detections: pl.DataFrame, options: dict[str, Any]) -> None:
    assert [each for each in warnings_of(detections, **options) if "no annotations to" not in each] == []


def test_few_detections_on_annotated_images_cause_no_warning() -> None:
    elsewhere = found(x=pl.col("x") + 1000, image_id=pl.when(pl.int_range(pl.len()) < 9).then("image_id").otherwise(3))
    assert [each for each in warnings_of(elsewhere) if "overlap" in each or "is on an image" in each] == []


def test_a_subset_without_matches_causes_no_warning() -> None:
    shifted = found(x=pl.when(pl.col("image_id") == 1).then(pl.col("x") + 1000).otherwise("x"))
    evaluation = apf.evaluate(TRUTH, pl.concat([shifted, shifted]))
    assert evaluation.where(pl.col("image_id") == 1).summary["value"][0] == 0


@pytest.mark.slow
def test_an_evaluator_warns_too() -> None:
    evaluator = apf.Evaluator(TRUTH)
    evaluator.update(found(x=pl.col("x") + 1000))
    with pytest.warns(NothingMatchesWarning, match="none of the 12 detections"):
        assert evaluator.compute().summary["value"][0] == 0


def test_unknown_ids_are_told_with_their_share() -> None:
    some = found(category_id=pl.when(pl.col("x") > 200).then(90).otherwise("category_id"))
    with pytest.warns(UnknownCategoryWarning) as caught:
        apf.evaluate(TRUTH, some)
    assert str(caught[0].message) == (
        "1 of 12 detections has an unknown category_id and was dropped: 90; the ground truth has 4, 5"
    )
    with pytest.warns(UnknownCategoryWarning) as caught:
        assert apf.evaluate(TRUTH, found(category_id=90)).summary["value"][0] == 0
    assert str(caught[0].message) == (
        "12 of 12 detections have an unknown category_id and were dropped: 90; the ground truth has 4, 5; "
        "run `apframe check` on both to find out why"
    )
    with pytest.warns(UnknownImageWarning) as caught:
        apf.evaluate(TRUTH, found(image_id=90), unknown_images="drop")
    assert str(caught[0].message) == (
        "12 of 12 detections have an unknown image_id and were dropped: 90; the ground truth has 1, 2, 3; "
        "run `apframe check` on both to find out why"
    )
    assert {warning.filename for warning in caught} == {__file__}
