"""CrowdPose: hand cases with their numbers."""

from __future__ import annotations

from tests.conformance.tiny import CATEGORIES, Hand, at, found, points, truth_of

CROWDED = [
    {"id": number, "weather": weather, "crowdIndex": index}
    for number, weather, index in ((1, "fog", 0.1), (2, "fog", 0.8), (3, "fog", 0.9), (4, "clear", 0.0))
]


HAND: dict[str, Hand] = {
    # two of three: precision 1 at 67 of 101 levels
    "crowdpose": (
        "crowdpose", {}, truth_of([at(k, 1, bbox=[0, 0, 40, 60], keypoints=points(14), num_keypoints=14) for k in (1, 2, 3)],
                                  CROWDED, CATEGORIES[:1]),
        [found(1, 1, 0.9, keypoints=points(14)), found(2, 1, 0.8, keypoints=points(14))],
        {"AP": 67 / 101, "AR": 2 / 3, "AP_easy": 1.0, "AP_medium": 1.0, "AP_hard": 0.0},
    ),
}  # fmt: skip
