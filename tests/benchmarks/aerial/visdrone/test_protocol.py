"""VisDrone: the cases of its toolkit, every number that of plain loops, and what comes after."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import apframe as apf
from apframe.benchmarks.driving.nuscenes.definition import NuScenes
from apframe.exceptions import ParameterError
from apframe.lists.list_average_precision import Trapezoid
from apframe.protocols.rules.crowds import CrowdsAsMisses, CrowdsIgnored
from apframe.protocols.rules.limits import MeansByImages
from apframe.protocols.rules.standard import STANDARD_ROWS
from tests.benchmarks.aerial.visdrone.reference import evaluate
from tests.protocols.everywhere import assert_same_everywhere
from tests.protocols.generated import joined, on_many_sets
from tests.protocols.rules_of import exchanging

NAMES = (
    "ignored regions", "pedestrian", "people", "bicycle", "car", "van", "truck", "tricycle", "awning-tricycle", "bus", "motor",
    "others",
)  # fmt: skip
Row = dict[str, Any]
A, B, F = [10.0, 10, 40, 40], [100.0, 10, 40, 40], [300.0, 300, 40, 40]


def truth_of(rows: list[tuple[int, int, list[float], int]], n_images: int = 1, size: int = 600) -> Any:
    """Objects by image, category, box and score, as VisDrone's ground truth has them."""
    annotations = [
        {"id": number, "image_id": image, "category_id": category, "bbox": box, "iscrowd": int(score == 0)}
        for number, (image, category, box, score) in enumerate(rows, 1)
    ]
    images = [{"id": number, "width": size, "height": size} for number in range(1, n_images + 1)]
    categories = [{"id": number, "name": name} for number, name in enumerate(NAMES)]
    return {"images": images, "categories": categories, "annotations": annotations}


def found(rows: list[tuple[int, int, list[float], float]]) -> list[Row]:
    names = ("image_id", "category_id", "bbox", "score")
    return [dict(zip(names, row, strict=True)) for row in rows]


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
    evaluation = apf.evaluate(truth_of(objects, n_images), found(rows), apf.VISDRONE)
    assert [evaluation[metric] for metric in ("AP50", "AR1", "AR10")] == pytest.approx(expected, abs=1e-9)
    reference, plain = evaluate(truth_of(objects, n_images), found(rows), apf.VISDRONE.iou_thresholds)
    assert dict(evaluation.summary.rows()) == pytest.approx(reference, abs=1e-9)
    mean = apf.evaluate(truth_of(objects, n_images), found(rows), apf.VISDRONE_MEAN)
    assert dict(mean.summary.rows()) == pytest.approx(plain, abs=1e-9)


def test_the_plain_mean() -> None:
    objects, rows, n_images, _ = CASES["D2: a class in three images and one in one"]
    assert apf.evaluate(truth_of(objects, n_images), found(rows), apf.VISDRONE_MEAN)["AP50"] == pytest.approx(0.5)


def test_what_is_inside_an_object_with_score_0_is_ignored() -> None:
    objects, rows, _, _ = CASES["D7: a score of 0"]
    evaluation = apf.evaluate(truth_of(objects), found([*rows, (1, 4, [110, 20, 5, 5], 0.99)]), apf.VISDRONE)
    assert evaluation.matches(0.5)["outcome"].to_list() == ["ignored", "ignored", "tp"]
    counts = evaluation.thresholds(0.5).filter(name="car").tail(1).select("tp", "fp", "fn").row(0)
    assert counts == (1, 0, 1)


def scenes(random: np.random.Generator, n_images: int) -> tuple[Any, list[Row]]:
    """Boxes of three classes, regions and others in small images, some reaching out of them; rows are not sorted."""
    objects: list[tuple[int, int, list[float], int]] = []
    rows: list[tuple[int, int, list[float]]] = []
    for image in range(1, n_images + 1):
        for _ in range(random.integers(0, 7)):
            box = [*random.integers(-3, 70, 2).astype(float), *random.integers(5, 40, 2).astype(float)]
            category = int(random.choice([0, 1, 4, 4, 9, 11], p=[0.2, 0.2, 0.2, 0.2, 0.1, 0.1]))
            objects.append((image, category, box, int(category > 0 and random.random() < 0.85)))
            for _ in range(random.integers(0, 4)):
                other = category if category and random.random() < 0.9 else int(random.choice([1, 4, 11]))
                moved = (np.array(box) + random.normal(0, 2, 4)).round(random.integers(0, 2))
                rows.append((image, other, [*moved[:2].tolist(), *moved[2:].clip(1).tolist()]))
    scores = (random.permutation(len(rows)) + 1) / (len(rows) + 1)
    order = random.permutation(len(rows))
    return truth_of(objects, n_images, 90), found([(*rows[k], float(scores[k])) for k in order])


@on_many_sets
def test_every_number_is_that_of_plain_loops(seeds: range) -> None:
    parts = [scenes(np.random.default_rng(seed), 1 + seed % 5) for seed in seeds]
    truth, results = joined(parts)
    references = [evaluate(*part, apf.VISDRONE.iou_thresholds) for part in parts]
    for number, protocol in enumerate((apf.VISDRONE, apf.VISDRONE_MEAN)):
        by = apf.evaluate(truth, results, protocol).by("set")
        found = {row["set"]: {name: row[name] for name in references[0][0]} for row in by.iter_rows(named=True)}
        for place, reference in enumerate(references):
            assert found[place] == pytest.approx(reference[number] or dict.fromkeys(found[place]), abs=1e-9), place


def weathered() -> tuple[apf.Dataset, pl.DataFrame]:
    truth, results = scenes(np.random.default_rng(11), 12)
    dataset = apf.read_coco(truth)
    images = dataset.images.with_columns(weather=pl.Series(["fog", "clear", "rain"] * 4))
    return apf.Dataset(images, dataset.categories, dataset.annotations), apf.read_coco_results(results)


@pytest.mark.slow
@pytest.mark.parametrize("protocol", [apf.VISDRONE, apf.VISDRONE_MEAN], ids=lambda each: each.name)
def test_slices_subsets_stored_sets_shards_updates_and_intervals(protocol: apf.Protocol, tmp_path: Path) -> None:
    assert_same_everywhere(*weathered(), protocol, tmp_path)


def test_means_by_images_in_sql_and_when_errors_are_fixed() -> None:
    evaluation = apf.evaluate(*weathered(), apf.VISDRONE)
    query = "SELECT sum(ap * n_images) / sum(n_images) FROM metrics WHERE max_detections = 500 AND ap IS NOT NULL"
    assert evaluation.sql(query).item() == pytest.approx(evaluation["AP"], abs=1e-12)
    impact = evaluation.error_impact(0.5).filter(pl.col("category_id").is_null())
    assert impact["ap"].to_list() == pytest.approx([evaluation["AP50"]] * impact.height, abs=1e-12)


def test_resampled_means_count_the_images_that_are_drawn() -> None:
    """A class that is found in one image, and one that is missed in another: drawn are both, or one of them twice."""
    truth = truth_of([(1, 1, A, 1), (2, 4, A, 1), (2, 1, B, 1)], 2)
    evaluation = apf.evaluate(truth, found([(1, 1, A, 0.9), (2, 1, B, 0.8)]), apf.VISDRONE)
    values = set(evaluation.draws(metric="AP50", n_resamples=40)["value"].round(9).to_list())
    assert evaluation["AP50"] == pytest.approx(2 / 3) and values == {0.5, round(2 / 3, 9), 1.0}


def test_places_that_are_given_stay() -> None:
    """An evaluation's own detections lack rows of other classes, but not their places."""
    objects, rows, _, _ = CASES["a detection of another class uses up a row"]
    once = apf.evaluate(truth_of(objects), found(rows), apf.VISDRONE)
    again = apf.evaluate(once.dataset, once.detections, apf.VISDRONE)
    assert again["AR1"] == once["AR1"] == 0 and once.detections["place_in_image"].to_list() == [2]


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
    few = apf.VISDRONE.with_options(mean="plain", max_detections=[1, 5])
    assert few == apf.VISDRONE_MEAN.with_options(max_detections=[1, 5])
    with pytest.raises(ParameterError, match=r"^mean is \"plain\", not 'weighted'$"):
        apf.VISDRONE.with_options(mean="weighted")
    changed = replace(apf.VISDRONE, rules=apf.VISDRONE.rules[:-1])
    with pytest.raises(ParameterError, match=r"^VISDRONE has other 'rules' than published; begin with apframe\.VISDRONE_MEAN$"):
        changed.with_options(mean="plain")
