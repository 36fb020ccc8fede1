"""Matching by best overlap: each detection considers only the annotation that it overlaps most (VOC, Open Images)."""

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

    A detection's best annotation (of equal ones, the first) depends on neither threshold nor slice. If that annotation is
    ignored, every detection that reaches it is assigned to it, and thereby ignored. If it counts, the best ranked detection
    that reaches it is assigned to it; the others remain unassigned, and do not try another annotation.

    Crowds (group-of boxes) are matched separately: a detection that is assigned to nothing else at a threshold tries its
    most similar crowd (of equal ones, the first).

    If pairs have a column `is_fallback`, detections that are assigned to nothing else at a threshold try the flagged pairs:
    see `_match_with_fallback`.

    Arguments and result, in the order of `detection`, are described in `apframe.matching.assignments`. In addition:

    Parameters
    ----------
    count_groups
        whether the best ranked detection assigned to each crowd is a true positive; the others are `is_repeat`. If False,
        crowds must be flagged in `ignored`.

    Source: `voc_eval` of py-faster-rcnn, which is strict (`VOCevaldet` of the VOC development kit is not); for crowds,
    `PerImageEvaluation` of the TensorFlow Object Detection API, which is not strict.

    >>> pairs = pl.DataFrame({"detection": [0, 1, 1], "annotation": [0, 0, 1], "similarity": [0.6, 0.8, 0.7]})
    >>> match_by_best_overlap(pairs, np.array([False, False]), np.array([[False, False]]), np.array([0.5, 0.75]),
    ...                       strict=False, count_groups=False).select("detection", "annotation", "first", "last").rows()
    [(0, 0, 0, 1), (1, 0, 1, 2)]
    """
    if "is_fallback" in pairs.columns:
        return _match_with_fallback(pairs, is_crowd, ignored, thresholds, strict=strict, count_groups=count_groups)
    pairs = pairs.select("detection", "annotation", "similarity")
    detection, annotation, similarity = (pairs[name].to_numpy() for name in pairs.columns)
    reach = count_reached(similarity, thresholds, strict=strict)
    of_crowd = is_crowd[annotation]

    row = find_best(np.flatnonzero(~of_crowd), detection, annotation, similarity)
    # by annotation, its best ranked rival first
    row = row[np.argsort((annotation[row].astype(np.int64) << 32) | detection[row])]
    # number of thresholds at which a better ranked detection has the annotation, if it counts
    n_taken = np.minimum(reached_before(annotation[row], reach[row]), reach[row])
    late = np.flatnonzero(n_taken)
    parts = [
        _hold(row, n_taken, reach[row]),
        _hold_in_some_slices(row[late], n_taken[late], ignored[:, annotation[row[late]]]),
    ]
    if of_crowd.any():
        n_detections = int(detection.max()) + 1
        single_of, reach_of, taken_of = np.zeros((3, n_detections), dtype=np.int64)
        single_of[detection[row]], reach_of[detection[row]], taken_of[detection[row]] = annotation[row], reach[row], n_taken
        crowd = find_best(np.flatnonzero(of_crowd), detection, annotation, similarity)
        left_over = np.minimum(taken_of[detection[crowd]], reach[crowd])
        late = np.flatnonzero(left_over)
        tries = pl.concat([
            _hold(crowd, reach_of[detection[crowd]], reach[crowd]),
            _hold_in_some_slices(crowd[late], left_over[late], ~ignored[:, single_of[detection[crowd[late]]]]),
        ])  # fmt: skip
        parts.append(_flag_repeats(tries, detection, annotation, len(ignored)) if count_groups else tries)
    assigned = pl.concat(parts)
    return (
        pl.concat([pairs[assigned["pair"]], assigned.drop("pair")], how="horizontal")
        .sort("detection", "slice", "first")
    )  # fmt: skip


def _match_with_fallback(
    pairs: pl.DataFrame, is_crowd: np.ndarray, ignored: np.ndarray, thresholds: np.ndarray, *, strict: bool, count_groups: bool
) -> pl.DataFrame:
    """Match as `match_by_best_overlap`: first the other pairs, then the `is_fallback` pairs of the detections left over.

    Fallback annotations do not count. Still, each one that is no crowd is assigned to one detection only, and other
    detections go on to the crowds. The detections left over differ between thresholds and slices.

    >>> pairs = pl.DataFrame({"detection": [0, 0, 1, 2], "annotation": [0, 1, 1, 1], "similarity": [0.6, 0.9, 0.8, 0.7],
    ...     "is_fallback": [False, True, True, True]})
    >>> match_by_best_overlap(pairs, np.array([False, False]), np.array([[False, True]]), np.array([0.5]), strict=False,
    ...                       count_groups=False).select("detection", "annotation").rows()
    [(0, 0), (1, 1)]
    """
    at_once, later = pairs.filter(~pl.col("is_fallback")).drop("is_fallback"), pairs.filter("is_fallback").drop("is_fallback")
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
    """Return the given pairs of each detection with its most similar annotation, the first of several equal ones.

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
    """Return the assignments of pairs at thresholds first .. last - 1, if there are any; in all slices, or one each."""
    row = np.flatnonzero(first < last)
    number = np.full(len(row), EVERY_SLICE) if slices is None else slices[row]
    return pl.DataFrame(
        {"pair": pair[row], "slice": number, "first": first[row], "last": last[row]},
        schema_overrides={"slice": pl.Int16, "first": pl.UInt16, "last": pl.UInt16},
    ).with_columns(is_repeat=False)


def _hold_in_some_slices(pair: np.ndarray, last: np.ndarray, where: np.ndarray) -> pl.DataFrame:
    """Return the assignments of pairs at thresholds 0 .. last - 1, in the flagged slices (flags: slices × pairs)."""
    everywhere = where.all(axis=0)
    slices, row = np.nonzero(where & ~everywhere)
    return pl.concat([
        _hold(pair[everywhere], np.zeros_like(last[everywhere]), last[everywhere]),
        _hold(pair[row], np.zeros_like(row), last[row], slices),
    ])  # fmt: skip


def _flag_repeats(tries: pl.DataFrame, detection: np.ndarray, annotation: np.ndarray, n_slices: int) -> pl.DataFrame:
    """Flag, at each threshold on its own, assignments to a crowd that a better ranked detection is assigned to as well.

    If one of a crowd's assignments holds in some slices only, all of them are split by slice.
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
