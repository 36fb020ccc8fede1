"""KITTI: the development kit's numbers on hand cases, and those of plain loops on generated data."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import apframe as apf
from apframe.exceptions import ColumnError, ParameterError, RowError, UnknownCategoryWarning
from apframe.lists.expressions import average_precision
from apframe.metrics.average_precision import AveragePrecision
from apframe.metrics.definitions import Interpolated
from apframe.protocols.ranges import Level
from tests.benchmarks.driving.kitti import reference as kitti_reference
from tests.benchmarks.driving.turned_cuboids import OVERLAPS, remembered
from tests.cli.test_command import command
from tests.parity.strategies import half_as_often
from tests.protocols.many_sets import slices_of

Row = dict[str, Any]
LEVELS = ["easy", "moderate", "hard"]
TYPES = ["Car", "Van", "Truck", "Pedestrian", "Person_sitting", "Cyclist", "DontCare"]

pytestmark = [
    pytest.mark.filterwarnings(f"ignore::apframe.exceptions.{name}")
    for name in ("NoAnnotationsWarning", "NothingMatchesWarning", "FewUnitsWarning")
]


def gt(category: str, left: float, top: float, right: float, bottom: float, **others: Any) -> Row:
    box = {"x": float(left), "y": float(top), "width": float(right - left), "height": float(bottom - top)}
    return {"image_id": "000000", "category_id": category, "truncated": 0.0, "occluded": 0, "alpha": 0.0} | box | others


def dt(category: str, left: float, top: float, right: float, bottom: float, score: float, **others: Any) -> Row:
    row = gt(category, left, top, right, bottom) | {"score": score} | others
    return {name: value for name, value in row.items() if name not in ("truncated", "occluded")}


def dataset(annotations: list[Row], images: list[str] | None = None) -> apf.Dataset:
    ids = images or list(dict.fromkeys(row["image_id"] for row in annotations))
    return apf.Dataset({"image_id": ids}, {"category_id": TYPES, "name": TYPES}, pl.DataFrame(annotations))


def numbers(evaluation: apf.Evaluation, name: str = "Car", metric: str = "AP") -> list[float | None]:
    values = dict(evaluation.summary.rows())
    return [None if (value := values[f"{metric}_{name}_{level}"]) is None else 100 * value for level in LEVELS]


def cars(first: int = 0, last: int = 8) -> list[Row]:
    return [gt("Car", 200 * i, 100, 200 * i + 100, 200) for i in range(first, last)]


def found(first: int = 0, last: int = 8) -> list[Row]:
    return [dt("Car", 200 * i, 100, 200 * i + 100, 200, 0.9 - 0.05 * i) for i in range(first, last)]


VAN, TRUCK, SITTING = (
    gt("Van", 2000, 100, 2100, 200),
    gt("Truck", 2000, 100, 2100, 200),
    gt("Person_sitting", 2000, 100, 2100, 200),
)
ELSEWHERE = dt("Car", 2000, 100, 2100, 200, 0.95)
REGION = gt("DontCare", 1300, 20, 2100, 200)
LOW = gt("Car", 1400, 100, 1500, 140)
A, B = gt("Car", 0, 100, 100, 200), gt("Car", 20, 100, 120, 200)
BETWEEN = [dt("Car", 11, 100, 111, 200, 0.9), dt("Car", 0, 100, 100, 200, 0.5)]
BESIDE, BEHIND = gt("Van", 0, 100, 100, 200), gt("Car", 10, 100, 110, 200)
# annotations, detections, and R40 of the easy level and of the two others
HAND = {
    "eight cars, all found": (cars(), found(), 17.5, 17.5),
    "K1 one car": (cars(0, 1), found(0, 1), 0, 0),
    "K2 a van is found as a car": ([*cars(), VAN], [*found(), ELSEWHERE], 17.5, 17.5),
    "K2b a truck is": ([*cars(), TRUCK], [*found(), ELSEWHERE], 15.555555556, 15.555555556),
    "K9 a false one ties with the first": (cars(), [*found(), ELSEWHERE | {"score": 0.9}], 15.555555556, 15.555555556),
    "K3 in a region": ([*cars(), REGION], [*found(), dt("Car", 1800, 120, 1900, 220, 0.95)], 17.5, 17.5),
    "K3b less than .7 in a region": (
        [*cars(), REGION], [*found(), dt("Car", 1800, 140, 1900, 240, 0.95)], 15.555555556, 15.555555556,
    ),
    "K4 one of 40 px": ([*cars(0, 7), LOW], [*found(0, 7), dt("Car", 1400, 100, 1500, 140, 0.95)], 15, 17.5),
    "K4b a false one of 39.5 px": (cars(), [*found(), dt("Car", 2000, 100, 2100, 139.5, 0.95)], 17.5, 15.555555556),
    "K4c of 40 px": (cars(), [*found(), dt("Car", 2000, 100, 2100, 140, 0.95)], 15.555555556, 15.555555556),
    "K5 a small one of another class uses up a car": (
        [*cars(0, 7), gt("Car", 1400, 100, 1500, 145)],
        [*found(0, 7), dt("Pedestrian", 1400, 103, 1500, 142, 0.95), dt("Car", 1400, 100, 1500, 145, 0.1)], 15, 17.5,
    ),
    "K7 IoU .7": ([gt("Car", 0, 0, 170, 100), *cars(1)], [dt("Car", 30, 0, 200, 100, 0.9), *found(1)], 13.125, 13.125),
    "K12 the order of annotations": ([A, B, *cars(2)], [*BETWEEN, *found(2)], 15, 15),
    "K12 the other order": ([B, A, *cars(2)], [*BETWEEN, *found(2)], 17.5, 17.5),
    "K15 the van comes first": ([BESIDE, BEHIND, *cars(1)], [dt("Car", 6, 100, 106, 200, 0.9), *found(1)], 15, 15),
    "K15 the car comes first": ([BEHIND, BESIDE, *cars(1)], [dt("Car", 6, 100, 106, 200, 0.9), *found(1)], 17.5, 17.5),
}  # fmt: skip


@pytest.mark.parametrize("case", HAND)
def test_the_kits_numbers(case: str) -> None:
    annotations, detections, easy, others = HAND[case]
    values = numbers(apf.evaluate(dataset(annotations), pl.DataFrame(detections), protocol=apf.KITTI))
    assert values == pytest.approx([easy, others, others], abs=1e-8)


@pytest.mark.slow
def test_eleven_positions() -> None:
    def at_11(annotations: list[Row], detections: list[Row]) -> list[float | None]:
        return numbers(apf.evaluate(dataset(annotations), pl.DataFrame(detections), "kitti", recall_positions=11))

    assert at_11(cars(), found()) == pytest.approx([18.181818182] * 3, abs=1e-8)
    assert at_11(cars(0, 1), found(0, 1)) == pytest.approx([9.090909091] * 3, abs=1e-8)
    assert at_11([*cars(), TRUCK], [*found(), ELSEWHERE]) == pytest.approx([16.161616162] * 3, abs=1e-8)


@pytest.mark.parametrize("iou_type", ["bev", "3d"])
def test_k3_regions_are_of_the_image_alone(iou_type: str) -> None:
    def placed(row: Row, x: float) -> Row:
        place = {"cuboid_x": x, "cuboid_y": 20.0, "cuboid_z": 1.0}
        return row | place | {"cuboid_length": 4.0, "cuboid_width": 2.0, "cuboid_height": 1.5, "cuboid_yaw": 0.0}

    annotations = [*(placed(row, 10 * i) for i, row in enumerate(cars())), REGION]
    detections = [*(placed(row, 10 * i) for i, row in enumerate(found())), placed(dt("Car", 1800, 120, 1900, 220, 0.95), 200)]
    ev = apf.evaluate(dataset(annotations), pl.DataFrame(detections), protocol=apf.KITTI, iou_type=iou_type)
    assert numbers(ev) == pytest.approx([15.555555556] * 3, abs=1e-8)


@pytest.mark.slow
def test_perfect_results_need_41_positives_for_a_perfect_number() -> None:
    for n, at_40, at_11 in ((1, 0, 100 / 11), (8, 17.5, 200 / 11), (40, 97.5, 1000 / 11), (41, 100, 100), (50, 100, 100)):
        annotations, detections = [gt("Car", 0, 0, 100, 100, image_id=str(i)) for i in range(n)], []
        detections = [dt("Car", 0, 0, 100, 100, (n - i) / n, image_id=str(i)) for i in range(n)]
        for positions, expected in ((40, at_40), (11, at_11)):
            ev = apf.evaluate(dataset(annotations), pl.DataFrame(detections), "kitti", recall_positions=positions)
            assert numbers(ev) == pytest.approx([expected] * 3, abs=1e-9)
            assert numbers(ev, metric="AOS") == pytest.approx([expected] * 3, abs=1e-9)


def test_k10_sitting_persons_are_neighbours_of_pedestrians() -> None:
    annotations = [row | {"category_id": "Pedestrian"} for row in cars()] + [SITTING]
    detections = [row | {"category_id": "Pedestrian"} for row in (*found(), ELSEWHERE)]
    ev = apf.evaluate(dataset(annotations), pl.DataFrame(detections), protocol=apf.KITTI)
    assert numbers(ev, "Pedestrian") == pytest.approx([17.5] * 3, abs=1e-8)
    assert numbers(ev, "Car") == [None] * 3


def test_k13_the_exact_one_faces_backwards() -> None:
    turned = [dt("Car", 10, 100, 110, 200, 0.95), dt("Car", 0, 100, 100, 200, 0.7, alpha=math.pi), *found(1)]
    ev = apf.evaluate(dataset(cars()), pl.DataFrame(turned), protocol=apf.KITTI)
    assert numbers(ev) == pytest.approx([16.388888889] * 3, abs=1e-8)
    assert numbers(ev, metric="AOS") == pytest.approx([15.277777778] * 3, abs=1e-8)


def test_no_matching_fits_levels_and_a_definition_without_cut_offs() -> None:
    with pytest.raises(ParameterError, match=r"interpolated goes with no matching where levels have `detections`$"):
        replace(apf.KITTI, metrics=(AveragePrecision(Interpolated()),), headlines=("AP",))


def test_levels_that_leave_out_detections_are_apart_from_the_others() -> None:
    """A level has the same numbers alone and beside levels with other void detections."""
    bounds = (("height", 0.0, 1000.0),)
    easy = Level("easy", bounds, (("height", 60.0),))
    narrow = Level("narrow", bounds, (("height", 90.0),), keeps=(("width", 0.0, 95.0),))
    annotations = [gt("Car", 200 * i, 100, 200 * i + 80, 180 + 4 * i) for i in range(8)]
    detections = [dt("Car", 200 * i, 100, 200 * i + 80 + 3 * i, 180 + 4 * i, 0.9 - 0.05 * i) for i in range(8)]

    def counts(*levels: Level) -> pl.DataFrame:
        protocol = replace(apf.KITTI, ranges=levels, headlines=("AP", "AP{area}"))
        evaluation = apf.evaluate(dataset(annotations), pl.DataFrame(detections), protocol)
        return evaluation.metrics.filter(area_range="narrow").drop("area_range")

    alone = counts(narrow)
    assert counts(easy, narrow).equals(alone) and counts(narrow, easy).equals(alone)
    assert alone.filter(category_id="Car")["n_detections"].item() not in (0, 8)


@pytest.mark.slow
def test_k14_one_detection_without_alpha_leaves_no_orientation() -> None:
    unknown = [*found()[:-1], found()[-1] | {"alpha": None}]
    ev = apf.evaluate(dataset(cars()), pl.DataFrame(unknown), protocol=apf.KITTI)
    assert numbers(ev, metric="AOS") == [None] * 3 and numbers(ev) == pytest.approx([17.5] * 3, abs=1e-8)
    without = apf.evaluate(dataset(cars()), pl.DataFrame(found()).drop("alpha"), protocol=apf.KITTI)
    assert numbers(without, metric="AOS") == [None] * 3
    for category in ("Pedestrian", "Truck"):  # the latter is not evaluated
        other = dt(category, 3000, 0, 3100, 100, 0.5, alpha=None)
        ev = apf.evaluate(dataset(cars()), pl.DataFrame([*found(), other]), protocol=apf.KITTI)
        assert numbers(ev, metric="AOS") == [None] * 3 and numbers(ev) == pytest.approx([17.5] * 3, abs=1e-8)
        assert "no AOS: 1 of 9 detections without alpha (-10 in files)" in ev.notes
        assert numbers(ev.where("name = 'Car'"), metric="AOS") == [None] * 3


def street(*, shifted: bool) -> tuple[list[Row], list[Row]]:
    """K21, or K20 where detections are not shifted and turned a little further."""

    def cuboid(x: float, y: float, z: float, rotation: float) -> Row:
        names = ("cuboid_x", "cuboid_y", "cuboid_z", "cuboid_length", "cuboid_width", "cuboid_height", "cuboid_yaw")
        return dict(zip(names, (round(x, 6), round(z, 6), 0.75 - round(y, 6), 3.9, 1.6, 1.5, -round(rotation, 6)), strict=True))

    annotations, detections = [], []
    for i in range(50):
        image, place = divmod(i, 10)
        key, alpha, rotation = {"image_id": f"{image:06d}"}, round(0.1 * (i % 3), 6), 0.3 * i % 3
        z, dx, turn = 20 + 2 * image, 0.02 * shifted, 0.01 * shifted
        annotations.append(gt("Car", 100 * place, 100, 100 * place + 60, 150, occluded=i % 3, alpha=alpha, **key)
                           | cuboid(10 * place, 1.5, z, rotation))  # fmt: skip
        if i % 7:
            left, score = 100 * place + i % 5, round(1 - (37 * i % 50) / 50, 6)
            detections.append(
                dt("Car", left, 100, left + 60, 150, score, alpha=round(alpha + 0.2 * (i % 4), 6), **key)
                | cuboid(10 * place + 0.1 * (i % 4) + dx, 1.5 + 0.05 * (i % 2), z, rotation + 0.05 * (i % 3) + turn)
            )
        if i % 6 == 0:
            score = round((13 * i % 50) / 50, 6)
            detections.append(dt("Car", 100 * place, 300, 100 * place + 60, 350, score, **key) | cuboid(10 * place, 1.5, 60, 0))
    return annotations, detections


# case, what is compared, metric; R11 and R40 of the three levels
STREET = [
    (True, "bbox", "AP", (23.691460055, 51.919191919, 70.674982912), (21.060606061, 53.611111111, 72.737218045)),
    (True, "bbox", "AOS", (22.727589844, 49.952463790, 67.638735305), (20.228296172, 51.507665170, 69.699670287)),
    (True, "bev", "AP", (12.918660287, 36.199836200, 54.635711779), (11.765350877, 38.079372476, 54.501004144)),
    (False, "3d", "AP", (12.918660287, 36.199836200, 54.635711779), (11.765350877, 38.079372476, 54.501004144)),
    (True, "3d", "AP", (11.688311688, 32.860560492, 44.451687309), (9.532967033, 31.575187970, 45.336275885)),
]


@pytest.mark.slow
@pytest.mark.parametrize("positions", [11, 40])
@pytest.mark.parametrize(("shifted", "iou_type", "metric", "r11", "r40"), STREET)
def test_k21_and_k20(
    shifted: bool, iou_type: str, metric: str, r11: tuple[float, ...], r40: tuple[float, ...], positions: int
) -> None:
    annotations, detections = street(shifted=shifted)
    ev = apf.evaluate(dataset(annotations), pl.DataFrame(detections), "kitti", iou_type=iou_type, recall_positions=positions)
    assert numbers(ev, metric=metric) == pytest.approx(r11 if positions == 11 else r40, abs=1e-8)


SOME_TYPES = [each for each, n in zip(TYPES, (8, 2, 1, 4, 2, 2, 1), strict=True) for _ in range(n)]


def one_of(random: np.random.Generator, values: Sequence[Any]) -> Any:
    return values[random.integers(len(values))]  # faster than `random.choice`, which makes an array of them


def generated(random: np.random.Generator, n_images: int) -> tuple[list[Row], list[Row]]:
    """Crowded images with all types, of heights around the limits; results near objects, and elsewhere, no two scores equal."""
    annotations, detections = [], []
    for image in range(n_images):
        key = {"image_id": f"{image:06d}"}
        for _ in range(random.integers(1, 8)):
            left, top = random.integers(0, 60, 2)
            width, height = one_of(random, [20, 30, 60]), one_of(random, [20, 24, 25, 26, 39, 40, 41, 60])
            attributes = {"occluded": int(random.integers(0, 4)), "truncated": one_of(random, [0.0, 0.15, 0.2, 0.3, 0.6])}
            category = one_of(random, SOME_TYPES)
            row = gt(category, left, top, left + width, top + height, alpha=float(random.uniform(-3, 3)), **attributes, **key)
            annotations.append(row)
            for _ in range(random.integers(0, 4)):
                right, down = (one_of(random, [0, 0, 1, 2, 3, 5]) for _ in range(2))
                kind = category if random.random() < 0.8 else one_of(random, TYPES[:-1])
                bottom = top + height + one_of(random, [0, 0, -1, 1])
                moved = dt(kind, left + right, top + down, left + width + right, bottom + down, 0.0, **key)
                detections.append(moved | {"alpha": float(random.uniform(-3, 3))})
    if not detections:
        detections = [dt("Car", 0, 0, 30, 30, 0.0, image_id="000000")]
    scores = (random.permutation(len(detections)) + 1) / (len(detections) + 1)
    return annotations, [row | {"score": float(score)} for row, score in zip(detections, scores, strict=True)]


data = st.builds(lambda seed, n: generated(np.random.default_rng(seed), n), st.integers(0, 2**32), st.integers(1, 5))


def evaluated(annotations: list[Row], detections: list[Row], **options: Any) -> apf.Evaluation:
    images = sorted({row["image_id"] for row in annotations})
    return apf.evaluate(dataset(annotations, images), pl.DataFrame(detections), protocol=apf.KITTI, **options)


def with_cuboids(random: np.random.Generator, rows: list[Row]) -> list[Row]:
    """The rows with cuboids that overlap about as much as their boxes; a few, and regions, have none."""

    def near(value: float, by: float) -> float:
        return float(value + random.normal(0, by))

    names = ("x", "y", "z", "length", "width", "height", "yaw")
    made = []
    for row in rows:
        width, height = row["width"] / 12, row["height"] / 15
        places = (near(row["x"] / 12, 0.02), near(row["y"] / 12, 0.02), near(0.8, 0.05), width, height, near(1.5, 0.05))
        has_none = row["category_id"] == "DontCare" or random.random() < 0.05
        cuboid = [None] * 7 if has_none else [*places, near(0.4, 0.04)]
        made.append(row | dict(zip([f"cuboid_{name}" for name in names], cuboid, strict=True)))
    return made


def same_as_loops(
    ev: apf.Evaluation, annotations: list[Row], detections: list[Row], positions: int = 40, iou_type: str = "bbox"
) -> None:
    alike, is_boxes = OVERLAPS.get(iou_type, kitti_reference.overlap), iou_type == "bbox"
    for name in kitti_reference.NAMES:
        loops = [
            kitti_reference.evaluate(annotations, detections, name, level, positions, alike, regions=is_boxes)
            for level in LEVELS
        ]
        for metric, expected in zip(("AP", "AOS") if is_boxes else ("AP",), zip(*loops, strict=True), strict=False):
            scaled = [None if value is None else 100 * value for value in expected]
            assert numbers(ev, name, metric) == pytest.approx(scaled, abs=1e-7), (name, metric)


def same_on_sets(seeds: range, iou_type: str, positions: int) -> None:
    sets, alike = {}, remembered(OVERLAPS.get(iou_type, kitti_reference.overlap))
    for seed in seeds:
        random = np.random.default_rng(seed)
        sets[seed] = generated(random, 4 + seed % 5)
        if iou_type != "bbox":
            sets[seed] = with_cuboids(random, sets[seed][0]), with_cuboids(random, sets[seed][1])
    table = slices_of(sets, TYPES, apf.KITTI, "category", iou_type=iou_type, recall_positions=positions)
    by_set = {(row["set"], row["name"]): row for row in table.rows(named=True)}
    n_found = 0
    for seed, rows in sets.items():
        for name in kitti_reference.NAMES:
            for level in LEVELS:
                ap, aos = kitti_reference.evaluate(*rows, name, level, positions, alike, regions=iou_type == "bbox")
                row = by_set.get((seed, name), {})
                assert row.get(f"AP_{level}") == pytest.approx(ap, abs=1e-9), (seed, name, level)
                assert iou_type != "bbox" or row.get(f"AOS_{level}") == pytest.approx(aos, abs=1e-9), (seed, name, level)
                n_found += bool(ap)
    assert n_found > len(sets)


@pytest.mark.parametrize("iou_type", ["bbox", "bev", "3d"])
def test_as_plain_loops_on_fifty_sets(iou_type: str) -> None:
    same_on_sets(range(50), iou_type, 40)


@pytest.mark.slow
@pytest.mark.parametrize(("iou_type", "positions"), [("bbox", 11), ("bbox", 40), ("bev", 40), ("3d", 40)])
def test_as_plain_loops_on_five_hundred_sets(iou_type: str, positions: int) -> None:
    same_on_sets(range(50, 550), iou_type, positions)


@half_as_often
@given(data, st.sampled_from([11, 40]))
def test_as_plain_loops(sets: tuple[list[Row], list[Row]], positions: int) -> None:
    annotations, detections = sets
    same_as_loops(evaluated(annotations, detections, recall_positions=positions), annotations, detections, positions)


@pytest.mark.slow
@half_as_often
@given(data)
def test_classes_of_a_choice_have_the_sizesof_all(sets: tuple[list[Row], list[Row]]) -> None:
    if not any(row["category_id"] == "Car" for row in sets[0]):
        return
    every, alone = evaluated(*sets), evaluated(*sets, categories=["Car"])
    assert numbers(alone) == pytest.approx(numbers(every), abs=1e-9) and numbers(alone, "Cyclist") == [None] * 3
    part = every.where("name = 'Car'")
    assert numbers(part) == pytest.approx(numbers(every), abs=1e-9)


@pytest.mark.slow
@half_as_often
@given(data, st.data())
def test_slices_of_images_are_evaluations_of_them(sets: tuple[list[Row], list[Row]], draw: st.DataObject) -> None:
    annotations, detections = sets
    images = sorted({row["image_id"] for row in annotations})
    values = [draw.draw(st.sampled_from("ab")) for _ in images]
    weather = dict(zip(images, values, strict=True))
    whole = apf.evaluate(
        dataset(annotations, images).with_images(pl.DataFrame({"image_id": images, "weather": values})),
        pl.DataFrame(detections), protocol=apf.KITTI,
    )  # fmt: skip
    table = whole.by("weather", level="category")
    for value in set(values):
        own = [[row for row in rows if weather[row["image_id"]] == value] for rows in (annotations, detections)]
        part = whole.where(f"weather = '{value}'")
        same_as_loops(part, *own)
        for row in table.filter(weather=value).rows(named=True):
            expected = (
                [kitti_reference.evaluate(*own, row["name"], level) for level in LEVELS]
                if row["name"] in kitti_reference.NAMES
                else []
            )
            assert [row[f"AP_{level}"] for level in LEVELS] == pytest.approx([ap for ap, _ in expected], abs=1e-9)
            assert [row[f"AOS_{level}"] for level in LEVELS] == pytest.approx([aos for _, aos in expected], abs=1e-9)


@half_as_often
@given(data)
def test_counts_at_every_cut_off_are_those_of_the_second_pass(sets: tuple[list[Row], list[Row]]) -> None:
    annotations, detections = sets
    ev = evaluated(annotations, detections)
    for level in LEVELS:
        table = ev.thresholds(area_range=level)
        for row in table.rows(named=True):
            images = kitti_reference.images_of(annotations, detections, row["name"], level)
            counts = [
                kitti_reference.second_pass(
                    image,
                    kitti_reference.THRESHOLDS[row["name"]],
                    row["score_threshold"],
                    kitti_reference.overlap,
                    regions=True,
                )
                for image in images
            ]
            assert [row[name] for name in ("tp", "fp", "fn")] == [sum(each) for each in list(zip(*counts, strict=True))[:3]]
        curve = ev.curves(area_range=level)
        assert curve.select("score", "tp", "fp", "precision").rows() == table.filter(tp=0, fp=0).height * [] + [
            (row["score_threshold"], row["tp"], row["fp"], row["precision"])
            for row in table.rows(named=True) if row["tp"] + row["fp"]
        ]  # fmt: skip


@half_as_often
@given(data)
def test_matches_are_those_of_all_detections(sets: tuple[list[Row], list[Row]]) -> None:
    annotations, detections = sets
    ev = evaluated(annotations, detections)
    for level in LEVELS:
        outcomes = ev.matches(area_range=level).group_by("category_id").agg(
            *((pl.col("outcome") == name).sum().alias(name) for name in ("tp", "fp", "fn"))
        )  # fmt: skip
        for name, *counted in outcomes.rows():
            images = kitti_reference.images_of(annotations, detections, name, level)
            threshold = kitti_reference.THRESHOLDS[name]
            counts = [
                kitti_reference.second_pass(each, threshold, 0.0, kitti_reference.overlap, regions=True) for each in images
            ]
            assert counted == [sum(each) for each in list(zip(*counts, strict=True))[:3]]


@pytest.mark.slow
@half_as_often
@given(data, st.integers(0, 2**32))
def test_image_weights_are_copies_of_images(sets: tuple[list[Row], list[Row]], seed: int) -> None:
    annotations, detections = sets
    images = sorted({row["image_id"] for row in annotations})
    weights = np.random.default_rng(seed).integers(0, 4, len(images))
    if not weights.sum():
        return
    frame = pl.DataFrame({"image_id": images, "weight": weights})
    ev = apf.evaluate(dataset(annotations, images).with_images(frame), pl.DataFrame(detections), protocol=apf.KITTI)
    known = ev.intervals(weights="weight", n_resamples=1, method="bootstrap") if len(images) > 1 else None
    if known is None:
        return
    estimates = dict(known.select("metric", "estimate").rows())
    copied = [
        [row | {"image_id": f"{row['image_id']}-{copy}"} for row in rows
         for copy in range(int(weights[images.index(row["image_id"])]))]
        for rows in (annotations, detections)
    ]  # fmt: skip
    for name in kitti_reference.NAMES:
        for level in LEVELS:
            ap, aos = kitti_reference.evaluate(*copied, name, level)
            assert estimates[f"AP_{name}_{level}"] == pytest.approx(ap, abs=1e-9)
            assert estimates[f"AOS_{name}_{level}"] == pytest.approx(aos, abs=1e-9)


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"^matching: definition r40 does not go with matching 'score'; use both of one"):
        apf.KITTI.with_options(matching="score")
    with pytest.raises(ParameterError, match=r"^matching: definition coco101 does not go with matching 'by_annotation'"):
        apf.COCO.with_options(matching="by_annotation")
    with pytest.raises(ParameterError, match=r"^recall_positions are 40 or 11, not 12"):
        apf.KITTI.with_options(recall_positions=12)
    with pytest.raises(ParameterError, match=r"^recall_positions: the definition coco101 does not use recall positions"):
        apf.COCO.with_options(recall_positions=11)
    with pytest.raises(ParameterError, match=r"^area_ranges:? KITTI has levels of difficulty in place of area ranges"):
        apf.KITTI.with_options(area_ranges={"small": (0, 9)})
    with pytest.raises(ParameterError, match=r"^max_detections:? matching 'by_annotation' takes one number"):
        apf.KITTI.with_options(max_detections=[1, 10])
    ranked = pl.DataFrame({"relevant": [1], "score": [1.0]})
    with pytest.raises(ParameterError, match=r"^definition: r40 is made of counts at score cut-offs"):
        ranked.select(average_precision("relevant", "score", n_positives=1, definition="r40"))
    ev = apf.evaluate(dataset(cars()), pl.DataFrame(found()), protocol=apf.KITTI)
    with pytest.raises(ParameterError, match=r"^protocol: KITTI matches again at every score cut-off"):
        ev.error_impact()
    with pytest.raises(ParameterError, match=r"^arrays: r40 has no recall levels"):
        ev.arrays()


def test_missing_columns_and_classes_are_named() -> None:
    plain = dataset([{name: value for name, value in row.items() if name != "occluded"} for row in cars()])
    with pytest.raises(ColumnError, match=r"^annotations: no column occluded; add it, as null where it is unknown"):
        apf.evaluate(plain, pl.DataFrame(found()), protocol=apf.KITTI)
    named = apf.Dataset({"image_id": ["000000"]}, {"category_id": ["vehicle"], "name": ["vehicle"]}, {})
    with pytest.raises(
        ParameterError, match=r"^protocol: KITTI evaluates .Car., .Pedestrian., .Cyclist., but the categories are .vehic"
    ):
        apf.evaluate(named, {}, protocol=apf.KITTI)


@pytest.mark.parametrize("table", ["annotations", "detections"])
@pytest.mark.parametrize("iou_type", ["bbox", "bev", "3d"])
def test_cuboids_need_the_box_in_the_image(table: str, iou_type: str) -> None:
    sides = dict(zip(("annotations", "detections"), street(shifted=False), strict=True))
    box = {"x", "y", "width", "height", "bbox"}
    sides[table] = [{name: value for name, value in row.items() if name not in box} for row in sides[table]]
    problem = rf"^{table}: no column x, y, width, height; KITTI needs the box in the image, in pixels, beside the cuboid"
    with pytest.raises(ColumnError, match=problem):
        apf.evaluate(dataset(sides["annotations"]), pl.DataFrame(sides["detections"]), protocol=apf.KITTI, iou_type=iou_type)


@pytest.mark.parametrize(
    ("table", "column"),
    [("annotations", "truncated"), ("annotations", "occluded"), ("annotations", "alpha"), ("detections", "alpha")],
)
def test_what_is_no_finite_number_is_refused(table: str, column: str) -> None:
    sides = {"annotations": cars(), "detections": found()}
    key = f"{table.removesuffix('s')}_id"
    for value, error, problem in (
        ("1", ColumnError, rf"^{table}\.{column} must hold numbers, not String$"),
        (float("nan"), RowError, rf"^{table}: {column} is not a finite number where {key} is 1, 2, 3, "),
    ):
        changed = sides | {table: [row | {column: value} for row in sides[table]]}
        with pytest.raises(error, match=problem):
            apf.evaluate(dataset(changed["annotations"]), pl.DataFrame(changed["detections"]), protocol=apf.KITTI)


def test_detections_are_counted_without_their_copies() -> None:
    low = dt("Car", 2000, 100, 2100, 120, 0.3)  # of 20 px, with a copy in each other class
    with pytest.warns(UnknownCategoryWarning, match=r"^1 of 9 detections has an unknown category_id and was dropped: 'Cars'"):
        ev = apf.evaluate(dataset(cars()), pl.DataFrame([*found(0, 7), low, found(7)[0] | {"category_id": "Cars"}]), "kitti")
    assert "8 detections" in repr(ev)


def test_low_detections_do_not_stop_intervals_by_category() -> None:
    annotations = [gt("Car", 0, 0, 100, 100, image_id=str(i)) for i in range(4)]
    detections = [dt("Car", 0, 0, 100, 100 - 80 * (i == 3), 0.9, image_id=str(i)) for i in range(4)]
    ev = apf.evaluate(dataset(annotations), pl.DataFrame(detections), protocol=apf.KITTI)
    table = ev.intervals(by="name", n_resamples=3, method="bootstrap").filter(metric="AP_moderate", name="Car")
    assert table["estimate"].to_list() == pytest.approx([2 / 40])


def test_the_number_that_stands_for_all_is_of_the_moderate_level() -> None:
    ev = apf.evaluate(dataset(cars()), pl.DataFrame(found()), protocol=apf.KITTI)
    assert ev.to_dict(per_category=True)["AP_moderate/Car"] == pytest.approx(0.175)


def text_of(row: Row) -> str:
    """A row as a line of KITTI's files, with six decimals."""
    height, middle = row["cuboid_height"], row["cuboid_z"]
    sizes = [
        *(row["x"], row["y"], row["x"] + row["width"], row["y"] + row["height"]), height, row["cuboid_width"],
        row["cuboid_length"], row["cuboid_x"], height / 2 - middle, row["cuboid_y"], -row["cuboid_yaw"],
        *([row["score"]] if "score" in row else []),
    ]  # fmt: skip
    front = [row["category_id"], f"{row.get('truncated', -1):.6f}", str(row.get("occluded", -1)), f"{row['alpha']:.6f}"]
    return " ".join([*front, *(f"{number:.6f}" for number in sizes)])


def as_files(folder: Path, rows: list[Row]) -> str:
    """A folder with a file for each image."""
    folder.mkdir()
    for image in sorted({row["image_id"] for row in rows}):
        lines = [text_of(row) for row in rows if row["image_id"] == image]
        (folder / f"{image}.txt").write_text("\n".join(lines) + "\n")
    return str(folder)


@pytest.mark.slow
@pytest.mark.parametrize(("shifted", "iou_type", "metric", "r11", "r40"), STREET)
def test_k21_and_k20_from_files_to_numbers_by_the_command(
    shifted: bool, iou_type: str, metric: str, r11: tuple[float, ...], r40: tuple[float, ...],
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    paths = [as_files(tmp_path / name, rows) for name, rows in zip(("label_2", "found"), street(shifted=shifted), strict=True)]
    for further, expected in (((), r40), (("--recall-positions", "11"), r11)):
        arguments = ("eval", *paths, "--protocol", "kitti", "--iou-type", iou_type, "--json", *further)
        code, printed, _ = command(capsys, monkeypatch, *arguments)
        values = json.loads(printed)
        assert code == 0
        assert [100 * values[f"{metric}_Car_{level}"] for level in LEVELS] == pytest.approx(expected, abs=1e-8)


@pytest.mark.slow
def test_two_results_are_compared_by_the_moderate_level(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    annotations, better = street(shifted=True)
    worse = [row for row in better if row["score"] > 0.3]
    paths = [as_files(tmp_path / name, rows) for name, rows in (("label_2", annotations), ("a", better), ("b", worse))]
    arguments = ("compare", *paths, "--protocol", "kitti", "--n-resamples", "50")
    code, printed, _ = command(capsys, monkeypatch, *arguments)
    a, b = (apf.evaluate(paths[0], path, apf.KITTI)["AP_moderate"] for path in paths[1:])
    assert code == 0 and f"b is worse by {a - b:.3f} AP_moderate" in printed
    code, printed, _ = command(capsys, monkeypatch, *arguments, "--json")
    rows = {row["metric"]: row for row in json.loads(printed)}
    assert 100 * rows["AP_Car_moderate"]["estimate_a"] == pytest.approx(STREET[0][4][1], abs=1e-8)
    assert rows["AP_moderate"]["difference"] == pytest.approx(b - a) and a > b
    assert rows["AP_moderate"]["low"] <= rows["AP_moderate"]["difference"] <= rows["AP_moderate"]["high"] < 0
