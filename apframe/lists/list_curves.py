"""Curves of ranked lists as tables: precision and recall, or the two rates of ROC, at every rank or every threshold.

Both curves are computed from the same confusion matrices. For fixed numbers of positives and negatives, each point of one curve
corresponds to one point of the other if recall is not 0 (otherwise precision is 0 whatever the false positives), and a curve is
nowhere below another in ROC space exactly if this holds in precision–recall space (Davis and Goadrich 2006, theorems 3.1 and
3.2). `pr_from_roc` converts one to the other. The areas have no such relation.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import polars as pl

from apframe.columns import exact
from apframe.exceptions import ColumnError, ParameterError
from apframe.lists.ranked_lists import (
    Column,
    ThenBy,
    Ties,
    as_expr,
    count_positives,
    item_columns,
    last_of_ties,
    rank_counted,
    refuse_too_few,
)
from apframe.metrics.points import PRECISION, envelope, recall_of
from apframe.option_values import whole_number
from apframe.tables.column_sources import to_polars
from apframe.wording import did_you_mean

Keys = str | Sequence[str]
_TP, _FP, _RANK = pl.col("tp"), pl.col("fp"), pl.col("rank")


def precision_recall_curve(
    frame: Any,
    relevant: Column = "relevant",
    score: Column = "score",
    *,
    by: Keys = (),
    n_positives: int | Column,
    ties: Ties = "group",
    then_by: ThenBy | None = None,
    ignore: Column | None = None,
    max_points: int | None = None,
) -> pl.DataFrame:
    """Compute precision and recall down each ranked list.

    Parameters
    ----------
    frame
        one row per item: Polars, eager or lazy, or any object with columns
    relevant, score
        flags or grades, positive above 0, where null is not positive; and the score, highest first, where null means not
        retrieved
    by
        the columns that distinguish the lists; without any, there is one list
    n_positives
        the number of all positives, retrieved or not: a number, or a column or expression with one value per list
    ties
        "group": a point per distinct score, at the rank of its last item, because no threshold separates equal scores; "input",
        "best" and "worst": a point per item, in the orders that `apframe.lists.expressions` describes
    then_by, ignore
        see there
    max_points
        thins each list's curve, see `thin_curve`

    Returns
    -------
    By list, in order of appearance, and rank: the columns of `by`, rank (items so far), score, tp, fp, precision `tp / rank`,
    recall `tp / n_positives` (null without positives), interpolated_precision (the best precision here or further down). A list
    without items that count has no rows.

    Raises
    ------
    ColumnError
        a column is missing
    ParameterError
        n_positives smaller than the number of positives in the list; unknown ties policy; max_points below 2; a key with the
        name of a column of the result
    ScoreError
        NaN among scores or relevance

    >>> items = pl.DataFrame({"relevant": [1, 0, 0, 1], "score": [0.9, 0.6, 0.3, 0.3]})
    >>> curve = precision_recall_curve(items, n_positives=2)
    >>> curve.select("rank", "score", "tp", "fp", "precision", "recall", "interpolated_precision").rows()
    [(1, 0.9, 1, 0, 1.0, 0.5, 1.0), (2, 0.6, 1, 1, 0.5, 0.5, 0.5), (4, 0.3, 2, 2, 0.5, 1.0, 0.5)]
    """
    _check_points(max_points)
    keys, points = _points(frame, by, relevant, score, ties, then_by, ignore, n_positives=n_positives)
    points = points.with_columns(precision=PRECISION, recall=_rate(_TP, "n_positives")).with_columns(
        interpolated_precision=envelope(pl.col("precision")).over("group")
    )
    if max_points is not None:
        points = thin_curve(points, max_points, by="group", along="recall", across="precision")
    names = ["rank", "score", "tp", "fp", "precision", "recall", "interpolated_precision"]
    return _with_keys(points, keys, names)


def roc_curve(
    frame: Any,
    relevant: Column = "relevant",
    score: Column = "score",
    *,
    by: Keys = (),
    n_positives: int | Column,
    n_negatives: int | Column,
    ties: Ties = "group",
    then_by: ThenBy | None = None,
    ignore: Column | None = None,
    max_points: int | None = None,
) -> pl.DataFrame:
    """Compute the rates of true and false positives down each ranked list, from (0, 0).

    The parameters and errors are the same as in `precision_recall_curve`; `n_negatives` is the number of all negatives. The
    curve ends at (1, 1) if everything was retrieved.

    Returns
    -------
    By list and rank: the columns of `by`, rank (0 at the start, where score is null), score, tp, fp, true_positive_rate
    `tp / n_positives` and false_positive_rate `fp / n_negatives` (null without positives or negatives).

    >>> items = pl.DataFrame({"relevant": [1, 0, 1, 0], "score": [0.9, 0.5, 0.5, 0.1]})
    >>> roc_curve(items, n_positives=2, n_negatives=2).drop("tp", "fp").rows()
    [(0, None, 0.0, 0.0), (1, 0.9, 0.5, 0.0), (3, 0.5, 1.0, 0.5), (4, 0.1, 1.0, 1.0)]
    """
    _check_points(max_points)
    numbers = {"n_positives": n_positives, "n_negatives": n_negatives}
    keys, points = _points(frame, by, relevant, score, ties, then_by, ignore, **numbers)
    zero, no_score = pl.lit(0, pl.Int64), pl.lit(None, points.schema["score"])
    start = points.unique("group").with_columns(rank=zero, tp=zero, fp=zero, score=no_score)
    points = pl.concat([start, points]).sort("group", "rank")
    points = points.with_columns(true_positive_rate=_rate(_TP, "n_positives"), false_positive_rate=_rate(_FP, "n_negatives"))
    if max_points is not None:
        points = thin_roc(points, max_points, by="group")
    return _with_keys(points, keys, ["rank", "score", "tp", "fp", "true_positive_rate", "false_positive_rate"])


def pr_from_roc(curve: Any, *, by: Keys = (), n_positives: int | Column, n_negatives: int | Column) -> pl.DataFrame:
    """Convert an ROC curve to the corresponding points of the precision–recall curve.

    tp = true_positive_rate · n_positives and fp = false_positive_rate · n_negatives, rounded to whole counts; the start, where
    no item is included, has no precision and is omitted. Source: Davis and Goadrich 2006. For a curve that was not thinned, the
    result equals `precision_recall_curve`, to the last bit.

    Parameters
    ----------
    curve
        by list and rank: true_positive_rate, false_positive_rate, the columns of `by`, and further columns, which are kept
    by
        the columns that distinguish the curves
    n_positives, n_negatives
        the number of all positives and negatives: numbers, or columns or expressions of the curve

    Returns
    -------
    The columns of the curve without the rates, and rank, tp, fp, precision, recall, interpolated_precision.

    >>> roc = pl.DataFrame({"false_positive_rate": [0.0, 0.0, 0.5, 1.0], "true_positive_rate": [0.0, 0.5, 1.0, 1.0]})
    >>> pr_from_roc(roc, n_positives=2, n_negatives=2).select("tp", "fp", "precision", "recall").rows()
    [(1, 0, 1.0, 0.5), (2, 1, 0.6666666666666666, 1.0), (2, 2, 0.5, 1.0)]
    """
    rates, keys, points = ["true_positive_rate", "false_positive_rate"], key_names(by), to_polars(curve, "curve")
    refuse_missing("curve", points, [*keys, *rates])
    counts = [
        (pl.col(rate) * as_expr(n)).round().cast(pl.Int64) for rate, n in zip(rates, (n_positives, n_negatives), strict=True)
    ]
    return (
        points.with_columns(tp=counts[0].fill_null(0), fp=counts[1].fill_null(0))  # rates may be null
        .with_columns(rank=_TP + _FP)
        .filter(_RANK > 0)
        .with_columns(precision=PRECISION, recall=rates[0])
        .drop(rates)
        .with_columns(interpolated_precision=envelope(pl.col("precision")).over(_key(keys)))
    )


def thin_curve(
    curve: pl.DataFrame, max_points: int, *, by: Keys = (), along: str | pl.Expr, across: str | pl.Expr
) -> pl.DataFrame:
    """Select at most `max_points` rows of each curve that keep its picture the same.

    The first and the last row are kept. In between, the range of `along` (recall) is split into equal bins, half as many as the
    remaining points, and each bin keeps its rows of highest and lowest `across` (precision): within a bin the line reaches as
    far up and down as before. The selected rows do not change.

    >>> curve = pl.DataFrame({"recall": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6], "precision": [1.0, 0.5, 0.4, 0.7, 0.6, 0.5]})
    >>> thin_curve(curve, 4, along="recall", across="precision")["recall"].to_list()
    [0.1, 0.3, 0.4, 0.6]
    """
    _check_points(max_points)
    n_bins, row, value = (max_points - 2) // 2, pl.int_range(pl.len()), pl.col("along")
    binned = ((value - value.min()) / (value.max() - value.min()) * n_bins).floor().clip(upper_bound=n_bins - 1)
    points = curve.select(key=_key(key_names(by)), along=along, across=across).with_columns(
        is_end=((pl.len() <= max_points) | (row == 0) | (row == pl.len() - 1)).over("key"), bin=binned.over("key")
    )
    inner = pl.when(~pl.col("is_end")).then("across")
    turns = ((row == inner.arg_max()) | (row == inner.arg_min())).over("key", "bin")
    return curve.filter(points.select(pl.col("is_end") | (turns if n_bins else False)).to_series())


def thin_roc(curve: pl.DataFrame, max_points: int, *, by: Keys = ()) -> pl.DataFrame:
    """Thin an ROC curve, see `thin_curve`, along the sum of the rates.

    With an even number n of points, each omitted row is near a kept one: |difference of the true positive rates| + |of the
    false positive rates| is at most 4 / (n - 2).

    >>> roc = pl.DataFrame({"true_positive_rate": [0.0, 0.1, 0.2, 1.0, 1.0], "false_positive_rate": [0.0, 0.0, 0.0, 0.0, 1.0]})
    >>> thin_roc(roc, 4).rows()
    [(0.0, 0.0), (0.1, 0.0), (1.0, 0.0), (1.0, 1.0)]
    """
    tpr, fpr = pl.col("true_positive_rate"), pl.col("false_positive_rate")
    return thin_curve(curve, max_points, by=by, along=tpr + fpr, across=tpr - fpr)


def refuse_missing(table: str, frame: pl.DataFrame, columns: Iterable[str]) -> None:
    """Raise a `ColumnError` that names the missing columns."""
    missing = [name for name in dict.fromkeys(columns) if name not in frame.columns]
    if missing:
        raise ColumnError(f"no column {', '.join(missing)}", did_you_mean(missing[0], frame.columns), table=table)


def _points(
    frame: Any,
    by: Keys,
    relevant: Column,
    score: Column,
    ties: Ties,
    then_by: ThenBy | None,
    ignore: Column | None,
    **numbers: int | Column,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the keys of every row of the frame, and the points of all lists; their `group` is a row number of their keys."""
    table, names = to_polars(frame, "items"), key_names(by)
    columns, descending = item_columns(relevant, score, ties=ties, then_by=then_by, ignore=ignore)
    columns += [as_expr(n).first().over(_key(names)).cast(pl.Float64).alias(name) for name, n in numbers.items()]
    refuse_missing("items", table, [*names, *(name for column in columns for name in column.meta.root_names())])
    keys = table.select(map(exact, names))
    items = table.select(columns).with_columns(group=_first_rows(keys) if names else pl.lit(0, pl.Int64))
    items = items.with_columns(row=pl.int_range(1, pl.len() + 1))
    ranked = rank_counted(items, descending)
    totals = items.unique("group")
    for name in numbers:
        refuse_too_few(totals, ranked, positive=name == "n_positives")
    points = count_positives(ranked).with_columns(fp=_RANK - _TP)
    return keys, points.filter(last_of_ties()) if ties == "group" else points


def _first_rows(keys: pl.DataFrame) -> pl.Series:
    """Return, for every row, the first row with equal keys."""
    rows = keys.select(key=pl.struct(pl.all()), row=pl.int_range(pl.len()))
    return rows.select(pl.col("row").first().over("key")).to_series()


def _with_keys(points: pl.DataFrame, keys: pl.DataFrame, names: list[str]) -> pl.DataFrame:
    used_names = [name for name in keys.columns if name in names]
    if used_names:
        raise ParameterError(f"{', '.join(used_names)} is already a column of the curve", "rename the key", option="by")
    return keys[points["group"]].hstack(points.select(names)) if keys.width else points.select(names)


def _rate(count: pl.Expr, of: str) -> pl.Expr:
    return pl.when(pl.col(of) > 0).then(recall_of(count, pl.col(of)))


def key_names(by: Keys) -> list[str]:
    """Return the names of the key columns as a list; a single name is accepted."""
    return [by] if isinstance(by, str) else list(by)


def _key(names: list[str]) -> pl.Expr:
    return pl.struct(map(exact, names)) if names else pl.lit(0)


def _check_points(max_points: int | None) -> None:
    if max_points is not None:
        whole_number("max_points", max_points, 2)
