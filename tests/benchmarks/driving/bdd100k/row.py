"""BDD100K: hand cases with their numbers."""

from __future__ import annotations

from tests.conformance.tiny import ELSEWHERE, MASKS_FOUND, OUTLINE, SQUARE, Hand, at, found, truth_of

STREET = [{"id": number, "name": name} for number, name in enumerate(("car", "van", "other vehicle"), 1)]
CARS = [at(1, 1, bbox=SQUARE, area=1600), at(2, 2, bbox=SQUARE, area=1600), at(2, 3, bbox=ELSEWHERE, area=1600)]
CARS_WITH_MASKS = [row | {"segmentation": OUTLINE} for row in CARS[:2]]


HAND: dict[str, Hand] = {
    # one of two cars, a van being one: precision 1 at 51 of 101 levels; what is found in the ignored vehicle does not count
    "bdd100k": (
        "bdd100k", {}, truth_of(CARS, categories=STREET), [found(1, 1, 0.9, bbox=SQUARE), found(2, 1, 0.95, bbox=ELSEWHERE)],
        {"AP": 51 / 101, "AP75": 51 / 101, "APs": None, "APm": 51 / 101, "AR10": 0.5, "AR1": 0.5},
    ),
    # both of two at three of ten thresholds
    "bdd100k segm": (
        "bdd100k", {"iou_type": "segm"}, truth_of(CARS_WITH_MASKS, categories=STREET),
        MASKS_FOUND, {"AP": 0.3 + 0.7 * 51 / 101, "AP50": 1.0, "AR100": 0.65},
    ),
}  # fmt: skip
