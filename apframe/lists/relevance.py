"""Measures at a rank, as aggregates over the hits of a list: `points.group_by(...).agg(...)`.

The table has a row for each point among the first k (without k, in the list), see `find_points`: `rank`, `new_tp` (its hits,
which is one unless equal scores form one point), `relevance` (the grade), and, equal in all rows of a list, `n_positives` and
`n_ranked`, the length of the list. A list without hits has no rows there; every measure is 0 for it.
"""

from __future__ import annotations

import polars as pl

from apframe.exceptions import ParameterError
from apframe.option_values import one_of

_RANK, _POSITIVES, _RANKED = pl.col("rank"), pl.col("n_positives"), pl.col("n_ranked")
_HITS = pl.col("new_tp").sum()  # not the number of points: equal scores may form one
OVER = ("n_positives", "min", "hits")
GAINS = ("linear", "exp")


def divisor(over: str, k: int | None) -> pl.Expr:
    """Return the divisor of recall: n_positives, the smaller of it and k ("min"), or the hits in the list ("hits")."""
    one_of("over", over, OVER)
    if over == "min" and k is None:
        raise ParameterError('"min" needs k', option="over")
    if over == "min":
        return _POSITIVES.clip(upper_bound=k)
    return _POSITIVES if over == "n_positives" else _HITS.over("group")


def precision(k: int | None) -> pl.Expr:
    """Hits divided by k; without k, by the length of the list."""
    return _HITS / (_RANKED.first() if k is None else k)


def recall() -> pl.Expr:
    """Hits divided by all positives."""
    return _HITS / _POSITIVES.first()


def f_beta(k: int | None, beta: float) -> pl.Expr:
    """(1 + beta²) P R / (beta² P + R)."""
    return f_beta_of(precision(k), recall(), beta)


def f_beta_of(precision: pl.Expr, recall: pl.Expr, beta: float) -> pl.Expr:
    """(1 + beta²) P R / (beta² P + R); 0 if both are 0."""
    below = beta**2 * precision + recall
    return pl.when(below > 0).then((1 + beta**2) * precision * recall / below).otherwise(0.0)


def r_precision() -> pl.Expr:
    """Hits among the first R, divided by R."""
    return (_RANK <= _POSITIVES).sum() / _POSITIVES.first()


def reciprocal_rank() -> pl.Expr:
    """1 divided by the rank of the first hit."""
    return 1 / _RANK.min()


def success() -> pl.Expr:
    """1 if there is a hit."""
    return (pl.len() > 0).cast(pl.Float64)


def dcg(gain: str = "linear") -> pl.Expr:
    """The sum of gain / log2(rank + 1), where the gain is the grade ("linear") or 2^grade - 1 ("exp")."""
    grade = pl.col("relevance")
    return ((2**grade - 1 if one_of("gain", gain, GAINS) == "exp" else grade) / (_RANK + 1).log(2)).sum()
