"""Ranked lists as tables: items -> items in ranking order -> the points at which recall rises."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeVar, get_args

import polars as pl

from apframe.columns import exact
from apframe.exceptions import ColumnError, ParameterError, ScoreError
from apframe.option_values import one_of
from apframe.wording import listed

Frame = TypeVar("Frame", pl.DataFrame, pl.LazyFrame)
Column = str | pl.Expr
Ties = Literal["input", "group", "best", "worst"]
ThenBy = str | tuple[str, str] | Sequence[str | tuple[str, str]]


def item_columns(
    relevance: Column, score: Column, *, ties: Ties, then_by: ThenBy | None, ignore: Column | None
) -> tuple[list[pl.Expr], list[bool]]:
    """Return the columns that `rank_counted` requires: relevance, score, ignore, and keys that order equal scores.

    Returns
    -------
    the columns, with the keys `key 0`, `key 1` and so on; and flags of the keys that descend

    Raises
    ------
    ParameterError
        an unknown ties policy; `then_by` with a policy that orders equal scores itself

    >>> columns, descending = item_columns("r", "s", ties="best", then_by=None, ignore=None)
    >>> pl.DataFrame({"r": [1, None], "s": [0.5, 0.5]}).select(columns).rows(), descending
    ([(1, 0.5, False, True), (None, 0.5, False, False)], [True])
    """
    one_of("ties", ties, get_args(Ties))
    if then_by is not None and ties != "input":
        raise ParameterError(f'then_by decides the order of equal scores, so it needs ties="input", not {ties!r}')
    keys = _pairs(then_by)
    if ties in ("best", "worst"):
        keys = [(as_expr(relevance).cast(pl.Float64).fill_null(0.0) > 0, "desc" if ties == "best" else "asc")]
    columns = [
        as_expr(relevance).alias("relevance"),
        as_expr(score).alias("score"),
        as_flag(ignore).alias("ignore"),
        *(as_expr(key).alias(f"key {number}") for number, (key, _) in enumerate(keys)),
    ]
    return columns, [direction == "desc" for _, direction in keys]


def rank_counted(items: pl.DataFrame, descending: Sequence[bool] = ()) -> pl.DataFrame:
    """Rank the items that count, see `rank_items`: without those that are ignored or were not retrieved (null score).

    Parameters
    ----------
    items
        group (a number for each list), the columns of `item_columns`, and optionally `row`, the number for errors
    descending
        flags of the keys that descend

    Raises
    ------
    ScoreError
        NaN among scores or relevance
    ColumnError
        scores are not numbers

    >>> items = pl.DataFrame({"group": [0] * 3, "relevance": [1.0, 0, 1], "score": [0.1, 0.9, None], "ignore": [False] * 3})
    >>> rank_counted(items).select("rank", "score").rows()
    [(1, 0.9), (2, 0.1)]
    """
    for name in ("score", "relevance"):
        dtype = items[name].dtype
        is_flag, is_time = name == "relevance" and dtype == pl.Boolean, name == "score" and dtype.is_temporal()
        if not (dtype.is_numeric() or is_flag or is_time or dtype == pl.Null):
            raise ColumnError(
                f"the {name} must be a number, not {dtype}", "cast the column (text would be ranked alphabetically)"
            )
        if dtype.is_float() and (broken := items[name].is_nan().fill_null(False)).any():
            raise ScoreError(f"the {name} is NaN in {_where(items, broken)}", "correct or remove them")
    items = items.with_columns(pl.col("relevance").cast(pl.Float64).fill_null(0.0))
    counted = items.filter(pl.col("score").is_not_null() & ~pl.col("ignore"))
    return rank_items(counted, [f"key {number}" for number in range(len(descending))], descending)


def refuse_too_few(totals: pl.DataFrame, counted: pl.DataFrame, *, positive: bool = True) -> None:
    """Raise a `ParameterError` if `totals` (group, n_positives) has a smaller number than there are positives in the list.

    With `positive` False, it checks negatives and the column n_negatives.
    """
    kind = "positives" if positive else "negatives"
    totals_column = totals[f"n_{kind}"]
    if not (totals_column.is_finite() & (totals_column == totals_column.floor()) & (totals_column >= 0)).fill_null(True).all():
        raise ParameterError("must be whole numbers of at least 0", option=f"n_{kind}")
    present = counted.filter((pl.col("relevance") > 0) == positive).group_by("group").agg(present=pl.len())
    short = totals.join(present, on="group").filter(pl.col(f"n_{kind}") < pl.col("present")).sort("group")
    if short.height:
        declared, n_present = short.row(0, named=True)[f"n_{kind}"], short.row(0, named=True)["present"]
        raise ParameterError(
            f"n_{kind} is smaller than the number of {kind} present, in {short.height:,} of {totals.height:,} "
            f"{'group' if totals.height == 1 else 'groups'} "
            f"({declared:g} given where {n_present} are present)",
            f"count all {kind}, whether retrieved or not",
        )


def as_expr(column: float | Column) -> pl.Expr:
    """Return the expression of a number, a column's name, or an expression."""
    if isinstance(column, (str, pl.Expr)):
        return exact(column) if isinstance(column, str) else column
    if not isinstance(column, (int, float, pl.Series)):
        kind = type(column).__name__
        raise ParameterError(f"give columns by name or as expressions, for frame.select(...), not as a {kind}")
    return pl.lit(column)


def as_flag(column: Column | None) -> pl.Expr:
    """Return the expression of an optional flag: False if it is null or absent."""
    return pl.lit(False) if column is None else as_expr(column).cast(pl.Boolean).fill_null(False)


def rank_items(items: Frame, keys: Sequence[str] = (), descending: Sequence[bool] = ()) -> Frame:
    """Sort the items of every list in ranking order: score descending, then the keys, then the order of the rows.

    Parameters
    ----------
    items
        group (a number for each list), score, the keys, and further columns, which are kept
    keys, descending
        columns that order items of equal score, and flags of those that descend

    Returns
    -------
    The same rows by group and `rank`, which starts at 1 in each list.

    >>> items = pl.DataFrame({"group": [0, 0, 1], "score": [0.1, 0.9, 0.5], "relevance": [1.0, 0.0, 1.0]})
    >>> rank_items(items)["rank"].to_list(), rank_items(items)["score"].to_list()
    ([1, 2, 1], [0.9, 0.1, 0.5])
    """
    ranked = items.sort("group", "score", *keys, descending=[False, True, *descending], maintain_order=True)
    return ranked.with_columns(rank=pl.int_range(1, pl.len() + 1, dtype=pl.Int64).over("group"))


def count_positives(ranked: pl.DataFrame) -> pl.DataFrame:
    """Add `tp`, the number of positives (relevance above 0) down to each rank, to the result of `rank_items`."""
    return ranked.with_columns(tp=(pl.col("relevance") > 0).cast(pl.Int64).cum_sum().over("group"))


def last_of_ties() -> pl.Expr:
    """Return a condition for rows of `rank_items`: the last of the items that have the same score in a list."""
    group, score = pl.col("group"), pl.col("score")
    return ((group != group.shift(-1)) | (score != score.shift(-1))).fill_null(True)


def find_points(ranked: pl.DataFrame, *, by_score: bool = False) -> pl.DataFrame:
    """Return the points at which recall rises: every positive, or, `by_score`, every block of equal scores that has one.

    Parameters
    ----------
    ranked
        the result of `rank_items`, with `relevance` (positive above 0)

    Returns
    -------
    The columns of `ranked`, and tp and rank (positives and all items so far), new_tp and new_n (the increases at this point).

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


def _where(items: pl.DataFrame, broken: pl.Series) -> str:
    """Describe the broken rows: by their own numbers, or, without these, by their positions in their groups."""
    if "row" in items.columns:
        return f"row {listed(items['row'].filter(broken).to_list())}"
    places = items.select("group", row=pl.int_range(1, pl.len() + 1).over("group")).filter(broken)
    rows, n_groups = places["row"].to_list(), places["group"].n_unique()
    if n_groups == 1:
        return f"row {listed(rows)} of its group, counted from 1"
    return f"{len(rows):,} rows of {n_groups:,} groups, such as row {rows[0]} of one, counted from 1"


def _pairs(then_by: ThenBy | None) -> list[tuple[Any, str]]:
    """Return columns and their directions."""
    is_one = isinstance(then_by, (str, pl.Expr)) or (isinstance(then_by, tuple) and then_by[-1:] in (("asc",), ("desc",)))
    keys = [then_by] if is_one else [*(then_by or ())]
    pairs = [key if isinstance(key, tuple) else (key, "asc") for key in keys]
    for pair in pairs:
        if len(pair) != 2 or not isinstance(pair[0], (str, pl.Expr)) or pair[1] not in ("asc", "desc"):
            raise ParameterError(f'needs columns, or pairs such as ("document_id", "desc"), not {pair!r}', option="then_by")
    return pairs
