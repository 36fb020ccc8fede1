"""Matching by score in which ignored annotations are matched like the others."""

from __future__ import annotations

import numpy as np
import polars as pl

from apframe.matching.by_score import match_by_score


def match_scores_first(
    pairs: pl.DataFrame, is_crowd: np.ndarray, ignored: np.ndarray, thresholds: np.ndarray, *, strict: bool
) -> pl.DataFrame:
    """Assign each detection, best score first, to the most similar free annotation, whether it counts or not.

    For the rest see `match_largest_sum`. Source: `ScoreFirstMatcher` of waymo-open-dataset.

    >>> pairs = pl.DataFrame({"detection": [0, 0, 1], "annotation": [0, 1, 0], "similarity": [0.8, 0.7, 0.75]})
    >>> match_scores_first(pairs, np.zeros(2, dtype=bool), np.array([[True, False]]), np.array([0.5]),
    ...                    strict=False).select("detection", "annotation").rows()
    [(0, 0)]
    """
    nothing = np.zeros_like(is_crowd)
    return match_by_score(pairs, nothing, np.zeros((1, ignored.shape[1]), dtype=bool), thresholds, strict=strict)
