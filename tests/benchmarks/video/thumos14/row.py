"""THUMOS14: hand cases with their numbers."""

from __future__ import annotations

from tests.conformance.tiny import Hand, at, found, truth_of

HAND: dict[str, Hand] = {
    # 4.5 of 10 seconds: four of five thresholds; what overlaps the ambiguous interval is ignored
    "thumos14": (
        "thumos14", {}, truth_of([at(1, 1, start_time=0, end_time=10), at(1, 2, start_time=69, end_time=75)],
                                 categories=[{"id": 1, "name": "Diving"}, {"id": 2, "name": "Ambiguous"}]),
        [found(1, 1, 0.9, start_time=60, end_time=70), found(1, 1, 0.8, start_time=0, end_time=4.5)],
        {"AP": 0.8, "AP40": 1.0, "AP50": 0.0},
    ),
}  # fmt: skip
