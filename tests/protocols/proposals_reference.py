"""Recall of proposals as plain loops over the rules of Detectron."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tests.protocols.generated import Row, Truth, box_iou, mean

THRESHOLDS = np.linspace(0.5, 0.95, 10).tolist()
AREAS = {
    "all": (0, 1e10), "small": (0, 32**2), "medium": (32**2, 96**2), "large": (96**2, 1e10), "96-128": (96**2, 128**2),
    "128-256": (128**2, 256**2), "256-512": (256**2, 512**2), "512-inf": (512**2, 1e10),
}  # fmt: skip
SHORT = {"small": "ARs", "medium": "ARm", "large": "ARl"}


def best_overlaps(annotations: Sequence[Row], proposals: Sequence[Row]) -> list[float]:
    """The pair of the largest overlap, then of those that are left, and so on; of equal ones the first annotation's."""
    overlaps = np.array([[box_iou(proposal["bbox"], row["bbox"]) for proposal in proposals] for row in annotations])
    maxima = []
    for _ in range(min(len(annotations), len(proposals))):
        # argmax takes the first of equal ones, row by row
        annotation, proposal = np.unravel_index(overlaps.argmax(), overlaps.shape)
        maxima.append(float(overlaps[annotation, proposal]))
        overlaps[annotation], overlaps[:, proposal] = -1, -1
    return maxima


def recalls(
    truth: Truth, results: Sequence[Row], area_range: str, limit: int, *, detected_only: bool = False
) -> list[float] | None:
    """Recall at each threshold; None if there is nothing to find. `detected_only` leaves images without proposals out."""
    n_positives, overlaps = 0, list[float]()
    low, high = AREAS[area_range]
    for image in truth["images"]:
        proposals = sorted((row for row in results if row["image_id"] == image["id"]), key=lambda row: -row["score"])
        if detected_only and not proposals:
            continue
        annotations = [
            row
            for row in truth["annotations"]
            if row["image_id"] == image["id"] and not row["iscrowd"] and low <= row["area"] <= high
        ]
        n_positives += len(annotations)
        overlaps += best_overlaps(annotations, proposals[:limit])
    return [sum(o >= t for o in overlaps) / n_positives for t in THRESHOLDS] if n_positives else None


def recall_numbers(
    truth: Truth, results: Sequence[Row], limits: Sequence[int], *, detected_only: bool = False
) -> dict[str, float | None]:
    """The lines of the summary: of each limit, and of each area range at the last of them."""
    lines = {f"AR{limit}": ("all", limit) for limit in limits}
    lines |= {SHORT.get(area, f"AR_{area}"): (area, limits[-1]) for area in AREAS if area != "all"}
    return {name: mean(recalls(truth, results, *which, detected_only=detected_only) or []) for name, which in lines.items()}
