"""What each image contributes to a headline number, and to the difference of two evaluations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from apframe.exceptions import ParameterError, one_of
from apframe.tables.tables import RESULTS
from apframe.wording import listed

if TYPE_CHECKING:
    from apframe.evaluation.evaluation import Evaluation
    from apframe.evaluation.slices.keys import SliceKey

_COUNTS = ("tp", "fp", "fn")


def influence(
    self: Evaluation,
    metric: Sequence[str] | str | None = None,
    *,
    level: str = "summary",
    by: SliceKey | Sequence[SliceKey] = (),
    weights: str | None = None,
) -> pl.DataFrame:
    """Return what each image contributes to a headline number: its influence.

    The influence of an image is the derivative of the number with respect to the weight of the image, times that weight. If an
    image counted twice, the number would rise by about its influence. The influences of a number sum to 0. With n images, its
    standard error is `sqrt(n / (n - 1) * sum(influence²))`; `intervals` and `compare` are made of them.

    Parameters
    ----------
    metric
        the name of a headline number or several; by default the first one, such as AP
    level
        "summary": of means over categories. "category": of each category; images that contribute nothing to it are left out
    by
        keys of slices, as the method `by` takes them
    weights
        a column of the images with their weights

    Returns
    -------
    The keys of slices, and category_id and name with level="category", then metric, image_id, influence; by row, then by image.
    A slice has its own images, and those with a key of the objects all images.

    Raises
    ------
    ParameterError
        unknown metrics, columns or levels; a number without a derivative, such as LAMR, or AP at eleven levels of recall

    Source: Hampel 1974; the influence function of a mean is the deviation from it divided by n.

    >>> from apframe.evaluation.evaluate import evaluate
    >>> box = {"category_id": 1, "bbox": [0, 0, 9, 9]}
    >>> truth = {"images": [{"id": n} for n in range(4)], "categories": [{"id": 1, "name": "cat"}],
    ...          "annotations": [{"id": n, "image_id": n} | box for n in range(4)]}
    >>> ev = evaluate(truth, [{"image_id": n, "score": 0.5} | box for n in range(3)])
    >>> ev.influence("AR100").select("image_id", "influence").rows()
    [(0, 0.0625), (1, 0.0625), (2, 0.0625), (3, -0.1875)]
    """
    from apframe.evaluation.comparison.sampling import Sampling, image_influences  # brings in NumPy

    one_of("level", level, ("summary", "category"))
    return image_influences(self, Sampling(by, level, metric, weights=weights))


def influence_table(self: Evaluation) -> pl.DataFrame:
    """`influence` of all headline numbers that have one, for SQL and stored sets."""
    from apframe.evaluation.comparison.sampling import Sampling, image_influences

    table = image_influences(self, Sampling(), every=True)
    return table.select(column.name for column in RESULTS["influence"])


def compare_images(
    evaluations: Sequence[Evaluation], names: Sequence[str], metrics: Sequence[str] | str | None, weights: str | None
) -> pl.DataFrame:
    """The images by their part in the difference of two evaluations that agree, see `Evaluation.compare`."""
    from apframe.evaluation.comparison.sampling import Sampling, chosen_lines, image_influences

    if len(evaluations) > 2:
        problem = f'level="image" compares two evaluations, not {len(evaluations)}'
        raise ParameterError(problem, "call it for each pair", option="other")
    first = evaluations[0]
    lines = chosen_lines(first, metrics)[: 1 if metrics is None else None]
    tables = []
    for line in lines:
        threshold = 0 if line.iou_threshold is None else first.protocol.threshold_number(line.iou_threshold)
        ranges = [name for name, *_ in first.protocol.area_ranges]
        table = first.dataset.images.select("image_id", "file_name").sort("image_id")
        for name, each in zip("ab", evaluations, strict=True):
            of_images = image_influences(each, Sampling(metrics=line.metric, weights=weights))
            counts = each._pipeline.per_image(threshold, ranges.index(line.area_range)).collect()
            for other in (of_images.select("image_id", "influence"), counts.select("image_id", *_COUNTS)):
                own = other.select("image_id", pl.exclude("image_id").name.suffix(f"_{name}"))
                table = table.join(own, on="image_id", how="left", maintain_order="left")
        table = table.with_columns(metric=pl.lit(line.metric), influence=pl.col("influence_b") - pl.col("influence_a"))
        tables.append(table.sort(pl.col("influence").abs(), "image_id", descending=[True, False]))
    shares = pl.col("influence").pow(2) / pl.col("influence").pow(2).sum().over("metric")
    return pl.concat(tables).select(
        "metric", run_a=pl.lit(names[0]), run_b=pl.lit(names[1]), image_id="image_id", file_name="file_name",
        influence="influence", share=shares.fill_nan(0.0), influence_a="influence_a", influence_b="influence_b",
        **{f"{count}_{name}": f"{count}_{name}" for name in "ab" for count in _COUNTS},
    )  # fmt: skip


def refuse_underived(wanted: Sequence[str], found: Sequence[str]) -> None:
    """An error where numbers have no derivative."""
    if lacking := [name for name in wanted if name not in found]:
        problem = f"{listed(lacking)} cannot be derived by the weights of images, so there is no influence"
        raise ParameterError(problem, "`intervals` has resamples of it", option="metric")
