"""Recall by image."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from apframe.metrics.sums_of_matches import OfMatches

if TYPE_CHECKING:
    import numpy as np

    from apframe.metrics.cells import Cells
    from apframe.metrics.influence import RowInfluence
    from apframe.metrics.weights import Weights


class RecallByImage(OfMatches):
    """The mean over images of the share of detected annotations; images without annotations do not count.

    Source: Lu et al. 2016, Visual Relationship Detection with Language Priors; `sg_eval.py` of neural-motifs.
    """

    name = "recall_by_image"
    example = "VISUAL_GENOME"
    precision = "none"
    weights = "the same for every image"
    formula = "R@k: mean over images of the share of their annotations that the k best detections of the image find"
    used_by = "Visual Genome: R@k, mR@k"
    source = "Lu et al. 2016; neural-motifs, sg_eval.py"
    columns = ("mean_recall",)
    by_score = True

    def of_images(self, share: np.ndarray) -> np.ndarray:
        """Return the values that are averaged over images, from the share of detected annotations on each."""
        return share

    def shares(self, cells: Cells, *place: int) -> tuple[np.ndarray, np.ndarray]:
        """Return, for each image and list with annotations, its first annotation and its value in the mean."""
        import numpy as np

        n_images, rows = cells.n_images, cells.annotations
        expected, _ = cells.rows_at("annotations", None, *place)
        key = rows["list"][expected].astype(np.int64) * n_images + rows["image"][expected]
        at, first, n = np.unique(key, return_index=True, return_counts=True)
        true, _ = cells.rows_at("true_positives", None, *place)
        true_places = cells.detections["list"][true].astype(np.int64) * n_images + cells.detections["image"][true]
        share = np.bincount(np.searchsorted(at, true_places), minlength=len(at)) / n
        return expected[first], self.of_images(share)

    def _at(self, cells: Cells, weights: Weights, *place: int) -> Mapping[str, np.ndarray]:
        from apframe.metrics.list_sums import sums_of_weights

        first, share = self.shares(cells, *place)
        number, image = cells.annotations["list"][first], cells.annotations["image"][first]
        total = sums_of_weights(weights.given, image, number, cells.n_lists, share)
        return {self.columns[0]: total / cells.images_with_positives(place[1], weights.given)}

    def influence(self, cells: Cells, weights: Weights) -> Mapping[str, RowInfluence]:
        """Return the influence, see `Metric.influence`: the deviation from the mean, over the number of images."""
        from apframe.metrics.influence import influence_on_means

        return {self.columns[0]: influence_on_means(cells, weights, self.shares)}
