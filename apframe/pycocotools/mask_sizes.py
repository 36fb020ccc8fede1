"""IoU of masks as pycocotools has it: of any size, whatever that of the image is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import polars as pl

from apframe.shapes.boxes import BOX
from apframe.shapes.mask_columns import mask_extents
from apframe.similarity.box_iou import BoxIoU
from apframe.similarity.mask_iou import MaskIoU

if TYPE_CHECKING:
    from apframe.shapes.runs import Runs

SMALLEST = 5e-324  # a threshold that every pair reaches which has anything in common


@dataclass(frozen=True)
class MaskIoUOfAnySize(MaskIoU):
    """`MaskIoU` for masks of other sizes than their image: two masks of different sizes are no pair.

    Where all pairs are wanted (`least` is 5e-324 or less) such two have -1, if their boxes overlap, as in the reference.

    Source: `rleIou` of the COCO mask API.

    >>> found = pl.DataFrame({"detection_id": [1], "image_id": 1, "cell": 7, "mask": '{"size": [2, 2], "counts": [0, 4]}'})
    >>> truth = pl.DataFrame({"annotation_id": [1], "image_id": 1, "cell": 7, "mask": '{"size": [2, 3], "counts": [0, 6]}',
    ...     "is_crowd": False})
    >>> MaskIoUOfAnySize().pair(found, truth, least=0.0)["similarity"].to_list()
    [-1.0]
    """

    any_size: ClassVar[bool] = True

    def compare(
        self, found: Runs, expected: Runs, detections: pl.DataFrame, annotations: pl.DataFrame, least: float
    ) -> pl.DataFrame:
        """See `MaskSimilarity.compare`."""

        def are_alike(pairs: pl.DataFrame) -> pl.Series:
            places = [pairs[name].to_numpy() for name in ("detection", "annotation")]
            sizes = [(masks.height[place], masks.width[place]) for masks, place in zip((found, expected), places, strict=True)]
            (height, width), (height_too, width_too) = sizes
            return pl.Series((height == height_too) & (width == width_too))

        pairs = super().compare(found, expected, detections, annotations, least)
        pairs = pairs.filter(are_alike(pairs))
        if least > SMALLEST:
            return pairs
        left = detections.select("cell").hstack(mask_extents(found).select(BOX))
        right = annotations.select("cell", "is_crowd").hstack(mask_extents(expected).select(BOX))
        others = BoxIoU().pair(left, right, least)
        return pl.concat([pairs, others.filter(~are_alike(others)).with_columns(similarity=pl.lit(-1.0))])
