"""Canonical tables from any source of columns: names, types, defaults, and checks of every row."""

from __future__ import annotations

import difflib
import math
from typing import Any

import polars as pl

from apframe.columns import Column
from apframe.exceptions import ColumnError, DuplicateIdError
from apframe.rows import KEY_OF, PLACE, row_numbers
from apframe.tables.box_formats import as_xywh
from apframe.tables.column_sources import to_polars
from apframe.tables.schemas import OUTSIDE, TABLES
from apframe.tables.shapes.boxes import BOX
from apframe.tables.shapes.declarations import OTHERS, SHAPES, shape_of
from apframe.tables.types import as_column
from apframe.validation import Sieve, validating, without_places
from apframe.wording import counted, listed, option_name

_READERS = {"annotations": "read_coco", "detections": "read_coco_results"}
# other names for the columns of shapes, and how to convert them
_OTHER_NAMES = {name: ours for shape in SHAPES for ours, names in shape.other_names.items() for name in names}
_NEEDS = [shape.needs for shape in OTHERS]
_NOT_NEGATIVE = ("width", "height", "area")
# other names for the other columns, in lower case; they are only suggested, because they may mean something else
_ELSEWHERE = {
    "score": ("scores", "confidence", "conf", "probability", "prob", "detection_scores"),
    "category_id": (
        "class_id",
        "cls_id",
        "label_id",
        "label",
        "labels",
        "class",
        "cls",
        "category",
        "class_name",
        "category_name",
    ),
    "image_id": ("image", "img_id", "imageid", "img", "image_name"),
}


def canonical(table: str, source: Any) -> pl.DataFrame:
    """Return any source of columns as the named canonical table, with names, dtypes, defaults and values checked.

    Missing optional columns are added: ids are numbered from 1, `area` is the area of the box, `is_crowd` is false, the others
    are null. A detection's `area` is the area of its box, unless the frame has both another shape and an area. Attributes keep
    their dtypes and follow the canonical columns.

    Rows with faults are errors, or are left out if there is a current report: see `apframe.validation.validating`.
    """
    with validating():
        return without_places(checked(table, source))


def checked(table: str, source: Any) -> pl.DataFrame:
    """Return the table of `canonical`, with the column `PLACE` if rows were left out; requires a current report.

    >>> with validating():
    ...     checked("images", {"image_id": [7]})["image_id"].item()
    7
    """
    columns = TABLES[table]
    frame = to_polars(source, table)
    with validating() as report:
        report.count(table, frame)
    frame = _without_aliases(frame, columns)
    if any(c.name == "x" for c in columns):
        frame = as_xywh(table, frame)
        for shape in OTHERS:
            if any(name in frame.columns for name in shape.accepts):
                frame = shape.accept(table, frame)
    if frame.is_empty() and not frame.columns:
        frame = pl.DataFrame(schema={c.name: c.dtype for c in columns if c.required})
    has_box = not frame.columns or any(c.name in frame.columns for c in columns if c.name in BOX)
    missing = [c.name for c in columns if _is_needed(c, frame, has_box) and c.name not in frame.columns]
    if "x" in missing and "segmentation" in frame.columns:
        hint = f"rename COCO's segmentation to mask, or use {_READERS[table]}"
        raise ColumnError(f"no column {', '.join(missing)}", hint, table=table)
    if missing and "id" in frame.columns and columns[0].name in missing:
        raise ColumnError(
            f"no column {', '.join(missing)}", f"rename COCO's id to {columns[0].name}, or use read_coco", table=table
        )
    if set(BOX) & set(missing):
        raise _no_box(table, frame, missing)
    if missing:
        raise _lacking(table, frame, missing)
    sieve = Sieve(table, frame)
    own_names = frame.columns
    cast = {c.name: as_column(sieve, c) for c in columns if c.name in own_names}
    nulls = {c.name: pl.lit(None, c.dtype) for c in columns if c.unless and c.name not in own_names}
    defaults = _defaults(table, frame)
    ordered = [c.name for c in columns if c.name in {*own_names, *nulls, *defaults}]
    plan = frame.lazy().with_columns(**cast, **nulls).with_columns(**defaults).select(*ordered, pl.exclude(ordered))
    sieve.frame = frame = plan.collect()
    _check_values(sieve, own_names)
    return sieve.sound(frame)


def _lacking(table: str, frame: pl.DataFrame, missing: list[str]) -> ColumnError:
    """Return the error about missing columns, with a guess of the columns that may be meant."""
    hints = {other: name for name in missing if (other := _other_name(name, frame)) is not None}
    renamed = ", ".join(f"{other!r} to {name}" for other, name in hints.items())
    hint = f" (did you mean to rename {renamed}?)" if renamed else ""
    texts = [other for other, name in hints.items() if name == "category_id" and frame.schema[other] == pl.String]
    if texts and table == "detections":
        hint = f" (did you mean to rename {texts[0]!r} to name, with {option_name('join_by_name', 'categories')}?)"
    return ColumnError(f"no column {', '.join(missing)}{hint}", f"there are {_names_of(frame)}", table=table)


def _other_name(name: str, frame: pl.DataFrame) -> str | None:
    """Return the column that may be a canonical column under another name."""
    lower = {column.lower(): column for column in frame.columns if column != name}
    candidates = [lower[each] for each in _ELSEWHERE.get(name, ()) if each in lower]
    return next(iter(candidates or difflib.get_close_matches(name, lower.values(), 1)), None)


def _without_aliases(frame: pl.DataFrame, columns: tuple[Column, ...]) -> pl.DataFrame:
    """Rename columns with an alias to their own names, unless the frame has these already."""
    for column in columns:
        aliases = [name for name in column.aliases if name in frame.columns]
        if column.dtype == pl.Boolean:
            aliases = [name for name in aliases if _is_flag(frame.schema[name])]
        if aliases and column.name not in frame.columns:
            frame = frame.rename({aliases[0]: column.name})
    return frame


def _is_flag(dtype: pl.DataType) -> bool:
    return dtype.is_numeric() or dtype == pl.Boolean


def _no_box(table: str, frame: pl.DataFrame, missing: list[str]) -> ColumnError:
    """Return the error that there is neither a box nor a shape, with the columns that may be meant."""
    near = {name: _OTHER_NAMES[name.lower()].format(name) for name in frame.columns if name.lower() in _OTHER_NAMES}
    for name in missing:
        near |= {match: f"{name}: {match}" for match in difflib.get_close_matches(name, frame.columns, 1) if match not in near}
    hints = ", ".join(hint for hint in near.values() if hint.split(":")[0] not in frame.columns)
    *shapes, last = (" and ".join(needs) if len(needs) < 3 else f"{needs[0]} to {needs[-1]}" for needs in _NEEDS)
    return ColumnError(
        f"no column {', '.join(missing)}",
        f"a box ({', '.join(BOX)}) or a shape ({', '.join(shapes)}, or {last}) "
        f"is needed{f' (did you mean {hints}?)' if hints else ''}; "
        f"there are {_names_of(frame)}",
        table=table,
    )


def _names_of(frame: pl.DataFrame) -> str:
    return ", ".join(name for name in frame.columns if name != PLACE) or "none"


def _is_needed(column: Column, frame: pl.DataFrame, has_box: bool) -> bool:
    return column.required and (has_box or not set(column.unless) & set(frame.columns))


def _defaults(table: str, frame: pl.DataFrame) -> dict[str, pl.Expr]:
    box_area = pl.col("width") * pl.col("height")
    defaults = {}
    for column in TABLES[table]:
        name, exists = column.name, column.name in frame.columns
        if name == "area":
            # a detection's area is that of its box, unless the box was made from another shape
            is_own = exists and (table == "annotations" or shape_of(frame) is not None)
            defaults[name] = pl.col("area").fill_null(box_area) if is_own else box_area
        elif name == "is_crowd" or (name in ("ignore", OUTSIDE) and exists):
            defaults[name] = pl.col(name).fill_null(False) if exists else pl.lit(False)
        elif not exists and column.is_id and column.standard:
            number = pl.col(PLACE) if PLACE in frame.columns else pl.int_range(1, pl.len() + 1)
            defaults[name] = number.cast(pl.Int64)
        elif not exists and column.standard:
            defaults[name] = pl.lit(None, dtype=column.dtype)
    return defaults


def _check_values(sieve: Sieve, own_names: list[str]) -> None:
    table, frame, key = sieve.table, sieve.frame, KEY_OF.get(sieve.table)
    has_box = any(frame[c.name].count() for c in TABLES[table] if c.name in BOX)
    for column in (c for c in TABLES[table] if _is_needed(c, frame, has_box) or (c.is_id and c.standard)):
        if not frame[column.name].null_count():
            continue
        is_null = frame[column.name].is_null()
        if is_null.all() and column.name in _ELSEWHERE and _other_name(column.name, frame):
            raise _lacking(table, frame.drop(column.name), [column.name])
        remedy = "supply it or remove these rows"
        if column.name == "image_id" and table == "detections" and "file_name" in frame.columns:
            remedy = f"supply it, or join the images by file_name: {option_name('join_by_name', 'images')}"
        sieve.refuse(is_null, f"{column.name} is missing", remedy, of_key=column.name == key)
    for column in TABLES[table]:
        if column.dtype == pl.Float64 and column.name in frame.columns:
            values = frame[column.name]
            if not math.isfinite(values.sum()):  # much cheaper than a look at every value
                sieve.refuse(~values.is_finite(), f"{column.name} is not a finite number", "correct or remove them")
            if column.name in _NOT_NEGATIVE and values.count() and values.min() < 0:  # type: ignore[operator]
                remedy = f"boxes are x, y, width, height in pixels unless {option_name('box_format')} says otherwise"
                sieve.refuse_malformed(values < 0, f"{column.name} is negative", remedy)
    if key in own_names and not _all_different(frame[key]):
        _refuse_doubles(sieve, frame[key])


def _refuse_doubles(sieve: Sieve, ids: pl.Series) -> None:
    """Report ids that several rows have; the first row without another fault stays."""
    doubled = ids.is_duplicated() & ids.is_not_null()
    which = ids.filter(doubled).unique(maintain_order=True)
    problem = f"{ids.name} is not unique"
    error = DuplicateIdError(sieve.table, problem, ids.name, which, "make the ids unique")
    problem = f"{problem} ({counted(len(which), 'id')} in several rows)"
    is_free = doubled if sieve.wrong is None else doubled & ~sieve.wrong
    later = is_free & ~ids.set(~is_free, None).is_first_distinct()
    if doubled.any():
        sieve.refuse_as(later, error, problem, n_rows=int(doubled.sum()), of_key=True)


def _all_different(ids: pl.Series) -> bool:
    if ids.is_sorted():
        return bool((ids[1:] != ids[:-1]).all())
    return ids.n_unique() == len(ids)


def refuse_equal_pairs(table: str, frame: pl.DataFrame) -> None:
    """Raise an error if a query has a document twice; `canonical` does not check this, because it would take too long.

    The ids themselves are only compared if two hashes are equal.
    """
    if frame.select("query_id", "document_id").hash_rows().n_unique() < frame.height:
        ids = frame.select("query_id", "document_id")
        doubled = ids.is_duplicated()
        if doubled.any():
            which = listed(
                [f"{query} {document}" for query, document in ids.filter(doubled).unique(maintain_order=True).rows()]
            )
            problem = f"a query lists a document more than once ({which})"
            raise DuplicateIdError(table, problem, "row", row_numbers(doubled), "keep one of each")
