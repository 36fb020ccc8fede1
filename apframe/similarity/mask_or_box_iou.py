"""Intersection over union of masks, or of boxes for annotations without a mask (Open Images)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import polars as pl

from apframe.similarity.box_iou import box_iou
from apframe.similarity.mask_iou import MaskIoU
from apframe.similarity.pairs import pair_by
from apframe.tables.shapes.boxes import BOX

if TYPE_CHECKING:
    import numpy as np

    from apframe.tables.shapes.pixel_runs import Runs


@dataclass(frozen=True)
class MaskOrBoxIoU(MaskIoU):
    """IoU of masks; an annotation without a mask is compared by its box, with the tight box of the detection's mask.

    For a group (`is_crowd`) both are over the detection's own area. A tight box ends at the right and lower edges of its
    last pixels. It is scaled to the size of the image if the mask has another. A detection without pixels makes no pair.

    Source: `PerImageEvaluation` and `oid_challenge_evaluation_utils` of the TensorFlow Object Detection API.

    >>> detections = pl.DataFrame({"detection_id": [1], "image_id": 1, "cell": 7, "mask": '{"size": [2, 2], "counts": [0, 4]}'})
    >>> truth = pl.DataFrame({"annotation_id": [1, 2], "image_id": 1, "cell": 7, "is_crowd": False,
    ...     "mask": ['{"size": [2, 2], "counts": [0, 3, 1]}', None], "x": [0.0, 0.0], "y": [0.0, 0.0],
    ...     "width": [2.0, 2.0], "height": [2.0, 1.0]})
    >>> MaskOrBoxIoU().pair(detections, truth, min_similarity=0.5).sort("annotation").rows()
    [(0, 0, 0.75), (0, 1, 0.5)]
    """

    name: ClassVar[str] = "mask_or_box_iou"
    words = "intersection over union of masks, or of boxes where the annotation has no mask"

    def check(self, detections: pl.DataFrame, annotations: pl.DataFrame) -> None:
        """Report masks that cannot be compared: see `Similarity.check`."""
        super().check(detections, annotations.drop_nulls("mask"))

    def prepare(self, table: str, objects: pl.DataFrame) -> Any:
        """Decode the masks: see `Similarity.prepare`; return None if some rows have no mask."""
        if table == "annotations" and objects["mask"].null_count():
            return None
        return super().prepare(table, objects)

    def pair(
        self,
        detections: pl.DataFrame,
        annotations: pl.DataFrame,
        min_similarity: float,
        detection_shapes: Runs | None = None,
        annotation_shapes: Runs | None = None,
    ) -> pl.DataFrame:
        """Return the pairs of a cell: see `Similarity.pair`. `detection_shapes` and `annotation_shapes` come from `prepare`."""
        from apframe.tables.shapes.mask_columns import mask_extents  # which brings in NumPy

        detection_shapes = self.shape.decode("detections", detections) if detection_shapes is None else detection_shapes
        has_mask = annotations["mask"].is_not_null()
        parts = [super().pair(detections, annotations.filter(has_mask), min_similarity, detection_shapes, annotation_shapes)]
        if not has_mask.all():
            scales = (
                _scale(detections, side, of)
                for side, of in (("image_width", detection_shapes.width), ("image_height", detection_shapes.height))
            )
            boxes = detections.select("cell").hstack(mask_extents(detection_shapes)).with_columns(scales)
            boxes = boxes.with_columns(
                pl.col("x", "width") * pl.col("image_width"), pl.col("y", "height") * pl.col("image_height")
            )
            parts.append(pair_by(box_iou(), boxes, annotations.filter(~has_mask), BOX, min_similarity))
        rows = (flags.arg_true() for flags in (has_mask, ~has_mask))
        return pl.concat(
            part.with_columns(row.gather(part["annotation"]).cast(pl.UInt32).alias("annotation"))
            for part, row in zip(parts, rows, strict=False)
        )


def _scale(detections: pl.DataFrame, side: str, of_masks: np.ndarray) -> pl.Series:
    """Length of a side of the image over that of its mask; 1 where it is unknown.

    >>> import numpy as np
    >>> sides = pl.DataFrame({"image_width": [6, None]})
    >>> _scale(sides, "image_width", np.array([3, 3])).to_list(), _scale(sides, "image_height", np.array([3, 3])).to_list()
    ([2.0, 1.0], [1.0, 1.0])
    """
    of_mask = pl.Series(of_masks, dtype=pl.Float64)
    of_image = detections[side].cast(pl.Float64).fill_null(of_mask) if side in detections.columns else of_mask
    return (of_image / of_mask).alias(side)
