"""The headline numbers of an evaluation by their names, as training code logs them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from apframe.exceptions import ParameterError, by_name
from apframe.protocols.headlines import headlines, main_headline

if TYPE_CHECKING:
    from apframe.evaluation.evaluation import Evaluation


def number(self: Evaluation, metric: str) -> float | None:
    """A headline number by its name, in any case, as `ev["AP50"]`; None where nothing could be evaluated.

    Raises
    ------
    ParameterError
        the summary has no such number
    """
    return by_name("metric", metric, dict(self.summary.rows()))


def to_dict(self: Evaluation, prefix: str = "", *, per_category: bool = False) -> dict[str, float]:
    """The headline numbers as a dict of floats, for loggers; those that could not be evaluated are left out.

    Parameters
    ----------
    prefix
        put in front of every name, such as "val/"
    per_category
        also the first number of the summary for each category, as "AP/person": by `name`, or by id where there is no name or
        several categories have it

    Raises
    ------
    ParameterError
        per_category, where the protocol pools the categories

    >>> from apframe.evaluation.evaluate import evaluate
    >>> from apframe.tables.dataset import Dataset
    >>> box = {"image_id": [1], "category_id": [7], "x": [0], "y": [0], "width": [9], "height": [9]}
    >>> ev = evaluate(Dataset({"image_id": [1]}, {"category_id": [7], "name": ["cat"]}, box), box | {"score": [0.9]})
    >>> round(ev["AP50"], 9), ev["APl"]
    (1.0, None)
    >>> list(ev.to_dict(prefix="val/", per_category=True))[-2:]
    ['val/ARs', 'val/AP/cat']
    """
    values = dict(self.summary.drop_nulls().rows())
    if per_category:
        values |= _of_categories(self)
    return {f"{prefix}{name}": value for name, value in values.items()}


def _of_categories(self: Evaluation) -> dict[str, float]:
    protocol = self.protocol
    if self._pipeline.outline.is_pooled:
        raise ParameterError("per_category: the categories are pooled", "leave per_category out")
    first = next(line for line in (main_headline(protocol), *headlines(protocol)) if not line.is_of_others)
    metrics = self.metrics.filter(
        pl.col("area_range") == first.area_range,
        pl.col("max_detections").eq_missing(first.max_detections),
        pl.lit(True) if first.iou_threshold is None else (pl.col("iou_threshold") - first.iou_threshold).abs() < 1e-9,
    )
    means = metrics.group_by("category_id", maintain_order=True).agg(pl.col(first.column).mean()).drop_nulls()
    categories = self.dataset.categories
    names, ids = categories["name"], categories["category_id"].cast(pl.String)
    named = categories.select("category_id", label=pl.when(names.is_unique() & names.is_not_null()).then(names).otherwise(ids))
    rows = means.join(named, on="category_id", how="left", maintain_order="left")
    return {f"{first.metric}/{label}": value for label, value in rows.select("label", first.column).rows()}
