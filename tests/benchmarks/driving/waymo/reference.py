"""Waymo's evaluation as plain loops over rows, written from the rules; assignments are found by trying all of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

Row = dict[str, Any]
NAMES = ["TYPE_VEHICLE", "TYPE_PEDESTRIAN", "TYPE_SIGN", "TYPE_CYCLIST"]
THRESHOLDS = {name: 0.7 if name == "TYPE_VEHICLE" else 0.5 for name in NAMES}
CUT_OFFS = [np.float32(k * 0.01) for k in range(100)] + [np.float32(1)]
Alike = Callable[[Row, Row], float]
CAMERAS = {"FRONT": 0, "FRONT_LEFT": 45, "FRONT_RIGHT": -45, "SIDE_LEFT": 90, "SIDE_RIGHT": -90}


def overlap(one: Row, other: Row) -> float:
    """IoU of cuboids that are not turned; 0 where a side is too short or too long."""
    if any(not 0.01 < row[f"cuboid_{size}"] < 1e6 for row in (one, other) for size in ("length", "width", "height")):
        return 0
    shared = volume = 1.0
    theirs = 1.0
    for centre, size in (("x", "length"), ("y", "width"), ("z", "height")):
        a, b = (row[f"cuboid_{centre}"] for row in (one, other))
        half, their_half = one[f"cuboid_{size}"] / 2, other[f"cuboid_{size}"] / 2
        shared *= max(min(a + half, b + their_half) - max(a - half, b - their_half), 0)
        volume *= 2 * half
        theirs *= 2 * their_half
    return shared / (volume + theirs - shared)


def best_assignment(gts: Sequence[Row], dts: Sequence[Row], threshold: float, alike: Alike) -> list[tuple[int, int]]:
    """The pairs with the largest total: of equal ones, with more pairs, then with the smaller sum of places."""
    best: tuple[Any, list[tuple[int, int]]] = ((-1,), [])

    def go_on(at: int, left: list[int], pairs: list[tuple[int, int]]) -> None:
        nonlocal best
        if at == len(dts):
            total = sum(round(1e6 * alike(dts[d], gts[g])) for d, g in pairs)
            key = (total, len(pairs), -sum(d for d, _ in pairs))
            if key > best[0]:
                best = (key, pairs)
            return
        go_on(at + 1, left, pairs)
        for g in left:
            if alike(dts[at], gts[g]) >= threshold:
                go_on(at + 1, [other for other in left if other != g], [*pairs, (at, g)])

    go_on(0, list(range(len(gts))), [])
    return best[1]


def scores_first(gts: Sequence[Row], dts: Sequence[Row], threshold: float, alike: Alike) -> list[tuple[int, int]]:
    """Each detection, best score first, takes the most similar free annotation."""
    left, pairs = set(range(len(gts))), []
    for d in sorted(range(len(dts)), key=lambda d: -dts[d]["score"]):
        near = [g for g in left if alike(dts[d], gts[g]) >= threshold]
        if near:
            g = max(near, key=lambda g: alike(dts[d], gts[g]))
            left.remove(g)
            pairs.append((d, g))
    return pairs


def agreement(one: Row, other: Row) -> float:
    yaw, their_yaw = (row.get("cuboid_yaw", 0.0) for row in (one, other))  # boxes of images have none
    difference = (yaw - their_yaw + math.pi) % (2 * math.pi) - math.pi
    return 1 - abs(difference) / math.pi


def seen_by(row: Row) -> list[str]:
    """The cameras that see the centre of an object."""
    degrees = math.degrees(math.atan2(row["cuboid_y"], row["cuboid_x"]))
    return [name for name, ahead in CAMERAS.items() if ahead - 25.2 < degrees < ahead + 25.2]


def everywhere(row: Row) -> bool:
    del row
    return True


def is_meant_for_others(dt: Row, gts: Sequence[Row], inside: Callable[[Row], bool], alike: Alike) -> bool:
    """The annotation that a detection overlaps most, if any by .01, is in another bin."""
    most = 0.01
    is_other = False
    for gt in gts:
        if alike(dt, gt) >= most:
            most, is_other = alike(dt, gt), not inside(gt)
    return is_other


def counts(
    annotations: Sequence[Row],
    detections: Sequence[Row],
    name: str,
    level: int,
    cut_off: np.float32,
    *,
    first: bool,
    alike: Alike,
    inside: Callable[[Row], bool] = everywhere,
) -> tuple[int, int, int, float]:
    """True positives, false positives, misses and the sum of the agreements at a cut-off; `inside` are annotations of a bin."""
    tp = fp = fn = 0
    agreed = 0.0
    frames: dict[Any, tuple[list[Row], list[Row]]] = {}
    for side, rows in enumerate((annotations, detections)):
        for row in rows:
            if row["category_id"] == name:
                frames.setdefault(row["image_id"], ([], []))[side].append(row)
    for gts, dts in frames.values():
        dts = sorted((row for row in dts if np.float32(row["score"]) >= cut_off), key=lambda row: -row["score"])
        pairs = (scores_first if first else best_assignment)(gts, dts, THRESHOLDS[name], alike)
        found, matched = {g for _, g in pairs}, {d for d, _ in pairs}
        tp += sum(inside(gts[g]) for _, g in pairs)
        agreed += sum(agreement(dts[d], gts[g]) for d, g in pairs if inside(gts[g]))
        false = [row for d, row in enumerate(dts) if d not in matched and not row["no_label_zone"]]
        fp += sum(not is_meant_for_others(row, gts, inside, alike) for row in false)
        fn += sum(g not in found and row["level"] <= level and inside(row) for g, row in enumerate(gts))
    return tp, fp, fn, agreed


def area(points: Sequence[tuple[float, float]]) -> float:
    """The area under points of recall and precision, as the kit fills the gaps between them."""
    best: dict[float, float] = {0.0: 1.0}
    for recall, precision in points:
        best[recall] = max(precision, best.get(recall, 0.0))
    kept = sorted(best.items(), reverse=True)
    filled = [kept[0]]
    running = kept[0][1]
    for recall, precision in kept[1:]:
        while filled[-1][0] - recall > 0.05 + 1e-6:
            filled.append((filled[-1][0] - 0.05, running))
        running = max(running, precision)
        filled.append((recall, running))
    filled[-1] = (filled[-1][0], filled[-2][1] if len(filled) > 1 else 0.0)
    return sum((a[0] - b[0]) * (a[1] + b[1]) / 2 for a, b in pairwise(filled))


def evaluate(
    annotations: Sequence[Row],
    detections: Sequence[Row],
    name: str,
    level: int,
    *,
    first: bool = False,
    alike: Alike = overlap,
    inside: Callable[[Row], bool] = everywhere,
) -> tuple[float, float]:
    """AP and APH of a class at a level; 0 where there is nothing to be found."""
    points: tuple[list[tuple[float, float]], list[tuple[float, float]]] = ([], [])
    scores = np.array([row["score"] for row in detections if row["category_id"] == name], dtype=np.float32)
    counted: dict[int, tuple[int, int, int, float]] = {}  # by the number of detections that are left
    for cut_off, n in zip(CUT_OFFS, (scores[:, None] >= np.array(CUT_OFFS)).sum(axis=0).tolist(), strict=True):
        if n not in counted:
            counted[n] = counts(annotations, detections, name, level, cut_off, first=first, alike=alike, inside=inside)
        tp, fp, fn, agreed = counted[n]
        recall = tp / (tp + fn) if tp + fn else 0.0
        for curve, value in zip(points, (tp, agreed), strict=True):
            curve.append((recall, value / (tp + fp) if recall else 1.0))
    return area(points[0]), area(points[1])
