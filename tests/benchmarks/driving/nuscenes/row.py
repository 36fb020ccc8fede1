"""nuScenes: hand cases with their numbers."""

from __future__ import annotations

import apframe as apf
from tests.conformance.tiny import Hand, cuboids, without_ids
from tests.protocols.rules_of import classes_of

SCENE = cuboids(classes_of(apf.NUSCENES).names)


HAND: dict[str, Hand] = {
    # all but the barrier, whose errors are 1; there are nine classes with an orientation, eight with a velocity
    "nuscenes": (
        "nuscenes", {}, SCENE, without_ids(SCENE["annotations"][:9]),
        {"AP": 0.9, "ATE": 0.1, "ASE": 0.1, "AOE": 1 / 9, "AVE": 0.0, "AAE": 0.0, "NDS": (4.5 + 2 * 0.9 + 8 / 9 + 2) / 10},
    ),
}  # fmt: skip
