"""Matching by claims: each detection claims its nearest annotation, which accepts the best ranked claimant (Argoverse 2)."""

from __future__ import annotations

import numpy as np
import polars as pl

from apframe.matching.assignments import EVERY_SLICE
from apframe.matching.by_best_overlap import find_best
from apframe.matching.reached import count_reached


def match_by_claim(
    pairs: pl.DataFrame, is_crowd: np.ndarray, ignored: np.ndarray, thresholds: np.ndarray, *, strict: bool
) -> pl.DataFrame:
    """Assign detections to annotations, for all thresholds and all slices of the objects at once.

    A detection claims its most similar annotation (the first, if several are equal), however far away. If that annotation
    counts, only the best ranked of its claimants can be assigned, at the thresholds that it reaches: a claimant that is too far
    away blocks the annotation for the others. If it is ignored, every claimant is assigned at the thresholds that it reaches.
    Crowds are annotations like any other.

    `apframe.matching.assignments` describes arguments and result, which is in the order of `detection`. A pair that reaches no
    threshold must be included if it is the most similar one of its detection.

    Source: `assign` of av2-api, `evaluation/detection/utils.py`.

    >>> pairs = pl.DataFrame({"detection": [0, 1], "annotation": [0, 0], "similarity": [-9.0, -0.1]})
    >>> match_by_claim(pairs, np.array([False]), np.array([[False]]), np.array([-2.0]), strict=True).height
    0
    """
    del is_crowd
    pairs = pairs.select("detection", "annotation", "similarity")
    detection, annotation, similarity = (pairs[name].to_numpy() for name in pairs.columns)
    row = find_best(np.arange(len(detection)), detection, annotation, similarity)
    row = row[np.lexsort((detection[row], annotation[row]))]
    is_accepted = np.diff(annotation[row].astype(np.int64), prepend=-1) != 0
    reach = count_reached(similarity[row], thresholds, strict=strict)
    is_near = reach > 0
    first, other = row[is_accepted & is_near], row[~is_accepted & is_near]
    flags = ignored[:, annotation[other]]
    everywhere = flags.all(axis=0)
    slices, late = np.nonzero(flags & ~everywhere)
    held = np.concatenate([first, other[everywhere], other[late]])
    return (
        pairs[held]
        .with_columns(
            pl.Series("slice", np.append(np.full(len(held) - len(late), EVERY_SLICE), slices), dtype=pl.Int16),
            pl.lit(0, pl.UInt16).alias("first"),
            pl.Series("last", count_reached(similarity[held], thresholds, strict=strict), dtype=pl.UInt16),
            is_repeat=False,
        )
        .sort("detection", "slice")
    )
