"""Rules for annotations that do not count, and for detections that are ignored if unmatched."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import polars as pl

from apframe.protocols.rules.rule import Rule, States
from apframe.similarity.extents import has_pixels, with_image_sizes

if TYPE_CHECKING:
    from apframe.protocols.inputs import Inputs


@dataclass(frozen=True)
class IgnoreFlagged(Rule):
    """Annotations with `ignore` (difficult ones) do not count; detections with it are ignored if unmatched."""

    line: ClassVar[str] = "ignored"
    description: ClassVar[str] = "flagged ignore"
    columns: ClassVar[tuple[str, ...]] = ("annotations.ignore (difficult)",)

    def states(self, inputs: Inputs) -> States:
        """Flag the rows with `ignore`."""
        return States(ignored=flags(inputs.annotations, "ignore"), unmatched_ignored=flags(inputs.detections, "ignore"))


@dataclass(frozen=True)
class IgnoreWithoutKeypoints(Rule):
    """Annotations without a labelled keypoint do not count."""

    line: ClassVar[str] = "ignored"
    description: ClassVar[str] = "without labelled keypoints"

    def states(self, inputs: Inputs) -> States:
        """Flag annotations without labelled keypoints: by `num_keypoints`, or else by visibilities above 0."""
        annotations = inputs.annotations
        if "keypoints" not in annotations.columns:
            return States()
        counts = [pl.col("num_keypoints")] if "num_keypoints" in annotations.columns else []
        if counts and not annotations["num_keypoints"].null_count():
            return States(ignored=annotations["num_keypoints"] == 0)
        labelled = pl.col("keypoints").list.gather_every(3, 2).list.eval(pl.element() > 0).list.sum()
        return States(ignored=annotations.select(pl.coalesce(*counts, labelled, 0) == 0).to_series())


@dataclass(frozen=True)
class IgnoreWithoutMask(Rule):
    """Annotations without a mask do not count, and only unmatched detections can match them. Masks need at least one pixel.

    Source: `OpenImagesDetectionEvaluator` of TensorFlow's Object Detection API.
    """

    line: ClassVar[str] = "ignored"
    description: ClassVar[str] = "without a mask (tried last)"

    def rows(self, inputs: Inputs) -> Inputs:
        """Replace masks without pixels by null."""
        inputs = inputs.with_dataset(inputs.dataset.with_masks)
        if "mask" not in inputs.annotations.columns:
            return inputs
        kept = has_pixels(with_image_sizes(inputs.annotations, inputs.dataset.images))
        if kept.all():
            return inputs
        return inputs.with_annotations(inputs.dataset.annotations.with_columns(pl.when(kept).then("mask").alias("mask")))

    def states(self, inputs: Inputs) -> States:
        """Flag annotations that have no mask."""
        annotations = inputs.annotations
        without = annotations["mask" if "mask" in annotations.columns else "is_crowd"].is_null()
        return States(ignored=without, fallback=without)


@dataclass(frozen=True)
class DetectionsWithArea(Rule):
    """A detection with a side of 0, or whose mask has no pixels, is removed after `max_detections` has been applied."""

    description: ClassVar[str] = "a detection with a side of 0, or whose mask has no pixel, is left out after max_detections"

    def rows(self, inputs: Inputs) -> Inputs:
        """Return detections whose area is not 0."""
        return inputs.keep_detections(inputs.detections["area"] > 0)


@dataclass(frozen=True)
class AnnotationsWithArea(Rule):
    """An annotation whose area is 0 is removed."""

    line: ClassVar[str] = "detections"
    description: ClassVar[str] = "objects without area are left out"

    def rows(self, inputs: Inputs) -> Inputs:
        """Return annotations whose area is not 0."""
        if (inputs.annotations["area"] > 0).all():
            return inputs
        return inputs.with_annotations(inputs.dataset.annotations.filter(pl.col("area") > 0))


def flags(frame: pl.DataFrame, column: str) -> pl.Series | None:
    """Return the flags of a column, with null as False; None if there is no such column.

    >>> flags(pl.DataFrame({"ignore": [True, None]}), "ignore").to_list(), flags(pl.DataFrame(), "ignore")
    ([True, False], None)
    """
    return frame[column].cast(pl.Boolean).fill_null(False) if column in frame.columns else None
