"""VisDrone: hand cases with their numbers."""

from __future__ import annotations

from tests.conformance.tiny import ELSEWHERE, IMAGES, SQUARE, Hand, at, found, truth_of

DRONES = truth_of(
    [at(1, 1, bbox=SQUARE), at(2, 1, bbox=SQUARE), at(3, 2, bbox=SQUARE), at(1, 3, bbox=[50, 50, 40, 40])],
    [*IMAGES, IMAGES[1] | {"id": 3}],
    [{"id": 1, "name": "car"}, {"id": 2, "name": "bus"}, {"id": 3, "name": "ignored regions"}],
)


HAND: dict[str, Hand] = {
    # one of two cars, each in an image of its own, and a bus; what is in the region does not count
    "visdrone": (
        "visdrone", {}, DRONES, [found(k, c, 0.9, bbox=SQUARE) for k, c in ((1, 1), (3, 2))], {"AP": 2 / 3, "AR1": 2 / 3},
    ),
    "visdrone_mean": (
        "visdrone_mean", {}, DRONES, [found(1, 1, 0.9, bbox=ELSEWHERE), *(found(k, 1, 0.8, bbox=SQUARE) for k in (1, 2))],
        {"AP": 0.5, "AP75": 0.5, "AR500": 0.5},
    ),
}  # fmt: skip
