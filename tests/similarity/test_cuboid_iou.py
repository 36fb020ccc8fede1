"""IoU of the volumes of cuboids, beside shapely and beside KITTI's formula."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from apframe.exceptions import ColumnError
from apframe.similarity.cuboid_iou import CuboidIoU
from apframe.tables.shapes.declarations import CUBOID

CAR = {
    "cell": 7, "cuboid_x": 0.0, "cuboid_y": 0.0, "cuboid_z": 0.5, "cuboid_length": 4.0, "cuboid_width": 2.0,
    "cuboid_height": 1.5, "cuboid_yaw": 0.0,
}  # fmt: skip


def cars(*changes: dict[str, Any]) -> pl.DataFrame:
    return pl.DataFrame([CAR | {"is_crowd": False} | change for change in changes])


def pairs(found: pl.DataFrame, truth: pl.DataFrame, least: float = 1e-9) -> dict[tuple[int, int], float]:
    table = CuboidIoU().pair(found.drop("is_crowd"), truth, least)
    assert table.schema == {"detection": pl.UInt32, "annotation": pl.UInt32, "similarity": pl.Float64}
    return {(detection, annotation): value for detection, annotation, value in table.rows()}


def boxes(n: int, seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    low, high = [-3, -3, -1, 1, 1, 1, -7], [3, 3, 1, 5, 3, 2, 7]
    values = {name: rng.uniform(a, b, n) for name, a, b in zip(CUBOID, low, high, strict=True)}
    return pl.DataFrame({"cell": rng.integers(0, 3, n)} | values).with_columns(is_crowd=pl.Series(rng.random(n) < 0.2))


def footprint(row: dict[str, Any]) -> Any:
    shapely = pytest.importorskip("shapely")
    half_length, half_width, yaw = row["cuboid_length"] / 2, row["cuboid_width"] / 2, row["cuboid_yaw"]
    ahead = half_length * np.array([np.cos(yaw), np.sin(yaw)])
    aside = half_width * np.array([-np.sin(yaw), np.cos(yaw)])
    centre = np.array([row["cuboid_x"], row["cuboid_y"]])
    return shapely.Polygon([centre + a * ahead + b * aside for a, b in ((1, 1), (-1, 1), (-1, -1), (1, -1))])


def expected_pairs(found: pl.DataFrame, truth: pl.DataFrame, least: float) -> dict[tuple[int, int], Any]:
    """KITTI's formula: the shared footprint times the shared heights, over the sum of the volumes less that."""
    expected = {}
    for i, left in enumerate(found.iter_rows(named=True)):
        for j, right in enumerate(truth.iter_rows(named=True)):
            lows, highs = zip(*((row["cuboid_z"] - row["cuboid_height"] / 2, row["cuboid_z"] + row["cuboid_height"] / 2)
                                for row in (left, right)), strict=True)  # fmt: skip
            volumes = [row["cuboid_length"] * row["cuboid_width"] * row["cuboid_height"] for row in (left, right)]
            shared = footprint(left).intersection(footprint(right)).area * max(min(highs) - max(lows), 0)
            similarity = shared / (volumes[0] if right["is_crowd"] else sum(volumes) - shared)
            if left["cell"] == right["cell"] and similarity >= least:
                expected[i, j] = pytest.approx(similarity, abs=1e-13)
    return expected


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "least"), [(0, 1e-9), (1, 0.1), (2, 0.25)])
def test_as_a_loop(seed: int, least: float) -> None:
    detections, truth = boxes(40, seed), boxes(30, seed + 10)
    expected = expected_pairs(detections, truth, least)
    assert expected and pairs(detections, truth, least) == expected


@pytest.mark.parametrize("up", [0.0, 0.25, 0.5, 1.0])
def test_heights(up: float) -> None:
    value = pairs(cars({"cuboid_z": 0.5 + up}), cars({}))[0, 0]
    assert value == (1.5 - up) / (1.5 + up)


@pytest.mark.parametrize("yaw", [0.0, 0.3, 1.5707963267948966, -7.5])
@pytest.mark.parametrize("x", [0.1, -70.3, 1234.5678])
def test_equal_cuboids_have_one(yaw: float, x: float) -> None:
    box = {"cuboid_x": x, "cuboid_y": 1.1 * x, "cuboid_z": x / 7, "cuboid_length": 3.9, "cuboid_width": 1.6, "cuboid_yaw": yaw}
    assert pairs(cars(box), cars(box), least=1.0) == {(0, 0): 1.0}


def test_a_crowd_is_compared_with_the_detection_alone() -> None:
    truth = cars({"cuboid_x": 1.0, "is_crowd": True}, {"cuboid_x": 1.0})
    assert pairs(cars({}), truth) == {(0, 0): 0.75, (0, 1): 0.6}


def test_no_pair() -> None:
    above, none = {"cuboid_z": 2.0}, dict.fromkeys(CUBOID)
    assert pairs(cars({}, none), cars(above, none, {"cuboid_x": 4.0}, {"cell": 8})) == {}


def test_missing_columns() -> None:
    with pytest.raises(
        ColumnError, match=r"^annotations: no column cuboid_height, needed to compare by intersection over union"
    ):
        pairs(cars({}), cars({}).drop("cuboid_height"))
