"""CrowdHuman: hand cases with their numbers."""

from __future__ import annotations

from tests.conformance.tiny import ELSEWHERE, PERFECT, SQUARE, Hand, at, found, truth_of

CROWD = truth_of([at(k, 1, bbox=SQUARE) for k in (1, 2)], categories=[{"id": 1, "name": "person"}])


HAND: dict[str, Hand] = {
    # the hit of the first row adds nothing, that of the third (2/3 + 1/2) / 2 of one half
    "crowdhuman": (
        "crowdhuman", {}, CROWD, [found(1, 1, 0.9, bbox=SQUARE), found(2, 1, 0.8, bbox=ELSEWHERE),
                                  found(2, 1, 0.7, bbox=SQUARE)],
        {"AP": 7 / 24, "LAMR": 0.0, "JI": (PERFECT + 1 / (2 + 1e-6)) / 2},
    ),
}  # fmt: skip
