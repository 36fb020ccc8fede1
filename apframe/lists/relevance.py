"""Measures at a rank, as aggregates over the hits of a list: `points.group_by(...).agg(...)`.

The table has a row for each point among the first k (without k, in the list), as `find_points` makes it: `rank`, `new_tp` (its
hits, one unless equal scores are one point), `relevance` (the grade), and, the same in all rows of a list, `n_positives` and
`n_ranked`, the length of the list. The last functions read more columns: those of `apframe.lists.measures.find_hits`. A
list without hits has no rows there; every measure is 0 for it.
"""

from __future__ import annotations

import polars as pl

from apframe.exceptions import ParameterError, one_of

_RANK, _POSITIVES, _RANKED = pl.col("rank"), pl.col("n_positives"), pl.col("n_ranked")
_EPSILON = 1e-5  # of infAP, as trec_eval has it
_HITS = pl.col("new_tp").sum()  # not the number of points: equal scores may be one
OVER = ("n_positives", "min", "hits")


def divisor(over: str, k: int | None) -> pl.Expr:
    """What recall divides by: n_positives, the smaller of it and k ("min"), or the hits in the list ("hits")."""
    one_of("over", over, OVER)
    if over == "min" and k is None:
        raise ParameterError('"min" needs k', option="over")
    if over == "min":
        return _POSITIVES.clip(upper_bound=k)
    return _POSITIVES if over == "n_positives" else _HITS.over("group")


def precision(k: int | None) -> pl.Expr:
    """Hits over k; without k over the length of the list."""
    return _HITS / (_RANKED.first() if k is None else k)


def recall() -> pl.Expr:
    """Hits over all positives."""
    return _HITS / _POSITIVES.first()


def f_beta(k: int | None, beta: float) -> pl.Expr:
    """(1 + beta²) P R / (beta² P + R)."""
    return f_beta_of(precision(k), recall(), beta)


def f_beta_of(precision: pl.Expr, recall: pl.Expr, beta: float) -> pl.Expr:
    """(1 + beta²) P R / (beta² P + R), 0 where both are 0."""
    below = beta**2 * precision + recall
    return pl.when(below > 0).then((1 + beta**2) * precision * recall / below).otherwise(0.0)


def r_precision() -> pl.Expr:
    """Hits among the first R over R."""
    return (_RANK <= _POSITIVES).sum() / _POSITIVES.first()


def reciprocal_rank() -> pl.Expr:
    """1 over the first hit's rank."""
    return 1 / _RANK.min()


def success() -> pl.Expr:
    """1 with a hit."""
    return (pl.len() > 0).cast(pl.Float64)


def dcg() -> pl.Expr:
    """The sum of grade / log2(rank + 1)."""
    return (pl.col("relevance") / (_RANK + 1).log(2)).sum()


def expected_reciprocal_rank() -> pl.Expr:
    """The sum of 1 / rank · R_i · product over the hits above of (1 - R_j), with R = (2^grade - 1) / 2^max_grade."""
    stops = (2 ** pl.col("relevance") - 1) / 2 ** pl.col("max_grade")
    goes_on = (1 - stops).cum_prod().shift(1).fill_null(1.0)
    return (stops * goes_on / _RANK).sum()


def rank_biased_precision(p: float) -> pl.Expr:
    """(1 - p) times the sum of p^(rank - 1)."""
    return ((1 - p) * p ** (_RANK - 1).cast(pl.Float64)).sum()


def binary_preference() -> pl.Expr:
    """The mean over the positives of 1 - min(judged non-relevant above, R) / min(all judged non-relevant, R)."""
    worst = pl.min_horizontal("n_nonrelevant", _POSITIVES)
    above = pl.min_horizontal("nonrelevant_above", _POSITIVES)
    return pl.when(worst > 0).then(1 - above / worst.clip(1)).otherwise(1.0).sum() / _POSITIVES.first()


def inferred_ap() -> pl.Expr:
    """AP as if the documents of the pool that were not judged were relevant as often as the judged ones above a hit.

    The pool: judged documents and those of negative relevance. Precision at a hit of rank j + 1 is
    1 / (j + 1) + j / (j + 1) · (pooled above / j) · (relevant above + e) / (judged above + 2 e), averaged over R.
    """
    above, relevant = _RANK - 1, pl.col("tp") - 1
    judged = relevant + pl.col("nonrelevant_above")
    pooled = (judged + pl.col("unjudged_above")) / above.clip(1)
    inferred = pooled * (relevant + _EPSILON) / (judged + 2 * _EPSILON)
    return ((1 + above * inferred) / _RANK).sum() / _POSITIVES.first()


def inverse_negative_penalty() -> pl.Expr:
    """R over the rank of the last positive, 0 unless all are retrieved."""
    return pl.when(pl.len() == _POSITIVES.first()).then(_POSITIVES.first() / _RANK.max()).otherwise(0.0)
