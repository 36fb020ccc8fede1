"""Boxes and areas that are made of masks, keypoints, corners and intervals, and sizes of images beside rows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from pycocotools import mask as coco_mask

from apframe.exceptions import InputError, RowError
from apframe.similarity.extents import with_boxes, with_image_sizes
from apframe.tables.canonical import canonical
from apframe.tables.dataset import Dataset

BOX = ["x", "y", "width", "height", "area"]
SIZES = pl.DataFrame({"image_id": [1, 2], "image_width": [100, 50], "image_height": [80, 60]})


def table(name: str, **columns: list[Any]) -> pl.DataFrame:
    """A canonical table of shapes on image 1, annotations from 11."""
    number = len(next(iter(columns.values())))
    all_columns = {"image_id": [1] * number, "category_id": [1] * number} | columns
    if name == "annotations":
        return canonical(name, all_columns | {"annotation_id": list(range(11, 11 + number))})
    return canonical(name, {"score": [0.5] * number} | all_columns)


def lengths(image: np.ndarray) -> dict[str, Any]:
    packed = coco_mask.encode(np.asfortranarray(image.astype(np.uint8)))
    return {"size": [int(side) for side in packed["size"]], "counts": packed["counts"].decode()}


PICTURE = np.zeros((80, 100), dtype=bool)
PICTURE[10:15, 20:40] = True
PICTURE[12, 40:50] = True  # 110 pixels
NOTHING = np.zeros((80, 100), dtype=bool)

# shape -> its columns for two rows, and x, y, width, height, area of each
SHAPES: dict[str, tuple[dict[str, list[Any]], list[tuple[float, ...]]]] = {
    "run lengths": ({"mask": [lengths(PICTURE), lengths(NOTHING)]}, [(20, 10, 30, 5, 110), (0, 0, 0, 0, 0)]),
    "bitmaps": ({"mask": [PICTURE.astype(int).tolist(), PICTURE.astype(int).tolist()]}, [(20, 10, 30, 5, 110)] * 2),
    "polygons": (
        {"mask": [[[0.0, 0, 40, 0, 40, 25, 0, 25]], [[0.0, 0, 10, 0, 10, 10, 0, 10], [50.0, 50, 60, 50, 60, 60, 50, 60]]]},
        [(0, 0, 40, 25, 1000), (0, 0, 60, 60, 200)],
    ),
    "text": (
        {"mask": ["[[0, 0, 40, 0, 40, 25, 0, 25]]", '{"size": [80, 100], "counts": [80, 2, 7918]}']},
        [(0, 0, 40, 25, 1000), (1, 0, 1, 2, 2)],
    ),
    # the rectangle around all, labelled or not
    "keypoints": ({"keypoints": [[3.0, 1, 2, 1, 5, 0], [7.0, 7, 1, 7, 7, 2]]}, [(1, 1, 2, 4, 8), (7, 7, 0, 0, 0)]),
    "corners": (
        {"corners": [[20.0, 0, 40, 20, 20, 40, 0, 20], [0.0, 0, 0, 10, 20, 10, 20, 0]]},
        [(0, 0, 40, 40, 800), (0, 0, 20, 10, 200)],
    ),
    "cuboids": (
        {"cuboid_x": [3.0, 0.0], "cuboid_y": [1.0, 0.0], "cuboid_z": [0.0, 1.0], "cuboid_length": [4.0, 2.0],
         "cuboid_width": [2.0, 2.0], "cuboid_height": [1.5, 1.5], "cuboid_yaw": [0.0, 0.0]},
        [(1, 0, 4, 2, 8), (-1, -1, 2, 2, 4)],
    ),
    "intervals": ({"start_time": [2.0, 0.0], "end_time": [5.0, 0.0]}, [(2, 0, 3, 1, 3), (0, 0, 0, 1, 0)]),
}  # fmt: skip
each_shape = pytest.mark.parametrize(("columns", "boxes"), SHAPES.values(), ids=SHAPES)
each_columns = pytest.mark.parametrize("columns", [columns for columns, _ in SHAPES.values()], ids=SHAPES)
each_table = pytest.mark.parametrize("name", ["annotations", "detections"])


@each_table
@each_shape
def test_boxes_are_made(columns: dict[str, list[Any]], boxes: list[tuple[float, ...]], name: str) -> None:
    frame = table(name, **columns)
    assert frame["x"].to_list() == [None, None]
    frame_with_boxes = with_boxes(name, frame, SIZES)
    assert frame_with_boxes.select(BOX).rows() == boxes
    assert frame_with_boxes.schema == frame.schema  # float columns, in their places
    assert_frame_equal(frame_with_boxes.drop(BOX), frame.drop(BOX))


@each_table
@each_columns
def test_rows_of_tables_without_rows(columns: dict[str, list[Any]], name: str) -> None:
    frame = table(name, **columns).clear()
    assert_frame_equal(with_boxes(name, frame, SIZES), frame)


@each_shape
def test_areas_that_were_given_stay(columns: dict[str, list[Any]], boxes: list[tuple[float, ...]]) -> None:
    annotations = with_boxes("annotations", table("annotations", **columns, area=[7.0, None]), SIZES)
    assert annotations["area"].to_list() == [7.0, boxes[1][4]]
    assert annotations.select(BOX[:4]).rows() == [box[:4] for box in boxes]


@each_table
@each_columns
def test_boxes_that_were_given_stay(columns: dict[str, list[Any]], name: str) -> None:
    own = {"x": [1.0, 1.0], "y": [2.0, 2.0], "width": [3.0, 3.0], "height": [4.0, 4.0]}
    frame = table(name, **columns, **own)
    assert_frame_equal(with_boxes(name, frame, SIZES), frame)
    assert frame["area"].to_list() == [12.0, 12.0]


def test_a_mask_comes_before_other_shapes() -> None:
    frame = table("detections", mask=SHAPES["text"][0]["mask"], keypoints=SHAPES["keypoints"][0]["keypoints"])
    assert with_boxes("detections", frame, SIZES).select(BOX).rows() == SHAPES["text"][1]


def test_string_ids() -> None:
    frame = table("detections", **SHAPES["polygons"][0]).with_columns(image_id=pl.lit("a"))
    sizes = pl.DataFrame({"image_id": ["b", "a"], "image_width": [10, 100], "image_height": [10, 80]})
    assert with_boxes("detections", frame, sizes).select(BOX).rows() == SHAPES["polygons"][1]


def test_masks_are_cut_at_the_edge_of_their_image() -> None:
    frame = table("detections", mask=["[[0, 0, 900, 0, 900, 900, 0, 900]]"] * 2).with_columns(image_id=pl.Series([1, 2]))
    assert with_boxes("detections", frame, SIZES).select(BOX).rows() == [(0, 0, 100, 80, 8000), (0, 0, 50, 60, 3000)]


def test_masks_as_pycocotools() -> None:
    polygons = [[3.2, 4.7, 60.1, 9.9, 33.3, 71.0], [50.0, 2.0, 99.9, 2.0, 99.9, 79.9, 70.0, 40.5]]
    frame = table("detections", mask=[[polygons[0]], polygons])
    merged = [coco_mask.merge(coco_mask.frPyObjects(each, 80, 100)) for each in ([polygons[0]], polygons)]
    expected = [(*coco_mask.toBbox(each), float(coco_mask.area(each))) for each in merged]
    assert with_boxes("detections", frame, SIZES).select(BOX).rows() == expected


BAD: dict[str, tuple[dict[str, list[Any]], str]] = {
    "mask": ({"mask": ["[[0, 0, 1, 1, 2, 2]]", "[[0, 0, 1]]"]}, "a polygon has an odd number of coordinates"),
    "mask missing": ({"mask": ["[[0, 0, 1, 1, 2, 2]]", None]}, "mask is missing"),
    "keypoints": ({"keypoints": [[1.0, 1, 2], [1.0, 1]]}, "keypoints is not a list of three numbers"),
    "keypoints missing": ({"keypoints": [[1.0, 1, 2], None]}, "keypoints is missing"),
    "corners": ({"corners": [[0.0, 0, 1, 0, 1, 1, 0, 1], [0.0, 0, 1, 1, 1, 0, 0, 1]]}, "corners do not go around a"),
    "corners missing": ({"corners": [[0.0, 0, 1, 0, 1, 1, 0, 1], None]}, "corners is not a list of 8 numbers"),
    "interval": ({"start_time": [0.0, 2.0], "end_time": [1.0, 1.0]}, "end_time is before start_time"),
    "cuboid": (
        {"cuboid_x": [3.0, 0.0], "cuboid_y": [1.0, 0.0], "cuboid_z": [0.0, 1.0], "cuboid_length": [4.0, 2.0],
         "cuboid_width": [2.0, 0.0], "cuboid_height": [1.5, 1.5], "cuboid_yaw": [0.0, 0.0]},
        "cuboid_width is not positive",
    ),
    "no end": ({"start_time": [0.0, 2.0], "end_time": [1.0, None]}, "end_time is missing"),
}  # fmt: skip


@each_table
@pytest.mark.parametrize(("columns", "problem"), BAD.values(), ids=BAD)
def test_shapes_that_cannot_be_right(columns: dict[str, list[Any]], problem: str, name: str) -> None:
    row = "annotation_id 12" if name == "annotations" else "detection_id 2"
    with pytest.raises(RowError, match=f"^{name}: {problem}.* for {row}; "):
        with_boxes(name, table(name, **columns), SIZES)


def test_starts_without_a_column_of_ends() -> None:
    with pytest.raises(InputError, match="end_time"):
        with_boxes("detections", table("detections", start_time=[0.0]), SIZES)


def test_polygons_without_sizes() -> None:
    frame = table("detections", **SHAPES["polygons"][0])
    unknown = Dataset({"image_id": [1]}, {"category_id": [1]}, {}).images
    with pytest.raises(RowError, match=r"^detections: polygons need the size of the image for detection_id 1, 2; "):
        with_boxes("detections", frame, unknown)
    encoded = table("detections", mask=[lengths(PICTURE)])
    assert with_boxes("detections", encoded, unknown).select(BOX).rows() == [(20, 10, 30, 5, 110)]


def test_sizes_of_images() -> None:
    frame = pl.DataFrame({"image_id": [2, 1, 2, 9], "score": [0.1, 0.2, 0.3, 0.4]})
    sized = with_image_sizes(frame, SIZES)
    assert sized.rows() == [(2, 0.1, 50, 60), (1, 0.2, 100, 80), (2, 0.3, 50, 60), (9, 0.4, None, None)]
    assert with_image_sizes(frame.clear(), SIZES).height == 0
    assert with_image_sizes(frame, SIZES.clear())["image_width"].null_count() == 4


def test_far_corners_lose_no_digits() -> None:
    side = 0.5
    at = 1e6
    square = [at, at, at + side, at, at + side, at + side, at, at + side]
    detections = with_boxes("detections", table("detections", corners=[square]), SIZES)
    assert detections.select(BOX).row(0) == (at, at, side, side, side**2)
    assert math.isfinite(detections["area"][0])
