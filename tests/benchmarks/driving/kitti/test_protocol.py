"""KITTI: the development kit's numbers on hand cases, its rules one by one, and what plain loops count at each cut-off."""

from __future__ import annotations

import json
import math
import pickle
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
from apframe.protocols.levels import Level
from tests.benchmarks.driving.kitti import reference
from tests.benchmarks.driving.kitti.row import TYPES, dt, generated, gt, of_classes
from tests.cli.test_command import command
from tests.conformance.samples import images_of, sample_of_rows, together
from tests.parity.strategies import half_as_often
from tests.protocols.generated import on_many_sets

Row = dict[str, Any]
Sets = tuple[list[Row], list[Row]]
LEVELS = [*reference.LEVELS]

pytestmark = [
    pytest.mark.filterwarnings(f"ignore::apframe.exceptions.{name}")
    for name in ("NoAnnotationsWarning", "NothingMatchesWarning", "FewUnitsWarning")
]


def evaluated(annotations: list[Row], detections: list[Row], **options: Any) -> apf.Evaluation:
    images = images_of(annotations)
    truth = apf.Dataset({"image_id": images}, {"category_id": TYPES, "name": TYPES}, pl.DataFrame(annotations))
    return apf.evaluate(truth, pl.DataFrame(detections), **({"protocol": apf.KITTI} | options))


def without(rows: list[Row], *names: str) -> list[Row]:
    return [{name: value for name, value in row.items() if name not in names} for row in rows]


def numbers(evaluation: apf.Evaluation, name: str = "Car", metric: str = "AP") -> list[float | None]:
    """Those of a class at the three levels, in per cent as the kit has them."""
    values = dict(evaluation.summary.rows())
    return [None if (value := values[f"{metric}_{name}_{level}"]) is None else 100 * value for level in LEVELS]


def cars(first: int = 0, last: int = 8) -> list[Row]:
    return [gt("Car", 200 * i, 100, 200 * i + 100, 200) for i in range(first, last)]


def found(first: int = 0, last: int = 8) -> list[Row]:
    return [dt("Car", 200 * i, 100, 200 * i + 100, 200, 0.9 - 0.05 * i) for i in range(first, last)]


VAN, TRUCK, SITTING = (gt(name, 2000, 100, 2100, 200) for name in ("Van", "Truck", "Person_sitting"))
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
AT_11 = {"eight cars, all found": 18.181818182, "K1 one car": 9.090909091, "K2b a truck is": 16.161616162}


@pytest.mark.parametrize("case", HAND)
def test_the_kits_numbers(case: str) -> None:
    annotations, detections, easy, others = HAND[case]
    assert numbers(evaluated(annotations, detections)) == pytest.approx([easy, others, others], abs=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("case", AT_11)
def test_eleven_positions(case: str) -> None:
    ev = evaluated(*HAND[case][:2], recall_positions=11)
    assert numbers(ev) == pytest.approx([AT_11[case]] * 3, abs=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("iou_type", ["bev", "3d"])
def test_k3_regions_are_of_the_image_alone(iou_type: str) -> None:
    def placed(row: Row, x: float) -> Row:
        place = {"cuboid_x": x, "cuboid_y": 20.0, "cuboid_z": 1.0}
        return row | place | {"cuboid_length": 4.0, "cuboid_width": 2.0, "cuboid_height": 1.5, "cuboid_yaw": 0.0}

    annotations = [*(placed(row, 10 * i) for i, row in enumerate(cars())), REGION]
    detections = [*(placed(row, 10 * i) for i, row in enumerate(found())), placed(dt("Car", 1800, 120, 1900, 220, 0.95), 200)]
    assert numbers(evaluated(annotations, detections, iou_type=iou_type)) == pytest.approx([15.555555556] * 3, abs=1e-8)


@pytest.mark.slow
def test_perfect_results_need_41_positives_for_a_perfect_number() -> None:
    for n, at_40, at_11 in ((1, 0, 100 / 11), (8, 17.5, 200 / 11), (40, 97.5, 1000 / 11), (41, 100, 100), (50, 100, 100)):
        annotations = [gt("Car", 0, 0, 100, 100, image_id=str(i)) for i in range(n)]
        detections = [dt("Car", 0, 0, 100, 100, (n - i) / n, image_id=str(i)) for i in range(n)]
        for positions, expected in ((40, at_40), (11, at_11)):
            ev = evaluated(annotations, detections, recall_positions=positions)
            assert [*numbers(ev), *numbers(ev, metric="AOS")] == pytest.approx([expected] * 6, abs=1e-9)


@pytest.mark.slow
def test_k10_sitting_persons_are_neighbours_of_pedestrians() -> None:
    annotations = [row | {"category_id": "Pedestrian"} for row in cars()] + [SITTING]
    ev = evaluated(annotations, [row | {"category_id": "Pedestrian"} for row in (*found(), ELSEWHERE)])
    assert numbers(ev, "Pedestrian") == pytest.approx([17.5] * 3, abs=1e-8)
    assert numbers(ev, "Car") == [None] * 3


@pytest.mark.slow
def test_k13_the_exact_one_faces_backwards() -> None:
    ev = evaluated(cars(), [dt("Car", 10, 100, 110, 200, 0.95), dt("Car", 0, 100, 100, 200, 0.7, alpha=math.pi), *found(1)])
    assert numbers(ev) == pytest.approx([16.388888889] * 3, abs=1e-8)
    assert numbers(ev, metric="AOS") == pytest.approx([15.277777778] * 3, abs=1e-8)


@pytest.mark.slow
def test_levels_that_leave_out_detections_are_apart() -> None:
    """A level has the same numbers alone and beside levels with other void detections."""
    bounds = (("height", 0.0, 1000.0),)
    easy = Level("easy", bounds, (("height", 60.0),))
    narrow = Level("narrow", bounds, (("height", 90.0),), keeps=(("width", 0.0, 95.0),))
    annotations = [gt("Car", 200 * i, 100, 200 * i + 80, 180 + 4 * i) for i in range(8)]
    detections = [dt("Car", 200 * i, 100, 200 * i + 80 + 3 * i, 180 + 4 * i, 0.9 - 0.05 * i) for i in range(8)]

    def counts(*levels: Level) -> pl.DataFrame:
        protocol = replace(apf.KITTI, ranges=levels, headlines=("AP", "AP{area}"))
        return evaluated(annotations, detections, protocol=protocol).metrics.filter(area_range="narrow").drop("area_range")

    alone = counts(narrow)
    assert counts(easy, narrow).equals(alone) and counts(narrow, easy).equals(alone)
    assert alone.filter(category_id="Car")["n_detections"].item() not in (0, 8)


@pytest.mark.slow
def test_k14_one_detection_without_alpha_leaves_no_orientation() -> None:
    ev = evaluated(cars(), [*found()[:-1], found()[-1] | {"alpha": None}])
    assert numbers(ev, metric="AOS") == [None] * 3 and numbers(ev) == pytest.approx([17.5] * 3, abs=1e-8)
    assert numbers(evaluated(cars(), without(found(), "alpha")), metric="AOS") == [None] * 3
    for category in ("Pedestrian", "Truck"):  # the latter is not evaluated
        ev = evaluated(cars(), [*found(), dt(category, 3000, 0, 3100, 100, 0.5, alpha=None)])
        assert numbers(ev, metric="AOS") == [None] * 3 and numbers(ev) == pytest.approx([17.5] * 3, abs=1e-8)
        assert "no AOS: 1 of 9 detections without alpha (-10 in files)" in ev.notes
        assert numbers(ev.where("name = 'Car'"), metric="AOS") == [None] * 3


def street(*, shifted: bool) -> Sets:
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


def as_files(folder: Path, rows: list[Row]) -> str:
    """A folder with a file for each image, with six decimals."""
    folder.mkdir()
    for row in rows:
        height, middle = row["cuboid_height"], row["cuboid_z"]
        sizes = [
            *(row["x"], row["y"], row["x"] + row["width"], row["y"] + row["height"]), height, row["cuboid_width"],
            row["cuboid_length"], row["cuboid_x"], height / 2 - middle, row["cuboid_y"], -row["cuboid_yaw"],
            *([row["score"]] if "score" in row else []),
        ]  # fmt: skip
        front = [row["category_id"], f"{row.get('truncated', -1):.6f}", str(row.get("occluded", -1)), f"{row['alpha']:.6f}"]
        with (folder / f"{row['image_id']}.txt").open("a") as file:
            file.write(" ".join([*front, *(f"{number:.6f}" for number in sizes)]) + "\n")
    return str(folder)


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
def test_k21_and_k20_of_rows_and_by_the_command(
    shifted: bool, iou_type: str, metric: str, r11: tuple[float, ...], r40: tuple[float, ...], positions: int,
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    sides, expected = street(shifted=shifted), pytest.approx(r11 if positions == 11 else r40, abs=1e-8)
    assert numbers(evaluated(*sides, iou_type=iou_type, recall_positions=positions), metric=metric) == expected
    paths = [as_files(tmp_path / name, rows) for name, rows in zip(("label_2", "found"), sides, strict=True)]
    further = ("--recall-positions", "11") if positions == 11 else ()
    arguments = ("eval", *paths, "--protocol", "kitti", "--iou-type", iou_type, "--json", *further)
    code, printed, _ = command(capsys, monkeypatch, *arguments)
    values = json.loads(printed)
    assert code == 0 and [100 * values[f"{metric}_Car_{level}"] for level in LEVELS] == expected


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


data = st.builds(lambda seed, n: generated(np.random.default_rng(seed), n), st.integers(0, 2**32), st.integers(1, 5))


@pytest.mark.slow
@half_as_often
@given(data, st.sampled_from([11, 40]))
def test_as_plain_loops(sets: Sets, positions: int) -> None:
    ev = evaluated(*sets, recall_positions=positions)
    for name, of_class in of_classes(*sets, positions).items():
        for metric in ("AP", "AOS"):
            expected = [value and 100 * value for key, value in of_class.items() if key.startswith(metric)]
            assert numbers(ev, name, metric) == pytest.approx(expected, abs=1e-7), (name, metric)


@pytest.mark.slow
@on_many_sets
def test_classes_of_slices_at_eleven_positions_as_plain_loops(seeds: range) -> None:
    sets = [generated(np.random.default_rng(seed), 4 + seed % 5) for seed in seeds]
    dataset, detections = together(
        [sample_of_rows(images_of(*each), *each, dict(zip(TYPES, TYPES, strict=True))) for each in sets]
    )
    table = apf.evaluate(dataset, detections, apf.KITTI, recall_positions=11).by("set", level="category")
    rows = {(row["set"], row["name"]): row for row in table.iter_rows(named=True)}
    for number, both in enumerate(sets):
        for name, expected in of_classes(*both, positions=11).items():
            row = rows.get((number, name), {})
            assert {metric: row.get(metric) for metric in expected} == pytest.approx(expected, abs=1e-9), (number, name)
    assert table.select(pl.col("^AP_.*$") > 0).sum().sum_horizontal().item() > len(sets)


@pytest.mark.slow
@half_as_often
@given(data)
def test_classes_of_a_choice_have_the_sizes_of_all(sets: Sets) -> None:
    if not any(row["category_id"] == "Car" for row in sets[0]):
        return
    every, alone = evaluated(*sets), evaluated(*sets, categories=["Car"])
    assert numbers(alone) == pytest.approx(numbers(every), abs=1e-9) and numbers(alone, "Cyclist") == [None] * 3
    assert numbers(every.where("name = 'Car'")) == pytest.approx(numbers(every), abs=1e-9)


def counted(sets: Sets, name: str, level: str, cut_off: float) -> list[float]:
    """True positives, false positives and misses by the second pass."""
    of_images = [
        reference.second_pass(image, reference.THRESHOLDS[name], cut_off, reference.overlap, regions=True)
        for image in reference.images_of(*sets, name, level)
    ]
    return [sum(each) for each in list(zip(*of_images, strict=True))[:3]]


@pytest.mark.slow
@half_as_often
@given(data)
def test_counts_at_cut_offs_are_those_of_the_second_pass(sets: Sets) -> None:
    ev, counts = evaluated(*sets), ("tp", "fp", "fn")
    for level in LEVELS:
        table = ev.thresholds(area_range=level)
        for row in table.rows(named=True):
            assert [row[name] for name in counts] == counted(sets, row["name"], level, row["score_threshold"])
        some = table.filter(pl.col("tp") + pl.col("fp") > 0).select("score_threshold", "tp", "fp", "precision")
        assert ev.curves(area_range=level).select("score", "tp", "fp", "precision").rows() == some.rows()
        outcomes = [(pl.col("outcome") == name).sum().alias(name) for name in counts]
        for name, *of_all in ev.matches(area_range=level).group_by("category_id").agg(outcomes).rows():
            assert of_all == counted(sets, name, level, 0.0)


# a protocol, options that it cannot have, and the message
REFUSED = [
    (apf.KITTI, {"matching": "score"}, "matching: definition r40 does not go with matching 'score'; use both of one"),
    (apf.COCO, {"matching": "by_annotation"}, "matching: definition coco101 does not go with matching 'by_annotation'"),
    (apf.KITTI, {"recall_positions": 12}, "recall_positions are 40 or 11, not 12"),
    (apf.COCO, {"recall_positions": 11}, "recall_positions: the definition coco101 does not use recall positions"),
    (apf.KITTI, {"area_ranges": {"small": (0, 9)}}, "area_ranges:? KITTI has levels of difficulty in place of area ranges"),
    (apf.KITTI, {"max_detections": [1, 10]}, "max_detections:? matching 'by_annotation' takes one number"),
]


@pytest.mark.parametrize(("protocol", "options", "message"), REFUSED)
def test_options_that_do_not_fit_are_refused(protocol: apf.Protocol, options: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=f"^{message}"):
        protocol.with_options(**options)


@pytest.mark.slow
def test_what_does_not_fit_levels_and_cut_offs_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"interpolated goes with no matching where levels have `detections`$"):
        replace(apf.KITTI, metrics=(AveragePrecision(Interpolated()),), headlines=("AP",))
    ranked = pl.DataFrame({"relevant": [1], "score": [1.0]})
    with pytest.raises(ParameterError, match=r"^definition: r40 is computed from counts at score cut-offs"):
        ranked.select(average_precision("relevant", "score", n_positives=1, definition="r40"))
    ev = evaluated(cars(), found())
    with pytest.raises(ParameterError, match=r"^protocol: KITTI matches again at every score cut-off"):
        ev.error_impact()
    with pytest.raises(ParameterError, match=r"^arrays: r40 has no recall levels"):
        ev.arrays()


def test_missing_columns_and_classes_are_named() -> None:
    with pytest.raises(ColumnError, match=r"^annotations: no column occluded; add it, as null where it is unknown"):
        evaluated(without(cars(), "occluded"), found())
    named = apf.Dataset({"image_id": ["000000"]}, {"category_id": ["vehicle"], "name": ["vehicle"]}, {})
    with pytest.raises(
        ParameterError, match=r"^protocol: KITTI evaluates .Car., .Pedestrian., .Cyclist., but the categories are .vehic"
    ):
        apf.evaluate(named, {}, protocol=apf.KITTI)


@pytest.mark.parametrize("table", ["annotations", "detections"])
@pytest.mark.parametrize("iou_type", ["bbox", "bev", "3d"])
def test_cuboids_need_the_box_in_the_image(table: str, iou_type: str) -> None:
    sides = dict(zip(("annotations", "detections"), street(shifted=False), strict=True))
    sides[table] = without(sides[table], "x", "y", "width", "height")
    problem = rf"^{table}: no column x, y, width, height; KITTI requires a box in pixels in addition to the cuboid"
    with pytest.raises(ColumnError, match=problem):
        evaluated(*sides.values(), iou_type=iou_type)


@pytest.mark.parametrize(
    ("table", "column"),
    [("annotations", "truncated"), ("annotations", "occluded"), ("annotations", "alpha"), ("detections", "alpha")],
)
def test_what_is_no_finite_number_is_refused(table: str, column: str) -> None:
    sides = {"annotations": cars(), "detections": found()}
    key = f"{table.removesuffix('s')}_id"
    for value, error, problem in (
        ("1", ColumnError, rf"^{table}\.{column} must hold numbers, not String$"),
        (float("nan"), RowError, rf"^{table}: {column} is not a finite number for {key} 1, 2, 3, "),
    ):
        changed = sides | {table: [row | {column: value} for row in sides[table]]}
        with pytest.raises(error, match=problem):
            evaluated(*changed.values())


def test_detections_are_counted_without_their_copies() -> None:
    low = dt("Car", 2000, 100, 2100, 120, 0.3)  # of 20 px, with a copy in each other class
    with pytest.warns(UnknownCategoryWarning, match=r"^1 of 9 detections has an unknown category_id and was dropped: 'Cars'"):
        ev = evaluated(cars(), [*found(0, 7), low, found(7)[0] | {"category_id": "Cars"}])
    assert "8 detections" in repr(ev)


@pytest.mark.slow
def test_low_detections_do_not_stop_intervals_by_category() -> None:
    annotations = [gt("Car", 0, 0, 100, 100, image_id=str(i)) for i in range(4)]
    ev = evaluated(annotations, [dt("Car", 0, 0, 100, 100 - 80 * (i == 3), 0.9, image_id=str(i)) for i in range(4)])
    table = ev.intervals(by="name", n_resamples=3, method="bootstrap").filter(metric="AP_moderate", name="Car")
    assert table["estimate"].to_list() == pytest.approx([2 / 40])


def test_the_number_that_stands_for_all_is_of_the_moderate_level() -> None:
    assert evaluated(cars(), found()).to_dict(per_category=True)["AP_moderate/Car"] == pytest.approx(0.175)


FILES = ("data/driving/kitti/label_2", "data/driving/kitti/model_a")
TABLE = """\
 class       difficulty       AP      AOS      BEV       3D
 Car         easy          58.13    57.98    42.55    13.74
 Car         moderate      49.42    47.48    33.87    11.71
 Car         hard          47.52    45.68    34.20    13.06
 Pedestrian  easy          51.08    48.84    16.19    10.45
 Pedestrian  moderate      53.53    52.83    17.02    12.42
 Pedestrian  hard          54.17    53.44    17.26    12.13
 Cyclist     easy              –        –        –        –
 Cyclist     moderate       6.43     6.42     1.67     1.67
 Cyclist     hard           9.79     9.77     2.74     2.74
"""


@pytest.mark.slow
def test_the_command_prints_the_kits_table(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert command(capsys, monkeypatch, "eval", *FILES, "--protocol", "kitti") == (0, TABLE, "")
    _, marked_up, _ = command(capsys, monkeypatch, "eval", *FILES, "--protocol", "kitti", "--markdown")
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in marked_up.splitlines()]
    assert [rows[0], *rows[2:]] == [line.split() for line in TABLE.splitlines()]
    _, in_space, _ = command(capsys, monkeypatch, "eval", *FILES, "--protocol", "kitti", "--iou-type", "3d")
    assert [line.split() for line in in_space.splitlines()] == [
        line.split()[:2] + line.split()[-1:] for line in TABLE.splitlines()
    ]


@pytest.mark.slow
def test_the_table_of_parts_and_pickles_is_whole(tmp_path: Path) -> None:
    ev = apf.evaluate(*FILES, "kitti")
    assert str(pickle.loads(pickle.dumps(ev))) == str(ev) == TABLE.rstrip("\n")
    part = ev.where("image_id < '000020'")
    alone = apf.evaluate(*FILES, "kitti", iou_type="bev").where("image_id < '000020'")
    assert [line.split()[4] for line in str(part).splitlines()[1:]] == [line.split()[2] for line in str(alone).splitlines()[1:]]
    ev.write_parquet(tmp_path / "run")
    lines = str(apf.read_evaluation(tmp_path / "run")).splitlines()
    assert lines[:-2] == [line[:41] for line in TABLE.splitlines()]
    assert lines[-2:] == [' no BEV: evaluate it with iou_type="bev"', ' no 3D: evaluate it with iou_type="3d"']


def test_results_of_images_alone_have_no_columns_in_space() -> None:
    lines = str(evaluated(cars(), found())).splitlines()
    assert lines[:2] == [" class       difficulty       AP      AOS", " Car         easy          17.50    17.50"]
    assert lines[-2:] == [" Cyclist     hard              –        –", " no BEV, 3D: none of the detections has cuboid_x"]


@pytest.mark.slow
def test_a_note_says_which_column_is_doubtful() -> None:
    """Moved by 50 m in space alone."""
    truth = apf.read_dataset(FILES[0])
    moved = apf.read_results(FILES[1]).with_columns(pl.col("cuboid_z") + 50)
    lines = str(apf.evaluate(truth, moved, "kitti")).splitlines()
    assert lines[1].split() == ["Car", "easy", "58.13", "57.98", "42.55", "0.00"]
    assert any("3d: AP at IoU 0.5 to 0.7 by category is 0.0000" in line for line in lines[10:])
