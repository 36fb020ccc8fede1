"""Matching by score, an option of Waymo Open Dataset."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from apframe.matching.matchers import Matcher


@dataclass(frozen=True)
class ScoreFirst(Matcher):
    """Matching by score in which ignored annotations are matched like the others, an option of Waymo Open Dataset."""

    name: ClassVar[str] = "score_first"
    description: ClassVar[str] = (
        "each detection, best score first, takes the most similar free annotation, whether it counts or not"
    )
    home: ClassVar[str] = "apframe.benchmarks.driving.waymo.score_first:match_scores_first"
    at_score_cutoffs: ClassVar[bool] = True
    counts_everywhere: ClassVar[bool] = True
