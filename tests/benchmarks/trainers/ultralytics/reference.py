"""Ultralytics' mean average precision as plain loops, written from its rules."""

from __future__ import annotations

from typing import Any

import numpy as np

Row = dict[str, Any]
THRESHOLDS = np.linspace(0.5, 0.95, 10).astype(np.float32)


def overlap(one: list[float], other: list[float]) -> np.float32:
    """IoU in single precision; `one` is the annotation."""
    (ax, ay, ar, ab), (bx, by, br, bb) = (np.array([x, y, x + w, y + h], dtype=np.float32) for x, y, w, h in (one, other))
    width, height = max(np.float32(0), min(ar, br) - max(ax, bx)), max(np.float32(0), min(ab, bb) - max(ay, by))
    shared = np.float32(width * height)
    return np.float32(shared / ((ar - ax) * (ab - ay) + (br - bx) * (bb - by) - shared + np.float32(1e-7)))


def matched_freely(iou: np.ndarray, threshold: float) -> list[bool]:
    """Annotations are rows, detections columns, best score first: each takes its best free annotation."""
    free, outcomes = set(range(len(iou))), []
    for column in iou.T:
        best = max(free, key=lambda row: (column[row], -row), default=None)
        outcomes.append(best is not None and bool(column[best] >= threshold))
        free -= {best} if outcomes[-1] else set()
    return outcomes


def matched_once(iou: np.ndarray, threshold: float) -> list[bool]:
    """The same, but each detection looks at its most similar annotation alone."""
    taken, outcomes = set[int](), []
    for column in iou.T:
        best = int(column.argmax()) if len(column) else -1
        outcomes.append(best >= 0 and bool(column[best] >= threshold) and best not in taken)
        taken |= {best} if outcomes[-1] else set()
    return outcomes


def average_precision(flags: list[bool], n: int, *, falls_at_once: bool) -> float:
    """By numpy.interp."""
    if not flags:
        return 0.0
    tp = np.cumsum(flags)
    recall, precision = tp / n, tp / np.arange(1, len(flags) + 1)
    end = ([recall[-1], 1.0], [0.0, 0.0]) if falls_at_once else ([1.0], [0.0])
    x, y = np.concatenate([[0.0], recall, end[0]]), np.concatenate([[1.0], precision, end[1]])
    for k in range(len(y) - 2, -1, -1):
        y[k] = max(y[k], y[k + 1])
    read = np.interp(np.linspace(0, 1, 101), x, y)
    return 0.01 * float(read.sum() - (read[0] + read[-1]) / 2)


def evaluate(truth: Any, results: list[Row], *, frees: bool, falls_at_once: bool) -> dict[str, float]:
    """mAP50-95, mAP50 and mAP75 of boxes."""
    kept: dict[int, list[Row]] = {}
    for image in sorted(row["id"] for row in truth["images"]):
        own = [row for row in results if row["image_id"] == image and row["score"] > 0.001]
        kept[image] = sorted(own, key=lambda row: -row["score"])[:300]
    values = []
    for category in sorted({row["category_id"] for row in truth["annotations"]}):
        n, scores = 0, []
        flags: list[list[list[bool]]] = []
        for image, rows in kept.items():
            objects = [
                row["bbox"] for row in truth["annotations"] if (row["image_id"], row["category_id"]) == (image, category)
            ]
            detections = [row for row in rows if row["category_id"] == category]
            n += len(objects)
            scores += [row["score"] for row in detections]
            iou = np.array([[overlap(box, row["bbox"]) for row in detections] for box in objects], dtype=np.float32)
            iou = iou.reshape(len(objects), len(detections))
            match = matched_freely if frees else matched_once
            flags.append([match(iou, t) for t in THRESHOLDS])
        order = sorted(range(len(scores)), key=lambda k: -scores[k])
        for t in range(len(THRESHOLDS)):
            whole = [flag for of_image in flags for flag in of_image[t]]
            values.append((t, average_precision([whole[k] for k in order], n, falls_at_once=falls_at_once)))
    return {
        name: float(np.mean([value for t, value in values if t in chosen]))
        for name, chosen in (("AP", range(10)), ("AP50", (0,)), ("AP75", (5,)))
    }
