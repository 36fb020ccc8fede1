"""Measures of one ranked list as Polars expressions: for `group_by().agg()`, `.over()`, `.select()`; eager, lazy, streaming.

Each function accepts the relevance of the items (a flag, or a grade that is positive above 0) and the score that ranks them,
highest first; `pl.col("relevant").ap.<name>(...)` is the same as `<name>("relevant", ...)`. All of them follow these rules:

- An item with `ignore` has no rank; an item whose score is null was not retrieved, and has no rank either.
- The result is named after the measure; several definitions give a struct of that name.
- Groups without rows, and groups without positives if the measure requires some, give null.
- `k` cuts the list at a rank. `ties` is the treatment of equal scores: "input" keeps the order of the rows, or orders them by
  `then_by`: columns, ascending unless given as `("document_id", "desc")`; "group" makes them one point of the curve, as
  scikit-learn does; "best" and "worst" put positives first and last, which gives the bounds that ties allow.
- A NaN score or relevance raises a `ScoreError` that names the rows, counted from 1 within their group. Unknown names, k < 1,
  and k with ties="group" raise a `ParameterError`.

Internally, an expression gathers the items of each group, and one function processes the items of all groups as one table.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import polars as pl

from apframe.exceptions import ParameterError
from apframe.lists import relevance as hits
from apframe.lists.ranked_lists import (
    Column,
    ThenBy,
    Ties,
    as_expr,
    as_flag,
    find_points,
    item_columns,
    rank_counted,
    refuse_too_few,
)
from apframe.metrics.definitions import as_definition
from apframe.metrics.points import PRECISION, Definition, recall_of
from apframe.option_values import whole_number

_POSITIVES = pl.col("n_positives")
_RECALL = recall_of(pl.col("tp"), _POSITIVES)


def average_precision(
    relevant: Column,
    by: Column,
    *,
    n_positives: int | Column,
    definition: str | Definition | Sequence[str | Definition] = "step",
    k: int | None = None,
    over: Literal["n_positives", "min", "hits"] = "n_positives",
    ties: Ties = "input",
    then_by: ThenBy | None = None,
    ignore: Column | None = None,
) -> pl.Expr:
    """Average precision of a ranked list, by any published definition; null without positives.

    Parameters
    ----------
    relevant
        flags or grades; positive above 0, null is not positive
    by
        the score, highest first; null means not retrieved
    n_positives
        the number of all positives, retrieved or not: a number, or a column or expression with one value per group
    definition
        a name from `apframe.list_definitions()`, or a value; several give a struct with a field for each, for `unnest`
    k
        the rank at which the list is cut
    over
        the divisor of recall: "n_positives", "min" (of n_positives and k) or "hits" (the positives in the list)
    ties, then_by, ignore
        see `apframe.lists.expressions`

    Raises
    ------
    ParameterError
        unknown names; k < 1; k with ties="group"; n_positives is smaller than the number of positives in the list
    ScoreError
        NaN among scores or relevance

    >>> frame = pl.DataFrame({"relevant": [1, 0, 1, 0, 1], "score": [0.9, 0.8, 0.7, 0.6, 0.5]})
    >>> ap = pl.col("relevant").ap.average_precision("score", n_positives=3, definition=["step", "set"])
    >>> frame.select(ap).unnest("average_precision").to_dicts()
    [{'step': 0.7555555555555555, 'set': 0.6}]
    """
    if isinstance(definition, (str, Definition)):
        aggregates: pl.Expr | dict[str, pl.Expr] = as_definition(definition).of_points()
    else:
        definitions = [as_definition(one) for one in definition]
        aggregates = {str(one): one.of_points() for one in definitions}
        if not definitions or len(aggregates) < len(definitions):
            raise ParameterError(
                f"name at least one and no duplicates, not {[str(one) for one in definitions]}", option="definition"
            )
    return _Ranking(relevant, by, ties, then_by, ignore, k, n_positives).measure(
        "average_precision", aggregates, divisor=hits.divisor(over, k)
    )


def precision(
    relevant: Column,
    by: Column,
    *,
    k: int | None = None,
    ties: Ties = "input",
    then_by: ThenBy | None = None,
    ignore: Column | None = None,
) -> pl.Expr:
    """Precision at k: positives among the first k, divided by k (even if the list is shorter); without k, by its length.

    >>> pl.DataFrame({"r": [1, 0, 1], "s": [3, 2, 1]}).select(precision("r", "s", k=2)).item()
    0.5
    """
    return _Ranking(relevant, by, ties, then_by, ignore, k).measure("precision", hits.precision(k))


def recall(
    relevant: Column,
    by: Column,
    *,
    n_positives: int | Column,
    k: int | None = None,
    ties: Ties = "input",
    then_by: ThenBy | None = None,
    ignore: Column | None = None,
) -> pl.Expr:
    """Recall at k: positives among the first k (without k, in the list), divided by all positives; null without positives.

    >>> pl.DataFrame({"r": [1, 0, 1], "s": [3, 2, 1]}).select(recall("r", "s", n_positives=4, k=2)).item()
    0.25
    """
    return _Ranking(relevant, by, ties, then_by, ignore, k, n_positives).measure("recall", hits.recall())


def f_beta(
    relevant: Column,
    by: Column,
    *,
    n_positives: int | Column,
    beta: float = 1.0,
    k: int | None = None,
    ties: Ties = "input",
    then_by: ThenBy | None = None,
    ignore: Column | None = None,
) -> pl.Expr:
    """F-beta at k: (1 + beta²) P R / (beta² P + R) of precision and recall at k; beta > 1 gives recall more weight.

    Source: van Rijsbergen 1979. 0 without a hit, null without positives.

    >>> pl.DataFrame({"r": [1, 0, 1], "s": [3, 2, 1]}).select(f_beta("r", "s", n_positives=2, k=2)).item()
    0.5
    """
    return _Ranking(relevant, by, ties, then_by, ignore, k, n_positives).measure("f_beta", hits.f_beta(k, _beta(beta)))


def r_precision(
    relevant: Column,
    by: Column,
    *,
    n_positives: int | Column,
    ties: Ties = "input",
    then_by: ThenBy | None = None,
    ignore: Column | None = None,
) -> pl.Expr:
    """Precision at rank R, the number of all positives, where precision and recall are equal. Null without positives.

    >>> pl.DataFrame({"r": [1, 0, 1], "s": [3, 2, 1]}).select(r_precision("r", "s", n_positives=2)).item()
    0.5
    """
    return _Ranking(relevant, by, ties, then_by, ignore, None, n_positives).measure(
        "r_precision", hits.r_precision(), at_ranks=True
    )


def reciprocal_rank(
    relevant: Column,
    by: Column,
    *,
    k: int | None = None,
    ties: Ties = "input",
    then_by: ThenBy | None = None,
    ignore: Column | None = None,
) -> pl.Expr:
    """1 divided by the rank of the first positive; 0 if none is among the first k.

    >>> pl.DataFrame({"r": [0, 0, 1], "s": [3, 2, 1]}).select(reciprocal_rank("r", "s")).item()
    0.3333333333333333
    """
    return _Ranking(relevant, by, ties, then_by, ignore, k).measure("reciprocal_rank", hits.reciprocal_rank(), at_ranks=True)


def success(
    relevant: Column,
    by: Column,
    *,
    k: int | None = None,
    ties: Ties = "input",
    then_by: ThenBy | None = None,
    ignore: Column | None = None,
) -> pl.Expr:
    """1 if a positive is among the first k, else 0; the CMC of re-identification at rank k.

    >>> pl.DataFrame({"r": [0, 0, 1], "s": [3, 2, 1]}).select(success("r", "s", k=2)).item()
    0.0
    """
    return _Ranking(relevant, by, ties, then_by, ignore, k).measure("success", hits.success())


def dcg(
    relevance: Column,
    by: Column,
    *,
    k: int | None = None,
    ties: Ties = "input",
    then_by: ThenBy | None = None,
    ignore: Column | None = None,
) -> pl.Expr:
    """Discounted cumulative gain: the sum of grade / log2(rank + 1) over the first k; negative grades count 0.

    Source: Järvelin and Kekäläinen 2002, with the discount of Burges et al. 2005, as in trec_eval. If `by` is the grades
    themselves, the result is the best possible value.

    >>> pl.DataFrame({"r": [0, 3], "s": [2, 1]}).select(dcg("r", "s"), best=dcg("r", "r")).row(0)
    (1.8927892607143721, 3.0)
    """
    return _Ranking(relevance, by, ties, then_by, ignore, k).measure("dcg", hits.dcg(), at_ranks=True)


def ndcg(
    relevance: Column,
    by: Column,
    *,
    k: int | None = None,
    ideal: float | Column | None = None,
    ties: Ties = "input",
    then_by: ThenBy | None = None,
    ignore: Column | None = None,
) -> pl.Expr:
    """Normalized DCG: `dcg` divided by the DCG of the best order; null if no grade is above 0.

    `ideal` is the DCG of the best order, one value per group. By default, it is computed from the group's own items, including
    those that were not retrieved (null score).

    >>> pl.DataFrame({"r": [0, 3], "s": [2, 1]}).select(ndcg("r", "s")).item()
    0.6309297535714574
    """
    if ideal is None:
        considered = as_expr(relevance).filter(~as_flag(ignore))
        ideal = dcg(considered, considered, k=k)
    best = as_expr(ideal).first().cast(pl.Float64)
    gain = dcg(relevance, by, k=k, ties=ties, then_by=then_by, ignore=ignore)
    return pl.when((best > 0) & best.is_finite()).then(gain / best).alias("ndcg")


def precision_at_recall(
    relevant: Column,
    by: Column,
    *,
    n_positives: int | Column,
    recall: float,
    ties: Ties = "input",
    then_by: ThenBy | None = None,
    ignore: Column | None = None,
) -> pl.Expr:
    """The best precision at this recall or a higher one (the interpolated precision); 0 if the list never reaches it.

    >>> pl.DataFrame({"r": [1, 0, 1], "s": [3, 2, 1]}).select(precision_at_recall("r", "s", n_positives=2, recall=0.6)).item()
    0.6666666666666666
    """
    best = PRECISION.filter(_share("recall", recall) <= _RECALL).max()
    return _Ranking(relevant, by, ties, then_by, ignore, None, n_positives).measure("precision_at_recall", best)


def recall_at_precision(
    relevant: Column,
    by: Column,
    *,
    n_positives: int | Column,
    precision: float,
    ties: Ties = "input",
    then_by: ThenBy | None = None,
    ignore: Column | None = None,
) -> pl.Expr:
    """The largest recall at which precision is at least this value; 0 if there is none.

    >>> frame = pl.DataFrame({"r": [1, 0, 1], "s": [3, 2, 1]})
    >>> frame.select(recall_at_precision("r", "s", n_positives=2, precision=0.8)).item()
    0.5
    """
    best = _RECALL.filter(_share("precision", precision) <= PRECISION).max()
    return _Ranking(relevant, by, ties, then_by, ignore, None, n_positives).measure("recall_at_precision", best)


def best_f_beta(
    relevant: Column,
    by: Column,
    *,
    n_positives: int | Column,
    beta: float = 1.0,
    ignore: Column | None = None,
) -> pl.Expr:
    """The best F-beta of any score threshold, as a struct: f_beta, precision, recall and score (the threshold).

    Items with at least that score are included. Equal scores stay together, because no threshold separates them; among equal F
    the highest threshold is returned. All are null without positives; without a hit f_beta, precision and recall are 0, and
    score is null.

    >>> frame = pl.DataFrame({"r": [1, 0, 1, 0], "s": [0.9, 0.8, 0.7, 0.6]})
    >>> frame.select(best_f_beta("r", "s", n_positives=2)).unnest("best_f_beta").row(0)
    (0.8, 0.6666666666666666, 1.0, 0.7)
    """
    f = hits.f_beta_of(PRECISION, _RECALL, _beta(beta))
    parts = {"f_beta": f, "precision": PRECISION, "recall": _RECALL, "score": pl.col("score").cast(pl.Float64)}
    best = {name: part.get(f.arg_max()) for name, part in parts.items()}
    return _Ranking(relevant, by, "group", None, ignore, None, n_positives).measure("best_f_beta", best, no_hit={"score": None})


@dataclass(frozen=True)
class _Ranking:
    """The columns and rules that rank the items of a group."""

    relevance: Column
    by: Column
    ties: Ties
    then_by: ThenBy | None
    ignore: Column | None
    k: int | None
    n_positives: int | Column | None = None

    def measure(
        self,
        name: str,
        aggregates: pl.Expr | Mapping[str, pl.Expr],
        *,
        at_ranks: bool = False,
        divisor: pl.Expr = _POSITIVES,
        no_hit: Mapping[str, float | None] | None = None,
    ) -> pl.Expr:
        """Return the expression of one measure, or of several as a struct.

        `aggregates` are over the points of a list. `at_ranks` means that they read single ranks. They see `divisor` as
        n_positives; `no_hit` are the values for a list without points, if not 0.
        """
        self._check(at_ranks)
        for column in (self.relevance, self.by):
            if isinstance(column, pl.Expr) and column.meta.has_multiple_outputs():
                raise ParameterError("give one column each for relevance and score", "call once per column")
        columns, descending = item_columns(self.relevance, self.by, ties=self.ties, then_by=self.then_by, ignore=self.ignore)
        items = pl.struct(*columns)
        n_positives = pl.lit(None) if self.n_positives is None else as_expr(self.n_positives)
        group = pl.struct(
            items.implode().alias("items"), n_positives.first().alias("given"), n_positives.n_unique().alias("n_given")
        )
        named_aggregates = aggregates if isinstance(aggregates, Mapping) else {"value": aggregates}

        def measure_groups(groups: pl.Series) -> pl.Series:
            return self._values(groups, descending, named_aggregates, divisor, no_hit or {}).to_struct("")

        dtype = pl.Struct(dict.fromkeys(named_aggregates, pl.Float64))
        measured = group.map_batches(measure_groups, return_dtype=dtype, is_elementwise=True)
        measured = measured if isinstance(aggregates, Mapping) else measured.struct.field("value")
        return measured.alias(name)

    def _check(self, at_ranks: bool) -> None:
        if self.k is not None:
            whole_number("k", self.k)
        if self.ties == "group" and (self.k is not None or at_ranks):
            raise ParameterError('ties="group" has no individual ranks to cut or count at', '"best" and "worst" give bounds')

    def _values(
        self,
        groups: pl.Series,
        descending: Sequence[bool],
        aggregates: Mapping[str, pl.Expr],
        divisor: pl.Expr,
        no_hit: Mapping[str, float | None],
    ) -> pl.DataFrame:
        """Return one row per group, for all groups at once."""
        lists = groups.struct.unnest().with_row_index("group")
        items = lists.select("group", "items").filter(pl.col("items").list.len() > 0).explode("items").unnest("items")
        counted = rank_counted(items, descending)
        ranked = counted if self.k is None else counted.filter(pl.col("rank") <= self.k)
        sizes = ranked.group_by("group").agg(n_ranked=pl.len())
        totals = lists.select("group", n_positives=pl.col("given").cast(pl.Float64), there=pl.col("items").list.len() > 0).join(
            sizes, on="group", how="left", maintain_order="left"
        )
        if self.n_positives is not None:
            totals = totals.with_columns(there=pl.col("there") & (pl.col("n_positives") > 0))
            if (lists["n_given"] > 1).any():
                raise ParameterError(
                    "has several values in one group", "give one number: all positives of the group", option="n_positives"
                )
            refuse_too_few(totals, counted)
        points = find_points(ranked, by_score=self.ties == "group").join(totals, on="group", maintain_order="left")
        values = points.with_columns(n_positives=divisor).group_by("group").agg(**aggregates)
        filled = [pl.col(name).fill_null(pl.lit(no_hit.get(name, 0.0), pl.Float64)) for name in aggregates]
        return totals.join(values, on="group", how="left", maintain_order="left").select(
            pl.when("there").then(value).cast(pl.Float64) for value in filled
        )


def _beta(beta: float) -> float:
    if not isinstance(beta, (int, float)) or beta <= 0 or not beta * beta < float("inf"):
        raise ParameterError(f"must be a number above 0, not {beta!r}", option="beta")
    return beta


def _share(name: str, value: float) -> float:
    if not 0 <= value <= 1:
        raise ParameterError(f"must be in [0, 1], not {value}", option=name)
    return value


def _as_method(function: Callable[..., pl.Expr]) -> Callable[..., pl.Expr]:
    @functools.wraps(function)
    def method(self: RankedList, *args: Any, **options: Any) -> pl.Expr:
        return function(self.relevant, *args, **options)

    return method


class RankedList:
    """The namespace `pl.col("relevant").ap`: the functions of this module as methods of the expression of relevance."""

    def __init__(self, relevant: pl.Expr) -> None:
        self.relevant = relevant

    average_precision = _as_method(average_precision)
    precision = _as_method(precision)
    recall = _as_method(recall)
    f_beta = _as_method(f_beta)
    r_precision = _as_method(r_precision)
    reciprocal_rank = _as_method(reciprocal_rank)
    success = _as_method(success)
    dcg = _as_method(dcg)
    ndcg = _as_method(ndcg)
    precision_at_recall = _as_method(precision_at_recall)
    recall_at_precision = _as_method(recall_at_precision)
    best_f_beta = _as_method(best_f_beta)
