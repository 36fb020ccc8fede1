"""AVA: hand cases with their numbers."""

from __future__ import annotations

from tests.conformance.tiny import ONE_HIT, ONE_OF_TWO, Hand

HAND: dict[str, Hand] = {
    "ava": ("ava", {}, ONE_OF_TWO, ONE_HIT, {"AP": 0.5}),
}  # fmt: skip
