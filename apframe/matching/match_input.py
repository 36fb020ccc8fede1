"""Detections, annotations and the links between them, as tables for matching."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import polars as pl

from apframe.matching.matchers import ByScore, Matcher


@dataclass(frozen=True)
class MatchInput:
    """Detections and annotations by list, and the links between them: what is matched, or what was.

    Attributes
    ----------
    detections
        list, image, row, place, score, inside: see `Verdicts`. By list, then rank
    annotations
        list, image, row, counts: see `Verdicts`; `is_crowd` where they are matched. By list, then row
    links
        detection and annotation (row numbers of these tables), and what is known of the two: `similarity` of a pair, or a hit.
        Pairs have `inside` too where ignored annotations are crowds: the similarity to a crowd. It is null where too low. They
        have `left_out` if area ranges leave out detections: bits of the ranges that leave out this one. If detections can be
        void, they have `void`, bits of the ranges in which this one is, and `ranges`, of those in which the two can match. They
        have `is_last` where some annotations are tried by detections that match no other
    lists
        group and category (the number of the list that it is a part of) of each list, by its number; what else a list has
    cuts
        what similarities are compared with, ascending: the thresholds, or -inf where all pairs reach the one that there is
    n_ranges
        how many area ranges the bits of `inside` and `counts` stand for
    matcher
        who is matched with whom
    own_limits
        whether each limit takes detections of its own, so that leaving out those beyond it can change any match
    keeps_empty
        whether a group has a list of each category, also one without rows
    own_places
        whether a rule of the protocol sets the places, so that slices of detections keep them
    cut_offs
        the score cut-offs that there are, where they are fixed
    """

    detections: pl.DataFrame
    annotations: pl.DataFrame
    links: pl.DataFrame
    lists: pl.DataFrame
    cuts: np.ndarray = field(default_factory=lambda: np.zeros(0))
    n_ranges: int = 1
    matcher: Matcher = ByScore()
    own_limits: bool = False
    own_places: bool = False
    keeps_empty: bool = False
    cut_offs: tuple[float, ...] = ()
