"""The list of shapes, and that what is derived from it has all of them."""

from __future__ import annotations

import inspect
import subprocess
import sys
from typing import Any

import polars as pl
import pytest

from apframe.formats.coco.json_rows import FIELDS
from apframe.registry import imported
from apframe.tables.schemas import TABLES
from apframe.tables.shapes.declarations import OTHERS, SHAPES, shape_of
from apframe.tables.shapes.shape import Shape

FUNCTIONS = ("check", "extents", "decode", "accept")
ROWS: dict[str, tuple[dict[str, list[Any]], tuple[float, ...]]] = {  # an object of each shape, its box and its area
    "bbox": ({"x": [1.0], "y": [2.0], "width": [2.0], "height": [4.0]}, (1.0, 2.0, 2.0, 4.0, 8.0)),
    "segm": ({"detection_id": [1], "mask": ['{"size": [4, 4], "counts": [4, 3, 9]}']}, (1.0, 0.0, 1.0, 3.0, 3.0)),
    "keypoints": ({"keypoints": [[1.0, 2.0, 2.0, 3.0, 6.0, 0.0]]}, (1.0, 2.0, 2.0, 4.0, 8.0)),
    "rotated": ({"corners": [[1.0, 0.0, 2.0, 1.0, 1.0, 2.0, 0.0, 1.0]]}, (0.0, 0.0, 2.0, 2.0, 2.0)),
    "3d": (
        {
            "cuboid_x": [3.0],
            "cuboid_y": [1.0],
            "cuboid_z": [0.0],
            "cuboid_length": [4.0],
            "cuboid_width": [2.0],
            "cuboid_height": [1.5],
            "cuboid_yaw": [0.0],
        },
        (1.0, 0.0, 4.0, 2.0, 8.0),
    ),
    "panoptic": ({"segment_id": [7], "area": [9.0]}, (None, None, None, None, 9.0)),
    "sphere": (
        {"sphere_x": [3.0], "sphere_y": [1.0], "sphere_z": [0.0], "sphere_diameter": [4.0]},
        (1.0, -1.0, 4.0, 4.0, 16.0),
    ),
    "relation": (
        {
            "subject_x": [0.0],
            "subject_y": [0.0],
            "subject_width": [2.0],
            "subject_height": [2.0],
            "subject_name": ["man"],
            "object_x": [1.0],
            "object_y": [1.0],
            "object_width": [3.0],
            "object_height": [1.0],
            "object_name": ["horse"],
        },
        (0.0, 0.0, 4.0, 2.0, 8.0),
    ),
    "interval": ({"start_time": [2.0], "end_time": [6.0]}, (2.0, 0.0, 4.0, 1.0, 4.0)),
}


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.iou_type)
def test_extents(shape: Shape) -> None:
    columns, expected = ROWS[shape.iou_type]
    frame = pl.DataFrame(columns)
    extents = shape.extents("detections", shape.decode("detections", frame))
    assert extents.columns == ["x", "y", "width", "height", "area"]
    assert extents.row(0) == expected


@pytest.mark.parametrize("table", ["annotations", "detections"])
def test_tables_and_json_have_every_shape(table: str) -> None:
    names = {column.name for column in TABLES[table]}
    assert all({*shape.needs, *(column.name for column in shape.columns)} <= names for shape in SHAPES)
    assert all(shape.json_field in FIELDS[table] for shape in SHAPES)


def test_the_first_shape_counts() -> None:
    frame = pl.DataFrame({column: [None] for column in ("x", *(shape.column for shape in reversed(OTHERS)))})
    assert shape_of(frame) is OTHERS[0]
    assert shape_of(frame.select("x")) is None


NEW_SHAPE = """
import subprocess
import sys

import polars as pl
from apframe.columns import Column
from apframe.tables.shapes import declarations
from apframe.tables.shapes.shape import Shape

declarations.OTHERS += (Shape(
    iou_type="point",
    words="column, row (pixels)",
    columns=(Column("column", pl.Float64, "of a point", standard=False), Column("row", pl.Float64, "of it", standard=False)),
    needs=("column", "row"),
    json_field="column",
    extents=lambda _, frame: frame.select(x="column", y="row", width=pl.lit(0.0), height=pl.lit(0.0), area=pl.lit(0.0)),
),)
declarations.SHAPES = (declarations.BOXES, *declarations.OTHERS)

import apframe as apf

truth = {
    "images": [{"id": 1}], "categories": [{"id": 1}],
    "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "column": 3, "row": 4}],
}
detections = [{"image_id": 1, "category_id": 1, "score": 0.5, "column": 3, "row": 5}]
near = 1 / (1 + (pl.col("column") - pl.col("column_right")).abs() + (pl.col("row") - pl.col("row_right")).abs())
evaluation = apf.evaluate(truth, detections, similarity=lambda pairs: near)
tables = evaluation.pairs.rows(), evaluation.detections.select("x", "y", "width", "area").rows()
print(*tables, apf.check(truth, detections).height)
"""


@pytest.mark.slow
def test_a_shape_is_one_module_and_its_place_in_the_list() -> None:
    done = subprocess.run([sys.executable, "-c", NEW_SHAPE], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[(1, 1, 0.5)] [(3.0, 5.0, 0.0, 0.0)] 0"


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: str(shape.iou_type))
def test_the_functions_of_shapes_are_where_they_are_said_to_be(shape: Shape) -> None:
    for name in FUNCTIONS:
        function = getattr(shape, name)
        home = inspect.getclosurevars(function).nonlocals.get("home") if function is not None else None
        assert home is None or callable(imported(f"apframe.tables.shapes.{home}"))
    assert shape not in OTHERS or inspect.getclosurevars(shape.extents or shape.check).nonlocals["home"]
