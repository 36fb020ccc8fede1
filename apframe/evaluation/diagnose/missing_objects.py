"""Missing objects: detections that no annotation explains, from one evaluation or several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from apframe.rows import MALFORMED_KEPT, treating_malformed
from apframe.similarity.extents import with_image_sizes

if TYPE_CHECKING:
    import numpy as np

    from apframe.evaluation.evaluation import Evaluation

_ONE_OBJECT = 0.5  # similarity of the detections of one missing object


def detections_of(missing: pl.DataFrame, evaluations: Sequence[Evaluation]) -> pl.DataFrame:
    """Return the detections of rows of `label_errors`, in their order, with their proposed_category_id.

    The column `run` is the number of the evaluation. If it has no such detection, all other columns are null.
    """
    rows = missing.with_row_index("row").select("row", "run", "detection_id", "proposed_category_id")
    parts = [
        rows.filter(pl.col("run") == number).drop("run").join(each.detections, on="detection_id", how="left")
        for number, each in enumerate(evaluations)
    ]
    return pl.concat(parts, how="diagonal_relaxed").sort("row").drop("row")


def objects_of(detections: pl.DataFrame, evaluation: Evaluation) -> np.ndarray:
    """Number the object of each detection of `detections_of` by the first row with this object.

    Detections of one image and category are the same object if their similarity is .5 or more, directly or through others.
    """
    import numpy as np

    label = np.arange(detections.height)
    if detections.is_empty():
        return label
    cell = pl.struct("image_id", "proposed_category_id").rank("dense").cast(pl.Int64)
    objects = detections.drop("detection_id").with_columns(cell=cell).drop("proposed_category_id")
    similarity = evaluation.protocol.similarity
    if similarity.uses_images:
        objects = with_image_sizes(objects, evaluation.dataset.images)
    ids = pl.int_range(1, pl.len() + 1, dtype=pl.Int64)
    with treating_malformed(MALFORMED_KEPT):  # the evaluations have treated them
        pairs = similarity.pair(
            objects.with_columns(detection_id=ids), objects.with_columns(annotation_id=ids, is_crowd=False), _ONE_OBJECT
        ).filter(pl.col("similarity") >= _ONE_OBJECT)
    one, other = (pairs[name].to_numpy() for name in ("detection", "annotation"))
    while True:  # the lowest number spreads through the group, which is small
        lower = label.copy()
        np.minimum.at(lower, one, label[other])
        np.minimum.at(lower, other, label[one])
        lower = lower[lower]
        if (lower == label).all():
            return label
        label = lower
