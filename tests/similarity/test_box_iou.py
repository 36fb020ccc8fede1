"""Boxes with their last pixel, and the share of a detection that an annotation covers, beside plain loops."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apframe.similarity.inclusive_box_iou import InclusiveBoxIoU
from apframe.similarity.intersection_over_detection import IntersectionOverDetection
from apframe.similarity.pairs import Similarity

Row = dict[str, Any]
SCHEMA = {"cell": pl.Int64, "x": pl.Float64, "y": pl.Float64, "width": pl.Float64, "height": pl.Float64}

quarters = st.integers(0, 60).map(lambda number: number / 4)
boxes = st.lists(
    st.fixed_dictionaries(
        {
            "cell": st.integers(0, 1),
            "x": quarters,
            "y": quarters,
            "width": quarters,
            "height": quarters,
            "is_crowd": st.booleans(),
        }
    ),
    max_size=6,
)


def box(x: float, y: float, width: float, height: float, is_crowd: bool = False) -> Row:
    return {"cell": 0, "x": x, "y": y, "width": width, "height": height, "is_crowd": is_crowd}


def pairs(similarity: Similarity, found: list[Row], truth: list[Row], least: float = 0.0) -> dict[tuple[int, int], float]:
    detections = pl.DataFrame([{name: row[name] for name in SCHEMA} for row in found], schema=SCHEMA)
    annotations = pl.DataFrame(truth, schema=SCHEMA | {"is_crowd": pl.Boolean})
    table = similarity.pair(detections.with_row_index("detection_id"), annotations.with_row_index("annotation_id"), least)
    assert table.schema == {"detection": pl.UInt32, "annotation": pl.UInt32, "similarity": pl.Float64}
    assert not table.select("detection", "annotation").is_duplicated().any()
    return {(detection, annotation): value for detection, annotation, value in table.rows()}


def voc_overlaps(found: list[Row], truth: list[Row]) -> dict[tuple[int, int], float]:
    """As VOCevaldet.m: boxes xmin, ymin, xmax, ymax; a crowd is compared with the detection alone."""
    overlaps = {}
    for i, d in enumerate(found):
        for j, g in enumerate(truth):
            bb = [d["x"], d["y"], d["x"] + d["width"], d["y"] + d["height"]]
            gt = [g["x"], g["y"], g["x"] + g["width"], g["y"] + g["height"]]
            iw = min(bb[2], gt[2]) - max(bb[0], gt[0]) + 1
            ih = min(bb[3], gt[3]) - max(bb[1], gt[1]) + 1
            if d["cell"] == g["cell"] and iw > 0 and ih > 0:
                own = (bb[2] - bb[0] + 1) * (bb[3] - bb[1] + 1)
                other = (gt[2] - gt[0] + 1) * (gt[3] - gt[1] + 1)
                overlaps[i, j] = iw * ih / (own if g["is_crowd"] else own + other - iw * ih)
    return overlaps


def shares(found: list[Row], truth: list[Row]) -> dict[tuple[int, int], float]:
    inside = {}
    for i, d in enumerate(found):
        for j, g in enumerate(truth):
            width = min(d["x"] + d["width"], g["x"] + g["width"]) - max(d["x"], g["x"])
            height = min(d["y"] + d["height"], g["y"] + g["height"]) - max(d["y"], g["y"])
            if d["cell"] == g["cell"] and width > 0 and height > 0:
                inside[i, j] = width * height / (d["width"] * d["height"])
    return inside


@given(boxes, boxes)
def test_inclusive_boxes_as_voc(found: list[Row], truth: list[Row]) -> None:
    assert pairs(InclusiveBoxIoU(), found, truth) == voc_overlaps(found, truth)


@given(boxes, boxes)
def test_shares_of_detections(found: list[Row], truth: list[Row]) -> None:
    assert pairs(IntersectionOverDetection(), found, truth) == shares(found, truth)


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (box(10, 10, 9, 9), 1.0),  # the same 100 pixels
        (box(19, 10, 9, 9), 10 / 190),  # the last column of one is the first of the other
        (box(20, 10, 9, 9), None),  # side by side
        (box(19, 19, 0, 0), 1 / 100),  # a single pixel
        (box(0, 0, 99, 99, is_crowd=True), 1.0),
    ],
)
def test_inclusive_boxes_by_hand(other: Row, expected: float | None) -> None:
    assert pairs(InclusiveBoxIoU(), [box(10, 10, 9, 9)], [other]).get((0, 0)) == expected


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (box(2, 2, 4, 4), 1.0),
        (box(8, 0, 4, 4), 0.5),
        (box(10, 0, 4, 4), None),  # they touch
        (box(2, 2, 0, 4), None),  # no area
    ],
)
@pytest.mark.parametrize("is_crowd", [False, True])
def test_shares_by_hand(found: Row, expected: float | None, is_crowd: bool) -> None:
    assert pairs(IntersectionOverDetection(), [found], [box(0, 0, 10, 10, is_crowd)]).get((0, 0)) == expected


@pytest.mark.parametrize(("similarity", "value"), [(InclusiveBoxIoU(), 10 / 190), (IntersectionOverDetection(), 0.5)])
def test_least_is_inclusive(similarity: Similarity, value: float) -> None:
    detections, truth = ([box(10, 10, 9, 9)], [box(19, 10, 9, 9)]) if value < 0.5 else ([box(8, 0, 4, 4)], [box(0, 0, 10, 10)])
    assert pairs(similarity, detections, truth, least=value) == {(0, 0): value}
    assert pairs(similarity, detections, truth, least=value + 1e-12) == {}


def test_values() -> None:
    assert InclusiveBoxIoU() == InclusiveBoxIoU() != IntersectionOverDetection()
    assert len({InclusiveBoxIoU(), InclusiveBoxIoU(), IntersectionOverDetection()}) == 2
    assert InclusiveBoxIoU().words == "intersection over union of boxes, one pixel added to widths and heights"
    assert IntersectionOverDetection().words == "intersection of boxes over the area of the detection"
