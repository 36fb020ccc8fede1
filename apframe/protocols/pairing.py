"""The join of detections and annotations: pairs of an image and category with their similarity."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from apframe.matching.reached import NEARLY_ONE
from apframe.rows import treating_malformed
from apframe.similarity.extents import with_image_sizes
from apframe.similarity.pairs import require

if TYPE_CHECKING:
    from apframe.protocols.inputs import Inputs

_MOST_IDS = 1 << 24  # in a table of 64 MB, of which only the parts with ids are ever touched


def pair(
    inputs: Inputs,
    *,
    min_similarity: float | None = None,
    across_categories: bool = False,
    is_crowd: pl.Series | None = None,
) -> pl.DataFrame:
    """The pairs of an image and category that are similar enough.

    Parameters
    ----------
    inputs
        what is compared, by its protocol's similarity
    min_similarity
        the lowest similarity of interest; by default the lowest threshold
    across_categories
        also pair detections with annotations of other categories
    is_crowd
        flags of the annotations where intersections are over the detection alone; by default those of crowds

    Returns
    -------
    detection, annotation (row numbers of the inputs' tables), similarity; in no order. Pairs below `min_similarity` may be
    there.
    """
    if inputs.detections.is_empty() or inputs.annotations.is_empty():  # which may lack columns that they never had values of
        return pl.DataFrame(schema={"detection": pl.UInt32, "annotation": pl.UInt32, "similarity": pl.Float64})
    similarity, states = inputs.protocol.similarity, inputs.states
    least = inputs.protocol.iou_thresholds[0] if min_similarity is None else min_similarity
    cells = [
        codes(frame, inputs, across_categories=across_categories)["cell"] for frame in (inputs.detections, inputs.annotations)
    ]
    detections = inputs.detections.with_columns(cells[0])
    annotations = inputs.annotations.with_columns(cells[1], is_crowd=inputs.crowds if is_crowd is None else is_crowd)
    require(similarity, detections, annotations)
    if similarity.uses_images:
        detections, annotations = (with_image_sizes(frame, inputs.dataset.images) for frame in (detections, annotations))
    with treating_malformed(inputs.malformed):
        pairs = similarity.pair(detections, annotations, min(least, NEARLY_ONE), **inputs.prepared)
    for name, incomparable in (
        ("detection", states.incomparable_detections), ("annotation", states.incomparable_annotations),
    ):  # fmt: skip
        if incomparable is not None and incomparable.any():
            pairs = pairs.filter(~incomparable.gather(pairs[name]))
    return pairs


def codes(frame: pl.DataFrame, inputs: Inputs, *, across_categories: bool = False) -> pl.DataFrame:
    """Dense numbers of each row's image and category, in the order of the ids, and one number for both (`cell`).

    Pooled categories are one, as all are where pairs are asked for across categories.
    """
    pooled = inputs.protocol.agnostic or across_categories
    image = _code(frame["image_id"], inputs.image_ids)
    category = pl.zeros(frame.height, pl.UInt32, eager=True) if pooled else _code(frame["category_id"], inputs.category_ids)
    cell = category.cast(pl.Int64) * len(inputs.image_ids) + image
    return pl.DataFrame([image.alias("image"), category.alias("category"), cell.alias("cell")])


def _code(values: pl.Series, ids: pl.Series) -> pl.Series:
    """The place of each value among the sorted ids."""
    if ids.is_empty():  # then there are no rows
        return values.cast(pl.UInt32)
    place = np.arange(len(ids), dtype=np.uint32)
    if ids.dtype.is_integer() and ids[-1] - ids[0] < _MOST_IDS:  # looked up in a table of all ids in between
        table = np.empty(ids[-1] - ids[0] + 1, dtype=np.uint32)
        table[ids.to_numpy() - ids[0]] = place
        return pl.Series(table[values.to_numpy() - ids[0]])
    return values.replace_strict(ids, pl.Series(place), return_dtype=pl.UInt32)
