"""The values of one number in resamples of the images, as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from apframe.compare.evaluation_names import names_beside
from apframe.evaluation.comparison.comparable import agree

if TYPE_CHECKING:
    from apframe.evaluation.evaluation import Evaluation


def draws(
    self: Evaluation,
    other: Evaluation | None = None,
    *,
    metric: str | None = None,
    names: Sequence[str] | None = None,
    on_images: str = "same",
    unit: str | None = None,
    within: str | None = None,
    weights: str | None = None,
    to_mix: Mapping[Any, Any] | None = None,
    n_resamples: int = 1_000,
    seed: int = 0,
) -> pl.DataFrame:
    """Return the values behind an interval: one headline number, or the difference of two models, in every resample.

    With method="bootstrap", `intervals` and `compare` summarise these values; `apframe.plot.draws` draws them. With the same
    options and seed, draw 17 has the same images for every model and metric, so tables of several can be joined on `draw`.

    Parameters
    ----------
    other
        an evaluation of the same ground truth by the same rules: the values are differences, its number minus this one's
    metric
        the name of a headline number; the first one, such as AP, by default
    names, on_images
        see `compare`; used only with `other`
    unit, within, weights, to_mix, n_resamples, seed
        see `intervals`

    Returns
    -------
    A row for each draw: metric, run_a and run_b (with `other`), estimate (the number itself, the same in every row), draw (from
    1), value. Estimate and value are null if no annotation counts.

    Raises
    ------
    ParameterError, NotComparableError
        as `intervals` and `compare`

    >>> from apframe.evaluation.evaluate import evaluate
    >>> box = {"category_id": 1, "bbox": [0, 0, 9, 9]}
    >>> truth = {"images": [{"id": n} for n in range(40)], "categories": [{"id": 1, "name": "cat"}],
    ...          "annotations": [{"id": n, "image_id": n} | box for n in range(40)]}
    >>> ev = evaluate(truth, [{"image_id": n, "score": 0.5} | box for n in range(30)])
    >>> ev.draws(metric="AP50", n_resamples=3).with_columns(pl.col("estimate", "value").round(2)).rows()
    [('AP50', 0.75, 1, 0.87), ('AP50', 0.75, 2, 0.67), ('AP50', 0.75, 3, 0.87)]
    """
    from apframe.evaluation.comparison.sampling import Sampling, chosen_lines, sample  # import NumPy
    from apframe.evaluation.comparison.study import ResampledNumbers

    evaluations, labels = [self], {}
    if other is not None:
        run_names = names_beside([self, other], names)
        evaluations, labels = agree([self, other], run_names, on_images), {"run_a": run_names[0], "run_b": run_names[1]}
    metric_name = (chosen_lines(self, None)[0] if metric is None else chosen_lines(self, [metric])[0]).metric
    sampling = Sampling((), "summary", [metric_name], unit, within, weights, to_mix, n_resamples, 0.95, seed, "bootstrap")
    sampled = sample(evaluations, sampling)
    values, estimate = [None] * n_resamples, None
    for numbers in sampled:  # one; without draws if a protocol's part of the data does not exist
        if not isinstance(numbers, ResampledNumbers):
            continue
        of_each, estimates = numbers.draws[:, 0], numbers.estimates[:, 0]
        values, estimate = (
            (of_each[0], estimates[0]) if other is None else (of_each[1] - of_each[0], estimates[1] - estimates[0])
        )
    table = pl.DataFrame({"value": pl.Series(values, dtype=pl.Float64, nan_to_null=True)}).with_row_index("draw", 1)
    return table.select(
        metric=pl.lit(metric_name),
        **{name: pl.lit(label) for name, label in labels.items()},
        estimate=pl.lit(estimate, pl.Float64).fill_nan(None),
        draw=pl.col("draw").cast(pl.Int64),
        value="value",
    )
