"""Ranked lists as tables: items -> items in ranking order -> the points where recall rises."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl


def rank_items(items: pl.DataFrame, keys: Sequence[str] = (), descending: Sequence[bool] = ()) -> pl.DataFrame:
    """The items of every list in ranking order: score descending, then the keys, then the order of the rows.

    Parameters
    ----------
    items
        group (a number, one for each list), score, the keys, and what else is carried along
    keys, descending
        columns that order items of equal score, and which of them descend

    Returns
    -------
    The same rows by group and `rank`, which is from 1 within each list.

    >>> items = pl.DataFrame({"group": [0, 0, 1], "score": [0.1, 0.9, 0.5], "relevance": [1.0, 0.0, 1.0]})
    >>> rank_items(items)["rank"].to_list(), rank_items(items)["score"].to_list()
    ([1, 2, 1], [0.9, 0.1, 0.5])
    """
    ranked = items.sort("group", "score", *keys, descending=[False, True, *descending], maintain_order=True)
    return ranked.with_columns(rank=pl.int_range(1, pl.len() + 1, dtype=pl.Int64).over("group"))


def count_positives(ranked: pl.DataFrame) -> pl.DataFrame:
    """`tp`, the positives (relevance above 0) down to each rank, as a further column of `rank_items`."""
    return ranked.with_columns(tp=(pl.col("relevance") > 0).cast(pl.Int64).cum_sum().over("group"))


def last_of_ties() -> pl.Expr:
    """A flag for `rank_items`: the last item of those that have the same score in a list."""
    group, score = pl.col("group"), pl.col("score")
    return ((group != group.shift(-1)) | (score != score.shift(-1))).fill_null(True)


def find_points(ranked: pl.DataFrame, *, by_score: bool = False) -> pl.DataFrame:
    """The points where recall rises: every positive, or, `by_score`, every block of equal scores that holds one.

    Parameters
    ----------
    ranked
        from `rank_items`, with `relevance` (more than 0 is positive)

    Returns
    -------
    The columns of `ranked`, and tp and rank (positives and all items down to there), new_tp and new_n (what the point adds to
    them).

    >>> items = pl.DataFrame({"group": [0, 0, 0], "score": [0.9, 0.5, 0.5], "relevance": [0.0, 1.0, 0.0]})
    >>> find_points(rank_items(items)).select("tp", "rank", "new_tp", "new_n").rows()
    [(1, 2, 1, 1)]
    >>> find_points(rank_items(items), by_score=True).select("tp", "rank", "new_tp", "new_n").rows()
    [(1, 3, 1, 2)]
    """
    if not by_score:
        one = pl.lit(1, pl.Int64)
        hits = ranked.filter(pl.col("relevance") > 0)
        return hits.with_columns(tp=pl.int_range(1, pl.len() + 1, dtype=pl.Int64).over("group"), new_tp=one, new_n=one)
    ends = count_positives(ranked).filter(last_of_ties())
    before = pl.col("tp", "rank").shift(1).over("group").fill_null(0)
    added = ends.select(pl.col("tp", "rank") - before).rename({"tp": "new_tp", "rank": "new_n"})
    return ends.hstack(added).filter(pl.col("new_tp") > 0)
