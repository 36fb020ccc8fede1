"""Boundary IoU: how well the outlines of two masks agree, whatever their size (Cheng et al. 2021)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import polars as pl

from apframe.exceptions import ParameterError
from apframe.similarity.mask_iou import MaskSimilarity, pair_masks

if TYPE_CHECKING:
    from apframe.tables.shapes.pixel_runs import Runs


@dataclass(frozen=True)
class BoundaryIoU(MaskSimilarity):
    """The smaller of mask IoU and the IoU of the boundaries; for crowds, mask IoU alone.

    The boundary of a mask consists of its pixels that are near a pixel outside of it, in x and in y. Near means at most
    `dilation` × the image's diagonal, rounded to whole pixels, at least one. Everything beyond the image's border is outside.

    Parameters
    ----------
    dilation
        width of the boundary, as a fraction of the image's diagonal

    Raises
    ------
    ParameterError
        `dilation` is not a positive number

    Source: `mask_to_boundary` and `COCOeval.computeBoundaryIoU` of boundary-iou-api.

    >>> mask = '{"size": [5, 5], "counts": [5, 20]}'
    >>> detections = pl.DataFrame({"detection_id": [1], "image_id": 1, "cell": 7, "mask": mask})
    >>> truth = pl.DataFrame({"annotation_id": [1], "image_id": 1, "cell": 7, "mask": '{"size": [5, 5], "counts": [0, 25]}',
    ...     "is_crowd": False})
    >>> BoundaryIoU().pair(detections, truth, min_similarity=0.5)["similarity"].to_list()  # 11 of 19 pixels
    [0.5789473684210527]
    """

    dilation: float = 0.02

    name: ClassVar[str] = "boundary_iou"

    def __post_init__(self) -> None:
        if not (self.dilation > 0 and math.isfinite(self.dilation)):
            raise ParameterError(f"must be a positive number such as 0.02, not {self.dilation!r}", option="dilation")

    @property
    def words(self) -> str:
        """The rule in plain words."""
        return f"the smaller of mask IoU and boundary IoU (a boundary is {self.dilation:g} of the image's diagonal wide)"

    def compare(
        self,
        detection_masks: Runs,
        annotation_masks: Runs,
        detections: pl.DataFrame,
        annotations: pl.DataFrame,
        min_similarity: float,
    ) -> pl.DataFrame:
        """Return the similarity of each pair of masks: see `MaskSimilarity.compare`."""
        from apframe.tables.shapes.boundaries import boundary_iou

        pairs = pair_masks(detection_masks, annotation_masks, detections, annotations, min_similarity)
        is_crowd = annotations["is_crowd"].gather(pairs["annotation"])
        objects = pairs.filter(~is_crowd)
        detection, annotation, shared = (objects[name].to_numpy() for name in ("detection", "annotation", "shared"))
        iou = pl.Series("iou", boundary_iou(detection_masks, annotation_masks, detection, annotation, shared, self.dilation))
        objects = objects.with_columns(similarity=pl.min_horizontal("similarity", iou))
        return pl.concat([pairs.filter(is_crowd), objects.filter(pl.col("similarity") >= min_similarity)]).drop("shared")
