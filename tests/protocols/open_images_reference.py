"""Open Images as plain loops over the rules of TensorFlow's evaluators, for boxes and for masks."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from pycocotools import mask

from tests.protocols.generated import Row, Truth, area_under_envelope, box_iou

Outcomes = list[bool | None]
"""What became of each detection of a class on an image, best score first: true, false, or None where it is ignored."""


def judge_boxes(annotations: list[Row], detections: list[Row], *, challenge: bool) -> Outcomes:
    """By the evaluators' two stages: boxes first, then groups."""
    singles = [row for row in annotations if not row["is_crowd"]]
    groups = [row for row in annotations if row["is_crowd"]]
    result: Outcomes = [False] * len(detections)
    taken, hit = set(), set()
    for place, detection in enumerate(detections):
        overlaps = [box_iou(detection["bbox"], row["bbox"]) for row in singles]
        best = int(np.argmax(overlaps)) if singles else -1
        if singles and overlaps[best] >= 0.5 and best not in taken:
            taken.add(best)
            result[place] = True
    for place, detection in enumerate(detections):
        shares = [box_iou(detection["bbox"], row["bbox"], of_first=True) for row in groups]
        best = int(np.argmax(shares)) if groups else -1
        if not result[place] and groups and shares[best] >= 0.5:
            result[place] = True if challenge and best not in hit else None
            hit.add(best)
    return result


def judge_masks(annotations: list[Row], detections: list[Row], *, challenge: bool) -> Outcomes:
    """By the evaluators' four steps: masks, groups with masks, boxes without masks, groups without."""
    result: Outcomes = [False] * len(detections)
    for of_masks in (True, False):
        for of_groups in (False, True):
            tried = [row for row in annotations if row["has_mask"] == of_masks and row["is_crowd"] == of_groups]
            if not tried:
                continue
            shapes = [row["segmentation"] for row in detections]
            if of_masks:
                overlaps = mask.iou(shapes, [row["encoded"] for row in tried], [int(of_groups)] * len(tried))
            else:
                tight = [mask.toBbox(shape).tolist() for shape in shapes]
                overlaps = np.array([[box_iou(box, row["bbox"], of_first=of_groups) for row in tried] for box in tight])
            hits: set[int] = set()
            for place, left_over in enumerate([each is False for each in result]):
                best = int(np.argmax(overlaps[place]))
                if not left_over or overlaps[place, best] < 0.5 or (best in hits and not of_groups):
                    continue
                counts = of_masks and (not of_groups or (challenge and best not in hits))
                result[place] = True if counts else None
                hits.add(best)
    return result


def average_precisions(
    truth: Truth, results: list[Row], judge: Callable[..., Outcomes], *, challenge: bool
) -> dict[int, float | None]:
    """Of each category; None where nothing counts. `place` of a result is its row, `has_mask` is of annotations with masks."""
    values: dict[int, float | None] = {}
    for category in (row["id"] for row in truth["categories"]):
        judged: list[tuple[tuple[float, int], bool | None]] = []
        own = [row for row in truth["annotations"] if row["category_id"] == category]
        for image in truth["images"]:
            annotations = [row for row in own if row["image_id"] == image["id"]]
            cell = [row for row in results if (row["image_id"], row["category_id"]) == (image["id"], category)]
            cell = sorted(cell, key=lambda row: (row["score"], row["place"]), reverse=True)
            verified = [*image.get("neg_category_ids", []), *image.get("pos_category_ids", [])]
            if cell and (not challenge or annotations or category in verified):
                places = [(row["score"], row["place"]) for row in cell]
                judged += zip(places, judge(annotations, cell, challenge=challenge), strict=True)
        counted = [is_true for _, is_true in sorted(judged, key=lambda pair: pair[0], reverse=True) if is_true is not None]
        n_positives = sum(row.get("has_mask", True) and (challenge or not row["is_crowd"]) for row in own)
        values[category] = area_under_envelope(counted, n_positives) if n_positives else None
    return values
