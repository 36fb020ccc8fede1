"""The smaller of two IoUs of segments: of all their pixels, and of their inner boundaries (boundary panoptic quality)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import polars as pl

from apframe.benchmarks.pixels.panoptic.panoptic_iou import PanopticIoU, are_counted, refuse_repeated
from apframe.option_values import proper_share
from apframe.rows import refuse_rows


@dataclass(frozen=True)
class PanopticBoundaryIoU(PanopticIoU):
    """The smaller of `PanopticIoU` and the IoU of inner boundaries; crowds and void pixels are those of whole segments.

    Attributes
    ----------
    dilation
        the width of boundaries, as a share of the image's diagonal; in whole pixels, at least 1

    Source: Cheng et al. 2021, Boundary IoU; boundary-iou-api, coco_panoptic_api/evaluation.py.

    >>> PanopticBoundaryIoU().dilation
    0.02
    """

    name: ClassVar[str] = "panoptic_boundary_iou"
    iou_type: ClassVar[str] = "panoptic_boundary"

    dilation: float = 0.02

    def __post_init__(self) -> None:
        proper_share("dilation", self.dilation, 0.02)

    @property
    def words(self) -> str:
        """Return the rule in plain words."""
        return f"{super().words}; or of their inner boundaries, {self.dilation:g} of the diagonal wide, if that is smaller"

    def complete(self, detections: pl.DataFrame, images: pl.DataFrame, annotations: pl.DataFrame) -> pl.DataFrame:
        """Add the columns of `PanopticIoU.complete` to detections, and the IoU of boundaries to `overlaps`."""
        refuse_repeated(annotations)
        if are_counted(detections) and _have_boundaries(detections).all():
            return detections
        from apframe.similarity.label_map_overlaps import count_overlaps  # imports NumPy

        return count_overlaps(detections, images, annotations=annotations, dilation=self.dilation)

    def pair(self, detections: pl.DataFrame, annotations: pl.DataFrame, min_similarity: float) -> pl.DataFrame:
        """Return the pairs of a cell: see `Similarity.pair`."""
        if "overlaps" in detections.columns:
            remedy = "supply it in overlaps, or label_map of images and detections, in which boundaries are counted"
            refuse_rows("detections", detections, ~_have_boundaries(detections), "boundary_iou is missing", remedy)
        return super().pair(detections, annotations, min_similarity)

    @property
    def of_segments(self) -> pl.Expr:
        """Return the smaller of the two IoUs."""
        return pl.min_horizontal(super().of_segments, "boundary_iou")


def _have_boundaries(detections: pl.DataFrame) -> pl.Series:
    """Flag detections whose overlaps all have the IoU of the boundaries."""
    has_boundary = pl.element().struct.field("boundary_iou").is_not_null().all()
    return detections["overlaps"].list.eval(has_boundary).list.first().fill_null(True)
