"""Attributes from a separate table, joined to the images or annotations of a data set."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from apframe.exceptions import ColumnError, DuplicateIdError, ParameterError, RowError, UnmatchedAttributesWarning, warn
from apframe.rows import KEY_OF, refuse_rows
from apframe.tables.column_sources import to_polars
from apframe.tables.ids import unknown_ids
from apframe.tables.names import labels_of, places_of
from apframe.tables.schemas import NAMES, noun
from apframe.tables.types import with_ids
from apframe.wording import counted, listed, nearest


def with_attributes(
    table: str, frame: pl.DataFrame, source: Any, on: str | None, *, n_expected: int | None = None
) -> pl.DataFrame:
    """Join the columns of another table to the images or annotations, by id or by file name.

    Parameters
    ----------
    table, frame
        "images" or "annotations", and the canonical table
    source
        a table with a column to join by, and attributes; may be a list of dicts
    on
        the column to join by: the id, which is the default if the source has it, or `file_name` of images, which is compared
        as in `places_of`
    n_expected
        number of the first rows of the frame that should have attributes: no warning is given for others; None: all

    Returns
    -------
    The frame with further columns, null in rows that are not in the source. A column that the frame already has gets the
    values that it lacks.

    >>> images = pl.DataFrame({"image_id": [1, 2], "file_name": ["val/a.jpg", "val/b.jpg"]})
    >>> with_attributes("images", images, {"file_name": ["b", "a"], "weather": ["fog", "sun"]}, None)["weather"].to_list()
    ['sun', 'fog']
    """
    what = f"{noun(table)} attributes"
    attributes = to_polars(source, what)
    keys = [KEY_OF[table], NAMES[table]] if table in NAMES else [KEY_OF[table]]
    on = _column_to_join_by(what, attributes, keys, on)
    refuse_rows(what, attributes, attributes[on].is_null(), f"{on} is missing", "supply it or remove these rows")
    names = [name for name in attributes.columns if name not in keys]
    if not names:
        raise ColumnError(f"no column beside {on}", "add the attributes as further columns", table=what)
    rows = _rows_by_id(what, attributes, table, frame) if on == keys[0] else _rows_by_name(what, attributes, table, frame)
    _refuse_unmatched(what, attributes, on, table, rows, labels_of(table, frame) if on != keys[0] else frame[on])
    place = pl.DataFrame({"row": rows}).with_row_index("place").drop_nulls()
    places = pl.DataFrame({"row": range(frame.height)}, schema={"row": rows.dtype})
    positions = places.join(place, on="row", how="left", maintain_order="left")["place"]
    columns = {name: attributes[name].alias("value").gather(positions) for name in names}  # for the alias see `columns.exact`
    joined = frame.with_columns(_filled(table, frame, name, values).alias(name) for name, values in columns.items())
    _warn_of_unmatched(what, attributes[on], table, rows, positions.head(positions.len() if n_expected is None else n_expected))
    return joined


def _column_to_join_by(what: str, attributes: pl.DataFrame, keys: Sequence[str], on: str | None) -> str:
    if on is not None and on not in keys:
        raise ParameterError(f"is {' or '.join(keys)}, not {on!r}", nearest(on, keys), option="on")
    candidates = [name for name in ([on] if on else keys) if name in attributes.columns]
    if not candidates:
        near = [f"{question} Then rename it to {name}" for name in keys if (question := nearest(name, attributes.columns))]
        remedy = next(iter(near), f"there are {', '.join(attributes.columns) or 'none'}")
        raise ColumnError(f"no column {on or ' or '.join(keys)} to join by", remedy, table=what)
    return candidates[0]


def _rows_by_id(what: str, attributes: pl.DataFrame, table: str, frame: pl.DataFrame) -> pl.Series:
    """Return the row of the frame for each id, null if there is none."""
    key = KEY_OF[table]
    source_ids, own_ids = with_ids(what, attributes, key)[1], frame[key]
    if source_ids.dtype != own_ids.dtype:
        source_ids = source_ids.cast(pl.String)
        own_ids = own_ids.cast(pl.String)
    duplicated = source_ids.is_duplicated()
    if duplicated.any():
        ids = source_ids.filter(duplicated).unique(maintain_order=True).to_list()
        raise DuplicateIdError(what, f"{key} is not unique", key, ids, "keep one of these rows")
    rows = own_ids.to_frame(key).with_row_index("row")
    return source_ids.to_frame(key).join(rows, on=key, how="left", maintain_order="left")["row"]


def _rows_by_name(what: str, attributes: pl.DataFrame, table: str, frame: pl.DataFrame) -> pl.Series:
    """Return the row of the frame for each name, null if there is none."""
    name = NAMES[table]
    names = with_ids(what, attributes, name)[1].cast(pl.String)
    places = places_of(names, labels_of(table, frame), table)
    several = places.list.len() > 1
    if several.any():
        which = names.filter(several).unique(maintain_order=True).to_list()
        remedy = f"give names with their folders, or {KEY_OF[table]}"
        raise RowError(what, f"several {table} have this name", name, which, remedy)
    rows = places.list.first()
    twice = rows.is_duplicated() & rows.is_not_null()
    if twice.any():
        which = names.filter(twice).unique(maintain_order=True).to_list()
        raise DuplicateIdError(what, f"several rows are for the same {noun(table)}", name, which, "keep one of these rows")
    return rows


def _refuse_unmatched(what: str, attributes: pl.DataFrame, on: str, table: str, rows: pl.Series, there: pl.Series) -> None:
    """Raise an error if no row matches the frame, whose ids or names are `there`."""
    if len(rows) and not rows.count():
        remedy = f"the {on} must be those of the {table}"
        if on != NAMES.get(table) and table in NAMES:
            remedy += f"; put file names in a column {NAMES[table]}"
        raise unknown_ids(what, attributes, on, table, rows.is_not_null(), remedy, there)


def _warn_of_unmatched(what: str, keys: pl.Series, table: str, rows: pl.Series, positions: pl.Series) -> None:
    left_out, without = rows.null_count(), positions.null_count()
    parts = []
    if left_out:
        which = listed(keys.filter(rows.is_null()).to_list())
        parts.append(f"{left_out:,} of {counted(len(rows), 'row')} match no {noun(table)} and were left out ({which})")
    if without:
        parts.append(f"{without:,} of {counted(len(positions), noun(table))} have no row: their attributes are null")
    if parts:
        warn(f"{what}: {'; '.join(parts)}", UnmatchedAttributesWarning)


def _filled(table: str, frame: pl.DataFrame, name: str, values: pl.Series) -> pl.Series:
    """Return the values of a column, where values in the frame come first; different values are an error."""
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
