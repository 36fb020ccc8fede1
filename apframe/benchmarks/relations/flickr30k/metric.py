"""The share of images with at least one detected annotation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apframe.benchmarks.relations.visual_genome.metric import RecallByImage

if TYPE_CHECKING:
    import numpy as np


class Success(RecallByImage):
    """The share of images with at least one detected annotation; images without annotations do not count.

    Source: Plummer et al. 2015, Flickr30k Entities, which calls it R@k.
    """

    name = "success"
    example = "FLICKR30K"
    precision = "none"
    weights = "the same for every image"
    formula = "Success@k: share of the images where one of the k best detections finds an annotation"
    used_by = "phrases and referring expressions: Flickr30k Entities, RefCOCO"
    source = "Plummer et al. 2015"
    columns = ("success",)

    def of_images(self, share: np.ndarray) -> np.ndarray:
        """Return 1 for images with a detected annotation, otherwise 0."""
        return share > 0
