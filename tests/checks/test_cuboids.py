"""Yaws in degrees, and sides that were exchanged, as `check` reports them."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import apframe as apf


def scene(n: int = 60, *, strings: bool = False) -> tuple[dict[str, Any], dict[str, Any]]:
    """Cars on a few images, found nearly where they are."""
    rng = np.random.default_rng(5)
    images = [f"image {k % 6}" if strings else k % 6 for k in range(n)]
    cars = {
        "image_id": images, "category_id": [1] * n, "cuboid_x": rng.uniform(0, 200, n), "cuboid_y": rng.uniform(0, 200, n),
        "cuboid_z": np.zeros(n), "cuboid_length": rng.uniform(3.5, 5, n), "cuboid_width": rng.uniform(1.5, 2, n),
        "cuboid_height": np.full(n, 1.5), "cuboid_yaw": rng.uniform(-3, 3, n),
    }  # fmt: skip
    truth = {"images": {"image_id": sorted(set(images))}, "categories": {"category_id": [1], "name": ["car"]}}
    return truth | {"annotations": cars}, cars | {"score": rng.random(n), "cuboid_x": cars["cuboid_x"] + 0.2}


def named(truth: Any, found: Any) -> list[tuple[str, str]]:
    return apf.check(truth, found).filter(pl.col("severity") == "warning").select("check", "table").rows()


@pytest.mark.parametrize("strings", [False, True])
def test_good_cuboids(strings: bool) -> None:
    assert named(*scene(strings=strings)) == []


@pytest.mark.slow
@pytest.mark.parametrize("change", ["sides", "yaw"])
@pytest.mark.parametrize("strings", [False, True])
def test_sides_that_were_exchanged(change: str, strings: bool) -> None:
    truth, detections = scene(strings=strings)
    if change == "sides":
        detections |= {"cuboid_length": detections["cuboid_width"], "cuboid_width": detections["cuboid_length"]}
    else:
        detections |= {"cuboid_yaw": detections["cuboid_yaw"] + np.pi / 2}
    assert named(truth, detections) == [("swapped_sides", "detections")]
    (problem,) = apf.check(truth, detections).filter(pl.col("check") == "swapped_sides")["problem"]
    assert problem == (
        "100% of the annotations have a detection that fits (IoU 0.5 or more seen from above) if length and width are "
        "exchanged, but only 0% as written"
    )


@pytest.mark.slow
def test_many_false_detections_hide_nothing() -> None:
    truth, detections = scene()
    swapped = pl.DataFrame(detections).rename({"cuboid_length": "cuboid_width", "cuboid_width": "cuboid_length"})
    false = pl.concat([swapped.with_columns(cuboid_y=pl.col("cuboid_y") + 500 + k, score=0.001) for k in range(99)])
    assert ("swapped_sides", "detections") in named(truth, pl.concat([swapped, false]))


def test_few_detections_show_nothing() -> None:
    truth, detections = scene(9)
    swapped = {"cuboid_length": detections["cuboid_width"], "cuboid_width": detections["cuboid_length"]}
    assert named(truth, detections | swapped) == []


def test_a_side_of_zero_is_an_error_of_its_own() -> None:
    truth, detections = scene()
    detections["cuboid_width"] = np.append(detections["cuboid_width"][1:], 0.0)
    findings = apf.check(truth, detections)
    assert findings.filter(pl.col("severity") == "error").select("check", "rows").rows() == [("invalid_shape", ["60"])]


@pytest.mark.parametrize("table", ["annotations", "detections"])
def test_degrees(table: str) -> None:
    truth, detections = scene()
    changed = truth["annotations"] if table == "annotations" else detections
    changed["cuboid_yaw"] = np.degrees(changed["cuboid_yaw"])
    assert ("degrees", table) in named(truth, detections)
