"""The parts of the images and categories with numbers in a protocol's summary, as named slices."""

from __future__ import annotations

import polars as pl

from apframe.exceptions import ColumnError, MissingColumnWarning, UnknownValueWarning, warn
from apframe.protocols.headlines import Part
from apframe.protocols.protocol import Protocol
from apframe.tables.conditions import Tables, column_of, names_in
from apframe.wording import listed


def conditions_of_parts(protocol: Protocol, tables: Tables) -> dict[Part, pl.Expr]:
    """Return the conditions of the parts that contain any row, in the form that `Evaluation.by` accepts.

    A warning names missing columns. Another warning names values that belong to no part, if one of the column's parts contains
    no row. Parts of pooled categories are omitted, because these are a single category.

    Raises
    ------
    ColumnError
        a column has another type than the protocol expects

    >>> from dataclasses import replace
    >>> from apframe.protocols.coco import COCO
    >>> protocol = replace(COCO, headlines=(*COCO.headlines, Part("_dense", "images", "density", above=0.8)))
    >>> [part.name for part in conditions_of_parts(protocol, {"images": pl.DataFrame({"density": [0.1, 0.9]})})]
    ['_dense']
    """
    parts = [part for part in protocol.parts if not (part.table == "categories" and protocol.agnostic)]
    missing = [part for part in parts if part.column not in names_in(tables[part.table])]
    for table, column in dict.fromkeys((part.table, part.column) for part in missing):
        names = [_metric(protocol, part) for part in missing if (part.table, part.column) == (table, column)]
        message = f"{protocol.name}: the {table} have no column {column!r}, so {_are_null(names)}"
        warn(message, MissingColumnWarning)
    _warn_of_other_values(protocol, [part for part in parts if part not in missing], tables)
    return {
        part: _condition(part, pl.col(f"{part.table}.{part.column}"))
        for part in parts
        if part not in missing and _holds_any(part, column_of(tables[part.table], part.column), protocol)
    }


def _warn_of_other_values(protocol: Protocol, parts: list[Part], tables: Tables) -> None:
    for table, column in dict.fromkeys((part.table, part.column) for part in parts if part.equals is not None):
        column_values = column_of(tables[table], column)
        of_column = [part for part in parts if (part.table, part.column) == (table, column)]
        empty = [_metric(protocol, part) for part in of_column if not _holds_any(part, column_values, protocol)]
        values = column_values.drop_nulls().unique(maintain_order=True).cast(pl.String).to_list()
        part_values = list(dict.fromkeys(value for part in of_column for value in part.values))
        others = [value for value in values if value not in part_values]
        if empty and others:
            message = f"{protocol.name}: {table}.{column} is {', '.join(map(repr, part_values))}; there is {listed(others)}, "
            warn(f"{message}so {_are_null(empty)}", UnknownValueWarning)


def _are_null(names: list[str]) -> str:
    return f"{', '.join(names)} {'is' if len(names) == 1 else 'are'} null"


def _holds_any(part: Part, values: pl.Series, protocol: Protocol) -> bool:
    fits = values.dtype in (pl.String, pl.Categorical, pl.Enum) if part.equals is not None else values.dtype.is_numeric()
    if not (fits or values.dtype == pl.Null):
        expected = "numbers" if part.equals is None else f"text such as {part.values[0]!r}"
        where = f"{part.table}.{part.column}, which has {values.dtype}"
        raise ColumnError(f"{protocol.name}: {_metric(protocol, part)} expects {expected} in {where}")
    return bool(values.to_frame("value").select(_condition(part, pl.col("value")).any()).item())


def _metric(protocol: Protocol, part: Part) -> str:
    """Return the first headline number of a part."""
    kind = next((line.removesuffix("{part}") for line in protocol.lines if line.endswith("{part}")), "AP")
    return f"{kind}{part.name}"


def _condition(part: Part, column: pl.Expr) -> pl.Expr:
    return column.is_in(part.values) if part.equals is not None else (column > part.above) & (column <= part.up_to)
