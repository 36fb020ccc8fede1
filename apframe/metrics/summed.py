"""Numbers that are made of sums over matches: panoptic quality, IoU of pixels, recall image by image."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import polars as pl

from apframe.exceptions import ParameterError
from apframe.metrics.points import Definition

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class Sums:
    """Sums of weights, in arrays of any shape; what weighs how much is said by `Summed.weighs`.

    `similarity` sums the similarities of true positives, `hits` their weights, `annotations` and `detections` those of all that
    count.
    """

    similarity: np.ndarray
    hits: np.ndarray
    annotations: np.ndarray
    detections: np.ndarray


class Summed(Definition):
    """Numbers of each list that are made of sums over its matches; there is no precision down the ranks, and so no AP.

    Attributes
    ----------
    columns
        what metrics have of each list
    by_score
        whether scores decide which detections count and match; otherwise they take no part
    weighs
        what rows weigh: "rows", all the same; "pixels", as many as they have; "images", annotations share the weight of one
        among those of their list and image, and a true positive has that of its annotation; "images_found", the same but for
        the first true positive of a list and image, which has all of it, and further ones nothing
    """

    columns: ClassVar[tuple[str, ...]]
    by_score: ClassVar[bool] = False
    weighs: ClassVar[str] = "rows"

    @abstractmethod
    def of_sums(self, sums: Sums) -> Mapping[str, np.ndarray]:
        """The numbers by column; NaN where there is none."""

    def of_points(self) -> pl.Expr:
        """Not there: a ranked list is in the order of its scores.

        Raises
        ------
        ParameterError
            always
        """
        raise ParameterError(
            f"{self.name} is made of sums over matches, not of a ranked list",
            "use it with a protocol such as apframe.COCO_PANOPTIC, or choose another definition",
            option="definition",
        )


class PanopticQuality(Summed):
    """PQ = SQ RQ: the similarities of true positives over (TP + FP / 2 + FN / 2), their mean, and F1.

    A list without annotations and false positives has no value; one without true positives has 0.

    Source: Kirillov et al. 2019, Panoptic Segmentation; `pq_average` of panopticapi.
    """

    name = "panoptic_quality"
    columns = ("pq", "sq", "rq")

    def of_sums(self, sums: Sums) -> Mapping[str, np.ndarray]:
        """PQ, SQ and RQ."""
        half = (sums.annotations + sums.detections) / 2
        none = half == 0
        return {
            "pq": _divide(sums.similarity, half, none),
            "sq": _divide(sums.similarity, sums.hits, none),
            "rq": _divide(sums.hits, half, none),
        }


class PixelIoU(Summed):
    """IoU of all pixels of a class, TP / (TP + FP + FN), over all images, and what means of classes are made of.

    A class that has no pixels on either side has no value; `accuracy` has none without annotated pixels.

    Source: `getIouScoreForLabel` of cityscapesScripts; Long et al. 2015, Fully Convolutional Networks, 5.
    """

    name = "pixel_iou"
    columns = ("iou", "accuracy", "pixels", "correct_pixels", "weighted_iou")
    weighs = "pixels"

    def of_sums(self, sums: Sums) -> Mapping[str, np.ndarray]:
        """IoU and accuracy; annotated pixels, those found, and IoU times annotated pixels, whose sums make other means."""
        import numpy as np

        union = sums.annotations + sums.detections - sums.hits
        none = union == 0
        iou = _divide(sums.hits, union, none)
        return {
            "iou": iou,
            "accuracy": _divide(sums.hits, sums.annotations, sums.annotations == 0),
            "pixels": np.where(none, np.nan, sums.annotations),
            "correct_pixels": np.where(none, np.nan, sums.hits),
            "weighted_iou": iou * sums.annotations,
        }


class RecallByImage(Summed):
    """The mean over images of the share of their annotations that were found; images without annotations do not count.

    Source: Lu et al. 2016, Visual Relationship Detection with Language Priors; `sg_eval.py` of neural-motifs.
    """

    name = "recall_by_image"
    columns = ("mean_recall",)
    by_score = True
    weighs = "images"

    def of_sums(self, sums: Sums) -> Mapping[str, np.ndarray]:
        """The mean recall."""
        return {"mean_recall": _divide(sums.hits, sums.annotations, sums.annotations == 0)}


class Success(Summed):
    """The share of images in which an annotation was found; images without annotations do not count.

    Source: Plummer et al. 2015, Flickr30k Entities, where it is called R@k.
    """

    name = "success"
    columns = ("success",)
    by_score = True
    weighs = "images_found"

    def of_sums(self, sums: Sums) -> Mapping[str, np.ndarray]:
        """The share of images."""
        return {"success": _divide(sums.hits, sums.annotations, sums.annotations == 0)}


def _divide(a: np.ndarray, b: np.ndarray, none: np.ndarray) -> np.ndarray:
    """The quotients, 0 where the divisor is 0, and NaN where there is `none`."""
    import numpy as np

    found = np.divide(a, b, out=np.zeros(np.broadcast_shapes(a.shape, b.shape)), where=b != 0)
    return np.where(none, np.nan, found)
