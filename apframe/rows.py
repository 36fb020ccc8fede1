"""Rows that cannot be right: the error that names them, by their ids or their numbers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import polars as pl

from apframe.exceptions import ColumnError, RowError

KEY_OF = {
    "images": "image_id",
    "categories": "category_id",
    "annotations": "annotation_id",
    "detections": "detection_id",
    "queries": "query_id",
}
"""The column of the ids of a table's rows; rows of other tables are named by their numbers."""


MOST = 5
"""How many ids of rows are named."""


def refuse_rows(table: str, frame: pl.DataFrame, broken: pl.Series, problem: str, remedy: str) -> None:
    """An error that names the flagged rows by their ids, or by their numbers (from 1) where the frame has none.

    >>> refuse_rows("detections", pl.DataFrame({"detection_id": [7, 8]}), pl.Series([False, True]), "no good", "mend it")
    Traceback (most recent call last):
    apframe.exceptions.RowError: detections: no good where detection_id is 8; mend it
    """
    if broken.any():
        raise RowError(table, problem, *rows_of(table, frame, broken), remedy)


def refuse_texts(table: str, frame: pl.DataFrame, names: Iterable[str]) -> None:
    """An error if one of these columns is there and holds neither numbers nor true and false.

    >>> refuse_texts("annotations", pl.DataFrame({"level": ["LEVEL_1"]}), ["level", "n_points"])
    Traceback (most recent call last):
    apframe.exceptions.ColumnError: annotations.level must hold numbers, not String
    """
    for name in names:
        dtype = frame.schema.get(name, pl.Null())
        if not (dtype.is_numeric() or dtype in (pl.Boolean, pl.Null)):
            raise ColumnError(f"must hold numbers, not {dtype}", table=table, column=name)


def rows_of(table: str, frame: pl.DataFrame, where: pl.Series) -> tuple[str, list[Any]]:
    """The key column and the ids of rows; their numbers where some have no id."""
    key = KEY_OF.get(table)
    if key is None or key not in frame.columns:
        return "row", row_numbers(where)
    given = frame[key]
    ids = given.cast(pl.Int64, strict=False) if given.dtype.is_float() else given  # as files are read
    if ids.dtype.is_nested() or ids.null_count() or not (ids == given).all():
        return "row", row_numbers(where)
    return key, ids.filter(where).to_list()


def row_numbers(where: pl.Series) -> list[int]:
    """The numbers of the rows that are flagged, from 1."""
    return [row + 1 for row in where.arg_true().to_list()]


def first_few(rows: Iterable[Any]) -> tuple[str, ...]:
    """The first five of some ids, as text.

    >>> first_few(range(9))
    ('0', '1', '2', '3', '4')
    """
    return tuple(str(row) for row, _ in zip(rows, range(MOST), strict=False))
