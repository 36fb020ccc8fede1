"""Argoverse 2's evaluation as plain loops over rows, written from the rules: each detection claims the nearest annotation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

Row = dict[str, Any]
METRES = [0.5, 1, 2, 4]


def match(truth: Sequence[Row], found: Sequence[Row]) -> list[tuple[float, Row, Row | None]]:
    """The detections of a sweep by rank, with the distance of the annotation that accepted their claim, and it."""
    ranked = sorted(found, key=lambda row: -row["score"])
    accepted: set[int] = set()
    rows: list[tuple[float, Row, Row | None]] = []
    for row in ranked:
        distance, place = min(((_distance(row, other), place) for place, other in enumerate(truth)), default=(math.inf, -1))
        rows.append((distance, row, None if place in accepted or place < 0 else truth[place]))
        accepted.add(place)
    return rows


def _distance(row: Row, other: Row) -> float:
    return math.dist(*([each[f"cuboid_{axis}"] for axis in "xyz"] for each in (row, other)))


def of_one(truth: Sequence[Row], found: Sequence[Row]) -> dict[str, float]:
    """The numbers of one category."""
    images = sorted({row["image_id"] for row in [*truth, *found]})
    rows = [
        each for image in images for each in match(*([row for row in of if row["image_id"] == image] for of in (truth, found)))
    ]
    rows.sort(key=lambda each: -each[1]["score"])
    aps = []
    for metres in METRES if truth and found else []:
        tp = np.cumsum([other is not None and distance < metres for distance, _, other in rows])
        precision = np.maximum.accumulate((tp / np.arange(1, len(tp) + 1))[::-1])[::-1]
        aps.append(np.interp(np.linspace(0, 1, 101), tp / len(truth), precision, right=0).mean())
    pairs = [(distance, row, other) for distance, row, other in rows if other is not None and distance < 2]
    means = (2.0, 1.0, math.pi)
    if pairs:
        means = tuple(np.mean([_errors(*pair) for pair in pairs], axis=0))
    ap = float(np.mean(aps)) if aps else 0.0
    cds = ap * np.mean([1 - means[0] / 2, 1 - means[1], 1 - means[2] / math.pi])
    return {"AP": ap, "ATE": means[0], "ASE": means[1], "AOE": means[2], "CDS": float(cds)}


def _errors(distance: float, row: Row, other: Row) -> tuple[float, float, float]:
    sides = [(row[name], other[name]) for name in ("cuboid_length", "cuboid_width", "cuboid_height")]
    turned = abs(row["cuboid_yaw"] - other["cuboid_yaw"])
    scale = math.prod(min(pair) for pair in sides) / math.prod(max(pair) for pair in sides)
    return distance, 1 - scale, turned if turned < math.pi else 2 * math.pi - turned


def evaluate(truth: Sequence[Row], found: Sequence[Row], names: Sequence[str]) -> dict[str, float]:
    """The means over all categories, of which those without any row count too."""
    each = [of_one(*([row for row in rows if row["category_id"] == name] for rows in (truth, found))) for name in names]
    return {metric: float(np.mean([numbers[metric] for numbers in each])) for metric in each[0]}
