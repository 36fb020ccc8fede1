"""The rules of CityPersons' script, as plain loops."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

Row = dict[str, Any]
POINTS = [0.01, 0.0178, 0.0316, 0.0562, 0.1, 0.1778, 0.3162, 0.5623, 1.0]
# lowest and highest height, lowest and highest visible share
BOUNDS = {
    "reasonable": (50, math.inf, 0.65, math.inf),
    "small": (50, 75, 0.65, math.inf),
    "heavy": (50, math.inf, 0.2, 0.65),
    "all": (20, math.inf, 0.2, math.inf),
    "bare": (50, math.inf, 0.9, math.inf),
    "partial": (50, math.inf, 0.65, 0.9),
    "heavy_2019": (50, math.inf, 0, 0.65),
}


# the same, then the highest occlusion and truncation: of EuroCity, lowest occlusion first
EUROCITY = {
    "reasonable": (40, math.inf, 0, 0.4, 0.4),
    "small": (30, 60, 0, 0.4, 0.4),
    "occluded": (40, math.inf, 0.4, 0.8, 0.8),
    "all": (20, math.inf, 0, 0.8, 0.8),
}


def _overlap(found: Row, expected: Row, *, is_region: bool) -> float:
    width = min(found["x"] + found["width"], expected["x"] + expected["width"]) - max(found["x"], expected["x"])
    height = min(found["y"] + found["height"], expected["y"] + expected["height"]) - max(found["y"], expected["y"])
    if width <= 0 or height <= 0:
        return 0.0
    area = found["width"] * found["height"]
    return width * height / (area if is_region else area + expected["width"] * expected["height"] - width * height)


def _of_image(people: list[Row], detections: list[Row], bounds: Sequence[float]) -> tuple[list[tuple[float, bool]], int]:
    """Score and whether it is right of each detection that counts, and how many people count."""
    low, high, least, most = bounds
    counts = [not row["ignore"] and low <= row["height"] <= high and least <= row["vis_ratio"] <= most for row in people]
    kept = [row for row in detections if low / 1.25 <= row["height"] < high * 1.25]
    return _matched(people, kept, counts, [True] * len(people)), sum(counts)


def _matched(people: list[Row], kept: list[Row], counts: list[bool], regions: list[bool]) -> list[tuple[float, bool]]:
    """Score and whether it is right of each detection that counts; others match any number, `regions` by share."""
    order = [k for k in range(len(people)) if counts[k]] + [k for k in range(len(people)) if not counts[k]]
    matched_people: set[int] = set()
    outcomes = []
    for row in sorted(kept, key=lambda row: -row["score"]):
        best, match = 0.5, -1
        for k in order:
            if k in matched_people:
                continue
            if match >= 0 and counts[match] and not counts[k]:
                break
            overlap = _overlap(row, people[k], is_region=not counts[k] and regions[k])
            if overlap >= best:
                best, match = overlap, k
        if match >= 0 and counts[match]:
            matched_people.add(match)
        if match < 0 or counts[match]:
            outcomes.append((row["score"], match >= 0))
    return outcomes


def _log_average(outcomes: list[tuple[float, bool]], n_people: int, n_images: int) -> float | None:
    if not n_people:
        return None
    tp = fp = 0
    rows = []
    for _, is_right in sorted(outcomes, key=lambda outcome: -outcome[0]):
        tp, fp = tp + is_right, fp + (not is_right)
        rows.append((fp / n_images, tp / n_people))
    rates = []
    for point in POINTS:
        n = sum(fppi <= point for fppi, _ in rows)
        rates.append(1 - rows[n - 1][1] if rows else 1.0)  # an index of -1 is the last one
    return 0.0 if min(rates) <= 0 else math.exp(sum(map(math.log, rates)) / len(rates))


def miss_rates(truth: list[Row], detections: list[Row], n_images: int) -> list[float | None]:
    """The log-average miss rate of each subset; None without people."""
    values = []
    images = {row["image_id"] for row in [*truth, *detections]}
    for bounds in BOUNDS.values():
        outcomes: list[tuple[float, bool]] = []
        n_people = 0
        for image in images:
            own = [[row for row in rows if row["image_id"] == image] for rows in (truth, detections)]
            found, n = _of_image(own[0], own[1], bounds)
            outcomes += found
            n_people += n
        values.append(_log_average(outcomes, n_people, n_images))
    return values


def eurocity(truth: list[Row], detections: list[Row], n_images: int) -> list[float | None]:
    """The log-average miss rate of each subset of EuroCity, as published; None without people. No scores are equal."""
    values: list[float | None] = []
    images = {row["image_id"] for row in [*truth, *detections]}
    for low, high, least, below, truncated in EUROCITY.values():
        outcomes: list[tuple[float, bool]] = []
        n_people = 0
        for image in images:
            people, found = ([row for row in rows if row["image_id"] == image] for rows in (truth, detections))
            counts = [
                not (row["ignore"] or row["is_crowd"])
                and low <= row["height"] <= high
                and least <= row["occlusion"] < below
                and row["truncation"] < truncated
                for row in people
            ]
            kept = [row for row in found if low / 1.25 < row["height"] < high * 1.25]
            outcomes += _matched(people, kept, counts, [row["is_crowd"] for row in people])
            n_people += sum(counts)
        tp = fp = 0
        points = [(0.0, 0.0)]
        for _, is_right in sorted(outcomes, key=lambda outcome: -outcome[0]):
            tp, fp = tp + is_right, fp + (not is_right)
            points.append((fp / n_images, tp / max(n_people, 1)))
        rates = [1 - [recall for fppi, recall in points if fppi <= 10 ** (-2 + j / 4)][-1] for j in range(9)]
        values.append(math.exp(sum(math.log(max(rate, 1e-10)) for rate in rates) / 9) if n_people else None)
    return values
