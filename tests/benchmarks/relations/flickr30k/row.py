"""Flickr30k Entities and referring expressions: hand cases with their numbers."""

from __future__ import annotations

from tests.conformance.tiny import ONE_HIT, ONE_OF_TWO, Hand

HAND: dict[str, Hand] = {
    "flickr30k": ("flickr30k", {}, ONE_OF_TWO, ONE_HIT, {"Success@1": 0.5, "Success@10": 0.5}),
    "refcoco": ("refcoco", {}, ONE_OF_TWO, ONE_HIT, {"Success@1": 0.5}),
}  # fmt: skip
