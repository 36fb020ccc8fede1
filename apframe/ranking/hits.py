"""Measures at a rank, as aggregates over the hits of a list: `points.group_by(...).agg(...)`.

Each takes the points table of `find_points` with one hit a row: its `rank`, its `relevance` (the grade), and, the same in all
rows of a list, `n_positives` and `n_ranked`. A list without hits has no rows there; every measure is 0 for it.
"""

from __future__ import annotations

import polars as pl

_RANK, _POSITIVES, _RANKED = pl.col("rank"), pl.col("n_positives"), pl.col("n_ranked")


def precision_at(k: int | None) -> pl.Expr:
    """Hits among the first k over k; without k over the whole list."""
    return pl.len() / _RANKED.first() if k is None else _among_first(k).sum() / k


def recall_at(k: int | None) -> pl.Expr:
    """Hits among the first k over all positives."""
    return _within(k) / _POSITIVES.first()


def f_beta_at(k: int | None, beta: float) -> pl.Expr:
    """(1 + beta²) P R / (beta² P + R)."""
    return f_beta_of(precision_at(k), recall_at(k), beta)


def f_beta_of(precision: pl.Expr, recall: pl.Expr, beta: float) -> pl.Expr:
    """(1 + beta²) P R / (beta² P + R), 0 where both are 0."""
    below = beta**2 * precision + recall
    return pl.when(below > 0).then((1 + beta**2) * precision * recall / below).otherwise(0.0)


def r_precision() -> pl.Expr:
    """Hits among the first R over R."""
    return (_RANK <= _POSITIVES).sum() / _POSITIVES.first()


def reciprocal_rank(k: int | None) -> pl.Expr:
    """1 over the first hit's rank, if that is among the first k."""
    first = _RANK.min()
    return 1 / first if k is None else pl.when(first <= k).then(1 / first).otherwise(0.0)


def success(k: int | None) -> pl.Expr:
    """1 with a hit among the first k."""
    return (_within(k) > 0).cast(pl.Float64)


def dcg(k: int | None) -> pl.Expr:
    """Grades over log2(rank + 1), summed over the first k."""
    gain = pl.col("relevance") / (_RANK + 1).log(2)
    return (gain if k is None else gain.filter(_among_first(k))).sum()


def _among_first(k: int) -> pl.Expr:
    return pl.col("rank") <= k


def _within(k: int | None) -> pl.Expr:
    return pl.len() if k is None else _among_first(k).sum()
