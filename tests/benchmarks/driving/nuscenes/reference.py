"""nuScenes' rules as plain loops."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

Row = dict[str, Any]
KINDS = ("ate", "ase", "aoe", "ave", "aae")


def match(truth: list[Row], found: list[Row], metres: float) -> tuple[list[Row | None], list[Row]]:
    """What each detection is matched with, and the detections, both in rank order; the last of equal scores comes first."""
    ranked = sorted(enumerate(found), key=lambda row: (-row[1]["score"], -row[0]))
    matched_places: set[int] = set()
    matched: list[Row | None] = []
    for _, row in ranked:
        free = [
            (math.hypot(row["cuboid_x"] - other["cuboid_x"], row["cuboid_y"] - other["cuboid_y"]), place)
            for place, other in enumerate(truth)
            if place not in matched_places and other["image_id"] == row["image_id"]
        ]
        distance, place = min(free, default=(math.inf, -1))
        matched.append(truth[place] if distance < metres else None)
        if distance < metres:
            matched_places.add(place)
    return matched, [row for _, row in ranked]


def precision_and_score(matched: list[Row | None], ranked: list[Row], n_truth: int) -> tuple[np.ndarray, np.ndarray]:
    """Both at 101 levels of recall."""
    is_true = np.array([each is not None for each in matched])
    tp = np.cumsum(is_true).astype(float)
    recall, levels = tp / n_truth, np.linspace(0, 1, 101)
    precision = np.interp(levels, recall, tp / np.arange(1, len(tp) + 1), right=0)
    return precision, np.interp(levels, recall, [row["score"] for row in ranked], right=0)


def average_precision(truth: list[Row], found: list[Row], metres: float) -> float:
    """The mean of the precision above .1 at the levels from .11 on, over .9."""
    matched, ranked = match(truth, found, metres)
    if not any(matched):
        return 0.0
    precision, _ = precision_and_score(matched, ranked, len(truth))
    return float(np.maximum(precision[11:] - 0.1, 0).mean() / 0.9)


def errors(truth: list[Row], found: list[Row], *, half_turns: bool = False) -> dict[str, float]:
    """The five errors at 2 m."""
    matched, ranked = match(truth, found, 2.0)
    if not any(matched):
        return dict.fromkeys(KINDS, 1.0)
    pairs = [(row, other) for row, other in zip(ranked, matched, strict=True) if other is not None]
    _, score = precision_and_score(matched, ranked, len(truth))
    last = np.flatnonzero(score)[-1] if score.any() else 0
    means = {}
    for kind, error in (("ate", _translation), ("ase", _scale), ("aoe", _orientation), ("ave", _velocity), ("aae", _attribute)):
        values = np.array([error(row, other, half_turns) for row, other in pairs])
        running = [1.0 if np.isnan(values).all() else _mean(values[: k + 1]) for k in range(len(values))]
        scores = [row["score"] for row, _ in pairs]
        at = np.interp(score[::-1], scores[::-1], running[::-1])[::-1]
        means[kind] = 1.0 if last < 11 else float(at[11 : last + 1].mean())
    return means


def _mean(values: np.ndarray) -> float:
    numbers = values[~np.isnan(values)]
    return float(numbers.mean()) if len(numbers) else 0.0


def _translation(row: Row, other: Row, _: bool) -> float:
    return math.hypot(row["cuboid_x"] - other["cuboid_x"], row["cuboid_y"] - other["cuboid_y"])


def _scale(row: Row, other: Row, _: bool) -> float:
    sides = [(row[name], other[name]) for name in ("cuboid_length", "cuboid_width", "cuboid_height")]
    shared = math.prod(min(pair) for pair in sides)
    return 1 - shared / (math.prod(a for a, _ in sides) + math.prod(b for _, b in sides) - shared)


def _orientation(row: Row, other: Row, half_turns: bool) -> float:
    period = math.pi if half_turns else 2 * math.pi
    return abs((row["cuboid_yaw"] - other["cuboid_yaw"] + period / 2) % period - period / 2)


def _velocity(row: Row, other: Row, _: bool) -> float:
    values = [row["velocity_x"], row["velocity_y"], other["velocity_x"], other["velocity_y"]]
    return math.nan if None in values else math.hypot(values[0] - values[2], values[1] - values[3])


def _attribute(row: Row, other: Row, _: bool) -> float:
    return math.nan if other["attribute"] is None else float(row["attribute"] != other["attribute"])
