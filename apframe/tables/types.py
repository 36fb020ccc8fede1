"""Conversion of the columns of a source to the types of the canonical tables."""

from __future__ import annotations

from typing import Any

import polars as pl

from apframe.columns import Column
from apframe.exceptions import ColumnError
from apframe.rows import KEY_OF
from apframe.tables.schemas import ID
from apframe.tables.shapes.declarations import SHAPES
from apframe.validation import Sieve
from apframe.wording import first_line

LIST_REMEDIES = {shape.column: shape.list_remedy for shape in SHAPES if shape.list_remedy}
"""Remedies for lists that do not hold numbers."""
BEYOND = "is beyond 64 bits"
"""The problem of ids that are whole numbers from 2^63 on, such as hashes."""
AS_TEXT = (
    'make these ids text in all tables (in Polars .cast(pl.String), in JSON "7" instead of 7, in CSV with a letter before each)'
)
"""The remedy for such ids."""


def as_column(sieve: Sieve, column: Column) -> pl.Series:
    """Return the values of a column of a sieve's frame in its declared type; values that cannot be converted become null.

    A column without any valid value is a `ColumnError`; rows with invalid values are rejected.

    >>> sieve = Sieve("images", pl.DataFrame({"image_id": [1.0]}))
    >>> as_column(sieve, Column("image_id", ID, "key", is_id=True)).to_list()
    [1]
    """
    values = sieve.frame[column.name]
    if column.dtype is None:
        return values
    if not column.is_id:
        return _as_dtype(sieve, values, column.dtype)
    if column.dtype == ID:
        return _as_id(sieve, values)
    return _as_id_lists(sieve, values)


def _as_dtype(sieve: Sieve, values: pl.Series, dtype: Any) -> pl.Series:
    if values.dtype == dtype:
        return values
    table, name = sieve.table, values.name
    inner: Any = values.dtype
    while isinstance(inner, (pl.List, pl.Array)):
        inner = inner.inner
    flat = LIST_REMEDIES.get(name, "")
    is_nested = pl.Series([], dtype=dtype).dtype.is_nested()
    is_text = inner in (pl.String, pl.Categorical, pl.Enum) and dtype != pl.String
    if is_text or (values.dtype.is_nested() and not is_nested):
        raise ColumnError(f"must be {dtype}, not {values.dtype}", flat, table=table, column=name)
    of_key = name == KEY_OF.get(table)
    if values.dtype.is_float() and dtype == pl.Int64:
        whole = values.cast(pl.Int64, strict=False)
        if whole.null_count() == values.null_count() and (whole.cast(values.dtype) == values).all():
            return whole
        broken = ((values != values.floor()) | ~values.is_finite()).fill_null(False)
        sieve.refuse(broken, f"{name} is not a whole number", "correct these rows", of_key=of_key)
        values = values.set(broken, None)
    try:
        cast = values.cast(dtype, strict=is_nested)
    except pl.exceptions.PolarsError as error:  # no value of this type can be converted
        why = f": {first_line(error)}" if is_nested else ""
        raise ColumnError(f"must be {dtype}, not {values.dtype}{why}", flat, table=table, column=name) from None
    if cast.null_count() > values.null_count():
        sieve.refuse(cast.is_null() & values.is_not_null(), f"{name} is not {dtype}", "correct these rows", of_key=of_key)
    return cast


def with_ids(table: str, frame: pl.DataFrame, name: str) -> tuple[pl.DataFrame, pl.Series]:
    """Return the frame without rows that have invalid ids in a column, and these ids as Int64 or String.

    >>> with_ids("images", pl.DataFrame({"image_id": [1.5]}), "image_id")
    Traceback (most recent call last):
    apframe.exceptions.RowError: images: image_id is not a whole number for row 1; correct these rows
    """
    sieve = Sieve(table, frame)
    ids = _as_id(sieve, frame[name])
    return sieve.sound(frame), ids if sieve.wrong is None else ids.filter(~sieve.wrong)


def _as_id(sieve: Sieve, ids: pl.Series) -> pl.Series:
    """Return integers as Int64 and strings as String; whole floats become integers; other types are an error."""
    if ids.dtype in (pl.Categorical, pl.Enum, pl.String):
        return ids.cast(pl.String)
    if ids.dtype.is_numeric() or ids.dtype == pl.Null:
        return _as_dtype(sieve, _within_64_bits(sieve, ids), pl.Int64)
    raise ColumnError(f"ids must be integers or strings, not {ids.dtype}", table=sieve.table, column=ids.name)


def _within_64_bits(sieve: Sieve, ids: pl.Series) -> pl.Series:
    """Return the ids; ids from 2^63 on are rejected and become null."""
    whole = ids.cast(pl.Int64, strict=False)
    if whole.null_count() == ids.null_count():
        return ids
    beyond = whole.is_null() & ids.is_not_null()
    if ids.dtype.is_float():
        beyond &= ids.is_finite()
    sieve.refuse(beyond, f"{ids.name} {BEYOND}", AS_TEXT, of_key=ids.name == KEY_OF.get(sieve.table))
    return ids.to_frame().select(pl.when(~beyond).then(ids.name)).to_series()


def _as_id_lists(sieve: Sieve, values: pl.Series) -> pl.Series:
    if values.dtype == pl.Null:
        return values.cast(pl.List(ID))
    inner: Any = getattr(values.dtype, "inner", None)
    is_text = inner in (pl.Categorical, pl.Enum, pl.String)
    if not isinstance(values.dtype, pl.List) or not (is_text or inner == pl.Null or inner.is_numeric()):
        raise ColumnError(f"must hold lists of ids, not {values.dtype}", table=sieve.table, column=values.name)

    def refuse(is_broken: pl.Expr, problem: str, lists: pl.Series = values, remedy: str = "correct these rows") -> None:
        broken = lists.list.eval(is_broken).list.any().fill_null(False)
        sieve.refuse(broken, f"{values.name} {problem}", remedy)

    refuse(pl.element().is_null(), "contains a missing id")
    if inner.is_float():
        refuse((pl.element() != pl.element().floor()) | ~pl.element().is_finite(), "is not a whole number")
    if is_text:
        return values.cast(pl.List(pl.String))
    ids = values.cast(pl.List(ID), strict=False)
    refuse(pl.element().is_null(), "contains an id beyond 64 bits", ids, AS_TEXT)
    return ids
