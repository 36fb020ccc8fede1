"""Matching by score: each detection, best score first, takes the best annotation that is still free (COCO)."""

from __future__ import annotations

import numpy as np
import polars as pl

from apframe.matching.reached import count_reached, reached_before

EVERY_SLICE = -1  # an assignment that holds in all slices of the objects alike


def match_by_score(
    pairs: pl.DataFrame, is_crowd: np.ndarray, ignored: np.ndarray, thresholds: np.ndarray, *, strict: bool = False
) -> pl.DataFrame:
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
        ascending
    strict
        whether a similarity must be greater than a threshold, or at least equal to it (see `count_reached`)

    Returns
    -------
    `detection`, `annotation`, `similarity`, `slice` (its number, or -1 where it holds in every slice), `first` and
    `last`: the assignment holds at thresholds number first, first + 1, ... last - 1; `is_repeat` (false, see
    `match_by_best_overlap`). In the order of `detection`.

    Source: `COCOeval.evaluateImg`.

    >>> pairs = pl.DataFrame({"detection": [0, 1], "annotation": [0, 0], "similarity": [0.6, 0.8]})
    >>> match_by_score(pairs, np.array([False]), np.array([[False]]), np.array([0.5, 0.75])).select(
    ...     "detection", "annotation", "first", "last").rows()
    [(0, 0, 0, 1), (1, 0, 1, 2)]
    """
    detection, annotation, similarity = (pairs[name].to_numpy() for name in ("detection", "annotation", "similarity"))
    # by annotation, its best ranked rival first
    by_annotation = np.argsort((annotation.astype(np.int64) << 32) | detection)
    detection, annotation, similarity = detection[by_annotation], annotation[by_annotation], similarity[by_annotation]
    reach = count_reached(similarity, thresholds, strict=strict)

    contested = find_contested(pairs, len(is_crowd))[by_annotation]
    start = np.where(is_crowd[annotation], 0, reached_before(annotation, reach))
    simple = np.flatnonzero(~contested & (start < reach))
    rows, slices, first, last = _settle(
        np.flatnonzero(contested & (reach > 0)), detection, annotation, similarity, reach, is_crowd, ignored
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
            "last": np.concatenate([reach[simple], last]).astype(np.uint16)[in_order],
            "is_repeat": np.zeros(len(row), dtype=bool),
        }
    )


def find_contested(pairs: pl.DataFrame, n_annotations: int) -> np.ndarray:
    """One flag per pair: whether a rival for its annotation, or its detection, has another candidate."""
    detection, annotation = pairs["detection"].to_numpy(), pairs["annotation"].to_numpy()
    has_choice = np.bincount(detection)[detection] > 1 if len(detection) else np.zeros(0, dtype=bool)
    in_conflict = np.zeros(n_annotations, dtype=bool)
    in_conflict[annotation[has_choice]] = True
    return in_conflict[annotation]


def _settle(
    pair: np.ndarray,
    detection: np.ndarray,
    annotation: np.ndarray,
    similarity: np.ndarray,
    reach: np.ndarray,
    is_crowd: np.ndarray,
    ignored: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The stable matching of some of the pairs: pair, slice, first and last threshold of every assignment."""
    # a detection's candidates stand together, the most similar one on top, of equal ones the later annotation
    pair = pair[np.lexsort((-annotation[pair].astype(np.int64), -similarity[pair], detection[pair]))]
    if not len(pair):
        return pair, pair, pair, pair
    detection, annotation, reach = detection[pair], annotation[pair], reach[pair]
    target = np.unique(annotation, return_inverse=True)[1]
    first_rows = np.flatnonzero(np.diff(detection, prepend=np.int64(-1)) != 0)
    taken = is_crowd[annotation], target, detection, reach
    # where no detection chooses between an annotation that counts and one that does not, all slices are alike
    flags = ignored[:, annotation]
    has_both = np.logical_or.reduceat(flags, first_rows, axis=1) & np.logical_or.reduceat(~flags, first_rows, axis=1)
    chooses = np.repeat(has_both.any(axis=0), np.diff(first_rows, append=len(pair)))
    differs = _spread(chooses, np.cumsum(np.diff(detection, prepend=np.int64(-1)) != 0) - 1, target)

    alike, apart = np.flatnonzero(~differs), np.flatnonzero(differs)
    row, _, first, last = _settle_slices(alike[None, :], *taken)
    # ignored candidates come after the others
    behind = np.argsort(detection[apart] * np.int64(2) + flags[:, apart], axis=1, kind="stable")
    more = _settle_slices(apart[behind], *taken)
    slices = np.concatenate([np.full(len(row), EVERY_SLICE), more[1]])
    rows, first, last = (np.concatenate(parts) for parts in ((row, more[0]), (first, more[2]), (last, more[3])))
    return pair[rows], slices, first, last


def _spread(flags: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Flags of pairs, and of all that hang together with a flagged one by shared ends, however far.

    >>> _spread(np.array([True, False, False]), np.array([0, 1, 2]), np.array([0, 0, 1])).tolist()
    [True, True, False]
    """
    if not flags.any():
        return flags
    label = np.arange(len(flags))
    while True:
        before = label
        for ends in (left, right):
            least = np.full(int(ends.max()) + 1, len(flags))
            np.minimum.at(least, ends, label)
            label = least[ends]
        label = label[label]  # labels are pairs, whose own labels are closer to the end
        if np.array_equal(label, before):
            break
    touched = np.zeros(len(flags), dtype=bool)
    touched[label[flags]] = True
    return touched[label]


def _settle_slices(
    rows: np.ndarray, is_crowd: np.ndarray, target: np.ndarray, rank: np.ndarray, reach: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The stable matching in some slices: row, slice, first and last threshold of every assignment.

    `rows` has those of each slice in the order of rank and preference.
    """
    n_thresholds = int(reach.max(initial=0))
    slices, threshold, place = np.nonzero(reach[rows][:, None, :] > np.arange(n_thresholds)[:, None])
    problem = slices * n_thresholds + threshold
    row = rows[slices, place]
    wins = _settle_in_rounds(problem, rank[row], target[row], is_crowd[row])
    # thresholds that follow one another are one assignment
    step = n_thresholds + 1
    held = np.sort((slices[wins] * len(reach) + row[wins]) * step + threshold[wins])
    starts = np.flatnonzero(np.diff(held, prepend=-2) != 1)
    first, number = held[starts] % step, held[starts] // step
    return number % len(reach), number // len(reach), first, first + np.diff(starts, append=len(held))


def _settle_in_rounds(problem: np.ndarray, rank: np.ndarray, target: np.ndarray, is_crowd: np.ndarray) -> np.ndarray:
    """Which of the rows are chosen, each problem on its own; rows come by problem, rank and preference."""
    proposer = np.cumsum((np.diff(problem, prepend=-1) != 0) | (np.diff(rank, prepend=np.int64(-1)) != 0))
    aim = problem * (int(target.max(initial=0)) + 1) + target
    row, chosen = np.arange(len(problem)), [np.arange(0)]
    best_ranked = np.empty(int(aim.max(initial=-1)) + 1, dtype=np.int64)
    is_taken, is_placed = np.zeros(len(best_ranked), dtype=bool), np.zeros(len(problem) + 1, dtype=bool)
    while len(row):
        best_ranked[aim[row[::-1]]] = row[::-1]  # the first of its rows is written last
        is_favourite = np.diff(proposer[row], prepend=-1) != 0
        wins = row[is_favourite & (is_crowd[row] | (best_ranked[aim[row]] == row))]
        chosen.append(wins)
        is_placed[proposer[wins]] = True
        is_taken[aim[wins[~is_crowd[wins]]]] = True
        row = row[~(is_placed[proposer[row]] | is_taken[aim[row]])]
    return np.concatenate(chosen)
