"""Members and competitors of each group of objects, to match each group separately."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl


@dataclass(frozen=True)
class Side:
    """The detections or the annotations: `cell` of each, `is_paired` (it has a pair), and its members of groups of objects.

    `members` has `at` (a row number) and `group`; None means that all rows are in every group.
    """

    cell: pl.Series
    is_paired: pl.Series
    members: pl.DataFrame | None

    def rows(self) -> pl.LazyFrame:
        """Return `at`, `cell` and `is_paired` of all rows."""
        return pl.LazyFrame({"cell": self.cell, "is_paired": self.is_paired}).with_row_index("at")

    def inside(self) -> pl.LazyFrame | None:
        """Return `at`, `cell`, `is_paired` and `group` of the members; None if the side is in every group."""
        return None if self.members is None else self.members.lazy().join(self.rows(), on="at")


def add_competitors(sides: Sequence[Side], n_groups: int, max_rows: int) -> Iterator[tuple[int, list[pl.DataFrame]]]:
    """Yield the members of each group of objects and their competitors, to match each group separately.

    Another row can take a partner from a member only if both are paired, in one cell. So a group is as large as the cells
    that have its members, however many other rows there are. For a side that is in every group, only these rows are yielded.

    Parameters
    ----------
    sides
        detections and annotations
    n_groups
        number of groups, some of them possibly empty
    max_rows
        largest number of rows of both sides in a batch of groups; a single group may have more

    Yields
    ------
    The number of groups in the batch, and for each side `at`, `group` (from 0 in each batch) and `inside`, in the order of
    the groups.

    >>> members = {"at": pl.UInt32, "group": pl.UInt32}
    >>> detections = Side(pl.Series([0, 0, 9]), pl.Series([True, True, False]), pl.DataFrame([[0, 2], [0, 1]], members))
    >>> annotations = Side(pl.Series([0]), pl.Series([True]), pl.DataFrame([[0], [0]], members))
    >>> [(n, [side.sort("at").rows() for side in rows]) for n, rows in add_competitors([detections, annotations], 2, 9)]
    [(2, [[(0, 0, True), (1, 0, False), (2, 1, True)], [(0, 0, True)]])]
    """
    members = [inside for side in sides if (inside := side.inside()) is not None]
    occupied = pl.concat(inside.filter("is_paired").select("group", "cell") for inside in members).unique()
    paired = pl.concat(side.rows().filter("is_paired").select("cell") for side in sides).group_by("cell").len()
    alone = [inside.filter(~pl.col("is_paired")).select("group", len=pl.lit(1, pl.UInt32)) for inside in members]
    heights = pl.concat([occupied.join(paired, on="cell").select("group", "len"), *alone]).group_by("group").agg(pl.sum("len"))
    cells, of_groups = pl.collect_all([occupied, heights])
    sizes = np.zeros(n_groups, dtype=np.int64)
    sizes[of_groups["group"].to_numpy()] = of_groups["len"].to_numpy()
    start = 0
    while start < n_groups:
        n = max(1, int(np.searchsorted(np.cumsum(sizes[start:]), max_rows, side="right")))
        is_here, number = pl.col("group").is_between(start, start + n - 1), pl.col("group") - start
        here = cells.lazy().filter(is_here)
        yield n, pl.collect_all(_with_competitors(side, here, is_here).with_columns(group=number) for side in sides)
        start += n


def _with_competitors(side: Side, occupied: pl.LazyFrame, is_here: pl.Expr) -> pl.LazyFrame:
    """Return `at`, `group`, `inside` of the groups that meet `is_here`, whose cells are `occupied`."""
    there = side.rows().filter("is_paired").join(occupied, on="cell").select("at", "group")
    inside = side.inside()
    if inside is None:
        return there.with_columns(inside=pl.lit(True))
    flags = inside.filter(is_here).select("at", "group", "is_paired", inside=pl.lit(True))
    there = there.join(flags.drop("is_paired"), on=["at", "group"], how="left").with_columns(pl.col("inside").fill_null(False))
    return pl.concat([there, flags.filter(~pl.col("is_paired")).drop("is_paired")])
