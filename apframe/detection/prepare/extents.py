"""Boxes and areas of shapes: a table that has masks, keypoints, corners or intervals does without boxes of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from apframe.shapes.boxes import BOX
from apframe.shapes.catalogue import shape_of
from apframe.shapes.masks import MASKS
from apframe.shapes.shape import Shape

if TYPE_CHECKING:
    from apframe.shapes.runs import Runs


def with_boxes(table: str, frame: pl.DataFrame, images: pl.DataFrame, masks: Runs | None = None) -> pl.DataFrame:
    """The frame as it is if it has boxes; else with `x, y, width, height` and `area` of its shapes.

    A mask has the box and the number of its pixels; keypoints the rectangle around all of them, labelled or not; corners
    their hull and the area between them; an interval the box start, 0, duration, 1. Areas that were given stay.

    Parameters
    ----------
    table
        "annotations" or "detections", for errors
    frame
        canonical
    images
        image_id, image_width, image_height
    masks
        what `masks_for_boxes` gave, if that has been called

    Source: `COCO.loadRes` of pycocotools.

    Raises
    ------
    RowError
        shapes that cannot be right

    >>> interval = pl.DataFrame({
    ...     "detection_id": [1], "image_id": [1], "start_time": [2.0], "end_time": [5.0],
    ...     **dict.fromkeys([*BOX, "area"], [None])}, schema_overrides=dict.fromkeys([*BOX, "area"], pl.Float64))
    >>> with_boxes("detections", interval, pl.DataFrame({"image_id": [1]})).select(*BOX, "area").row(0)
    (2.0, 0.0, 3.0, 1.0, 3.0)
    """
    shape = shape_of(frame)
    if shape is None or _has_boxes(frame):
        return frame
    extents = shape.extents(table, _decoded(shape, table, frame, images) if masks is None else masks)
    area = pl.coalesce("area", extents["area"])
    return frame.with_columns(*extents.select(BOX), area=area)


def masks_for_boxes(table: str, frame: pl.DataFrame, images: pl.DataFrame) -> Runs | None:
    """The masks of a table that has no boxes of its own, decoded; None where it has boxes, or no masks.

    >>> masks_for_boxes("detections", pl.DataFrame({"x": [2.0], "mask": ["[[0, 0, 9, 0, 9, 9]]"]}), pl.DataFrame())
    """
    if _has_boxes(frame) or shape_of(frame) is not MASKS:
        return None
    return _decoded(MASKS, table, frame, images)


def with_image_sizes(frame: pl.DataFrame, images: pl.DataFrame) -> pl.DataFrame:
    """The frame with `image_width` and `image_height` of its images, null where unknown.

    >>> images = pl.DataFrame({"image_id": [1], "image_width": [640], "image_height": [480]})
    >>> with_image_sizes(pl.DataFrame({"image_id": [1, 1]}), images).rows()
    [(1, 640, 480), (1, 640, 480)]
    """
    return frame.join(
        images.select("image_id", "image_width", "image_height"), on="image_id", how="left", maintain_order="left"
    )


def _has_boxes(frame: pl.DataFrame) -> bool:
    return frame["x"].count() == frame.height


def _decoded(shape: Shape, table: str, frame: pl.DataFrame, images: pl.DataFrame) -> Any:
    return shape.decode(table, with_image_sizes(frame, images) if shape.uses_images else frame)
