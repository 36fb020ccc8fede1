"""Matching by similarity: the most similar pair is matched first, whatever its score (Detectron's proposal recall)."""

from __future__ import annotations

import numpy as np
import polars as pl

from apframe.matching.assignments import EVERY_SLICE, find_contested
from apframe.matching.order import number_within
from apframe.matching.reached import count_reached


def match_by_similarity(
    pairs: pl.DataFrame, is_crowd: np.ndarray, ignored: np.ndarray, thresholds: np.ndarray, *, strict: bool
) -> pl.DataFrame:
    """Assign detections to annotations, for all thresholds and all slices of the objects at once.

    In each slice, crowds and ignored annotations are left out first, so that no detection is lost to them. Then the most
    similar pair is matched, both leave, and so on; of equal pairs, the earlier annotation comes first, then the better ranked
    detection. Thresholds do not matter: a pair is assigned at all thresholds that it reaches. Pairs that reach none come last
    and take nothing from the others, so they may be absent.

    Both sides of a pair see the same order, so a pair that is the first of both its detection and its annotation can be
    matched at once, wherever it is among the others: all such pairs of the data set leave in one round. If no rival for an
    annotation has another candidate, there is nothing to resolve.

    Arguments and result, in the order of `detection`, are described in `apframe.matching.assignments`. In addition:

    Parameters
    ----------
    pairs
        every detection matters to the others, whatever its score: apply limits on detections before

    Source: `_evaluate_box_proposals` of detectron2.

    >>> pairs = pl.DataFrame({"detection": [0, 0, 1], "annotation": [0, 1, 0], "similarity": [0.6, 0.7, 0.8]})
    >>> match_by_similarity(pairs, np.array([False, False]), np.array([[False, False]]), np.array([0.5, 0.75]),
    ...                     strict=False).select("detection", "annotation", "first", "last").rows()
    [(0, 1, 0, 1), (1, 0, 0, 2)]
    """
    pairs = pairs.select("detection", "annotation", "similarity").with_columns(
        last=pl.Series(count_reached(pairs["similarity"].to_numpy(), thresholds, strict=strict), dtype=pl.UInt16)
    )
    can_count: np.ndarray = ~(is_crowd | ignored.all(axis=0))
    pairs = pairs.filter((pl.col("last") > 0) & can_count[pairs["annotation"].to_numpy()])
    pairs = pairs.sort("similarity", "annotation", "detection", descending=[True, False, False])
    detection, annotation = pairs["detection"].to_numpy(), pairs["annotation"].to_numpy()
    is_contested = find_contested(pairs, len(is_crowd))
    contested = np.flatnonzero(is_contested)

    simple = np.flatnonzero(~is_contested)
    simple = simple[np.unique(annotation[simple], return_index=True)[1]]
    in_all = ~ignored[:, annotation[simple]].any(axis=0)
    some = simple[~in_all]
    slices, at = np.nonzero(~ignored[:, annotation[some]])
    contested_slices, place = np.nonzero(~ignored[:, annotation[contested]])
    settled = _settle_in_rounds(contested_slices, detection[contested[place]], annotation[contested[place]])

    row = np.concatenate([simple[in_all], some[at], contested[place[settled]]])
    number = np.concatenate([np.full(in_all.sum(), EVERY_SLICE), slices, contested_slices[settled]])
    assigned = pairs[row].select(
        "detection", "annotation", "similarity", pl.Series("slice", number, dtype=pl.Int16),
        pl.lit(0, pl.UInt16).alias("first"), "last", pl.lit(False).alias("is_repeat"),
    )  # fmt: skip
    return assigned.sort("detection", "slice")


def _settle_in_rounds(slices: np.ndarray, detection: np.ndarray, annotation: np.ndarray) -> np.ndarray:
    """Return the matched rows: in each slice, match the first row, drop others of its detection and annotation, and repeat."""
    taker, target = number_within(slices, detection), number_within(slices, annotation)
    row, rounds = np.arange(len(slices)), [np.arange(0)]
    first_of_taker, first_of_target = np.empty_like(row), np.empty_like(row)
    while len(row):
        # the last value written stays, so the first row of each is written last
        first_of_taker[taker[row[::-1]]] = row[::-1]
        first_of_target[target[row[::-1]]] = row[::-1]
        wins = row[(first_of_taker[taker[row]] == row) & (first_of_target[target[row]] == row)]
        rounds.append(wins)
        is_gone = np.zeros((2, len(taker)), dtype=bool)
        is_gone[0, taker[wins]] = is_gone[1, target[wins]] = True
        row = row[~(is_gone[0, taker[row]] | is_gone[1, target[row]])]
    return np.concatenate(rounds)
