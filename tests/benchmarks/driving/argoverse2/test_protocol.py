"""ARGOVERSE2: the cases of av2-api, the rules as plain loops on generated sets, and what comes after the matches."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import apframe as apf
from apframe.exceptions import ParameterError
from tests.benchmarks.driving.driving_boxes import Row, cuboid, evaluate, generated, of_category
from tests.parity.strategies import half_as_often
from tests.protocols.many_sets import slices_of
from tests.protocols.rules_of import classes_of

CAR = "REGULAR_VEHICLE"
CATEGORIES = classes_of(apf.ARGOVERSE2).names
METRES = [0.5, 1, 2, 4]


def exactly(values: Any) -> Any:
    return pytest.approx(values, abs=1e-9)


def case(truth: list[Row], found: list[Row]) -> apf.Evaluation:
    return evaluate(truth, found, apf.ARGOVERSE2, categories=[CAR])


def car(*place: float, **further: Any) -> Row:
    return cuboid(*place, name=CAR, **further)


_FOUND = [(0.3, 0.9), (140, 0.85), (10.7, 0.8), (21.5, 0.7), (145, 0.6), (33, 0.5), (40.1, 0.4), (50.1, 0.3)]
A1 = [car(x) for x in range(0, 100, 10)], [car(x, score) for x, score in _FOUND]


@pytest.mark.parametrize(
    ("truth", "found", "ap"),
    [
        pytest.param(*A1, [0.176980198, 0.268976898, 0.377475248, 0.477722772], id="A1"),
        pytest.param([car(0), car(1)], [car(0, 0.9), car(0.1, 0.8)], [0.5] * 4, id="A2"),
        pytest.param([car(0)], [car(0.9, 0.9), car(0.1, 0.8)], [0, 0.995049505, 0.995049505, 0.995049505], id="A2b"),
        pytest.param([car(0)], [car(0, 0.9, z=1)], [0, 0, 1, 1], id="A5"),
        pytest.param([car(0, yaw=3)], [car(0.2, 0.9, yaw=-3, size=(2, 2, 1.5))], [1] * 4, id="A6"),
        pytest.param([car(0), car(10)], [car(0, 0.9), car(20, 0.8), car(10, 0.7)], [0.498349835] * 4, id="A7"),
    ],
)
def test_cases_of_the_kit(truth: list[Row], found: list[Row], ap: list[float]) -> None:
    assert of_category(case(truth, found), "ap", CAR) == exactly(ap)


def of_car(evaluation: apf.Evaluation) -> dict[str, float]:
    rows = evaluation.metrics.filter(pl.col("category_id") == CAR)
    at_two = rows.row(by_predicate=pl.col("iou_threshold") == -2, named=True)
    return {kind: at_two[kind] for kind in ("ate", "ase", "aoe")} | {"cds": rows["cds"].mean()}


def test_errors_and_the_composite_score() -> None:
    found = of_car(case(*A1))
    assert (found["ate"], found["cds"]) == exactly((0.54, 0.296012789))
    found = of_car(case([car(0, yaw=3)], [car(0.2, 0.9, yaw=-3, size=(2, 2, 1.5))]))
    assert found == exactly({"ate": 0.2, "ase": 0.5, "aoe": 0.283185307, "cds": 0.769953106})


def test_absent_categories_count() -> None:
    evaluation = case(*A1)
    assert dict(evaluation.summary.rows()) == exactly({
        "AP": np.mean([0.176980198, 0.268976898, 0.377475248, 0.477722772]) / 26, "ATE": (0.54 + 25 * 2) / 26,
        "ASE": 25 / 26, "AOE": 25 * math.pi / 26, "CDS": 0.296012789 / 26,
    })  # fmt: skip


def match(truth: list[Row], found: list[Row]) -> list[tuple[float, Row, Row | None]]:
    """The detections of a sweep by rank, with the distance of the annotation that accepted their claim, and it."""
    ranked = sorted(found, key=lambda row: -row["score"])
    accepted: set[int] = set()
    rows: list[tuple[float, Row, Row | None]] = []
    for row in ranked:
        distance, place = min(((_distance(row, other), place) for place, other in enumerate(truth)), default=(math.inf, -1))
        rows.append((distance, row, None if place in accepted or place < 0 else truth[place]))
        accepted.add(place)
    return rows


def _distance(row: Row, other: Row) -> float:
    return math.dist(*([each[f"cuboid_{axis}"] for axis in "xyz"] for each in (row, other)))


def of_one(truth: list[Row], found: list[Row]) -> dict[str, float]:
    """The numbers of one category."""
    images = sorted({row["image_id"] for row in [*truth, *found]})
    rows = [
        each for image in images for each in match(*([row for row in of if row["image_id"] == image] for of in (truth, found)))
    ]
    rows.sort(key=lambda each: -each[1]["score"])
    aps = []
    for metres in METRES if truth and found else []:
        tp = np.cumsum([other is not None and distance < metres for distance, _, other in rows])
        precision = np.maximum.accumulate((tp / np.arange(1, len(tp) + 1))[::-1])[::-1]
        aps.append(np.interp(np.linspace(0, 1, 101), tp / len(truth), precision, right=0).mean())
    pairs = [(distance, row, other) for distance, row, other in rows if other is not None and distance < 2]
    means = (2.0, 1.0, math.pi)
    if pairs:
        means = tuple(np.mean([_errors(*pair) for pair in pairs], axis=0))
    ap = float(np.mean(aps)) if aps else 0.0
    cds = ap * np.mean([1 - means[0] / 2, 1 - means[1], 1 - means[2] / math.pi])
    return {"AP": ap, "ATE": means[0], "ASE": means[1], "AOE": means[2], "CDS": float(cds)}


def _errors(distance: float, row: Row, other: Row) -> tuple[float, float, float]:
    sides = [(row[name], other[name]) for name in ("cuboid_length", "cuboid_width", "cuboid_height")]
    turned = abs(row["cuboid_yaw"] - other["cuboid_yaw"])
    scale = math.prod(min(pair) for pair in sides) / math.prod(max(pair) for pair in sides)
    return distance, 1 - scale, turned if turned < math.pi else 2 * math.pi - turned


def expected_of(truth: list[Row], found: list[Row]) -> dict[str, float]:
    """The summary by the plain loops."""
    each = [of_one(*([row for row in rows if row["category_id"] == name] for rows in (truth, found))) for name in CATEGORIES]
    return {metric: float(np.mean([numbers[metric] for numbers in each])) for metric in each[0]}


def test_claims_have_one_threshold_for_all_categories() -> None:
    with pytest.raises(
        ParameterError, match=r"^iou_thresholds: matching 'claimant' does not accept thresholds by category; give one for all$"
    ):
        apf.ARGOVERSE2.with_options(iou_thresholds={CAR: -2, "BUS": -4})


def test_pairs_are_claims() -> None:
    evaluation = case([car(0), car(1)], [car(0.9, 0.9), car(9, 0.8)])
    assert evaluation.pairs["similarity"].to_list() == exactly([-0.1])  # not that of .9 with 0, nor that of 9, too far away


def same_on_sets(seeds: range) -> None:
    sets = {seed: generated(np.random.default_rng(seed), [CAR, "BUS", "DOG"], 2, 6) for seed in seeds}
    table = slices_of(sets, CATEGORIES, apf.ARGOVERSE2)
    for row in table.rows(named=True):
        expected = expected_of(*sets[row["set"]])
        assert {name: row[name] for name in expected} == exactly(expected), row["set"]
    assert table.height == len(sets) and (table["AP"] > 0).sum() > len(sets) / 2


def test_as_plain_loops_on_fifty_sets() -> None:
    same_on_sets(range(50))


@pytest.mark.slow
def test_as_plain_loops_on_five_hundred_sets() -> None:
    same_on_sets(range(50, 550))


@half_as_often
@given(st.integers(0, 2**32 - 1))
def test_as_plain_loops_do(seed: int) -> None:
    truth, found = generated(np.random.default_rng(seed), [CAR, "BUS", "DOG"])
    evaluation = evaluate(truth, found, apf.ARGOVERSE2, [f"i{k}" for k in range(4)], CATEGORIES)
    assert dict(evaluation.summary.rows()) == exactly(expected_of(truth, found))
