"""Numbers that are made of sums over matches: panoptic quality, IoU of pixels, and images found."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

import polars as pl

from apframe.metrics.metric import Metric
from apframe.metrics.points import Definition, OfVerdicts

if TYPE_CHECKING:
    import numpy as np

    from apframe.metrics.cells import Cells
    from apframe.metrics.influence import Influence
    from apframe.metrics.weights import Weights


class OfMatches(OfVerdicts, Metric):
    """Numbers of each list that are made of sums over matches; there is no precision down the ranks, and so no AP."""

    reads_remainder = False
    why_no_points = "is made of sums over matches, not of a ranked list"
    example = "COCO_PANOPTIC"
    ranks, by_score = False, False
    line = "numbers"

    def describe(self) -> str:
        """The formula."""
        return self.formula

    @property
    def by_definition(self) -> Definition:
        """Itself."""
        return self

    def read(self, cells: Cells, weights: Weights) -> Mapping[str, np.ndarray]:
        """The numbers, under weights as they are given.

        >>> from apframe.matching.verdicts import example
        >>> from apframe.metrics.cells import Cell, Cells
        >>> from apframe.metrics.weights import Weights
        >>> cells = Cells.of(example(), [Cell((0,), area_range=0, limit=0)])
        >>> {name: found.item() for name, found in PanopticQuality().read(cells, Weights.once(2)).items()}
        {'pq': 0.5, 'sq': 0.75, 'rq': 0.6666666666666666}
        """
        import numpy as np

        with np.errstate(invalid="ignore"):
            return cells.means(self.columns, lambda *given: self._at(cells, *given), weights)

    @abstractmethod
    def _at(self, cells: Cells, weights: Weights, *place: int) -> Mapping[str, np.ndarray]:
        """The numbers at a threshold, in an area range and within a limit."""


class OfSums(OfMatches):
    """Numbers that are functions of sums alone, of which the influence follows.

    Attributes
    ----------
    sums
        what the numbers are made of: sums over the annotations, the detections or the true positives that count, and the column
        that each row is multiplied by, or None. Those of true positives are columns of `Cells.hits`
    """

    sums: ClassVar[tuple[tuple[str, str | None], ...]]

    @abstractmethod
    def of_sums(self, *sums: np.ndarray) -> Mapping[str, np.ndarray]:
        """The numbers by column from the sums, of shape (lists, weightings); 0 / 0, which is NaN, where there is none."""

    def _at(self, cells: Cells, weights: Weights, *place: int) -> Mapping[str, np.ndarray]:
        return self.of_sums(*(cells.sum_rows(*each, weights.given, *place) for each in self.sums))

    def influence(self, cells: Cells, weights: Weights) -> Mapping[str, Influence]:
        """See `Metric.influence`: a row changes a sum by its part of it, and the number by that times the derivative.

        >>> from apframe.matching.verdicts import example
        >>> from apframe.metrics.cells import Cell, Cells
        >>> from apframe.metrics.weights import Weights
        >>> cells = Cells.of(example(), [Cell((0,), area_range=0, limit=0)])
        >>> made = PanopticQuality().influence(cells, Weights.once(2))["rq"]
        >>> made.detections.round(3).tolist(), made.annotations.round(3).tolist()
        ([[0.444, -0.222]], [[-0.222]])
        """
        from apframe.metrics.influence import influence_of_sums

        return influence_of_sums(self, cells, weights)


class PanopticQuality(OfSums):
    """PQ = SQ RQ: the similarities of true positives over (TP + FP / 2 + FN / 2), their mean, and F1.

    A list without annotations and false positives has no value; one without true positives has 0.

    Source: Kirillov et al. 2019, Panoptic Segmentation; `pq_average` of panopticapi.
    """

    name = "panoptic_quality"
    columns = ("pq", "sq", "rq")
    sums = (("true_positives", "similarity"), ("true_positives", None), ("annotations", None), ("detections", None))

    def of_sums(self, *sums: np.ndarray) -> Mapping[str, np.ndarray]:
        """PQ, SQ and RQ."""
        import numpy as np

        similarity, true, annotated, detected = sums
        half = (annotated + detected) / 2
        return {"pq": similarity / half, "sq": similarity / np.where(true > 0, true, half), "rq": true / half}


class PixelIoU(OfSums):
    """IoU of all pixels of a class, TP / (TP + FP + FN), over all images, and what means of classes are made of.

    A class that has no pixels on either side has no value; `accuracy` has none without annotated pixels.

    Source: `getIouScoreForLabel` of cityscapesScripts; Long et al. 2015, Fully Convolutional Networks, 5.
    """

    name = "pixel_iou"
    columns = ("iou", "accuracy", "pixels", "correct_pixels", "weighted_iou")
    counts_pixels = True
    row_weights = (pl.col("area") - pl.col("void_area"), pl.col("area"))
    sums = (("annotations", "weight"), ("true_positives", "weight"), ("detections", "weight"))

    def of_sums(self, *sums: np.ndarray) -> Mapping[str, np.ndarray]:
        """IoU and accuracy; annotated pixels, those found, and IoU times annotated pixels, whose sums make other means."""
        import numpy as np

        pixels, correct, found = sums
        union = pixels + found - correct
        iou = correct / union
        return {
            "iou": iou,
            "accuracy": correct / pixels,
            "pixels": np.where(union > 0, pixels, np.nan),
            "correct_pixels": np.where(union > 0, correct, np.nan),
            "weighted_iou": iou * pixels,
        }


class RecallByImage(OfMatches):
    """The mean over images of the share of their annotations that were found; images without annotations do not count.

    Source: Lu et al. 2016, Visual Relationship Detection with Language Priors; `sg_eval.py` of neural-motifs.
    """

    name = "recall_by_image"
    columns = ("mean_recall",)
    by_score = True

    def of_images(self, share: np.ndarray) -> np.ndarray:
        """What is averaged over images, from the share of the annotations of each that were found."""
        return share

    def shares(self, cells: Cells, *place: int) -> tuple[np.ndarray, np.ndarray]:
        """The first annotation of each image and list that has some, and what of the image is averaged."""
        import numpy as np

        n_images, rows = cells.n_images, cells.annotations
        expected, _ = cells.rows_at("annotations", None, *place)
        key = rows["list"][expected].astype(np.int64) * n_images + rows["image"][expected]
        at, first, n = np.unique(key, return_index=True, return_counts=True)
        true, _ = cells.rows_at("true_positives", None, *place)
        found = cells.detections["list"][true].astype(np.int64) * n_images + cells.detections["image"][true]
        share = np.bincount(np.searchsorted(at, found), minlength=len(at)) / n
        return expected[first], self.of_images(share)

    def _at(self, cells: Cells, weights: Weights, *place: int) -> Mapping[str, np.ndarray]:
        from apframe.metrics.segments import sums_of_weights

        first, share = self.shares(cells, *place)
        number, image = cells.annotations["list"][first], cells.annotations["image"][first]
        total = sums_of_weights(weights.given, image, number, cells.n_lists, share)
        return {self.columns[0]: total / cells.images_with_positives(place[1], weights.given)}

    def influence(self, cells: Cells, weights: Weights) -> Mapping[str, Influence]:
        """See `Metric.influence`: of a mean over images, it is the deviation from the mean over their number."""
        from apframe.metrics.influence import influence_on_means

        return {self.columns[0]: influence_on_means(cells, weights, self.shares)}


class Success(RecallByImage):
    """The share of images in which an annotation was found; images without annotations do not count.

    Source: Plummer et al. 2015, Flickr30k Entities, where it is called R@k.
    """

    name = "success"
    columns = ("success",)

    def of_images(self, share: np.ndarray) -> np.ndarray:
        """1 where an annotation was found, otherwise 0."""
        return share > 0
