"""Matching by score: each detection, best score first, takes the best annotation that is still free (COCO)."""

from __future__ import annotations

import numpy as np
import polars as pl

EVERY_SLICE = -1  # an assignment that holds in all slices of the objects alike


def match_by_score(pairs: pl.DataFrame, is_crowd: np.ndarray, ignored: np.ndarray, thresholds: np.ndarray) -> pl.DataFrame:
    """Assign detections to annotations, for all thresholds and all slices of the objects (area ranges) at once.

    COCO walks the detections of an image and category by descending score; each takes, among the annotations that are
    free and similar enough, one that is not ignored before one that is, then the most similar, then the later one.
    A crowd is always free. So all annotations rank detections alike, by score, and there is exactly one stable matching.
    It is found in two steps:

    1. Where every rival for an annotation has no other candidate, the matching is known at once: a detection has the
       annotation at the thresholds that it reaches and no better ranked rival does. That holds in all slices.
    2. The few others settle in rounds: a detection takes its best remaining annotation if it is the best ranked of all
       that could still have it; both leave; and so on until none remain.

    Parameters
    ----------
    pairs
        columns `detection` (row numbers in the order of `order_detections`: lower is better ranked), `annotation` (row
        numbers) and `similarity`
    is_crowd
        one flag per annotation
    ignored
        flags of shape (slices, annotations)
    thresholds
        ascending; a detection may match at a threshold if its similarity is at least that

    Returns
    -------
    `detection`, `annotation`, `similarity`, `slice` (its number, or -1 where it holds in every slice), `first` and
    `last`: the assignment holds at thresholds number first, first + 1, ... last - 1. In the order of `detection`.

    Source: `COCOeval.evaluateImg`, which compares with `min(t, 1 - 1e-10)`.

    >>> pairs = pl.DataFrame({"detection": [0, 1], "annotation": [0, 0], "similarity": [0.6, 0.8]})
    >>> match_by_score(pairs, np.array([False]), np.array([[False]]), np.array([0.5, 0.75])).select(
    ...     "detection", "annotation", "first", "last").rows()
    [(0, 0, 0, 1), (1, 0, 1, 2)]
    """
    detection, annotation, similarity = (pairs[name].to_numpy() for name in ("detection", "annotation", "similarity"))
    # by annotation, its best ranked rival first
    by_annotation = np.argsort((annotation.astype(np.int64) << 32) | detection)
    detection, annotation, similarity = detection[by_annotation], annotation[by_annotation], similarity[by_annotation]
    # thresholds number 0 .. reach - 1 are reached by the pair
    reach = np.searchsorted(np.minimum(thresholds, 1 - 1e-10), similarity, side="right")

    contested = find_contested(pairs, len(is_crowd))[by_annotation]
    start = np.where(is_crowd[annotation], 0, _best_before(annotation, reach))
    simple = np.flatnonzero(~contested & (start < reach))
    rows, slices, first = _settle_in_rounds(
        np.flatnonzero(contested), detection, annotation, similarity, reach, is_crowd, ignored
    )
    row = np.concatenate([simple, rows])
    in_order = np.argsort(detection[row], kind="stable")
    row = row[in_order]
    return pl.DataFrame(
        {
            "detection": detection[row],
            "annotation": annotation[row],
            "similarity": similarity[row],
            "slice": np.concatenate([np.full(len(simple), EVERY_SLICE), slices]).astype(np.int16)[in_order],
            "first": np.concatenate([start[simple], first]).astype(np.uint16)[in_order],
            "last": np.concatenate([reach[simple], first + 1]).astype(np.uint16)[in_order],
        }
    )


def find_contested(pairs: pl.DataFrame, n_annotations: int) -> np.ndarray:
    """One flag per pair: whether a rival for its annotation, or its detection, has another candidate."""
    detection, annotation = pairs["detection"].to_numpy(), pairs["annotation"].to_numpy()
    has_choice = np.bincount(detection)[detection] > 1 if len(detection) else np.zeros(0, dtype=bool)
    in_conflict = np.zeros(n_annotations, dtype=bool)
    in_conflict[annotation[has_choice]] = True
    return in_conflict[annotation]


def _best_before(group: np.ndarray, value: np.ndarray) -> np.ndarray:
    """The largest value of the rows before this one in its group (0 for the first); groups stand together."""
    step = int(value.max(initial=0)) + 1
    base = np.cumsum(np.diff(group, prepend=group[:1]) != 0) * step
    running = np.maximum.accumulate(base + value)
    before = np.concatenate([[0], running[:-1]]) if len(running) else running
    return np.maximum(before - base, 0)


def _settle_in_rounds(
    pair: np.ndarray,
    detection: np.ndarray,
    annotation: np.ndarray,
    similarity: np.ndarray,
    reach: np.ndarray,
    is_crowd: np.ndarray,
    ignored: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The stable matching of some of the pairs, each slice and threshold on its own: pair, slice and threshold numbers."""
    # one row for each slice and each threshold that the pair reaches
    pair, slices = np.tile(pair, len(ignored)), np.repeat(np.arange(len(ignored)), len(pair))
    n_reached = reach[pair]
    threshold = np.arange(n_reached.sum()) - np.repeat(np.cumsum(n_reached) - n_reached, n_reached)
    pair, slices = np.repeat(pair, n_reached), np.repeat(slices, n_reached)
    problem = slices * (int(reach.max(initial=0)) + 1) + threshold
    # a detection's candidates stand together, the best one on top
    preference = (-annotation[pair].astype(np.int64), -similarity[pair], ignored[slices, annotation[pair]])
    best_first = np.lexsort((*preference, detection[pair], problem))
    pair, slices, threshold, problem = pair[best_first], slices[best_first], threshold[best_first], problem[best_first]

    # who proposes, and what is proposed to, each within its own problem, as dense numbers
    rank, crowd = detection[pair], is_crowd[annotation[pair]]
    proposer = np.cumsum((np.diff(problem, prepend=-1) != 0) | (np.diff(rank, prepend=0) != 0))
    target = np.unique(problem * len(is_crowd) + annotation[pair], return_inverse=True)[1]
    row, chosen = np.arange(len(pair)), [np.arange(0)]
    while len(row):
        best_ranked = np.full(len(pair), np.iinfo(rank.dtype).max, dtype=rank.dtype)
        np.minimum.at(best_ranked, target[row], rank[row])
        is_favourite = np.diff(proposer[row], prepend=-1) != 0
        wins = row[is_favourite & (crowd[row] | (best_ranked[target[row]] == rank[row]))]
        chosen.append(wins)
        is_placed = np.zeros(len(pair) + 1, dtype=bool)
        is_placed[proposer[wins]] = True
        is_taken = np.zeros(len(pair), dtype=bool)
        is_taken[target[wins[~crowd[wins]]]] = True
        row = row[~(is_placed[proposer[row]] | is_taken[target[row]])]
    settled = np.concatenate(chosen)
    return pair[settled], slices[settled], threshold[settled]
