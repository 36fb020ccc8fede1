"""The images of a page, the worst first, with their counts at all positions of the slider."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from apframe.evaluation.gallery.cards import MODELS, of_model
from apframe.evaluation.side_by_side import of_each
from apframe.exceptions import ParameterError
from apframe.protocols.headlines import less_is_better

if TYPE_CHECKING:
    from apframe.evaluation.evaluation import Evaluation
    from apframe.report.operating_point import OperatingPoint
    from apframe.report.pictured import PicturedRows

COUNTS = ("tp", "fp", "fn")


def worst_images(evaluations: Sequence[Evaluation], metric: str, rows: PicturedRows) -> pl.DataFrame:
    """Return the images with rows, the worst first: image_id, file_name, influence, n_errors.

    The influence is on the metric of one model, or on the difference of two; the images that speak most against the model,
    or the second one, come first. It is null if the metric has no derivative; then images with the most errors come first.
    """
    errors = pl.col("kind").is_not_null().sum()
    table = rows.frame.group_by("image_id").agg(n_errors=errors).sort("image_id")
    table = table.join(rows.images, on="image_id", how="left", maintain_order="left")
    try:
        parts = of_each(lambda each: each.influence(metric).select("image_id", "influence"), evaluations)
    except ParameterError:
        return table.with_columns(influence=pl.lit(None, pl.Float64)).sort("n_errors", "image_id", descending=[True, False])
    total = pl.col("influence").last() - (pl.col("influence").first() if len(parts) > 1 else 0)
    influence = pl.concat(parts).group_by("image_id", maintain_order=True).agg(influence=total)
    table = table.join(influence, on="image_id", how="left", maintain_order="left")
    order = ["influence", "n_errors", "image_id"]
    return table.sort(order, descending=[less_is_better(metric), True, False], nulls_last=True)


def counts_of_images(rows: PicturedRows, image_ids: pl.Series, point: OperatingPoint | None) -> np.ndarray:
    """Count the true positives, false positives and missed annotations of images.

    Returns
    -------
    An array of images, models, the three counts and positions of the slider (one position for all detections without a point).
    """
    places = pl.DataFrame({"image_id": image_ids}).with_row_index("place")
    own = rows.frame.select("image_id", "model", "is_of_both", "outcome", "score").join(places, on="image_id")
    n = 1 if point is None else len(point.even) + 1
    counts = np.zeros((len(image_ids), len(rows.names), 3, n), np.int64)
    for model, letter in enumerate(MODELS[: len(rows.names)]):
        of_one = own.filter(of_model(letter))
        rising = [(-np.inf, 0)] if point is None else point.rising(model)
        thresholds = np.array([score for score, _ in rising])
        for k, outcome in enumerate(("tp", "fp")):
            of_outcome = of_one.filter(outcome=outcome)
            reached = np.searchsorted(thresholds, of_outcome["score"].to_numpy(), side="right")  # so many thresholds it reaches
            changes = np.zeros((len(image_ids), n + 1), np.int64)
            np.add.at(changes, (of_outcome["place"].to_numpy(), reached), 1)
            above = changes[:, ::-1].cumsum(axis=1)[:, ::-1][:, 1:]
            counts[:, model, k, [position for _, position in rising]] = above
        is_positive = of_one.filter(pl.col("outcome") != "fp")["place"].to_numpy()
        positives = np.bincount(is_positive, minlength=len(image_ids))
        counts[:, model, 2] = positives[:, None] - counts[:, model, 0]
    return counts


def filter_values(rows: PicturedRows) -> list[list[str]]:
    """Return the values of the gallery's filters: error types, categories, models, changes, slices of each key."""
    columns = [sorted(rows.errors[name].cast(pl.String).fill_null("").unique()) for name in ("kind", "name", "change")]
    kinds, names, changes = columns
    return [kinds, names, [*rows.names], changes, *([*each.values] for each in rows.slices)]


def errors_of_images(rows: PicturedRows, image_ids: pl.Series) -> list[str]:
    """Return the errors on each image as the page's script reads them, with one entry for errors that no filter distinguishes.

    An error is written as the positions of its values in `filter_values`, separated by dots; several are joined by commas.
    """
    places = pl.DataFrame({"image_id": image_ids}).with_row_index("place")
    own = rows.errors.join(places, on="image_id").sort("place", "card")
    values = filter_values(rows)
    of_models = [pl.when(of_model(letter)).then(pl.lit(str(k))) for k, letter in enumerate(MODELS[: len(rows.names)])]

    def code(name: str, at: int) -> pl.Expr:
        codes_by_value = {value: str(k) for k, value in enumerate(values[at])}
        return pl.col(name).cast(pl.String).fill_null("").replace_strict(codes_by_value, return_dtype=pl.String)

    coded = [code("kind", 0), code("name", 1), pl.concat_str(of_models, separator=",", ignore_nulls=True), code("change", 3)]
    codes = own.select("place", *(each.alias(str(k)) for k, each in enumerate(coded)))
    for k, each in enumerate(rows.slices, start=len(coded)):
        codes_by_value = {value: str(place) for place, value in enumerate(each.values)}
        lists = each.lists(own["card"]).list.eval(pl.element().replace_strict(codes_by_value, return_dtype=pl.String))
        codes = codes.with_columns(lists.list.join(",").alias(str(k)))
    text = codes.select("place", pl.concat_str(pl.exclude("place"), separator=".").alias("text")).unique(maintain_order=True)
    joined = text.group_by("place", maintain_order=True).agg(pl.col("text").str.join(" "))
    return places.join(joined, on="place", how="left", maintain_order="left")["text"].fill_null("").to_list()
