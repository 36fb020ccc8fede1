"""IoU of masks as pycocotools has it: of any size, whatever that of the image is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import polars as pl

from apframe.similarity.box_iou import BoxIoU
from apframe.similarity.mask_iou import MaskIoU
from apframe.tables.shapes.boxes import BOX
from apframe.tables.shapes.intersections import intersect
from apframe.tables.shapes.mask_columns import mask_extents

if TYPE_CHECKING:
    from apframe.tables.shapes.pixel_runs import Runs

SMALLEST = 5e-324  # a threshold that every pair reaches which has anything in common


@dataclass(frozen=True)
class MaskIoUOfAnySize(MaskIoU):
    """`MaskIoU` for masks of other sizes than their image: two masks of different sizes are no pair.

    If `min_similarity` is 5e-324 or less, so that all pairs are returned, such two have -1 if their boxes overlap (as there).

    Source: `rleIou` of the COCO mask API.

    >>> found = pl.DataFrame({"detection_id": [1], "image_id": 1, "cell": 7, "mask": '{"size": [2, 2], "counts": [0, 4]}'})
    >>> truth = pl.DataFrame({"annotation_id": [1], "image_id": 1, "cell": 7, "mask": '{"size": [2, 3], "counts": [0, 6]}',
    ...     "is_crowd": False})
    >>> MaskIoUOfAnySize().pair(found, truth, min_similarity=0.0)["similarity"].to_list()
    [-1.0]
    """

    any_size: ClassVar[bool] = True

    def compare(
        self,
        detection_masks: Runs,
        annotation_masks: Runs,
        detections: pl.DataFrame,
        annotations: pl.DataFrame,
        min_similarity: float,
    ) -> pl.DataFrame:
        """Return the similarity of each pair of masks: see `MaskSimilarity.compare`."""

        def are_alike(pairs: pl.DataFrame) -> pl.Series:
            places = [pairs[name].to_numpy() for name in ("detection", "annotation")]
            sizes = [
                (masks.height[place], masks.width[place])
                for masks, place in zip((detection_masks, annotation_masks), places, strict=True)
            ]
            (height, width), (height_too, width_too) = sizes
            return pl.Series((height == height_too) & (width == width_too))

        pairs = super().compare(detection_masks, annotation_masks, detections, annotations, min_similarity)
        pairs = pairs.filter(are_alike(pairs))
        if min_similarity > SMALLEST:
            return pairs
        left = detections.select("cell").hstack(mask_extents(detection_masks).select(BOX))
        right = annotations.select("cell", "is_crowd").hstack(mask_extents(annotation_masks).select(BOX))
        others = BoxIoU().pair(left, right, min_similarity)
        return pl.concat([pairs, others.filter(~are_alike(others)).with_columns(similarity=pl.lit(-1.0))])


def compare_masks(masks: Runs, found: np.ndarray, expected: np.ndarray, is_crowd: np.ndarray) -> np.ndarray:
    """IoU of mask number `found` with mask number `expected`, for each pair; over the former's own pixels for a crowd.

    Masks of different sizes have -1, if their boxes overlap.

    Source: `rleIou` of the COCO mask API.

    >>> from apframe.tables.shapes.pixel_runs import pack
    >>> masks = pack([3, 3], [1, 1], [1, 1], np.array([0, 0]), np.array([0, 1]), np.array([2, 3]))
    >>> compare_masks(masks, np.array([0, 0]), np.array([1, 1]), np.array([False, True])).round(3).tolist()
    [0.333, 0.5]
    """
    low = np.maximum(masks.box[found, :2], masks.box[expected, :2])
    high = np.minimum(masks.box[found, 2:], masks.box[expected, 2:])
    near = np.flatnonzero((low < high).all(axis=1))
    similarity, found, expected = np.zeros(len(found)), found[near], expected[near]
    shared = intersect(masks, masks, found, expected)
    union = masks.area[found] + np.where(is_crowd[near], 0, masks.area[expected] - shared)
    differ = (masks.height[found] != masks.height[expected]) | (masks.width[found] != masks.width[expected])
    similarity[near] = np.where(differ, -1.0, shared / union)
    return similarity
