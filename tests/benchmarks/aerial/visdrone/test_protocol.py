"""VisDrone: the cases of its toolkit, every number that of plain loops, and what comes after."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

import apframe as apf
from apframe.benchmarks.driving.nuscenes.definition import NuScenes
from apframe.exceptions import ParameterError
from apframe.lists.list_average_precision import Trapezoid
from apframe.protocols.rules.crowds import CrowdsAsMisses, CrowdsIgnored
from apframe.protocols.rules.means import MeansByImages
from apframe.protocols.rules.standard import STANDARD_ROWS
from tests.benchmarks.aerial.visdrone.reference import evaluate
from tests.benchmarks.aerial.visdrone.row import objects_of, results_of, scenes
from tests.protocols.rules_of import exchanging

Row = dict[str, Any]
A, B, F = [10.0, 10, 40, 40], [100.0, 10, 40, 40], [300.0, 300, 40, 40]


THREE = [(image, 4, A, 1) for image in (1, 2, 3)]
# objects, detections, images; AP50, AR1 and AR10
CASES: dict[str, tuple[Any, Any, int, tuple[float, float, float]]] = {
    "D1: a false one between": (
        [(1, 4, A, 1), (1, 4, B, 1)], [(1, 4, A, 0.9), (1, 4, F, 0.8), (1, 4, B, 0.7)], 1, (0.833333333, 0.5, 1),
    ),
    "D2: a class in three images and one in one": (
        [*THREE, (1, 1, B, 1)], [(image, 4, A, 0.9) for image in (1, 2, 3)], 3, (0.75, 0.75, 0.75),
    ),
    "D3: an ignored region": (
        [(1, 4, A, 1), (1, 4, B, 1), (1, 0, [90, 0, 100, 100], 0)], [(1, 4, B, 0.95), (1, 4, A, 0.9)], 1, (1, 1, 1),
    ),
    "D4: rows are not sorted": ([(1, 4, A, 1), (1, 4, B, 1)], [(1, 4, F, 0.1), (1, 4, A, 0.9), (1, 4, B, 0.8)], 1, (1, 0, 1)),
    "D5: the limit is over all classes": ([(1, 4, A, 1), (1, 1, B, 1)], [(1, 1, B, 0.95), (1, 4, A, 0.9)], 1, (1, 0.5, 1)),
    "D6: others": ([(1, 4, A, 1), (1, 11, B, 1)], [(1, 4, B, 0.95), (1, 4, A, 0.9)], 1, (0.5, 0, 1)),
    "D7: a score of 0": ([(1, 4, A, 1), (1, 4, B, 0)], [(1, 4, B, 0.95), (1, 4, A, 0.9)], 1, (0.5, 0, 0.5)),
    # the region covers the pixels 101 to 120 of 101 to 140
    "D8: half in a region": (
        [(1, 4, A, 1), (1, 0, [60, 0, 60, 100], 0)], [(1, 4, B, 0.95), (1, 4, A, 0.9)], 1, (1, 1, 1),
    ),
    "D8: less than half": (
        [(1, 4, A, 1), (1, 0, [60, 0, 59, 100], 0)], [(1, 4, B, 0.95), (1, 4, A, 0.9)], 1, (0.5, 0, 1),
    ),
    "a detection of another class uses up a row": ([(1, 4, A, 1)], [(1, 11, F, 0.9), (1, 4, A, 0.8)], 1, (1, 0, 1)),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_cases(name: str) -> None:
    objects, rows, n_images, expected = CASES[name]
    evaluation = apf.evaluate(objects_of(objects, n_images), results_of(rows), apf.VISDRONE)
    assert [evaluation[metric] for metric in ("AP50", "AR1", "AR10")] == pytest.approx(expected, abs=1e-9)
    reference, plain = evaluate(objects_of(objects, n_images), results_of(rows), apf.VISDRONE.iou_thresholds)
    assert dict(evaluation.summary.rows()) == pytest.approx(reference, abs=1e-9)
    mean = apf.evaluate(objects_of(objects, n_images), results_of(rows), apf.VISDRONE_MEAN)
    assert dict(mean.summary.rows()) == pytest.approx(plain, abs=1e-9)


def test_the_plain_mean() -> None:
    objects, rows, n_images, _ = CASES["D2: a class in three images and one in one"]
    assert apf.evaluate(objects_of(objects, n_images), results_of(rows), apf.VISDRONE_MEAN)["AP50"] == pytest.approx(0.5)


def test_what_is_inside_an_object_with_score_0_is_ignored() -> None:
    objects, rows, _, _ = CASES["D7: a score of 0"]
    evaluation = apf.evaluate(objects_of(objects), results_of([*rows, (1, 4, [110, 20, 5, 5], 0.99)]), apf.VISDRONE)
    assert evaluation.matches(0.5)["outcome"].to_list() == ["ignored", "ignored", "tp"]
    counts = evaluation.thresholds(0.5).filter(name="car").tail(1).select("tp", "fp", "fn").row(0)
    assert counts == (1, 0, 1)


def weathered() -> tuple[apf.Dataset, pl.DataFrame]:
    truth, results = scenes(np.random.default_rng(11), 12)
    dataset = apf.read_coco(truth)
    images = dataset.images.with_columns(weather=pl.Series(["fog", "clear", "rain"] * 4))
    return apf.Dataset(images, dataset.categories, dataset.annotations), apf.read_coco_results(results)


@pytest.mark.slow
def test_means_by_images_in_sql_and_when_errors_are_fixed() -> None:
    evaluation = apf.evaluate(*weathered(), apf.VISDRONE)
    query = "SELECT sum(ap * n_images) / sum(n_images) FROM metrics WHERE max_detections = 500 AND ap IS NOT NULL"
    assert evaluation.sql(query).item() == pytest.approx(evaluation["AP"], abs=1e-12)
    impact = evaluation.error_impact(0.5).filter(pl.col("category_id").is_null())
    assert impact["ap"].to_list() == pytest.approx([evaluation["AP50"]] * impact.height, abs=1e-12)


def test_resampled_means_count_the_images_that_are_drawn() -> None:
    """A class that is found in one image, and one that is missed in another: drawn are both, or one of them twice."""
    truth = objects_of([(1, 1, A, 1), (2, 4, A, 1), (2, 1, B, 1)], 2)
    evaluation = apf.evaluate(truth, results_of([(1, 1, A, 0.9), (2, 1, B, 0.8)]), apf.VISDRONE)
    values = set(evaluation.draws(metric="AP50", n_resamples=40)["value"].round(9).to_list())
    assert evaluation["AP50"] == pytest.approx(2 / 3) and values == {0.5, round(2 / 3, 9), 1.0}


@pytest.mark.slow
def test_places_that_are_given_stay() -> None:
    """An evaluation's own detections lack rows of other classes, but not their places."""
    objects, rows, _, _ = CASES["a detection of another class uses up a row"]
    once = apf.evaluate(objects_of(objects), results_of(rows), apf.VISDRONE)
    again = apf.evaluate(once.dataset, once.detections, apf.VISDRONE)
    assert again["AR1"] == once["AR1"] == 0 and once.detections["place_in_image"].to_list() == [2]


@pytest.mark.slow
def test_slices_of_detections_leave_the_places() -> None:
    dataset, detections = weathered()
    detections = detections.with_columns(model=pl.Series(["a", "b"] * detections.height)[: detections.height])
    evaluation = apf.evaluate(dataset, detections, apf.VISDRONE)
    table = evaluation.by("model")
    for model in "ab":
        expected = dict(evaluation.where(pl.col("model") == model).summary.rows())
        assert table.filter(model=model).select(list(expected)).row(0) == pytest.approx(tuple(expected.values()))


def test_groups_cannot_be_missed_at_cut_offs() -> None:
    with pytest.raises(ParameterError, match=r"^rules: matching 'by_annotation' has no groups that count as missed; choose"):
        exchanging(apf.KITTI, CrowdsIgnored, CrowdsAsMisses())


def test_definitions_that_have_no_means_by_images() -> None:
    for definition in (NuScenes(), Trapezoid()):
        with pytest.raises(ParameterError, match="weighted sum"):
            apf.Protocol("MINE", "", metrics=definition, rules=(*STANDARD_ROWS, MeansByImages()))  # type: ignore[arg-type]


def test_the_plain_mean_is_an_option() -> None:
    assert apf.VISDRONE.with_options(mean="plain") == apf.VISDRONE_MEAN
    assert apf.VISDRONE_MEAN.with_options(mean="plain") == apf.VISDRONE_MEAN
    few = apf.VISDRONE.with_options(mean="plain", max_detections=[1, 5])
    assert few == apf.VISDRONE_MEAN.with_options(max_detections=[1, 5])
    with pytest.raises(ParameterError, match=r"^mean is \"plain\", not 'weighted'$"):
        apf.VISDRONE.with_options(mean="weighted")
    changed = replace(apf.VISDRONE, rules=apf.VISDRONE.rules[:-2])
    with pytest.raises(ParameterError, match=r"^mean: VISDRONE was changed in rules; begin with apframe\.VISDRONE_MEAN$"):
        changed.with_options(mean="plain")
