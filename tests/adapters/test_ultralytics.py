"""ultralytics' Results: boxes, outlines, keypoints, rotated boxes, names and files."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
from pycocotools import mask as reference

import apframe as apf
from apframe.adapters.ultralytics import from_ultralytics
from apframe.exceptions import ParameterError, RowError
from tests.adapters.tensors import Tensor

NAMES = {0: "person", 3: "cat"}


def boxes(n: int = 1) -> SimpleNamespace:
    corners = np.array([[10.0, 10, 30, 20]] * n, dtype=np.float32).reshape(-1, 4)
    return SimpleNamespace(xyxy=Tensor(corners), conf=Tensor(np.full(n, 0.75)), cls=Tensor(np.full(n, 3.0)))


def result(path: str = "images/0042.jpg", **fields: Any) -> SimpleNamespace:
    """What the adapter looks at."""
    usual = {"boxes": boxes(), "masks": None, "keypoints": None, "obb": None, "names": NAMES, "orig_shape": (30, 40)}
    return SimpleNamespace(path=path, **usual | fields)


def test_boxes_are_rows_with_the_names_of_classes_and_files() -> None:
    detections = from_ultralytics([result(), result("b/empty.png", boxes=boxes(0)), result("0043.jpg", boxes=boxes(2))])
    columns = ("image_id", "category_id", "score", "x", "y", "width", "height", "name", "file_name")
    row = (3, 0.75, 10.0, 10.0, 20.0, 10.0, "cat")
    assert detections.select(columns).rows() == [
        ("0042", *row, "0042.jpg"),
        ("0043", *row, "0043.jpg"),
        ("0043", *row, "0043.jpg"),
    ]


def test_results_join_ids_of_the_truth_by_file_and_class() -> None:
    truth = apf.Dataset(
        {"image_id": [77], "file_name": ["0042.jpg"]}, {"category_id": [18], "name": ["cat"]},
        {"image_id": [77], "category_id": [18], "x": [10], "y": [10], "width": [20], "height": [10]},
    )  # fmt: skip
    detections = from_ultralytics([result()]).drop("image_id", "category_id")
    detections = detections.join(truth.images.select("image_id", "file_name"), on="file_name")
    detections = detections.join(truth.categories.select("category_id", "name"), on="name")
    assert apf.evaluate(truth, detections).summary["value"][0] == pytest.approx(1)


def test_own_ids_may_be_given() -> None:
    assert from_ultralytics([result(path="")], [7]).select("image_id", "file_name").rows() == [(7, None)]


def test_results_may_be_given_by_image_id_or_alone() -> None:
    expected = from_ultralytics([result(), result("0043.jpg", boxes=boxes(2))], [42, 43])
    assert from_ultralytics({42: result(), 43: result("0043.jpg", boxes=boxes(2))}).equals(expected)
    assert from_ultralytics(each for each in [result(), result("0043.jpg", boxes=boxes(2))]).height == 3  # type: ignore[arg-type]
    assert from_ultralytics(result(), [42])["image_id"].to_list() == [42]  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="image_ids were given, but the results are a mapping with its own"):
        from_ultralytics({42: result()}, [42])


def test_outlines_are_drawn_as_the_reference_draws_them() -> None:
    outlines = [np.array([[1, 1], [20.5, 3], [9, 25]], dtype=np.float32), np.zeros((0, 2), dtype=np.float32)]
    masks = SimpleNamespace(xy=outlines)
    detections = from_ultralytics([result(boxes=boxes(2), masks=masks), result("b.jpg", boxes=boxes(0))])
    expected = reference.frPyObjects([outlines[0].ravel().tolist()], 30, 40)[0]["counts"].decode()
    nothing = reference.encode(np.zeros((30, 40), dtype=np.uint8, order="F"))["counts"].decode()
    assert detections["mask"].to_list() == [{"size": [30, 40], "counts": text} for text in (expected, nothing)]
    assert detections["area"].to_list() == [200.0, 200.0]


@pytest.mark.parametrize(("iou_type", "kept"), [("bbox", ["x"]), ("segm", ["mask"]), ("keypoints", ["keypoints"]),
                                                (None, ["x", "mask", "keypoints"])])  # fmt: skip
def test_an_iou_type_takes_its_shape_alone(iou_type: str | None, kept: list[str]) -> None:
    masks = SimpleNamespace(xy=[np.array([[1, 1], [20.5, 3], [9, 25]])])
    detections = from_ultralytics([result(masks=masks, keypoints=SimpleNamespace(data=np.ones((1, 17, 3))))], iou_type=iou_type)
    names = [name for name in ("x", "mask", "keypoints") if name in detections.columns]
    assert [name for name in names if detections[name].null_count() == 0] == kept


def test_keypoints_without_confidence_have_1() -> None:
    points = SimpleNamespace(data=Tensor(np.array([[[4.0, 5], [6, 7]]])))
    assert from_ultralytics([result(keypoints=points)])["keypoints"].to_list() == [[4.0, 5, 1, 6, 7, 1]]


def test_rotated_boxes_are_corners() -> None:
    corners = np.array([[[2.0, 0], [4, 2], [2, 4], [0, 2]]])
    obb = SimpleNamespace(xyxyxyxy=corners, conf=np.array([0.5]), cls=np.array([0.0]))
    detections = from_ultralytics([result(boxes=None, obb=obb)])
    assert detections["corners"].to_list() == [[2.0, 0, 4, 2, 2, 4, 0, 2]]
    truth = apf.Dataset({"image_id": ["0042"]}, {"category_id": [0]}, detections.drop("score"))
    pytest.importorskip("shapely")
    assert apf.evaluate(truth, detections, "dota").summary["value"][0] == pytest.approx(1)


def test_no_results_are_no_rows() -> None:
    detections = from_ultralytics([])
    assert detections.is_empty()
    assert detections.schema["file_name"] == detections.schema["name"] == pl.String


def test_results_of_the_library_are_taken() -> None:
    engine = pytest.importorskip("ultralytics.engine.results")
    torch = pytest.importorskip("torch")
    image = np.zeros((30, 40, 3), dtype=np.uint8)
    one = engine.Results(image, path="a/0042.jpg", names=NAMES, boxes=torch.tensor([[10.0, 10, 30, 20, 0.75, 3]]))
    assert from_ultralytics([one]).select("image_id", "name", "score", "area").rows() == [("0042", "cat", 0.75, 200.0)]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"boxes": None}, "results: neither boxes nor obb for index 1; give the results of a detector"),
        ({"path": None}, "results: path is missing for index 1; give image_ids"),
        ({"names": {3: "dog"}}, "results: names differ from those of the first for index 1; give the results of"),
        ({"masks": SimpleNamespace(xy=[])}, "results: masks and boxes differ in length for index 0, 1; give a"),
    ],
)  # fmt: skip
def test_bad_results_are_one_error_that_names_their_place(change: dict[str, Any], message: str) -> None:
    with pytest.raises(RowError, match=f"^{re.escape(message)}"):
        from_ultralytics([result(), result(**{"path": "b.jpg"} | change)])


def test_files_of_one_name_need_ids() -> None:
    with pytest.raises(ParameterError, match="results: image ids '0042' are given more than once, at 0, 1"):
        from_ultralytics([result(), result("other/0042.png")])
