"""DOTA: hand cases with their numbers."""

from __future__ import annotations

import math

import apframe as apf
from tests.conformance.tiny import ELSEWHERE, Hand, Json, at, found, truth_of
from tests.protocols.rules_of import classes_of

DIAMOND = [20, 0, 40, 20, 20, 40, 0, 20]
TURNED = {"bbox": [20 - 200**0.5, 20 - 200**0.5, 800**0.5, 800**0.5], "angle": math.pi / 4}  # the same


def aerial(names: tuple[str, ...]) -> Json:
    """An object of each class and a difficult one of the first, which is elsewhere."""
    rows = [at(1, k, corners=DIAMOND) for k in range(1, len(names) + 1)]
    elsewhere = [value + 50 for value in DIAMOND]
    return truth_of([*rows, at(1, 1, corners=elsewhere, ignore=1)],
                    categories=[{"id": k, "name": name} for k, name in enumerate(names, 1)])  # fmt: skip


FROM_ABOVE, LATER = aerial(classes_of(apf.DOTA_V1).names), aerial(classes_of(apf.DOTA_V15).names)


HAND: dict[str, Hand] = {
    "dota": (
        "dota", {}, truth_of([at(1, 1, corners=DIAMOND), at(2, 2, corners=DIAMOND), at(2, 2, corners=DIAMOND, ignore=1)]),
        [found(1, 1, 0.9, **TURNED), found(2, 2, 0.8, bbox=ELSEWHERE, angle=0.0)], {"AP": 0.5},
    ),
    # the first class and the last are found; of the first one, a difficult object may be missed in v1.0 alone
    "dota_v1": (
        "dota_v1", {}, FROM_ABOVE, [found(1, k, 0.9, **TURNED) for k in (1, 15)], {"AP": 2 / 15},
    ),
    "dota_v15": (
        "dota_v15", {}, LATER, [found(1, k, 0.9, **TURNED) for k in (1, 16)], {"AP": (6 / 11 + 1) / 16},
    ),
    "mmrotate": (
        "mmrotate", {}, FROM_ABOVE, [found(1, k, 0.9, **TURNED) for k in range(1, 15)], {"AP": (6 / 11 + 13) / 15},
    ),
}  # fmt: skip
