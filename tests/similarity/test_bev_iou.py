"""IoU of cuboids seen from above: hand cases of Waymo and KITTI, crowds, cells and rows without a cuboid."""

from __future__ import annotations

import math
from typing import Any

import polars as pl
import pytest

import apframe as apf
from apframe.exceptions import ColumnError, RowError
from apframe.similarity.bev_iou import BevIoU

CAR = {"cell": 7, "cuboid_x": 0.0, "cuboid_y": 0.0, "cuboid_length": 4.0, "cuboid_width": 2.0, "cuboid_yaw": 0.0}


def cars(*changes: dict[str, Any]) -> pl.DataFrame:
    return pl.DataFrame([CAR | {"is_crowd": False} | change for change in changes])


def pairs(found: pl.DataFrame, truth: pl.DataFrame, least: float = 1e-9) -> dict[tuple[int, int], float]:
    table = BevIoU().pair(found.drop("is_crowd"), truth, least)
    assert table.schema == {"detection": pl.UInt32, "annotation": pl.UInt32, "similarity": pl.Float64}
    return {(detection, annotation): value for detection, annotation, value in table.rows()}


@pytest.mark.parametrize("shift", [0.0, 0.45, 0.5, 1.0, 2.0, 3.5])
@pytest.mark.parametrize("yaw", [0.0, 0.3, -2.0])
def test_shifts_along_the_heading(shift: float, yaw: float) -> None:
    """PROTOCOLS.md I.3: the IoU of vehicles that are `shift` apart is (4 - shift) / (4 + shift)."""
    moved = {"cuboid_x": shift * math.cos(yaw), "cuboid_y": shift * math.sin(yaw), "cuboid_yaw": yaw}
    value = pairs(cars(moved), cars({"cuboid_yaw": yaw}))[0, 0]
    assert value == pytest.approx((4 - shift) / (4 + shift), abs=1e-15)
    if yaw == 0 or shift == 0:
        assert value == (4 - shift) / (4 + shift)


def test_a_threshold_that_is_met_exactly() -> None:
    """W9: 3 x 1, shifted by 1, is exactly one half."""
    person = {"cuboid_length": 3.0, "cuboid_width": 1.0}
    assert pairs(cars(person | {"cuboid_x": 11.0}), cars(person | {"cuboid_x": 10.0}), least=0.5) == {(0, 0): 0.5}


@pytest.mark.parametrize("yaw", [0.0, 0.3, 1.5707963267948966, 1.5, 3.141592, -7.5])
@pytest.mark.parametrize("x", [0.1, -70.3, 1234.5678])
def test_equal_boxes_have_one(yaw: float, x: float) -> None:
    """KITTI's ports give equal turned boxes an IoU of 0 to .5 (K20)."""
    box = {"cuboid_x": x, "cuboid_y": 1.1 * x, "cuboid_length": 3.9, "cuboid_width": 1.6, "cuboid_yaw": yaw}
    assert pairs(cars(box), cars(box), least=1.0) == {(0, 0): 1.0}


def test_a_square_that_is_turned_by_an_eighth() -> None:
    """W4: squares of the same centre and size share an octagon; turned by a quarter, all."""
    square = {"cuboid_length": 2.0, "cuboid_width": 2.0}
    shared = 8 * (2**0.5 - 1)
    detections = cars(square | {"cuboid_yaw": 0.7853981633974483}, square | {"cuboid_yaw": 1.5707963267948966})
    assert pairs(detections, cars(square)) == {(0, 0): pytest.approx(shared / (8 - shared), abs=1e-15), (1, 0): 1.0}


def test_a_crowd_is_compared_with_the_detection_alone() -> None:
    truth = cars({"cuboid_x": 1.0, "is_crowd": True}, {"cuboid_x": 1.0})
    assert pairs(cars({}), truth) == {(0, 0): 0.75, (0, 1): 0.6}


def test_no_pair() -> None:
    none = dict.fromkeys([name for name in CAR if name != "cell"])
    truth = cars({"cuboid_x": 4.0}, {"cell": 8}, none, {"cuboid_x": 3.5, "cuboid_y": 2.5, "cuboid_yaw": 0.785})
    assert pairs(cars({}, none), truth) == {}
    assert pairs(cars({}), cars({"cuboid_x": 1.0}), least=0.61) == {}


def test_no_rows() -> None:
    assert pairs(cars({}), cars({}).clear()) == {} == pairs(cars({}).clear(), cars({}))


def test_cuboids_that_cannot_be_right() -> None:
    with pytest.raises(RowError, match=r"^annotations: cuboid_width is not positive for row 2; give the size in metres"):
        pairs(cars({}), cars({}, {"cuboid_width": 0.0}))
    with pytest.raises(ColumnError, match=r"^detections: no column cuboid_yaw, needed to compare by intersection over union"):
        pairs(cars({}).drop("cuboid_yaw"), cars({}))


def test_many_blocks_of_pairs() -> None:
    """More pairs than are computed at once: 200 x 200 in one cell, all of which share something."""
    cuboids = cars(*({"cuboid_x": k / 100} for k in range(200)))
    table = BevIoU().pair(cuboids, cuboids, 1e-9)
    assert table.height == 40_000
    expected = ((4 - pl.col("shift")) / (4 + pl.col("shift"))).alias("similarity")
    shift = (table["detection"].cast(pl.Int64) - table["annotation"].cast(pl.Int64)).abs() / 100
    values = table.with_columns(shift=shift).select(error=(pl.col("similarity") - expected).abs().max())
    assert values.item() < 1e-14


def test_evaluated_by_name() -> None:
    rows = {name: [value] for name, value in CAR.items() if name != "cell"} | {"cuboid_z": [0.0], "cuboid_height": [1.5]}
    rows |= {"image_id": [1], "category_id": [1]}
    truth = apf.Dataset({"image_id": [1]}, {"category_id": [1]}, rows)
    evaluation = apf.evaluate(truth, rows | {"score": [0.5], "cuboid_x": [1.0]}, similarity=BevIoU(), iou_thresholds=[0.5, 0.7])
    assert evaluation.protocol.iou_type == "bev"
    assert evaluation.metrics.filter(pl.col("area_range") == "all", pl.col("max_detections") == 100)["ap"].round(
        9
    ).to_list() == [1, 0]
