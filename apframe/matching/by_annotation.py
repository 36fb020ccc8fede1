"""Matching by annotation: each annotation, in file order, takes one free detection."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import polars as pl

from apframe.matching.assignments import EVERY_SLICE
from apframe.matching.by_score import connect
from apframe.matching.order import place_within
from apframe.matching.reached import count_reached


def match_by_annotation(
    pairs: pl.DataFrame, is_crowd: np.ndarray, ignored: np.ndarray, thresholds: np.ndarray, *, strict: bool
) -> pl.DataFrame:
    """Assign to each annotation the most similar free detection, among all detections.

    The annotations of an image and category take their turns in file order, ignored ones too. Each takes the most similar
    free detection that is not void (of equal ones, the first in the file), or the first void one if there is no other. In
    the end, the detections left over that are not void may match a crowd. A match with an ignored or void side uses up both
    and counts for nothing.

    Annotations that do not compete for a detection, directly or indirectly, do not wait for each other: the k-th annotations
    of all components have their turn at once.

    Arguments and result are described in `apframe.matching.assignments`. In addition:

    Parameters
    ----------
    pairs
        may also have `row` (the position of the detection in the file; by default its number), `ranges` (the slices in which
        the two can match, as bits; by default all) and `void` (the slices in which the detection is void; by default none)

    Source: `computeStatistics` of KITTI's `evaluate_object.cpp`.

    >>> pairs = pl.DataFrame({"detection": [0, 0, 1], "annotation": [0, 1, 1], "similarity": [0.6, 0.9, 0.7]})
    >>> match_by_annotation(pairs, np.zeros(2, dtype=bool), np.zeros((1, 2), dtype=bool), np.array([0.5]),
    ...                     strict=True).select("detection", "annotation").rows()
    [(0, 0), (1, 1)]
    """
    return _match(pairs, is_crowd, ignored, thresholds, strict=strict, by_score=False)


def match_best_scores(
    pairs: pl.DataFrame, is_crowd: np.ndarray, ignored: np.ndarray, thresholds: np.ndarray, *, strict: bool
) -> pl.DataFrame:
    """Assign to each annotation the sufficiently similar free detection with the best score.

    Void detections are treated like others, and crowds are left out. Score cut-offs are chosen from the scores of the true
    positives. For the rest see `match_by_annotation`.

    >>> pairs = pl.DataFrame({"detection": [0, 1], "annotation": [0, 0], "similarity": [0.6, 0.9]})
    >>> match_best_scores(pairs, np.array([False]), np.array([[False]]), np.array([0.5]),
    ...                   strict=True).select("detection", "annotation").rows()
    [(0, 0)]
    """
    return _match(pairs, is_crowd, ignored, thresholds, strict=strict, by_score=True)


def match_in_file_order(
    pairs: pl.DataFrame, is_crowd: np.ndarray, ignored: np.ndarray, thresholds: np.ndarray, *, strict: bool
) -> pl.DataFrame:
    """Assign detections to annotations by annotation, once, among all detections.

    The annotations of an image and category take their turns in file order, ignored ones too, so all slices have the same
    matches. Each takes the most similar free detection, of equal ones the best ranked. Detections left over are assigned to a
    crowd, and thereby ignored, if they have a pair with one, however small the similarity.

    Arguments and result are described in `apframe.matching.assignments`.

    Source: `TH14evalDet_Updated.m` of the THUMOS14 evaluation kit.

    >>> pairs = pl.DataFrame({"detection": [0, 1, 2], "annotation": [0, 0, 1], "similarity": [0.6, 0.9, 0.1]})
    >>> match_in_file_order(pairs, np.array([False, True]), np.array([[False, True]]), np.array([0.5]),
    ...                     strict=True).select("detection", "annotation").rows()
    [(1, 0), (2, 1)]
    """
    assigned = _match(pairs, is_crowd, ignored[:1], thresholds, strict=strict, by_score=False, touches=True)
    return assigned.with_columns(slice=pl.lit(EVERY_SLICE, pl.Int16))


def _match(
    pairs: pl.DataFrame,
    is_crowd: np.ndarray,
    ignored: np.ndarray,
    thresholds: np.ndarray,
    *,
    strict: bool,
    by_score: bool,
    touches: bool = False,
) -> pl.DataFrame:
    detection, annotation = (pairs[name].to_numpy().astype(np.int64) for name in ("detection", "annotation"))
    similarity = pairs["similarity"].to_numpy()
    place = pairs["row"].to_numpy() if "row" in pairs.columns else detection
    ranges, void = (
        pairs[name].to_numpy().astype(np.uint64) if name in pairs.columns else np.full(len(detection), default, np.uint64)
        for name, default in (("ranges", np.uint64(2**64 - 1)), ("void", np.uint64(0)))
    )
    reach = count_reached(similarity, thresholds, strict=strict)
    if touches:
        reach = np.where(is_crowd[annotation], len(thresholds), reach)
    # a row for each pair, slice and threshold
    pair = np.concatenate([np.flatnonzero(reach > t) for t in range(len(thresholds))])
    threshold = np.repeat(np.arange(len(thresholds)), [(reach > t).sum() for t in range(len(thresholds))])
    slices = np.repeat(np.arange(len(ignored)), len(pair))
    pair, threshold = np.tile(pair, len(ignored)), np.tile(threshold, len(ignored))
    takes_part = ranges[pair] >> slices.astype(np.uint64) & np.uint64(1) > 0
    pair, slices, threshold = pair[takes_part], slices[takes_part], threshold[takes_part]
    is_void = void[pair] >> slices.astype(np.uint64) & np.uint64(1) > 0
    problem = slices * len(thresholds) + threshold
    taker = problem * (int(detection.max(initial=0)) + 1) + detection[pair]
    of_crowd = is_crowd[annotation[pair]]

    row = np.flatnonzero(~of_crowd)
    turn = _turns(detection, annotation, len(is_crowd), ~is_crowd[annotation])[annotation[pair[row]]]
    preference: list[np.ndarray] = [detection[pair[row]]]
    if not by_score:
        preference = [place[pair[row]], np.where(is_void[row], 0, -similarity[pair[row]]), is_void[row]]
    row = row[np.lexsort((*preference, annotation[pair[row]], problem[row], turn))]
    target = problem[row] * len(is_crowd) + annotation[pair[row]]
    used = np.zeros(int(taker.max(initial=-1)) + 1, dtype=bool)
    chosen_rows = []
    for begin, end in pairwise([0, *np.cumsum(np.bincount(turn)).tolist()]):
        free = begin + np.flatnonzero(~used[taker[row[begin:end]]])
        first = row[free[np.diff(target[free], prepend=-1) != 0]]
        used[taker[first]] = True
        chosen_rows.append(first)
    if not by_score:
        crowd = np.flatnonzero(of_crowd & ~is_void & ~used[taker])
        crowd = crowd[np.lexsort((annotation[pair[crowd]], taker[crowd]))]
        chosen_rows.append(crowd[np.diff(taker[crowd], prepend=-1) != 0])
    winners = np.concatenate(chosen_rows) if chosen_rows else row[:0]
    winners = winners[np.lexsort((threshold[winners], slices[winners], detection[pair[winners]]))]
    return pairs.select("detection", "annotation", "similarity")[pair[winners]].with_columns(
        pl.Series("slice", slices[winners], dtype=pl.Int16),
        pl.Series("first", threshold[winners], dtype=pl.UInt16),
        pl.Series("last", threshold[winners] + 1, dtype=pl.UInt16),
        pl.Series("is_repeat", is_void[winners]),
    )


def _turns(detection: np.ndarray, annotation: np.ndarray, n_annotations: int, is_considered: np.ndarray) -> np.ndarray:
    """Return the turn of each annotation: its position, from 0, among its competitors through the flagged pairs."""
    part_of = np.full(n_annotations, -1)
    part_of[annotation[is_considered]] = connect(detection[is_considered], annotation[is_considered])
    in_parts = np.flatnonzero(part_of >= 0)
    turns = np.zeros(n_annotations, dtype=np.int64)
    turns[in_parts] = place_within(part_of[in_parts]) - 1
    return turns
