"""VisDrone's evaluation as plain loops, written from its rules."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

Row = dict[str, Any]
LIMITS = (1, 10, 100, 500)
EVALUATED = range(1, 11)


def rounded(box: list[float]) -> list[int]:
    return [max(1, math.floor(value + 0.5)) for value in box]


def is_excluded(row: Row, regions: list[Row], width: int, height: int) -> bool:
    """Whether half of the box is in the regions, by a map with a row and a column of zeros before the first pixel."""
    covered = np.zeros((height + 1, width + 1), dtype=bool)
    for region in regions:
        x, y, w, h = rounded(region["bbox"])
        covered[y : y + h + 1, x : x + w + 1] = True
    x, y, w, h = rounded(row["bbox"])
    x, y = min(width, x), min(height, y)
    inside = covered[y + 1 : min(height, y + h) + 1, x + 1 : min(width, x + w) + 1].sum()
    return bool(inside / (w * h) >= 0.5)


def overlap(one: list[float], other: list[float], *, of_group: bool) -> float:
    sides = [min(one[k] + one[k + 2], other[k] + other[k + 2]) - max(one[k], other[k]) for k in (0, 1)]
    if min(sides) <= 0:
        return 0.0
    shared, area = sides[0] * sides[1], one[2] * one[3]
    return shared / area if of_group else shared / (area + other[2] * other[3] - shared)


def match(found: list[Row], objects: list[Row], threshold: float) -> list[tuple[float, int]]:
    """The score of each detection, best first, and 1 for true, 0 for false, -1 for ignored."""
    free = [row for row in objects if not row["iscrowd"]]
    groups = [row for row in objects if row["iscrowd"]]
    outcomes = []
    for row in sorted(found, key=lambda row: -row["score"]):
        best, taken = threshold, -1
        for number, other in enumerate(free):
            value = overlap(row["bbox"], other["bbox"], of_group=False)
            if value >= best:
                best, taken = value, number
        if taken >= 0:
            del free[taken]
            outcomes.append((row["score"], 1))
        elif any(overlap(row["bbox"], group["bbox"], of_group=True) >= threshold for group in groups):
            outcomes.append((row["score"], -1))
        else:
            outcomes.append((row["score"], 0))
    return outcomes


def area_under(kinds: list[int], n: int) -> float:
    tp, fp, points = 0, 0, []
    for kind in kinds:
        tp, fp = tp + (kind == 1), fp + (kind == 0)
        points.append((tp / n, tp / max(1, tp + fp)))
    area, before = 0.0, 0.0
    for number, (recall, _) in enumerate(points):
        area += (recall - before) * max(precision for _, precision in points[number:])
        before = recall
    return area


def evaluate(truth: Any, results: list[Row], thresholds: tuple[float, ...]) -> tuple[dict[str, float], dict[str, float]]:
    """The summary as the toolkit has it, a class counted once for each image that it is in, and with the plain mean."""
    objects, detections = {}, {}
    for image in truth["images"]:
        own = [row for row in truth["annotations"] if row["image_id"] == image["id"]]
        regions = [row for row in own if row["category_id"] == 0]
        sizes = image["width"], image["height"]
        objects[image["id"]] = [row for row in own if row["category_id"] and not is_excluded(row, regions, *sizes)]
        rows = [row for row in results if row["image_id"] == image["id"]]
        detections[image["id"]] = [row for row in rows if not is_excluded(row, regions, *sizes)]
    ap, ar, weights = {}, {}, {}
    for category in EVALUATED:
        rows_of = {key: [row for row in rows if row["category_id"] == category] for key, rows in objects.items()}
        n = sum(map(len, rows_of.values()))
        if not n:
            continue
        weights[category] = sum(bool(rows) for rows in rows_of.values())
        for t in thresholds:
            for limit in LIMITS:
                outcomes: list[tuple[float, int]] = []
                for key, rows in rows_of.items():
                    first = [row for row in detections[key][:limit] if row["category_id"] == category]
                    outcomes += match(first, rows, t)
                kinds = [kind for _, kind in sorted(outcomes, key=lambda pair: -pair[0])]
                ar[category, t, limit] = kinds.count(1) / n
            ap[category, t] = area_under(kinds, n)

    def mean(values: dict[Any, float], counts: dict[int, int], *where: Any) -> float:
        chosen = [(value, counts[key[0]]) for key, value in values.items() if all(part in key[1:] for part in where)]
        return sum(value * n for value, n in chosen) / sum(n for _, n in chosen)

    def summary(counts: dict[int, int]) -> dict[str, float]:
        lines = {"AP": mean(ap, counts), "AP50": mean(ap, counts, thresholds[0]), "AP75": mean(ap, counts, thresholds[5])}
        return lines | {f"AR{limit}": mean(ar, counts, limit) for limit in LIMITS}

    return (summary(weights), summary(dict.fromkeys(weights, 1))) if weights else ({}, {})
