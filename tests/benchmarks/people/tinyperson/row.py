"""TinyPerson: hand cases with their numbers."""

from __future__ import annotations

from tests.conformance.tiny import CATEGORIES, ELSEWHERE, Hand, at, found, truth_of

SPECKS = truth_of([at(1, 1, bbox=[0, 0, 10, 10], area=100), at(2, 1, bbox=[0, 0, 10, 10], area=100),
                   at(2, 1, bbox=ELSEWHERE, area=100, uncertain=True)], categories=CATEGORIES[:1])  # fmt: skip


HAND: dict[str, Hand] = {
    # the person in the box of an uncertain one is ignored
    "tinyperson": (
        "tinyperson", {}, SPECKS, [found(1, 1, 0.9, bbox=[0, 0, 10, 5]), found(2, 1, 0.95, bbox=[55, 55, 4, 4])],
        {"AP50_tiny": 51 / 101, "AP25_tiny2": 51 / 101, "AP75_tiny": 0.0, "AP50s": None, "AP50": 51 / 101},
    ),
}  # fmt: skip
