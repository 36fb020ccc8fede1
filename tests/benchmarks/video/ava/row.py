"""AVA in the tests that hold for all protocols: hand cases, a generator, plain loops."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.conformance.makers import Maker, rows
from tests.conformance.samples import Loop, Sample, sample_of_rows
from tests.conformance.tiny import ONE_HIT, ONE_OF_TWO, Hand
from tests.protocols.generated import BOX, area_under_envelope, box_iou, mean

Row = dict[str, Any]
Data = tuple[dict[str, list[Row]], list[Row]]
ACTIONS = ["sit", "stand", "walk"]
MOST = 50
HAND: dict[str, Hand] = {
    "ava": ("ava", {}, ONE_OF_TWO, ONE_HIT, {"AP": 0.5}),
}  # fmt: skip


def judge(truth: list[Row], results: list[Row]) -> list[bool]:
    """Which detections of an action are true, best score first: each looks at the annotation that it overlaps most alone."""
    outcomes, taken = [], set[int]()
    for row in sorted(results, key=lambda row: -row["score"]):
        best, at = 0.0, None
        for number, other in enumerate(truth):
            iou = box_iou([row[edge] for edge in BOX], [other[edge] for edge in BOX])
            if other["image_id"] == row["image_id"] and iou > best:
                best, at = iou, number
        is_true = at is not None and best >= 0.5 and at not in taken
        if at is not None and is_true:
            taken.add(at)
        outcomes.append(is_true)
    return outcomes


def by_loops(data: Data) -> dict[str, float | None]:
    """AP of each action."""
    image_ids = {row["image_id"] for row in data[0]["images"]}
    detections: list[Row] = []
    for frame in image_ids:
        own = [row for row in data[1] if row["image_id"] == frame and row["category_id"] in ACTIONS]
        kept = sorted(range(len(own)), key=lambda number: -own[number]["score"])[:MOST]
        detections += [own[number] for number in sorted(kept)]
    truth = [row for row in data[0]["annotations"] if row["image_id"] in image_ids]
    values: dict[str, float | None] = {}
    for action in ACTIONS:
        expected, results = ([row for row in rows if row["category_id"] == action] for rows in (truth, detections))
        values[action] = area_under_envelope(judge(expected, results), len(expected)) if expected else None
    return values


def frames(random: np.random.Generator, n_images: int) -> Data:
    """Boxes on a grid of 1/32 of the frame, some with several actions; in some frames more rows than the limit."""
    annotations: list[Row] = []
    results: list[Row] = []
    names = [f"clip{key % 2},{900 + key:.6f}" for key in range(n_images)]
    for name in [*names, "elsewhere,900.000000"]:
        crowded = random.random() < 0.2
        for _ in range(random.integers(0, 5)):
            x, y, width, height = (random.integers((0, 0, 4, 4), (20, 20, 12, 12)) / 32).tolist()
            for action in random.choice(ACTIONS, random.integers(1, 3), replace=False).tolist():
                row = {"image_id": name, "category_id": action, "x": x, "y": y, "width": width, "height": height}
                if name in names:
                    annotations.append(row)
                for _ in range(random.integers(5, 30) if crowded else random.integers(0, 4)):
                    moved = row | {key: row[key] + float(random.integers(-1, 2)) / 32 for key in BOX}
                    if random.random() < 0.1:
                        moved["category_id"] = str(random.choice([*ACTIONS, "swim"]))
                    results.append(moved)
    results = [results[place] for place in random.permutation(len(results))]
    scores = (random.permutation(len(results)) + 1) / (len(results) + 1)
    truth = {"images": [{"image_id": name, "video": name.split(",")[0]} for name in names], "annotations": annotations}
    return truth, [row | {"score": score} for row, score in zip(results, scores.tolist(), strict=True)]


def loop(random: np.random.Generator, number: int) -> Sample:
    truth, results = data = frames(random, 1 + number % 9)
    numbers = {"AP": mean(by_loops(data).values())}
    return sample_of_rows(truth["images"], truth["annotations"], results, {name: name for name in ACTIONS}, numbers)


LOOPS: dict[str, Loop] = {"AVA": loop}


SETS: dict[str, Maker] = {"AVA": rows(frames, 8, ACTIONS)}
