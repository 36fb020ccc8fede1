"""The rules of CrowdDet's evaluation, as plain loops; boxes are x, y, width, height."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

Row = dict[str, Any]
POINTS = [0.01, 0.0178, 0.0316, 0.0562, 0.1, 0.1778, 0.3162, 0.5623, 1.0]


def clipped(row: Row, width: int, height: int) -> Row:
    x1, y1 = max(0, min(row["x"], width - 1)), max(0, min(row["y"], height - 1))
    x2, y2 = max(0, min(row["x"] + row["width"], width)), max(0, min(row["y"] + row["height"], height))
    return row | {"x": x1, "y": y1, "width": x2 - x1, "height": y2 - y1}


def overlap(one: Row, other: Row, *, of_one: bool = False) -> float:
    width = min(one["x"] + one["width"], other["x"] + other["width"]) - max(one["x"], other["x"])
    height = min(one["y"] + one["height"], other["y"] + other["height"]) - max(one["y"], other["y"])
    shared = max(width, 0) * max(height, 0)
    area = one["width"] * one["height"]
    return shared / (area + 1e-6 if of_one else area + other["width"] * other["height"] - shared + 1e-6)


def outcomes_of(people: list[Row], detections: list[Row]) -> list[tuple[float, bool]]:
    """Score and whether it is right of the detections of an image that count, best first."""
    matched_people: set[int] = set()
    outcomes = []
    for row in sorted(detections, key=lambda row: -row["score"]):
        best, match = 0.5, -1
        for k, person in enumerate(people):
            if not person["ignore"] and k not in matched_people and overlap(row, person) > best:
                best, match = overlap(row, person), k
        if match >= 0:
            matched_people.add(match)
        elif any(person["ignore"] and overlap(row, person, of_one=True) > 0.5 for person in people):
            continue
        outcomes.append((row["score"], match >= 0))
    return outcomes


def by_image(rows: list[Row], images: list[Any]) -> list[list[Row]]:
    """The rows of each image."""
    of_image: dict[Any, list[Row]] = {image: [] for image in images}
    for row in rows:
        of_image[row["image_id"]].append(row)
    return list(of_image.values())


def summary(truth: list[Row], detections: list[Row], images: list[Any]) -> tuple[float | None, float | None]:
    """AP and the log-average miss rate."""
    outcomes = []
    for people, found in zip(by_image(truth, images), by_image(detections, images), strict=True):
        outcomes += outcomes_of(people, found)
    outcomes.sort(key=lambda outcome: -outcome[0])
    n = sum(not row["ignore"] for row in truth)
    if not n:
        return None, None
    tp, total, points = 0, 0.0, []
    for k, (_, is_right) in enumerate(outcomes, 1):
        above = tp / (k - 1) if k > 1 else 0
        tp += is_right
        total += is_right * (k > 1) * (above + tp / k) / 2
        points.append(((k - tp) / len(images), tp / n))
    rates = [
        1 - next((recall for fppi, recall in points if fppi >= point), points[-1][1] if points else 0.0) for point in POINTS
    ]
    return total / n, 0.0 if min(rates) <= 0 else math.exp(sum(map(math.log, rates)) / len(rates))


def jaccard_index(truth: list[Row], detections: list[Row], images: list[Any]) -> float | None:
    best = None
    for s in range(10):
        values = []
        for own, of_image in zip(by_image(truth, images), by_image(detections, images), strict=True):
            people, regions = ([row for row in own if row["ignore"] == flag] for flag in (False, True))
            boxes = [row for row in of_image if row["score"] > s / 10]
            overlaps = np.array([[overlap(row, person) for person in people] for row in boxes]).reshape(len(boxes), len(people))
            overlaps[overlaps <= 0.5] = 0
            rows, columns = linear_sum_assignment(-overlaps)
            pairs = [(i, j) for i, j in zip(rows, columns, strict=True) if overlaps[i, j] > 0]

            def left(of: list[Row], matched: set[int], regions: list[Row] = regions) -> int:
                return sum(
                    k in matched or not any(overlap(row, region, of_one=True) > 0.5 for region in regions)
                    for k, row in enumerate(of)
                )

            n, m = left(boxes, {i for i, _ in pairs}), left(people, {j for _, j in pairs})
            if n or m:
                values.append(len(pairs) / (m + n - len(pairs) + 1e-6))
        if values and (best is None or sum(values) / len(values) > best):
            best = sum(values) / len(values)
    return best
