"""Matching by best overlap: each detection looks at the annotation it overlaps most, and at no other (VOC, Open Images)."""

from __future__ import annotations

from functools import partial

import numpy as np
import polars as pl

from apframe.matching.assignments import EVERY_SLICE
from apframe.matching.reached import count_reached, reached_before


def match_by_best_overlap(
    pairs: pl.DataFrame, is_crowd: np.ndarray, ignored: np.ndarray, thresholds: np.ndarray, *, strict: bool, count_groups: bool
) -> pl.DataFrame:
    """Assign detections to annotations, for all thresholds and all slices of the objects at once.

    A detection's best annotation (the first, where several are equal) depends on neither threshold nor slice. Where that
    annotation is ignored, every detection that reaches it is assigned, and thereby ignored. Where it counts, the best ranked
    detection that reaches it is assigned; the others are not, and do not try another annotation.

    Crowds (group-of boxes) stand apart: a detection that is assigned to nothing else at a threshold tries the crowd that it
    is most similar to (the first, where several are equal).

    Where pairs have a column `is_last`, those flagged are tried by the detections that are assigned to nothing else at a
    threshold: see `_match_last`.

    Takes and gives what `apframe.matching.assignments` says, in the order of `detection`. Beyond that:

    Parameters
    ----------
    count_groups
        whether one detection of each crowd is a true positive: the best ranked of those assigned to it; the others are
        `is_repeat`. Without it crowds are to be flagged in `ignored`.

    Source: `voc_eval` of py-faster-rcnn, which is strict (`VOCevaldet` of the VOC development kit is not); for crowds
    `PerImageEvaluation` of the TensorFlow Object Detection API, which is not.

    >>> pairs = pl.DataFrame({"detection": [0, 1, 1], "annotation": [0, 0, 1], "similarity": [0.6, 0.8, 0.7]})
    >>> match_by_best_overlap(pairs, np.array([False, False]), np.array([[False, False]]), np.array([0.5, 0.75]),
    ...                       strict=False, count_groups=False).select("detection", "annotation", "first", "last").rows()
    [(0, 0, 0, 1), (1, 0, 1, 2)]
    """
    if "is_last" in pairs.columns:
        return _match_last(pairs, is_crowd, ignored, thresholds, strict=strict, count_groups=count_groups)
    pairs = pairs.select("detection", "annotation", "similarity")
    detection, annotation, similarity = (pairs[name].to_numpy() for name in pairs.columns)
    reach = count_reached(similarity, thresholds, strict=strict)
    of_crowd = is_crowd[annotation]

    row = find_best(np.flatnonzero(~of_crowd), detection, annotation, similarity)
    # by annotation, its best ranked rival first
    row = row[np.argsort((annotation[row].astype(np.int64) << 32) | detection[row])]
    # at the first so many of the thresholds that a detection reaches, a better ranked one has the annotation if it counts
    taken = np.minimum(reached_before(annotation[row], reach[row]), reach[row])
    late = np.flatnonzero(taken)
    held = [
        _hold(row, taken, reach[row]),
        _hold_in_some_slices(row[late], taken[late], ignored[:, annotation[row[late]]]),
    ]
    if of_crowd.any():
        n_detections = int(detection.max()) + 1
        single_of, reach_of, taken_of = np.zeros((3, n_detections), dtype=np.int64)
        single_of[detection[row]], reach_of[detection[row]], taken_of[detection[row]] = annotation[row], reach[row], taken
        crowd = find_best(np.flatnonzero(of_crowd), detection, annotation, similarity)
        left_over = np.minimum(taken_of[detection[crowd]], reach[crowd])
        late = np.flatnonzero(left_over)
        tries = pl.concat([
            _hold(crowd, reach_of[detection[crowd]], reach[crowd]),
            _hold_in_some_slices(crowd[late], left_over[late], ~ignored[:, single_of[detection[crowd[late]]]]),
        ])  # fmt: skip
        held.append(_tell_repeats(tries, detection, annotation, len(ignored)) if count_groups else tries)
    assigned = pl.concat(held)
    return (
        pl.concat([pairs[assigned["pair"]], assigned.drop("pair")], how="horizontal")
        .sort("detection", "slice", "first")
    )  # fmt: skip


def _match_last(
    pairs: pl.DataFrame, is_crowd: np.ndarray, ignored: np.ndarray, thresholds: np.ndarray, *, strict: bool, count_groups: bool
) -> pl.DataFrame:
    """As `match_by_best_overlap`, first without the pairs that are `is_last`, then these of the detections that are left over.

    Annotations that are tried last do not count; each that is no crowd is assigned to one detection all the same, and another
    goes on to the crowds. Which detections are left over differs between thresholds and slices.

    >>> pairs = pl.DataFrame({"detection": [0, 0, 1, 2], "annotation": [0, 1, 1, 1], "similarity": [0.6, 0.9, 0.8, 0.7],
    ...     "is_last": [False, True, True, True]})
    >>> match_by_best_overlap(pairs, np.array([False, False]), np.array([[False, True]]), np.array([0.5]), strict=False,
    ...                       count_groups=False).select("detection", "annotation").rows()
    [(0, 0), (1, 1)]
    """
    at_once, later = pairs.filter(~pl.col("is_last")).drop("is_last"), pairs.filter("is_last").drop("is_last")
    parts = []
    for number, of_slice in enumerate(ignored):
        for first in range(len(thresholds)):
            match = partial(match_by_best_overlap, is_crowd=is_crowd, thresholds=thresholds[first : first + 1], strict=strict)
            assigned = match(at_once, ignored=of_slice[None], count_groups=count_groups)
            left_over = later.join(assigned, on="detection", how="anti", maintain_order="left")
            last = match(left_over, ignored=np.zeros_like(of_slice[None]), count_groups=False)
            where = EVERY_SLICE if len(ignored) == 1 else number
            parts += [
                each.with_columns(
                    slice=pl.lit(where, pl.Int16), first=pl.lit(first, pl.UInt16), last=pl.lit(first + 1, pl.UInt16)
                )
                for each in (assigned, last)
            ]
    return pl.concat(parts).sort("detection", "slice", "first")


def find_best(row: np.ndarray, detection: np.ndarray, annotation: np.ndarray, similarity: np.ndarray) -> np.ndarray:
    """Of some of the pairs, those of each detection's most similar annotation, the first of several.

    >>> find_best(np.array([0, 1, 2]), np.array([7, 7, 8]), np.array([1, 0, 0]), np.array([0.5, 0.5, 0.2])).tolist()
    [1, 2]
    """
    n_detections = int(detection.max(initial=0)) + 1
    best = np.full(n_detections, -np.inf)
    np.maximum.at(best, detection[row], similarity[row])
    row = row[similarity[row] == best[detection[row]]]
    first = np.full(n_detections, np.iinfo(annotation.dtype).max, dtype=annotation.dtype)
    np.minimum.at(first, detection[row], annotation[row])
    return row[annotation[row] == first[detection[row]]]


def _hold(pair: np.ndarray, first: np.ndarray, last: np.ndarray, slices: np.ndarray | None = None) -> pl.DataFrame:
    """Assignments of pairs at thresholds first .. last - 1, where there are any; in all slices, or one each."""
    row = np.flatnonzero(first < last)
    number = np.full(len(row), EVERY_SLICE) if slices is None else slices[row]
    return pl.DataFrame(
        {"pair": pair[row], "slice": number, "first": first[row], "last": last[row]},
        schema_overrides={"slice": pl.Int16, "first": pl.UInt16, "last": pl.UInt16},
    ).with_columns(is_repeat=False)


def _hold_in_some_slices(pair: np.ndarray, last: np.ndarray, where: np.ndarray) -> pl.DataFrame:
    """Assignments of pairs at thresholds 0 .. last - 1, in the slices given as flags of shape (slices, pairs)."""
    everywhere = where.all(axis=0)
    slices, row = np.nonzero(where & ~everywhere)
    return pl.concat([
        _hold(pair[everywhere], np.zeros_like(last[everywhere]), last[everywhere]),
        _hold(pair[row], np.zeros_like(row), last[row], slices),
    ])  # fmt: skip


def _tell_repeats(tries: pl.DataFrame, detection: np.ndarray, annotation: np.ndarray, n_slices: int) -> pl.DataFrame:
    """Each threshold on its own: whether a better ranked detection is assigned to the same crowd there.

    Where one of a crowd's assignments holds in some slices only, all of them are told apart by slice.
    """
    crowd = pl.Series("crowd", annotation[tries["pair"].to_numpy()])
    rank = pl.Series("rank", detection[tries["pair"].to_numpy()])
    everywhere = pl.int_ranges(0, n_slices, dtype=pl.Int16)
    is_shared = (pl.col("slice") == EVERY_SLICE) & (pl.col("slice").max() > EVERY_SLICE).over("crowd")
    return (
        tries.with_columns(crowd, rank, first=pl.int_ranges("first", "last", dtype=pl.UInt16))
        .with_columns(slice=pl.when(is_shared).then(everywhere).otherwise(pl.concat_list("slice")))
        .explode("slice")
        .explode("first")
        .with_columns(last=pl.col("first") + 1, is_repeat=pl.col("rank") > pl.col("rank").min().over("crowd", "slice", "first"))
        .select(tries.columns)
    )
