"""Headline numbers and their differences, with standard errors and intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from apframe.compare.evaluation_names import names_beside
from apframe.evaluation.comparison.comparable import agree
from apframe.exceptions import ParameterError
from apframe.option_values import one_of
from apframe.tables.result_tables import RESULTS

if TYPE_CHECKING:
    from apframe.compare.resampling import Draws, Units
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
    method: str = "influence",
) -> pl.DataFrame:
    """Compute every headline number with standard error and interval: how far it moves with other images of the same kind.

    The standard error is `sqrt(n / (n - 1) * sum(u²))` over n images, where u is the `influence` of an image. The interval is
    the number plus and minus t standard errors, where t has one degree of freedom less than there are units with annotations
    that count. AP of few images is too high; if the excess (`bias`) can be estimated, it is subtracted first. The interval does
    not include the effect of training with another seed. To compare models, use `compare`: the overlap of two intervals says
    little.

    Parameters
    ----------
    by
        keys of slices, as in the method `by`
    level
        "summary": means over categories. "category": a row for each category. "both": first the means, with null category_id
        and name, then the categories, computed together
    metrics
        names of headline numbers, such as ["AP", "AP50"]; all by default. Fewer numbers are faster
    unit
        a column of the images, such as "video": all images with the same value are one unit, because they resemble each other
    within
        a column of the images, by whose values the images were chosen (strata): differences between these do not count
    weights, to_mix
        a column of the images with their weights; or shares of the values of a column of the images, such as {"night": 0.7,
        "day": 0.3}: the numbers of data with 70 % of the images at night. Shares are divided by their sum, and images of values
        without a share do not count
    n_resamples
        the number of resamples, for numbers that are resampled
    confidence
        of the interval, such as 0.95
    seed
        the seed of everything random, the halves of the bias and the resamples: the same seed gives the same table, whatever
        the order of the rows, the number of threads or the other metrics
    method
        "influence": as above; numbers without a derivative, such as LAMR, are resampled. "bootstrap": all are. As many images
        as there are get drawn with replacement, and the interval is the middle 95 % of the numbers of the draws

    Returns
    -------
    The keys of slices, and category_id and name unless level="summary", then metric, estimate (the number itself), low, high,
    se (standard error), bias (the excess of the number, null if unknown), n_units (with positive weight), n_resamples (draws in
    which the number is defined, null if nothing was drawn), method, reason (for a missing interval).
    There is no interval if annotations that count are in fewer than ten units, or if more than a tenth of the categories of a
    mean have them in fewer than ten, or if the number is 0 or 1 and no unit changes it. The bias is known for means over at
    least five categories of APs with an envelope. For "bootstrap", se is the standard deviation of the draws, bias their mean
    minus the estimate, and five units with annotations and half of the draws are enough.

    Raises
    ------
    ParameterError
        unknown columns, units, metrics or options

    Warns
    -----
    FewUnitsWarning, ImagesLeftOutWarning
        fewer than 20 units, or fewer than two, which gives no intervals; values without a share in `to_mix`
    ResampledWarning, BiasWarning, LargeResultWarning
        numbers without a derivative; a bootstrap interval that is shifted; resamples of more than 1 GB

    Source: Hampel 1974 (influence); Efron 1979 and 1981 (bootstrap); images as units: Everingham et al. 2015.

    >>> from apframe.evaluation.evaluate import evaluate
    >>> box = {"category_id": 1, "bbox": [0, 0, 9, 9]}
    >>> truth = {"images": [{"id": n} for n in range(40)], "categories": [{"id": 1, "name": "cat"}],
    ...          "annotations": [{"id": n, "image_id": n} | box for n in range(40)]}
    >>> ev = evaluate(truth, [{"image_id": n, "score": 0.5} | box for n in range(30)])
    >>> ev.intervals(metrics="AP50").select("metric", pl.col("estimate", "low", "high").round(2)).rows()
    [('AP50', 0.75, 0.61, 0.89)]
    """
    from apframe.evaluation.comparison.sampling import Sampling, describe_all  # imports NumPy

    sampling = Sampling(by, level, metrics, unit, within, weights, to_mix, n_resamples, confidence, seed, method)
    return describe_all(self, sampling)


def units_if_asked(self: Evaluation, unit: str | None, within: str | None, *, intervals: bool) -> Units | None:
    """Return the units of the images for tables with optional intervals; see `intervals`."""
    if not intervals:
        for option, column in (("unit", unit), ("within", within)):
            if column is not None:
                raise ParameterError("is about intervals", "give intervals=True too to get them", option=option)
        return None
    from apframe.evaluation.comparison.sampling import image_units  # imports NumPy

    return image_units(self, unit, within)


def draws_if_asked(self: Evaluation, n_resamples: int, unit: str | None, within: str | None, seed: int) -> Draws | None:
    """Return the draws of the images for tables with intervals if `n_resamples` is not 0; see `intervals`."""
    if n_resamples == 0:
        for option, column in (("unit", unit), ("within", within)):
            if column is not None:
                raise ParameterError("is about intervals", "give n_resamples=1000 too to get them", option=option)
        return None
    from apframe.evaluation.comparison.sampling import image_draws  # imports NumPy

    return image_draws(self, unit, within, n_resamples, seed)


def intervals_table(self: Evaluation) -> pl.DataFrame:
    """Compute `intervals` with its defaults, for SQL and stored sets."""
    return intervals(self)


def influence(
    self: Evaluation,
    metric: Sequence[str] | str | None = None,
    *,
    level: str = "summary",
    by: SliceKey | Sequence[SliceKey] = (),
    weights: str | None = None,
    to_mix: Mapping[Any, Any] | None = None,
) -> pl.DataFrame:
    """Return the influence of each image on a headline number.

    The influence of an image is the derivative of the number with respect to the weight of the image, times that weight. If an
    image counted twice, the number would rise by about its influence. The influences on a number sum to 0. With n images, its
    standard error is `sqrt(n / (n - 1) * sum(influence²))`; `intervals` and `compare` are computed from them.

    Parameters
    ----------
    metric
        the name of one headline number or of several; by default the first one, such as AP
    level
        "summary": on means over categories. "category": on each category; images that contribute nothing to it are omitted
    by
        keys of slices, as in the method `by`
    weights, to_mix
        see `intervals`

    Returns
    -------
    The keys of slices, and category_id and name with level="category", then metric, image_id, influence; by row, then by image.
    A slice contains its own images; slices by a key of objects contain all images.

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
    from apframe.evaluation.comparison.sampling import Sampling, image_influences  # imports NumPy

    one_of("level", level, ("summary", "category"))
    return image_influences(self, Sampling(by, level, metric, weights=weights, to_mix=to_mix))


def influence_table(self: Evaluation) -> pl.DataFrame:
    """Compute `influence` on all headline numbers that have one, for SQL and stored sets."""
    from apframe.evaluation.comparison.sampling import Sampling, image_influences

    table = image_influences(self, Sampling(), every=True)
    return table.select(column.name for column in RESULTS["influence"])


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
    method: str = "influence",
) -> pl.DataFrame:
    """Compare this evaluation with another one, or several, of the same images: differences with intervals and p values.

    The standard error of a difference is computed from the differences of the influences of each image, so effects that make an
    image easy or hard for both cancel out. The other options are the same as in `intervals`.

    Parameters
    ----------
    other
        an evaluation of the same ground truth by the same rules; this one is compared with each of several others
    names
        names of the evaluations, this one first; by default their own names
    on_images
        "same": an error unless the images are the same; "common": the images that all have
    level
        as in `intervals`; or "image": the images of two evaluations by their part in the difference, see below
    by, metrics, unit, within, weights, to_mix, n_resamples, confidence, seed, method
        see `intervals`

    Returns
    -------
    The keys of slices, and category_id and name unless level="summary", then metric, run_a, run_b, estimate_a, estimate_b,
    difference (estimate_b - estimate_a), low, high, se, bias (of resamples; otherwise null, because it cancels), share_better
    (the certainty that run_b is better: the share of the t distribution, or of draws, with ties counting half), p (two-sided t
    test; below .05 if the 95 % interval excludes 0), p_holm (corrected for the pairs of runs; Holm 1979), q (false discovery
    rate over the rows of the metric and pair; Benjamini and Hochberg 1995), detectable (the difference that this set detects in
    four of five cases: 2.8 se, see `apframe.n_needed`), n_units, n_resamples, method and reason. Nulls have the same meaning as
    in `intervals`. The printed table has the most important columns that fit, and names the others.

    With level="image" there is a row for each metric (the first one by default) and image, the largest part of the difference
    first: metric, run_a, run_b, image_id, file_name, influence (of the image on the difference), share (its square divided by
    the sum over all images: its part of the variance), influence_a, influence_b, and tp, fp and fn of both, such as tp_a, at
    the metric's threshold (or the lowest) and area range. `changes` lists the objects.

    Raises
    ------
    NotComparableError
        different ground truth, protocol, categories or images
    ParameterError
        as `intervals`

    Warns
    -----
    FewUnitsWarning, ResampledWarning, FewResamplesWarning, LargeResultWarning, ImagesLeftOutWarning
        see `intervals`; more comparisons than `n_resamples` can distinguish from chance; images that not all evaluations have

    >>> from apframe.evaluation.evaluate import evaluate
    >>> box = {"category_id": 1, "bbox": [0, 0, 9, 9]}
    >>> truth = {"images": [{"id": n} for n in range(40)], "categories": [{"id": 1, "name": "cat"}],
    ...          "annotations": [{"id": n, "image_id": n} | box for n in range(40)]}
    >>> a, b = (evaluate(truth, [{"image_id": n, "score": 0.5} | box for n in range(many)]) for many in (30, 36))
    >>> comparison = a.compare(b, metrics="AP50")
    >>> comparison.select("metric", pl.col("difference", "low", "high", "p").round(3)).rows()
    [('AP50', 0.149, 0.033, 0.264, 0.013)]
    """
    from apframe.evaluation.comparison.sampling import Sampling, compare_all  # imports NumPy

    one_of("level", level, ("summary", "category", "both", "image"))
    others = list(other) if isinstance(other, Sequence) and not isinstance(other, str) else [other]
    if not others:
        raise ParameterError("is an empty list", "give at least one other evaluation", option="other")
    evaluations = [self, *others]
    run_names = names_beside(evaluations, names)
    sampling = Sampling(by, level, metrics, unit, within, weights, to_mix, n_resamples, confidence, seed, method)
    if level == "image":
        for option, is_given in (
            ("by", not (isinstance(by, Sequence) and len(by) == 0)), ("unit", unit is not None),
            ("within", within is not None), ("method", method != "influence"), ("n_resamples", n_resamples != 1_000),
            ("confidence", confidence != 0.95), ("seed", seed != 0),
        ):  # fmt: skip
            if is_given:
                raise ParameterError('is not for level="image"', "leave it out, or use `where` first", option=option)
        from apframe.evaluation.comparison.image_influence import compare_images

        return compare_images(agree(evaluations, run_names, on_images), run_names, metrics, weights, to_mix)
    return compare_all(
        agree(evaluations, run_names, on_images), run_names, [(0, k) for k in range(1, len(evaluations))], sampling
    )
