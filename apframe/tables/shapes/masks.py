"""Masks, in all forms that COCO has; they are decoded to runs of pixels before anything is computed with them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from apframe.columns import Column
from apframe.tables.shapes.shape import Shape

if TYPE_CHECKING:
    from apframe.tables.shapes.runs import Runs


def decode_masks(table: str, frame: pl.DataFrame) -> Runs:
    """`read_masks`, with a `MaskSizeWarning` where the size of run lengths is not that of the image.

    >>> square = '{"size": [4, 5], "counts": [5, 2, 2, 2, 9]}'
    >>> decode_masks("detections", pl.DataFrame({"detection_id": [1], "mask": [square]})).area.tolist()
    [4]
    """
    from apframe.tables.shapes.mask_columns import read_masks, warn_of_other_sizes  # which bring in NumPy

    masks = read_masks(table, frame)
    warn_of_other_sizes(table, frame, masks)
    return masks


def check_masks(table: str, frame: pl.DataFrame) -> None:
    """Report masks that cannot be decoded.

    >>> check_masks("detections", pl.DataFrame({"detection_id": [1], "mask": ['{"size": [4, 5], "counts": [20]}']}))
    """
    from apframe.tables.shapes.mask_columns import sound_masks  # which brings in NumPy

    sound_masks(table, frame)


def _extents(table: str, masks: Runs) -> pl.DataFrame:
    from apframe.tables.shapes.mask_columns import mask_extents

    del table
    return mask_extents(masks)


MASKS = Shape(
    iou_type="segm",
    words="mask (segmentation in JSON)",
    columns=(
        Column(
            "mask",
            None,
            "COCO's segmentation as JSON text, polygons as lists, RLE as structs, or bitmaps as lists",
            standard=False,
        ),
    ),
    needs=("mask",),
    check=check_masks,
    extents=_extents,
    decode=decode_masks,
    uses_images=True,
    json_field="segmentation",
    called={"mask: {}": ("polygon", "masks")},
    array=("masks", ("height", "width")),
)
