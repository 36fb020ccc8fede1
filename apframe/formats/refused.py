"""Find all rows that a `Dataset` or an evaluation would refuse: report them, leave them out and try again."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import polars as pl

from apframe.exceptions import ColumnError, DuplicateIdError, IdTypeError, InputError, RowError, UnknownIdError
from apframe.formats.ids import with_ids_by_name
from apframe.rows import first_few
from apframe.tables.box_formats import as_pixel_boxes
from apframe.tables.canonical import canonical
from apframe.tables.category_map import map_ids
from apframe.tables.dataset import Dataset
from apframe.tables.ids import with_id_types
from apframe.tables.tables import TABLES
from apframe.wording import counted

PLACE = "place in the source"
_NAMES = {UnknownIdError: "unknown_reference", IdTypeError: "id_types", ColumnError: "column"}
_PLAIN: Mapping[str, Any] = {}
Made = TypeVar("Made")


@dataclass(frozen=True)
class Refused:
    """Everything refused for one reason: rows of a table, or the whole table.

    Attributes
    ----------
    check
        a short name of what is wrong
    error
        what says why
    n_rows, rows
        how many rows, and the ids of the first of them; of a table as a whole all of its rows, and none
    n_left_out
        how many rows are left out for it; fewer than `n_rows` if the first row of an id, or the id of an image, is kept
    """

    check: str
    error: InputError
    n_rows: int
    rows: tuple[str, ...]
    n_left_out: int = 0


def accept_truth(frames: Mapping[str, pl.DataFrame], boxes: Mapping[str, Any] = _PLAIN) -> tuple[Dataset | None, list[Refused]]:
    """A data set of what is right in raw tables, and why the rest of it is refused; `boxes` are options of `as_pixel_boxes`.

    Refused rows of images and categories keep their ids and lose the rest; other rows are left out. There is no data set
    where a table lacks a column, or holds another type than it needs.

    >>> dataset, refused = accept_truth({
    ...     "images": pl.DataFrame({"image_id": [1, 1]}), "categories": pl.DataFrame({"category_id": [1]}),
    ...     "annotations": pl.DataFrame({"image_id": [1, 2], "category_id": 1, "bbox": [[0.0, 0.0, 9.0, 9.0]] * 2})})
    >>> dataset, [(each.check, each.rows) for each in refused]
    (Dataset(1 image, 1 category, 1 annotation), [('duplicate_id', ('1',)), ('unknown_reference', ('2',))])
    """
    tables: dict[str, pl.DataFrame | None] = {}
    findings: list[Refused] = []
    for table, frame in frames.items():
        given = boxes if table == "annotations" else _PLAIN
        tables[table], found = _accept_table(table, frame, tables.get("images"), given)
        findings += found
    whole = {table: frame for table, frame in tables.items() if frame is not None}
    if len(whole) < len(tables):
        return None, findings
    dataset, found = accept(whole, lambda **tables: Dataset(**tables, box_format="xywh"))
    return dataset, findings + found


def accept_detections(
    frame: pl.DataFrame,
    dataset: Dataset | None,
    join_by_name: Collection[str] = (),
    boxes: Mapping[str, Any] = _PLAIN,
) -> tuple[pl.DataFrame | None, list[Refused]]:
    """Return accepted detections as a canonical table, with ids of their data set's types if there is one.

    Detections of images and categories that it does not have stay in, unless they are to be joined to these by name.

    >>> accept_detections(pl.DataFrame({"image_id": [1]}), None)[1][0].check
    'column'
    """
    findings: list[Refused] = []
    if dataset is not None and dataset.merged is not None:
        frame = map_ids("detections", frame, dataset.merged, by_name="categories" in join_by_name)
    if dataset is not None and join_by_name:
        named = {"detections": _numbered("detections", frame)}
        joined, findings = accept(named, lambda detections: with_ids_by_name(detections, dataset, join_by_name))
        if joined is None:
            return None, findings
        frame = joined
    found, further = accept_joined(frame, dataset, boxes)
    return found, findings + further


def accept_joined(
    frame: pl.DataFrame, dataset: Dataset | None, boxes: Mapping[str, Any] = _PLAIN
) -> tuple[pl.DataFrame | None, list[Refused]]:
    """`accept_detections` of detections that have the ids of their data set."""
    found, refused = _accept_table("detections", frame, None if dataset is None else dataset.core("images"), boxes)
    if found is None or dataset is None:
        return found, refused
    typed, further = accept({"detections": found}, lambda detections: with_id_types("detections", detections, dataset))
    return typed, refused + further


def accept(
    frames: Mapping[str, pl.DataFrame], make: Callable[..., Made], name: str = "invalid_value"
) -> tuple[Made | None, list[Refused]]:
    """Build a result from tables without the refused rows; None if whole tables are refused.

    Parameters
    ----------
    frames
        by their names, which are the keywords of `make`; each with its key
    make
        raises `RowError`, `ColumnError` or `IdTypeError`
    name
        the check of rows, where their error has none of its own
    """
    frames = dict(frames)
    findings: list[Refused] = []
    while True:
        try:
            return make(**frames), findings
        except RowError as error:
            if error.table not in frames:
                return None, [*findings, of_error(error, frames)]
            frame, is_double = frames[error.table], isinstance(error, DuplicateIdError)
            frames[error.table] = _without(error.table, frame, _refused(frame, error), is_double=is_double)
            n_left_out = frame.height - frames[error.table].height
            refused = replace(of_error(error, {error.table: frame}, name), n_left_out=n_left_out)
            if not is_double:  # which were reported already
                findings.append(refused)
            if frames[error.table].equals(frame):
                return None, [*findings, refused]
        except (ColumnError, IdTypeError) as error:
            return None, [*findings, of_error(error, frames)]


def of_error(error: InputError, frames: Mapping[str, pl.DataFrame] | None = None, name: str = "invalid_value") -> Refused:
    """Return what an error refuses; `frames` are the possible tables, `name` is the default check of rows.

    >>> of_error(ColumnError("no column image_id", "there are a, b", table="images")).check
    'column'
    """
    check = next((given for kind, given in _NAMES.items() if isinstance(error, kind)), name)
    frame = (frames or {}).get(error.table)
    if not isinstance(error, RowError):
        return Refused(check, error, 0 if frame is None else frame.height, ())
    rows = first_few(error.rows)
    if error.key == "row":
        places = error.rows if frame is None else frame[PLACE].gather([row - 1 for row in error.rows])
        rows = tuple(f"row {place}" for place in first_few(places))
    return Refused(check, error, len(error.rows), rows, len(error.rows))


def _accept_table(
    table: str, frame: pl.DataFrame, images: pl.DataFrame | None, boxes: Mapping[str, Any]
) -> tuple[pl.DataFrame | None, list[Refused]]:
    def read(frame: pl.DataFrame) -> pl.DataFrame:
        return canonical(table, as_pixel_boxes(table, frame, images, **boxes) if any(boxes.values()) else frame)

    if PLACE not in frame.columns:  # as it is, so that errors tell of its own columns alone
        try:
            return read(frame), []
        except ColumnError as error:
            return None, [of_error(error, {table: frame})]
        except RowError:
            pass
    frame = _numbered(table, frame)
    findings = _duplicates(table, frame)
    accepted, refused = accept({table: frame}, lambda **frames: read(frames[table]))
    return (None if accepted is None else accepted.drop(PLACE, strict=False)), findings + refused


def _numbered(table: str, frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with the places of its rows, and with a key where it may do without: as it is numbered if all is right."""
    key = TABLES[table][0]
    if not frame.columns:  # a table of nothing may have no columns either
        return frame
    if PLACE not in frame.columns:
        frame = frame.with_row_index(PLACE, offset=1)
    if not key.required and key.name not in frame.columns:
        frame = frame.with_columns(pl.col(PLACE).cast(pl.Int64).alias(key.name))
    return frame


def _duplicates(table: str, frame: pl.DataFrame) -> list[Refused]:
    name = TABLES[table][0].name
    if name not in frame.columns:
        return []
    key = frame[name]
    if key.dtype.is_nested() or (key.is_sorted() and (key.shift() != key).all()):
        return []
    doubled = key.is_duplicated() & key.is_not_null()
    if not doubled.any():
        return []
    ids = key.filter(doubled).unique(maintain_order=True)
    ids = ids.cast(pl.Int64, strict=False) if ids.dtype.is_float() else ids
    problem = f"{name} is not unique ({counted(len(ids), 'id')} in several rows)"
    error = DuplicateIdError(table, problem, name, ids, "make the ids unique")
    n_rows = int(doubled.sum())
    return [Refused("duplicate_id", error, n_rows, first_few(ids), n_rows - len(ids))]


def _refused(frame: pl.DataFrame, error: RowError) -> pl.Series:
    """Flags of the rows that an error names."""
    if error.key == "row":
        return pl.int_range(1, frame.height + 1, eager=True).is_in(pl.Series(error.rows).implode())
    ids = pl.Series(error.rows)
    return frame[error.key].cast(ids.dtype).is_in(ids.implode())


def _without(table: str, frame: pl.DataFrame, refused: pl.Series, *, is_double: bool) -> pl.DataFrame:
    """The frame without what is refused of it: later rows of an id, or attributes of images and categories, or rows.

    Other tables refer to images and categories, which stay for that as long as their ids are right.
    """
    key = TABLES[table][0].name
    if is_double:
        return frame.unique(key, keep="first", maintain_order=True)
    others = pl.exclude(key, PLACE)
    if table in ("images", "categories") and frame.filter(refused).select(others.count()).sum_horizontal().sum():
        return frame.with_columns(pl.when(~refused).then(others).name.keep())
    return frame.filter(~refused)
