"""Levels of difficulty instead of area ranges, and the rules that go with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from math import inf
from operator import or_
from typing import TYPE_CHECKING, ClassVar, Literal

import polars as pl

from apframe.exceptions import ColumnError
from apframe.protocols.ranges import Range
from apframe.protocols.rules.classes import COPIED, with_copies
from apframe.protocols.rules.filters import refuse_unusable
from apframe.protocols.rules.rule import Rule
from apframe.tables.shapes.boxes import BOX
from apframe.tables.shapes.declarations import CUBOIDS, shape_of

if TYPE_CHECKING:
    from apframe.protocols.inputs import Inputs

Bounds = tuple[str, float, float]
Closed = Literal["left", "right", "both", "none"]


@dataclass(frozen=True)
class Level(Range):
    """A level of difficulty, which selects the annotations and detections that count.

    Attributes
    ----------
    annotations
        (column, low, high): an annotation counts if its values are within all of these bounds; others are ignored. Null values
        are within all bounds
    detections
        (column, least): a detection with a smaller value is void, whatever its category: it uses up the annotation that it
        matches in any class, and counts for nothing
    is_headline
        whether the headline numbers are for this level
    closed
        the bounds of annotations that belong to the level: "right", "left", "both" or "none"
    keeps
        (column, low, high): a detection is removed from the level before matching, but after `max_detections`, if its values
        are not within all of these bounds
    keeps_closed
        the bounds of `keeps` that belong to the level
    """

    annotations: tuple[Bounds, ...] = ()
    detections: tuple[tuple[str, float], ...] = ()
    is_headline: bool = False
    closed: Closed = "right"
    keeps: tuple[Bounds, ...] = ()
    keeps_closed: Closed = "left"
    outside: ClassVar[str] = "outside the level"
    is_level: ClassVar[bool] = True

    @property
    def words(self) -> str:
        """Describe in plain words, for `print(protocol)`, the annotations and detections that count."""
        counted = ", ".join(_in_words(each, self.closed) for each in self.annotations)
        if self.keeps:
            bounds = ", ".join(_in_words(each, self.keeps_closed) for each in self.keeps)
            counted += f"; detections with {bounds} alone are matched"
        void = "".join(f"; a detection with {column} below {least:g} counts for nothing" for column, least in self.detections)
        return f"{self.name} ({counted}{void})"

    @property
    def reads(self) -> tuple[str, ...]:
        """The columns that decide if annotations and detections belong to the level."""
        annotations = (f"annotations.{name}" for name, *_ in self.annotations)
        return (*annotations, *(f"detections.{name}" for name, *_ in (*self.detections, *self.keeps)))

    def counts(self, annotations: pl.DataFrame) -> pl.Series:
        """True for annotations that count; an empty table may lack the columns.

        >>> Level("easy", (("height", 40, 1e10),)).counts(pl.DataFrame({"height": [40, 41, None]})).to_list()
        [False, True, True]
        """
        return _between(annotations, self.annotations, self.closed)

    def counts_unmatched(self, detections: pl.DataFrame) -> pl.Series:
        """True for detections that are false positives if unmatched: neither void nor removed."""
        flags = [each for each in (self.void(detections), self.left_out(detections)) if each is not None]
        return ~reduce(or_, flags) if flags else super().counts_unmatched(detections)

    def left_out(self, detections: pl.DataFrame) -> pl.Series | None:
        """True for detections that are removed from the level; an empty table may lack the columns. None if nothing is removed.

        >>> Level("small", keeps=(("height", 40, 93.75),)).left_out(pl.DataFrame({"height": [39.9, 40, 93.75]})).to_list()
        [True, False, True]
        """
        return ~_between(detections, self.keeps, self.keeps_closed) if self.keeps else None

    def void(self, detections: pl.DataFrame) -> pl.Series | None:
        """True for detections that are void; an empty table may lack the columns. None if the level has no such rule.

        >>> Level("easy", (), (("height", 40),)).void(pl.DataFrame({"height": [39.5, 40]})).to_list()
        [True, False]
        """
        if not self.detections:
            return None
        flags = pl.repeat(False, detections.height, eager=True)
        for name, least in self.detections if detections.height else ():
            flags |= (detections[name] < least).fill_null(False)
        return flags


def _between(frame: pl.DataFrame, bounds: Sequence[Bounds], closed: Closed) -> pl.Series:
    """True for rows whose values are within all bounds, or null."""
    flags = pl.repeat(True, frame.height, eager=True)
    for name, low, high in bounds if frame.height else ():
        flags &= frame[name].cast(pl.Float64).is_between(low, high, closed).fill_null(True)
    return flags


def _in_words(bounds: Bounds, closed: Closed) -> str:
    """Describe a column between two bounds.

    >>> _in_words(("height", 50, inf), "left"), _in_words(("height", 25, 40), "right"), _in_words(("easy", 1, 1), "both")
    ('height from 50', 'height above 25 up to 40', 'easy 1')
    """
    column, low, high = bounds
    if low == high:
        return f"{column} {low:g}"
    least = f"from {low:g}" if closed in ("left", "both") else f"above {low:g}"
    most = f"up to {high:g}" if closed in ("right", "both") else f"below {high:g}"
    return " ".join([column, *([least] if low > -inf else []), *([most] if high < inf else [])])


@dataclass(frozen=True)
class RequireImageBoxes(Rule):
    """Require boxes in pixels, because their heights decide the level; rectangles around cuboids, in metres, do not."""

    def rows(self, inputs: Inputs) -> Inputs:
        """Return the same rows.

        Raises
        ------
        ColumnError
            a table has cuboids but no boxes in the image
        """
        for table, frame in (("annotations", inputs.annotations), ("detections", inputs.detections)):
            if frame["x"].null_count() and shape_of(frame) is CUBOIDS:
                name = inputs.protocol.name
                remedy = f"{name} requires a box in pixels in addition to the cuboid: its height decides the level"
                raise ColumnError(f"no column {', '.join(BOX)}", remedy, table=table)
        return inputs


@dataclass(frozen=True)
class ApplyLevels(Rule):
    """Add the columns of the protocol's levels, and a copy of each void detection for every other class.

    A detection that is void at some level uses up the annotation that it matches in any class, and counts for nothing.

    Attributes
    ----------
    source
        the origin of the columns, for error messages
    """

    source: str = ""

    def rows(self, inputs: Inputs) -> Inputs:
        """Return detections with their copies, which name their original in `expanded_from`.

        Raises
        ------
        ColumnError
            a column that decides levels is missing, or holds text
        RowError
            numbers are not finite
        """
        levels, annotations, detections = inputs.protocol.levels, inputs.dataset.annotations, inputs.detections
        columns = {
            "annotations": [name for each in levels for name, *_ in each.annotations],
            "detections": [name for each in levels for name, _ in each.detections],
        }
        left_out_by = [name for each in levels for name, *_ in each.keeps]
        for table, frame in (("annotations", annotations), ("detections", detections)):
            names = list(dict.fromkeys(columns[table]))
            refuse_unusable(inputs, table, [*names, *left_out_by] if table == "detections" else names)
            missing = [name for name in names if name not in frame.columns]
            if missing and frame.height:
                remedy = f"add it, as null where it is unknown{self.source and f', or {self.source}'}"
                remedy += f"; {inputs.protocol.name} uses it to decide the level of difficulty"
                names_with_aliases = ["vis_ratio (or vis_bbox)" if name == "vis_ratio" else name for name in missing]
                raise ColumnError(f"no column {', '.join(names_with_aliases)}", remedy, table=table)
        if columns["detections"]:
            chosen, others = inputs.category_ids, detections["category_id"].unique()
            targets = [(other, of) for other in others for of in chosen if of != other]
            detections = with_copies(detections, targets, "detection_id")
            is_void = reduce(or_, [flags for each in levels if (flags := each.void(detections)) is not None])
            detections = detections.filter(detections[COPIED].is_null() | is_void)
        return replace(inputs, annotations=annotations, detections=detections)
