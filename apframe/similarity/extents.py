"""Boxes and areas of shapes without boxes of their own (masks, keypoints, corners, intervals), and of turned boxes."""

from __future__ import annotations

from typing import Any

import polars as pl

from apframe.similarity.pairs import Similarity
from apframe.tables.dataset import Dataset
from apframe.tables.shapes.boxes import BOX
from apframe.tables.shapes.declarations import shape_of
from apframe.tables.shapes.shape import Shape


def with_boxes(table: str, frame: pl.DataFrame, images: pl.DataFrame, prepared: Any = None) -> pl.DataFrame:
    """Return the frame with `x, y, width, height` and `area` computed from its shapes, if it has no boxes of its own.

    A mask gets the box and the number of its pixels; keypoints get the rectangle around all of them, labelled or not; corners
    get their hull and the area between them; an interval gets the box start, 0, duration, 1. Areas in the frame stay.

    Parameters
    ----------
    table
        "annotations" or "detections", for errors
    frame
        a canonical table
    images
        image_id, image_width, image_height
    prepared
        the result of `prepare_shapes`, if it was called

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
    if shape is None or not lacks_boxes(frame):
        return frame
    extents = shape.extents(table, shape.decode(table, _sized(shape, frame, images)) if prepared is None else prepared)
    return frame.with_columns(*extents.select(BOX), area=pl.coalesce("area", extents["area"]))


def lacks_boxes(frame: pl.DataFrame) -> bool:
    """Return True if a canonical table has rows without a box.

    >>> lacks_boxes(pl.DataFrame({"x": [2.0]})), lacks_boxes(pl.DataFrame({"x": [2.0, None]}))
    (False, True)
    """
    return frame["x"].count() < frame.height


def with_upright_boxes(dataset: Dataset) -> Dataset:
    """Return the data set with the upright box around each box that `angle` turns, see `upright`.

    >>> quarter = {"x": [10], "y": [20], "width": [60], "height": [40], "angle": [1.5707963267948966]}
    >>> turned = Dataset({"image_id": [1]}, {"category_id": [1]}, quarter | {"image_id": [1], "category_id": [1]})
    >>> with_upright_boxes(turned).annotations.select(BOX).row(0)
    (20.0, 10.0, 40.0, 60.0)
    """
    from apframe.tables.shapes.corners import upright  # only needed for turned boxes

    core = dataset.core("annotations")
    return dataset if upright(core) is core else dataset.part(dataset.images, upright(dataset.annotations))


def has_pixels(annotations: pl.DataFrame) -> pl.Series:
    """Flag the annotations whose mask has a pixel; those without a mask, or with an empty list of polygons, have none.

    `annotations` also has the sizes of the images.

    >>> masks = ['{"size": [2, 2], "counts": [0, 4]}', '{"size": [2, 2], "counts": [4]}', "[]", None]
    >>> has_pixels(pl.DataFrame({"annotation_id": [1, 2, 3, 4], "mask": masks})).to_list()
    [True, False, False, False]
    """
    from apframe.tables.shapes.mask_columns import read_masks  # which brings in NumPy

    mask = pl.col("mask")
    dtype = annotations.schema["mask"]
    is_empty = mask.str.contains(r"^\s*\[\s*\]\s*$") if dtype == pl.String else pl.lit(False)
    is_empty = mask.list.len() == 0 if isinstance(dtype, pl.List) else is_empty
    there = annotations.select((mask.is_not_null() & ~is_empty).fill_null(False)).to_series()
    filled = there.arg_true().to_numpy()[read_masks("annotations", annotations.filter(there)).area > 0]
    return pl.repeat(False, annotations.height, eager=True).scatter(filled, True)


def prepare_shapes(table: str, frame: pl.DataFrame, images: pl.DataFrame, similarity: Similarity) -> Any:
    """Return the prepared shapes of a table (`Similarity.prepare`), or None if the similarity does not compare its shape.

    >>> from apframe.similarity.box_iou import BoxIoU
    >>> prepare_shapes("detections", pl.DataFrame({"x": [2.0], "mask": ["[[0, 0, 9, 0, 9, 9]]"]}), pl.DataFrame(), BoxIoU())
    """
    shape = shape_of(frame)
    if shape is None or shape is not similarity.shape:
        return None
    return similarity.prepare(table, _sized(shape, frame, images))


def with_image_sizes(frame: pl.DataFrame, images: pl.DataFrame) -> pl.DataFrame:
    """Add `image_width` and `image_height` of the images to the frame, null where unknown.

    >>> images = pl.DataFrame({"image_id": [1], "image_width": [640], "image_height": [480]})
    >>> with_image_sizes(pl.DataFrame({"image_id": [1, 1]}), images).rows()
    [(1, 640, 480), (1, 640, 480)]
    """
    return frame.join(
        images.select("image_id", "image_width", "image_height"), on="image_id", how="left", maintain_order="left"
    )


def _sized(shape: Shape, frame: pl.DataFrame, images: pl.DataFrame) -> pl.DataFrame:
    return with_image_sizes(frame, images) if shape.uses_images else frame
