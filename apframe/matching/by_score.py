"""Matching by score: each detection, best score first, takes the best annotation that is still free (COCO)."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import polars as pl

from apframe.matching.assignments import EVERY_SLICE, find_contested
from apframe.matching.order import place_within
from apframe.matching.reached import count_reached, reached_before


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
    2. The few others are walked as COCO does, but all images, thresholds and slices side by side: first the best ranked
       detection of each, then the second one, and so on.

    Takes and gives what `apframe.matching.assignments` says, in the order of `detection`.

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
    n_candidates = np.diff(first_rows, append=len(pair))
    part = connect(np.repeat(np.arange(len(first_rows)), n_candidates), target)
    place = np.repeat(place_within(part[first_rows]), n_candidates)
    # where no detection chooses between an annotation that counts and one that does not, all slices are alike
    flags = ignored[:, annotation]
    has_both = np.logical_or.reduceat(flags, first_rows, axis=1) & np.logical_or.reduceat(~flags, first_rows, axis=1)
    differs = np.zeros(len(pair), dtype=bool)
    differs[part[first_rows[has_both.any(axis=0)]]] = True
    differs = differs[part]

    of_pairs = is_crowd[annotation], target, detection, place, reach
    alike, apart = np.flatnonzero(~differs), np.flatnonzero(differs)
    row, _, first, last = _settle_slices(alike[None, :], *of_pairs)
    # ignored candidates come after the others
    behind = np.argsort(detection[apart] * np.int64(2) + flags[:, apart], axis=1, kind="stable")
    more = _settle_slices(apart[behind], *of_pairs)
    slices = np.concatenate([np.full(len(row), EVERY_SLICE), more[1]])
    rows, first, last = (np.concatenate(parts) for parts in ((row, more[0]), (first, more[2]), (last, more[3])))
    return pair[rows], slices, first, last


def connect(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """A number for each pair, that of one of the pairs: the same for all that hang together by shared ends, however far.

    >>> connect(np.array([0, 1, 2]), np.array([0, 0, 1])).tolist()
    [0, 0, 2]
    """
    part = np.arange(len(left))
    while True:
        before = part
        for ends in (left, right):
            least = np.full(int(ends.max(initial=0)) + 1, len(left))
            np.minimum.at(least, ends, part)
            part = least[ends]
        part = part[part]  # parts are numbered by pairs, whose own parts are closer to the end
        if np.array_equal(part, before):
            return part


def _settle_slices(
    rows: np.ndarray, is_crowd: np.ndarray, target: np.ndarray, detection: np.ndarray, place: np.ndarray, reach: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The stable matching in some slices: row, slice, first and last threshold of every assignment.

    `rows` has those of each slice in the order of detections and their preference. All parts are walked side by side, in all
    slices and at all thresholds: first the best ranked detection of each, then the second one, and so on by `place`.
    """
    n_thresholds, n_targets = int(reach.max(initial=0)), int(target.max(initial=0)) + 1
    slices, threshold, column = np.nonzero(reach[rows][:, None, :] > np.arange(n_thresholds)[:, None])
    row = rows[slices, column]
    by_place = np.argsort(place[row].astype(np.min_scalar_type(place.max(initial=0))), kind="stable")
    slices, threshold, row = slices[by_place], threshold[by_place], row[by_place]
    problem = slices * n_thresholds + threshold
    aim, taker = problem * n_targets + target[row], problem * (int(detection.max(initial=0)) + 1) + detection[row]
    many = is_crowd[row]
    is_taken, chosen = np.zeros(int(aim.max(initial=-1)) + 1, dtype=bool), [row[:0]]
    for begin, end in pairwise([0, *np.cumsum(np.bincount(place[row])).tolist()]):
        free = begin + np.flatnonzero(~is_taken[aim[begin:end]])
        best = free[np.diff(taker[free], prepend=-1) != 0]
        chosen.append(best)
        is_taken[aim[best[~many[best]]]] = True
    wins = np.concatenate(chosen)
    # thresholds that follow one another are one assignment
    step = n_thresholds + 1
    held = np.sort((slices[wins] * len(reach) + row[wins]) * step + threshold[wins])
    starts = np.flatnonzero(np.diff(held, prepend=-2) != 1)
    first, number = held[starts] % step, held[starts] // step
    return number % len(reach), number // len(reach), first, first + np.diff(starts, append=len(held))
