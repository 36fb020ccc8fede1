"""Cuboids: every convention that is read, the rectangle around them, and numbers that cannot be right."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import apframe as apf
from apframe.exceptions import ColumnError, RowError, UnitWarning
from apframe.tables.shapes.cuboids import check_cuboids, cuboid_extents, like_degrees, with_cuboids
from apframe.tables.shapes.declarations import CUBOID

CAR = {
    "cuboid_x": [3.0], "cuboid_y": [20.0], "cuboid_z": [-0.75], "cuboid_length": [4.0], "cuboid_width": [2.0],
    "cuboid_height": [1.5], "cuboid_yaw": [-0.5],
}  # fmt: skip
SIZES = {name: CAR[name] for name in ("cuboid_length", "cuboid_width", "cuboid_height")}
CAMERA = {"camera_x": [3.0], "camera_y": [1.5], "camera_z": [20.0], "rotation_y": [0.5], **SIZES}
BOTTOM = {name: values for name, values in CAR.items() if name != "cuboid_z"} | {"cuboid_bottom": [-1.5]}


@pytest.mark.parametrize("columns", [CAR, CAMERA, BOTTOM], ids=["centre", "camera", "bottom"])
@pytest.mark.parametrize("table", ["annotations", "detections"])
def test_conventions(table: str, columns: dict[str, list[float]]) -> None:
    rows = columns | {"image_id": [1], "category_id": [1], "score": [0.5]}
    truth = apf.Dataset({"image_id": [1]}, {"category_id": [1]}, rows)
    cuboids = truth.annotations if table == "annotations" else apf.evaluate(truth, rows).detections
    assert cuboids.select(CUBOID).to_dict(as_series=False) == CAR
    assert not {"camera_x", "rotation_y", "cuboid_bottom"} & set(cuboids.columns)


def test_kitti_corners_are_those_of_the_camera_frame() -> None:
    """Seen from above, the corners of KITTI's tool and ours are the same points."""
    rotation = np.random.default_rng(1).uniform(-4, 4, 50)
    frame = pl.DataFrame({name: values * 50 for name, values in CAMERA.items()}).with_columns(rotation_y=rotation)
    cuboids = with_cuboids("annotations", frame)
    x, y, yaw = (cuboids[name].to_numpy() for name in ("cuboid_x", "cuboid_y", "cuboid_yaw"))
    for a, b in ((2, 1), (2, -1), (-2, -1), (-2, 1)):
        kitti = 3 + a * np.cos(rotation) + b * np.sin(rotation), 20 - a * np.sin(rotation) + b * np.cos(rotation)
        ours = x + a * np.cos(yaw) - b * np.sin(yaw), y + a * np.sin(yaw) + b * np.cos(yaw)
        np.testing.assert_allclose(ours, kitti, atol=1e-12)
    assert cuboids["cuboid_z"].unique().to_list() == [-0.75]  # from -1.5 to 0: KITTI's y is from 0 to 1.5, downwards


def test_our_own_columns_go_before_others() -> None:
    frame = pl.DataFrame(CAR | CAMERA | {"cuboid_bottom": [9.0]})
    assert with_cuboids("annotations", frame).equals(frame)


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        ({name: values for name, values in CAMERA.items() if name != "cuboid_height"},
         "detections: no column cuboid_height; camera_x is of the bottom, and the centre is needed"),
        (CAMERA | {"camera_z": ["far"]}, "detections.camera_z must hold numbers, not String"),
        (BOTTOM | {"cuboid_bottom": [[1.0]]}, r"detections.cuboid_bottom must hold numbers, not List\(Float64\)"),
    ],
)  # fmt: skip
def test_conventions_that_cannot_be_read(frame: dict[str, Any], message: str) -> None:
    with pytest.raises(ColumnError, match=f"^{message}$"):
        with_cuboids("detections", pl.DataFrame(frame))


@pytest.mark.parametrize(
    ("yaw", "box"),
    [
        (0.0, (1, 19, 4, 2)),
        (np.pi / 2, (2, 18, 2, 4)),
        (np.pi, (1, 19, 4, 2)),
        (np.pi / 4, (3 - 4.5**0.5, 20 - 4.5**0.5, 18**0.5, 18**0.5)),
    ],
)  # fmt: skip
def test_extents(yaw: float, box: tuple[float, ...]) -> None:
    extents = cuboid_extents("annotations", pl.DataFrame(CAR | {"cuboid_yaw": [yaw]}))
    assert extents.row(0) == pytest.approx((*box, 8))


BAD = {
    "no length": ({"cuboid_length": 0.0}, "cuboid_length is not positive"),
    "negative width": ({"cuboid_width": -1.0}, "cuboid_width is not positive"),
    "no height": ({"cuboid_height": 0.0}, "cuboid_height is not positive"),
    "no yaw": ({"cuboid_yaw": None}, "cuboid_yaw is missing or not a finite number"),
    "infinite": ({"cuboid_x": float("inf")}, "cuboid_x is missing or not a finite number"),
    "not a number": ({"cuboid_z": float("nan")}, "cuboid_z is missing or not a finite number"),
    "no cuboid": (dict.fromkeys(CUBOID), "cuboid_x is missing"),
}


@pytest.mark.parametrize(("change", "problem"), BAD.values(), ids=BAD)
def test_cuboids_that_cannot_be_right(change: dict[str, float | None], problem: str) -> None:
    frame = pl.DataFrame(
        {"detection_id": [7, 8]} | {name: [values[0], change.get(name, values[0])] for name, values in CAR.items()}
    )
    with pytest.raises(RowError, match=f"^detections: {problem} for detection_id 8; .*(supply|give)"):
        cuboid_extents("detections", frame)


def test_rows_without_a_cuboid_are_those_of_nulls() -> None:
    none = pl.DataFrame({name: [values[0], None] for name, values in CAR.items()})
    check_cuboids("annotations", none, CUBOID)
    with pytest.raises(ColumnError, match=r"^annotations: no column cuboid_yaw; cuboids have cuboid_x, "):
        check_cuboids("annotations", none.drop("cuboid_yaw"), CUBOID)


def test_most_yaws_in_degrees() -> None:
    few = CAR | {"image_id": [1], "category_id": [1], "score": [0.5]}
    many = {name: values * 5 for name, values in few.items()}
    protocol = apf.COCO.with_options(similarity=apf.similarity.CentreDistance(), iou_thresholds=-2)
    truth = apf.Dataset({"image_id": [1]}, {"category_id": [1]}, many | {"cuboid_yaw": [90.0, 8.0, -180.0, 0.0, 1.0]})
    message = r"^annotations: cuboid_yaw is in radians; most of its values, such as 90.0, look like degrees$"
    with pytest.warns(UnitWarning, match=message) as caught:
        apf.evaluate(truth, few, protocol)
    assert [warning.filename for warning in caught] == [__file__]
    apf.evaluate(truth, few)  # boxes have no yaw
    assert like_degrees(truth.annotations.with_columns(cuboid_yaw=pl.Series([90.0, 8.0, 7.0, 0.0, None]))) is None
