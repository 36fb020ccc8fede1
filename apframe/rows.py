"""Rows that cannot be right: the error that names them, by their ids or their numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import polars as pl
from polars import selectors

from apframe.exceptions import ColumnError, RowError
from apframe.wording import option_name

KEY_OF = {
    "images": "image_id",
    "categories": "category_id",
    "annotations": "annotation_id",
    "detections": "detection_id",
    "queries": "query_id",
}
"""The column of the ids of a table's rows; rows of other tables are named by their numbers."""

PLACE = "place in the source"
"""The column of the numbers that rows had in their source, from 1, in tables of which some were left out."""
REFUSED = "refused in the source"
"""The column of flags of rows that are to be left out, in tables of which some are: see `apframe.validation.Sieve.marked`."""
OF_SOURCE = selectors.by_name(PLACE, REFUSED, require_all=False)
"""These two columns, where a frame has them."""
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


@dataclass(frozen=True)
class Malformed:
    """What becomes of malformed rows: all their numbers are there, but no shape has them, such as a box with a negative side.

    Attributes
    ----------
    kept
        the tables whose malformed rows pass, to be evaluated as the benchmark's own program does
    keepable
        the tables for which `invalid="keep"` is possible, so that errors name it
    words
        what the benchmark's own program does, for errors about the other table
    """

    kept: tuple[str, ...] = ()
    keepable: tuple[str, ...] = ("annotations", "detections")
    words: str = ""

    def remedy(self, *tables: str) -> str:
        """What to do about malformed rows of these tables, other than correcting them.

        >>> Malformed().remedy("annotations"), Malformed(keepable=()).remedy("annotations")
        ('or evaluate with invalid="drop" or invalid="keep"', 'or evaluate with invalid="drop"')
        """
        values = ("drop", "keep") if set(tables) <= set(self.keepable) else ("drop",)
        words = f" ({option_name('invalid', 'keep')}: {self.words})" if self.kept and len(values) == 1 else ""
        return f"or evaluate with {' or '.join(option_name('invalid', value) for value in values)}{words}"


MALFORMED_KEPT = Malformed(kept=("annotations", "detections"))
"""For rows that were checked before, and kept."""
_REFUSED = Malformed()
_malformed: ContextVar[Malformed] = ContextVar("_malformed", default=_REFUSED)


@contextmanager
def treating_malformed(malformed: Malformed) -> Iterator[None]:
    """Inside, malformed rows are treated as this says.

    >>> with treating_malformed(MALFORMED_KEPT):
    ...     malformed_rows().kept
    ('annotations', 'detections')
    """
    before = _malformed.set(malformed)
    try:
        yield
    finally:
        _malformed.reset(before)


def malformed_rows() -> Malformed:
    """What becomes of malformed rows here, see `treating_malformed`; by default they are refused.

    >>> malformed_rows().kept
    ()
    """
    return _malformed.get()


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
    """The key column and the ids of flagged rows; their numbers in the source, from 1, where one of them has no id."""
    key = KEY_OF.get(table)
    if key in frame.columns:
        given = frame[key].filter(where)
        ids = given.cast(pl.Int64, strict=False) if given.dtype.is_float() else given  # as files are read
        if not (ids.dtype.is_nested() or ids.null_count()) and (ids == given).all():
            return key, ids.to_list()
    return "row", frame[PLACE].filter(where).to_list() if PLACE in frame.columns else row_numbers(where)


def row_numbers(where: pl.Series) -> list[int]:
    """The numbers of the rows that are flagged, from 1."""
    return [row + 1 for row in where.arg_true().to_list()]


def first_few(rows: Iterable[Any]) -> tuple[str, ...]:
    """The first five of some ids, as text.

    >>> first_few(range(9))
    ('0', '1', '2', '3', '4')
    """
    return tuple(str(row) for row, _ in zip(rows, range(MOST), strict=False))
