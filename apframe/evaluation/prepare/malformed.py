"""Rows whose shape cannot be right, such as boxes with negative sides, as the benchmark's own program evaluates them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl

from apframe.protocols.protocol import Protocol
from apframe.tables.shapes.corners import CORNERS
from apframe.tables.shapes.intervals import INTERVAL
from apframe.wording import Count, Note

if TYPE_CHECKING:
    import numpy as np

    from apframe.evaluation.prepare.inputs import Inputs

    Array = np.ndarray[Any, Any]

_NARROWEST = 2.0  # pixels


def treat_malformed(inputs: Inputs, protocol: Protocol) -> Inputs:
    """Malformed rows that are kept, as `Protocol.malformed` says: KITTI, THUMOS14, MMROTATE, AVA, OPEN_IMAGES, its challenge.

    Elsewhere they stay as they are: they overlap nothing, and their area says whether they are ignored. Corners are the
    exception, as `RotatedIoU` takes areas with signs: only "signed" leaves them to it.
    """
    treat = _TREATMENTS.get(protocol.malformed)
    if treat is None and protocol.similarity.shape is CORNERS and protocol.malformed != "signed":
        treat = _flattened
    if not inputs.malformed.kept or treat is None:
        return inputs
    annotations, found = treat("annotations", inputs.dataset.annotations), treat("detections", inputs.detections)
    part = inputs.dataset.part(inputs.dataset.images, annotations)
    return replace(inputs, dataset=part, annotations=part.core("annotations"), detections=found)


def _sorted(table: str, frame: pl.DataFrame) -> pl.DataFrame:
    """Intervals from the earlier to the later one of their ends. Source: `intervaloverlapvalseconds.m` of THUMOS14's kit."""
    del table
    if not set(INTERVAL) <= set(frame.columns):
        return frame
    return frame.with_columns(start_time=pl.min_horizontal(INTERVAL), end_time=pl.max_horizontal(INTERVAL))


def _enclosed(table: str, frame: pl.DataFrame) -> pl.DataFrame:
    """The smallest rectangles around corners that do not go around a convex shape. Source: `poly2obb_np` of mmrotate."""
    from apframe.tables.shapes.corners import smallest_rectangles

    return _with_other_corners(table, frame, smallest_rectangles)


def _flattened(table: str, frame: pl.DataFrame) -> pl.DataFrame:
    """Corners that do not go around a convex shape without an area, so that they overlap nothing; the box around them stays."""
    import numpy as np

    def flatten(corners: Array) -> Array:
        return np.stack([corners.min(axis=1), corners.max(axis=1)], axis=1).repeat(2, axis=1)

    return _with_other_corners(table, frame, flatten)


def _with_other_corners(table: str, frame: pl.DataFrame, change: Callable[[Array], Array]) -> pl.DataFrame:
    """The frame with corners that do not go around a convex shape changed."""
    from apframe.tables.shapes.corners import are_convex, quadrilaterals

    if "corners" not in frame.columns:
        return frame
    corners = quadrilaterals(table, frame.drop_nulls("corners"))
    crossed = ~are_convex(corners)
    if not crossed.any():
        return frame
    corners[crossed] = change(corners[crossed])
    is_given = frame["corners"].is_not_null()
    around = pl.Series(corners.reshape(-1, 8), dtype=pl.Array(pl.Float64, 8)).arr.to_list()
    return frame.with_columns(corners=around.gather((is_given.cum_sum() - 1).set(~is_given, None)))


def _with_heights(table: str, frame: pl.DataFrame) -> pl.DataFrame:
    """Detections that end above their beginning count by that height, and still overlap nothing, as their width is negative.

    Source: `evaluate_object.cpp` of KITTI's kit, which takes the absolute value of the heights of detections alone.
    """
    if table == "annotations" or not {"width", "height"} <= set(frame.columns):
        return frame
    is_reversed, width = pl.col("height") < 0, pl.col("width")
    return frame.with_columns(height=pl.col("height").abs(), width=pl.when(is_reversed).then(-1 - width.abs()).otherwise(width))


def _without_flat_detections(table: str, frame: pl.DataFrame) -> pl.DataFrame:
    """Detections without those that have a side of 0 or less. Source: `_remove_invalid_boxes` of `per_image_evaluation.py`."""
    if table == "annotations" or not {"width", "height"} <= set(frame.columns):
        return frame
    return frame.filter(((pl.col("width") > 0) & (pl.col("height") > 0)).fill_null(True))


_TREATMENTS: dict[str, Callable[[str, pl.DataFrame], pl.DataFrame]] = {
    "by_height": _with_heights,
    "sorted": _sorted,
    "enclosed": _enclosed,
    "detections_left_out": _without_flat_detections,
}


def leave_out_narrow(inputs: Inputs, protocol: Protocol) -> Inputs:
    """Only annotations whose smallest rectangle has sides of at least 2 pixels, with a note: MMROTATE.

    Source: `load_annotations` of mmrotate's `dota.py`, which skips what `poly2obb_np` finds too narrow.
    """
    annotations = inputs.annotations
    if "narrow_left_out" not in protocol.further_rules or not {"corners", "angle"} & set(annotations.columns):
        return inputs
    from apframe.tables.shapes.corners import quadrilaterals, sides_of, smallest_rectangles

    sides = sides_of(smallest_rectangles(quadrilaterals("annotations", annotations)))
    wide = pl.Series((sides >= _NARROWEST).all(axis=1))
    narrow = Count("annotation", int((~wide).sum()), of=len(wide))
    note = Note(f"left out: {{}} whose smallest rectangle has a side below {_NARROWEST:g} pixels, as mmrotate does", [narrow])
    if wide.all():  # here, which says nothing of other shards
        return replace(inputs, said=(*inputs.said, note))
    part = inputs.dataset.part(inputs.dataset.images, inputs.dataset.annotations.filter(wide))
    return replace(inputs, dataset=part, annotations=part.core("annotations"), said=(*inputs.said, note))
