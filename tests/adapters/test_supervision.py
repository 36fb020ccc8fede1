"""supervision's Detections, those of the library itself where it is there."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import apframe as apf
from apframe.adapters.supervision import from_supervision
from apframe.exceptions import ParameterError, RowError
from apframe.tables.schemas import TABLES


def detections(**fields: Any) -> SimpleNamespace:
    """What the adapter looks at."""
    usual: dict[str, Any] = {
        "xyxy": np.array([[10.0, 10, 30, 20]]), "confidence": np.array([0.75]), "class_id": np.array([3]), "mask": None,
        "tracker_id": None, "data": {},
    }  # fmt: skip
    return SimpleNamespace(**usual | fields)


NOTHING = detections(xyxy=np.zeros((0, 4)), confidence=None, class_id=None)


def test_detections_are_rows_in_the_order_of_the_images() -> None:
    two = detections(xyxy=np.array([[0.0, 0, 1, 2], [1, 1, 2, 2]]), confidence=np.array([0.5, 0.25]), class_id=np.array([1, 2]))
    frame = from_supervision([two, NOTHING, detections()], ["a", "b", "c"])
    assert frame.select(TABLES["detections"][k].name for k in range(1, 9)).rows() == [
        ("a", 1, 0.5, 0.0, 0.0, 1.0, 2.0, 2.0),
        ("a", 2, 0.25, 1.0, 1.0, 1.0, 1.0, 1.0),
        ("c", 3, 0.75, 10.0, 10.0, 20.0, 10.0, 200.0),
    ]
    assert "name" not in frame.columns


def test_names_and_tracks_that_are_not_given_are_null() -> None:
    named = detections(data={"class_name": np.array(["cat"])}, tracker_id=np.array([9]))
    frame = from_supervision([named, NOTHING, detections()], [1, 2, 3])
    assert frame.select("image_id", "name", "tracker_id").rows() == [(1, "cat", 9), (3, None, None)]


def test_masks_are_run_lengths_and_an_iou_type_takes_them_alone() -> None:
    pixels = np.zeros((1, 3, 4), dtype=bool)
    pixels[0, 2, 2] = True
    both = from_supervision([detections(mask=pixels), NOTHING], [1, 2])
    assert both.select("area", "mask").rows() == [(200.0, {"size": [3, 4], "counts": "813"})]
    assert from_supervision([detections(mask=pixels)], [1], iou_type="segm").select("x", "area").rows() == [(None, None)]
    assert "mask" not in from_supervision([detections(mask=pixels)], [1], iou_type="bbox").columns


def test_one_image_needs_no_list() -> None:
    assert from_supervision(detections(), [7])["image_id"].to_list() == [7]  # type: ignore[arg-type]


def test_images_may_be_given_with_their_ids() -> None:
    expected = from_supervision([detections(), NOTHING, detections()], [7, 8, 9])
    assert from_supervision({7: detections(), 8: NOTHING, 9: detections()}).equals(expected)
    with pytest.raises(ParameterError, match="image_ids were given, but the detections are a mapping with its own"):
        from_supervision({7: detections()}, [7])


CORNERS = np.array([[[2.0, 0], [4, 2], [2, 4], [0, 2]]])


def test_rotated_boxes_are_corners() -> None:
    rotated = detections(xyxy=np.array([[0.0, 0, 4, 4]]), data={"xyxyxyxy": CORNERS, "class_name": np.array(["ship"])})
    frame = from_supervision({"a": rotated, "b": NOTHING})
    assert frame.select("image_id", "corners", "x", "name").rows() == [("a", [2.0, 0, 4, 2, 2, 4, 0, 2], None, "ship")]
    assert from_supervision({"a": rotated}, iou_type="rotated").equals(frame)
    assert from_supervision({"a": rotated}, iou_type="bbox").select("x", "width", "area").rows() == [(0.0, 4.0, 16.0)]
    pytest.importorskip("shapely")
    truth = apf.Dataset({"image_id": ["a", "b"]}, {"category_id": [3]}, frame.drop("score"))
    assert apf.evaluate(truth, frame, "dota").summary["value"][0] == pytest.approx(1)


@pytest.mark.parametrize("corners", [CORNERS[:0], CORNERS[:, :3]])
def test_other_corners_than_four_of_each_box_are_errors(corners: np.ndarray) -> None:
    message = r"detections: corners (and xyxy differ in length|is not an array .* n × 4 × 2) for index 1"
    with pytest.raises(RowError, match=message):
        from_supervision([NOTHING, detections(data={"xyxyxyxy": corners})], [1, 2])


@pytest.mark.slow
@pytest.mark.parametrize("compact", [False, True])
def test_detections_of_the_library_are_taken(compact: bool) -> None:
    supervision = pytest.importorskip("supervision")
    pixels = np.zeros((2, 30, 40), dtype=bool)
    pixels[0, 10:20, 10:30] = pixels[1, 1, 1] = True
    boxes = np.array([[10, 10, 30, 20], [1, 1, 2, 2]], dtype=np.float32)
    mask = pixels
    if compact:
        mask = pytest.importorskip("supervision.detection.compact_mask").CompactMask.from_dense(pixels, boxes, (30, 40))
    one = supervision.Detections(
        xyxy=boxes, mask=mask, confidence=np.array([0.5, 0.75], dtype=np.float32), class_id=np.array([3, 1]),
        data={"class_name": np.array(["cat", "dog"])},
    )  # fmt: skip
    frame = from_supervision([supervision.Detections.empty(), one], [1, 2], iou_type="segm")
    truth = apf.Dataset({"image_id": [1, 2]}, {"category_id": [1, 3]}, frame.drop("score"))
    evaluation = apf.evaluate(truth, frame, iou_type="segm")
    assert evaluation.detections.select("name", "x", "y", "width", "height", "area").rows() == [
        ("cat", 10.0, 10.0, 20.0, 10.0, 200.0),
        ("dog", 1.0, 1.0, 1.0, 1.0, 1.0),
    ]
    assert evaluation.summary["value"][0] == pytest.approx(1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"confidence": None}, "detections: confidence is missing for index 1; give confidence for each image"),
        ({"class_id": None}, "detections: class_id is missing for index 1; give class_id for each image"),
        ({"class_id": [1, 2]}, "detections: class_id and xyxy differ in length for index 1; give one row per"),
        ({"data": {"class_name": []}}, "detections: name and xyxy differ in length for index 1; give one row per"),
    ],
)  # fmt: skip
def test_bad_detections_are_one_error_that_names_their_place(change: dict[str, Any], message: str) -> None:
    with pytest.raises(RowError, match=f"^{re.escape(message)}"):
        from_supervision([detections(), detections(**change)], [1, 2])


def test_other_objects_and_too_few_ids_are_errors() -> None:
    with pytest.raises(RowError, match=r"detections: not a supervision\.Detections for index 1; give one for each image"):
        from_supervision([detections(), {}], [1, 2])
    with pytest.raises(ParameterError, match="detections: 1 item, but 0 image ids; give one for each"):
        from_supervision([detections()], [])
    with pytest.raises(ParameterError, match="no image_ids; give one per image, or a mapping from image ids to detections"):
        from_supervision([detections()])
