"""Attributes from a table of their own, joined to the images or annotations of a data set."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from apframe.exceptions import ColumnError, DuplicateIdError, ParameterError, RowError, UnmatchedAttributesWarning, warn
from apframe.rows import KEY_OF, refuse_rows
from apframe.tables.column_sources import to_polars
from apframe.tables.ids import unknown_ids
from apframe.tables.names import called, places_of
from apframe.tables.schemas import NAMES, noun
from apframe.tables.types import with_ids
from apframe.wording import counted, listed, nearest


def with_attributes(
    table: str, frame: pl.DataFrame, source: Any, on: str | None, *, n_expected: int | None = None
) -> pl.DataFrame:
    """The images or annotations with the columns of another table, joined by id or by the names of files.

    Parameters
    ----------
    table, frame
        "images" or "annotations", and that canonical table
    source
        a column to join by, and attributes; also as a list of dicts
    on
        that column: the id, which is the default where it is there, or `file_name` of images, which is compared as
        `places_of` says
    n_expected
        how many of the first rows of the frame should have attributes, so that the others are not warned of; None: all

    Returns
    -------
    The frame with further columns, null in rows that the source does not have. A column that it already has gets values where
    it has none.

    >>> images = pl.DataFrame({"image_id": [1, 2], "file_name": ["val/a.jpg", "val/b.jpg"]})
    >>> with_attributes("images", images, {"file_name": ["b", "a"], "weather": ["fog", "sun"]}, None)["weather"].to_list()
    ['sun', 'fog']
    """
    what = f"{noun(table)} attributes"
    given = to_polars(source, what)
    keys = [KEY_OF[table], NAMES[table]] if table in NAMES else [KEY_OF[table]]
    on = _column_to_join_by(what, given, keys, on)
    refuse_rows(what, given, given[on].is_null(), f"{on} is missing", "supply it or remove these rows")
    names = [name for name in given.columns if name not in keys]
    if not names:
        raise ColumnError(f"no column beside {on}", "add the attributes as further columns", table=what)
    rows = _rows_by_id(what, given, table, frame) if on == keys[0] else _rows_by_name(what, given, table, frame)
    _refuse_unmatched(what, given, on, table, rows, called(table, frame) if on != keys[0] else frame[on])
    place = pl.DataFrame({"row": rows}).with_row_index("place").drop_nulls()
    places = pl.DataFrame({"row": range(frame.height)}, schema={"row": rows.dtype})
    found = places.join(place, on="row", how="left", maintain_order="left")["place"]
    columns = {name: given[name].alias("value").gather(found) for name in names}  # by which name it is, see `columns.exact`
    joined = frame.with_columns(_filled(table, frame, name, values).alias(name) for name, values in columns.items())
    _warn_of_unmatched(what, given[on], table, rows, found.head(found.len() if n_expected is None else n_expected))
    return joined


def _column_to_join_by(what: str, given: pl.DataFrame, keys: Sequence[str], on: str | None) -> str:
    if on is not None and on not in keys:
        raise ParameterError(f"is {' or '.join(keys)}, not {on!r}", nearest(on, keys), option="on")
    there = [name for name in ([on] if on else keys) if name in given.columns]
    if not there:
        near = [f"{question} Then rename it to {name}" for name in keys if (question := nearest(name, given.columns))]
        remedy = next(iter(near), f"there are {', '.join(given.columns) or 'none'}")
        raise ColumnError(f"no column {on or ' or '.join(keys)} to join by", remedy, table=what)
    return there[0]


def _rows_by_id(what: str, given: pl.DataFrame, table: str, frame: pl.DataFrame) -> pl.Series:
    """The row of the frame that each id means, null where there is none."""
    key = KEY_OF[table]
    asked, known = with_ids(what, given, key)[1], frame[key]
    if asked.dtype != known.dtype:
        asked = asked.cast(pl.String)
        known = known.cast(pl.String)
    duplicated = asked.is_duplicated()
    if duplicated.any():
        ids = asked.filter(duplicated).unique(maintain_order=True).to_list()
        raise DuplicateIdError(what, f"{key} is not unique", key, ids, "keep one of these rows")
    rows = known.to_frame(key).with_row_index("row")
    return asked.to_frame(key).join(rows, on=key, how="left", maintain_order="left")["row"]


def _rows_by_name(what: str, given: pl.DataFrame, table: str, frame: pl.DataFrame) -> pl.Series:
    """The row of the frame for each name, null if there is none."""
    name = NAMES[table]
    asked = with_ids(what, given, name)[1].cast(pl.String)
    places = places_of(asked, called(table, frame), table)
    several = places.list.len() > 1
    if several.any():
        which = asked.filter(several).unique(maintain_order=True).to_list()
        remedy = f"give names with their folders, or {KEY_OF[table]}"
        raise RowError(what, f"several {table} have this name", name, which, remedy)
    rows = places.list.first()
    twice = rows.is_duplicated() & rows.is_not_null()
    if twice.any():
        which = asked.filter(twice).unique(maintain_order=True).to_list()
        raise DuplicateIdError(what, f"several rows are for the same {noun(table)}", name, which, "keep one of these rows")
    return rows


def _refuse_unmatched(what: str, given: pl.DataFrame, on: str, table: str, rows: pl.Series, there: pl.Series) -> None:
    """An error where no row is about anything in the frame, whose ids or names are `there`."""
    if len(rows) and not rows.count():
        remedy = f"the {on} must be those of the {table}"
        if on != NAMES.get(table) and table in NAMES:
            remedy += f"; put file names in a column {NAMES[table]}"
        raise unknown_ids(what, given, on, table, rows.is_not_null(), remedy, there)


def _warn_of_unmatched(what: str, asked: pl.Series, table: str, rows: pl.Series, found: pl.Series) -> None:
    left_out, without = rows.null_count(), found.null_count()
    parts = []
    if left_out:
        which = listed(asked.filter(rows.is_null()).to_list())
        parts.append(f"{left_out:,} of {counted(len(rows), 'row')} match no {noun(table)} and were left out ({which})")
    if without:
        parts.append(f"{without:,} of {counted(len(found), noun(table))} have no row: their attributes are null")
    if parts:
        warn(f"{what}: {'; '.join(parts)}", UnmatchedAttributesWarning)


def _filled(table: str, frame: pl.DataFrame, name: str, values: pl.Series) -> pl.Series:
    """The values of a column; those of the frame, where it has some: others are an error."""
    if name not in frame.columns:
        return values
    own = frame[name].alias("own")
    try:
        values = values.cast(own.dtype) if own.count() else values
        differ = (own != values).fill_null(False)
    except pl.exceptions.PolarsError:
        differ = own.is_not_null()
    remedy = "rename the column, or leave it out"
    refuse_rows(table, frame, differ, f"column {name} already exists with other values", remedy)
    return pl.DataFrame([own, values]).select(pl.coalesce("own", "value")).to_series()
