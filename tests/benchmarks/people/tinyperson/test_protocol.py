"""TINYPERSON: sizes, thresholds, and what is ignored, each by hand."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import apframe as apf
from apframe.protocols.headlines import main_headline
from tests.benchmarks.people.tinyperson.row import Row, person


def evaluate(truth: list[Row], detections: list[Row], **options: Any) -> apf.Evaluation:
    dataset = apf.Dataset({"image_id": [1]}, {"category_id": [1], "name": ["person"]}, pl.DataFrame(truth))
    return apf.evaluate(dataset, pl.DataFrame(detections), protocol="tinyperson", **options)


def test_a_report_of_thresholds_that_are_not_evaluated_is_null() -> None:
    evaluation = evaluate([person(0.0, 10.0)], [person(0.0, 10.0, score=0.5)], iou_thresholds=0.6)
    assert evaluation.summary["value"].null_count() == evaluation.summary.height == 21
    assert evaluation.metrics.filter(area_range="all")["ap"].to_list() == [pytest.approx(1.0)]


@pytest.mark.parametrize(
    ("side", "ranges"),
    [
        (0.9, []),
        (1.0, ["all", "tiny", "tiny1"]),
        (8.0, ["all", "tiny", "tiny1", "tiny2"]),
        (12.0, ["all", "tiny", "tiny2", "tiny3"]),
        (20.0, ["all", "tiny", "tiny3", "small"]),
        (32.0, ["all", "small", "reasonable"]),
        (400.0, ["all", "reasonable"]),
    ],
)
def test_sizes_include_their_bounds(side: float, ranges: list[str]) -> None:
    metrics = evaluate([person(0.0, side)], [person(0.0, side, score=0.5)]).metrics.filter(iou_threshold=0.5)
    assert metrics.filter(n_positives=1)["area_range"].to_list() == ranges


@pytest.mark.parametrize("flag", ["ignore", "uncertain", "is_crowd"])
@pytest.mark.parametrize(("inside", "is_wrong"), [(4.9, True), (5.0, False)])
def test_what_lies_in_an_ignored_person_is_ignored(flag: str, inside: float, is_wrong: bool) -> None:
    truth = [person(0.0, 10.0, **{flag: False}), person(100.0, 50.0, **{flag: True})]
    detections = [person(0.0, 10.0, score=0.5), person(90.0 + inside, 10.0, score=0.9)]
    values = dict(evaluate(truth, detections).summary.rows())
    assert values["AP50_tiny"] == pytest.approx(0.5 if is_wrong else 1.0, abs=1e-9)


def test_people_of_another_size_are_regions_too() -> None:
    evaluation = evaluate(
        [person(0.0, 10.0), person(100.0, 50.0)], [person(0.0, 10.0, score=0.5), person(110.0, 10.0, score=0.9)]
    )
    values = dict(evaluation.summary.rows())
    assert (values["AP50_tiny"], values["AP50"]) == pytest.approx((1.0, 0.5 * 51 / 101), abs=1e-9)


def test_the_number_that_stands_for_all_is_that_of_tiny_people() -> None:
    assert main_headline(apf.TINYPERSON).metric == "AP50_tiny"


def test_thresholds_are_not_averaged() -> None:
    evaluation = evaluate([person(0.0, 10.0)], [person(4.0, 10.0, score=0.5)])
    values = dict(evaluation.summary.rows())
    assert [values[f"AP{percent}_tiny"] for percent in (25, 50, 75)] == pytest.approx([1, 0, 0], abs=1e-9)
    assert "AP" not in values


@pytest.mark.slow
def test_200_detections_of_an_image_count() -> None:
    wrong = [person(1000.0 + 20 * k, 10.0, score=0.9 - k / 1000) for k in range(200)]
    last = person(0.0, 10.0, score=0.1)
    assert evaluate([person(0.0, 10.0)], [*wrong, last])["AP50_tiny"] == 0
    assert evaluate([person(0.0, 10.0)], [*wrong[:199], last])["AP50_tiny"] == pytest.approx(1 / 200, abs=1e-9)
