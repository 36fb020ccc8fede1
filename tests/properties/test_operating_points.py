"""Cutting by score: the tables at a score are those of the detections of at least that score, under every policy."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import apframe as apf
from tests.parity.strategies import OF_LISTS, Case, cases, half_as_often

pytestmark = pytest.mark.filterwarnings(
    "ignore::apframe.exceptions.NoAnnotationsWarning", "ignore::apframe.exceptions.NothingMatchesWarning"
)
COUNTS = ["tp", "fp", "fn"]


def evaluated(case: Case, found: list[dict[str, Any]], **options: Any) -> apf.Evaluation:
    return apf.evaluate(case.truth, found, **options)


def counts_of(evaluation: apf.Evaluation, area: str, category: Any) -> tuple[int, ...]:
    matches = evaluation.matches(area_range=area)
    if category is not None:
        matches = matches.filter(pl.col("category_id") == category)
    return tuple(int((matches["outcome"] == name).sum()) for name in COUNTS)


@half_as_often
@given(
    cases(ties=False),
    st.sampled_from(OF_LISTS),
    st.sampled_from([0.1, 0.4, 0.5]),
    st.sampled_from([[1], [3], [None]]),
    st.booleans(),
)
def test_a_threshold_is_the_evaluation_of_what_is_above_it(
    case: Case, matching: str, iou_threshold: float, limit: list[Any], agnostic: bool
) -> None:
    options = {
        "matching": matching, "iou_thresholds": [iou_threshold, 0.75], "max_detections": limit, "agnostic": agnostic,
        "area_ranges": {"small": (0, 1023)},
    }  # fmt: skip
    evaluation = evaluated(case, case.results, **options)
    for area in ("all", "small"):
        for row in evaluation.thresholds(area_range=area).rows(named=True):
            cut = [each for each in case.results if each["score"] >= row["score_threshold"]]
            part = evaluated(case, cut, **options)
            assert tuple(row[name] for name in COUNTS) == counts_of(part, area, row["category_id"])


@half_as_often
@given(cases(ties=False), st.sampled_from(OF_LISTS), st.sampled_from([0.0, 0.3, 0.5, 0.9]))
def test_images_above_a_score_are_those_of_its_detections(case: Case, matching: str, score: float) -> None:
    options = {"matching": matching, "iou_thresholds": [0.4, 0.75], "max_detections": [2, 5]}
    detections = [row for row in case.results if row["score"] >= score]
    table = evaluated(case, case.results, **options).per_image(min_score=score)
    assert table.equals(evaluated(case, detections, **options).per_image())


@pytest.mark.parametrize("matching", ["similarity", "optimal"])
def test_the_detection_of_the_lower_score_is_more_similar(matching: str) -> None:
    """One annotation; .9 overlaps it by .43, .2 by 1: at .9 alone the first has it."""
    truth = {
        "images": [{"id": 1}], "categories": [{"id": 1, "name": "cat"}],
        "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [0, 0, 10, 10]}],
    }  # fmt: skip
    detections = [
        {"image_id": 1, "category_id": 1, "score": 0.9, "bbox": [4, 0, 10, 10]},
        {"image_id": 1, "category_id": 1, "score": 0.2, "bbox": [0, 0, 10, 10]},
    ]
    evaluation = apf.evaluate(truth, detections, matching=matching, iou_thresholds=[0.4, 0.5])
    rows = evaluation.thresholds(0.4).select("score_threshold", *COUNTS, "is_best").rows()
    assert rows == [(0.9, 1, 0, 0, True), (0.2, 1, 1, 0, False)]
    assert evaluation.per_image(0.4, min_score=0.9).select(COUNTS).row(0) == (1, 0, 0)
    assert evaluation.per_image(0.4).select(COUNTS).row(0) == (1, 1, 0)
    assert evaluation.sql("SELECT tp FROM thresholds WHERE iou_threshold = 0.4 AND area_range = 'all' AND is_best").item() == 1
