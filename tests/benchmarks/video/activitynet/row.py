"""ActivityNet: hand cases with their numbers."""

from __future__ import annotations

from tests.conformance.tiny import Hand, at, found, truth_of

HAND: dict[str, Hand] = {
    # 13 of 16 seconds: seven of ten thresholds
    "activitynet": (
        "activitynet", {}, truth_of([at(1, 1, start_time=0, end_time=16)]),
        [found(1, 1, 0.9, start_time=0, end_time=13)], {"AP": 0.7, "AP50": 1.0, "AP75": 1.0, "AP95": 0.0},
    ),
}  # fmt: skip
