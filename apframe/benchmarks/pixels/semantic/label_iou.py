"""IoU of the pixels of a class on an image (semantic segmentation)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import polars as pl

from apframe.benchmarks.pixels.panoptic.panoptic_iou import are_counted, shared_pixels
from apframe.exceptions import ParameterError
from apframe.similarity.pairs import Similarity, require
from apframe.tables.shapes.declarations import SEGMENTS
from apframe.tables.shapes.shape import Shape


@dataclass(frozen=True)
class LabelIoU(Similarity):
    """Intersection over union of the pixels of a class on an image, without those that the ground truth ignores.

    The `weight` of a pair is the number of shared pixels, which is summed over images. Sharing one pixel makes a pair: the
    threshold is 0, and strict.

    Attributes
    ----------
    ignored
        labels of the ground truth that are no class: their pixels do not count

    >>> LabelIoU(ignored=(0, 255)).words
    'intersection over union of the pixels of a class, without those labelled 0, 255'
    """

    name: ClassVar[str] = "label_iou"
    iou_type: ClassVar[str] = "semantic"
    needs: ClassVar[tuple[str, ...]] = ("segment_id",)
    shape: ClassVar[Shape | None] = SEGMENTS
    bounds: ClassVar[tuple[float, float]] = (-1.0, 1.0)

    ignored: tuple[int, ...] = (255,)

    def __post_init__(self) -> None:
        labels = (self.ignored,) if isinstance(self.ignored, int) else tuple(self.ignored)
        if not all(isinstance(label, int) and label >= 0 for label in labels):
            raise ParameterError(f"are labels, whole numbers from 0 on, not {self.ignored!r}", option="ignored")
        object.__setattr__(self, "ignored", labels)

    @property
    def void_categories(self) -> tuple[int, ...]:
        """Return the labels that are no class."""
        return self.ignored

    @property
    def words(self) -> str:
        """Return the rule in plain words."""
        without = f", without those labelled {', '.join(map(str, self.ignored))}" if self.ignored else ""
        return f"intersection over union of the pixels of a class{without}"

    def complete(self, detections: pl.DataFrame, images: pl.DataFrame, annotations: pl.DataFrame) -> pl.DataFrame:
        """Add `area`, `void_area` and `overlaps` to detections, counted in the label maps unless supplied."""
        del annotations  # their pixels were counted when they were read
        if are_counted(detections):
            return detections
        from apframe.similarity.label_map_overlaps import count_overlaps  # imports NumPy

        return count_overlaps(detections, images, self.ignored, are_all_listed=False)

    def pair(self, detections: pl.DataFrame, annotations: pl.DataFrame, min_similarity: float) -> pl.DataFrame:
        """Return the pairs of a cell, see `Similarity.pair`, with the number of shared pixels as `weight`."""
        require(self, detections, annotations)
        union = pl.col("found_area") + pl.col("area") - pl.col("pixels") - pl.col("void")
        _, _, shared = shared_pixels(detections, annotations)
        weight = pl.col("pixels").cast(pl.Float64)
        pairs = shared.select("detection", "annotation", similarity=pl.col("pixels") / union, weight=weight)
        return pairs.filter(pl.col("similarity") >= min_similarity).sort("detection", "annotation").collect()
