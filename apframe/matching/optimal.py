"""Optimal matching: the largest total similarity, whatever the scores; requires SciPy, from the extra `optimal`."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

from apframe.exceptions import import_optional
from apframe.matching.assignments import EVERY_SLICE, find_contested
from apframe.matching.order import number_within, place_within
from apframe.matching.reached import count_reached

# Totals closer than this for each pair are ties. It is far above rounding errors, and far below differences that matter.
TIE = 2.0**-30
# the solver's time grows with the square of its rows, so it gets blocks of rows
ROWS_AT_A_TIME = 512


def match_optimally(
    pairs: pl.DataFrame, is_crowd: np.ndarray, ignored: np.ndarray, thresholds: np.ndarray, *, strict: bool
) -> pl.DataFrame:
    """Assign detections to annotations one to one, separately for each slice of the objects and each threshold.

    1. Among the pairs that reach the threshold, detections are assigned to annotations that count (neither ignored nor
       crowd) so that the total similarity is as large as possible.
    2. Detections left over are assigned to ignored annotations in the same way.
    3. Detections still left over take their most similar crowd (the first of several); a crowd takes any number.

    Of assignments with equal totals (to 1e-9 for each pair) the one with more pairs wins, then the one with better ranked
    detections: the smaller sum of their places among all competing detections. Further ties, such as two annotations with the
    same box, are left to the solver, which gets the pairs by detection and annotation: the order of `pairs` does not matter.

    If no rival for an annotation has another candidate, the most similar one has it, in all slices and at all thresholds that
    it reaches. Only the others go to the solver.

    Arguments and result, in the order of `detection`, are described in `apframe.matching.assignments`. In addition:

    Parameters
    ----------
    pairs
        every detection matters to the others, whatever its score: apply limits on detections before

    Raises
    ------
    ParameterError
        SciPy is not installed

    >>> pairs = pl.DataFrame({"detection": [0, 0, 1], "annotation": [0, 1, 0], "similarity": [0.8, 0.7, 0.75]})
    >>> match_optimally(pairs, np.array([False, False]), np.array([[False, False]]), np.array([0.5, 0.75]),
    ...                 strict=False).select("detection", "annotation", "first", "last").rows()
    [(0, 1, 0, 1), (0, 0, 1, 2), (1, 0, 0, 1)]
    """
    sparse = import_optional("scipy.sparse", "optimal matching needs SciPy", "scipy", "optimal")

    pairs = pairs.select("detection", "annotation", "similarity").sort("detection", "annotation")
    detection, annotation, similarity = (pairs[name].to_numpy() for name in pairs.columns)
    reach = count_reached(similarity, thresholds, strict=strict)
    n_slices, n_thresholds = len(ignored), len(thresholds)

    single = np.flatnonzero((reach > 0) & ~is_crowd[annotation])
    is_contested = find_contested(pairs[single], len(is_crowd))
    simple = single[~is_contested]
    simple = simple[np.lexsort((detection[simple], -similarity[simple], annotation[simple]))]
    simple = simple[np.diff(annotation[simple], prepend=-1) != 0]

    def matched(row: np.ndarray) -> np.ndarray:
        """Return the rows of contested pairs that are matched."""
        solution = solve(problem[row], detection[pair[row]], annotation[pair[row]], similarity[pair[row]], sparse)
        return row[solution]

    pair, slices, threshold = expand(single[is_contested], reach, n_slices)
    problem = slices * n_thresholds + threshold
    counts = ~ignored[slices, annotation[pair]]
    taker = problem * (int(detection.max(initial=0)) + 1) + detection[pair]
    settled = matched(np.flatnonzero(counts))
    settled = np.append(settled, matched(np.flatnonzero(~counts & ~np.isin(taker, taker[settled]))))

    parts = [
        _tabulate(simple, EVERY_SLICE, 0, reach[simple]),
        _tabulate(pair[settled], slices[settled], threshold[settled], threshold[settled] + 1),
    ]
    crowd = np.flatnonzero((reach > 0) & is_crowd[annotation])
    if len(crowd):
        crowd = crowd[np.lexsort((annotation[crowd], -similarity[crowd], detection[crowd]))]
        crowd = crowd[np.diff(detection[crowd], prepend=-1) != 0]
        is_settled_anew = np.isin(detection[crowd], detection[single[is_contested]])
        from_first = np.zeros(int(detection.max()) + 1, dtype=np.int64)
        from_first[detection[simple]] = reach[simple]
        alone = crowd[~is_settled_anew & (from_first[detection[crowd]] < reach[crowd])]
        parts.append(_tabulate(alone, EVERY_SLICE, from_first[detection[alone]], reach[alone]))
        rest, rest_slices, rest_threshold = expand(crowd[is_settled_anew], reach, n_slices)
        wants = (rest_slices * n_thresholds + rest_threshold) * (int(detection.max()) + 1) + detection[rest]
        free = ~np.isin(wants, taker[settled])
        parts.append(_tabulate(rest[free], rest_slices[free], rest_threshold[free], rest_threshold[free] + 1))
    assigned = pl.concat(parts)
    return (
        pl.concat([pairs[assigned["pair"]], assigned.drop("pair")], how="horizontal")
        .sort("detection", "slice", "first")
    )  # fmt: skip


def expand(pair: np.ndarray, reach: np.ndarray, n_slices: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Expand pairs to a row for each slice and each threshold that they reach: pair, slice and threshold numbers."""
    pair, slices = np.tile(pair, n_slices), np.repeat(np.arange(n_slices), len(pair))
    n_reached = reach[pair]
    threshold = np.arange(n_reached.sum()) - np.repeat(np.cumsum(n_reached) - n_reached, n_reached)
    return np.repeat(pair, n_reached), np.repeat(slices, n_reached), threshold


def _tabulate(pair: np.ndarray, slices: np.ndarray | int, first: np.ndarray | int, last: np.ndarray) -> pl.DataFrame:
    """Return a table of assignments of pairs, in one slice each or in every slice."""
    return pl.DataFrame({
        "pair": pair,
        "slice": np.broadcast_to(slices, len(pair)).astype(np.int16),
        "first": np.broadcast_to(first, len(pair)).astype(np.uint16),
        "last": last.astype(np.uint16),
    }).with_columns(is_repeat=False)  # fmt: skip


def solve(
    problem: np.ndarray, detection: np.ndarray, annotation: np.ndarray, similarity: np.ndarray, sparse: Any
) -> np.ndarray:
    """Return the row numbers of the matched pairs, each problem on its own; rows are by detection and annotation within one.

    `sparse` is the module of SciPy. The total similarity is as large as possible; for ties see `match_optimally`.
    """
    if not len(problem):
        return np.arange(0)
    taker, target = number_within(problem, detection), number_within(problem, annotation)
    n_takers, n_targets = int(taker.max()) + 1, int(target.max()) + 1
    # pairs that compete, directly or indirectly, form one part
    nodes = n_takers + n_targets
    links = sparse.csr_array((np.ones(len(taker), dtype=np.int8), (taker, n_takers + target)), shape=(nodes, nodes))
    n_parts, part = sparse.csgraph.connected_components(links, directed=False)
    place = place_within(part[:n_takers]) - 1
    sizes = np.bincount(part[:n_takers], minlength=n_parts), np.bincount(part[n_takers:], minlength=n_parts)
    weight = 1 + similarity + TIE * (1 - place[taker] / (2 * sizes[0][part[taker]]))

    partners = np.full(n_takers, -1)
    heaviest = np.lexsort((-weight, part[taker]))
    # a part with one detection or one annotation needs no solver
    is_star = np.minimum(*sizes)[part[taker[heaviest]]] == 1
    star = heaviest[is_star & (np.diff(part[taker[heaviest]], prepend=-1) != 0)]
    partners[taker[star]] = target[star]

    by_part = np.sort(heaviest[~is_star])
    by_part = by_part[np.argsort(part[taker[by_part]], kind="stable")]
    starts = np.flatnonzero(np.diff(part[taker[by_part]], prepend=-1))
    cuts = np.unique(np.searchsorted(starts, np.arange(0, len(by_part), ROWS_AT_A_TIME)))
    for begin, end in pairwise(np.append(starts[cuts[cuts < len(starts)]], len(by_part)).tolist()):
        row = by_part[begin:end]
        takers, at = np.unique(taker[row], return_inverse=True)
        targets, to = np.unique(target[row], return_inverse=True)
        # a column of its own lets each detection stay unmatched; 1 is added to all weights, because 0 would be no edge
        own = np.arange(len(takers))
        weights = np.concatenate([weight[row], np.ones(len(takers))])
        cells = np.concatenate([at, own]), np.concatenate([to, len(targets) + own])
        table = sparse.csr_array((weights, cells), shape=(len(takers), len(targets) + len(takers)))
        which, column = sparse.csgraph.min_weight_full_bipartite_matching(table, maximize=True)
        paired = column < len(targets)
        partners[takers[which[paired]]] = targets[column[paired]]
    return np.flatnonzero(partners[taker] == target)
