"""TinyPerson in the tests that hold for all protocols: hand cases, a generator, plain loops."""

from __future__ import annotations

from typing import Any

import numpy as np

import apframe as apf
from tests.conformance.makers import Maker, rows
from tests.conformance.samples import Loop, Sample, sample_of_rows
from tests.conformance.tiny import CATEGORIES, ELSEWHERE, Hand, at, found, truth_of
from tests.protocols.generated import BOX, box_iou

Row = dict[str, Any]
SPECKS = truth_of([at(1, 1, bbox=[0, 0, 10, 10], area=100), at(2, 1, bbox=[0, 0, 10, 10], area=100),
                   at(2, 1, bbox=ELSEWHERE, area=100, uncertain=True)], categories=CATEGORIES[:1])  # fmt: skip


HAND: dict[str, Hand] = {
    # the person in the box of an uncertain one is ignored
    "tinyperson": (
        "tinyperson", {}, SPECKS, [found(1, 1, 0.9, bbox=[0, 0, 10, 5]), found(2, 1, 0.95, bbox=[55, 55, 4, 4])],
        {"AP50_tiny": 51 / 101, "AP25_tiny2": 51 / 101, "AP75_tiny": 0.0, "AP50s": None, "AP50": 51 / 101},
    ),
}  # fmt: skip

MOST_AREA = 1e10
RANGES = {
    "all": (1, MOST_AREA), "tiny": (1, 400), "tiny1": (1, 64), "tiny2": (64, 144), "tiny3": (144, 400), "small": (400, 1024),
    "reasonable": (1024, MOST_AREA),
}  # fmt: skip
SUFFIXES = {"all": "", "small": "s"}
FLAGS = ("ignore", "uncertain", "is_crowd")


def person(x: float, side: float, **flags: Any) -> Row:
    return {"image_id": 1, "category_id": 1, "x": x, "y": 0.0, "width": side, "height": side, **flags}


def sides(row: Row) -> list[float]:
    return [row[name] for name in BOX]


def outcomes(people: list[Row], found: list[Row], low: float, high: float, least: float) -> list[tuple[float, bool]]:
    """Score and whether it is right of each detection of an image that counts: by IoU, then by share in what is ignored."""
    counted = [row for row in people if not any(row[name] for name in FLAGS) and low <= row["width"] * row["height"] <= high]
    regions = [row for row in people if row not in counted]
    matched_numbers: set[int] = set()
    judged = []
    for row in sorted(found, key=lambda row: -row["score"]):
        best, match = least, -1
        for number, one in enumerate(counted):
            overlap = box_iou(sides(row), sides(one))
            if number not in matched_numbers and overlap >= best:
                best, match = overlap, number
        matched_numbers.add(match)
        is_inside = any(box_iou(sides(row), sides(one), of_first=True) >= least for one in regions)
        if match >= 0 or (not is_inside and low <= row["width"] * row["height"] <= high):
            judged.append((row["score"], match >= 0))
    return judged


def by_loops(truth: list[Row], found: list[Row]) -> dict[str, float | None]:
    values: dict[str, float | None] = {}
    for name, (low, high) in RANGES.items():
        for percent in (25, 50, 75):
            judged: list[tuple[float, bool]] = []
            for image in {row["image_id"] for row in [*truth, *found]}:
                own = [[row for row in rows if row["image_id"] == image] for rows in (truth, found)]
                judged += outcomes(own[0], own[1], low, high, percent / 100)
            n = sum(not any(row[flag] for flag in FLAGS) and low <= row["width"] * row["height"] <= high for row in truth)
            flags = [is_right for _, is_right in sorted(judged, key=lambda pair: -pair[0])]
            precision = [sum(flags[: k + 1]) / (k + 1) for k in range(len(flags))]
            recall = [sum(flags[: k + 1]) / max(n, 1) for k in range(len(flags))]
            levels = [
                max((p for p, reached in zip(precision, recall, strict=True) if reached >= level), default=0)
                for level in apf.COCO.recall_levels
            ]
            values[f"AP{percent}{SUFFIXES.get(name, '_' + name)}"] = sum(levels) / len(levels) if n else None
    return values


def scenes(random: np.random.Generator, n_images: int) -> tuple[list[Row], list[Row]]:
    """People of all sizes near each other, some flagged, and detections of them, of parts of them and of nothing."""
    truth: list[Row] = []
    detections: list[Row] = []
    for image in range(1, n_images + 1):
        for _ in range(random.integers(1, 6)):
            side = float(random.choice([4, 8, 10, 12, 16, 20, 32, 40]))
            row = person(float(random.integers(0, 30)), side) | {"image_id": image, "y": float(random.integers(0, 20))}
            truth.append(row | {name: bool(random.random() < 0.12) for name in FLAGS})
            for _ in range(random.integers(0, 3)):
                off = dict(zip(("x", "y", "width", "height"), random.integers(-2, 3, 4).tolist(), strict=True))
                moved = {name: row[name] * random.choice([1, 0.5] if name in ("width", "height") else [1]) for name in off}
                detections.append(row | {name: float(max(moved[name] + off[name], 1)) for name in off})
        detections += [person(200.0 + 50 * k, 9.0) | {"image_id": image} for k in range(random.integers(0, 2))]
    scores = (random.permutation(len(detections)) + 1) / (len(detections) + 1)
    return truth, [row | {"score": score} for row, score in zip(detections, scores.tolist(), strict=True)]


def loop(random: np.random.Generator, number: int) -> Sample:
    n_images = 1 + number % 4
    truth, detections = scenes(random, n_images)
    return sample_of_rows(range(1, n_images + 1), truth, detections, {1: "person"}, by_loops(truth, detections))


LOOPS: dict[str, Loop] = {"TINYPERSON": loop}


SETS: dict[str, Maker] = {"TINYPERSON": rows(scenes, 12, {1: "person"})}
