"""IoU of pixels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import polars as pl

from apframe.metrics.sums_of_matches import OfSums

if TYPE_CHECKING:
    import numpy as np


class PixelIoU(OfSums):
    """IoU of all pixels of a class, TP / (TP + FP + FN), over all images, and the sums behind the means of classes.

    A class that has no pixels on either side has no value; `accuracy` has none without annotated pixels.

    Source: `getIouScoreForLabel` of cityscapesScripts; Long et al. 2015, Fully Convolutional Networks, 5.
    """

    name = "pixel_iou"
    example = "SEMANTIC"
    precision = "none: scores take no part"
    weights = "pixels"
    formula = "IoU: TP / (TP + FP + FN); accuracy: TP / (TP + FN); of the pixels of all images"
    used_by = "semantic segmentation: Cityscapes, PASCAL VOC, ADE20K"
    source = "cityscapesScripts, evalPixelLevelSemanticLabeling.py; Long et al. 2015"
    columns = ("iou", "accuracy", "pixels", "correct_pixels", "weighted_iou")
    counts_pixels = True
    row_weights = (pl.col("area") - pl.col("void_area"), pl.col("area"))
    sums = (("annotations", "weight"), ("true_positives", "weight"), ("detections", "weight"))

    def of_sums(self, *sums: np.ndarray) -> Mapping[str, np.ndarray]:
        """Return IoU, accuracy, and for other means the pixels annotated, those correct, and IoU times annotated pixels."""
        import numpy as np

        pixels, correct, predicted = sums
        union = pixels + predicted - correct
        iou = correct / union
        return {
            "iou": iou,
            "accuracy": correct / pixels,
            "pixels": np.where(union > 0, pixels, np.nan),
            "correct_pixels": np.where(union > 0, correct, np.nan),
            "weighted_iou": iou * pixels,
        }
