"""TINYPERSON: sizes, thresholds, and what is ignored, each by hand; and every number as a plain loop has it."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import apframe as apf
from apframe.protocols.headlines import main_headline
from tests.protocols.generated import box_iou, on_many_sets
from tests.protocols.many_sets import together

Row = dict[str, Any]


def person(x: float, side: float, **flags: Any) -> Row:
    return {"image_id": 1, "category_id": 1, "x": x, "y": 0.0, "width": side, "height": side, **flags}


def evaluate(truth: list[Row], detections: list[Row], images: Any = None, **options: Any) -> apf.Evaluation:
    dataset = apf.Dataset(images or {"image_id": [1]}, {"category_id": [1], "name": ["person"]}, pl.DataFrame(truth))
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
    found = [person(0.0, 10.0, score=0.5), person(90.0 + inside, 10.0, score=0.9)]
    values = dict(evaluate(truth, found).summary.rows())
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


def test_200_detections_of_an_image_count() -> None:
    wrong = [person(1000.0 + 20 * k, 10.0, score=0.9 - k / 1000) for k in range(200)]
    last = person(0.0, 10.0, score=0.1)
    assert evaluate([person(0.0, 10.0)], [*wrong, last])["AP50_tiny"] == 0
    assert evaluate([person(0.0, 10.0)], [*wrong[:199], last])["AP50_tiny"] == pytest.approx(1 / 200, abs=1e-9)


# ---- any table, in loops

MOST_AREA = 1e10
RANGES = {
    "all": (1, MOST_AREA), "tiny": (1, 400), "tiny1": (1, 64), "tiny2": (64, 144), "tiny3": (144, 400), "small": (400, 1024),
    "reasonable": (1024, MOST_AREA),
}  # fmt: skip
SUFFIXES = {"all": "", "small": "s"}
FLAGS = ("ignore", "uncertain", "is_crowd")


def sides(row: Row) -> list[float]:
    return [row[name] for name in ("x", "y", "width", "height")]


def outcomes(people: list[Row], found: list[Row], low: float, high: float, least: float) -> list[tuple[float, bool]]:
    """Score and whether it is right of each detection of an image that counts: by IoU, then by share in what is ignored."""
    counted = [row for row in people if not any(row[name] for name in FLAGS) and low <= row["width"] * row["height"] <= high]
    regions = [row for row in people if row not in counted]
    taken: set[int] = set()
    judged = []
    for row in sorted(found, key=lambda row: -row["score"]):
        best, match = least, -1
        for number, one in enumerate(counted):
            overlap = box_iou(sides(row), sides(one))
            if number not in taken and overlap >= best:
                best, match = overlap, number
        taken.add(match)
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
    found: list[Row] = []
    for image in range(1, n_images + 1):
        for _ in range(random.integers(1, 6)):
            side = float(random.choice([4, 8, 10, 12, 16, 20, 32, 40]))
            row = person(float(random.integers(0, 30)), side) | {"image_id": image, "y": float(random.integers(0, 20))}
            truth.append(row | {name: bool(random.random() < 0.12) for name in FLAGS})
            for _ in range(random.integers(0, 3)):
                off = dict(zip(("x", "y", "width", "height"), random.integers(-2, 3, 4).tolist(), strict=True))
                moved = {name: row[name] * random.choice([1, 0.5] if name in ("width", "height") else [1]) for name in off}
                found.append(row | {name: float(max(moved[name] + off[name], 1)) for name in off})
        found += [person(200.0 + 50 * k, 9.0) | {"image_id": image} for k in range(random.integers(0, 2))]
    scores = (random.permutation(len(found)) + 1) / (len(found) + 1)
    return truth, [row | {"score": score} for row, score in zip(found, scores.tolist(), strict=True)]


@on_many_sets
def test_every_number_equals_loops(seeds: range) -> None:
    """Every set, of which all are evaluated at once."""
    sets = {seed: scenes(np.random.default_rng(seed), 3) for seed in seeds}
    evaluation = evaluate(*together(sets))
    found = evaluation.by("set").sort("set").select(evaluation.summary["metric"].to_list())
    for row, rows in zip(found.to_dicts(), sets.values(), strict=True):
        assert row == pytest.approx(by_loops(*rows), abs=1e-9)
