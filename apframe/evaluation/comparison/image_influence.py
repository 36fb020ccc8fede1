"""The images by their part of the difference of two evaluations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from apframe.evaluation.comparison.sampling import Sampling, chosen_lines, image_influences
from apframe.evaluation.comparison.slice_rows import pipeline_of
from apframe.exceptions import ParameterError
from apframe.protocols.lookups import place_at
from apframe.show.fitted import ComparisonTable

if TYPE_CHECKING:
    from apframe.evaluation.evaluation import Evaluation

_COUNTS = ("tp", "fp", "fn")


def compare_images(
    evaluations: Sequence[Evaluation],
    names: Sequence[str],
    metrics: Sequence[str] | str | None,
    weights: str | None,
    to_mix: Mapping[Any, Any] | None,
) -> pl.DataFrame:
    """Return the images by their part of the difference of two comparable evaluations, see `Evaluation.compare`."""
    if len(evaluations) > 2:
        problem = f'level="image" compares two evaluations, not {len(evaluations)}'
        raise ParameterError(problem, "call it for each pair", option="other")
    first = evaluations[0]
    lines = chosen_lines(first, metrics)[: 1 if metrics is None else None]
    tables = []
    for line in lines:
        place = place_at(first.protocol, line.iou_threshold, line.area_range)
        table = first.dataset.images.select("image_id", "file_name").sort("image_id")
        for name, each in zip("ab", evaluations, strict=True):
            of_images = image_influences(each, Sampling(metrics=line.metric, weights=weights, to_mix=to_mix))
            counts = pipeline_of(each).per_image(*place).collect()
            for other in (of_images.select("image_id", "influence"), counts.select("image_id", *_COUNTS)):
                own = other.select("image_id", pl.exclude("image_id").name.suffix(f"_{name}"))
                table = table.join(own, on="image_id", how="left", maintain_order="left")
        table = table.with_columns(metric=pl.lit(line.metric), influence=pl.col("influence_b") - pl.col("influence_a"))
        tables.append(table.sort(pl.col("influence").abs(), "image_id", descending=[True, False]))
    shares = pl.col("influence").pow(2) / pl.col("influence").pow(2).sum().over("metric")
    columns = pl.concat(tables).select(
        "metric", run_a=pl.lit(names[0]), run_b=pl.lit(names[1]), image_id="image_id", file_name="file_name",
        influence="influence", share=shares.fill_nan(0.0), influence_a="influence_a", influence_b="influence_b",
        **{f"{count}_{name}": f"{count}_{name}" for name in "ab" for count in _COUNTS},
    )  # fmt: skip
    return ComparisonTable(columns)
