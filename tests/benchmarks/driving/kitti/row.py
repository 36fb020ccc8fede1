"""KITTI: hand cases with their numbers."""

from __future__ import annotations

from tests.conformance.tiny import Hand, at, found, truth_of

BLOCK = truth_of(
    [at(1 + (k > 39), 1, bbox=[60 * k, 0, 50, 50], occluded=0, truncated=0.0, alpha=0.0) for k in range(41)],
    categories=[{"id": 1, "name": "Car"}, {"id": 2, "name": "Pedestrian"}, {"id": 3, "name": "Cyclist"}],
)


HAND: dict[str, Hand] = {
    # 20 of 41 found: as many positions, of which the first one does not count
    "kitti": (
        "kitti", {}, BLOCK, [found(1, 1, 0.9 - k / 100, bbox=[60 * k, 0, 50, 50], alpha=0.0) for k in range(20)],
        {"AP_Car_easy": 19 / 40, "AP_moderate": 19 / 40, "AP_Cyclist_hard": None, "AOS_Car_hard": 19 / 40},
    ),
}  # fmt: skip
