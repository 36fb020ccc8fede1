"""IoU of masks as in pycocotools, independent of the size of the image."""

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

SMALLEST = 5e-324  # a threshold that every overlapping pair reaches


@dataclass(frozen=True)
class MaskIoUOfAnySize(MaskIoU):
    """`MaskIoU` for masks of other sizes than their image, in which masks of different sizes do not pair.

    If all pairs are requested (`min_similarity` is 5e-324 or less), such masks have -1 if their boxes overlap, as in the
    reference.

    Source: `rleIou` of the COCO mask API.

    >>> detections = pl.DataFrame({"detection_id": [1], "image_id": 1, "cell": 7, "mask": '{"size": [2, 2], "counts": [0, 4]}'})
    >>> truth = pl.DataFrame({"annotation_id": [1], "image_id": 1, "cell": 7, "mask": '{"size": [2, 3], "counts": [0, 6]}',
    ...     "is_crowd": False})
    >>> MaskIoUOfAnySize().pair(detections, truth, min_similarity=0.0)["similarity"].to_list()
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


def compare_masks(masks: Runs, detection: np.ndarray, annotation: np.ndarray, is_crowd: np.ndarray) -> np.ndarray:
    """Compute the IoU of masks number `detection` and `annotation` for each pair; for crowds, over the former's pixels.

    Masks of different sizes have -1, if their boxes overlap.

    Source: `rleIou` of the COCO mask API.

    >>> from apframe.tables.shapes.pixel_runs import pack
    >>> masks = pack([3, 3], [1, 1], [1, 1], np.array([0, 0]), np.array([0, 1]), np.array([2, 3]))
    >>> compare_masks(masks, np.array([0, 0]), np.array([1, 1]), np.array([False, True])).round(3).tolist()
    [0.333, 0.5]
    """
    low = np.maximum(masks.box[detection, :2], masks.box[annotation, :2])
    high = np.minimum(masks.box[detection, 2:], masks.box[annotation, 2:])
    near = np.flatnonzero((low < high).all(axis=1))
    similarity, detection, annotation = np.zeros(len(detection)), detection[near], annotation[near]
    shared = intersect(masks, masks, detection, annotation)
    union = masks.area[detection] + np.where(is_crowd[near], 0, masks.area[annotation] - shared)
    differ = (masks.height[detection] != masks.height[annotation]) | (masks.width[detection] != masks.width[annotation])
    similarity[near] = np.where(differ, -1.0, shared / union)
    return similarity
