"""The matching policies by name: pairs in, assignments out."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import polars as pl

from apframe.matching.by_best_overlap import match_by_best_overlap
from apframe.matching.by_score import match_by_score
from apframe.matching.by_similarity import match_by_similarity
from apframe.matching.optimal import match_optimally
from apframe.matching.regroup import Lists

# by name: the function, and whether lower scores change no match of higher ones
POLICIES: dict[str, tuple[Callable[..., pl.DataFrame], bool]] = {
    "score": (match_by_score, True),
    "best_overlap": (match_by_best_overlap, True),
    "similarity": (match_by_similarity, False),
    "optimal": (match_optimally, False),
}


def match(
    policy: str,
    lists: Lists,
    is_crowd: np.ndarray,
    ignored: np.ndarray,
    thresholds: Sequence[float],
    limits: Sequence[int],
    *,
    strict: bool,
    count_groups: bool,
) -> list[pl.DataFrame]:
    """The assignments with at most so many detections of each cell, a table for each limit.

    Where detections are walked by score, those of lower scores change no match of the others: then all limits share a table.

    Parameters
    ----------
    policy
        one of `POLICIES`
    lists
        order and pairs of the detections
    is_crowd
        one flag per annotation
    ignored
        flags of shape (slices, annotations)
    thresholds, limits
        ascending
    strict
        see `count_reached`
    count_groups
        see `match_by_best_overlap`

    Returns
    -------
    Tables as described in `apframe.matching.assignments`.
    """
    function, by_rank = POLICIES[policy]
    options = {"strict": strict} | ({"count_groups": count_groups} if policy == "best_overlap" else {})
    tables = []
    for limit in limits[-1:] if by_rank else limits:
        within = lists.order["cell_rank"] <= limit
        pairs = lists.pairs.filter(within.gather(lists.pairs["detection"]))
        tables.append(function(pairs, is_crowd, ignored, np.array(thresholds), **options))
    return tables * len(limits) if by_rank else tables
