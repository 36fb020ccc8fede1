"""Rows whose shape cannot be right, such as boxes with negative sides, as the benchmark's own program evaluates them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import polars as pl

from apframe.protocols.rules.rule import Rule, States, refuse_several
from apframe.tables.shapes.catalogue import CORNERS, INTERVAL

if TYPE_CHECKING:
    import numpy as np

    from apframe.protocols.inputs import Inputs
    from apframe.protocols.protocol import Protocol

    Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class MalformedCounts(Rule):
    """Malformed rows that are kept overlap nothing: an annotation counts and is missed, a detection is a false positive.

    Corners that do not go around a convex shape lose their area, as `RotatedIoU` takes areas with signs.

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
        """Whether malformed rows can be kept, and how they count then."""
        return {self.line: f"{'if kept' if self.keepable else 'cannot be kept'}: {self.words}"}

    def refuse(self, protocol: Protocol) -> None:
        """Raise an error if the protocol has another rule about malformed rows."""
        refuse_several(MalformedCounts, protocol)

    def rows(self, inputs: Inputs) -> Inputs:
        """Malformed rows as they are evaluated."""
        if not inputs.malformed.kept:
            return inputs
        before = {"annotations": inputs.dataset.annotations, "detections": inputs.detections}
        annotations, detections = (self.treat(table, frame, inputs) for table, frame in before.items())
        if annotations is not before["annotations"]:
            inputs = inputs.with_annotations(annotations)
        return inputs if detections is before["detections"] else replace(inputs, detections=detections)

    def treat(self, table: str, frame: pl.DataFrame, inputs: Inputs) -> pl.DataFrame:
        """One table with its malformed rows as they are evaluated."""
        return with_other_corners(table, frame, _flatten) if inputs.protocol.similarity.shape is CORNERS else frame


@dataclass(frozen=True)
class MalformedIgnoredByArea(MalformedCounts):
    """An object of negative area is ignored, as it is in no area range of pycocotools."""

    description: ClassVar[str] = (
        "an object of negative area is ignored; otherwise an annotation counts and is missed, a detection is a false positive"
    )

    def states(self, inputs: Inputs) -> States:
        """Objects of negative area."""
        negative = [frame["area"] < 0 for frame in (inputs.annotations, inputs.detections)]
        return States(ignored=negative[0], unmatched_ignored=negative[1])


@dataclass(frozen=True)
class MalformedSigned(MalformedCounts):
    """Corners that do not go around a convex shape have a signed area."""

    description: ClassVar[str] = (
        "corners that do not go around a convex shape stand for the area to their left less that to their right"
    )

    def treat(self, table: str, frame: pl.DataFrame, inputs: Inputs) -> pl.DataFrame:
        """The table as it is."""
        del table, inputs
        return frame


@dataclass(frozen=True)
class MalformedByHeight(MalformedCounts):
    """Detections that end above their beginning count by that height, and still overlap nothing, as their width is negative.

    Source: `evaluate_object.cpp` of KITTI's kit, which takes the absolute value of the heights of detections alone.
    """

    description: ClassVar[str] = (
        "an annotation of negative height is ignored, others count and are missed; a detection is a false positive"
    )

    def treat(self, table: str, frame: pl.DataFrame, inputs: Inputs) -> pl.DataFrame:
        """Detections with positive heights."""
        del inputs
        if table == "annotations" or not {"width", "height"} <= set(frame.columns):
            return frame
        width = pl.when(pl.col("height") < 0).then(-1 - pl.col("width").abs()).otherwise("width")
        return frame.with_columns(height=pl.col("height").abs(), width=width)


@dataclass(frozen=True)
class MalformedIntervalsTurned(MalformedCounts):
    """An interval that ends before it starts is turned round. Source: `intervaloverlapvalseconds.m` of THUMOS14's kit."""

    description: ClassVar[str] = "an interval that ends before it starts is turned round"

    def treat(self, table: str, frame: pl.DataFrame, inputs: Inputs) -> pl.DataFrame:
        """Intervals from the earlier to the later one of their ends."""
        del table, inputs
        if not set(INTERVAL) <= set(frame.columns):
            return frame
        return frame.with_columns(start_time=pl.min_horizontal(INTERVAL), end_time=pl.max_horizontal(INTERVAL))


@dataclass(frozen=True)
class MalformedEnclosed(MalformedCounts):
    """The smallest rectangles around corners that do not go around a convex shape. Source: `poly2obb_np` of mmrotate."""

    description: ClassVar[str] = "corners that do not go around a convex shape stand for the smallest rectangle around them"

    def treat(self, table: str, frame: pl.DataFrame, inputs: Inputs) -> pl.DataFrame:
        """The table with these rectangles."""
        from apframe.tables.shapes.corners import smallest_rectangles

        del inputs
        return with_other_corners(table, frame, smallest_rectangles)


@dataclass(frozen=True)
class MalformedDetectionsLeftOut(MalformedCounts):
    """Detections that have a side of 0 or less are left out; malformed annotations cannot be kept.

    Source: `_remove_invalid_boxes` of `per_image_evaluation.py`.
    """

    description: ClassVar[str] = "a detection is left out; at an annotation the benchmark's program stops"
    keepable: ClassVar[tuple[str, ...]] = ("detections",)

    def treat(self, table: str, frame: pl.DataFrame, inputs: Inputs) -> pl.DataFrame:
        """The table without these detections."""
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
        what the benchmark's own program does with them
    """

    keepable: ClassVar[tuple[str, ...]] = ()
    kit: str = "stops"

    @property
    def words(self) -> str:
        """What the benchmark's own program does."""
        return f"the benchmark's program {self.kit}"


def _flatten(corners: Array) -> Array:
    """Corners without an area, so that they overlap nothing; the box around them stays."""
    import numpy as np

    return np.stack([corners.min(axis=1), corners.max(axis=1)], axis=1).repeat(2, axis=1)


def with_other_corners(table: str, frame: pl.DataFrame, change: Callable[[Array], Array]) -> pl.DataFrame:
    """The frame with corners that do not go around a convex shape changed.

    >>> from apframe.rows import MALFORMED_KEPT, treating_malformed
    >>> crossed = pl.DataFrame({"detection_id": [1], "corners": [[0.0, 0.0, 4.0, 4.0, 4.0, 0.0, 0.0, 4.0]]})
    >>> with treating_malformed(MALFORMED_KEPT):
    ...     with_other_corners("detections", crossed, _flatten)["corners"].to_list()
    [[0.0, 0.0, 0.0, 0.0, 4.0, 4.0, 4.0, 4.0]]
    """
    from apframe.tables.shapes.corners import are_convex, quadrilaterals

    if "corners" not in frame.columns:
        return frame
    corners = quadrilaterals(table, frame.drop_nulls("corners"))
    crossed = ~are_convex(corners)
    if not crossed.any():
        return frame
    corners[crossed] = change(corners[crossed])
    is_given = frame["corners"].is_not_null()
    around = pl.Series(corners.reshape(-1, 8), dtype=pl.Array(pl.Float64, 8)).arr.to_list()
    return frame.with_columns(corners=around.gather((is_given.cum_sum() - 1).set(~is_given, None)))
