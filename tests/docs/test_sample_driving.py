"""The sample set of driving scenes: what it shows."""

from __future__ import annotations

from pathlib import Path

import pytest
from polars.testing import assert_frame_equal

import apframe as apf
from apframe.benchmarks.driving.nuscenes.object_places import with_places
from apframe.tables.shapes.declarations import CUBOID

DATA = Path(__file__).parents[2] / "data"
DRIVING = DATA / "driving"
MODELS = ("model_a", "model_b")


def test_sample_is_as_described() -> None:
    assert sum(path.stat().st_size for path in DRIVING.rglob("*.*")) < 300_000
    scenes = apf.read_dataset(DRIVING / "scenes")
    assert scenes.images.height == 40
    assert scenes.images["scene"].value_counts()["count"].to_list() == [5] * 8
    assert scenes.annotations.select(CUBOID).null_count().row(0) == (0,) * 7
    placed = with_places(scenes.annotations.drop("ego_distance", "in_rack"), scenes.images)
    assert_frame_equal(placed.select("ego_distance", "in_rack"), scenes.annotations.select("ego_distance", "in_rack"))
    assert placed["in_rack"].sum() == 5
    labels = apf.read_dataset(DRIVING / "kitti" / "label_2")
    assert labels.images.height == 40
    assert {"Car", "Pedestrian", "Cyclist", "DontCare"} <= set(labels.categories["name"])


@pytest.mark.parametrize("name", MODELS)
def test_both_forms_of_the_results_are_of_the_same_objects(name: str) -> None:
    """What the camera sees is part of what was found around the car, in the camera's frame."""
    detections = apf.read_results(DRIVING / f"{name}.json", dataset=DRIVING / "scenes")
    seen = apf.read_results(DRIVING / "kitti" / name)
    cars = detections.filter(category_id="car").select("score", "ego_distance")
    both = seen.filter(category_id="Car").join(cars, on="score")
    assert both.height >= 0.9 * seen.filter(category_id="Car").height > 50
    away = (both["cuboid_x"].pow(2) + both["cuboid_y"].pow(2)).sqrt()
    assert (away - both["ego_distance"]).abs().median() < 0.05  # type: ignore[operator]


@pytest.mark.slow
def test_sample_shows_how_the_models_differ() -> None:
    """Model A is better far away, at night, and on the whole; model B in rain and near by."""
    protocol = apf.COCO.with_options(similarity=apf.similarity.CentreDistance(), iou_thresholds=[-4, -2, -1, -0.5])
    a, b = (apf.evaluate(DRIVING / "scenes", DRIVING / f"{name}.json", protocol=protocol) for name in MODELS)
    assert a.summary["value"][0] > b.summary["value"][0] + 0.02

    def better(key: object) -> list[bool]:
        return (a.by(key)["AP"] > b.by(key)["AP"]).to_list()

    assert better("weather") == [True, False]  # clear, rain
    assert better("time_of_day") == [False, True]  # day, night
    assert better(apf.bins("ego_distance", [0, 15, 30, 60])) == [False, True, True]
