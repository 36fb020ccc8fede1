"""Masks in all forms of COCO; they are decoded to runs of pixels before anything is computed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from apframe.tables.shapes.pixel_runs import Runs


def decode_masks(table: str, frame: pl.DataFrame) -> Runs:
    """Decode the masks, with a `MaskSizeWarning` if the size of run lengths differs from that of the image.

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


def extents_of_masks(table: str, masks: Runs) -> pl.DataFrame:
    """Return the boxes of masks and their numbers of pixels; `table` is not used."""
    from apframe.tables.shapes.mask_columns import mask_extents

    del table
    return mask_extents(masks)
