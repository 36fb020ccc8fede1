"""Score cut-offs from arguments: one number, one for each category, or the best ones by F1."""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Real
from typing import TYPE_CHECKING, Any

import polars as pl

from apframe.exceptions import ParameterError
from apframe.tables.conditions import choose_categories
from apframe.tables.names import labels_of
from apframe.wording import listed

if TYPE_CHECKING:
    from apframe.evaluation.evaluation import Evaluation

BEST_F1 = "best_f1"
MinScore = float | Mapping[Any, float] | str | None


def cut_scores(self: Evaluation, min_score: MinScore, threshold: int, area: int, option: str = "min_score") -> pl.DataFrame:
    """Return the lowest score that counts for each evaluated category.

    Parameters
    ----------
    min_score
        a number; a mapping of every category, by name or id, to a number; "best_f1"; or None for no cut-off
    threshold, area
        the numbers of the IoU threshold and the area range, on which "best_f1" depends
    option
        the name of `min_score` in errors

    Returns
    -------
    category_id, in the order of the ids, and min_score: null without a cut-off. "best_f1" is the `is_best` row of `thresholds`;
    if a category has none, because nothing of it counts, it is infinite: no detection of it counts.

    Raises
    ------
    ParameterError
        not a number; unknown categories, or a mapping that does not name all of them

    >>> from apframe import Dataset, evaluate
    >>> box = {"image_id": [1], "category_id": [7], "x": [0], "y": [0], "width": [9], "height": [9]}
    >>> ev = evaluate(Dataset({"image_id": [1]}, {"category_id": [7, 8], "name": ["cat", "dog"]}, box), box | {"score": [0.6]})
    >>> cut_scores(ev, {"cat": 0.5, 8: 0.25}, 0, 0).rows()
    [(7, 0.5), (8, 0.25)]
    >>> cut_scores(ev, "best_f1", 0, 0).rows()
    [(7, 0.6), (8, inf)]
    """
    categories = self._source.category_ids.alias("category_id").to_frame()
    if isinstance(min_score, Mapping):
        return _named(self, categories, min_score, option)
    if isinstance(min_score, str):
        if min_score != BEST_F1:
            raise ParameterError(
                f"must be a number, a dict of numbers by category or {BEST_F1!r}, not {min_score!r}", option=option
            )
        table = self._pipeline.thresholds(threshold, area).filter("is_best").collect()
        best = categories.join(table, on="category_id", how="left", maintain_order="left")
        return best.select("category_id", min_score=pl.col("score_threshold").fill_null(math.inf))
    number = None if min_score is None else as_score(min_score, option)
    return categories.with_columns(min_score=pl.lit(number, pl.Float64))


def as_score(value: Any, option: str = "min_score") -> float:
    """Return a score as a number that can be compared.

    >>> as_score(1)
    1.0
    """
    if isinstance(value, bool) or not isinstance(value, Real) or math.isnan(value):
        raise ParameterError(f"must be a number, not {value!r}", option=option)
    return float(value)


def _named(self: Evaluation, categories: pl.DataFrame, score_of: Mapping[Any, float], option: str) -> pl.DataFrame:
    categories_of_truth = self.dataset.core("categories")
    scores: dict[Any, float] = {}
    for name, value in score_of.items():
        chosen = choose_categories(categories_of_truth, [name])
        for each in () if chosen is None else chosen:
            if each in scores:
                raise ParameterError(f"category {name!r} is given twice", "give one number for each", option=option)
            scores[each] = as_score(value, option)
    missing = [each for each in categories["category_id"] if each not in scores]
    if missing:
        without = categories_of_truth.filter(pl.col("category_id").is_in(missing)).sort("category_id")
        problem = f"no number for {listed(labels_of('categories', without).to_list())}"
        raise ParameterError(problem, "give one for every category, such as 0 to keep all of its detections", option=option)
    return categories.with_columns(
        pl.Series("min_score", [scores[each] for each in categories["category_id"]], dtype=pl.Float64)
    )
