"""Panoptic quality."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from apframe.metrics.sums_of_matches import OfSums

if TYPE_CHECKING:
    import numpy as np


class PanopticQuality(OfSums):
    """PQ = SQ × RQ: the summed similarity of true positives over (TP + FP / 2 + FN / 2), their mean similarity, and F1.

    A list without annotations and false positives has no value; one without true positives has 0.

    Source: Kirillov et al. 2019, Panoptic Segmentation; `pq_average` of panopticapi.

    >>> from apframe.matching.verdicts import example
    >>> from apframe.metrics.cells import Cell, Cells
    >>> from apframe.metrics.weights import Weights
    >>> cells = Cells.of(example(), [Cell((0,), area_range=0, limit=0)])
    >>> {name: value.item() for name, value in PanopticQuality().read(cells, Weights.once(2)).items()}
    {'pq': 0.5, 'sq': 0.75, 'rq': 0.6666666666666666}
    >>> influence = PanopticQuality().influence(cells, Weights.once(2))["rq"]
    >>> influence.detections.round(3).tolist(), influence.annotations.round(3).tolist()
    ([[0.444, -0.222]], [[-0.222]])
    """

    name = "panoptic_quality"
    example = "COCO_PANOPTIC"
    precision = "none: scores take no part"
    weights = "similarity of the true positives"
    formula = "PQ: sum of IoU / (TP + FP / 2 + FN / 2); SQ: sum of IoU / TP; RQ: TP / (TP + FP / 2 + FN / 2)"
    used_by = "COCO and Cityscapes panoptic segmentation"
    source = "Kirillov et al. 2019; panopticapi, evaluation.py"
    columns = ("pq", "sq", "rq")
    sums = (("true_positives", "similarity"), ("true_positives", None), ("annotations", None), ("detections", None))

    def of_sums(self, *sums: np.ndarray) -> Mapping[str, np.ndarray]:
        """Return PQ, SQ and RQ."""
        import numpy as np

        similarity, true, annotated, detected = sums
        half = (annotated + detected) / 2
        return {"pq": similarity / half, "sq": similarity / np.where(true > 0, true, half), "rq": true / half}
