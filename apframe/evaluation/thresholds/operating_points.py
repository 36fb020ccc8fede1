"""The row of the thresholds table that meets a criterion, for each category or for all of them together."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from apframe.evaluation.tables_at_threshold import with_names
from apframe.exceptions import ParameterError
from apframe.protocols.lookups import place_at

if TYPE_CHECKING:
    from apframe.evaluation.evaluation import Evaluation

_FORMS = "'f1', 'f2', 'lrp', 'precision>=0.9', 'recall>=0.5', 'fppi<=1', 'score>=0.5'"
_F_BETA = re.compile(r"f(?P<beta>\d+(?:\.\d+)?)")
_BOUND = re.compile(r"(?P<column>\w+)\s*(?P<side>[<>]=)\s*(?P<value>[-+.\w]+)")
_BOUNDS = {"precision": (">=", 1.0), "recall": (">=", 1.0), "fppi": ("<=", float("inf")), "score": (">=", float("inf"))}


@dataclass(frozen=True)
class Criterion:
    """The criterion for a score threshold: the largest F-beta, the smallest LRP, or a bound on a column of `thresholds`.

    `column` decides the choice: "f_beta", "lrp", or the bounded column. `value` is beta, or the bound.
    """

    column: str
    value: float = 1.0

    @classmethod
    def of(cls, text: Any) -> Criterion:
        """Parse a criterion.

        Raises
        ------
        ParameterError
            it cannot be read, or its bound is out of range

        >>> Criterion.of("f2"), Criterion.of("recall >= .5")
        (Criterion(column='f_beta', value=2.0), Criterion(column='recall', value=0.5))
        """
        word = str(text).strip().lower()
        if isinstance(text, str) and word == "lrp":
            return cls("lrp")
        beta, bound = _F_BETA.fullmatch(word), _BOUND.fullmatch(word)
        if isinstance(text, str) and beta is not None and float(beta["beta"]) > 0:
            return cls("f_beta", float(beta["beta"]))
        if not isinstance(text, str) or bound is None or bound["column"] not in _BOUNDS:
            raise ParameterError(f"is {text!r}", f"give one like {_FORMS}", option="criterion")
        side, max_value = _BOUNDS[bound["column"]]
        try:
            value = float(bound["value"])
        except ValueError:
            raise ParameterError(f"{text!r} has no number after {bound['side']}", option="criterion") from None
        if bound["side"] != side:
            raise ParameterError(f"{text!r} has the wrong sign", f"write {bound['column']}{side}{value:g}", option="criterion")
        min_value = float("-inf") if bound["column"] == "score" else 0.0
        if not min_value <= value <= max_value:
            allowed = "from 0 to 1" if max_value == 1 else "a number of at least 0" if min_value == 0 else "a number"
            raise ParameterError(f"{text!r}: {bound['column']} is {allowed}", option="criterion")
        return cls(bound["column"], value)

    def choose(self, thresholds: pl.LazyFrame) -> pl.LazyFrame:
        """Choose rows of a thresholds table: at most one per category.

        The table must be sorted by category, highest score first, and have the F-measure of the criterion.

        >>> table = pl.LazyFrame({"category_id": [1, 1, 1], "score_threshold": [0.9, 0.8, 0.7],
        ...                       "precision": [1.0, 0.5, 0.6], "recall": [0.2, 0.2, 0.4]})
        >>> Criterion("precision", 0.6).choose(table).collect()["score_threshold"].to_list()
        [0.7]
        """
        value = pl.col(self.column) if self.column in ("precision", "recall", "fppi") else pl.col("score_threshold")
        if self.column == "f_beta":
            return thresholds.filter("is_best" if self.value == 1 else f"is_best_f{self.value:g}")
        if self.column == "lrp":
            return thresholds.filter("is_best_lrp")
        if self.column == "score":
            lowest = thresholds.filter(value >= self.value).group_by("category_id").agg(pl.all().last())
            return lowest.with_columns(score_threshold=pl.lit(self.value))
        meets_bound = value <= self.value if self.column == "fppi" else value >= self.value
        aim = "precision" if self.column == "recall" else "recall"
        kept = thresholds.filter(meets_bound, pl.col("recall").is_not_null())
        return kept.sort(aim, "score_threshold", descending=True).group_by("category_id").agg(pl.all().first())


def operating_points(
    self: Evaluation,
    criterion: str,
    iou_threshold: float | None = None,
    area_range: str | None = None,
    *,
    per_category: bool = True,
) -> pl.DataFrame:
    """Choose a score threshold for each category by a criterion, or one threshold for all categories.

    `at` accepts the table, and evaluates other data, or the same, at these thresholds.

    Parameters
    ----------
    criterion
        "f1", "f2", "f0.5": the largest F-beta. "lrp": the smallest LRP. "precision>=0.9": the largest recall at such a
        precision. "recall>=0.5": the largest precision at such a recall. "fppi<=1": the largest recall with at most one false
        positive per image. "score>=0.5": this score. Among equally good thresholds, the highest is chosen
    iou_threshold, area_range
        as in `matches`
    per_category
        False: one threshold for all categories, by the sums of their counts. Pooled categories always have one

    Returns
    -------
    category_id, name (both null in a table of one threshold for all), criterion and the columns of `thresholds` without those
    that begin with is_best. Sorted by category_id. score_threshold is null if no score meets the criterion, or if no annotation
    counts. The other columns then describe the result without detections: recall is 0 and precision is null.

    Raises
    ------
    ParameterError
        a criterion that cannot be parsed; a threshold or an area range that was not evaluated

    >>> from apframe import Dataset, evaluate
    >>> box = {"image_id": [1], "category_id": [1], "x": [0], "y": [0], "width": [9], "height": [9]}
    >>> detections = {name: 2 * each for name, each in box.items()} | {"x": [0, 50], "score": [0.9, 0.8]}
    >>> ev = evaluate(Dataset({"image_id": [1]}, {"category_id": [1], "name": ["cat"]}, box), detections)
    >>> ev.operating_points("f1", 0.5).select("name", "score_threshold", "tp", "fp", "f1").rows()
    [('cat', 0.9, 1, 0, 1.0)]
    >>> ev.operating_points("score>=0.5", 0.5).select("score_threshold", "tp", "fp").rows()
    [(0.5, 1, 1)]
    """
    chosen, pooled = Criterion.of(criterion), not per_category or self._pipeline.outline.is_pooled
    threshold, area = place_at(self.protocol, iou_threshold, area_range)
    beta = chosen.value if chosen.column == "f_beta" else 1.0
    table = self._pipeline.thresholds(threshold, area, beta=beta, pooled=pooled)
    rows = chosen.choose(table).drop("area_range", "iou_threshold").collect()
    every = self._pipeline.positives(threshold, area, pooled=pooled)
    joined = every.join(rows, on="category_id", how="left", nulls_equal=True, maintain_order="left")
    named = with_names(self, _filled(joined, chosen)).with_columns(criterion=pl.lit(criterion))
    return named.select("category_id", "name", "criterion", pl.exclude("category_id", "name", "criterion"))


def _filled(table: pl.DataFrame, criterion: Criterion) -> pl.DataFrame:
    """Fill rows without a chosen threshold with the values without detections."""
    n, nothing = pl.col("n_annotations"), pl.col("tp").is_null()
    zero, one = (pl.when(n > 0).then(pl.lit(value)) for value in (0.0, 1.0))
    values = {"fn": n, "lrp": pl.when(pl.col("iou_threshold") < 1).then(one), "miss_rate": one, "lrp_fn": one}
    values |= {"tp": pl.lit(0), "fp": pl.lit(0), "fppi": pl.lit(0.0), "recall": zero, "f1": zero}
    if criterion.column == "f_beta" and criterion.value != 1:
        values[f"f{criterion.value:g}"] = zero
    if criterion.column == "score":
        values["score_threshold"] = pl.lit(criterion.value)
    filled = [
        pl.when(nothing).then(value).otherwise(name).cast(table.schema[name]).alias(name) for name, value in values.items()
    ]
    return table.with_columns(filled).drop("n_annotations", pl.selectors.starts_with("is_best"))
