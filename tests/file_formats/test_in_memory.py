"""Detections and ground truth in memory: rows, arrays, outputs of detectors and results of other libraries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from pycocotools import mask

import apframe as apf
from apframe.exceptions import RowError
from tests.adapters.tensors import Tensor

Row = dict[str, Any]
PIXELS = np.zeros((100, 100), dtype=np.uint8, order="F")
PIXELS[10:20, 10:30] = 1
CORNERS = [10.0, 10.0, 30.0, 10.0, 30.0, 20.0, 10.0, 20.0]
SCORE = float(np.float32(0.7))  # a score that 32 bits do not hold is kept as they hold it
TRUTH = {
    "images": [{"id": 22, "width": 100, "height": 100, "file_name": "street.jpg"}, {"id": 23, "file_name": "000023.png"}],
    "categories": [{"id": 1, "name": "person"}, {"id": 3, "name": "car"}],
    "annotations": [
        {
            "id": 1,
            "image_id": 22,
            "category_id": 3,
            "bbox": [10.0, 10, 20, 10],
            "area": 200.0,
            "iscrowd": 0,
            "corners": CORNERS,
        },
        {
            "id": 2,
            "image_id": 23,
            "category_id": 1,
            "bbox": [10.0, 10, 20, 10],
            "area": 200.0,
            "iscrowd": 0,
            "corners": CORNERS,
        },
    ],
}
FOUND: Row = {"image_id": 22, "category_id": 3, "score": SCORE, "bbox": [10.0, 10, 20, 10]}


def with_numpy(value: Any, dtype: type = np.float32) -> Any:
    """The same value with numbers of NumPy, and arrays where there were lists of numbers."""
    if isinstance(value, dict):
        return {name: with_numpy(each, dtype) for name, each in value.items()}
    if isinstance(value, list):
        kinds = set(map(type, value))
        return np.array(value, dtype if float in kinds else None) if kinds <= {int, float} else [with_numpy(v) for v in value]
    types: dict[type, Callable[[Any], Any]] = {bool: np.bool_, int: np.int64, float: dtype, str: np.str_}
    return types.get(type(value), lambda each: each)(value)


SHAPES: dict[str, Row] = {
    "a box": {"bbox": [10.0, 10, 20, 10]},
    "columns of a box": {"x": 10.0, "y": 10.0, "width": 20.0, "height": 10.0},
    "corners": {"corners": CORNERS},
    "keypoints": {"bbox": [10.0, 10, 20, 10], "keypoints": [12.0, 12, 2] * 17},
    "outlines": {"segmentation": [CORNERS]},
    "counts": {"segmentation": {"size": [100, 100], "counts": [1010, 10, 90, 10, 8880]}},
    "bytes": {"segmentation": mask.encode(PIXELS)},
    "times": {"start_time": 1.0, "end_time": 2.5},
    "attributes": {"bbox": [1.0, 2, 3, 4], "is_day": True, "speed": 2.0, "lane": 3, "weather": "rain", "tags": ["a", "b"]},
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_rows_of_numpy_are_read_as_those_of_python(shape: Row, dtype: type) -> None:
    rows = [{name: value for name, value in FOUND.items() if name != "bbox"} | shape]
    twice = [*rows, rows[0] | {"image_id": 23, "score": 0.25}]
    expected = apf.read_results(twice)
    assert apf.read_results(with_numpy(twice, dtype)).equals(expected, null_equal=True)
    assert apf.read_results([twice[0], with_numpy(twice[1], dtype)]).equals(expected, null_equal=True)
    assert expected["score"].to_list() == [SCORE, 0.25]


def test_numbers_of_numpy_in_a_list_are_numbers() -> None:
    rows = [
        FOUND | {"bbox": list(np.array([10.5, 10, 20, 10], np.float32))},
        FOUND | {"bbox": (np.int64(1), 2, np.float16(3), 4)},
    ]
    assert apf.read_results(rows).select("x", "y", "width", "height").rows() == [(10.5, 10, 20, 10), (1, 2, 3, 4)]


def test_ground_truth_may_have_numbers_of_numpy() -> None:
    dataset = apf.read_dataset(with_numpy(TRUTH))
    assert dataset.annotations.equals(apf.read_dataset(TRUTH).annotations)
    assert dataset.images.equals(apf.read_dataset(TRUTH).images)
    assert apf.evaluate(with_numpy(TRUTH), with_numpy([FOUND])).summary["value"][1] == pytest.approx(0.5)


BAD_ROWS: dict[str, tuple[Any, str]] = {
    "half an id": (FOUND | {"image_id": np.float32(22.5)}, "image_id is not a whole number where row is 2"),
    "a large id": (FOUND | {"image_id": np.uint64(2**63)}, "image_id is too large where row is 2"),
    "no number": (FOUND | {"score": np.float32("nan")}, "score is not a finite number where detection_id is 2"),
    "a list": (FOUND | {"score": np.array([0.5, 0.5])}, "score is not a number where row is 2"),
    "a table": (FOUND | {"bbox": np.ones((2, 2))}, "bbox is not a list of numbers where row is 2"),
    "three numbers": (FOUND | {"bbox": np.ones(3)}, "bbox is missing or not four numbers where row is 2"),
    "a text": (FOUND | {"bbox": np.array(["1", "2", "3", "4"])}, "bbox is not a list of numbers where row is 2"),
    "no dict": (Tensor([1.0]), "a Tensor is no dict; see apf.from_torchvision, apf.from_ultralytics and apf.from_superv"),
}  # fmt: skip


@pytest.mark.parametrize(("row", "message"), BAD_ROWS.values(), ids=BAD_ROWS)
def test_bad_values_of_numpy_are_errors_that_name_their_row(row: Any, message: str) -> None:
    with pytest.raises(RowError, match=message):
        apf.read_results([FOUND, row])
