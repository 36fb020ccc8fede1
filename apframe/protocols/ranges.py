"""Parts of the data with their own numbers: ranges of areas. Levels of difficulty are in `apframe.protocols.levels`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import polars as pl


@dataclass(frozen=True)
class Range:
    """A part of the annotations that is evaluated separately, as COCO does with areas: the others are ignored.

    Attributes
    ----------
    name
        the name that tables show in the column `area_range`
    outside
        the description in `print(protocol)` of annotations that the range ignores
    is_level
        whether it is a level of difficulty, see `apframe.protocols.levels`
    """

    name: str
    outside: ClassVar[str] = "outside the area range"
    is_level: ClassVar[bool] = False

    def __str__(self) -> str:
        return self.name

    @property
    def reads(self) -> tuple[str, ...]:
        """The columns that the range requires, such as "annotations.occluded"."""
        return ()

    def counts(self, annotations: pl.DataFrame) -> pl.Series:
        """True for annotations that count; the others are ignored."""
        return pl.repeat(True, annotations.height, eager=True)

    def counts_unmatched(self, detections: pl.DataFrame) -> pl.Series:
        """True for detections that are false positives if unmatched; the others are ignored."""
        return pl.repeat(True, detections.height, eager=True)

    def left_out(self, detections: pl.DataFrame) -> pl.Series | None:
        """True for detections that are removed before matching; None if the range removes none."""
        del detections
        return None

    def void(self, detections: pl.DataFrame) -> pl.Series | None:
        """True for detections that use up what they match and count for nothing; None if the range has no such rule."""
        del detections
        return None


@dataclass(frozen=True)
class AreaRange(Range):
    """Annotations with areas in a range of square pixels, both bounds inclusive. Negative areas are in ranges from 0.

    >>> small = AreaRange("small", 0, 32**2)
    >>> small.counts(pl.DataFrame({"area": [1024.0, 1025.0, -1.0]})).to_list()
    [True, False, True]
    """

    low: float = 0.0
    high: float = 1e10

    def __str__(self) -> str:
        return f"{self.name} {self.low:g}–{self.high:g}"

    @property
    def words(self) -> str:
        """Describe the name and bounds, for `print(protocol)`."""
        return f"{self.name} {self.low:g} to {self.high:g}"

    def counts(self, annotations: pl.DataFrame) -> pl.Series:
        """True for annotations that count."""
        area = annotations["area"].to_numpy()
        inside = area <= self.high
        return pl.Series(inside & (area >= self.low) if self.low else inside)

    def counts_unmatched(self, detections: pl.DataFrame) -> pl.Series:
        """True for detections that are false positives if unmatched; the others are ignored."""
        return self.counts(detections)


ALL = AreaRange("all")
"""Every area: the range of the headline numbers."""
