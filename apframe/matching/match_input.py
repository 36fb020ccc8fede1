"""Detections, annotations and the pairs of both, as tables for matching."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import polars as pl

from apframe.matching.matchers import ByScore, Matcher


@dataclass(frozen=True)
class MatchInput:
    """Detections and annotations by list, and the pairs of both, before matching or after.

    Attributes
    ----------
    detections
        list, image, row, place, score, inside: see `Verdicts`. By list, then rank
    annotations
        list, image, row, counts: see `Verdicts`; `is_crowd` if they are to be matched. By list, then row
    pairs
        detection and annotation (row numbers of these tables), with the `similarity` of a pair, or the columns of a hit. If
        ignored annotations are crowds, pairs also have `inside`, the similarity to a crowd, null if it is too low. If area
        ranges leave out detections, they have `left_out`: bits of the ranges that leave out this one. If detections can be
        void, they have `void`, bits of the ranges in which this one is void, and `ranges`, bits of those in which the two can
        match. They have `is_fallback` if detections that match nothing else try some of the annotations
    lists
        group and category (the number of the list that it is a part of) of each list, by its number; and attributes of lists
    cuts
        the values that similarities are compared with, ascending: the thresholds, or -inf if all pairs reach the only one
    n_ranges
        number of area ranges, which the bits of `inside` and `counts` stand for
    matcher
        the matching rule
    own_limits
        whether each limit selects its own detections, so that leaving out those beyond it can change any match
    keeps_empty
        whether a group has a list of each category, even without rows
    own_places
        whether a rule of the protocol sets the places, so that slices of detections keep them
    score_cutoffs
        the score cut-offs, if they are fixed
    """

    detections: pl.DataFrame
    annotations: pl.DataFrame
    pairs: pl.DataFrame
    lists: pl.DataFrame
    cuts: np.ndarray = field(default_factory=lambda: np.zeros(0))
    n_ranges: int = 1
    matcher: Matcher = ByScore()
    own_limits: bool = False
    own_places: bool = False
    keeps_empty: bool = False
    score_cutoffs: tuple[float, ...] = ()
