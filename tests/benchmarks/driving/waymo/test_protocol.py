"""Waymo: the released kit's numbers on hand cases, and those of plain loops on generated data."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import apframe as apf
from apframe.benchmarks.driving.waymo import breakdowns
from apframe.benchmarks.driving.waymo.matcher import ScoreFirst
from apframe.exceptions import ColumnError, ParameterError, RowError, UnitWarning
from tests.benchmarks.driving.turned_cuboids import OVERLAPS, remembered
from tests.benchmarks.driving.waymo import reference as waymo_reference
from tests.parity.strategies import half_as_often
from tests.protocols.generated import on_many_sets
from tests.protocols.many_sets import slices_of

pytest.importorskip("scipy", reason="the largest sum is found by SciPy")

Row = dict[str, Any]
SHORT = {"TYPE_VEHICLE": "Vehicle", "TYPE_PEDESTRIAN": "Pedestrian", "TYPE_SIGN": "Sign", "TYPE_CYCLIST": "Cyclist"}
pytestmark = [
    pytest.mark.filterwarnings(f"ignore::apframe.exceptions.{name}")
    for name in ("NoAnnotationsWarning", "NothingMatchesWarning", "FewUnitsWarning")
]


def cuboid(x: float, category: str = "TYPE_VEHICLE", frame: str = "f1", **others: Any) -> Row:
    row = {"image_id": frame, "category_id": category, "cuboid_x": float(x), "cuboid_y": 0.0, "cuboid_z": 0.0}
    return row | {"cuboid_length": 4.0, "cuboid_width": 2.0, "cuboid_height": 1.5, "cuboid_yaw": 0.0} | others


def gt(x: float, level: int = 1, **others: Any) -> Row:
    return cuboid(x, level=level, **others)


def dt(x: float, score: float, **others: Any) -> Row:
    return cuboid(x, **({"score": score, "no_label_zone": False} | others))


def evaluated(annotations: list[Row], detections: list[Row], **options: Any) -> apf.Evaluation:
    frames = sorted({row["image_id"] for row in (*annotations, *detections)})
    known = [*SHORT]
    truth = apf.Dataset({"image_id": frames}, {"category_id": known, "name": known}, pl.DataFrame(annotations))
    return apf.evaluate(truth, pl.DataFrame(detections), **({"protocol": apf.WAYMO} | options))


def numbers(ev: apf.Evaluation, metric: str = "AP", name: str = "Vehicle") -> list[float | None]:
    values = dict(ev.summary.rows())
    return [values[f"{metric}_{name}_{level}"] for level in ("L1", "L2")]


LIST = [dt(0, 0.9), dt(90, 0.8), dt(10, 0.7), dt(95, 0.6), dt(20, 0.5)]
TURNED = {"cuboid_length": 2.0, "cuboid_width": 2.0}
# annotations, detections, AP at both levels, APH at both levels
HAND = {
    "W1 of 3": ([gt(0), gt(10), gt(20)], LIST, (0.762222, 0.762222), (0.762222, 0.762222)),
    "W1 of 6": ([gt(10 * k) for k in range(6)], LIST, (0.381111, 0.381111), (0.381111, 0.381111)),
    "W2": ([gt(0), gt(10, 2)], [dt(10, 0.9)], (0.5, 0.5), (0.5, 0.5)),
    "W2b": ([gt(0), gt(10, 2)], [dt(0, 0.9)], (1, 0.5), (1, 0.5)),
    "W2c": ([gt(10, 2)], [dt(50, 0.95), dt(10, 0.9)], (0.5, 0.5), (0.5, 0.5)),
    "W2d": ([gt(0), gt(10, 2), gt(20, 2)], [dt(10, 0.9), dt(20, 0.8)], (0.666667, 0.666667), (0.666667, 0.666667)),
    "W2e": (
        [gt(0), gt(10, 2), gt(20, 2)], [dt(10, 0.9), dt(50, 0.85), dt(20, 0.8)], (0.613889, 0.561111), (0.613889, 0.561111),
    ),
    "W3": ([gt(0), gt(1)], [dt(0.45, 0.9), dt(0, 0.8)], (1, 1), (1, 1)),
    "W3e": (
        [gt(0), gt(20)], [dt(0.45, 0.9), dt(0, 0.8, cuboid_yaw=math.pi), dt(20, 0.7)],
        (0.841667, 0.841667), (0.683333, 0.683333),
    ),
    "W4 an eighth of a turn": ([gt(0, **TURNED)], [dt(0, 0.9, cuboid_yaw=math.pi / 4, **TURNED)], (1, 1), (0.75, 0.75)),
    "W4 a quarter": ([gt(0, **TURNED)], [dt(0, 0.9, cuboid_yaw=math.pi / 2, **TURNED)], (1, 1), (0.5, 0.5)),
    "W20": ([gt(0, cuboid_yaw=3.1)], [dt(0, 0.9, cuboid_yaw=-3.1)], (1, 1), (0.973521, 0.973521)),
    "W5": ([gt(0)], [dt(50, 0.557), dt(0, 0.555)], (0.5, 0.5), (0.5, 0.5)),
    "W5 the other order": ([gt(0)], [dt(50, 0.555), dt(0, 0.557)], (0.5, 0.5), (0.5, 0.5)),
    "W6": ([gt(0)], [dt(50, 0.95, no_label_zone=True), dt(0, 0.9)], (1, 1), (1, 1)),
    "W7": ([gt(29.8)], [dt(30.2, 0.9)], (1, 1), (1, 1)),
    "W11": (
        [gt(0), gt(0, frame="f2")], [dt(0, 0.9), dt(0, 0.6, frame="f3"), dt(0, 0.4, frame="f2")],
        (0.841667, 0.841667), (0.841667, 0.841667),
    ),
    "W13": (
        [gt(0), gt(10), gt(20), gt(30)],
        [dt(0, 0.95), dt(50, 0.9), dt(60, 0.85), dt(10, 0.8), dt(20, 0.75, cuboid_yaw=math.pi), dt(70, 0.7)],
        (0.56, 0.56), (0.49, 0.49),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", HAND)
def test_the_kits_numbers(case: str) -> None:
    annotations, detections, ap, aph = HAND[case]
    ev = evaluated(annotations, detections)
    assert numbers(ev) == pytest.approx(ap, abs=1e-6) and numbers(ev, "APH") == pytest.approx(aph, abs=1e-6)


def test_w9_an_iou_of_exactly_the_threshold_is_enough() -> None:
    small = {"category": "TYPE_PEDESTRIAN", "cuboid_length": 3.0, "cuboid_width": 1.0, "cuboid_height": 1.0}
    ev = evaluated([gt(0, **small)], [dt(1, 0.9, **small)])
    assert numbers(ev, name="Pedestrian") == [1, 1] and numbers(ev) == [0, 0]  # absent classes have 0


def test_scores_first() -> None:
    by_score = replace(apf.WAYMO, matcher=ScoreFirst(ties="input"))
    w3, w3e = (evaluated(*HAND[name][:2], protocol=by_score) for name in ("W3", "W3e"))
    assert numbers(w3) == pytest.approx([0.5, 0.5], abs=1e-6)
    assert numbers(w3e) == pytest.approx([0.841667] * 2, abs=1e-6)
    assert numbers(w3e, "APH") == pytest.approx([0.841667] * 2, abs=1e-6)
    # W12: the kit looks up similarities in the wrong place once another type comes first; this does not
    annotations, detections = [gt(0), gt(0.5)], [dt(0.5, 0.9), dt(-0.3, 0.8)]
    assert numbers(evaluated(annotations, detections, protocol=by_score)) == pytest.approx([1, 1], abs=1e-6)
    person = {"category": "TYPE_PEDESTRIAN"}
    ev = evaluated([gt(90, **person), *annotations], [dt(90, 0.95, **person), *detections], protocol=by_score)
    assert numbers(ev) == pytest.approx([1, 1], abs=1e-6)


def test_levels_from_points() -> None:
    annotations = [gt(0, n_points=9), gt(10, n_points=5), gt(20, n_points=0), gt(30, n_points=6)]
    annotations = [row | {"level": None} for row in annotations]
    ev = evaluated(annotations, [dt(0, 0.9)])
    assert numbers(ev) == pytest.approx([1 / 2, 1 / 3], abs=1e-6)  # that without points is left out
    assert ev.dataset.annotations["level"].to_list() == [1, 2, 1]
    unknown = [row | {"level": 0} for row in annotations]  # as the enumeration of levels has it
    assert numbers(evaluated(unknown, [dt(0, 0.9)])) == numbers(ev)
    without = [{name: value for name, value in row.items() if name != "level"} for row in annotations]
    assert numbers(evaluated(without, [dt(0, 0.9)])) == numbers(ev)


def test_an_unknown_level_is_2_where_the_points_are_unknown_too() -> None:
    ev = evaluated([gt(0, 1), gt(10) | {"level": None}], [dt(0, 0.9)])
    assert numbers(ev) == pytest.approx([1, 1 / 2], abs=1e-6)
    ev = evaluated([gt(0, n_points=6), gt(10, n_points=None)], [dt(0, 0.9)])
    assert numbers(ev) == pytest.approx([1 / 2, 1 / 2], abs=1e-6)  # levels are known, and what has no count is kept
    ev = evaluated([row | {"level": None} for row in (gt(0, n_points=6), gt(10, n_points=None))], [dt(0, 0.9)])
    assert numbers(ev) == pytest.approx([1, 1 / 2], abs=1e-6)


def test_levels_that_cannot_be_are_refused() -> None:
    with pytest.raises(RowError, match=r"^annotations: level is not 1 or 2 where annotation_id is 2; give null"):
        evaluated([gt(0), gt(10, 3)], [dt(0, 0.9)])
    with pytest.raises(RowError, match=r"^annotations: level is not 1 or 2 where annotation_id is 1; give null"):
        evaluated([gt(0) | {"level": 1.5}, gt(10) | {"level": None}], [dt(0, 0.9)])
    with pytest.raises(ColumnError, match=r"^annotations\.level must hold 1, 2 or null, not true and false$"):
        evaluated([gt(0) | {"level": True}, gt(10) | {"level": None}], [dt(0, 0.9)])


def test_levels_may_be_whole_floats() -> None:
    levels = (2.0, 1.0, None, 0.0)
    annotations = [gt(10 * i) | {"level": level} for i, level in enumerate(levels)]
    ev = evaluated(annotations, [dt(0, 0.9)])
    assert ev.dataset.annotations["level"].to_list() == [2, 1, 2, 2]
    whole = [row | {"level": level and int(level)} for row, level in zip(annotations, levels, strict=True)]
    assert numbers(ev) == numbers(evaluated(whole, [dt(0, 0.9)]))


@pytest.mark.parametrize(
    ("table", "column", "value"),
    [("annotations", "level", "LEVEL_1"), ("annotations", "n_points", "9"), ("detections", "no_label_zone", "no")],
)
def test_text_in_the_place_of_numbers_is_refused(table: str, column: str, value: str) -> None:
    sides = {"annotations": [gt(0)], "detections": [dt(0, 0.9)]}
    sides[table] = [sides[table][0] | {column: value}]
    with pytest.raises(ColumnError, match=rf"^{table}\.{column} must hold numbers, not String$"):
        evaluated(sides["annotations"], sides["detections"])


@pytest.mark.parametrize(
    ("table", "column"), [("annotations", "level"), ("annotations", "n_points"), ("detections", "no_label_zone")]
)
@pytest.mark.parametrize("iou_type", ["3d", "bbox"])
def test_numbers_that_are_not_finite_are_refused(table: str, column: str, iou_type: str) -> None:
    sides = {"annotations": [gt(0)], "detections": [dt(0, 0.9)]}
    sides[table] = [sides[table][0] | {column: float("nan")}]
    with pytest.raises(RowError, match=rf"^{table}: {column} is not a finite number where {table.removesuffix('s')}_id is 1; "):
        evaluated(sides["annotations"], sides["detections"], iou_type=iou_type)


def test_zones_may_be_numbers() -> None:
    assert numbers(evaluated([gt(0)], [dt(50, 0.95, no_label_zone=1), dt(0, 0.9, no_label_zone=0)])) == pytest.approx([1, 1])


def test_scores_above_the_cut_offs_are_warned_of() -> None:
    with pytest.warns(
        UnitWarning, match=r"^2 of 3 detections have scores above 1, such as 90; WAYMO ranks by cut-offs from 0 to 1"
    ):
        evaluated([gt(0)], [dt(0, 90), dt(9, 80), dt(30, 1)])


@pytest.mark.slow
@pytest.mark.parametrize("iou_type", ["3d", "bev"])
@pytest.mark.parametrize(("side", "matches"), [("cuboid_width", {"3d", "bev"}), ("cuboid_height", {"3d"})])
def test_what_has_a_tiny_side_that_is_compared_matches_nothing(side: str, matches: set[str], iou_type: str) -> None:
    for size, is_tiny in ((0.01, True), (0.011, False)):
        thin = {side: size}
        ev = evaluated([gt(0, **thin)], [dt(0, 0.9, **thin)], iou_type=iou_type)
        expected = 0 if is_tiny and iou_type in matches else 1
        assert numbers(ev) == pytest.approx([expected] * 2, abs=1e-6)
        metrics = ev.metrics.filter(category_id="TYPE_VEHICLE", area_range="L1")
        assert metrics.select("n_positives", "n_detections").row(0) == (1, 1)  # it is missed, and false


@pytest.mark.slow
@pytest.mark.parametrize("iou_type", ["3d", "bev"])
@pytest.mark.parametrize("side", ["cuboid_length", "cuboid_height"])
def test_what_has_any_huge_side_matches_nothing(side: str, iou_type: str) -> None:
    for size, expected in ((1e6, 0), (9e5, 1)):
        ev = evaluated([gt(0, **{side: size})], [dt(0, 0.9, **{side: size})], iou_type=iou_type)
        assert numbers(ev) == pytest.approx([expected] * 2, abs=1e-6)


@pytest.mark.slow
def test_boxes_of_images_have_limits_too() -> None:
    for side, expected in ((0.01, 0), (0.011, 1), (1e6, 0), (9e5, 1)):
        box = {"x": 5.0, "y": 5.0, "width": 4.0, "height": side}
        annotations = [{"image_id": "f1", "category_id": "TYPE_VEHICLE", "level": 1, **box}]
        detections = [{"image_id": "f1", "category_id": "TYPE_VEHICLE", "score": 0.9, **box}]
        assert numbers(evaluated(annotations, detections, iou_type="bbox")) == pytest.approx([expected] * 2, abs=1e-6)


def test_all_without_signs() -> None:
    kinds = [{"category": name} for name in SHORT]
    annotations = [gt(20 * k, **kind) for k, kind in enumerate(kinds)]
    detections = [dt(0, 0.9), dt(40, 0.9, **kinds[2]), dt(60, 0.9, **kinds[3])]
    values = dict(evaluated(annotations, detections).summary.rows())
    assert values["AP_ALL_NS_L2"] == pytest.approx(2 / 3) and values["AP_L2"] == pytest.approx(3 / 4)


def generated(random: np.random.Generator, n_frames: int) -> tuple[list[Row], list[Row]]:
    """Crowded frames, with similarities that compete; scores closer than a cut-off, none equal."""
    annotations, detections = [], []
    for frame in range(n_frames):
        key: Row = {"frame": f"f{frame}"}
        for _ in range(random.integers(1, 4)):
            x = float(random.choice([0, 0.5, 1, 1.5, 9]) + random.uniform(0, 0.01))
            key["cuboid_y"] = float(random.uniform(0, 0.2))  # so that hardly any two sums are equal
            kind = str(random.choice([*SHORT], p=[0.6, 0.2, 0.1, 0.1]))
            yaws = [0, math.pi]
            row = gt(x, int(random.integers(1, 3)), category=kind, cuboid_yaw=float(random.choice(yaws)), **key)
            annotations.append(row)
            for _ in range(random.integers(0, 3)):
                moved = x + float(random.choice([0, 0.1, 0.2, 0.3, 0.45, 0.7, -0.3]))
                key["cuboid_y"] = float(random.uniform(0, 0.2))
                more = {"cuboid_yaw": float(random.choice(yaws)), "no_label_zone": random.random() < 0.2}
                detections.append(dt(moved, 0, category=kind, **more, **key))
    if not detections:
        detections = [dt(0, 0, frame="f0")]
    scores = random.permutation(len(detections)) + random.uniform(0, 0.9, len(detections))
    scale = random.choice([0.004, 0.03])
    return annotations, [
        row | {"score": float(min(0.3 + scale * score, 1)), "no_label_zone": bool(row["no_label_zone"])}
        for row, score in zip(detections, scores, strict=True)
    ]


def some_frames(numbers: st.SearchStrategy[int]) -> st.SearchStrategy[tuple[list[Row], list[Row]]]:
    return st.builds(lambda seed, n: generated(np.random.default_rng(seed), n), st.integers(0, 2**32), numbers)


data = some_frames(st.integers(1, 4))
# breakdowns take as long for many frames as for one
seldom, many = settings(max_examples=max(settings().max_examples // 5, 1)), some_frames(st.sampled_from([16, 8, 1]))


def same_as_loops(ev: apf.Evaluation, annotations: list[Row], detections: list[Row], *, first: bool = False) -> None:
    for name, short in SHORT.items():
        loops = [waymo_reference.evaluate(annotations, detections, name, level, first=first) for level in (1, 2)]
        for metric, expected in zip(("AP", "APH"), zip(*loops, strict=True), strict=True):
            assert numbers(ev, metric, short) == pytest.approx(expected, abs=1e-9), (name, metric)


@pytest.mark.parametrize("iou_type", ["3d", "bev"])
@pytest.mark.parametrize("matching", ["largest_sum", "score_first"])
@on_many_sets
def test_many_sets_equal_plain_loops(seeds: range, matching: str, iou_type: str) -> None:
    """Every set, of which all are evaluated at once; cuboids are turned a little."""
    sets, alike, n_found = {}, remembered(OVERLAPS[iou_type]), 0
    for seed in seeds:
        random = np.random.default_rng(seed)
        sets[seed] = generated(random, 1 + seed % 2)
        for row in (*sets[seed][0], *sets[seed][1]):
            row["cuboid_yaw"] += float(random.uniform(-0.1, 0.1))
    protocol = replace(apf.WAYMO.variant(iou_type), variants=()).with_options(matching=matching)
    by_set = {(row["set"], row["name"]): row for row in slices_of(sets, [*SHORT], protocol, "category").rows(named=True)}
    for seed, rows in sets.items():
        for name in SHORT:
            for level in (1, 2):
                ap, aph = waymo_reference.evaluate(*rows, name, level, first=matching == "score_first", alike=alike)
                row = by_set.get((seed, name), {f"AP_L{level}": 0, f"APH_L{level}": 0})
                assert (row[f"AP_L{level}"], row[f"APH_L{level}"]) == pytest.approx((ap, aph), abs=1e-9), (seed, name)
                n_found += ap > 0
    assert n_found > len(sets)


@half_as_often
@given(data, st.booleans())
def test_as_plain_loops(sets: tuple[list[Row], list[Row]], first: bool) -> None:
    protocol = replace(apf.WAYMO, matcher=ScoreFirst(ties="input")) if first else apf.WAYMO
    same_as_loops(evaluated(*sets, protocol=protocol), *sets, first=first)


@half_as_often
@given(data, st.data())
def test_slices_of_images_are_evaluations_of_them(sets: tuple[list[Row], list[Row]], draw: st.DataObject) -> None:
    annotations, detections = sets
    frames = sorted({row["image_id"] for row in (*annotations, *detections)})
    values = [draw.draw(st.sampled_from("ab")) for _ in frames]
    weather, known = dict(zip(frames, values, strict=True)), [*SHORT]
    images = {"image_id": frames, "weather": values}
    truth = apf.Dataset(images, {"category_id": known, "name": known}, pl.DataFrame(annotations))
    whole = apf.evaluate(truth, pl.DataFrame(detections), protocol=apf.WAYMO)
    table = whole.by("weather", level="category")
    for value in set(values):
        own = [[row for row in rows if weather[row["image_id"]] == value] for rows in (annotations, detections)]
        same_as_loops(whole.where(f"weather = '{value}'"), *own)
        for row in table.filter(weather=value).rows(named=True):
            expected = [waymo_reference.evaluate(*own, row["name"], level) for level in (1, 2)]
            assert [row["AP_L1"], row["AP_L2"]] == pytest.approx([ap for ap, _ in expected], abs=1e-9)
            assert [row["APH_L1"], row["APH_L2"]] == pytest.approx([aph for _, aph in expected], abs=1e-9)


@half_as_often
@given(data)
def test_counts_at_every_cut_off(sets: tuple[list[Row], list[Row]]) -> None:
    annotations, detections = sets
    ev = evaluated(annotations, detections)
    for level in (1, 2):
        for row in ev.thresholds(area_range=f"L{level}").rows(named=True):
            cut_off = np.float32(row["score_threshold"])
            assert cut_off in waymo_reference.CUT_OFFS
            counted = waymo_reference.counts(
                annotations, detections, row["name"], level, cut_off, first=False, alike=waymo_reference.overlap
            )
            assert [row[name] for name in ("tp", "fp", "fn")] == list(counted[:3])
            assert row["recall"] == pytest.approx(row["tp"] / (row["tp"] + row["fn"]) if row["tp"] + row["fn"] else None)


@pytest.mark.slow
@half_as_often
@given(data, st.integers(0, 2**32))
def test_image_weights_are_copies_of_images(sets: tuple[list[Row], list[Row]], seed: int) -> None:
    annotations, detections = sets
    frames = sorted({row["image_id"] for row in (*annotations, *detections)})
    weights = np.random.default_rng(seed).integers(0, 4, len(frames))
    if not weights.sum() or len(frames) < 2:
        return
    known = [*SHORT]
    images = {"image_id": frames, "weight": weights}
    truth = apf.Dataset(images, {"category_id": known, "name": known}, pl.DataFrame(annotations))
    ev = apf.evaluate(truth, pl.DataFrame(detections), protocol=apf.WAYMO)
    estimates = dict(ev.intervals(weights="weight", n_resamples=1, method="bootstrap").select("metric", "estimate").rows())
    copied = [
        [row | {"image_id": f"{row['image_id']}-{copy}"} for row in rows
         for copy in range(int(weights[frames.index(row["image_id"])]))]
        for rows in (annotations, detections)
    ]  # fmt: skip
    for name, short in SHORT.items():
        for level in (1, 2):
            ap, aph = waymo_reference.evaluate(*copied, name, level)
            assert estimates[f"AP_{short}_L{level}"] == pytest.approx(ap, abs=1e-9)
            assert estimates[f"APH_{short}_L{level}"] == pytest.approx(aph, abs=1e-9)


def test_a_mean_over_thresholds_where_lists_lack_positives_at_some() -> None:
    """What is found counts as a positive, so a frame may have some at the lowest threshold alone."""
    annotations, detections = generated(np.random.default_rng(0), 12)
    names = tuple(f"AP_{level}" for level in ("L1", "L2"))
    protocol = replace(apf.WAYMO, iou_thresholds=(0.3, 0.5, 0.7), category_thresholds=(), headlines=("AP{area}",), variants=())
    whole = evaluated(annotations, detections, protocol=protocol)
    for row in whole.by("image_id", level="category").iter_rows(named=True):
        part = whole.where(pl.col("image_id") == row["image_id"], pl.col("categories.category_id") == row["category_id"])
        assert [row[name] for name in names] == pytest.approx([part[name] for name in names])


def breakdown(ev: apf.Evaluation, name: str, level: str = "L1") -> dict[str, float | None]:
    key = getattr(breakdowns, name)
    return dict(ev.by(key, level="category").filter(name="TYPE_VEHICLE").select(key.name, f"AP_{level}").rows())


@pytest.mark.slow
def test_w7_a_match_across_a_border_is_a_miss_and_a_false_positive() -> None:
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
def test_velocity_is_that_of_the_object_that_a_detection_overlaps_most() -> None:
    standing, driving = {"velocity_x": 0.0, "velocity_y": 0.1}, {"velocity_x": 3.0, "velocity_y": 4.0}
    # one beside the standing car is false there alone; one far from both is false for both
    ev = evaluated([gt(0, **standing), gt(20, **driving)], [dt(1.5, 0.95), dt(0, 0.9), dt(20, 0.8), dt(90, 0.85)])
    speeds = breakdown(ev, "VELOCITY")
    assert [*speeds] == ["[0, 0.2)", "[0.2, 1)", "[1, 3)", "[3, 10)", "[10, inf)"]
    assert (speeds["[0, 0.2)"], speeds["[3, 10)"]) == (pytest.approx(0.5), pytest.approx(0.5))
    assert breakdown(evaluated([gt(20, **driving)], [dt(20, 0.8)]), "VELOCITY")["[3, 10)"] == pytest.approx(1)


@pytest.mark.slow
def test_what_matches_an_object_of_another_velocity_finds_none_of_this_one() -> None:
    standing, driving = {"velocity_x": 0.0, "velocity_y": None}, {"velocity_x": 3.0, "velocity_y": 4.0}
    ev = evaluated([gt(0, **standing), gt(0.3, **driving)], [dt(0.25, 0.9)])
    assert breakdown(ev, "VELOCITY")["[3, 10)"] == pytest.approx(1)
    assert breakdown(ev, "VELOCITY")["[0, 0.2)"] == 0  # an unknown velocity is 0
    metrics = ev.by(breakdowns.VELOCITY, level="category").filter(velocity="[0, 0.2)", name="TYPE_VEHICLE")
    assert metrics.select("n_annotations", "n_detections").row(0) == (1, 0)


@pytest.mark.slow
def test_cameras_are_those_that_are_named_or_that_see_the_centre() -> None:
    left = {"cuboid_y": 3.0}  # 31 degrees at 5 m: of the camera to the left of the front alone
    between = {"cuboid_y": 2.0}  # 22 degrees: of both
    ev = evaluated([gt(5, **left), gt(5, frame="f2", **between)], [dt(5, 0.9, **left), dt(5, 0.8, frame="f2", **between)])
    cameras = breakdown(ev, "CAMERA")
    assert [*cameras] == ["FRONT", "FRONT_LEFT", "FRONT_RIGHT", "SIDE_LEFT", "SIDE_RIGHT"]
    assert cameras == {name: pytest.approx(int(name in ("FRONT", "FRONT_LEFT"))) for name in cameras}
    of_vehicles = ev.by(breakdowns.CAMERA, level="category").filter(name="TYPE_VEHICLE")
    n = dict(of_vehicles.select("camera", "n_annotations").rows())
    assert n == {"FRONT": 1, "FRONT_LEFT": 1, "FRONT_RIGHT": 0, "SIDE_LEFT": 0, "SIDE_RIGHT": 0}
    named = evaluated([gt(5, camera="FRONT_LEFT", **between)], [dt(5, 0.8, **between)])
    assert breakdown(named, "CAMERA") == {name: pytest.approx(int(name == "FRONT_LEFT")) for name in cameras}
    behind = evaluated([gt(-5), gt(5)], [dt(-5, 0.9), dt(5, 0.8), dt(-9, 0.95)])  # what no camera sees is nowhere
    assert breakdown(behind, "CAMERA") == {name: pytest.approx(int(name == "FRONT")) for name in cameras}


@pytest.mark.slow
def test_breakdowns_without_detections_are_0() -> None:
    ev = evaluated([gt(5, velocity_x=1.0, velocity_y=0.0)], [])
    assert all({*breakdown(ev, name).values()} == {0} for name in ("RANGE", "SIZE", "VELOCITY", "CAMERA"))


def test_velocities_that_are_text_are_refused() -> None:
    with pytest.raises(ColumnError, match=r"^annotations\.velocity_x must hold numbers, not String$"):
        evaluated([gt(5, velocity_x="1", velocity_y=0.0)], [dt(5, 0.9)]).by(breakdowns.VELOCITY)


def test_names_of_cameras_that_cannot_be_are_refused() -> None:
    ev = evaluated([gt(0), gt(5, camera="FRONT-LEFT")], [dt(5, 0.9)])
    with pytest.raises(
        RowError, match=r"^annotations: camera is unknown where annotation_id is 2; give one of FRONT, FRONT_LEFT"
    ):
        ev.by(breakdowns.CAMERA)


@seldom
@given(many, st.integers(0, 2**32))
def test_bins_of_velocity_and_camera_as_plain_loops(sets: tuple[list[Row], list[Row]], seed: int) -> None:
    random = np.random.default_rng(seed)
    annotations, detections = ([row | {"cuboid_y": row["cuboid_y"] + 1} for row in rows] for rows in sets)
    for row in annotations:
        row |= {"velocity_x": float(random.choice([0, 0.5, 2, 20])), "velocity_y": random.choice([0.0, None])}
        row["camera"] = random.choice([None, None, "FRONT", "SIDE_LEFT"])
    ev = evaluated(annotations, detections)

    def speed(row: Row) -> str:
        value = 0 if row["velocity_y"] is None else row["velocity_x"]
        return {0: "[0, 0.2)", 0.5: "[0.2, 1)", 2: "[1, 3)", 20: "[10, inf)"}[value]

    def camera(row: Row) -> str:
        return str(row["camera"] or next(iter(waymo_reference.seen_by(row)), ""))

    for key, of in ((breakdowns.VELOCITY, speed), (breakdowns.CAMERA, camera)):
        for row in ev.by(key, level="category").rows(named=True):
            label, is_speed = row[key.name], key is breakdowns.VELOCITY
            own = [
                [each for each in rows if is_speed or label in waymo_reference.seen_by(each)]
                for rows in (annotations, detections)
            ]
            for number in (1, 2):
                made = waymo_reference.evaluate(
                    *own, row["name"], number, inside=lambda each, label=label, of=of: of(each) == label
                )
                assert (row[f"AP_L{number}"], row[f"APH_L{number}"]) == pytest.approx(made, abs=1e-9), row


@pytest.mark.slow
@seldom
@given(many)
def test_bins_of_range_are_evaluations_of_their_objects(sets: tuple[list[Row], list[Row]]) -> None:
    sides = [[row | {"cuboid_x": row["cuboid_x"] + 29} for row in rows] for rows in sets]
    table = evaluated(*sides).by(breakdowns.RANGE, level="category")
    for label, low, high in (("[0, 30)", 0, 30), ("[30, 50)", 30, 50)):
        own = [[row for row in rows if low <= math.hypot(row["cuboid_x"], row["cuboid_y"]) < high] for rows in sides]
        for row in table.filter(range=label).rows(named=True):
            for number in (1, 2):
                made = waymo_reference.evaluate(*own, row["name"], number)
                assert (row[f"AP_L{number}"], row[f"APH_L{number}"]) == pytest.approx(made, abs=1e-9)


def test_breakdowns_of_other_protocols_are_refused() -> None:
    cuboids = apf.COCO.with_options(similarity=apf.CuboidIoU())
    with pytest.raises(
        ParameterError, match=r"^by: breakdowns are of WAYMO and cuboids, not of COCO and 3d; use other keys for slices$"
    ):
        evaluated([gt(0)], [dt(0, 0.9)], protocol=cuboids).by(breakdowns.RANGE)


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
