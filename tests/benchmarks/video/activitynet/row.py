"""ActivityNet in the tests that hold for all protocols: hand cases, a generator, plain loops."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tests.conformance.makers import Maker, rows
from tests.conformance.samples import Loop, Sample, sample_of_rows
from tests.conformance.tiny import Hand, at, found, truth_of
from tests.protocols.generated import area_under_envelope, mean

Row = dict[str, Any]
THRESHOLDS = np.linspace(0.5, 0.95, 10).tolist()
ACTIVITIES = ["jump", "run", "swim"]
HAND: dict[str, Hand] = {
    # 13 of 16 seconds: seven of ten thresholds
    "activitynet": (
        "activitynet", {}, truth_of([at(1, 1, start_time=0, end_time=16)]),
        [found(1, 1, 0.9, start_time=0, end_time=13)], {"AP": 0.7, "AP50": 1.0, "AP75": 1.0, "AP95": 0.0},
    ),
}  # fmt: skip


def interval_iou(one: Row, other: Row) -> float:
    shared = max(0.0, min(one["end_time"], other["end_time"]) - max(one["start_time"], other["start_time"]))
    union = one["end_time"] - one["start_time"] + other["end_time"] - other["start_time"] - shared
    return shared / union if union else math.inf  # NaN in the kit: it comes first, and is not less than any threshold


def judge(truth: list[Row], results: list[Row], threshold: float) -> list[bool]:
    """Which predictions of an activity are true, best score first: each takes the best of the intervals that are free."""
    outcomes = []
    locked = set[int]()
    last_first = results[::-1]  # of equal scores, the later row comes first
    for row in sorted(last_first, key=lambda row: -row["score"]):
        here = [number for number, other in enumerate(truth) if other["image_id"] == row["image_id"]]
        # the last of equal ones comes first, as the reference turns a sorted list round
        for number in sorted(here, key=lambda number: (interval_iou(row, truth[number]), number), reverse=True):
            if interval_iou(row, truth[number]) < threshold:
                outcomes.append(False)
                break
            if number not in locked:
                locked.add(number)
                outcomes.append(True)
                break
        else:
            outcomes.append(False)
    return outcomes


def videos(random: np.random.Generator, n_images: int) -> tuple[dict[str, list[Row]], list[Row]]:
    """Intervals of whole seconds, many of which overlap equally; predictions near them and elsewhere, in any order."""
    annotations: list[Row] = []
    results: list[Row] = []
    names = [f"video {key}" for key in range(n_images)]
    for name in names:
        for _ in range(random.integers(0, 6)):
            start, length = random.integers(0, 30), random.choice([0, 2, 5, 10, 20])
            cell = {"image_id": name, "category_id": str(random.choice(ACTIVITIES))}
            annotations.append(cell | {"start_time": float(start), "end_time": float(start + length)})
            for _ in range(random.integers(0, 4)):
                moved = start + random.integers(-2, 3)
                longer = max(0, length + random.integers(-3, 4))
                results.append(cell | {"start_time": float(moved), "end_time": float(moved + longer)})
    results = [results[place] for place in random.permutation(len(results))]
    scores = random.integers(1, max(2, len(results)), len(results)) / (len(results) + 1)  # many of them equal
    truth = {"images": [{"image_id": name} for name in names], "annotations": annotations}
    return truth, [row | {"score": score} for row, score in zip(results, scores.tolist(), strict=True)]


def average_precisions(truth: dict[str, list[Row]], results: list[Row], threshold: float) -> dict[str, float | None]:
    values: dict[str, float | None] = {}
    for activity in ACTIVITIES:
        expected, found = ([row for row in rows if row["category_id"] == activity] for rows in (truth["annotations"], results))
        values[activity] = area_under_envelope(judge(expected, found, threshold), len(expected)) if expected else None
    return values


def loop(random: np.random.Generator, number: int) -> Sample:
    truth, results = videos(random, 1 + number % 6)
    values = [[*average_precisions(truth, results, threshold).values()] for threshold in THRESHOLDS]
    numbers = {"AP": mean(value for each in values for value in each)}
    numbers |= {f"AP{50 + 5 * k}": mean(values[k]) for k in (0, 5, 9)}
    return sample_of_rows(truth["images"], truth["annotations"], results, {name: name for name in ACTIVITIES}, numbers)


LOOPS: dict[str, Loop] = {"ACTIVITYNET": loop}


SETS: dict[str, Maker] = {"ACTIVITYNET": rows(videos, 8, ACTIVITIES)}
