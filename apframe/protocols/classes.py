"""Which categories a protocol evaluates and what others are to them, its levels of difficulty, and parts of its summary."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import polars as pl

Bounds = tuple[str, float, float]
Closed = Literal["left", "right", "both", "none"]


@dataclass(frozen=True)
class Part:
    """A part of the images or categories that the summary has a line of.

    `table` is "images" or "categories". There `column` equals a value, or one of several, or lies in (above, up_to].
    """

    name: str
    table: str
    column: str
    equals: str | tuple[str, ...] | None = None
    above: float = float("-inf")
    up_to: float = float("inf")

    @property
    def values(self) -> tuple[str, ...]:
        """The values that the column equals; none where it is numbers."""
        return () if self.equals is None else (self.equals,) if isinstance(self.equals, str) else self.equals


@dataclass(frozen=True)
class Classes:
    """The categories that are evaluated, by name in any case.

    Attributes
    ----------
    names
        those that are evaluated; none: all of them
    neighbours
        (a class, another category): annotations of the other one are ignored annotations of the class
    regions
        categories whose annotations are regions of every class: what is detected there and not matched is ignored
    excluded
        categories whose annotations are regions where nothing is evaluated: what has half of its box or more in the union of
        those of its image is removed, see `apframe.evaluation.prepare.excluded`
    renamed
        (another category, a class): objects of the other one are of the class
    crowds
        the same, for categories whose annotations are crowds then
    counts_absent
        whether classes without annotations count in every mean, with an average precision of 0
    """

    names: tuple[str, ...] = ()
    neighbours: tuple[tuple[str, str], ...] = ()
    regions: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()
    crowds: tuple[tuple[str, str], ...] = ()
    counts_absent: bool = False


ALL_CLASSES = Classes()


@dataclass(frozen=True)
class Difficulty:
    """Which annotations count, and which detections.

    Attributes
    ----------
    name
        as tables show it as an area range
    annotations
        (column, low, high): an annotation counts if its values lie between all of these; others are ignored. A value that is
        null lies in all of them
    detections
        (column, least): a detection of a smaller value is void, of whatever category it is: it uses up what it is matched
        with in any class, and counts for nothing
    is_ranked_by
        whether the headline numbers are of it
    closed
        which of the bounds of annotations belong to the level: "right", "left", "both" or "none"
    keeps
        (column, low, high): a detection is left out of the level before anything is matched, but after `max_detections`, if its
        values do not lie between all of these
    keeps_closed
        which of these bounds belong to the level
    """

    name: str
    annotations: tuple[Bounds, ...] = ()
    detections: tuple[tuple[str, float], ...] = ()
    is_ranked_by: bool = False
    closed: Closed = "right"
    keeps: tuple[Bounds, ...] = ()
    keeps_closed: Closed = "left"

    def counts(self, annotations: pl.DataFrame) -> pl.Series:
        """Flags of the annotations that count; where there are none, columns may be missing.

        >>> Difficulty("easy", (("height", 40, 1e10),)).counts(pl.DataFrame({"height": [40, 41, None]})).to_list()
        [False, True, True]
        """
        return _between(annotations, self.annotations, self.closed)

    def left_out(self, detections: pl.DataFrame) -> pl.Series:
        """Flags of the detections that are left out; where there are none, columns may be missing.

        >>> Difficulty("small", keeps=(("height", 40, 93.75),)).left_out(pl.DataFrame({"height": [39.9, 40, 93.75]})).to_list()
        [True, False, True]
        """
        return ~_between(detections, self.keeps, self.keeps_closed)

    def void(self, detections: pl.DataFrame) -> pl.Series:
        """Flags of the detections that are void; where there are none, columns may be missing.

        >>> Difficulty("easy", (), (("height", 40),)).void(pl.DataFrame({"height": [39.5, 40]})).to_list()
        [True, False]
        """
        flags = pl.repeat(False, detections.height, eager=True)
        for name, least in self.detections if detections.height else ():
            flags |= (detections[name] < least).fill_null(False)
        return flags


def _between(frame: pl.DataFrame, bounds: Sequence[Bounds], closed: Closed) -> pl.Series:
    """Flags of the rows whose values lie between all bounds, or are null."""
    flags = pl.repeat(True, frame.height, eager=True)
    for name, low, high in bounds if frame.height else ():
        flags &= frame[name].cast(pl.Float64).is_between(low, high, closed).fill_null(True)
    return flags


@dataclass(frozen=True)
class Keep:
    """Which objects are kept: others are removed before anything is matched, as if they had never been there.

    Attributes
    ----------
    column
        an object is kept if its value is in (above, below), or null
    above, below
        both exclusive
    table
        "annotations" or "detections"; None: both
    categories
        the objects that this is about, by the names of their categories in any case; none: all
    """

    column: str
    above: float = float("-inf")
    below: float = float("inf")
    table: str | None = None
    categories: tuple[str, ...] = ()

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables of the objects that this is about."""
        return ("annotations", "detections") if self.table is None else (self.table,)

    @property
    def words(self) -> str:
        """The rule in plain words.

        >>> Keep("ego_distance", below=30, categories=("barrier",)).words
        'barrier: ego_distance below 30'
        """
        of = f"{', '.join(self.categories)}: " if self.categories else ""
        of = f"{self.table}: {of}" if self.table else of
        bounds = [f"above {self.above:g}"] * (self.above > float("-inf")) + [f"below {self.below:g}"] * (
            self.below < float("inf")
        )
        return f"{of}{self.column} {' and '.join(bounds)}"
