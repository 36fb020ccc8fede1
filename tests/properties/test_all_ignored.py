"""Ignored annotations as crowds, beside a plain loop: any number of detections, by intersection over the detection's area."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import apframe as apf
from apframe.protocols.ranges import ALL, AreaRange
from apframe.protocols.rules.crowds import CrowdsIgnored, IgnoredAsCrowds
from apframe.protocols.rules.ignored import IgnoreFlagged
from apframe.protocols.rules.standard import STANDARD_ROWS
from tests.protocols.rules_of import exchanging

Row = dict[str, Any]
SMALL = AreaRange("small", 0.0, 100.0)
PROTOCOL = apf.Protocol(
    "ignored regions", "", rules=(*STANDARD_ROWS, IgnoredAsCrowds(), IgnoreFlagged()),
    iou_thresholds=(0.5,), ranges=(ALL, SMALL),
    max_detections=(None,), headlines=("AP", "AP{area}"),
)  # fmt: skip
pytestmark = [
    pytest.mark.filterwarnings(f"ignore::apframe.exceptions.{name}Warning")
    for name in ("NoAnnotations", "NothingMatches", "LowPrecision", "MissedCategory")
]
places = st.tuples(*[st.integers(0, 8)] * 2, *[st.integers(1, 14)] * 2)
flags = st.sampled_from([False, False, True])
truths = st.lists(st.tuples(places, flags, flags, st.sampled_from(["a", "b"])), min_size=1, max_size=7)
results = st.lists(places, max_size=8)


def overlap(one: list[int], other: list[int]) -> int:
    sides = (min(one[k] + one[k + 2], other[k] + other[k + 2]) - max(one[k], other[k]) for k in (0, 1))
    width, height = sides
    return max(width, 0) * max(height, 0)


def by_loop(truth: list[Row], found: list[Row], counts: Callable[[Row], bool], inside: Callable[[Row], bool]) -> dict[int, str]:
    """The outcome of each detection: counted annotations by IoU, each once; then the ignored ones by the share inside."""
    matched_ids: set[int] = set()
    outcome = {}
    for row in sorted(found, key=lambda row: -row["score"]):
        best, best_iou = None, 0.5
        for annotation in truth:
            shared = overlap(row["bbox"], annotation["bbox"])
            area = row["area"] + annotation["area"] - shared
            if counts(annotation) and annotation["id"] not in matched_ids and shared / area >= best_iou:
                best, best_iou = annotation["id"], shared / area
        ignored = [overlap(row["bbox"], each["bbox"]) / row["area"] for each in truth if not counts(each)]
        if best is not None:
            matched_ids.add(best)
            outcome[row["id"]] = "tp"
        else:
            outcome[row["id"]] = "ignored" if max(ignored, default=0) >= 0.5 or not inside(row) else "fp"
    return outcome


def data(objects: Any, places: Any) -> tuple[dict[str, list[Row]], list[Row]]:
    truth = [
        {"id": k, "image_id": 1, "category_id": 1, "bbox": list(box), "area": box[2] * box[3], "iscrowd": int(crowd),
         "ignore": int(ignore), "kind": kind}
        for k, (box, crowd, ignore, kind) in enumerate(objects, 1)
    ]  # fmt: skip
    detections = [
        {"id": k, "image_id": 1, "category_id": 1, "bbox": list(box), "area": box[2] * box[3], "score": 1 - k / 100}
        for k, box in enumerate(places, 1)
    ]
    return {"images": [{"id": 1}], "categories": [{"id": 1, "name": "x"}], "annotations": truth}, detections


def outcomes(evaluation: apf.Evaluation, area: str = "all") -> dict[int, str]:
    matches = evaluation.matches(area_range=area).drop_nulls("detection_id")
    return dict(matches.select("detection_id", pl.col("outcome").cast(pl.String)).rows())


def is_plain(row: Row) -> bool:
    return not (row["iscrowd"] or row["ignore"])


@given(truths, results)
def test_as_a_loop(objects: Any, places: Any) -> None:
    truth, detections = data(objects, places)
    evaluation = apf.evaluate(truth, detections, PROTOCOL)
    annotations = truth["annotations"]
    assert outcomes(evaluation) == by_loop(annotations, detections, is_plain, lambda _: True)
    small = by_loop(annotations, detections, lambda row: is_plain(row) and row["area"] <= 100, lambda row: row["area"] <= 100)
    assert outcomes(evaluation, "small") == small


@given(truths, results)
def test_slices_of_objects(objects: Any, places: Any) -> None:
    """Annotations outside a slice are crowds there; `by` has the numbers of `where`."""
    truth, detections = data(objects, places)
    evaluation = apf.evaluate(truth, detections, PROTOCOL)
    slices = evaluation.by("annotations.kind")
    annotations = truth["annotations"]
    for kind in ("a", "b"):
        part = evaluation.where(pl.col("kind") == kind)
        expected = by_loop(annotations, detections, lambda row, of=kind: is_plain(row) and row["kind"] == of, lambda _: True)
        row = slices.filter(pl.col("kind") == kind).rows(named=True)
        assert outcomes(part) == expected
        if row:
            assert row[0]["n_detections"] == sum(value != "ignored" for value in expected.values())
            assert row[0]["AP"] == part.summary["value"][0]


@given(truths, results, st.sampled_from(["optimal", "best_overlap"]))
def test_other_policies_ignore_what_is_inside(objects: Any, places: Any, matching: str) -> None:
    truth, detections = data(objects, places)
    evaluation = apf.evaluate(truth, detections, PROTOCOL, matching=matching)
    wrong = {key for key, value in outcomes(evaluation).items() if value == "fp"}
    for row in detections:
        ignored = [overlap(row["bbox"], each["bbox"]) / row["area"] for each in truth["annotations"] if not is_plain(each)]
        assert row["id"] not in wrong or max(ignored, default=0) < 0.5
    assert evaluation.thresholds().height >= 0 and evaluation.errors(0.5).height >= 0


REGION = {"id": 2, "image_id": 1, "category_id": 1, "bbox": [100, 0, 50, 50], "area": 2500, "ignore": 1}
PERSON = {"id": 1, "image_id": 1, "category_id": 1, "bbox": [0, 0, 41, 100], "area": 4100, "ignore": 0}


@pytest.mark.parametrize(("x", "outcome"), [(75, "ignored"), (74, "fp")])
def test_half_of_a_detection_in_a_region(x: int, outcome: str) -> None:
    """PROTOCOLS.md II.3.1: a detection 50 wide with 25 pixels in an ignored box is ignored, with 24 it is wrong."""
    truth = {"images": [{"id": 1}], "categories": [{"id": 1}], "annotations": [PERSON, REGION]}
    detections = [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [x, 0, 50, 50], "score": 0.9}]
    assert outcomes(apf.evaluate(truth, detections, PROTOCOL)) == {1: outcome}
    assert outcomes(apf.evaluate(truth, detections, exchanging(PROTOCOL, IgnoredAsCrowds, CrowdsIgnored()))) == {1: "fp"}


def test_two_parts_of_a_person_outside_the_subset() -> None:
    """II.3.1: two detections inside one person are both ignored where the person is; where it counts, one is right."""
    truth = {"images": [{"id": 1}], "categories": [{"id": 1}], "annotations": [PERSON]}
    detections = [
        {"id": 1, "image_id": 1, "category_id": 1, "bbox": [0, 0, 41, 45], "score": 0.95},
        {"id": 2, "image_id": 1, "category_id": 1, "bbox": [0, 45, 41, 55], "score": 0.94},
    ]
    evaluation = apf.evaluate(truth, detections, PROTOCOL)
    assert outcomes(evaluation) == {1: "fp", 2: "tp"}
    assert outcomes(evaluation, "small") == {1: "ignored", 2: "ignored"}
    assert evaluation.pairs.select("detection_id", "similarity").rows() == [(2, 0.55)]
    assert "any number of detections can match a group of objects or another ignored annotation" in str(PROTOCOL)


def test_with_a_threshold_for_each_category() -> None:
    own = PROTOCOL.with_options(iou_thresholds={"x": 0.6})
    truth, detections = data(
        [((0, 0, 10, 10), False, False, "a"), ((20, 0, 10, 10), False, True, "a")], [(0, 0, 10, 5), (20, 0, 10, 2)]
    )
    assert outcomes(apf.evaluate(truth, detections, own)) == {1: "fp", 2: "ignored"}
