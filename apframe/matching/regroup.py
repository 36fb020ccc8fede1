"""Slices of the images, and of the detections alone: the lists to be ranked are told apart by group."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from apframe.matching.order import place_within


@dataclass(frozen=True)
class Lists:
    """What matching and the ranking work on: a list for each group and category, `group * n_categories + category`.

    `order` has a row for each detection of each group that it is in, by list and rank: `row` (of the detections), `category`
    (the number of the list), `cell_rank`. `pairs` are as the policies take them, by places in this
    order; its annotations are numbers in `annotations`, which has a row for each annotation of each group: `annotation` (its
    row) and `list`. There are `n_lists`, some of them empty.
    """

    order: pl.DataFrame
    pairs: pl.DataFrame
    annotations: pl.DataFrame
    n_lists: int


def regroup(
    order: pl.DataFrame,
    pairs: pl.DataFrame,
    detections: pl.DataFrame,
    annotations: pl.DataFrame,
    n_categories: int,
    n_groups: int,
    *,
    rank_anew: bool,
) -> Lists:
    """Gather detections and annotations into a list for each group and category; the order within a list stays.

    Parameters
    ----------
    order
        from `order_detections`, and `cell`
    pairs
        `detection` (a place in that order), `annotation` (a row number), `similarity`
    detections
        `detection` (a place in that order), `group`: a detection may be in several groups, or in none
    annotations
        `annotation` (a row number), `category`, `group`
    rank_anew
        groups divide the detections of a cell, so that each has its own place among those of its group

    >>> order = pl.DataFrame({"row": [7, 8, 9], "category": [0, 0, 0], "cell_rank": [1, 2, 3], "cell": [0, 0, 0]})
    >>> lists = regroup(
    ...     order, pl.DataFrame({"detection": [1], "annotation": [0], "similarity": [0.7]}),
    ...     pl.DataFrame({"detection": [0, 1, 2], "group": [1, 0, 1]}),
    ...     pl.DataFrame({"annotation": [0, 0], "category": [0, 0], "group": [0, 1]}), 1, 2, rank_anew=True)
    >>> lists.order.select("row", "category", "cell_rank").rows(), lists.pairs.rows()
    ([(8, 0, 1), (7, 1, 1), (9, 1, 2)], [(0, 0, 0.7)])
    """
    place, group = detections["detection"].to_numpy().astype(np.int64), detections["group"].to_numpy().astype(np.int64)
    category = order["category"].to_numpy()[place]
    number = group * n_categories + category
    # packed, as sorting integers is several times as fast as sorting rows
    bits = order.height.bit_length()
    place = np.sort((number << bits) | place) & ((1 << bits) - 1)
    number = np.sort(number)
    gathered = order[place].with_columns(pl.Series("category", number, dtype=pl.UInt32))
    if rank_anew:
        cells = gathered["cell"].to_numpy() * n_groups + number // n_categories
        gathered = gathered.with_columns(pl.Series("cell_rank", place_within(cells)))
    places = pl.LazyFrame({"detection": place.astype(np.uint32), "group": (number // n_categories).astype(np.uint32)})
    members = annotations.lazy().with_columns(pl.col("annotation", "group").cast(pl.UInt32)).with_row_index("member")
    met = (
        pairs.lazy()
        .with_columns(pl.col("detection", "annotation").cast(pl.UInt32))
        .join(places.with_row_index("place"), on="detection")
        .join(members.select("annotation", "group", "member"), on=["annotation", "group"])
        .select(detection="place", annotation="member", similarity="similarity")
        .collect()
    )
    numbers = annotations.select("annotation", list=pl.col("group").cast(pl.Int64) * n_categories + pl.col("category"))
    return Lists(gathered, met, numbers, n_categories * n_groups)
