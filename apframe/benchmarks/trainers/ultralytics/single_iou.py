"""Intersection over union of boxes and masks in single precision, as Ultralytics computes it."""

from __future__ import annotations

from dataclasses import dataclass
from struct import pack, unpack
from typing import TYPE_CHECKING, ClassVar

import polars as pl

from apframe.similarity.mask_iou import MaskSimilarity, pair_masks
from apframe.similarity.pairs import Similarity, pair_by
from apframe.tables.shapes.boxes import BOX, BOXES
from apframe.tables.shapes.shape import Shape

if TYPE_CHECKING:
    from apframe.tables.shapes.pixel_runs import Runs

_SMALL = 1e-7  # added to the union


@dataclass(frozen=True)
class SingleBoxIoU(Similarity):
    """IoU of boxes in single precision, with 1e-7 added to the union; see `single_box_iou`.

    Thresholds are rounded to single precision before the comparison.

    >>> boxes = pl.DataFrame({"cell": [7, 8], "x": [0.0, 0.0], "y": [0.0, 0.0], "width": [10.0, 4.0], "height": [1.0, 2.0]})
    >>> detections = boxes.with_columns(width=pl.Series([7.0, 1.0]))
    >>> SingleBoxIoU().pair(detections, boxes.with_columns(is_crowd=False), min_similarity=0.7).rows()
    [(0, 0, 0.699999988079071)]
    """

    name: ClassVar[str] = "single_box_iou"
    iou_type: ClassVar[str] = "bbox"
    shape: ClassVar[Shape] = BOXES
    words = "intersection over union of boxes in single precision, 1e-7 added to the union"

    def as_compared(self, threshold: float) -> float:
        """Round a threshold to single precision."""
        return _in_single(threshold)

    def pair(self, detections: pl.DataFrame, annotations: pl.DataFrame, min_similarity: float) -> pl.DataFrame:
        """Return the pairs of a cell: see `Similarity.pair`."""
        return pair_by(single_box_iou(), detections, annotations, BOX, _in_single(min_similarity))


@dataclass(frozen=True)
class SingleMaskIoU(MaskSimilarity):
    """IoU of masks in single precision: shared pixels over those of the union plus 1e-7.

    Masks are compared pixel by pixel in the size of their image. Thresholds are rounded to single precision before the
    comparison.

    Source: `mask_iou` of ultralytics, `utils/metrics.py`, whose masks have a smaller size.

    >>> mask = '{"size": [2, 5], "counts": [0, 7, 3]}'
    >>> detections = pl.DataFrame({"detection_id": [1], "image_id": 1, "cell": 7, "mask": mask})
    >>> truth = detections.rename({"detection_id": "annotation_id"}).with_columns(
    ...     mask=pl.lit('{"size": [2, 5], "counts": [0, 10]}'), is_crowd=False)
    >>> SingleMaskIoU().pair(detections, truth, min_similarity=0.7).rows()
    [(0, 0, 0.699999988079071)]
    """

    name: ClassVar[str] = "single_mask_iou"
    iou_type: ClassVar[str] = "segm"
    words = "intersection over union of masks in single precision"

    def as_compared(self, threshold: float) -> float:
        """Round a threshold to single precision."""
        return _in_single(threshold)

    def compare(
        self,
        detection_masks: Runs,
        annotation_masks: Runs,
        detections: pl.DataFrame,
        annotations: pl.DataFrame,
        min_similarity: float,
    ) -> pl.DataFrame:
        """Return the similarity of each pair of masks: see `MaskSimilarity.compare`."""
        pairs = pair_masks(detection_masks, annotation_masks, detections, annotations, _in_single(min_similarity) * (1 - 1e-7))
        rounded = pairs.select("detection", "annotation", pl.col("similarity").cast(pl.Float32).cast(pl.Float64))
        return rounded.filter(pl.col("similarity") >= _in_single(min_similarity))


def single_box_iou() -> pl.Expr:
    """Return the IoU of the boxes of a row: `x, y, width, height` against `x_right, y_right, width_right, height_right`.

    Corners, sides, areas and the quotient are rounded to single precision. If `is_crowd` is set, the union is the left box
    alone. Disjoint boxes have no IoU.

    Source: `box_iou` of ultralytics, `utils/metrics.py`; the order of the operations is kept.

    >>> pl.DataFrame({
    ...     "x": [0.0], "y": [0.0], "width": [7.0], "height": [1.0],
    ...     "x_right": [0.0], "y_right": [0.0], "width_right": [10.0], "height_right": [1.0], "is_crowd": [False],
    ... }).select(iou=single_box_iou())["iou"].to_list()
    [0.699999988079071]
    """

    def corners(start: str, side: str, suffix: str = "") -> tuple[pl.Expr, pl.Expr]:
        begin, length = pl.col(f"{start}{suffix}"), pl.col(f"{side}{suffix}")
        return begin.cast(pl.Float32), (begin + length).cast(pl.Float32)

    shared, areas = [], []
    for start, side in (("x", "width"), ("y", "height")):
        (begin, end), (begin_right, end_right) = corners(start, side), corners(start, side, "_right")
        shared.append(pl.min_horizontal(end, end_right) - pl.max_horizontal(begin, begin_right))
        areas.append((end - begin, end_right - begin_right))
    intersection = shared[0] * shared[1]
    detected, annotated = areas[0][0] * areas[1][0], areas[0][1] * areas[1][1]
    small = pl.lit(_SMALL, pl.Float32)
    union = pl.when("is_crowd").then(detected).otherwise(annotated + detected - intersection) + small
    iou = (intersection / union).cast(pl.Float64)
    return pl.when((shared[0] > 0) & (shared[1] > 0)).then(iou)


def _in_single(value: float) -> float:
    """Round a number to single precision.

    >>> _in_single(0.7)
    0.699999988079071
    """
    rounded: float = unpack("f", pack("f", value))[0]
    return rounded
