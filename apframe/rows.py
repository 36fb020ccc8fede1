"""Invalid rows: errors that name them by their ids or their numbers."""

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
"""The id column of each table; rows of other tables are named by their numbers."""

PLACE = "place in the source"
"""The column of row numbers in the source, from 1, in tables where rows were left out."""
REFUSED = "refused in the source"
"""The column that flags rows to leave out: see `apframe.validation.Sieve.marked`."""
OF_SOURCE = selectors.by_name(PLACE, REFUSED, require_all=False)
"""These two columns, if a frame has them."""
MOST = 5
"""The number of ids of rows in a message."""


def refuse_rows(table: str, frame: pl.DataFrame, broken: pl.Series, problem: str, remedy: str) -> None:
    """Raise an error that names the flagged rows by their ids, or by their numbers (from 1) if the frame has no ids.

    >>> refuse_rows("detections", pl.DataFrame({"detection_id": [7, 8]}), pl.Series([False, True]), "no good", "mend it")
    Traceback (most recent call last):
    apframe.exceptions.RowError: detections: no good for detection_id 8; mend it
    """
    if broken.any():
        raise RowError(table, problem, *rows_of(table, frame, broken), remedy)


@dataclass(frozen=True)
class Malformed:
    """Treatment of malformed rows, whose numbers are all there but make no shape, such as a box with a negative side.

    Attributes
    ----------
    kept
        the tables whose malformed rows are kept, to be evaluated as in the benchmark's own program
    keepable
        the tables that support `invalid="keep"`, which errors then suggest
    words
        the rule of the benchmark's own program, for errors about the other table
    """

    kept: tuple[str, ...] = ()
    keepable: tuple[str, ...] = ("annotations", "detections")
    words: str = ""

    def remedy(self, *tables: str) -> str:
        """Return the remedy for malformed rows of these tables, other than correcting them.

        >>> Malformed().remedy("annotations"), Malformed(keepable=()).remedy("annotations")
        ('or evaluate with invalid="drop" or invalid="keep"', 'or evaluate with invalid="drop"')
        """
        values = ("drop", "keep") if set(tables) <= set(self.keepable) else ("drop",)
        words = f" ({option_name('invalid', 'keep')}: {self.words})" if self.kept and len(values) == 1 else ""
        return f"or evaluate with {' or '.join(option_name('invalid', value) for value in values)}{words}"


MALFORMED_KEPT = Malformed(kept=("annotations", "detections"))
"""For rows that were checked before and kept."""
_REFUSED = Malformed()
_malformed: ContextVar[Malformed] = ContextVar("_malformed", default=_REFUSED)


@contextmanager
def treating_malformed(malformed: Malformed) -> Iterator[None]:
    """Within this context, treat malformed rows in the given way.

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
    """Return the current treatment of malformed rows, see `treating_malformed`; by default they are rejected.

    >>> malformed_rows().kept
    ()
    """
    return _malformed.get()


def refuse_texts(table: str, frame: pl.DataFrame, names: Iterable[str]) -> None:
    """Raise an error if one of these columns exists and holds neither numbers nor Booleans.

    >>> refuse_texts("annotations", pl.DataFrame({"level": ["LEVEL_1"]}), ["level", "n_points"])
    Traceback (most recent call last):
    apframe.exceptions.ColumnError: annotations.level must hold numbers, not String
    """
    for name in names:
        dtype = frame.schema.get(name, pl.Null())
        if not (dtype.is_numeric() or dtype in (pl.Boolean, pl.Null)):
            raise ColumnError(f"must hold numbers, not {dtype}", table=table, column=name)


def rows_of(table: str, frame: pl.DataFrame, where: pl.Series) -> tuple[str, list[Any]]:
    """Return the key column and the ids of flagged rows; "row" and their numbers in the source, from 1, if an id is missing."""
    key = KEY_OF.get(table)
    if key in frame.columns:
        key_values = frame[key].filter(where)
        ids = key_values.cast(pl.Int64, strict=False) if key_values.dtype.is_float() else key_values  # as files are read
        if not (ids.dtype.is_nested() or ids.null_count()) and (ids == key_values).all():
            return key, ids.to_list()
    return "row", frame[PLACE].filter(where).to_list() if PLACE in frame.columns else row_numbers(where)


def row_numbers(where: pl.Series) -> list[int]:
    """Return the numbers of the flagged rows, from 1."""
    return [row + 1 for row in where.arg_true().to_list()]


def first_few(rows: Iterable[Any]) -> tuple[str, ...]:
    """Return the first five ids as text.

    >>> first_few(range(9))
    ('0', '1', '2', '3', '4')
    """
    return tuple(str(row) for row, _ in zip(rows, range(MOST), strict=False))
