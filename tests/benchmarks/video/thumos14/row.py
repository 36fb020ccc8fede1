"""THUMOS14 in the tests that hold for all protocols: hand cases, a generator, plain loops."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.conformance.makers import Maker, rows
from tests.conformance.samples import Loop, Sample, sample_of_rows
from tests.conformance.tiny import Hand, at, found, truth_of
from tests.protocols.generated import mean

Row = dict[str, Any]
Data = tuple[dict[str, list[Row]], list[Row]]
THRESHOLDS = np.linspace(0.1, 0.5, 5).tolist()
ACTIONS, AMBIGUOUS = ["Diving", "HighJump"], "Ambiguous"
HAND: dict[str, Hand] = {
    # 4.5 of 10 seconds: four of five thresholds; what overlaps the ambiguous interval is ignored
    "thumos14": (
        "thumos14", {}, truth_of([at(1, 1, start_time=0, end_time=10), at(1, 2, start_time=69, end_time=75)],
                                 categories=[{"id": 1, "name": "Diving"}, {"id": 2, "name": "Ambiguous"}]),
        [found(1, 1, 0.9, start_time=60, end_time=70), found(1, 1, 0.8, start_time=0, end_time=4.5)],
        {"AP": 0.8, "AP40": 1.0, "AP50": 0.0},
    ),
}  # fmt: skip


def shared(one: Row, other: Row) -> float:
    return float(max(0.0, min(one["end_time"], other["end_time"]) - max(one["start_time"], other["start_time"])))


def interval_iou(one: Row, other: Row) -> float:
    both = shared(one, other)
    return both / (one["end_time"] - one["start_time"] + other["end_time"] - other["start_time"] - both)


def judge(data: Data, action: str, threshold: float) -> list[str]:
    """The outcomes of the detections of an action, in rank order: annotations choose in the order of the file."""
    own, ambiguous, detections = (
        [row for row in rows if row["category_id"] == name]
        for rows, name in ((data[0]["annotations"], action), (data[0]["annotations"], AMBIGUOUS), (data[1], action))
    )
    ranked = sorted(detections, key=lambda row: (-row["score"], row["image_id"]))
    matched = set[int]()
    for annotation in own:
        best, at = threshold, None
        for number, row in enumerate(ranked):
            if row["image_id"] == annotation["image_id"] and number not in matched and interval_iou(annotation, row) > best:
                best, at = interval_iou(annotation, row), number
        if at is not None:
            matched.add(at)
    outcomes = []
    for number, row in enumerate(ranked):
        touches = any(other["image_id"] == row["image_id"] and shared(row, other) > 0 for other in ambiguous)
        outcomes.append("tp" if number in matched else "ignored" if touches else "fp")
    return outcomes


def step(outcomes: list[str], n_positives: int) -> float:
    """The mean over the positives of the precision where each is found."""
    counted = [outcome for outcome in outcomes if outcome != "ignored"]
    hits = [place for place, outcome in enumerate(counted, 1) if outcome == "tp"]
    return sum(number / place for number, place in enumerate(hits, 1)) / n_positives


def videos(random: np.random.Generator, n_images: int) -> Data:
    """Intervals of whole seconds, many of which overlap equally; predictions near them, with many equal scores."""
    annotations: list[Row] = []
    results: list[Row] = []
    names = [f"video {key}" for key in range(n_images)]
    for name in names:
        for _ in range(random.integers(0, 7)):
            start, length = random.integers(0, 30), random.choice([2, 5, 10, 20])
            label = str(random.choice([*ACTIONS, AMBIGUOUS], p=[0.45, 0.35, 0.2]))
            annotations.append(
                {"image_id": name, "category_id": label, "start_time": float(start), "end_time": float(start + length)}
            )
            for _ in range(random.integers(0, 4)):
                cell = {"image_id": name, "category_id": str(random.choice(ACTIONS)) if label == AMBIGUOUS else label}
                moved, longer = start + random.integers(-3, 4), max(1, length + random.integers(-4, 5))
                times = {"start_time": float(moved), "end_time": float(moved + longer)}
                results.append(cell | times | {"score": float(random.integers(1, 9)) / 10})
    results = [results[place] for place in random.permutation(len(results))]
    return {"images": [{"image_id": name} for name in names], "annotations": annotations}, results


def loop(random: np.random.Generator, number: int) -> Sample:
    data = videos(random, 1 + number % 9)
    n_positives = {action: sum(row["category_id"] == action for row in data[0]["annotations"]) for action in ACTIONS}
    values = [[step(judge(data, action, at), n) for action, n in n_positives.items() if n] for at in THRESHOLDS]
    numbers = {"AP": mean(value for each in values for value in each)}
    numbers |= {f"AP{at * 100:.0f}": mean(each) for at, each in zip(THRESHOLDS, values, strict=True)}
    names = {name: name for name in (*ACTIONS, AMBIGUOUS)}
    return sample_of_rows(data[0]["images"], data[0]["annotations"], data[1], names, numbers)


LOOPS: dict[str, Loop] = {"THUMOS14": loop}


SETS: dict[str, Maker] = {"THUMOS14": rows(videos, 8, [*ACTIONS, AMBIGUOUS])}
