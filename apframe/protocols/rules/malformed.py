"""Treatment of malformed rows, such as boxes with negative sides, as in the benchmark's own program."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import polars as pl

from apframe.protocols.rules.rule import Rule, States, refuse_several
from apframe.tables.shapes.declarations import CORNERS

if TYPE_CHECKING:
    from apframe.protocols.inputs import Inputs
    from apframe.protocols.protocol import Protocol


@dataclass(frozen=True)
class MalformedCounts(Rule):
    """Malformed rows that are kept overlap nothing: an annotation counts and is missed, a detection is a false positive.

    Corners that do not form a convex shape lose their area, because `RotatedIoU` computes areas with signs.

    Attributes
    ----------
    keepable
        the tables whose malformed rows can be kept
    """

    line: ClassVar[str] = "malformed"
    description: ClassVar[str] = "an annotation counts and is missed, a detection is a false positive"
    keepable: ClassVar[tuple[str, ...]] = ("annotations", "detections")

    @property
    def says(self) -> dict[str, str]:
        """The treatment of malformed rows, if they can be kept."""
        return {self.line: f"{'if kept' if self.keepable else 'cannot be kept'}: {self.words}"}

    def refuse(self, protocol: Protocol) -> None:
        """Raise an error if the protocol has another rule about malformed rows."""
        refuse_several(MalformedCounts, protocol)

    def rows(self, inputs: Inputs) -> Inputs:
        """Return malformed rows in the form in which they are evaluated."""
        if not inputs.malformed.kept:
            return inputs
        before = {"annotations": inputs.dataset.annotations, "detections": inputs.detections}
        annotations, detections = (self.treat(table, frame, inputs) for table, frame in before.items())
        if annotations is not before["annotations"]:
            inputs = inputs.with_annotations(annotations)
        return inputs if detections is before["detections"] else replace(inputs, detections=detections)

    def treat(self, table: str, frame: pl.DataFrame, inputs: Inputs) -> pl.DataFrame:
        """Return one table with malformed rows in the form in which they are evaluated."""
        if inputs.protocol.similarity.shape is not CORNERS:
            return frame
        from apframe.tables.shapes.corners import flattened, with_other_corners

        return with_other_corners(table, frame, flattened)


@dataclass(frozen=True)
class MalformedIgnoredByArea(MalformedCounts):
    """An object of negative area is ignored, because it is in no area range of pycocotools."""

    description: ClassVar[str] = (
        "an object of negative area is ignored; otherwise an annotation counts and is missed, a detection is a false positive"
    )

    def states(self, inputs: Inputs) -> States:
        """Flag objects of negative area."""
        negative = [frame["area"] < 0 for frame in (inputs.annotations, inputs.detections)]
        return States(ignored=negative[0], unmatched_ignored=negative[1])


@dataclass(frozen=True)
class MalformedDetectionsLeftOut(MalformedCounts):
    """Detections with a side of 0 or less are removed; malformed annotations cannot be kept.

    Source: `_remove_invalid_boxes` of `per_image_evaluation.py`.
    """

    description: ClassVar[str] = "a detection is left out; at an annotation the benchmark's program stops"
    keepable: ClassVar[tuple[str, ...]] = ("detections",)

    def treat(self, table: str, frame: pl.DataFrame, inputs: Inputs) -> pl.DataFrame:
        """Return the table without these detections."""
        del inputs
        if table == "annotations" or not {"width", "height"} <= set(frame.columns):
            return frame
        return frame.filter(((pl.col("width") > 0) & (pl.col("height") > 0)).fill_null(True))


@dataclass(frozen=True)
class MalformedRefused(MalformedCounts):
    """Malformed rows cannot be kept.

    Attributes
    ----------
    kit
        the reaction of the benchmark's own program
    """

    keepable: ClassVar[tuple[str, ...]] = ()
    kit: str = "stops"

    @property
    def words(self) -> str:
        """Describe the reaction of the benchmark's own program."""
        return f"the benchmark's program {self.kit}"
