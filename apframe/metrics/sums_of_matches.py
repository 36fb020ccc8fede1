"""Numbers that are made of sums over matches: panoptic quality, IoU of pixels, and images found."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from apframe.metrics.metric import Metric
from apframe.metrics.points import OfVerdicts

if TYPE_CHECKING:
    import numpy as np

    from apframe.metrics.cells import Cells, Columns, Counted
    from apframe.metrics.weights import Weights


@dataclass(frozen=True)
class Sums:
    """Sums over the rows of each list that count at a threshold, in a range, within a limit, of shape (lists, weightings).

    A row adds the weight of its image, times its number in the column `factor` if one is named. The columns of true positives
    are those of `Cells.hits`.
    """

    cells: Cells
    weights: np.ndarray
    t: int
    k: int
    m: int

    @property
    def counted(self) -> Counted:
        """The true and false positives."""
        return self.cells.counted(self.t, self.k, self.m)

    def of_annotations(self, factor: str | None = None) -> np.ndarray:
        """The sums over the positives."""
        return self.cells.expected(self.k, self.weights, factor)

    def of_detections(self, factor: str | None = None) -> np.ndarray:
        """The sums over true and false positives."""
        return self._sum(slice(None), self.cells.detections, factor, self.counted.at)

    def of_true_positives(self, factor: str | None = None) -> np.ndarray:
        """The sums over the true positives."""
        true = self.counted.is_true
        return self._sum(true, self.cells.hits[self.m], factor, self.counted.hit[true])

    def _sum(self, rows: np.ndarray | slice, table: Columns, factor: str | None, at: np.ndarray) -> np.ndarray:
        from apframe.metrics.segments import sums_of_weights

        counted, n_lists = self.counted, self.cells.n_lists
        factors = None if factor is None or factor not in table else table[factor][at]  # hits have it only if there are some
        return sums_of_weights(self.weights, counted.image[rows], counted.list[rows], n_lists, factors)


class OfSums(OfVerdicts, Metric):
    """Numbers of each list that are made of sums; there is no precision down the ranks, and so no AP."""

    reads_remainder = False
    why_no_points = "is made of sums over matches, not of a ranked list"
    example = "COCO_PANOPTIC"
    ranks, by_score = False, False

    @abstractmethod
    def of_sums(self, sums: Sums) -> Mapping[str, np.ndarray]:
        """The numbers by column; 0 / 0, which is NaN, where there is none."""

    def as_metric(self, addend: float, counts_absent: bool) -> Metric:
        """Itself."""
        del addend, counts_absent
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
            return cells.means(self.columns, lambda some, *place: self.of_sums(Sums(cells, some.given, *place)), weights)


class PanopticQuality(OfSums):
    """PQ = SQ RQ: the similarities of true positives over (TP + FP / 2 + FN / 2), their mean, and F1.

    A list without annotations and false positives has no value; one without true positives has 0.

    Source: Kirillov et al. 2019, Panoptic Segmentation; `pq_average` of panopticapi.
    """

    name = "panoptic_quality"
    columns = ("pq", "sq", "rq")

    def of_sums(self, sums: Sums) -> Mapping[str, np.ndarray]:
        """PQ, SQ and RQ."""
        import numpy as np

        similarity, true = sums.of_true_positives("similarity"), sums.of_true_positives()
        half = (sums.of_annotations() + sums.of_detections()) / 2
        return {"pq": similarity / half, "sq": similarity / np.where(true > 0, true, half), "rq": true / half}


class PixelIoU(OfSums):
    """IoU of all pixels of a class, TP / (TP + FP + FN), over all images, and what means of classes are made of.

    A class that has no pixels on either side has no value; `accuracy` has none without annotated pixels.

    Source: `getIouScoreForLabel` of cityscapesScripts; Long et al. 2015, Fully Convolutional Networks, 5.
    """

    name = "pixel_iou"
    columns = ("iou", "accuracy", "pixels", "correct_pixels", "weighted_iou")
    counts_pixels = True

    def of_sums(self, sums: Sums) -> Mapping[str, np.ndarray]:
        """IoU and accuracy; annotated pixels, those found, and IoU times annotated pixels, whose sums make other means."""
        import numpy as np

        pixels, correct = sums.of_annotations("weight"), sums.of_true_positives("weight")
        union = pixels + sums.of_detections("weight") - correct
        iou = correct / union
        return {
            "iou": iou,
            "accuracy": correct / pixels,
            "pixels": np.where(union > 0, pixels, np.nan),
            "correct_pixels": np.where(union > 0, correct, np.nan),
            "weighted_iou": iou * pixels,
        }


class RecallByImage(OfSums):
    """The mean over images of the share of their annotations that were found; images without annotations do not count.

    Source: Lu et al. 2016, Visual Relationship Detection with Language Priors; `sg_eval.py` of neural-motifs.
    """

    name = "recall_by_image"
    columns = ("mean_recall",)
    by_score = True

    def of_images(self, share: np.ndarray) -> np.ndarray:
        """What is averaged over images, from the share of the annotations of each that were found."""
        return share

    def of_sums(self, sums: Sums) -> Mapping[str, np.ndarray]:
        """The mean."""
        import numpy as np

        from apframe.matching.verdicts import has_bit
        from apframe.metrics.segments import sums_of_weights

        cells, rows, n_images = sums.cells, sums.cells.annotations, sums.cells.n_images
        counts, true = has_bit(rows["counts"], sums.k), sums.counted.is_true
        place, n = np.unique(rows["list"][counts].astype(np.int64) * n_images + rows["image"][counts], return_counts=True)
        found = sums.counted.list[true].astype(np.int64) * n_images + sums.counted.image[true]
        share = np.bincount(np.searchsorted(place, found), minlength=len(place)) / n
        number, image = np.divmod(place, n_images)
        total = sums_of_weights(sums.weights, image, number, cells.n_lists, self.of_images(share))
        (column,) = self.columns
        return {column: total / cells.images_with_positives(sums.k, sums.weights)}


class Success(RecallByImage):
    """The share of images in which an annotation was found; images without annotations do not count.

    Source: Plummer et al. 2015, Flickr30k Entities, where it is called R@k.
    """

    name = "success"
    columns = ("success",)

    def of_images(self, share: np.ndarray) -> np.ndarray:
        """1 where an annotation was found, otherwise 0."""
        return share > 0
