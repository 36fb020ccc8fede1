"""KITTI's evaluation as plain loops over rows, written from the rules: two passes for every class and level of difficulty."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

Row = dict[str, Any]
NAMES = ["Car", "Pedestrian", "Cyclist"]
THRESHOLDS = {"Car": 0.7, "Pedestrian": 0.5, "Cyclist": 0.5}
NEIGHBOURS = {"Car": "Van", "Pedestrian": "Person_sitting", "Cyclist": None}
# occluded and truncated at most; annotations above, detections from that height on
LEVELS = {"easy": (0, 0.15, 40, 40), "moderate": (1, 0.3, 25, 25), "hard": (2, 0.5, 25, 25)}


def overlap(one: Row, other: Row, *, over_first: bool = False) -> float:
    """IoU, or the intersection over the first box."""
    sides = [
        min(one[start] + one[length], other[start] + other[length]) - max(one[start], other[start])
        for start, length in (("x", "width"), ("y", "height"))
    ]
    if min(sides) <= 0:
        return 0.0
    area = sides[0] * sides[1]
    first = one["width"] * one["height"]
    return area / (first if over_first else first + other["width"] * other["height"] - area)


@dataclass
class Image:
    """What a class sees of an image: annotations of state 0 and 1, detections of state 0 and 1, and regions."""

    gts: list[tuple[Row, int]]
    dts: list[tuple[Row, int]]
    regions: list[Row]


def images_of(annotations: Sequence[Row], detections: Sequence[Row], name: str, level: str) -> list[Image]:
    """Each image with the states of its rows, which are in the order of the file."""
    occluded, truncated, above, least = LEVELS[level]
    images = []
    for image_id in dict.fromkeys(row["image_id"] for row in (*annotations, *detections)):
        gts, dts = [], []
        for row in annotations:
            if row["image_id"] != image_id:
                continue
            if row["category_id"] == name:
                counts = row["occluded"] <= occluded and row["truncated"] <= truncated and row["height"] > above
                gts.append((row, 0 if counts else 1))
            elif row["category_id"] == NEIGHBOURS[name]:
                gts.append((row, 1))
        for row in detections:
            if row["image_id"] == image_id:
                if row["height"] < least:
                    dts.append((row, 1))
                elif row["category_id"] == name:
                    dts.append((row, 0))
        regions = [row for row in annotations if row["image_id"] == image_id and row["category_id"] == "DontCare"]
        images.append(Image(gts, dts, regions))
    return images


def first_pass(image: Image, threshold: float, alike: Callable[[Row, Row], float]) -> list[float]:
    """The scores of the true positives among all detections."""
    used: set[int] = set()
    scores = []
    for gt, state in image.gts:
        best = None
        for number, (dt, _) in enumerate(image.dts):
            if number not in used and alike(dt, gt) > threshold and (best is None or dt["score"] > image.dts[best][0]["score"]):
                best = number
        if best is not None:
            used.add(best)
            if state == 0 and image.dts[best][1] == 0:
                scores.append(image.dts[best][0]["score"])
    return scores


def second_pass(
    image: Image, threshold: float, cut_off: float, alike: Callable[[Row, Row], float], *, regions: bool
) -> tuple[int, int, int, float]:
    """True positives, false positives, misses, and the sum of the agreements of orientation, of detections from a score on."""
    used: set[int] = set()
    tp = fp = fn = 0
    agreement = 0.0
    there = [number for number, (dt, _) in enumerate(image.dts) if dt["score"] >= cut_off]
    for gt, state in image.gts:
        near = [number for number in there if number not in used and alike(image.dts[number][0], gt) > threshold]
        counted = [number for number in near if image.dts[number][1] == 0]
        best = max(counted, key=lambda number: alike(image.dts[number][0], gt)) if counted else next(iter(near), None)
        if best is None:
            fn += state == 0
            continue
        used.add(best)
        if state == 0 and image.dts[best][1] == 0:
            tp += 1
            agreement += (1 + math.cos(image.dts[best][0]["alpha"] - gt["alpha"])) / 2
    for number in there:
        dt, state = image.dts[number]
        in_region = regions and any(overlap(dt, region, over_first=True) > threshold for region in image.regions)
        fp += state == 0 and number not in used and not in_region
    return tp, fp, fn, agreement


def choose(scores: Sequence[float], n_positives: int) -> list[float]:
    """Which scores are cut-offs."""
    scores, chosen, c = sorted(scores, reverse=True), [], 0.0
    for i, score in enumerate(scores):
        is_last = i == len(scores) - 1
        left = (i + 1) / n_positives
        right = left if is_last else (i + 2) / n_positives
        if right - c < c - left and not is_last:
            continue
        chosen.append(score)
        c += 1 / 40
    return chosen


def evaluate(
    annotations: Sequence[Row],
    detections: Sequence[Row],
    name: str,
    level: str,
    positions: int = 40,
    alike: Callable[[Row, Row], float] = overlap,
    *,
    regions: bool = True,
) -> tuple[float | None, float | None]:
    """AP and AOS of a class at a level of difficulty; None without annotations that count."""
    threshold, images = THRESHOLDS[name], images_of(annotations, detections, name, level)
    n_positives = sum(state == 0 for image in images for _, state in image.gts)
    if not n_positives:
        return None, None
    scores = [score for image in images for score in first_pass(image, threshold, alike)]
    curves: tuple[list[float], list[float]] = ([0.0] * 41, [0.0] * 41)
    for position, cut_off in enumerate(choose(scores, n_positives)):
        counts = [second_pass(image, threshold, cut_off, alike, regions=regions) for image in images]
        tp, fp, _, agreement = (sum(each) for each in zip(*counts, strict=True))
        for curve, value in zip(curves, (tp, agreement), strict=True):
            curve[position] = value / (tp + fp) if tp + fp else 0.0
    kept = range(1, 41) if positions == 40 else range(0, 41, 4)
    ap, aos = (sum(max(curve[k:]) for k in kept) / positions for curve in curves)
    return ap, aos
