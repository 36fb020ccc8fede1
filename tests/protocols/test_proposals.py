"""Recall of proposals: every number is that of a plain loop over the rules of Detectron."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import apframe as apf
from apframe.protocols.rules.limits import DetectedImagesOnly
from tests.parity.reference import close
from tests.protocols.generated import Row, Truth, box_iou, boxes, closer, half_as_often, mean, sets, tables
from tests.protocols.rules_of import adding

pytestmark = pytest.mark.filterwarnings(
    "ignore::apframe.exceptions.NoAnnotationsWarning", "ignore::apframe.exceptions.NothingMatchesWarning"
)

THRESHOLDS = np.linspace(0.5, 0.95, 10).tolist()
AREAS = {
    "all": (0, 1e10), "small": (0, 32**2), "medium": (32**2, 96**2), "large": (96**2, 1e10), "96-128": (96**2, 128**2),
    "128-256": (128**2, 256**2), "256-512": (256**2, 512**2), "512-inf": (512**2, 1e10),
}  # fmt: skip
SIDES = [8, 31.9, 32, 50, 96, 128, 200, 256, 400, 512, 1000]


def best_overlaps(annotations: Sequence[Row], proposals: Sequence[Row]) -> list[float]:
    """The pair of the largest overlap, then of those that are left, and so on; of equal ones the first annotation's."""
    overlaps = np.array([[box_iou(proposal["bbox"], row["bbox"]) for proposal in proposals] for row in annotations])
    found = []
    for _ in range(min(len(annotations), len(proposals))):
        # argmax takes the first of equal ones, row by row
        annotation, proposal = np.unravel_index(overlaps.argmax(), overlaps.shape)
        found.append(float(overlaps[annotation, proposal]))
        overlaps[annotation], overlaps[:, proposal] = -1, -1
    return found


def recalls(
    truth: Truth, results: Sequence[Row], bounds: tuple[float, float], limit: int, *, detected_only: bool = False
) -> list[float] | None:
    """Recall at each threshold; None if there is nothing to find."""
    n_positives, overlaps = 0, list[float]()
    for image in truth["images"]:
        proposals = sorted((row for row in results if row["image_id"] == image["id"]), key=lambda row: -row["score"])
        if detected_only and not proposals:
            continue
        annotations = [
            row
            for row in truth["annotations"]
            if row["image_id"] == image["id"] and not row["iscrowd"] and bounds[0] <= row["area"] <= bounds[1]
        ]
        n_positives += len(annotations)
        overlaps += best_overlaps(annotations, proposals[:limit])
    return [sum(o >= t for o in overlaps) / n_positives for t in THRESHOLDS] if n_positives else None


def expected_summary(truth: Truth, results: Sequence[Row], limits: Sequence[int], **how: Any) -> list[tuple[str, Any]]:
    def average(area: str, limit: int) -> Any:
        found = recalls(truth, results, AREAS[area], limit, **how)
        return close([mean(found) if found else None])[0]

    short = {"small": "ARs", "medium": "ARm", "large": "ARl"}
    lines = [(f"AR{limit}", average("all", limit)) for limit in limits]
    return lines + [(short.get(area, f"AR_{area}"), average(area, limits[-1])) for area in AREAS if area != "all"]


def proposals(random: np.random.Generator, n_images: int, n_categories: int = 1) -> tuple[Truth, list[Row]]:
    """Boxes with areas in and on the borders of all ranges, and images without any proposal."""
    truth, results = closer(boxes(random, n_images, n_categories))
    for row in truth["annotations"]:
        row["area"] = float(random.choice(SIDES)) ** 2
        row["is_crowd"] = bool(row["iscrowd"])
    bare = {row["id"] for row in truth["images"] if random.random() < 0.2}
    return truth, [row for row in results if row["image_id"] not in bare]


def of_categories(random: np.random.Generator, n_images: int) -> tuple[Truth, list[Row]]:
    return proposals(random, n_images, 3)


@given(sets(proposals))
def test_summary_equals_loops(data: tuple[Truth, list[Row]]) -> None:
    evaluation = apf.evaluate(*tables(*data, "area", "is_crowd"), apf.PROPOSALS)
    assert evaluation.summary.rows() == expected_summary(*data, [100, 1000])


@half_as_often
@given(sets(proposals), st.lists(st.integers(1, 6), min_size=1, max_size=3, unique=True).map(sorted))
def test_own_limits_equal_loops(data: tuple[Truth, list[Row]], limits: list[int]) -> None:
    evaluation = apf.evaluate(*tables(*data, "area", "is_crowd"), apf.PROPOSALS, max_detections=limits)
    assert evaluation.summary.rows() == expected_summary(*data, limits)


@half_as_often
@given(sets(proposals), st.booleans())
def test_recall_at_every_threshold_equals_loops(data: tuple[Truth, list[Row]], detected_only: bool) -> None:
    protocol = adding(apf.PROPOSALS, DetectedImagesOnly()) if detected_only else apf.PROPOSALS
    metrics = apf.evaluate(*tables(*data, "area", "is_crowd"), protocol, max_detections=[2, 100]).metrics
    for area, bounds in AREAS.items():
        for limit in (2, 100):
            found = metrics.filter(area_range=area, max_detections=limit).sort("iou_threshold")["recall"].to_list()
            assert found == close(recalls(*data, bounds, limit, detected_only=detected_only) or [None] * len(THRESHOLDS))


@half_as_often
@given(sets(proposals))
def test_detected_images_only_equals_loops(data: tuple[Truth, list[Row]]) -> None:
    protocol = adding(apf.PROPOSALS, DetectedImagesOnly())
    evaluation = apf.evaluate(*tables(*data, "area", "is_crowd"), protocol)
    assert evaluation.summary.rows() == expected_summary(*data, [100, 1000], detected_only=True)


@half_as_often
@given(sets(of_categories))
def test_categories_play_no_part(data: tuple[Truth, list[Row]]) -> None:
    # not in the order of equal overlaps either: of these, the first annotation of the file is taken
    evaluation = apf.evaluate(*tables(*data, "area", "is_crowd"), apf.PROPOSALS)
    assert evaluation.summary.rows() == expected_summary(*data, [100, 1000])


def one_image(annotations: Sequence[Mapping[str, Any]], found: Sequence[Sequence[float]]) -> tuple[Truth, list[Row]]:
    """Annotations by their columns, proposals as boxes, best score first."""
    cell = {"image_id": 1, "category_id": 1}
    truth = {
        "images": [{"id": 1}],
        "categories": [{"id": 1}],
        "annotations": [cell | {"area": 100.0, "is_crowd": False} | row for row in annotations],
    }
    return truth, [cell | {"bbox": box, "score": 0.9 - k / 10} for k, box in enumerate(found)]


A, B = [0, 0, 10, 10], [0, 4, 10, 10]
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
    evaluation = apf.evaluate(*tables(*one_image(annotations, found), "area", "is_crowd"), apf.PROPOSALS)
    assert evaluation.summary.row(0) == ("AR100", pytest.approx(recall, abs=1e-12))


@pytest.mark.parametrize("categories", [(1, 1), (1, 2), (2, 1)], ids=str)
def test_the_earlier_annotation_of_equal_overlaps_whatever_its_category(categories: tuple[int, int]) -> None:
    # the first proposal overlaps both by .6; the second overlaps the first annotation by .6, and the other hardly
    truth, found = one_image([{"bbox": [0, 0, 10, 10]}, {"bbox": [0, 5, 10, 10]}], [[0, 2.5, 10, 10], [0, -2.5, 10, 10]])
    truth["categories"].append({"id": 2})
    for row, category in zip(truth["annotations"], categories, strict=True):
        row["category_id"] = category
    evaluation = apf.evaluate(*tables(truth, found, "area", "is_crowd"), apf.PROPOSALS, iou_thresholds=[0.5])
    assert evaluation.summary.row(0) == ("AR100", 0.5)


@pytest.mark.parametrize(("detected_only", "recall"), [(False, 0.0), (True, None)])
def test_nothing_found(detected_only: bool, recall: float | None) -> None:
    truth, _ = tables(*one_image([{"bbox": A}], [A]), "area", "is_crowd")
    evaluation = apf.evaluate(truth, [], adding(apf.PROPOSALS, DetectedImagesOnly()) if detected_only else apf.PROPOSALS)
    assert evaluation.summary.row(0) == ("AR100", recall)
