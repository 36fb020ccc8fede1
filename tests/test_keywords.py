"""Unknown keywords are errors that name the one that is meant."""

from __future__ import annotations

from typing import Any

import pytest

import apframe as apf
from apframe.exceptions import ParameterError

TRUTH = apf.Dataset({"image_id": [1]}, {"category_id": [1]}, {"image_id": [1], "category_id": [1], "x": [0], "y": [0],
                    "width": [9], "height": [9]})  # fmt: skip
MEANT = {
    "maxDets": "did you mean max_detections", "iouThrs": "did you mean iou_thresholds", "recThrs": "did you mean recall_levels",
    "areaRng": "did you mean area_ranges", "catIds": "did you mean categories", "iouType": "did you mean iou_type",
    "useCats": "did you mean agnostic", "imgIds": "did you mean images", "max_dets": "did you mean max_detections",
    "iou_threshold": "did you mean iou_thresholds", "maxdetections": "did you mean max_detections", "colour": "there are truth",
}  # fmt: skip


@pytest.mark.parametrize(("name", "remedy"), MEANT.items(), ids=MEANT)
def test_keywords_of_others_are_known_to_evaluate(name: str, remedy: str) -> None:
    options: dict[str, Any] = {name: None}
    with pytest.raises(ParameterError, match=f"^no option '{name}'; {remedy}"):
        apf.evaluate(TRUTH, {}, **options)


@pytest.mark.parametrize("name", ["maxDets", "max_detection"])
def test_keywords_of_others_are_known_beside_those_of_evaluate(name: str) -> None:
    options: dict[str, Any] = {name: [1]}
    for step in (lambda: apf.Evaluator(TRUTH, **options), lambda: apf.COCO.with_options(**options)):
        with pytest.raises(ParameterError, match=f"^no option '{name}'; did you mean max_detections"):
            step()


def test_keywords_of_others_are_known_to_evaluate_run() -> None:
    options: dict[str, Any] = {"metrics": "AP"}
    with pytest.raises(ParameterError, match=r"^no option 'metrics'; did you mean measures"):
        apf.evaluate_run({"q": {"d": 1}}, {"q": {"d": 1.0}}, **options)


def test_known_keywords_are_passed_on() -> None:
    assert apf.COCO.with_options(max_detections=[7]).max_detections == (7,)
    with pytest.raises(TypeError, match="missing"):
        apf.evaluate(TRUTH)  # type: ignore[call-arg]
