"""Matching by the largest sum of similarities, where ignored annotations compete like all others."""

from __future__ import annotations

import numpy as np
import polars as pl

from apframe.exceptions import import_optional
from apframe.matching.assignments import EVERY_SLICE
from apframe.matching.optimal import expand, solve
from apframe.matching.reached import count_reached

_DIGITS = 1e6  # similarities are multiplied by this, and then rounded


def match_largest_sum(
    pairs: pl.DataFrame, is_crowd: np.ndarray, ignored: np.ndarray, thresholds: np.ndarray, *, strict: bool
) -> pl.DataFrame:
    """Assign detections to annotations one to one, so that the sum of round(1e6 similarity) is as large as possible.

    Only pairs that reach the threshold can match. Annotations compete in the same way, whether they count or not, so the
    matches are the same in all slices. Scores do not matter. Of equal sums, the one with more pairs wins, then the one with
    better ranked detections; the reference leaves this open.

    Arguments and result, in the order of `detection`, are described in `apframe.matching.assignments`.

    Source: `HungarianMatcher` of waymo-open-dataset.

    Raises
    ------
    ParameterError
        SciPy is not installed, and some detections compete for several annotations

    >>> pairs = pl.DataFrame({"detection": [0, 0, 1], "annotation": [0, 1, 0], "similarity": [0.8, 0.7, 0.75]})
    >>> match_largest_sum(pairs, np.zeros(2, dtype=bool), np.zeros((1, 2), dtype=bool), np.array([0.5]),
    ...                   strict=False).select("detection", "annotation").rows()
    [(0, 1), (1, 0)]
    """
    del is_crowd, ignored
    pairs = pairs.select("detection", "annotation", "similarity").sort("detection", "annotation")
    detection, annotation, similarity = (pairs[name].to_numpy() for name in pairs.columns)
    reach = count_reached(similarity, thresholds, strict=strict)
    row, _, threshold = expand(np.flatnonzero(reach > 0), reach, 1)
    sparse = import_optional("scipy.sparse", "matching by the largest sum needs SciPy", "scipy", "optimal")
    matched = solve(threshold, detection[row], annotation[row], np.rint(_DIGITS * similarity[row]), sparse)
    row, threshold = row[matched], threshold[matched]
    assigned = pairs[row].with_columns(
        pl.lit(EVERY_SLICE, pl.Int16).alias("slice"),
        pl.Series("first", threshold, dtype=pl.UInt16),
        pl.Series("last", threshold + 1, dtype=pl.UInt16),
        is_repeat=False,
    )
    return assigned.sort("detection", "first")
