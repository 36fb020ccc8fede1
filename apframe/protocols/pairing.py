"""The join of detections and annotations: pairs in the same image and category, with their similarity."""

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

_MOST_IDS = 1 << 24  # a table of 64 MB, of which only the parts with ids are ever touched


def pair(
    inputs: Inputs,
    *,
    min_similarity: float | None = None,
    across_categories: bool = False,
    is_crowd: pl.Series | None = None,
    cells: tuple[pl.DataFrame, pl.DataFrame] | None = None,
) -> pl.DataFrame:
    """Return the pairs in the same image and category that are similar enough.

    Parameters
    ----------
    inputs
        the data to compare, by its protocol's similarity
    min_similarity
        the lowest similarity of interest; by default the lowest threshold
    across_categories
        also pair detections with annotations of other categories
    is_crowd
        flags of annotations whose intersections are divided by the detection's area; the crowds by default
    cells
        the result of `number_cells`, if it has been computed already

    Returns
    -------
    detection, annotation (row numbers of the inputs' tables), similarity; unordered. Some pairs may be below `min_similarity`.
    """
    if inputs.detections.is_empty() or inputs.annotations.is_empty():  # an empty table may lack columns
        return pl.DataFrame(schema={"detection": pl.UInt32, "annotation": pl.UInt32, "similarity": pl.Float64})
    similarity, states = inputs.protocol.similarity, inputs.states
    least = inputs.protocol.iou_thresholds[0] if min_similarity is None else min_similarity
    of_detections, of_annotations = cells or number_cells(inputs, across_categories=across_categories)
    detections = inputs.detections.with_columns(of_detections["cell"])
    annotations = inputs.annotations.with_columns(
        of_annotations["cell"], is_crowd=inputs.crowds if is_crowd is None else is_crowd
    )
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


def pairs_for_matcher(inputs: Inputs, cells: tuple[pl.DataFrame, pl.DataFrame]) -> pl.DataFrame:
    """Return the pairs that the protocol's matcher reads, see `Matcher.wants`; `cells` is the result of `number_cells`."""
    matcher, least = inputs.protocol.matcher, inputs.protocol.iou_thresholds[0]
    if matcher.wants == "nearest":
        from apframe.matching.by_best_overlap import find_best

        pairs = pair(inputs, min_similarity=inputs.protocol.similarity.bounds[0], cells=cells)
        return pairs[find_best(np.arange(pairs.height), *(pairs[name].to_numpy() for name in pairs.columns))]
    if matcher.wants == "crowds":
        pairs = pair(inputs, min_similarity=0.0, cells=cells)
        of_crowd = inputs.crowds.gather(pairs["annotation"])
        return pairs.filter((pl.col("similarity") >= least) | (of_crowd & (pl.col("similarity") > 0)))
    return pair(inputs, cells=cells)


def number_cells(inputs: Inputs, *, across_categories: bool = False) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Number the images and categories of detections and annotations.

    Both tables have `image` and `category`, consecutive numbers in the order of the ids, and `cell`, a number for both
    together. All categories have the same number if the protocol pools them, or with `across_categories`.
    """
    pooled = inputs.protocol.agnostic or across_categories
    return _number_rows(inputs.detections, inputs, pooled=pooled), _number_rows(inputs.annotations, inputs, pooled=pooled)


def _number_rows(frame: pl.DataFrame, inputs: Inputs, *, pooled: bool) -> pl.DataFrame:
    image = _place_among(frame["image_id"], inputs.image_ids)
    ids, category_ids = frame["category_id"], inputs.category_ids
    category = pl.zeros(frame.height, pl.UInt32, eager=True) if pooled else _place_among(ids, category_ids)
    cell = category.cast(pl.Int64) * len(inputs.image_ids) + image
    return pl.DataFrame([image.alias("image"), category.alias("category"), cell.alias("cell")])


def _place_among(values: pl.Series, ids: pl.Series) -> pl.Series:
    """Return the position of each value in the sorted ids."""
    if ids.is_empty():  # then there are no rows
        return values.cast(pl.UInt32)
    place = np.arange(len(ids), dtype=np.uint32)
    if ids.dtype.is_integer() and ids[-1] - ids[0] < _MOST_IDS:  # look up in a table of all ids in the range
        table = np.empty(ids[-1] - ids[0] + 1, dtype=np.uint32)
        table[ids.to_numpy() - ids[0]] = place
        return pl.Series(table[values.to_numpy() - ids[0]])
    return values.replace_strict(ids, pl.Series(place), return_dtype=pl.UInt32)
