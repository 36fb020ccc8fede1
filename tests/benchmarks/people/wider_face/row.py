"""WIDER FACE: hand cases with their numbers."""

from __future__ import annotations

from tests.conformance.tiny import ELSEWHERE, SQUARE, Hand, at, found, truth_of

FACES = truth_of([at(k, 1, bbox=SQUARE, easy=k == 1, medium=True, hard=True) for k in (1, 2)],
                 categories=[{"id": 1, "name": "face"}])  # fmt: skip


HAND: dict[str, Hand] = {
    # one of two faces of the larger sets is found, and the false positive comes later
    "wider_face": (
        "wider_face", {}, FACES, [found(1, 1, 0.9, bbox=SQUARE), found(2, 1, 0.8, bbox=ELSEWHERE)],
        {"AP_easy": 1.0, "AP_medium": 0.5, "AP_hard": 0.5},
    ),
}  # fmt: skip
