"""The dots and bars of numbers with intervals on pages and in charts: their verdicts, their order and their texts."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from apframe.columns import exact
from apframe.protocols.headlines import less_is_better


def interval_marks(
    value: pl.Series, low: pl.Series, high: pl.Series, metrics: Iterable[str | None] | None = None
) -> pl.DataFrame:
    """Return the marks of numbers with intervals: value, low, high (null where they are not finite) and verdict.

    The verdict on a difference is "better" or "worse" if its interval excludes 0, otherwise "unclear"; it is null for others.

    Parameters
    ----------
    metrics
        the metric of each difference, as errors such as ATE are better below 0; empty if more is better; None if the numbers
        are not differences

    >>> ends = [pl.Series([0.1, -0.2]), pl.Series([0.05, -0.3]), pl.Series([0.2, 0.1])]
    >>> interval_marks(*ends, [])["verdict"].to_list(), interval_marks(*ends, ["ATE"] * 2)["verdict"].to_list()
    (['better', 'unclear'], ['worse', 'unclear'])
    """
    numbers = {"value": value, "low": low, "high": high}
    table = pl.DataFrame({name: column.cast(pl.Float64) for name, column in numbers.items()})
    table = table.with_columns(pl.when(pl.col(name).is_finite()).then(name) for name in numbers)
    if metrics is None:
        return table.with_columns(verdict=pl.lit(None, pl.String))
    is_error = pl.Series([less_is_better(metric or "") for metric in metrics] or [False] * table.height, dtype=pl.Boolean)
    is_sure = (pl.col("low") > 0) | (pl.col("high") < 0)
    word = pl.when((pl.col("low") > 0) != is_error).then(pl.lit("better")).otherwise(pl.lit("worse"))
    return table.with_columns(verdict=pl.when(is_sure).then(word).otherwise(pl.lit("unclear")))


def interval_order(value: str) -> list[pl.Expr]:
    """Return the order of rows: the largest differences or the lowest estimates first, rows without an interval last.

    >>> table = pl.DataFrame({"difference": [0.1, -0.2, 0.3], "low": [0.0, -0.5, None]})
    >>> table.sort(*interval_order("difference"), nulls_last=True)["difference"].to_list()
    [-0.2, 0.1, 0.3]
    """
    number = exact(value).cast(pl.Float64)
    return [pl.col("low").is_null(), -number.abs() if value == "difference" else number]


def best_first(board: pl.DataFrame, column: str, metric: str) -> pl.DataFrame:
    """Sort the rows of a leaderboard, the best first and those without a number last.

    >>> board = pl.DataFrame({"run": ["a", "b"], "ATE": [0.1, 0.2]})
    >>> best_first(board, "ATE", "ATE")["run"].to_list(), best_first(board, "ATE", "AP")["run"].to_list()
    (['a', 'b'], ['b', 'a'])
    """
    return board.sort(exact(column), descending=not less_is_better(metric), nulls_last=True, maintain_order=True)


def shown(value: float | None, number: str = ".3f", unknown: str = "–") -> str:
    """Format a number for people, in a format of Python, with a typographic minus sign.

    >>> shown(-0.25), shown(0.25, "+.3f"), shown(0, "+.3f"), shown(None)
    ('−0.250', '+0.250', '0.000', '–')
    """
    if value is None:
        return unknown
    return format(value, number if value else number.lstrip("+")).replace("-", "−")
