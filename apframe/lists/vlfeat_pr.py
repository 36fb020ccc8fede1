"""Precision and recall of one ranked list with the options and conventions of VLFeat's `vl_pr`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

from apframe.exceptions import CountWarning, ParameterError, ScoreError, warn
from apframe.metrics.points import envelope, recall_of
from apframe.option_values import whole_number
from apframe.rows import row_numbers
from apframe.wording import counted, listed

_EMPTY = 1e-10  # VLFeat's divisor for a class that is declared empty


@dataclass(frozen=True, repr=False, eq=False)
class PrecisionRecall:
    """The result of `vl_pr`. Without positives recall, auc, ap and ap_interp_11 are null.

    Attributes
    ----------
    curve
        recall, precision, score, tp, fp: one row per retrieved item, best score first, after a point for the empty list
        (recall 0, precision 1, no score). With `stable`: one row per item in the original order and no such point; recall,
        precision, tp and fp are null for items that were not retrieved.
    auc
        the area under straight lines between the points; if interpolated, under steps, which equals `ap`
    ap
        the precision at each positive, averaged over all positives
    ap_interp_11
        the largest precision at recall >= 0, .1, … 1, averaged
    random_baseline
        the precision of a random order: p / (p + n), or `normalize_prior`
    """

    curve: pl.DataFrame
    auc: float | None
    ap: float | None
    ap_interp_11: float | None
    random_baseline: float | None

    @property
    def auc_pa08(self) -> float | None:
        """VLFeat's old name of `ap_interp_11`."""
        return self.ap_interp_11

    def __repr__(self) -> str:
        values = {name: getattr(self, name) for name in ("ap", "auc", "ap_interp_11")}
        shown = ", ".join(f"{name}={value if value is None else format(value, '.6f')}" for name, value in values.items())
        return f"PrecisionRecall({shown}; {counted(self.curve.height, 'point')})"


def vl_pr(
    labels: Any,
    scores: Any,
    *,
    num_positives: int | None = None,
    num_negatives: int | None = None,
    include_inf: bool = False,
    interpolate: bool = False,
    stable: bool = False,
    normalize_prior: float | None = None,
) -> PrecisionRecall:
    """Compute the precision-recall curve and its areas as VLFeat does.

    Walking down the scores, with p positives and n negatives in all, `recall = tp / p` and `precision = tp / (tp + fp)`, which
    is 1 as long as nothing is counted. Equal scores keep their order. Source: VLFeat, `vl_pr` and `vl_tpfp`.

    Parameters
    ----------
    labels
        a sequence, Series or array of numbers: above 0 positive, below 0 negative, 0 ignored (a point of the curve that does
        not count). Flags are rejected, because False would be ignored.
    scores
        one for each label; -inf (or null) means not retrieved
    num_positives, num_negatives
        the number of all positives and negatives, instead of the number among the labels; the additional ones are never
        retrieved, not even with `include_inf`. `num_negatives` only changes `normalize_prior` and `random_baseline`.
    include_inf
        whether to retrieve items of score -inf too, last
    interpolate
        whether precision is the largest at this recall or a higher one
    stable
        whether the curve has the order of the labels
    normalize_prior
        weights for positives and negatives such that this share (0 to 1) of all is positive (Hoiem et al. 2012):
        `precision = (tp a / p) / (tp a / p + fp (1 - a) / n)`

    Returns
    -------
    A `PrecisionRecall`. `ap` is the definition "step", or "interpolated" with `interpolate`, and `auc` is "trapezoid".
    `ap_interp_11` differs from "eleven_point": the first point, recall 0 and precision 1, belongs to the curve, so level 0
    always has precision 1. Where VLFeat replaces 0 by 1e-10, 0 is kept: values without positives are null, not 0 or NaN, and
    the precision of negatives alone is 0.

    Raises
    ------
    ParameterError
        labels and scores of different lengths, or not numbers; a count that is not a whole number; a prior outside (0, 1)
    ScoreError
        NaN among scores, NaN or null among labels; the error names the rows

    Warns
    -----
    CountWarning
        a count is smaller than the number among the labels: recall may end above 1

    >>> result = vl_pr([1, -1, 1], [0.9, 0.8, 0.7], num_positives=4)
    >>> result
    PrecisionRecall(ap=0.416667, auc=0.395833, ap_interp_11=0.454545; 4 points)
    >>> result.curve.select("recall", "precision").rows()[:3]
    [(0.0, 1.0), (0.25, 1.0), (0.25, 0.5)]
    """
    items = _items(labels, scores)
    if normalize_prior is not None and not 0 < normalize_prior < 1:
        raise ParameterError(f"must be between 0 and 1, not {normalize_prior!r}", option="normalize_prior")
    is_positive, is_negative = pl.col("label") > 0, pl.col("label") < 0
    present = items.select(p=is_positive.sum(), n=is_negative.sum()).row(0)
    if present[0] and not present[1] and num_negatives is None and (items["label"] == 0).any():
        warn("no label is negative, and labels of 0 are ignored; use -1 for negatives", CountWarning)
    p = _count("num_positives", num_positives, present[0])
    n = _count("num_negatives", num_negatives, present[1])

    is_retrieved = pl.lit(True) if include_inf else pl.col("score") > -float("inf")
    ranked = items.sort("score", descending=True, maintain_order=True).filter(is_retrieved)
    nothing = pl.DataFrame({"row": None, "label": 0, "score": None}, schema=items.schema)
    tp, fp, precision = pl.col("tp"), pl.col("fp"), pl.col("precision")
    good, bad = tp, fp
    if normalize_prior is not None:
        good = tp * (normalize_prior / max(p, _EMPTY))
        bad = fp * ((1 - normalize_prior) / max(n, _EMPTY))
    points = (
        pl.concat([nothing, ranked])
        .with_columns(tp=is_positive.cast(pl.Int64).cum_sum(), fp=is_negative.cast(pl.Int64).cum_sum())
        .with_columns(
            recall=recall_of(tp, pl.lit(p or None, pl.Float64)),
            precision=pl.when(tp + fp > 0).then(good / (good + bad)).otherwise(1.0),
        )
        .with_columns(envelope(precision) if interpolate else precision)
    )

    ap = auc = ap_interp_11 = None
    if p:
        sides = points.select(at=precision, before=precision.shift()).filter(points["label"] > 0)
        at, before = sides.sum().row(0)
        ap = at / p
        auc = ap if interpolate else (before + at) / 2 / p
        best = [precision.filter(pl.col("recall") >= level / 10).max().fill_null(0.0).alias(str(level)) for level in range(11)]
        ap_interp_11 = points.select(best).mean_horizontal().item()
    baseline = normalize_prior if normalize_prior is not None else p / (p + n) if p + n else None

    if stable:
        points = items.select("row", "score").join(points.drop("score"), on="row", how="left", maintain_order="left")
    return PrecisionRecall(points.select("recall", "precision", "score", "tp", "fp"), auc, ap, ap_interp_11, baseline)


def _items(labels: Any, scores: Any) -> pl.DataFrame:
    """Return row, label, score; without NaN or null."""
    label, score = _numbers("labels", labels), _numbers("scores", scores).fill_null(-float("inf"))
    if len(label) != len(score):
        raise ParameterError(
            f"labels and scores differ in length: {len(label):,} and {len(score):,}", "give one score per label"
        )
    for name, values in (("label", label.fill_null(float("nan"))), ("score", score)):
        if values.is_nan().any():
            rows = listed(row_numbers(values.is_nan()))
            raise ScoreError(f"the {name} is missing or NaN in row {rows}, counted from 1", "correct or remove them")
    return pl.DataFrame({"label": label, "score": score}).with_row_index("row")


def _numbers(name: str, values: Any) -> pl.Series:
    try:
        series = pl.Series(name, values, strict=False)
    except (TypeError, ValueError, pl.exceptions.PolarsError):
        series = pl.Series([""])
    if not (series.dtype.is_numeric() or series.dtype == pl.Null):
        remedy = "turn flags into 1 and -1, because 0 is ignored" if series.dtype == pl.Boolean else ""
        raise ParameterError("must be a sequence of numbers", remedy, option=name)
    return series.cast(pl.Float64)


def _count(option: str, argument: float | None, present: int) -> int:
    if argument is None:
        return present
    number = whole_number(option, int(argument) if isinstance(argument, float) and argument.is_integer() else argument, 0)
    if number < present:
        kind = option.removeprefix("num_")
        message = f"{option}={argument} is smaller than the {present} {kind} among the labels; count all of them"
        warn(message, CountWarning)
    return number
