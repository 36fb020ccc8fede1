"""Columns of a source as the types that the canonical tables have."""

from __future__ import annotations

from typing import Any

import polars as pl

from apframe.columns import Column
from apframe.exceptions import ColumnError, RowError
from apframe.rows import refuse_rows, rows_of
from apframe.tables.shapes.catalogue import SHAPES
from apframe.tables.tables import ID
from apframe.wording import first_line

LIST_REMEDIES = {shape.column: shape.list_remedy for shape in SHAPES if shape.list_remedy}
"""Remedies for lists that do not hold numbers."""


def as_column(table: str, frame: pl.DataFrame, column: Column) -> pl.Series:
    """The values of a frame's column as the type that is declared; `ColumnError` or `RowError` where they are of another.

    >>> as_column("images", pl.DataFrame({"image_id": [1.0]}), Column("image_id", ID, "key", is_id=True)).to_list()
    [1]
    """
    values = frame[column.name]
    if column.dtype is None:
        return values
    if not column.is_id:
        return _as_dtype(table, frame, values, column.dtype)
    if column.dtype == ID:
        return as_id(table, frame, values)
    return _as_id_lists(table, frame, values)


def _as_dtype(table: str, frame: pl.DataFrame, values: pl.Series, dtype: Any) -> pl.Series:
    if values.dtype == dtype:
        return values
    inner: Any = values.dtype
    while isinstance(inner, (pl.List, pl.Array)):
        inner = inner.inner
    flat = LIST_REMEDIES.get(values.name, "")
    is_text = inner in (pl.String, pl.Categorical, pl.Enum) and dtype != pl.String
    if is_text or (values.dtype.is_nested() and not pl.Series([], dtype=dtype).dtype.is_nested()):
        raise ColumnError(f"must be {dtype}, not {values.dtype}", flat, table=table, column=values.name)
    if values.dtype.is_float() and dtype == pl.Int64:
        whole = values.cast(pl.Int64, strict=False)
        if whole.null_count() == values.null_count() and (whole.cast(values.dtype) == values).all():
            return whole
        broken = (values != values.floor()) | ~values.is_finite()
        refuse_rows(table, frame, broken, f"{values.name} is not a whole number", "correct these rows")
    try:
        return values.cast(dtype, strict=True)
    except pl.exceptions.PolarsError as error:
        if pl.Series([], dtype=dtype).dtype.is_nested():
            raise ColumnError(
                f"must be {dtype}, not {values.dtype}: {first_line(error)}", flat, table=table, column=values.name
            ) from error
        try:
            failed = values.cast(dtype, strict=False).is_null() & values.is_not_null()
        except pl.exceptions.PolarsError:  # no value of this type can be one of that
            raise ColumnError(f"must be {dtype}, not {values.dtype}", table=table, column=values.name) from None
        rows = rows_of(table, frame, failed)
        raise RowError(table, f"{values.name} is not {dtype}", *rows, "correct these rows") from None


def as_id(table: str, frame: pl.DataFrame, ids: pl.Series) -> pl.Series:
    """Integers as Int64, strings as String; whole floats become integers; anything else is an error."""
    if ids.dtype in (pl.Categorical, pl.Enum, pl.String):
        return ids.cast(pl.String)
    if ids.dtype.is_numeric() or ids.dtype == pl.Null:
        return _as_dtype(table, frame, ids, pl.Int64)
    raise ColumnError(f"ids must be integers or strings, not {ids.dtype}", table=table, column=ids.name)


def _as_id_lists(table: str, frame: pl.DataFrame, values: pl.Series) -> pl.Series:
    if values.dtype == pl.Null:
        return values.cast(pl.List(ID))
    inner: Any = getattr(values.dtype, "inner", None)
    is_text = inner in (pl.Categorical, pl.Enum, pl.String)
    if not isinstance(values.dtype, pl.List) or not (is_text or inner == pl.Null or inner.is_numeric()):
        raise ColumnError(f"must hold lists of ids, not {values.dtype}", table=table, column=values.name)
    is_missing, is_broken = pl.element().is_null(), pl.element() != pl.element().floor()
    missing = values.list.eval(is_missing).list.any().fill_null(False)
    refuse_rows(table, frame, missing, f"{values.name} contains a missing id", "correct these rows")
    if inner.is_float():
        broken = values.list.eval(is_broken | ~pl.element().is_finite()).list.any().fill_null(False)
        refuse_rows(table, frame, broken, f"{values.name} is not a whole number", "correct these rows")
    if not is_text:
        ids = values.cast(pl.List(ID), strict=False)
        large = ids.list.eval(pl.element().is_null()).list.any().fill_null(False)
        refuse_rows(table, frame, large, f"{values.name} contains an id beyond 64 bits", "correct these rows")
        return ids
    return values.cast(pl.List(pl.String))
