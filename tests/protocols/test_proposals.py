"""Recall of proposals: every number is that of plain loops over the rules of Detectron (proposals_reference.py)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import apframe as apf
from apframe.protocols.rules.known import DetectedImagesOnly
from tests.parity.reference import close
from tests.protocols.generated import Row, Truth, half_as_often, sets, tables
from tests.protocols.proposals_reference import AREAS, THRESHOLDS, recall_numbers, recalls
from tests.protocols.row import proposals
from tests.protocols.rules_of import adding

pytestmark = pytest.mark.filterwarnings(
    "ignore::apframe.exceptions.NoAnnotationsWarning", "ignore::apframe.exceptions.NothingMatchesWarning"
)


def evaluate(truth: Truth, results: list[Row], *, detected_only: bool = False, **options: Any) -> apf.Evaluation:
    protocol = adding(apf.PROPOSALS, DetectedImagesOnly()) if detected_only else apf.PROPOSALS
    return apf.evaluate(*tables(truth, results, "area", "is_crowd"), protocol, **options)


LIMITS = st.lists(st.integers(1, 6), min_size=1, max_size=3, unique=True).map(sorted)


@pytest.mark.slow
@given(sets(proposals), LIMITS | st.just([100, 1000]), st.booleans())
def test_any_limits_equal_loops(data: tuple[Truth, list[Row]], limits: list[int], detected_only: bool) -> None:
    evaluation = evaluate(*data, detected_only=detected_only, max_detections=limits)
    expected = recall_numbers(*data, limits, detected_only=detected_only)
    assert evaluation.summary.rows() == list(zip(expected, close(expected.values()), strict=True))


@pytest.mark.slow
@half_as_often
@given(sets(proposals), st.booleans())
def test_recall_at_every_threshold_equals_loops(data: tuple[Truth, list[Row]], detected_only: bool) -> None:
    metrics = evaluate(*data, detected_only=detected_only, max_detections=[2, 100]).metrics
    for area, limit in product(AREAS, (2, 100)):
        values = metrics.filter(area_range=area, max_detections=limit).sort("iou_threshold")["recall"].to_list()
        assert values == close(recalls(*data, area, limit, detected_only=detected_only) or [None] * len(THRESHOLDS))


def one_image(annotations: Sequence[Mapping[str, Any]], found: Sequence[Sequence[float]]) -> tuple[Truth, list[Row]]:
    """Annotations by their columns, proposals as boxes, best score first."""
    cell = {"image_id": 1, "category_id": 1}
    truth = {
        "images": [{"id": 1}],
        "categories": [{"id": 1}],
        "annotations": [cell | {"area": 100.0, "is_crowd": False} | row for row in annotations],
    }
    return truth, [cell | {"bbox": box, "score": 0.9 - k / 10} for k, box in enumerate(found)]


A = [0, 0, 10, 10]
# annotations; proposals; AR100: recall .5:.95
RULES: dict[str, tuple[list[Any], list[Any], float]] = {
    # by score, the first would take A (IoU .6) and leave nothing for the second; their overlap decides
    "the largest overlap first, whatever the scores": ([{"bbox": A}], [[0, 0, 10, 6], A], 1.0),
    # proposal 1 is A itself; proposal 2 has .8 of A and .5 of the other, and is left with the other
    "then the largest of what is left": (
        [{"bbox": A}, {"bbox": [0, 2, 10, 16]}], [A, [0, 0, 10, 8]], (10 + 0) / 20,
    ),
    # the largest total, .6 and .6, would find both; the largest overlap, 1, leaves the second with .33
    "not the largest total": ([{"bbox": A}, {"bbox": [0, 2.5, 10, 10]}], [A, [0, -2.5, 10, 10]], 10 / 20),
    # in COCO it would be ignored, and the proposal with it
    "a crowd is not there": ([{"bbox": A}, {"bbox": A, "is_crowd": True}], [A], 1.0),
    "what is out of the area range takes no proposal": ([{"bbox": A}, {"bbox": A, "area": 1e12}], [A], 1.0),
}  # fmt: skip


@pytest.mark.parametrize(("annotations", "found", "recall"), RULES.values(), ids=RULES)
def test_rules_one_by_one(annotations: list[Any], found: list[Any], recall: float) -> None:
    assert evaluate(*one_image(annotations, found)).summary.row(0) == ("AR100", pytest.approx(recall, abs=1e-12))


@pytest.mark.parametrize("categories", [(1, 1), (1, 2), (2, 1)], ids=str)
def test_equal_overlaps_go_to_the_earlier_of_any_category(categories: tuple[int, int]) -> None:
    # the first proposal overlaps both by .6; the second overlaps the first annotation by .6, and the other hardly
    truth, detections = one_image([{"bbox": [0, 0, 10, 10]}, {"bbox": [0, 5, 10, 10]}], [[0, 2.5, 10, 10], [0, -2.5, 10, 10]])
    truth["categories"].append({"id": 2})
    for row, category in zip(truth["annotations"], categories, strict=True):
        row["category_id"] = category
    assert evaluate(truth, detections, iou_thresholds=[0.5]).summary.row(0) == ("AR100", 0.5)


def test_without_images_with_proposals_there_is_no_recall() -> None:
    assert evaluate(*one_image([{"bbox": A}], []), detected_only=True).summary.row(0) == ("AR100", None)
