"""Slices of images, detections and objects: the lists to be ranked are told apart by group; those without rows are left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from apframe.matching.order import place_within

_MOST_KEYS = 1 << 22  # which are looked up in a table of them all


@dataclass(frozen=True)
class Lists:
    """What matching and the ranking work on: lists, each of a group and a category.

    `order` has a row for each detection of each group that it is in, by list and rank: `row` (of the detections), `category`
    (the number of the list), `cell_rank`. `pairs` are as the policies take them, by places in this
    order; its annotations are numbers in `annotations`, which has a row for each annotation of each group: `annotation` (its
    row) and `list`. Both may say whether the row is `inside` its group: others are there because they compete with these.
    `group` and `category` are those of each list, by its number.
    """

    order: pl.DataFrame
    pairs: pl.DataFrame
    annotations: pl.DataFrame
    group: np.ndarray
    category: np.ndarray


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
    """Gather detections and annotations into a list for each group and category that has some; the order within a list stays.

    Parameters
    ----------
    order
        from `order_detections`, and `cell`
    pairs
        `detection` (a place in that order), `annotation` (a row number), `similarity`
    detections
        `detection` (a place in that order), `group`, `inside`: a detection may be in several groups, or in none
    annotations
        `annotation` (a row number), `category`, `group`, `inside`
    rank_anew
        groups divide the detections of a cell, so that each has its own place among those of its group

    >>> order = pl.DataFrame({"row": [7, 8, 9], "category": [0, 0, 0], "cell_rank": [1, 2, 3], "cell": [0, 0, 0]})
    >>> lists = regroup(
    ...     order, pl.DataFrame({"detection": [1], "annotation": [0], "similarity": [0.7]}),
    ...     pl.DataFrame({"detection": [0, 1, 2], "group": [7, 0, 7], "inside": True}),
    ...     pl.DataFrame({"annotation": [0, 0], "category": [0, 0], "group": [0, 7], "inside": True}), 1, 8, rank_anew=True)
    >>> lists.order.select("row", "category", "cell_rank").rows(), lists.pairs.rows(), lists.group.tolist()
    ([(8, 0, 1), (7, 1, 1), (9, 1, 2)], [(0, 0, 0.7)], [0, 7])
    """
    place, group = detections["detection"].to_numpy().astype(np.int64), detections["group"].to_numpy().astype(np.int64)
    keys = group * n_categories + order["category"].to_numpy()[place]
    expected = annotations.select(pl.col("group").cast(pl.Int64) * n_categories + pl.col("category")).to_series().to_numpy()
    lists, number, number_expected = _number(keys, expected, n_groups * n_categories)
    # packed, as sorting integers is several times as fast as sorting rows
    bits = order.height.bit_length()
    packed = np.sort((number << (bits + 1)) | (place << 1) | detections["inside"].to_numpy())
    place, number = (packed >> 1) & ((1 << bits) - 1), packed >> (bits + 1)
    inside = pl.Series("inside", (packed & 1).astype(bool))
    gathered = order[place].with_columns(pl.Series("category", number, dtype=pl.UInt32), inside)
    group = lists // n_categories
    if rank_anew:
        cells = gathered["cell"].to_numpy() * n_groups + group[number]
        gathered = gathered.with_columns(pl.Series("cell_rank", place_within(cells)))
    places = pl.LazyFrame({"detection": place.astype(np.uint32), "group": group[number].astype(np.uint32)})
    members = annotations.lazy().with_columns(pl.col("annotation", "group").cast(pl.UInt32)).with_row_index("member")
    met = (
        pairs.lazy()
        .with_columns(pl.col("detection", "annotation").cast(pl.UInt32))
        .join(places.with_row_index("place"), on="detection")
        .join(members.select("annotation", "group", "member"), on=["annotation", "group"])
        .select(detection="place", annotation="member", similarity="similarity")
        .collect()
    )
    expected_rows = annotations.select("annotation", pl.Series("list", number_expected), "inside")
    return Lists(gathered, met, expected_rows, group, lists % n_categories)


@dataclass(frozen=True)
class Side:
    """The detections or the annotations: `cell` of each, `is_paired` (it has a pair), and which are in groups of the objects.

    `members` are `item` (a place among them) and `group`; None: all are in every group.
    """

    cell: pl.Series
    is_paired: pl.Series
    members: pl.DataFrame | None

    def rows(self) -> pl.LazyFrame:
        """`item`, `cell`, `is_paired` of all."""
        return pl.LazyFrame({"cell": self.cell, "is_paired": self.is_paired}).with_row_index("item")

    def inside(self) -> pl.LazyFrame | None:
        """The same of the members, and `group`."""
        return None if self.members is None else self.members.lazy().join(self.rows(), on="item")


def add_competitors(sides: Sequence[Side], n_groups: int, most: int) -> Iterator[tuple[int, list[pl.DataFrame]]]:
    """What each group of the objects needs to be matched on its own: its members, and what they compete with.

    Something else can take a partner from a member only where both are paired, in one cell. So a group is as large as the
    cells that it has members in, however many others there are. Of a side that is in every group, that is all that is given.

    Parameters
    ----------
    sides
        detections and annotations
    n_groups
        how many there are, some of them empty
    most
        how many rows of both sides groups may have that are put together; one group may have more

    Yields
    ------
    The number of groups, and for each side `item`, `group` (from 0 in each batch) and `inside`: groups in their order, as many
    as come to that many rows.

    >>> members = {"item": pl.UInt32, "group": pl.UInt32}
    >>> detections = Side(pl.Series([0, 0, 9]), pl.Series([True, True, False]), pl.DataFrame([[0, 2], [0, 1]], members))
    >>> annotations = Side(pl.Series([0]), pl.Series([True]), pl.DataFrame([[0], [0]], members))
    >>> [(n, [side.sort("item").rows() for side in rows]) for n, rows in add_competitors([detections, annotations], 2, 9)]
    [(2, [[(0, 0, True), (1, 0, False), (2, 1, True)], [(0, 0, True)]])]
    """
    members = [inside for side in sides if (inside := side.inside()) is not None]
    occupied = pl.concat(inside.filter("is_paired").select("group", "cell") for inside in members).unique()
    paired = pl.concat(side.rows().filter("is_paired").select("cell") for side in sides).group_by("cell").len()
    alone = [inside.filter(~pl.col("is_paired")).select("group", len=pl.lit(1, pl.UInt32)) for inside in members]
    heights = pl.concat([occupied.join(paired, on="cell").select("group", "len"), *alone]).group_by("group").agg(pl.sum("len"))
    found, of_groups = pl.collect_all([occupied, heights])
    sizes = np.zeros(n_groups, dtype=np.int64)
    sizes[of_groups["group"].to_numpy()] = of_groups["len"].to_numpy()
    start = 0
    while start < n_groups:
        n = max(1, int(np.searchsorted(np.cumsum(sizes[start:]), most, side="right")))
        is_here, number = pl.col("group").is_between(start, start + n - 1), pl.col("group") - start
        here = found.lazy().filter(is_here)
        yield n, pl.collect_all(_with_competitors(side, here, is_here).with_columns(group=number) for side in sides)
        start += n


def _with_competitors(side: Side, occupied: pl.LazyFrame, is_here: pl.Expr) -> pl.LazyFrame:
    """`item`, `group`, `inside` of the groups that are here, whose cells are `occupied`."""
    there = side.rows().filter("is_paired").join(occupied, on="cell").select("item", "group")
    inside = side.inside()
    if inside is None:
        return there.with_columns(inside=pl.lit(True))
    flags = inside.filter(is_here).select("item", "group", "is_paired", inside=pl.lit(True))
    there = there.join(flags.drop("is_paired"), on=["item", "group"], how="left").with_columns(
        pl.col("inside").fill_null(False)
    )
    return pl.concat([there, flags.filter(~pl.col("is_paired")).drop("is_paired")])


def _number(left: np.ndarray, right: np.ndarray, n_keys: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The keys that occur, in order, and the number of each among these.

    >>> _number(np.array([7, 3]), np.array([7]), 8)
    (array([3, 7]), array([1, 0]), array([1]))
    """
    if n_keys > _MOST_KEYS:
        keys = np.unique(np.concatenate([left, right]))
        return keys, np.searchsorted(keys, left), np.searchsorted(keys, right)
    occurs = np.zeros(n_keys, dtype=bool)  # several times as fast
    occurs[left] = occurs[right] = True
    number = np.cumsum(occurs) - 1
    return np.flatnonzero(occurs), number[left], number[right]
