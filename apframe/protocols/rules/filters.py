"""Filters of the evaluated objects: within a distance, with points, outside of racks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import polars as pl

from apframe.protocols.rules.rule import Rule
from apframe.rows import refuse_rows, refuse_texts
from apframe.wording import Note

if TYPE_CHECKING:
    from apframe.protocols.inputs import Inputs


def refuse_unusable(inputs: Inputs, table: str, names: Sequence[str]) -> None:
    """Raise an error if columns that a rule compares with numbers contain text or infinite numbers. Null means unknown.

    Raises
    ------
    ColumnError
        the error names the column
    RowError
        the error names the rows
    """
    frame = inputs.dataset.annotations if table == "annotations" else inputs.detections
    refuse_texts(table, frame, names)
    for name in names:
        refuse_not_finite(table, frame, name)


def refuse_not_finite(table: str, frame: pl.DataFrame, name: str) -> None:
    """Raise an error if a column has numbers that are not finite, because they are within no bounds.

    Raises
    ------
    RowError
        the error names the rows
    """
    if frame.schema.get(name, pl.Null()).is_float():
        broken = ~frame[name].is_finite().fill_null(True)
        refuse_rows(table, frame, broken, f"{name} is not a finite number", "correct it, or give null if it is unknown")


@dataclass(frozen=True)
class Filter:
    """A filter of objects: the others are removed before matching, as if they had never existed.

    Attributes
    ----------
    column
        an object is kept if its value is in (above, below), or null
    above, below
        the bounds, both exclusive
    table
        "annotations" or "detections"; None for both
    categories
        the names of the categories that are filtered, case-insensitive; if empty, all are
    """

    column: str
    above: float = float("-inf")
    below: float = float("inf")
    table: str | None = None
    categories: tuple[str, ...] = ()

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables that are filtered."""
        return ("annotations", "detections") if self.table is None else (self.table,)

    @property
    def words(self) -> str:
        """Describe the filter in plain words.

        >>> Filter("ego_distance", below=30, categories=("barrier",)).words
        'barrier: ego_distance below 30'
        """
        of = f"{', '.join(self.categories)}: " if self.categories else ""
        of = f"{self.table}: {of}" if self.table else of
        bounds = [f"above {self.above:g}"] * (self.above > float("-inf")) + [f"below {self.below:g}"] * (
            self.below < float("inf")
        )
        return f"{of}{self.column} {' and '.join(bounds)}"

    def keeps(self, names: pl.Series) -> pl.Expr:
        """Return a condition for the rows to keep; `names` are the names of their categories, in lower case."""
        value = pl.col(self.column).cast(pl.Float64)
        inside = ((value > self.above) & (value < self.below)).fill_null(True)
        if not self.categories:
            return inside
        return inside | pl.lit(~names.is_in([name.lower() for name in self.categories]).fill_null(False))


@dataclass(frozen=True)
class KeepObjects(Rule):
    """Only objects that pass all filters are evaluated; a filter whose column is missing is skipped, with a note."""

    line: ClassVar[str] = "kept"
    filters: tuple[Filter, ...]

    def __post_init__(self) -> None:
        several = (self.filters,) if isinstance(self.filters, Filter) else self.filters
        filters = (each if isinstance(each, Filter) else Filter(**each) for each in several)  # stored filters are mappings
        object.__setattr__(self, "filters", tuple(filters))

    @property
    def words(self) -> str:
        """Describe the filters."""
        return "; ".join(each.words for each in self.filters)

    @property
    def reads(self) -> tuple[str, ...]:
        """The columns of the filters."""
        return tuple(dict.fromkeys(f"{table}.{each.column}" for each in self.filters for table in each.tables))

    def rows(self, inputs: Inputs) -> Inputs:
        """Return the objects that pass all filters.

        Raises
        ------
        ColumnError, RowError
            a column contains text, or numbers that are not finite
        """
        dataset = inputs.dataset
        categories = dataset.core("categories").select("category_id", pl.col("name").cast(pl.String).str.to_lowercase())
        tables, missing = {"annotations": dataset.annotations, "detections": inputs.detections}, []
        for name, frame in tables.items():
            filters = [each for each in self.filters if name in each.tables]
            refuse_unusable(inputs, name, list(dict.fromkeys(each.column for each in filters)))
            applicable = [each for each in filters if each.column in frame.columns]
            missing_columns = dict.fromkeys(each.column for each in filters if each.column not in frame.columns)
            missing += [f"{name}.{column}" for column in missing_columns if frame.height]
            names = frame.select("category_id").join(categories, on="category_id", how="left", maintain_order="left")["name"]
            tables[name] = frame.filter(pl.all_horizontal([pl.lit(True), *(each.keeps(names) for each in applicable)]))
        annotations = tables["annotations"]
        kept = inputs if annotations.height == dataset.annotations.height else inputs.with_annotations(annotations)
        kept = replace(kept, detections=tables["detections"])
        which = f"{inputs.protocol.name} filters objects by columns that are missing: {', '.join(missing)}"
        return kept.saying(Note(which)) if missing else kept
