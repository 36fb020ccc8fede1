"""Argoverse 2's matcher."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from apframe.matching.matchers import Matcher, PairsRead


@dataclass(frozen=True)
class ByClaim(Matcher):
    """Argoverse 2's matching: each detection claims its nearest annotation, which accepts the best ranked claimant."""

    name: ClassVar[str] = "claimant"
    description: ClassVar[str] = (
        "each detection claims its most similar annotation, however far away; each annotation accepts the best ranked one"
    )
    home: ClassVar[str] = "apframe.benchmarks.driving.argoverse2.by_claim:match_by_claim"
    wants: ClassVar[PairsRead] = "nearest"
