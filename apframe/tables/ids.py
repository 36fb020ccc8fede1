"""Ids that refer to other tables: their types, and references to unknown rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from apframe.exceptions import IdTypeError, UnknownIdError
from apframe.rows import rows_of
from apframe.tables.schemas import KEYS, NAMES, TABLES
from apframe.validation import Sieve, without_places
from apframe.wording import listed, option_name

if TYPE_CHECKING:
    from apframe.tables.dataset import Dataset

_CAST = "cast one of them so that both have the same type"


def with_id_types(table: str, frame: pl.DataFrame, dataset: Dataset) -> pl.DataFrame:
    """Return the frame with image_id and category_id of the data set's types; raise an error if they differ."""
    for owner, column in KEYS.items():
        mine, theirs = frame[column].dtype, dataset.core(owner)[column].dtype
        if mine == theirs:
            continue
        if frame.is_empty():
            frame = frame.with_columns(pl.col(column).cast(theirs))
        elif dataset.core(owner).height:
            remedy = _agreeing_ids(table, frame, owner, dataset.core(owner))
            raise different_id_types(table, column, mine, f"{owner}.{column}", theirs, remedy)
    return frame


def _agreeing_ids(table: str, frame: pl.DataFrame, owner: str, rows: pl.DataFrame) -> str:
    """Return the remedy for text ids that refer to number ids, or the reverse; joining by name first if it would work."""
    key, ids = KEYS[owner], frame[KEYS[owner]]
    is_text = ids.dtype == pl.String
    texts, numbers, holder = (ids, rows[key], table) if is_text else (rows[key], ids, owner)
    cast = texts.cast(pl.Int64, strict=False)
    names = rows[NAMES[owner]].drop_nulls()
    bare = names.str.replace(r"^.*[/\\]", "")
    are_names = is_known(ids.cast(pl.String), pl.concat([names, bare, bare.str.replace(r"\.[^.]*$", "")])).any()
    remedies = [f"use the ids of the {owner}"]
    if not cast.null_count():
        also = ", and annotations likewise" if table == "detections" and not is_text else ""
        remedies = [f'make {key} of the {holder} whole numbers (in Polars .cast(pl.Int64), in JSON 7 instead of "7"){also}']
    could_be_names = are_names or (cast.null_count() and (len(names) or not is_text))
    if table == "detections" and (could_be_names or NAMES[owner] in frame.columns):
        by_name = [f"join them by name ({option_name('join_by_name', owner)})"]
        if are_names and not is_known(cast, numbers).any():
            remedies = []
        remedies = by_name + remedies if NAMES[owner] in frame.columns else remedies + by_name
    return ", or ".join(remedies)


def different_id_types(table: str, column: str, mine: Any, other: str, theirs: Any, remedy: str = _CAST) -> IdTypeError:
    """Return the error that ids are integers on one side and strings on the other."""
    kinds = {pl.Int64(): "integers", pl.String(): "strings"}
    return IdTypeError(f"holds {kinds[mine]}, not {kinds[theirs]} like {other}", remedy, table=table, column=column)


def replaced(ids: pl.Series, old: pl.Series, new: pl.Series) -> pl.Series:
    """Replace ids, all of which are among the old ones, by the new ones at the same positions.

    >>> replaced(pl.Series([7, 9, 7]), pl.Series([7, 9]), pl.Series(["a", "b"])).to_list()
    ['a', 'b', 'a']
    """
    return ids.replace_strict(old, new, return_dtype=new.dtype) if len(old) else ids.cast(new.dtype)


def new_ids(used_ids: pl.Series, n: int) -> pl.Series:
    """Return `n` unused ids of the type and name of the used ones: the next numbers.

    >>> new_ids(pl.Series([7, 3]), 2).to_list(), new_ids(pl.Series(["a", "new-1"]), 1).to_list()
    ([8, 9], ['new-2'])
    """
    is_text = used_ids.dtype == pl.String
    numbers = used_ids.str.extract(r"^new-(\d{1,18})$").cast(pl.Int64) if is_text else used_ids
    largest: Any = numbers.max()
    new = pl.int_range(1, n + 1, dtype=pl.Int64, eager=True).alias(used_ids.name) + max(largest or 0, 0)
    return new.cast(pl.String).str.replace("^", "new-") if is_text else new


def is_known(ids: pl.Series, known_ids: pl.Series) -> pl.Series:
    """Flag the ids that are among the known ones."""
    if not len(known_ids):
        return pl.repeat(False, len(ids), eager=True)
    return ids.to_frame().select(pl.first().is_in(pl.lit(known_ids).implode())).to_series()


def unknown_ids(
    table: str, frame: pl.DataFrame, column: str, owner: str, known_rows: pl.Series, remedy: str, labels: pl.Series
) -> UnknownIdError:
    """Return the error that names the rows whose ids are not flagged as known, and these ids; for names, with near names."""
    unknown = frame[column].filter(~known_rows).unique(maintain_order=True)
    rows = rows_of(table, frame, ~known_rows)
    problem, names = f"{column} is not among the {owner}", ""
    if unknown.dtype == pl.String:
        from apframe.tables.near_names import say_names

        names = say_names(unknown, labels, owner)
    error = UnknownIdError(
        table, problem, *rows, "; ".join(filter(None, (f"unknown: {listed(unknown.to_list())}", names, remedy)))
    )
    error.of_all_rows, error.owner, error.unknown = not known_rows.any(), owner, unknown
    return error


def with_known_references(table: str, frame: pl.DataFrame, dataset: Dataset) -> pl.DataFrame:
    """Return the rows whose image_id and category_id are in the tables of the data set; other rows are rejected."""
    for owner, column in KEYS.items():
        known_rows = is_known(frame[column], dataset.core(owner)[column])
        if not known_rows.all():
            sieve = Sieve(table, frame)
            remedy = f"add them to the {owner} or remove these rows"
            sieve.refuse_as(
                ~known_rows, unknown_ids(table, frame, column, owner, known_rows, remedy, dataset.core(owner)[column])
            )
            frame = sieve.sound(frame)
    return with_id_types(table, frame, dataset)  # if every row is rejected, the ids may still be of another type


def with_known_lists(table: str, frame: pl.DataFrame, category_ids: pl.Series) -> pl.DataFrame:
    """Return the frame with lists of category ids in the right type, none missing; rows with unknown ids are rejected."""
    key = TABLES[table][0].name
    for name in (c.name for c in TABLES[table] if c.is_id and not c.standard and c.name in frame.columns):
        listing = frame.select(key, named=name).explode("named", empty_as_null=False, keep_nulls=False)
        if listing.is_empty():
            listing = listing.with_columns(pl.col("named").cast(category_ids.dtype))
        elif listing["named"].dtype != category_ids.dtype:
            types = (listing["named"].dtype, category_ids.dtype)
            remedy = f"{_CAST}; lists must hold ids, not names" if types[0] == pl.String else _CAST
            raise different_id_types(table, name, types[0], "categories.category_id", types[1], remedy)
        known_rows = is_known(listing["named"], category_ids)
        if not known_rows.all():
            unknown = listing["named"].filter(~known_rows).unique(maintain_order=True)
            rows = listing[key].filter(~known_rows).unique(maintain_order=True)
            remedy = f"unknown: {listed(unknown.to_list())}; add them to the categories or remove them from the lists"
            error = UnknownIdError(table, f"{name} has ids that are not among the categories", key, rows, remedy)
            error.owner, error.unknown = "categories", unknown
            sieve = Sieve(table, frame)
            sieve.refuse_as(is_known(frame[key], rows), error)
            frame = without_places(sieve.sound(frame))
        frame = frame.with_columns(pl.col(name).cast(pl.List(category_ids.dtype)).fill_null([]))
    return frame
