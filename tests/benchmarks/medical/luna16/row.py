"""LUNA16: hand cases with their numbers."""

from __future__ import annotations

from tests.conformance.tiny import CATEGORIES, MARK, Hand, at, found, truth_of

HAND: dict[str, Hand] = {
    # one of two nodules, with .5 false positives per scan above it: from the third of seven points on
    "luna16": (
        "luna16", {}, truth_of([at(k, 1, **MARK, sphere_diameter=10.0) for k in (1, 2)], categories=CATEGORIES[:1]),
        [found(1, 1, 0.9, **MARK | {"sphere_z": 50.0}), found(2, 1, 0.8, **MARK)], {"CPM": 5 * 0.5 / 7},
    ),
}  # fmt: skip
