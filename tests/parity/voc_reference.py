"""The evaluation of PASCAL VOC in plain loops, from boxes to average precision, to be read beside its rules.

Boxes are x, y, width, height, where xmax = x + width. One rule differs between implementations: the development kit
(`VOCevaldet`) takes overlaps of at least the threshold, the Python evaluators that everybody uses (`voc_eval`) greater ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Row = dict[str, Any]


def evaluate_voc(
    truth: Sequence[Row],
    results: Sequence[Row],
    threshold: float = 0.5,
    *,
    year: int = 2007,
    strict: bool = True,
    pixel: float = 1,
) -> dict[Any, float | None]:
    """The average precision of each category that is annotated; None where all its annotations are difficult."""
    average_precisions = {}
    for category in dict.fromkeys(annotation["category_id"] for annotation in truth):
        outcomes = judge_category(truth, results, category, threshold, strict=strict, pixel=pixel)
        n_positives = sum(
            1 for annotation in truth if annotation["category_id"] == category and not annotation.get("difficult", False)
        )
        average_precisions[category] = average_precision(outcomes, n_positives, year)
    return average_precisions


def judge_category(
    truth: Sequence[Row], results: Sequence[Row], category: Any, threshold: float, *, strict: bool = True, pixel: float = 1
) -> list[bool | None]:
    """What became of each detection of a category, best score first: true, false, or None where it is ignored."""
    objects: dict[Any, list[Row]] = {}
    for annotation in truth:
        if annotation["category_id"] == category:
            objects.setdefault(annotation["image_id"], []).append(annotation)
    matches: set[tuple[Any, int]] = set()
    outcomes: list[bool | None] = []
    # equal scores stay in the order of the input: sorted() is stable
    for detection in sorted((row for row in results if row["category_id"] == category), key=lambda row: -row["score"]):
        image = detection["image_id"]
        best, best_overlap = -1, float("-inf")
        for number, annotation in enumerate(objects.get(image, [])):
            overlap = overlap_of(detection, annotation, pixel)
            if overlap > best_overlap:
                best, best_overlap = number, overlap
        if not (best_overlap > threshold if strict else best_overlap >= threshold):
            outcomes.append(False)
        elif objects[image][best].get("difficult", False):
            outcomes.append(None)
        elif (image, best) in matches:
            outcomes.append(False)
        else:
            matches.add((image, best))
            outcomes.append(True)
    return outcomes


def overlap_of(one: Row, other: Row, pixel: float = 1) -> float:
    """Intersection over union, where a box covers the pixels on both its borders."""
    left, right = max(one["x"], other["x"]), min(one["x"] + one["width"], other["x"] + other["width"])
    top, bottom = max(one["y"], other["y"]), min(one["y"] + one["height"], other["y"] + other["height"])
    width, height = right - left + pixel, bottom - top + pixel
    if width <= 0 or height <= 0:
        return 0.0
    intersection = width * height
    areas = [(box["width"] + pixel) * (box["height"] + pixel) for box in (one, other)]
    return intersection / (areas[0] + areas[1] - intersection)


def average_precision(outcomes: Sequence[bool | None], n_positives: int, year: int) -> float | None:
    """VOC 2007: the mean, over recall 0, .1, ... 1, of the best precision there or later. After: the area below those."""
    if n_positives == 0:
        return None
    precision, recall = [], []
    n_true = n_counted = 0
    for outcome in outcomes:
        if outcome is None:
            continue
        n_true += outcome
        n_counted += 1
        precision.append(n_true / n_counted)
        recall.append(n_true / n_positives)
    if year == 2007:
        total = 0.0
        for step in range(11):
            # as np.arange(0, 1.1, 0.1) has them: step * 0.1, of which the seventh is 0.6000000000000001
            total += max((p for p, r in zip(precision, recall, strict=True) if r >= step * 0.1), default=0.0) / 11
        return total
    area = before = 0.0
    for place, r in enumerate(recall):
        area += (r - before) * max(precision[place:])
        before = r
    return area
