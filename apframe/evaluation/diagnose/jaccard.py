"""The Jaccard index of people in crowds (JI): pairs of the best assignment over all objects, image by image."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from apframe.evaluation.tables_at_threshold import with_names
from apframe.exceptions import ParameterError, UnitWarning, warn
from apframe.option_values import one_of
from apframe.protocols.lookups import threshold_at
from apframe.protocols.refused import refuse_scores

if TYPE_CHECKING:
    from apframe.evaluation.evaluation import Evaluation

_SCORES = tuple(k / 10 for k in range(10))
_LEVELS = ("category", "image")


def jaccard_index(
    self: Evaluation,
    iou_threshold: float | None = None,
    *,
    min_scores: Sequence[float] = _SCORES,
    level: str = "category",
) -> pl.DataFrame:
    """Compute the Jaccard index (JI) per category: the share of annotations and detections that match, averaged over images.

    Of the n detections of an image with a score above s and its m annotations, k are matched one to one, so that the sum of
    their similarities is largest. Unmatched detections and annotations inside an ignored annotation (intersection over their
    own area above the threshold) are excluded from n and m. JI at s is the mean of `k / (m + n - k + 1e-6)` over the images
    with any; JI is the largest value over all s.

    Parameters
    ----------
    iou_threshold
        one of the protocol's thresholds; by default the lowest
    min_scores
        the scores s, which detections must exceed
    level
        "category": one row per category. "image": one row per category, s and image with any

    Returns
    -------
    category_id, name, iou_threshold, jaccard_index, score_threshold (the lowest s at which it is largest) and n_images (those
    with any); null if there are none. With level="image", instead of the last two: image_id, score_threshold, n_annotations,
    n_detections and n_matched.

    Raises
    ------
    ParameterError
        the protocol has no scores; a threshold that was not evaluated, min_scores that are not numbers, an unknown level;
        SciPy is not installed

    Warns
    -----
    UnitWarning
        scores exceed 1, but min_scores do not

    Source: Chu et al., CVPR 2020; CrowdDet, `JIToolkits/JI_tools.py` and `compute_JI.py`.

    >>> from apframe import Dataset, evaluate
    >>> box = {"image_id": [1], "category_id": [1], "x": [0], "y": [0], "width": [9], "height": [9]}
    >>> truth = Dataset({"image_id": [1]}, {"category_id": [1], "name": ["person"]}, box)
    >>> two = {name: 2 * each for name, each in box.items()} | {"x": [0, 50], "score": [0.9, 0.3]}
    >>> evaluate(truth, two).jaccard_index().select(pl.col("jaccard_index").round(5), "score_threshold").rows()
    [(1.0, 0.3)]
    """
    refuse_scores(self.protocol, "Jaccard index over score thresholds")
    one_of("level", level, _LEVELS)
    number = threshold_at(self.protocol, iou_threshold)
    scores = [float(each) for each in min_scores if isinstance(each, (int, float)) and not isinstance(each, bool)]
    if not scores or len(scores) < len(list(min_scores)):
        raise ParameterError(f"must be one number or more, not {list(min_scores)}", option="min_scores")
    from apframe.evaluation.diagnose.jaccard_counts import JaccardCounts  # imports NumPy

    inputs, threshold = self._inputs, self._pipeline.outline.thresholds[number]
    highest = inputs.detections["score"].max()
    if isinstance(highest, float) and max(scores) <= 1 < highest:
        problem = f"scores go up to {highest:g}, but the Jaccard index is only computed up to {max(scores):g}"
        warn(f"{problem}: scale the scores, or name others as min_scores", UnitWarning)
    images = JaccardCounts(inputs, threshold)
    table = pl.concat([images.at(score) for score in sorted(scores)])
    ids = self._pipeline.outline.lists["category_id"]
    table = table.with_columns(ids.gather(table["category"]).alias("category_id"), iou_threshold=pl.lit(threshold).round(10))
    if level == "image":
        named = with_names(self, table.drop("category", "image"))
        return named.select(
            "category_id",
            "name",
            "iou_threshold",
            "image_id",
            pl.exclude("category_id", "name", "iou_threshold", "image_id", "jaccard_index"),
            "jaccard_index",
        )
    means = table.group_by("category_id", "iou_threshold", "score_threshold", maintain_order=True).agg(
        pl.col("jaccard_index").sort_by("image").mean(), n_images=pl.len()
    )
    largest = pl.col("jaccard_index").max().over("category_id")
    best = means.filter(pl.col("jaccard_index") == largest).group_by("category_id", maintain_order=True).first()
    every = ids.to_frame().join(best, on="category_id", how="left", nulls_equal=True, maintain_order="left")
    every = every.with_columns(iou_threshold=pl.lit(threshold).round(10), n_images=pl.col("n_images").fill_null(0))
    return with_names(self, every).select(
        "category_id", "name", "iou_threshold", "jaccard_index", "score_threshold", "n_images"
    )
