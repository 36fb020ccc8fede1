"""The matching policies by name: pairs in, assignments out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import polars as pl

from apframe.matching.by_best_overlap import match_by_best_overlap
from apframe.matching.by_score import match_by_score
from apframe.matching.by_similarity import match_by_similarity
from apframe.matching.optimal import match_optimally
from apframe.matching.regroup import Lists

Policy = Callable[..., pl.DataFrame]


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
        "score", "best_overlap", "similarity" or "optimal"
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
    Tables as described in `match_by_score`.
    """
    policies: dict[str, Policy] = {
        "score": match_by_score,
        "best_overlap": partial(match_by_best_overlap, count_groups=count_groups),
        "similarity": match_by_similarity,
        "optimal": match_optimally,
    }
    by_score = policy in ("score", "best_overlap")
    tables = []
    for limit in limits[-1:] if by_score else limits:
        within = lists.order["cell_rank"] <= limit
        pairs = lists.pairs.filter(within.gather(lists.pairs["detection"]))
        tables.append(policies[policy](pairs, is_crowd, ignored, np.array(thresholds), strict=strict))
    return tables * len(limits) if by_score else tables
