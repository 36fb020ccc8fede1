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
    pairs = pairs.sort("annotation", "detection")
    detection, annotation = pairs["detection"].to_numpy(), pairs["annotation"].to_numpy()
    similarity = pairs["similarity"].to_numpy()
    # thresholds number 0 .. reach - 1 are reached by the pair
    reach = np.searchsorted(np.minimum(thresholds, 1 - 1e-10), similarity, side="right")

    has_choice = np.bincount(detection)[detection] > 1 if len(detection) else np.zeros(0, dtype=bool)
    in_conflict = np.zeros(len(is_crowd), dtype=bool)
    in_conflict[annotation[has_choice]] = True
    settled = ~in_conflict[annotation]

    start = np.where(is_crowd[annotation], 0, _best_before(annotation, reach))
    simple = pairs.with_columns(
        slice=pl.lit(EVERY_SLICE, pl.Int16), first=pl.Series(start, dtype=pl.UInt16), last=pl.Series(reach, dtype=pl.UInt16)
    ).filter(pl.Series(settled) & (pl.col("first") < pl.col("last")))
    if settled.all():
        return simple.sort("detection")
    contested = pairs.with_columns(reach=reach).filter(~pl.Series(settled))
    return pl.concat([simple, _settle_in_rounds(contested, is_crowd, ignored, len(thresholds))]).sort("detection")


def _best_before(group: np.ndarray, value: np.ndarray) -> np.ndarray:
    """The largest value of the rows before this one in its group (0 for the first); groups stand together."""
    step = int(value.max(initial=0)) + 1
    base = np.cumsum(np.diff(group, prepend=group[:1]) != 0) * step
    running = np.maximum.accumulate(base + value)
    before = np.concatenate([[0], running[:-1]]) if len(running) else running
    return np.maximum(before - base, 0)


def _settle_in_rounds(pairs: pl.DataFrame, is_crowd: np.ndarray, ignored: np.ndarray, n_thresholds: int) -> pl.DataFrame:
    """The stable matching of pairs with `reach`, each slice and threshold on its own."""
    flags = pl.DataFrame({"slice": np.arange(len(ignored), dtype=np.int16), "ignored": ignored}).explode("ignored")
    flags = flags.with_columns(annotation=pl.int_range(pl.len(), dtype=pl.UInt32) % ignored.shape[1])
    open_pairs = (
        pairs.lazy()
        .join(flags.lazy(), on="annotation")
        .with_columns(first=pl.int_ranges(0, pl.col("reach"), dtype=pl.UInt16))
        .explode("first")
        # from here on, a detection's candidates stand together, the best one on top
        .sort("slice", "first", "detection", "ignored", "similarity", "annotation",
              descending=[False, False, False, False, True, True])
        .with_columns(problem=pl.col("slice").cast(pl.Int64) * n_thresholds + pl.col("first"))
        .collect()
    )
    problem, detection = open_pairs["problem"].to_numpy(), open_pairs["detection"].to_numpy().astype(np.int64)
    annotation = open_pairs["annotation"].to_numpy().astype(np.int64)
    # who proposes, and what is proposed to, each within its own problem, as dense numbers
    _, proposer = np.unique(problem * (detection.max() + 1) + detection, return_inverse=True)
    _, target = np.unique(problem * len(is_crowd) + annotation, return_inverse=True)
    crowd = is_crowd[annotation]

    row = np.arange(len(problem))
    chosen = []
    while len(row):
        best_ranked = np.full(target.max() + 1, np.iinfo(np.int64).max)
        np.minimum.at(best_ranked, target[row], detection[row])
        is_favourite = np.diff(proposer[row], prepend=-1) != 0
        wins = row[is_favourite & (crowd[row] | (best_ranked[target[row]] == detection[row]))]
        chosen.append(wins)
        is_placed = np.zeros(proposer.max() + 1, dtype=bool)
        is_placed[proposer[wins]] = True
        is_taken = np.zeros(target.max() + 1, dtype=bool)
        is_taken[target[wins[~crowd[wins]]]] = True
        row = row[~(is_placed[proposer[row]] | is_taken[target[row]])]
    return open_pairs[np.concatenate(chosen)].select(
        "detection", "annotation", "similarity", "slice", "first", last=pl.col("first") + 1
    )
