"""Results to which a score threshold was probably applied before the evaluation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl

_LOW = 0.1  # unfiltered results have a lowest score below this, if the highest is at most 1
_FEW = 20  # detections per image: an unfiltered detector returns more
_LEAST = 10  # images: fewer are an example by hand
_REMEDY = "write the results again with a score threshold of 0.001 or none"
EQUAL_REMEDY = "use the confidence of each detection as its score"


def why_filtered(
    scores: pl.Series, per_image: Callable[[], pl.Series], number: str = "AP", where: str = ""
) -> tuple[str, str] | None:
    """Return the reason why results look filtered, and a remedy: all scores exceed .1, with few detections per image.

    None if they do not look filtered. If all scores are equal, this is the reason instead. Few means a median below 20 over all
    images of the ground truth, where images without detections count as 0. If scores exceed 1, a tenth of the highest replaces
    .1. There must be 10 images.

    Parameters
    ----------
    scores
        some of the scores, including the lowest and the highest
    per_image
        a function that returns the number of detections of each image; only called if no score is low
    number, where
        for the message: the number that requires low scores, and the name of the results (" in model_a")

    >>> problem, remedy = why_filtered(pl.Series([0.5, 0.9]), lambda: pl.Series([0, 0, 0, 1, 2, 2, 9, 9, 9, 9]))
    >>> print(problem)  # doctest: +NORMALIZE_WHITESPACE
    the lowest score is 0.50; was a threshold applied before evaluation? AP needs all scores (images have a median of 2
    detections)
    >>> why_filtered(pl.Series([0.05, 0.9]), lambda: pl.Series([2] * 10))
    >>> why_filtered(pl.Series([0.5, 0.9]), lambda: pl.Series([20] * 10))
    """
    low: Any = scores.min()  # null without scores
    if low is None or low <= _LOW or low <= _LOW * scores.max():  # type: ignore[operator]
        return None
    counts = per_image()
    median: Any = counts.median()
    if median >= _FEW or len(counts) < _LEAST:
        return None
    if low == scores.max():
        return why_equal(low), EQUAL_REMEDY
    each = "1 detection" if median == 1 else f"{median:g} detections"
    problem = f"the lowest score is {low:.2f}; was a threshold applied before evaluation? {number} needs all scores"
    return f"{problem} (images have a median of {each}{where})", _REMEDY


def why_equal(score: float) -> str:
    """Describe the problem if all detections have this score.

    >>> why_equal(1.0)
    'all detections have score 1, so they are ranked in the order of the input'
    """
    return f"all detections have score {score:g}, so they are ranked in the order of the input"


def detections_per_image(detections: pl.DataFrame, n_images: int) -> pl.Series:
    """Count the detections of each image, 0 without any; copies for other classes do not count.

    >>> sorted(detections_per_image(pl.DataFrame({"image_id": [7, 7, 9]}), 4))
    [0, 0, 1, 2]
    """
    if "expanded_from" in detections.columns:
        detections = detections.filter(pl.col("expanded_from").is_null())
    counts = detections["image_id"].value_counts()["count"]
    return counts.extend_constant(0, max(0, n_images - len(counts)))
