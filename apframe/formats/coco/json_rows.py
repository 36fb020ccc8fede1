"""Rows of JSON objects with the fields of COCO, as columns."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from itertools import chain, compress
from operator import itemgetter
from typing import Any

import polars as pl

from apframe.exceptions import ColumnError
from apframe.paths import is_utf8
from apframe.rows import row_numbers
from apframe.tables.box_formats import split_boxes
from apframe.tables.column_sources import OTHER_LIBRARIES, kind_of, refuse_other_keys
from apframe.tables.schemas import TABLES
from apframe.tables.shapes.declarations import OTHERS, ULTRALYTICS
from apframe.tables.types import AS_TEXT, BEYOND, LIST_REMEDIES
from apframe.validation import Report, Sieve, validating

# Kinds of fields: an id, a number, a text, a box, several numbers or ids, or any JSON. Beside COCO's own fields there are lists
# of categories from LVIS, and shapes that COCO does not have.
_KINDS: dict[Any, str] = {
    None: "json", pl.Float64: "number", pl.Int64: "number", pl.String: "text", pl.List(pl.Float64): "numbers",
}  # fmt: skip
SHAPES = {
    name: _KINDS[column.dtype]
    for shape in OTHERS
    for name, column in zip((shape.json_field, *(column.name for column in shape.columns[1:])), shape.columns, strict=True)
}
FIELDS = {
    "images": {
        "id": "id", "width": "number", "height": "number", "file_name": "text", "pos_category_ids": "ids",
        "neg_category_ids": "ids", "not_exhaustive_category_ids": "ids", "label_map": "text",
    },
    "categories": {"id": "id", "name": "text", "supercategory": "text", "parent_ids": "ids"},
    "annotations": {
        "id": "id", "image_id": "id", "category_id": "id", "bbox": "box", "area": "number", "iscrowd": "number",
        "ignore": "number", "num_keypoints": "number", **SHAPES,
    },
    "detections": {"image_id": "id", "category_id": "id", "score": "number", "bbox": "box", **SHAPES},
}  # fmt: skip
OPTIONAL = {
    "ignore", "iscrowd", "num_keypoints", "pos_category_ids", "neg_category_ids", "not_exhaustive_category_ids", "parent_ids",
    "label_map", *SHAPES,
}  # fmt: skip
# COCO's names of canonical columns, where they differ
_SHAPE_NAMES = {shape.json_field: shape.column for shape in OTHERS if shape.json_field != shape.column}
FIELD_NAMES = {
    "images": {"id": "image_id", "width": "image_width", "height": "image_height"},
    "categories": {"id": "category_id"},
    "annotations": {"id": "annotation_id", "iscrowd": "is_crowd", **_SHAPE_NAMES},
    "detections": _SHAPE_NAMES,
}
_LONGEST_NAME = 10_000  # characters of a field name; parsers of SQL and of tables read names many times
CLASH = "_attribute"  # appended to the name of a field if another canonical column has the name


def frame_of_rows(table: str, rows: list[Any], *, attributes_only: bool = False) -> tuple[pl.DataFrame, set[str]]:
    """Return rows of JSON objects as columns, and the names of columns that are JSON text, because they have no single type.

    Rows with values of other types are rejected, see `Sieve`. With `attributes_only`, columns that `scan` reads are left out,
    and the number of rows does not change: rejected rows are an error.
    """
    with validating(Report(raises=True) if attributes_only else None):
        sieve = _Rows(table, rows)
        no_objects = [not isinstance(row, dict) for row in rows]
        sieve.refuse_each(no_objects, "the row is not a JSON object", _reader_hint(table, rows), lost=True)
        try:
            columns, as_json = _columns(sieve, attributes_only)
            frame = pl.DataFrame(columns)
        except UnicodeEncodeError:
            halves = [not is_utf8(json.dumps(row, ensure_ascii=False, default=str)) for row in sieve.rows]
            sieve.refuse_each(halves, "a name or a text has half of a character (a lone surrogate)", lost=True)
            columns, as_json = _columns(sieve, attributes_only)
            frame = pl.DataFrame(columns)
        frame = sieve.sound(frame)
    empty = [name for name in OPTIONAL if name in frame.columns and not frame[name].count()]
    return frame.drop(empty) if empty else frame, as_json


class _Rows(Sieve):
    """Rows of JSON objects; rejected rows become empty, so that columns do not use them."""

    def __init__(self, table: str, rows: list[Any]) -> None:
        super().__init__(table, pl.DataFrame())
        self.rows, self.key = rows, "id"

    def refuse_each(self, wrong: list[bool], problem: str, hint: str = "", *, lost: bool = False) -> None:
        """Report rows by a list of flags; rows that are `lost` keep no values."""
        if not any(wrong):
            return
        self.refuse(pl.Series(wrong), problem, f"correct these rows; {hint}" if hint else "correct these rows", of_key=lost)
        if lost:
            self.rows = [{} if is_wrong else row for row, is_wrong in zip(self.rows, wrong, strict=True)]

    def rows_of(self, broken: pl.Series) -> tuple[str, list[Any]]:
        """Return the ids of rows, or their positions if some have no id."""
        ids = [row.get("id") if isinstance(row, dict) else None for row in compress(self.rows, broken)]
        if self.table == "detections" or not all(isinstance(each, (int, str)) for each in ids):
            return "row", row_numbers(broken)
        return TABLES[self.table][0].name, ids


def _columns(sieve: _Rows, attributes_only: bool) -> tuple[dict[str, pl.Series], set[str]]:
    """Return the columns of `frame_of_rows`, and the names of those that are JSON text."""
    table, rows = sieve.table, sieve.rows
    columns: dict[str, pl.Series] = {}
    as_json = set()
    there = dict.fromkeys(chain.from_iterable(rows))
    fields = fields_of_results(next(filter(None, rows), {})) if table == "detections" else FIELDS[table]
    names = dict.fromkeys(chain(fields, there))
    refuse_other_keys(table, names)
    refuse_long_names(table, names)
    all_have_all = set(map(len, rows)) == {len(there)}
    for name in names:
        kind = fields.get(name)
        if (attributes_only and kind not in (None, "json")) or (name in OPTIONAL and name not in there):
            continue
        values = list(map(itemgetter(name), rows)) if all_have_all and name in there else [row.get(name) for row in rows]
        types = set(map(type, values)) - {type(None)}
        if kind != "json" and any(hasattr(each, "tolist") for each in types):
            values = list(map(_as_python, values))
            types = set(map(type, values)) - {type(None)}
        if kind in ("id", "ids", "number", "box", "numbers"):
            columns[name] = _field_column(sieve, name, kind, values)
        elif kind == "text":
            columns[name] = pl.Series([None if v is None else str(v) for v in values], dtype=pl.String)
        elif kind is None and types <= {int, float} and all(v is None or abs(v) < 2**63 for v in values):
            columns[name] = pl.Series(values, dtype=(pl.Float64 if float in types else pl.Int64) if types else pl.Null)
        elif kind is None and types in ({bool}, {str}):
            columns[name] = pl.Series(values)
        elif kind is None and types == {list} and _are_texts(values):
            columns[name] = pl.Series(values, dtype=pl.List(pl.String))
        else:
            separators = (",", ":") if kind == "json" else None  # without spaces, as in DuckDB
            texts = [None if v is None else json.dumps(v, default=_plain, separators=separators) for v in values]
            columns[name] = pl.Series(texts, dtype=pl.String)
            if kind is None:
                as_json.add(name)
    return columns, as_json


def _are_texts(lists: list[list[Any] | None]) -> bool:
    return all(isinstance(item, str) for each in lists if each for item in each)


def refuse_long_names(table: str, names: Iterable[str]) -> None:
    """Raise an error if the name of a field is longer than 10,000 characters.

    >>> refuse_long_names("images", ["id", "x" * 20_000])
    Traceback (most recent call last):
    apframe.exceptions.ColumnError: images: the name of a field has 20,000 characters; at most 10,000 are read; shorten it
    """
    longest = max(map(len, map(str, names)), default=0)
    if longest > _LONGEST_NAME:
        most = f"at most {_LONGEST_NAME:,} are read"
        raise ColumnError(f"the name of a field has {longest:,} characters; {most}", "shorten it", table=table)


def lacks_box(first: dict[str, Any]) -> bool:
    """Return True if the first result has another shape and no box: then all boxes are computed from this shape."""
    others = (*(shape.json_field for shape in OTHERS), *ULTRALYTICS)
    return not _as_python(first.get("bbox")) and any(name in first for name in others)


def fields_of_results(first: dict[str, Any]) -> dict[str, str]:
    """Return the fields of results with this first row, and their kinds: `FIELDS`, and rotated boxes of Ultralytics.

    >>> fields_of_results({"poly": [0, 0, 9, 0, 9, 9, 0, 9]})["poly"], "poly" in fields_of_results({"bbox": [0, 0, 9, 9]})
    ('numbers', False)
    """
    is_rotated = not _as_python(first.get("bbox"))
    return FIELDS["detections"] | {name: "numbers" for name in ULTRALYTICS if is_rotated and name in first}


def _as_python(value: Any) -> Any:
    """Convert a NumPy value or a tensor of any library, also in lists, to numbers and lists of Python."""
    if hasattr(value, "tolist"):
        return value.tolist()
    return list(map(_as_python, value)) if isinstance(value, (list, tuple)) else value


def _reader_hint(table: str, rows: list[Any]) -> str:
    """Name the reader for the first row that is not a dict, if it comes from another library."""
    first = next((row for row in rows if not isinstance(row, dict)), None)
    if table != "detections" or first is None or isinstance(first, (str, int, float, list)):
        return ""
    return f"{kind_of(first)} is not a dict; {OTHER_LIBRARIES}"


def _plain(value: Any) -> Any:
    """Convert values that JSON cannot hold, such as bytes of pycocotools' run lengths, and arrays."""
    if isinstance(value, bytes):
        return value.decode("ascii")
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{kind_of(value)} cannot be kept as JSON")


def _field_column(sieve: _Rows, name: str, kind: str, values: list[Any]) -> pl.Series:
    """Return a field that COCO defines as a column of its type; rows with other types are rejected, with nulls."""
    number = (int, float)

    def refuse(wrong: list[bool], problem: str, hint: str = "") -> list[Any]:
        sieve.refuse_each(wrong, f"{name} {problem}", hint, lost=kind == "id" and name == "id")
        return [None if is_wrong else value for value, is_wrong in zip(values, wrong, strict=True)] if any(wrong) else values

    if kind == "id" and set(map(type, values)) == {int} and max(map(abs, values)) < 2**63:
        return pl.Series(name, values, pl.Int64)
    if kind == "id":
        of_first = (str,) if isinstance(next((v for v in values if v is not None), None), str) else number
        wrong = [v is not None and (not isinstance(v, of_first) or isinstance(v, bool)) for v in values]
        values = refuse(wrong, f"is not {'a string, as in the first row' if of_first == (str,) else 'a number'}")
        if of_first == number:
            values = refuse([v is not None and abs(v) >= 2**63 for v in values], BEYOND, AS_TEXT)
        types = set(map(type, values)) - {type(None)}
        return pl.Series(name, values, pl.Float64 if float in types else pl.String if str in types else pl.Int64)
    if kind == "ids":
        values = values if all(v is None or _are_ids(v) for v in values) else list(map(_as_python, values))
        values = refuse([v is not None and not _are_ids(v) for v in values], "is not a list of ids")
        is_text = any(isinstance(n, str) for v in values if v for n in v)
        return pl.Series(name, values, pl.List(pl.String if is_text else pl.Float64), strict=False)
    if kind == "number":
        if not set(map(type, values)) <= {int, float, type(None)}:
            values = refuse([v is not None and not isinstance(v, number) for v in values], "is not a number")
        return pl.Series(name, values, pl.Float64)
    is_list = _are_numbers(values)
    if not all(is_list):
        values = list(map(_as_python, values))
        is_list = _are_numbers(values)
    values = refuse([not ok for ok in is_list], "is not a list of numbers", LIST_REMEDIES.get(name, ""))
    return pl.Series(name, values, pl.List(pl.Float64))


def _are_numbers(values: list[Any]) -> list[bool]:
    """Flag the values that are None or a list of numbers; missing numbers in lists are detected later."""
    number = (int, float, type(None))
    return [v is None or (isinstance(v, (list, tuple)) and all(isinstance(n, number) for n in v)) for v in values]


def _are_ids(value: Any) -> bool:
    types = {type(item) for item in value} if isinstance(value, list) else {list}
    return types <= {str} or types <= {int, float, type(None)}


def canonical_names(table: str, frame: pl.DataFrame) -> pl.DataFrame:
    """Return the columns of COCO with canonical names, and the box as four columns."""
    canonical_columns = {column.name for column in TABLES[table]}
    names = FIELD_NAMES[table]
    clashes = {name for name in frame.columns if name in canonical_columns and name not in FIELDS[table]}
    frame = frame.rename({name: name + CLASH for name in clashes} | {k: v for k, v in names.items() if k in frame.columns})
    has_shape = bool({"mask", *SHAPES} & set(frame.columns))
    if "bbox" in frame.columns and not frame["bbox"].count() and (has_shape or frame.height):
        return frame.drop("bbox")  # the boxes will be computed from the other shape, or an error lists the columns
    return split_boxes(table, frame) if "bbox" in frame.columns else frame


def fields_of(table: str) -> dict[str, str]:
    """Return COCO's names of the canonical columns of a table, where they differ, except the box.

    >>> fields_of("categories")
    {'category_id': 'id'}
    """
    return {ours: theirs for theirs, ours in FIELD_NAMES[table].items()}


def has_scores(annotations: Any) -> bool:
    """Return True for results: a list of objects, some of which have a score.

    >>> has_scores([{"id": 1}, {"id": 2, "score": 0.5}])
    True
    """
    return isinstance(annotations, list) and any(isinstance(row, Mapping) and "score" in row for row in annotations)
