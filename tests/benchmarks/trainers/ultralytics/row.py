"""Ultralytics: hand cases with their numbers."""

from __future__ import annotations

from tests.conformance.tiny import MASKS, MASKS_FOUND, ONE_HIT, ONE_OF_TWO, SQUARE, Hand, at, truth_of

HAND: dict[str, Hand] = {
    # one is found and one is not: a perfect list has .995
    "ultralytics": ("ultralytics", {}, ONE_OF_TWO, ONE_HIT, {"AP": 0.4975, "AP50": 0.4975, "AP75": 0.4975}),
    # three of ten thresholds for the second one
    "ultralytics segm": ("ultralytics", {"iou_type": "segm"}, MASKS, MASKS_FOUND, {"AP": 0.995 * 0.65, "AP75": 0.4975}),
    "ultralytics_8_4_175": ("ultralytics_8_4_175", {}, ONE_OF_TWO, ONE_HIT, {"AP": 0.4975}),
    # one of two of a class: level 0 to .5 along 1, then down to 0
    "ultralytics_8_4_35": (
        "ultralytics_8_4_35", {}, truth_of([at(k, 1, bbox=SQUARE) for k in (1, 2)]), ONE_HIT[:1], {"AP": 0.75, "AP50": 0.75},
    ),
}  # fmt: skip
