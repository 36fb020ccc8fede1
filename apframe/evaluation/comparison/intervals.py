"""Headline numbers and differences of them, with intervals from resamples of the images."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from apframe.evaluation.comparison.comparable import agree
from apframe.evaluation.comparison.names import names_beside
from apframe.exceptions import ParameterError

if TYPE_CHECKING:
    from apframe.compare.resampling import Draws
    from apframe.evaluation.evaluation import Evaluation
    from apframe.evaluation.slices.keys import SliceKey


def intervals(
    self: Evaluation,
    *,
    by: SliceKey | Sequence[SliceKey] = (),
    level: str = "summary",
    metrics: Sequence[str] | str | None = None,
    unit: str | None = None,
    within: str | None = None,
    weights: str | None = None,
    to_mix: Mapping[Any, Any] | None = None,
    n_resamples: int = 1_000,
    confidence: float = 0.95,
    seed: int = 0,
) -> pl.DataFrame:
    """Compute every headline number with its bootstrap interval: how far it would move with other images of the same kind.

    Images are drawn with replacement, as many as there are, and each number is computed of each draw, as if the images drawn
    twice were there twice. The middle 95 % of its values are the interval (percentile bootstrap). It does not say what
    training with another seed would change. To compare models, use `compare`: whether two intervals overlap says little.

    Parameters
    ----------
    by
        keys of slices, as the method `by` takes them
    level
        "summary": means over categories. "category": a row for each category. "both": the means first, of which category_id and
        name are null, then the categories, for the price of one
    metrics
        names of headline numbers, such as ["AP", "AP50"]; all by default. Few are faster
    unit
        a column of the images, such as "video": all images of a value are drawn together, for they resemble each other
    within
        a column of the images: as many units are drawn of each of its values as there are (strata)
    weights, to_mix
        a column of the images with their weights; or shares of the values of a column of the images, such as
        {"night": 0.7, "day": 0.3}: the numbers of data in which 70 % of the images are at night, in every draw. Shares are
        divided by their sum, and images of values that are not named do not count
    n_resamples
        how many draws
    confidence
        the share of the draws within the interval
    seed
        the same seed gives the same table, whatever the order of the rows, the number of threads or the other metrics

    Returns
    -------
    The keys of slices, and category_id and name unless level="summary", then metric, estimate (the number itself), low, high,
    se (standard deviation of the draws), bias (their mean less the estimate), n_units (that are drawn and weigh something),
    n_resamples (draws in which the number has a value). Where fewer than half have one, or fewer than five units have
    annotations that count, there is an estimate and no interval. A category without annotations in a draw is left out of the
    draw's means.

    Raises
    ------
    ParameterError
        unknown columns, units, metrics or options; fewer than two units

    Warns
    -----
    FewUnitsWarning, BiasWarning, ImagesLeftOutWarning, LargeResultWarning
        fewer than 20 units; an interval that is shifted; values that `to_mix` gives no share; numbers of more than 1 GB

    Source: Efron 1979 and 1981; images as units: Everingham et al. 2015.

    >>> from apframe.evaluation.evaluate import evaluate
    >>> box = {"category_id": 1, "bbox": [0, 0, 9, 9]}
    >>> truth = {"images": [{"id": n} for n in range(40)], "categories": [{"id": 1, "name": "cat"}],
    ...          "annotations": [{"id": n, "image_id": n} | box for n in range(40)]}
    >>> ev = evaluate(truth, [{"image_id": n, "score": 0.5} | box for n in range(30)])
    >>> ev.intervals(metrics="AP50").select("metric", pl.col("estimate", "low", "high").round(2)).rows()
    [('AP50', 0.75, 0.6, 0.87)]
    """
    from apframe.evaluation.comparison.sampling import Sampling, describe_all  # brings in NumPy

    sampling = Sampling(by, level, metrics, unit, within, weights, to_mix, n_resamples, confidence, seed)
    return describe_all(self, sampling)


def draws_if_asked(self: Evaluation, n_resamples: int, unit: str | None, within: str | None, seed: int) -> Draws | None:
    """The draws of the images, for tables that have intervals if `n_resamples` is not 0; see `intervals`."""
    if n_resamples == 0:
        for option, column in (("unit", unit), ("within", within)):
            if column is not None:
                raise ParameterError("is about intervals", "give n_resamples=1000 too to get them", option=option)
        return None
    from apframe.evaluation.comparison.sampling import image_draws  # brings in NumPy

    return image_draws(self, unit, within, n_resamples, seed)


def intervals_table(self: Evaluation) -> pl.DataFrame:
    """`intervals` with its defaults, for SQL and stored sets; without intervals where there are no two images to draw from."""
    if self.dataset.images.height > 1:
        return intervals(self)
    counts = {"n_units": self.dataset.images.height, "n_resamples": 0}
    from apframe.evaluation.comparison.sampling import LEVEL, chosen_lines  # brings in NumPy

    missing = [pl.lit(None, pl.Float64).alias(name) for name in LEVEL[1:5]]
    names = [line.metric for line in chosen_lines(self, None)]
    return self.summary.filter(pl.col("metric").is_in(names)).select(
        "metric", pl.col("value").alias("estimate"), *missing, *(pl.lit(n, pl.Int64).alias(name) for name, n in counts.items())
    )


def compare(
    self: Evaluation,
    other: Evaluation | Sequence[Evaluation],
    *,
    by: SliceKey | Sequence[SliceKey] = (),
    level: str = "summary",
    metrics: Sequence[str] | str | None = None,
    names: Sequence[str] | None = None,
    on_images: str = "same",
    unit: str | None = None,
    within: str | None = None,
    weights: str | None = None,
    to_mix: Mapping[Any, Any] | None = None,
    n_resamples: int = 1_000,
    confidence: float = 0.95,
    seed: int = 0,
) -> pl.DataFrame:
    """Compare this evaluation with another one, or several, of the same images: differences with intervals and p values.

    All get the same draws, so what makes an image easy or hard for both cancels out. The other options are those of
    `intervals`.

    Parameters
    ----------
    other
        an evaluation of the same ground truth by the same rules; of several, this one is compared with each
    names
        what the evaluations are called, this one first; by default their own names
    on_images
        "same": an error unless the images are the same; "common": those that all have
    by, level, metrics, unit, within, weights, to_mix, n_resamples, confidence, seed
        see `intervals`

    Returns
    -------
    The keys of slices, and category_id and name unless level="summary", then metric, run_a, run_b, estimate_a, estimate_b,
    difference (estimate_b - estimate_a), low, high, se, bias (of the difference), share_better (the share of draws in which
    run_b is better, ties by half), p (two-sided; below .05 where the 95 % interval excludes 0), p_holm (corrected for the pairs
    of runs; Holm 1979), q (false discovery rate over the rows of the metric and pair; Benjamini and Hochberg 1995), detectable
    (the difference that this set shows in four of five cases: 2.8 se), n_units and n_resamples. Nulls are those of `intervals`.

    Raises
    ------
    NotComparableError
        another ground truth, protocol, or other categories or images
    ParameterError
        as `intervals`

    Warns
    -----
    FewUnitsWarning, FewResamplesWarning, LargeResultWarning, ImagesLeftOutWarning
        fewer than 20 units; more comparisons than `n_resamples` can tell from chance; see `intervals`; images that not all have

    >>> from apframe.evaluation.evaluate import evaluate
    >>> box = {"category_id": 1, "bbox": [0, 0, 9, 9]}
    >>> truth = {"images": [{"id": n} for n in range(40)], "categories": [{"id": 1, "name": "cat"}],
    ...          "annotations": [{"id": n, "image_id": n} | box for n in range(40)]}
    >>> a, b = (evaluate(truth, [{"image_id": n, "score": 0.5} | box for n in range(found)]) for found in (30, 36))
    >>> found = a.compare(b, metrics="AP50")
    >>> found.select("metric", pl.col("difference", "low", "high", "p").round(3)).rows()
    [('AP50', 0.149, 0.05, 0.248, 0.004)]
    """
    from apframe.evaluation.comparison.sampling import Sampling, compare_all  # brings in NumPy

    others = list(other) if isinstance(other, Sequence) and not isinstance(other, str) else [other]
    if not others:
        raise ParameterError("is an empty list", "give at least one other evaluation", option="other")
    evaluations = [self, *others]
    called = names_beside(evaluations, names)
    sampling = Sampling(by, level, metrics, unit, within, weights, to_mix, n_resamples, confidence, seed)
    return compare_all(agree(evaluations, called, on_images), called, [(0, k) for k in range(1, len(evaluations))], sampling)
