"""Argoverse 2: hand cases with their numbers."""

from __future__ import annotations

import math

import apframe as apf
from tests.conformance.tiny import Hand, cuboids, without_ids
from tests.protocols.rules_of import classes_of

SWEEP = cuboids(classes_of(apf.ARGOVERSE2).names)


HAND: dict[str, Hand] = {
    # the wheeled rider is missed
    "argoverse2": (
        "argoverse2", {}, SWEEP, without_ids(SWEEP["annotations"][:25]),
        {"AP": 25 / 26, "ATE": 2 / 26, "ASE": 1 / 26, "AOE": math.pi / 26, "CDS": 25 / 26},
    ),
}  # fmt: skip
