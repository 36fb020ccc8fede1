"""Intersection over union of masks, counted in pixels (COCO)."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import polars as pl

from apframe.similarity.pairs import Similarity, join_on_cell, overlap, union_of
from apframe.tables.shapes.declarations import MASKS
from apframe.tables.shapes.shape import Shape

if TYPE_CHECKING:
    from apframe.tables.shapes.pixel_runs import Runs


_EDGES = ["left", "top", "right", "bottom"]


@dataclass(frozen=True)
class MaskSimilarity(Similarity):
    """Base class of similarities of masks, which decodes the masks, unless they are decoded already, and compares them."""

    shape: ClassVar[Shape] = MASKS
    needs: ClassVar[tuple[str, ...]] = MASKS.needs
    uses_images: ClassVar[bool] = True
    any_size: ClassVar[bool] = False  # masks may differ in size from their image and from each other

    def prepare(self, table: str, objects: pl.DataFrame) -> Runs:
        """Decode the masks: see `Similarity.prepare`."""
        return self.shape.decode(table, objects)

    def pair(
        self,
        detections: pl.DataFrame,
        annotations: pl.DataFrame,
        min_similarity: float,
        detection_shapes: Runs | None = None,
        annotation_shapes: Runs | None = None,
    ) -> pl.DataFrame:
        """Return the pairs of a cell: see `Similarity.pair`. `detection_shapes` and `annotation_shapes` come from `prepare`."""
        from apframe.tables.shapes.mask_columns import read_both, refuse_different_sizes, warn_of_other_sizes

        masks = read_both(detections, annotations, detection_shapes, annotation_shapes)
        if not self.any_size:
            refuse_different_sizes(detections, annotations, *masks)
            if detection_shapes is None:  # otherwise the warning came when they were decoded
                warn_of_other_sizes("detections", detections, masks[0])
            if annotation_shapes is None:
                warn_of_other_sizes("annotations", annotations, masks[1])
        return self.compare(*masks, detections, annotations, min_similarity)

    def check(self, detections: pl.DataFrame, annotations: pl.DataFrame) -> None:
        """Report masks that cannot be compared: see `Similarity.check`."""
        from apframe.tables.shapes.mask_columns import refuse_different_sizes, sound_masks

        detected, annotated = sound_masks("detections", detections), sound_masks("annotations", annotations)
        if not self.any_size:
            refuse_different_sizes(detected[0], annotated[0], detected[1], annotated[1])

    @abstractmethod
    def compare(
        self,
        detection_masks: Runs,
        annotation_masks: Runs,
        detections: pl.DataFrame,
        annotations: pl.DataFrame,
        min_similarity: float,
    ) -> pl.DataFrame:
        """Return the pairs of the masks of both tables, as `Similarity.pair` does."""


@dataclass(frozen=True)
class MaskIoU(MaskSimilarity):
    """IoU of masks: pixels in both masks over pixels in either; for a crowd, over the pixels of the detection.

    Polygons are drawn as the COCO mask API draws them. Masks that share no pixel make no pair.

    Source: `rleIou` of the COCO mask API.

    >>> detections = pl.DataFrame({"detection_id": [1], "image_id": 1, "cell": 7, "mask": '{"size": [2, 2], "counts": [0, 4]}'})
    >>> truth = pl.DataFrame({"annotation_id": [1], "image_id": 1, "cell": 7, "mask": '{"size": [2, 2], "counts": [0, 3, 1]}',
    ...     "is_crowd": False})
    >>> MaskIoU().pair(detections, truth, min_similarity=0.5).rows()
    [(0, 0, 0.75)]
    """

    name: ClassVar[str] = "mask_iou"
    words = "intersection over union of masks"

    def compare(
        self,
        detection_masks: Runs,
        annotation_masks: Runs,
        detections: pl.DataFrame,
        annotations: pl.DataFrame,
        min_similarity: float,
    ) -> pl.DataFrame:
        """Return the similarity of each pair of masks: see `MaskSimilarity.compare`."""
        return pair_masks(detection_masks, annotation_masks, detections, annotations, min_similarity).drop("shared")


def pair_masks(
    detection_masks: Runs, annotation_masks: Runs, detections: pl.DataFrame, annotations: pl.DataFrame, min_similarity: float
) -> pl.DataFrame:
    """Return the pairs of `MaskIoU.compare` with `shared`, the number of common pixels.

    Only pairs whose boxes and areas leave room for enough common pixels are compared.
    """
    from apframe.tables.shapes.intersections import intersect

    left = _sizes(detections.select("cell"), detection_masks)
    right = _sizes(annotations.select("cell", "is_crowd"), annotation_masks)
    width, height = overlap("left", "right"), overlap("top", "bottom")
    at_most = pl.min_horizontal(width.clip(0) * height.clip(0), "pixels", "pixels_right")
    similarity = pl.col("shared") / union_of(pl.col("pixels"), pl.col("pixels_right"), pl.col("shared"))
    is_pair = (pl.col("shared") > 0) & (similarity >= min_similarity)
    candidates = (
        join_on_cell(left, right, [*_EDGES, "pixels"])
        .with_columns(shared=at_most)
        .filter(is_pair)
        .select("detection", "annotation", "pixels", "pixels_right", "is_crowd")
        .collect(engine="streaming")
    )
    shared = intersect(
        detection_masks, annotation_masks, *(candidates[name].to_numpy() for name in ("detection", "annotation"))
    )
    pairs = candidates.with_columns(shared=shared).filter(is_pair)
    return pairs.select("detection", "annotation", similarity=similarity, shared="shared")


def _sizes(frame: pl.DataFrame, masks: Runs) -> pl.DataFrame:
    """Add the box of each mask and the number of its pixels to the frame."""
    return frame.with_columns(*(pl.Series(name, masks.box[:, k]) for k, name in enumerate(_EDGES)), pixels=masks.area)
