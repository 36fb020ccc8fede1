"""ARGOVERSE2: the cases of av2-api, and what is its own: claims, and absent categories that count."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest

import apframe as apf
from apframe.exceptions import ParameterError
from tests.benchmarks.driving.driving_boxes import Row, cuboid, evaluate, of_category

CAR = "REGULAR_VEHICLE"


def exactly(values: Any) -> Any:
    return pytest.approx(values, abs=1e-9)


def case(truth: list[Row], found: list[Row]) -> apf.Evaluation:
    return evaluate(truth, found, apf.ARGOVERSE2, categories=[CAR])


def car(*place: float, **further: Any) -> Row:
    return cuboid(*place, name=CAR, **further)


_FOUND = [(0.3, 0.9), (140, 0.85), (10.7, 0.8), (21.5, 0.7), (145, 0.6), (33, 0.5), (40.1, 0.4), (50.1, 0.3)]
A1 = [car(x) for x in range(0, 100, 10)], [car(x, score) for x, score in _FOUND]
A6 = [car(0, yaw=3)], [car(0.2, 0.9, yaw=-3, size=(2, 2, 1.5))]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("truth", "found", "ap"),
    [
        pytest.param(*A1, [0.176980198, 0.268976898, 0.377475248, 0.477722772], id="A1"),
        pytest.param([car(0), car(1)], [car(0, 0.9), car(0.1, 0.8)], [0.5] * 4, id="A2"),
        pytest.param([car(0)], [car(0.9, 0.9), car(0.1, 0.8)], [0, 0.995049505, 0.995049505, 0.995049505], id="A2b"),
        pytest.param([car(0)], [car(0, 0.9, z=1)], [0, 0, 1, 1], id="A5"),
        pytest.param(*A6, [1] * 4, id="A6"),
        pytest.param([car(0), car(10)], [car(0, 0.9), car(20, 0.8), car(10, 0.7)], [0.498349835] * 4, id="A7"),
    ],
)
def test_cases_of_the_kit(truth: list[Row], found: list[Row], ap: list[float]) -> None:
    assert of_category(case(truth, found), "ap", CAR) == exactly(ap)


@pytest.mark.slow
def test_errors_and_the_composite_score() -> None:
    def of_car(evaluation: apf.Evaluation) -> dict[str, float]:
        rows = evaluation.metrics.filter(pl.col("category_id") == CAR)
        at_two = rows.row(by_predicate=pl.col("iou_threshold") == -2, named=True)
        return {kind: at_two[kind] for kind in ("ate", "ase", "aoe")} | {"cds": rows["cds"].mean()}

    errors = of_car(case(*A1))
    assert (errors["ate"], errors["cds"]) == exactly((0.54, 0.296012789))
    assert of_car(case(*A6)) == exactly({"ate": 0.2, "ase": 0.5, "aoe": 0.283185307, "cds": 0.769953106})


@pytest.mark.slow
def test_absent_categories_count() -> None:
    assert dict(case(*A1).summary.rows()) == exactly({
        "AP": np.mean([0.176980198, 0.268976898, 0.377475248, 0.477722772]) / 26, "ATE": (0.54 + 25 * 2) / 26,
        "ASE": 25 / 26, "AOE": 25 * math.pi / 26, "CDS": 0.296012789 / 26,
    })  # fmt: skip


def test_claims_have_one_threshold_for_all_categories() -> None:
    with pytest.raises(
        ParameterError, match=r"^iou_thresholds: matching 'claimant' does not accept thresholds by category; give one for all$"
    ):
        apf.ARGOVERSE2.with_options(iou_thresholds={CAR: -2, "BUS": -4})


def test_pairs_are_claims() -> None:
    evaluation = case([car(0), car(1)], [car(0.9, 0.9), car(9, 0.8)])
    assert evaluation.pairs["similarity"].to_list() == exactly([-0.1])  # not that of .9 with 0, nor that of 9, too far away
