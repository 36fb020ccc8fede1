"""NUSCENES: the cases of the development kit, the rules as plain loops on generated sets, and everything after the matches."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import apframe as apf
from tests.rule_sets import nuscenes_reference as reference
from tests.rule_sets.driving_boxes import Row, cuboid, evaluate, generated, of_category

CLASSES = apf.NUSCENES.classes.names
METRES = [0.5, 1, 2, 4]


def case(truth: list[float], found: list[tuple[float, float]]) -> apf.Evaluation:
    return evaluate([cuboid(x) for x in truth], [cuboid(x, score) for x, score in found], apf.NUSCENES)


def exactly(values: Any) -> Any:
    return pytest.approx(values, abs=1e-9)


TWENTY = [20.0 * k for k in range(20)]
N1 = ([float(x) for x in range(0, 100, 10)],
      [(0.3, 0.9), (500, 0.85), (10.7, 0.8), (21.5, 0.7), (510, 0.6), (33, 0.5), (40.1, 0.4), (50.1, 0.3)])  # fmt: skip


@pytest.mark.parametrize(
    ("truth", "found", "ap", "ate"),
    [
        pytest.param(*N1, [0.045304233, 0.137272193, 0.249301881, 0.352175191], 0.598277778, id="N1"),
        pytest.param([0, 10], [(0.1, 0.5), (0.2, 0.5), (10, 0.4)], [0.737654321] * 4, 0.171666667, id="N2"),
        pytest.param([0, 10], [(0.2, 0.5), (0.1, 0.5), (10, 0.4)], [0.737654321] * 4, 0.085833333, id="N2 swapped"),
        pytest.param([0], [(0.5, 0.9)], [0, 1, 1, 1], 0.5, id="N3"),
        pytest.param([0, 1], [(0, 0.9), (0.1, 0.8)], [0.438271605, 1, 1, 1], 0.1275, id="N4"),
        pytest.param(TWENTY, [(0, 0.9)], [0] * 4, 1, id="N5"),
        pytest.param(TWENTY, [(20 * k, 0.9 - k / 100) for k in range(7)], [0.266666667] * 4, 0, id="N6"),
        pytest.param([0], [(0, 0)], [1] * 4, 1, id="N10"),
        pytest.param([0], [(9, 0.9), (0, 0.5)], [0.2] * 4, 0, id="N13"),
        pytest.param([0], [(0, 0.9), (9, 0.5), (19, 0.4)], [0.991769547] * 4, 0, id="N14"),
    ],
)  # fmt: skip
def test_cases_of_the_kit(truth: list[float], found: list[tuple[float, float]], ap: list[float], ate: float) -> None:
    evaluation = case(truth, found)
    assert of_category(evaluation, "ap") == exactly(ap)
    assert of_category(evaluation, "ate") == [None, None, exactly(ate), None]


def test_absent_classes_count() -> None:
    summary = dict(case(*N1).summary.rows())
    assert summary == exactly(
        {"AP": 0.019601337, "ATE": 0.959827778, "ASE": 0.9, "AOE": 0.888888889, "AVE": 0.875, "AAE": 1, "NDS": 0.047429002}
    )


@pytest.mark.parametrize("case", ["N5", "N10"])
def test_all_errors_are_1_below_the_lowest_recall_and_for_scores_of_0(case: str) -> None:
    truth = TWENTY if case == "N5" else [0.0]
    evaluation = evaluate([cuboid(x) for x in truth], [cuboid(0, 0.9 if case == "N5" else 0)], apf.NUSCENES)
    at_two = evaluation.metrics.filter(category_id="car", iou_threshold=-2)
    assert at_two.select("ate", "ase", "aoe", "ave", "aae").row(0) == (1, 1, 1, 1, 1)


@pytest.mark.parametrize(("order", "ap"), [("ab", 0.101234568), ("ba", 0.438271605)])
def test_ties_across_samples_go_by_the_order_of_the_file(order: str, ap: float) -> None:
    found = {"a": cuboid(0, 0.5, image="a"), "b": cuboid(9, 0.5, image="b")}
    evaluation = evaluate(
        [cuboid(0, image="a"), cuboid(0, image="b")], [found[name] for name in order], apf.NUSCENES, images=("a", "b")
    )
    assert of_category(evaluation, "ap") == exactly([ap] * 4)


def test_all_five_errors() -> None:
    truth = [
        cuboid(0, yaw=0.1, velocity=(1, 0), attribute="moving"),
        cuboid(10, velocity=(None, None)),
        cuboid(20, yaw=3, velocity=(0, 0), attribute="parked"),
    ]
    found = [
        cuboid(0.2, 0.9, yaw=0.3, velocity=(2, 0), size=(2, 4, 1), attribute="moving"),
        cuboid(10.4, 0.7, yaw=0.4, attribute="moving"),
        cuboid(20.6, 0.5, yaw=-3, size=(1, 4, 1.5), attribute="moving"),
    ]
    evaluation = evaluate(truth, found, apf.NUSCENES)
    assert of_category(evaluation, "ap") == exactly([0.622222222, 1, 1, 1])
    at_two = evaluation.metrics.filter(category_id="car", iou_threshold=-2).select("ate", "ase", "aoe", "ave", "aae")
    assert at_two.row(0) == exactly((0.275188889, 0.261012346, 0.255041821, 0.904611111, 0.095388889))


def expected_of(truth: list[Row], found: list[Row], names: tuple[str, ...] = CLASSES) -> dict[str, float]:
    """The summary by the plain loops."""
    aps, means = [], {kind: [] for kind in reference.KINDS}
    for name in names:
        own = [[row for row in rows if row["category_id"] == name] for rows in (truth, found)]
        aps.append(np.mean([reference.average_precision(own[0], own[1], metres) for metres in METRES]))
        for kind, error in reference.errors(own[0], own[1], half_turns=name == "barrier").items():
            if (name, kind) not in apf.NUSCENES.errors.undefined:
                means[kind].append(error)
    values = {"AP": np.mean(aps)} | {kind.upper(): np.mean(of) for kind, of in means.items()}
    score = 5 * values["AP"] + sum(max(0, 1 - values[kind.upper()]) for kind in reference.KINDS)
    return values | {"NDS": score / 10}


@pytest.mark.parametrize("seed", range(30))
def test_as_plain_loops_do(seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth, found = generated(rng, ["car", "barrier", "traffic_cone"])
    evaluation = evaluate(truth, found, apf.NUSCENES, [f"i{k}" for k in range(4)], CLASSES)
    assert dict(evaluation.summary.rows()) == exactly(expected_of(truth, found))


def weathered(seed: int = 7, n_images: int = 12) -> tuple[list[Row], list[Row], dict[str, list[Any]]]:
    """Rows of some images, which are in rain or not."""
    truth, found = generated(np.random.default_rng(seed), ["car", "barrier"], n_images)
    ids = [f"i{k}" for k in range(n_images)]
    return truth, found, {"image_id": ids, "weather": ["rain" if k % 3 == 0 else "clear" for k in range(n_images)]}


def on(images: set[str], *tables: list[Row]) -> list[list[Row]]:
    return [[row for row in rows if row["image_id"] in images] for rows in tables]


def test_slices_and_subsets_are_evaluations_of_their_images() -> None:
    truth, found, images = weathered()
    evaluation = evaluate(truth, found, apf.NUSCENES, images, CLASSES)
    table = evaluation.by("weather")
    for weather in ("clear", "rain"):
        some = {image for image, own in zip(images["image_id"], images["weather"], strict=True) if own == weather}
        expected = expected_of(*on(some, truth, found))
        row = table.row(by_predicate=pl.col("weather") == weather, named=True)
        assert {name: row[name] for name in expected} == exactly(expected)
        assert row["n_categories"] == 10
        assert dict(evaluation.where(pl.col("weather") == weather).summary.rows()) == exactly(expected)


def test_slices_by_category_have_no_score_where_an_error_is_undefined() -> None:
    truth, found, images = weathered()
    table = evaluate(truth, found, apf.NUSCENES, images, CLASSES).by("name")
    rows = {row["name"]: row for row in table.to_dicts()}
    expected = expected_of(*([row for row in rows if row["category_id"] == "car"] for rows in (truth, found)), names=("car",))
    assert {name: rows["car"][name] for name in expected} == exactly(expected)
    assert rows["barrier"]["AVE"] is None and rows["barrier"]["NDS"] is None and rows["barrier"]["AOE"] is not None
    assert rows["bus"]["AP"] == 0 and rows["bus"]["ATE"] == 1


def test_slices_of_objects_are_matched_again() -> None:
    truth, found, images = weathered()
    for rows in (truth, found):
        for row in rows:
            row["ego_distance"] = abs(row["cuboid_x"])
    evaluation = evaluate(truth, found, apf.NUSCENES, images, CLASSES)
    near = evaluation.by(apf.bins("ego_distance", [0, 3, 8])).row(0, named=True)
    subset = evaluation.where(pl.col("annotations.ego_distance") < 3, pl.col("detections.ego_distance") < 1e9)
    assert near["n_annotations"] == sum(row["ego_distance"] < 3 for row in truth)
    assert 0 < near["AP"] < 1 and 0 < near["NDS"] < 1
    assert subset.summary["value"].null_count() == 0
    one_side = evaluation.by("annotations.attribute")
    assert one_side["NDS"].null_count() == 0


def test_resamples_are_data_sets_with_copies_of_images() -> None:
    truth, found, images = weathered(n_images=6)
    evaluation = evaluate(truth, found, apf.NUSCENES, images, CLASSES)
    drawn = evaluation.draws(n_resamples=5, seed=3)

    assert drawn.height
    intervals = evaluation.intervals(n_resamples=200)
    assert intervals["metric"].to_list() == ["AP", "ATE", "ASE", "AOE", "AVE", "AAE", "NDS"]
    assert intervals["estimate"].to_list() == exactly(evaluation.summary["value"].to_list())
    assert (intervals["low"] <= intervals["high"]).all()
