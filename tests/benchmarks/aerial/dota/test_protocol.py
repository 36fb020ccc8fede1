"""DOTA: outcomes are those of plain loops over shapely's polygons, corners are angles, and the cases of the references."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import apframe as apf
from apframe.metrics.average_precision import AveragePrecision
from apframe.metrics.definitions import Interpolated
from apframe.protocols.rules.classes import Classes
from tests.benchmarks.aerial.dota.row import CATEGORIES, Row, corners, judge, rotated
from tests.parity.reference import close
from tests.parity.voc_reference import average_precision
from tests.protocols.generated import BOX, half_as_often, mean, sets

pytest.importorskip("shapely", reason="rotated boxes are compared with shapely")

pytestmark = [
    pytest.mark.filterwarnings(f"ignore::apframe.exceptions.{name}")
    for name in ("NoAnnotationsWarning", "UnitWarning")  # some angles are a little more than a full turn
]


def dataset(truth: Any, annotations: pl.DataFrame) -> apf.Dataset:
    return apf.Dataset({"image_id": truth["images"]}, {"category_id": CATEGORIES}, annotations)


def by_angle(rows: list[Row]) -> pl.DataFrame:
    return pl.DataFrame(rows)


def by_corners(rows: list[Row]) -> pl.DataFrame:
    return by_angle(rows).drop(*BOX, "angle").with_columns(corners=pl.Series([corners(row) for row in rows]))


@pytest.mark.slow
@half_as_often
@given(sets(rotated))
def test_average_precision_equals_loops(data: tuple[Any, list[Row]]) -> None:
    truth, results = data
    evaluation = apf.evaluate(dataset(truth, by_angle(truth["annotations"])), by_angle(results), apf.DOTA)
    expected = {}
    for category in CATEGORIES:
        outcomes = judge(truth, results, category)
        matches = evaluation.matches().filter(category_id=category).drop_nulls("detection_id").sort("rank")
        assert matches["outcome"].to_list() == [{True: "tp", False: "fp", None: "ignored"}[outcome] for outcome in outcomes]
        n_positives = sum(row["category_id"] == category and not row["ignore"] for row in truth["annotations"])
        expected[category] = average_precision(outcomes, n_positives, 2007)
    assert evaluation.metrics.sort("category_id")["ap"].to_list() == close(expected.values())
    assert evaluation.summary.rows() == [("AP", *close([mean(expected.values())]))]


@pytest.mark.slow
@half_as_often
@given(sets(rotated), st.sampled_from([(by_angle, by_corners), (by_corners, by_angle), (by_corners, by_corners)]))
def test_corners_and_angles_give_the_same_numbers(data: tuple[Any, list[Row]], forms: tuple[Any, Any]) -> None:
    truth, results = data
    evaluations = [
        apf.evaluate(dataset(truth, of_truth(truth["annotations"])), of_results(results), apf.DOTA)
        for of_truth, of_results in ((by_angle, by_angle), forms)
    ]
    first, other = evaluations
    assert other.metrics.equals(first.metrics)
    one, two = (evaluation.matches() for evaluation in evaluations)
    assert two.drop("similarity").equals(one.drop("similarity"))
    assert two["similarity"].to_list() == close(one["similarity"])


# a box of 20 x 10 about (10, 10), and the same turned by 45 degrees: its right end goes up, to a smaller y
LEVEL = {"x": 0.0, "y": 5.0, "width": 20.0, "height": 10.0}
RIGHT_END_UP = [6.464466094, 20.606601718, -0.606601718, 13.535533906, 13.535533906, -0.606601718, 20.606601718, 6.464466094]


@pytest.mark.parametrize(("angle", "outcome"), [(math.pi / 4, "tp"), (-math.pi / 4, "fp"), (math.pi / 4 - math.pi, "tp")])
def test_angles_turn_counter_clockwise_as_one_sees_them(angle: float, outcome: str) -> None:
    cell = {"image_id": [1], "category_id": [1]}
    truth = apf.Dataset({"image_id": [1]}, {"category_id": [1]}, cell | {"corners": [RIGHT_END_UP]})
    detections = pl.DataFrame(cell | {"score": [0.9], "angle": [angle]} | {name: [value] for name, value in LEVEL.items()})
    assert apf.evaluate(truth, detections, apf.DOTA).matches().drop_nulls("detection_id")["outcome"].to_list() == [outcome]


def upright(rows: list[tuple[float, float]], **columns: list[Any]) -> pl.DataFrame:
    """Boxes that are 10 wide, from their top to their bottom edge."""
    shapes = [[0.0, top, 10.0, top, 10.0, bottom, 0.0, bottom] for top, bottom in rows]
    return pl.DataFrame({"image_id": [1] * len(rows), "category_id": [1] * len(rows), "corners": shapes} | columns)


RULES: dict[str, tuple[pl.DataFrame, list[tuple[float, float]], list[tuple[int | None, int | None, str]]]] = {
    "an overlap of .5 is not above .5": (upright([(0, 10)], ignore=[False]), [(0, 5)], [(1, None, "fp"), (None, 1, "fn")]),
    "difficult ones are ignored": (
        upright([(0, 10)], ignore=[True]),
        [(0, 10), (0, 9)],
        [(1, 1, "ignored"), (2, 1, "ignored")],
    ),
    "another annotation is not tried": (
        upright([(0, 10), (1, 11)], ignore=[False, False]),
        [(0, 10), (0, 10)],
        [(1, 1, "tp"), (2, None, "fp"), (None, 2, "fn")],
    ),
}


@pytest.mark.parametrize(("annotations", "found", "expected"), RULES.values(), ids=RULES)
def test_rules_one_by_one(annotations: pl.DataFrame, found: list[tuple[float, float]], expected: list[Any]) -> None:
    detections = upright(found, score=[0.9 - k / 10 for k in range(len(found))])
    matches = apf.evaluate(apf.Dataset({"image_id": [1]}, {"category_id": [1]}, annotations), detections, apf.DOTA).matches()
    assert matches.select("detection_id", "annotation_id", "outcome").rows() == expected


def square(x: float, y: float = 0) -> list[float]:
    return [x, y, x + 20, y, x + 20, y + 20, x, y + 20]


A, B, C, F = square(0), square(100), [200.0, 10, 210, 0, 220, 10, 210, 20], square(500)
HALF = [0.0, 0, 10, 0, 10, 20, 0, 20]  # of A
IN_ORDER = [(A, 0.9), (F, 0.8), (B, 0.7), (F, 0.6), (C, 0.5)]

# objects with their difficulties, detections, and average precision by DOTA_V1, DOTA_V15 and MMROTATE
CASES: dict[str, tuple[list[tuple[list[float], int]], list[tuple[list[float], float]], tuple[float, float, float]]] = {
    "list A": ([(A, 0), (B, 0), (C, 0)], IN_ORDER, (0.763636364, 0.763636364, 0.763636364)),
    "one is difficult": ([(A, 0), (B, 1), (C, 0)], IN_ORDER, (0.772727273, 0.763636364, 0.763636364)),
    "an IoU of one half": ([(A, 0)], [(HALF, 0.9)], (0.0, 0.0, 1.0)),
    "a diamond in its square": ([(square(0), 0)], [([10.0, 0, 20, 10, 10, 20, 0, 10], 0.9)], (0.0, 0.0, 1.0)),
    "difficulty 2, which is found first": ([(A, 0), (B, 2)], [(B, 0.9), (A, 0.8)], (1.0, 1.0, 1.0)),
    "the best is taken": (
        [(A, 0), (square(2), 0)], [(A, 0.9), (square(0.5), 0.8)], (0.545454545, 0.545454545, 0.545454545),
    ),
    "a false one and a true one with the same score": ([(A, 0)], [(F, 0.9), (A, 0.9)], (0.5, 0.5, 0.5)),
    "the true one first": ([(A, 0)], [(A, 0.9), (F, 0.9)], (1.0, 1.0, 1.0)),
}  # fmt: skip


def one_class(objects: list[tuple[list[float], int]], found: list[tuple[list[float], float]]) -> tuple[apf.Dataset, Any]:
    cell = {"image_id": 1, "category_id": 1}
    annotations = pl.DataFrame([cell | {"corners": corners, "ignore": flag != 0} for corners, flag in objects])
    dataset = apf.Dataset({"image_id": [1]}, {"category_id": [1], "name": ["ship"]}, annotations)
    return dataset, pl.DataFrame([cell | {"corners": corners, "score": score} for corners, score in found])


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_cases_of_the_references(name: str) -> None:
    objects, detections, expected = CASES[name]
    for protocol, value in zip((apf.DOTA_V1, apf.DOTA_V15, apf.MMROTATE), expected, strict=True):
        evaluation = apf.evaluate(*one_class(objects, detections), protocol)
        assert evaluation.metrics.filter(category_id=1)["ap"].to_list() == [pytest.approx(value, abs=1e-9)]
        classes = protocol.rule(Classes)
        n = len(classes.names) if classes else 1
        assert evaluation.summary["value"].to_list() == [pytest.approx(value / n, abs=1e-9)]
        assert evaluation.by("category_id").height == n


def test_list_a_as_the_area_under_the_curve() -> None:
    protocol = replace(apf.DOTA_V1, metrics=(AveragePrecision(Interpolated(), counts_absent=True),))
    evaluation = apf.evaluate(*one_class(*CASES["list A"][:2]), protocol)
    assert evaluation.metrics.filter(category_id=1)["ap"].to_list() == [pytest.approx(0.755555556, abs=1e-9)]
