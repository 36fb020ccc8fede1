"""Parallel work for several evaluations, each in a thread."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

import polars as pl

from apframe.collecting import collecting
from apframe.exceptions import warn_again
from apframe.threads import pool

if TYPE_CHECKING:
    from apframe.evaluation.evaluation import Evaluation

Made = TypeVar("Made")


def of_each(compute: Callable[[Evaluation], Made], evaluations: Sequence[Evaluation]) -> list[Made]:
    """Compute a value for each evaluation and return them in order; warnings come in that order too.

    A repeated evaluation is computed once.

    >>> from apframe.evaluation.evaluate import evaluate
    >>> box = {"image_id": 1, "category_id": 1, "bbox": [0, 0, 9, 9]}
    >>> truth = {"images": [{"id": 1}], "categories": [{"id": 1, "name": "cat"}], "annotations": [box | {"id": 1}]}
    >>> a, b = evaluate(truth, [box | {"score": 0.5}]), evaluate(truth, [])
    >>> of_each(lambda each: each.detections.height, [a, b, a])
    [1, 0, 1]
    """

    def with_warnings(evaluation: Evaluation) -> tuple[Made, list[tuple[str, str]]]:
        with collecting() as warnings:
            result = compute(evaluation)
        return result, warnings

    distinct = {id(each): each for each in evaluations}
    with pool() as threads:
        results = dict(zip(distinct, threads.map(with_warnings, distinct.values()), strict=True))
    for _, warnings in results.values():
        warn_again(warnings)
    return [results[id(each)][0] for each in evaluations]


def stacked(column: str, names: Sequence[str], tables: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Return tables one below the other, with the name of each in the first column.

    >>> stacked("run", ["old", "new"], [pl.DataFrame({"AP": [0.25]}), pl.DataFrame({"AP": [0.5]})]).rows()
    [('old', 0.25), ('new', 0.5)]
    """
    return pl.concat(table.select(pl.lit(name).alias(column), pl.all()) for name, table in zip(names, tables, strict=True))
