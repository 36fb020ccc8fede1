"""Matching that shares annotations: a detection matches every annotation that is similar enough."""

from __future__ import annotations

import numpy as np
import polars as pl

from apframe.matching.assignments import EVERY_SLICE
from apframe.matching.by_score import match_by_score
from apframe.matching.reached import count_reached


def match_shared(
    pairs: pl.DataFrame, is_crowd: np.ndarray, ignored: np.ndarray, thresholds: np.ndarray, *, strict: bool
) -> pl.DataFrame:
    """Assign detections to annotations: the best ranked detection of an annotation is its match, others are repeats.

    A detection that is similar enough to several annotations comes as that many copies (`expanded_from`), which follow each
    other in the ranking, so each takes another annotation, one that counts before one that is ignored. A detection without a
    free annotation that is similar enough to some is assigned to the most similar one as a repeat.

    Arguments and result are described in `apframe.matching.assignments`.

    Source: `evaluateCAD` of LUNA16's `noduleCADEvaluationLUNA16.py`.

    >>> pairs = pl.DataFrame({"detection": [0, 1, 2], "annotation": [0, 0, 1], "similarity": [-0.5, -0.1, -0.9]})
    >>> match_shared(pairs, np.zeros(2, dtype=bool), np.zeros((1, 2), dtype=bool), np.array([-1.0]), strict=True).select(
    ...     "detection", "annotation", "is_repeat").rows()
    [(0, 0, False), (1, 0, True), (2, 1, False)]
    """
    assigned = match_by_score(pairs, is_crowd, ignored, thresholds, strict=strict, first_of_equals=True)
    n_slices, n_thresholds = len(ignored), len(thresholds)
    in_pairs, place = np.unique(pairs["detection"].to_numpy(), return_inverse=True)
    if not len(in_pairs):
        return assigned
    # the most similar annotation of each, and the first of several
    order = np.lexsort((pairs["annotation"].to_numpy(), -pairs["similarity"].to_numpy(), place))
    best = order[np.unique(place[order], return_index=True)[1]]
    reach = count_reached(pairs["similarity"].to_numpy()[best], thresholds, strict=strict)
    is_free = np.arange(n_thresholds) < reach[:, None]
    is_free = np.repeat(is_free[None], n_slices, axis=0)  # slices, detections, thresholds
    at, slices, first, last = (assigned[name].to_numpy() for name in ("detection", "slice", "first", "last"))
    at = np.searchsorted(in_pairs, at)
    for t in range(n_thresholds):
        holds = (first <= t) & (t < last)
        everywhere = holds & (slices == EVERY_SLICE)
        is_free[:, at[everywhere], t] = False
        some = holds & (slices != EVERY_SLICE)
        is_free[slices[some], at[some], t] = False
    number, row, threshold = np.nonzero(is_free)
    repeats = pairs.select("detection", "annotation", "similarity")[best[row]].with_columns(
        pl.Series("slice", number, dtype=pl.Int16),
        pl.Series("first", threshold, dtype=pl.UInt16),
        pl.Series("last", threshold + 1, dtype=pl.UInt16),
        pl.lit(True).alias("is_repeat"),
    )
    return pl.concat([assigned, repeats.select(assigned.columns)]).sort("detection", "slice", "first")
