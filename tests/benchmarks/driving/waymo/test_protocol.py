"""Waymo: the released kit's numbers on hand cases, its rules one by one, and its breakdowns."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import apframe as apf
from apframe.benchmarks.driving.waymo import breakdowns
from apframe.exceptions import ColumnError, ParameterError, RowError, UnitWarning
from tests.benchmarks.driving.waymo import reference
from tests.benchmarks.driving.waymo.row import SHORT, cuboid, dt, generated, gt, of_classes, turned
from tests.conformance.samples import images_of, sample_of_rows, together
from tests.parity.strategies import half_as_often
from tests.protocols.generated import on_many_sets

pytest.importorskip("scipy", reason="the largest sum is found by SciPy")

Row = dict[str, Any]
Sets = tuple[list[Row], list[Row]]
IsOf = Callable[[str, Row], bool]
pytestmark = [
    pytest.mark.filterwarnings(f"ignore::apframe.exceptions.{name}")
    for name in ("NoAnnotationsWarning", "NothingMatchesWarning", "FewUnitsWarning")
]


def evaluated(annotations: list[Row], detections: list[Row], **options: Any) -> apf.Evaluation:
    frames = images_of(annotations, detections)
    names = [*SHORT]
    truth = apf.Dataset({"image_id": frames}, {"category_id": names, "name": names}, pl.DataFrame(annotations))
    return apf.evaluate(truth, pl.DataFrame(detections), **({"protocol": apf.WAYMO} | options))


def numbers(ev: apf.Evaluation, metric: str = "AP", name: str = "Vehicle") -> list[float | None]:
    values = dict(ev.summary.rows())
    return [values[f"{metric}_{name}_{level}"] for level in ("L1", "L2")]


LIST = [dt(0, 0.9), dt(90, 0.8), dt(10, 0.7), dt(95, 0.6), dt(20, 0.5)]
TURNED = {"cuboid_length": 2.0, "cuboid_width": 2.0}
# annotations, detections; AP at both levels, APH at both levels
HAND = {
    "W1 of 3": ([gt(0), gt(10), gt(20)], LIST, [0.762222] * 4),
    "W1 of 6": ([gt(10 * k) for k in range(6)], LIST, [0.381111] * 4),
    "W2": ([gt(0), gt(10, 2)], [dt(10, 0.9)], [0.5] * 4),
    "W2b": ([gt(0), gt(10, 2)], [dt(0, 0.9)], [1, 0.5] * 2),
    "W2c": ([gt(10, 2)], [dt(50, 0.95), dt(10, 0.9)], [0.5] * 4),
    "W2d": ([gt(0), gt(10, 2), gt(20, 2)], [dt(10, 0.9), dt(20, 0.8)], [0.666667] * 4),
    "W2e": ([gt(0), gt(10, 2), gt(20, 2)], [dt(10, 0.9), dt(50, 0.85), dt(20, 0.8)], [0.613889, 0.561111] * 2),
    "W3": ([gt(0), gt(1)], [dt(0.45, 0.9), dt(0, 0.8)], [1] * 4),
    "W3e": (
        [gt(0), gt(20)], [dt(0.45, 0.9), dt(0, 0.8, cuboid_yaw=math.pi), dt(20, 0.7)],
        [0.841667, 0.841667, 0.683333, 0.683333],
    ),
    "W4 an eighth of a turn": ([gt(0, **TURNED)], [dt(0, 0.9, cuboid_yaw=math.pi / 4, **TURNED)], [1, 1, 0.75, 0.75]),
    "W4 a quarter": ([gt(0, **TURNED)], [dt(0, 0.9, cuboid_yaw=math.pi / 2, **TURNED)], [1, 1, 0.5, 0.5]),
    "W20": ([gt(0, cuboid_yaw=3.1)], [dt(0, 0.9, cuboid_yaw=-3.1)], [1, 1, 0.973521, 0.973521]),
    "W5": ([gt(0)], [dt(50, 0.557), dt(0, 0.555)], [0.5] * 4),
    "W5 the other order": ([gt(0)], [dt(50, 0.555), dt(0, 0.557)], [0.5] * 4),
    "W6": ([gt(0)], [dt(50, 0.95, no_label_zone=True), dt(0, 0.9)], [1] * 4),
    "W6 in numbers": ([gt(0)], [dt(50, 0.95, no_label_zone=1), dt(0, 0.9, no_label_zone=0)], [1] * 4),
    "W7": ([gt(29.8)], [dt(30.2, 0.9)], [1] * 4),
    "W11": ([gt(0), gt(0, frame="f2")], [dt(0, 0.9), dt(0, 0.6, frame="f3"), dt(0, 0.4, frame="f2")], [0.841667] * 4),
    "W13": (
        [gt(0), gt(10), gt(20), gt(30)],
        [dt(0, 0.95), dt(50, 0.9), dt(60, 0.85), dt(10, 0.8), dt(20, 0.75, cuboid_yaw=math.pi), dt(70, 0.7)],
        [0.56, 0.56, 0.49, 0.49],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", HAND)
def test_the_kits_numbers(case: str) -> None:
    annotations, detections, expected = HAND[case]
    ev = evaluated(annotations, detections)
    assert [*numbers(ev), *numbers(ev, "APH")] == pytest.approx(expected, abs=1e-6)


def test_w9_an_iou_of_exactly_the_threshold_is_enough() -> None:
    small = {"category": "TYPE_PEDESTRIAN", "cuboid_length": 3.0, "cuboid_width": 1.0, "cuboid_height": 1.0}
    ev = evaluated([gt(0, **small)], [dt(1, 0.9, **small)])
    assert numbers(ev, name="Pedestrian") == [1, 1] and numbers(ev) == [0, 0]  # absent classes have 0


@pytest.mark.slow
def test_scores_first() -> None:
    w3, w3e = (evaluated(*HAND[name][:2], matching="score_first") for name in ("W3", "W3e"))
    assert numbers(w3) == pytest.approx([0.5, 0.5], abs=1e-6)
    assert [*numbers(w3e), *numbers(w3e, "APH")] == pytest.approx([0.841667] * 4, abs=1e-6)
    # W12: the kit looks up similarities in the wrong place once another type comes first; this does not
    annotations, detections = [gt(0), gt(0.5)], [dt(0.5, 0.9), dt(-0.3, 0.8)]
    assert numbers(evaluated(annotations, detections, matching="score_first")) == pytest.approx([1, 1], abs=1e-6)
    person = {"category": "TYPE_PEDESTRIAN"}
    ev = evaluated([gt(90, **person), *annotations], [dt(90, 0.95, **person), *detections], matching="score_first")
    assert numbers(ev) == pytest.approx([1, 1], abs=1e-6)


# what is known of annotations, of which the first is found; AP at both levels, and the levels
LEVELS = {
    "unknown": ([{"level": None, "n_points": n} for n in (9, 5, 0, 6)], (1 / 2, 1 / 3), [1, 2, 1]),  # without points: left out
    "0, as the enumeration has it": ([{"level": 0, "n_points": n} for n in (9, 5, 0, 6)], (1 / 2, 1 / 3), [1, 2, 1]),
    "no column": ([{"n_points": n} for n in (9, 5, 0, 6)], (1 / 2, 1 / 3), [1, 2, 1]),
    "no points": ([{"level": 1}, {"level": None}], (1, 1 / 2), [1, 2]),
    "what has no count is kept": ([{"level": 1, "n_points": 6}, {"level": 1, "n_points": None}], (1 / 2, 1 / 2), [1, 1]),
    "no level and no count": ([{"level": None, "n_points": 6}, {"level": None, "n_points": None}], (1, 1 / 2), [1, 2]),
    "whole numbers": ([{"level": level} for level in (2, 1, None, 0)], (1 / 2, 1 / 4), [2, 1, 2, 2]),
    "whole floats": ([{"level": level} for level in (2.0, 1.0, None, 0.0)], (1 / 2, 1 / 4), [2, 1, 2, 2]),
}


@pytest.mark.parametrize("case", LEVELS)
def test_levels_are_given_or_follow_from_points(case: str) -> None:
    rows, ap, levels = LEVELS[case]
    ev = evaluated([cuboid(10 * place, **row) for place, row in enumerate(rows)], [dt(0, 0.9)])
    assert numbers(ev) == pytest.approx(ap, abs=1e-6) and ev.dataset.annotations["level"].to_list() == levels


@pytest.mark.parametrize(
    ("levels", "error", "message"),
    [
        ((1, 3), RowError, r"^annotations: level is not 1 or 2 for annotation_id 2; use null"),
        ((1.5, None), RowError, r"^annotations: level is not 1 or 2 for annotation_id 1; use null"),
        ((True, None), ColumnError, r"^annotations\.level must hold 1, 2 or null, not true and false$"),
    ],
)
def test_levels_that_cannot_be_are_refused(levels: tuple[Any, ...], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        evaluated([gt(10 * place, level) for place, level in enumerate(levels)], [dt(0, 0.9)])


@pytest.mark.parametrize("iou_type", ["3d", "bbox"])
@pytest.mark.parametrize(
    ("table", "column", "text"),
    [("annotations", "level", "LEVEL_1"), ("annotations", "n_points", "9"), ("detections", "no_label_zone", "no")],
)
def test_what_is_no_finite_number_is_refused(table: str, column: str, text: str, iou_type: str) -> None:
    sides = {"annotations": [gt(0)], "detections": [dt(0, 0.9)]}
    for value, error, problem in (
        (text, ColumnError, rf"^{table}\.{column} must hold numbers, not String$"),
        (float("nan"), RowError, rf"^{table}: {column} is not a finite number for {table.removesuffix('s')}_id 1; "),
    ):
        sides[table] = [sides[table][0] | {column: value}]
        with pytest.raises(error, match=problem):
            evaluated(*sides.values(), iou_type=iou_type)


def test_scores_above_the_cut_offs_are_warned_of() -> None:
    with pytest.warns(
        UnitWarning, match=r"^2 of 3 detections have scores above 1, such as 90; WAYMO ranks by cut-offs from 0 to 1"
    ):
        evaluated([gt(0)], [dt(0, 90), dt(9, 80), dt(30, 1)])


CUBOID = [(iou_type, f"cuboid_{side}") for iou_type in ("3d", "bev") for side in ("length", "width", "height")]


@pytest.mark.slow
@pytest.mark.parametrize(("iou_type", "side"), [*CUBOID, ("bbox", "width"), ("bbox", "height")])
def test_tiny_sides_compared_and_huge_sides_match_nothing(iou_type: str, side: str) -> None:
    is_compared = (iou_type, side) != ("bev", "cuboid_height")
    for size, expected in ((0.01, 0 if is_compared else 1), (0.011, 1), (9e5, 1), (1e6, 0)):
        sides = {"x": 5.0, "y": 5.0, "width": 4.0, "height": 4.0} | {side: size}
        ev = evaluated([gt(0) | sides], [dt(0, 0.9) | sides], iou_type=iou_type)
        assert numbers(ev) == pytest.approx([expected] * 2, abs=1e-6)
        metrics = ev.metrics.filter(category_id="TYPE_VEHICLE", area_range="L1")
        assert metrics.select("n_positives", "n_detections").row(0) == (1, 1)  # it is missed, and false


def test_all_without_signs() -> None:
    kinds = [{"category": name} for name in SHORT]
    annotations = [gt(20 * k, **kind) for k, kind in enumerate(kinds)]
    detections = [dt(0, 0.9), dt(40, 0.9, **kinds[2]), dt(60, 0.9, **kinds[3])]
    values = dict(evaluated(annotations, detections).summary.rows())
    assert values["AP_ALL_NS_L2"] == pytest.approx(2 / 3) and values["AP_L2"] == pytest.approx(3 / 4)


def some_frames(numbers: st.SearchStrategy[int]) -> st.SearchStrategy[Sets]:
    return st.builds(lambda seed, n: generated(np.random.default_rng(seed), n), st.integers(0, 2**32), numbers)


data = some_frames(st.integers(1, 4))
# breakdowns take as long for many frames as for one
seldom, many = settings(max_examples=max(settings().max_examples // 5, 1)), some_frames(st.sampled_from([16, 8, 1]))


@pytest.mark.slow
@half_as_often
@given(data, st.booleans())
def test_as_plain_loops(sets: Sets, first: bool) -> None:
    ev = evaluated(*sets, matching="score_first" if first else "largest_sum")
    for name, of_class in of_classes(*sets, first=first).items():
        for metric in ("AP", "APH"):
            expected = [of_class[f"{metric}_{level}"] for level in ("L1", "L2")]
            assert numbers(ev, metric, SHORT[name]) == pytest.approx(expected, abs=1e-9), (name, metric)


@pytest.mark.slow
@pytest.mark.parametrize("iou_type", ["3d", "bev"])
@on_many_sets
def test_classes_of_slices_score_first_as_plain_loops(seeds: range, iou_type: str) -> None:
    sets = []
    for seed in seeds:
        random = np.random.default_rng(seed)
        annotations, detections = generated(random, 1 + seed % 2)
        sets.append((turned(random, annotations), turned(random, detections)))
    dataset, found = together([sample_of_rows(images_of(*each), *each, {name: name for name in SHORT}) for each in sets])
    table = apf.evaluate(dataset, found, apf.WAYMO, iou_type=iou_type, matching="score_first").by("set", level="category")
    rows = {(row["set"], row["name"]): row for row in table.rows(named=True)}
    for number, both in enumerate(sets):
        for name, expected in of_classes(*both, iou_type, first=True).items():
            row = rows.get((number, name), dict.fromkeys(expected, 0.0))
            assert {metric: row[metric] for metric in expected} == pytest.approx(expected, abs=1e-9), (number, name)
    assert table.select(pl.col("^AP_.*$") > 0).sum().sum_horizontal().item() > len(sets)


@pytest.mark.slow
@half_as_often
@given(data)
def test_counts_at_every_cut_off(sets: Sets) -> None:
    ev = evaluated(*sets)
    for level in (1, 2):
        for row in ev.thresholds(area_range=f"L{level}").rows(named=True):
            cut_off = np.float32(row["score_threshold"])
            assert cut_off in reference.CUT_OFFS
            counted = reference.counts(*sets, row["name"], level, cut_off, first=False, alike=reference.overlap)
            assert [row[name] for name in ("tp", "fp", "fn")] == list(counted[:3])
            assert row["recall"] == pytest.approx(row["tp"] / (row["tp"] + row["fn"]) if row["tp"] + row["fn"] else None)


@pytest.mark.slow
def test_a_mean_over_thresholds_of_which_some_lack_positives() -> None:
    """What is found counts as a positive, so a frame may have some at the lowest threshold alone."""
    annotations, detections = generated(np.random.default_rng(0), 12)
    names = tuple(f"AP_{level}" for level in ("L1", "L2"))
    protocol = replace(apf.WAYMO, iou_thresholds=(0.3, 0.5, 0.7), category_thresholds=(), headlines=("AP{area}",), variants=())
    whole = evaluated(annotations, detections, protocol=protocol)
    for row in whole.by("image_id", level="category").iter_rows(named=True):
        part = whole.where(pl.col("image_id") == row["image_id"], pl.col("categories.category_id") == row["category_id"])
        assert [row[name] for name in names] == pytest.approx([part[name] for name in names])


def breakdown(ev: apf.Evaluation, name: str) -> dict[str, float | None]:
    key = getattr(breakdowns, name)
    return dict(ev.by(key, level="category").filter(name="TYPE_VEHICLE").select(key.name, "AP_L1").rows())


@pytest.mark.slow
def test_w7_a_match_across_a_border_is_two_errors() -> None:
    ev = evaluated(*HAND["W7"][:2])
    assert breakdown(ev, "RANGE") == {"[0, 30)": 0, "[30, 50)": 0, "[50, inf)": 0}
    assert breakdown(ev, "SIZE") == {"[0, 7)": pytest.approx(1), "[7, inf)": 0}
    with pytest.raises(ColumnError, match=r"^annotations: there are no velocities; supply velocity_x and velocity_y$"):
        breakdown(ev, "VELOCITY")


@pytest.mark.slow
def test_size_is_that_of_the_longest_side() -> None:
    bus = {"cuboid_length": 7.0}
    ev = evaluated([gt(0), gt(20, **bus)], [dt(0, 0.9), dt(20, 0.8, **bus), dt(40, 0.95, **bus)])
    assert breakdown(ev, "SIZE") == {"[0, 7)": pytest.approx(1), "[7, inf)": pytest.approx(0.5)}


@pytest.mark.slow
def test_velocity_is_that_of_the_object_overlapped_most() -> None:
    standing, driving = {"velocity_x": 0.0, "velocity_y": 0.1}, {"velocity_x": 3.0, "velocity_y": 4.0}
    # one beside the standing car is false there alone; one far from both is false for both
    ev = evaluated([gt(0, **standing), gt(20, **driving)], [dt(1.5, 0.95), dt(0, 0.9), dt(20, 0.8), dt(90, 0.85)])
    speeds = breakdown(ev, "VELOCITY")
    assert [*speeds] == ["[0, 0.2)", "[0.2, 1)", "[1, 3)", "[3, 10)", "[10, inf)"]
    assert (speeds["[0, 0.2)"], speeds["[3, 10)"]) == (pytest.approx(0.5), pytest.approx(0.5))
    assert breakdown(evaluated([gt(20, **driving)], [dt(20, 0.8)]), "VELOCITY")["[3, 10)"] == pytest.approx(1)


@pytest.mark.slow
def test_a_match_of_another_velocity_finds_none_of_this_one() -> None:
    standing, driving = {"velocity_x": 0.0, "velocity_y": None}, {"velocity_x": 3.0, "velocity_y": 4.0}
    ev = evaluated([gt(0, **standing), gt(0.3, **driving)], [dt(0.25, 0.9)])
    assert breakdown(ev, "VELOCITY")["[3, 10)"] == pytest.approx(1)
    assert breakdown(ev, "VELOCITY")["[0, 0.2)"] == 0  # an unknown velocity is 0
    metrics = ev.by(breakdowns.VELOCITY, level="category").filter(velocity="[0, 0.2)", name="TYPE_VEHICLE")
    assert metrics.select("n_annotations", "n_detections").row(0) == (1, 0)


@pytest.mark.slow
def test_cameras_are_those_that_are_named_or_that_see_the_centre() -> None:
    def only(*names: str) -> list[Any]:
        return [(name, pytest.approx(int(name in names))) for name in cameras]

    cameras = ("FRONT", "FRONT_LEFT", "FRONT_RIGHT", "SIDE_LEFT", "SIDE_RIGHT")
    left = {"cuboid_y": 3.0}  # 31 degrees at 5 m: of the camera to the left of the front alone
    between = {"cuboid_y": 2.0}  # 22 degrees: of both
    ev = evaluated([gt(5, **left), gt(5, frame="f2", **between)], [dt(5, 0.9, **left), dt(5, 0.8, frame="f2", **between)])
    assert [*breakdown(ev, "CAMERA").items()] == only("FRONT", "FRONT_LEFT")
    of_vehicles = ev.by(breakdowns.CAMERA, level="category").filter(name="TYPE_VEHICLE")
    assert of_vehicles.select("camera", "n_annotations").rows() == [*zip(cameras, (1, 1, 0, 0, 0), strict=True)]
    named = evaluated([gt(5, camera="FRONT_LEFT", **between)], [dt(5, 0.8, **between)])
    assert [*breakdown(named, "CAMERA").items()] == only("FRONT_LEFT")
    behind = evaluated([gt(-5), gt(5)], [dt(-5, 0.9), dt(5, 0.8), dt(-9, 0.95)])  # what no camera sees is nowhere
    assert [*breakdown(behind, "CAMERA").items()] == only("FRONT")


@pytest.mark.slow
def test_breakdowns_without_detections_are_0() -> None:
    ev = evaluated([gt(5, velocity_x=1.0, velocity_y=0.0)], [])
    assert all({*breakdown(ev, name).values()} == {0} for name in ("RANGE", "SIZE", "VELOCITY", "CAMERA"))


def test_velocities_that_are_text_are_refused() -> None:
    with pytest.raises(ColumnError, match=r"^annotations\.velocity_x must hold numbers, not String$"):
        evaluated([gt(5, velocity_x="1", velocity_y=0.0)], [dt(5, 0.9)]).by(breakdowns.VELOCITY)


def test_names_of_cameras_that_cannot_be_are_refused() -> None:
    ev = evaluated([gt(0), gt(5, camera="FRONT-LEFT")], [dt(5, 0.9)])
    with pytest.raises(RowError, match=r"^annotations: camera is unknown for annotation_id 2; supply one of FRONT, FRONT_LEFT"):
        ev.by(breakdowns.CAMERA)


def same_bins(ev: apf.Evaluation, sides: list[list[Row]], key: Any, is_own: IsOf, is_inside: IsOf) -> None:
    """Every number of a bin is that of plain loops over the rows that are its own, and the annotations inside."""
    for row in ev.by(key, level="category").rows(named=True):
        own = [[each for each in rows if is_own(row[key.name], each)] for rows in sides]
        for level in (1, 2):
            expected = reference.evaluate(*own, row["name"], level, inside=partial(is_inside, row[key.name]))
            assert (row[f"AP_L{level}"], row[f"APH_L{level}"]) == pytest.approx(expected, abs=1e-9), row


@pytest.mark.slow
@seldom
@given(many, st.integers(0, 2**32))
def test_bins_of_velocity_and_camera_as_plain_loops(sets: Sets, seed: int) -> None:
    random = np.random.default_rng(seed)
    sides = [[row | {"cuboid_y": row["cuboid_y"] + 1} for row in rows] for rows in sets]
    for row in sides[0]:
        row |= {"velocity_x": float(random.choice([0, 0.5, 2, 20])), "velocity_y": random.choice([0.0, None])}
        row["camera"] = random.choice([None, None, "FRONT", "SIDE_LEFT"])

    def has_speed(label: str, row: Row) -> bool:
        value = 0 if row["velocity_y"] is None else row["velocity_x"]
        return {0: "[0, 0.2)", 0.5: "[0.2, 1)", 2: "[1, 3)", 20: "[10, inf)"}[value] == label

    def has_camera(label: str, row: Row) -> bool:
        return str(row["camera"] or next(iter(reference.seen_by(row)), "")) == label

    ev = evaluated(*sides)
    same_bins(ev, sides, breakdowns.VELOCITY, lambda *_: True, has_speed)
    same_bins(ev, sides, breakdowns.CAMERA, lambda label, row: label in reference.seen_by(row), has_camera)


@pytest.mark.slow
@seldom
@given(many)
def test_bins_of_range_are_evaluations_of_their_objects(sets: Sets) -> None:
    sides = [[row | {"cuboid_x": row["cuboid_x"] + 29} for row in rows] for rows in sets]
    edges = {"[0, 30)": (0, 30), "[30, 50)": (30, 50), "[50, inf)": (50, math.inf)}

    def in_range(label: str, row: Row) -> bool:
        return edges[label][0] <= math.hypot(row["cuboid_x"], row["cuboid_y"]) < edges[label][1]

    same_bins(evaluated(*sides), sides, breakdowns.RANGE, in_range, in_range)


def test_breakdowns_of_other_protocols_are_refused() -> None:
    cuboids = apf.COCO.with_options(similarity=apf.similarity.CuboidIoU())
    with pytest.raises(
        ParameterError, match=r"^by: breakdowns are of WAYMO and cuboids, not of COCO and 3d; use other keys for slices$"
    ):
        evaluated([gt(0)], [dt(0, 0.9)], protocol=cuboids).by(breakdowns.RANGE)


@pytest.mark.slow
def test_breakdowns_are_divided_by_other_keys_too() -> None:
    ev = evaluated([gt(5), gt(40), gt(5, frame="f2")], [dt(5, 0.9), dt(40, 0.8)])
    table = ev.by("image_id", breakdowns.RANGE, marginals=True, intervals=True)
    assert table.columns[:3] == ["range", "image_id", "rolled_up"]
    counts = table.filter(pl.col("rolled_up") == "").select("range", "image_id", "n_annotations").rows()
    assert counts == [
        ("[0, 30)", "f1", 1), ("[0, 30)", "f2", 1), ("[30, 50)", "f1", 1), ("[30, 50)", "f2", 0), ("[50, inf)", "f1", 0),
        ("[50, inf)", "f2", 0),
    ]  # fmt: skip
    nested = ev.by(breakdowns.RANGE, breakdowns.SIZE)
    assert nested.columns[:2] == ["range", "size"] and nested.height == 6
