"""Lists of annotations and of detections in COCO JSON, read by a compiled parser with declared types."""

from __future__ import annotations

import atexit
import json
import os
import re
import tempfile
from functools import cache
from io import SEEK_END, BytesIO
from pathlib import Path
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any, BinaryIO

import polars as pl

from apframe.exceptions import FormatError
from apframe.formats.coco.json_rows import (
    FIELDS,
    OPTIONAL,
    SHAPES,
    canonical_names,
    fields_of_results,
    lacks_box,
    refuse_long_names,
)
from apframe.formats.coco.split_points import next_cut
from apframe.formats.documents import parse_json
from apframe.formats.hidden_folders import new_folder
from apframe.paths import duckdb_literal
from apframe.tables.column_sources import from_arrow_stream
from apframe.tables.schemas import TABLES
from apframe.threads import pool

if TYPE_CHECKING:
    import duckdb

# Names of `ignore` and `iscrowd` in other data sets: attributes that are read immediately.
FLAGS = {alias: "number" for column in TABLES["annotations"] for alias in column.aliases if alias != "iscrowd"}
# Ids are read as doubles, so that fractions are detected instead of rounded; from this number on, doubles lose digits.
_LARGEST_ID = 2.0**53
_DUCKDB = {
    "id": "DOUBLE", "float": "DOUBLE", "number": "DOUBLE", "text": "VARCHAR", "box": "DOUBLE[4]", "numbers": "DOUBLE[]",
    "json": "JSON", "flag": "JSON", "literal": "JSON", "rle": "STRUCT(size DOUBLE[], counts VARCHAR)",
}  # fmt: skip
_HEAD = 1 << 16  # bytes in which the first row, or a place to cut, is searched for first
_PIECE = 1 << 20  # bytes that are copied at once
_OPENING = Lock()
SHORT = 1 << 20
"""Bytes of a list up to which DuckDB, which reads with several threads, is not worth starting."""
_LARGE = 1 << 24  # bytes of a list from which releasing the memory for reading is worthwhile
NOWHERE = Path("a part of a file")  # for errors that are not shown
_CUT = ["\0 the annotations were cut out here"]  # occurs in no file
ATTRIBUTES: dict[type, str] = {int: "id", float: "float", str: "text", bool: "flag"}


def scan_truth(text: bytes, *, masks: bool) -> tuple[dict[str, Any], pl.DataFrame, slice] | None:
    """Return parsed ground truth without annotations, the defined fields of annotations, and the place of their list.

    None if only `parse_json` and `frame_of_rows` can read or explain it.
    """
    place = _place_of_annotations(text)
    if place is None:
        return None
    with pool() as others:
        scanning = others.submit(_scan_annotations, text, place, masks=masks)
        rest = _without_annotations(text, place)
        annotations = scanning.result()
    return None if rest is None or annotations is None else (rest, annotations, place)


def _place_of_annotations(text: bytes) -> slice | None:
    """Return the place of the list of annotations in ground truth; None if it is not found.

    The list is nearly the whole file, and the fast reader only accepts a list of objects. Its end is guessed from the next
    section; the guess is right if the rest can be parsed and the reader accepts the list.
    """
    opening = re.search(rb'"annotations"\s*:\s*\[', text)
    if opening is None:
        return None
    begin = opening.end() - 1
    tail = max(begin, len(text) - (1 << 20))
    after = [text.find(name, begin) for name in (b'"images"', b'"categories"') if text.find(name, 0, begin) < 0]
    after += [text.find(name, tail) for name in (b'"info"', b'"licenses"')]
    end = text.rfind(b"]", begin, min((place for place in after if place > 0), default=len(text))) + 1
    return slice(begin, end)


def _without_annotations(text: bytes, place: slice) -> dict[str, Any] | None:
    """Parse ground truth with an empty list in place of the annotations; return None if the place is wrong."""
    try:
        rest = parse_json(NOWHERE, text[: place.start] + json.dumps(_CUT).encode() + text[place.stop :])
    except FormatError:
        return None
    if not isinstance(rest, dict) or rest.get("annotations") != _CUT:
        return None
    return rest | {"annotations": []}


def _scan_annotations(text: bytes, place: slice, *, masks: bool) -> pl.DataFrame | None:
    """Return the defined fields of the list of annotations at a place."""
    file = BytesIO(text)
    try:
        file.seek(place.start)
        first = first_row(NOWHERE, file)
    except FormatError:
        return None
    masks = masks or "bbox" not in first  # boxes are then computed from masks
    kinds = {name: kind for name, kind in (FIELDS["annotations"] | FLAGS).items() if masks or kind != "json"}
    frame = scan_list(file, place, kinds, first)
    if frame is None:
        return None
    empty = [name for name in OPTIONAL | FLAGS.keys() if name in frame.columns and not frame[name].count()]
    if not frame["bbox"].count() and SHAPES.keys() <= set(empty):
        return None
    return canonical_names("annotations", frame.drop(empty))


def scan_results(path: Path, file: BinaryIO) -> pl.DataFrame | None:
    """Return results, which are the whole file, with the columns of their first row.

    None if only `parse_json` and `frame_of_rows` can read or explain them.

    Raises
    ------
    FormatError
        there is no first row, or it is not a JSON object
    """
    file.seek(0)
    first = first_row(path, file)
    return scan_rows(file, slice(0, file.seek(0, SEEK_END)), first, kinds_of_results(first))


def kinds_of_results(first: dict[str, Any]) -> dict[str, str]:
    """Return the kinds of columns of results with this first row; "" for columns that only the thorough reader can read."""
    refuse_long_names("detections", first)
    fields = fields_of_results(first)
    kinds = {name: kind for name, kind in fields.items() if name not in OPTIONAL}
    kinds |= {name: fields.get(name) or ATTRIBUTES.get(type(value), "") for name, value in first.items()}
    kinds.pop("area", None)
    if lacks_box(first):
        del kinds["bbox"]
    mask = first.get("segmentation")
    if isinstance(mask, dict) and set(mask) == {"size", "counts"} and isinstance(mask["counts"], str):
        kinds["segmentation"] = "rle"
    return kinds


def scan_rows(
    file: BinaryIO, place: slice, first: dict[str, Any], kinds: dict[str, str], *, is_bare: bool = False
) -> pl.DataFrame | None:
    """Return the rows of a list of results with these columns; None if only the thorough reader can read them."""
    frame = None if "" in kinds.values() else scan_list(file, place, kinds, first, is_bare=is_bare)
    if frame is not None and kinds.get("segmentation") == "rle":
        frame = _with_whole_sizes(frame)
    frame = None if frame is None else with_values(frame, kinds)
    if frame is None:
        return None
    whole = [name for name, kind in kinds.items() if kind == "id" and name not in FIELDS["detections"]]
    whole = [name for name in whole if frame[name].dtype.is_float() and (frame[name] == frame[name].floor()).all()]
    return canonical_names("detections", frame.with_columns(pl.col(whole).cast(pl.Int64)) if whole else frame)


def with_values(frame: pl.DataFrame, kinds: dict[str, str]) -> pl.DataFrame | None:
    """Convert flags and numbers that were read as JSON; return None if there are other values among them."""
    columns = {}
    for name in (name for name, kind in kinds.items() if kind in ("flag", "literal")):
        texts = frame[name].alias("texts")  # Polars would take a name such as ^a$ for a pattern
        texts = texts.set(texts == "null", None)
        if kinds[name] == "flag":
            is_right, values = texts.is_in(["true", "false"]), texts == "true"
        else:
            is_whole = texts.str.contains("^-?[0-9]+$").all()
            values = texts.cast(pl.Int64 if is_whole else pl.Float64, strict=False)
            is_right = values.is_not_nan() & values.is_finite() & values.is_not_null()
        if not (is_right | texts.is_null()).all():
            return None
        columns[name] = values
    return frame.with_columns(**columns) if columns else frame


def _with_whole_sizes(frame: pl.DataFrame) -> pl.DataFrame | None:
    """Convert the sizes of masks to whole numbers; return None if they are not whole."""
    size, counts = (pl.col("segmentation").struct.field(name) for name in ("size", "counts"))
    numbers = frame.select(size.explode(empty_as_null=False)).to_series()
    if not (numbers == numbers.floor()).all():
        return None
    mask = pl.struct(size.cast(pl.List(pl.Int64)), counts)
    return frame.with_columns(segmentation=pl.when(pl.col("segmentation").is_not_null()).then(mask))


def scan_list(
    file: BinaryIO, place: slice, kinds: dict[str, str], first: dict[str, Any], *, is_bare: bool = False
) -> pl.DataFrame | None:
    """Read a JSON list of objects as columns; return None if this fails, or would read something wrongly.

    With `is_bare`, the place has the objects of a list without its brackets.

    DuckDB accepts numbers written as text as numbers, and numbers as text. So the types of the first row decide: text ids make
    a text column, and a value of another type sends the whole list to the thorough reader.
    """
    if "" in kinds or any("\0" in name for name in kinds):  # DuckDB gives another name, or cuts it off there
        return None
    is_text = {name for name, value in first.items() if isinstance(value, str)}
    tail = file.seek(max(place.start, place.stop - 4096))
    is_whole = is_bare or file.read(place.stop - tail).rstrip().endswith(b"]")
    if not is_whole or any(kinds.get(name) == "number" for name in is_text):
        return None
    kinds = {name: "text" if kind == "id" and name in is_text else kind for name, kind in kinds.items()}
    if place.stop - place.start <= SHORT:
        from apframe.formats.coco.decoded import decode_list

        file.seek(place.start)
        text = file.read(place.stop - place.start)
        frame = decode_list(b"[" + text + b"]" if is_bare else text, kinds, first)
    else:
        frame = _by_database(file, place, kinds, first, is_bare=is_bare)
    if frame is None or any(_loses_digits(frame[name]) for name, kind in kinds.items() if kind == "id"):
        return None
    return frame


def _by_database(
    file: BinaryIO, place: slice, kinds: dict[str, str], first: dict[str, Any], *, is_bare: bool
) -> pl.DataFrame | None:
    """Read a long list with DuckDB, see `scan_list`."""
    import duckdb  # reading long lists needs it, `import apframe` does not

    types = {name: _DUCKDB[kind] for name, kind in kinds.items()}
    try:
        with new_folder(Path(tempfile.gettempdir()) / "apframe-json") as folder, pool() as others:
            parts = _write_parts(file, place, folder, is_bare=is_bare)
            usual = {name: kind for name, kind in kinds.items() if kind != "text" or name in first}
            checking = others.submit(_have_other_types, parts, usual)
            paths: Any = [duckdb_literal(part) for part in parts]  # not in the type hints of DuckDB 2.0.0
            reader = json_database().cursor().read_json(paths, format="array", columns=types, hive_partitioning=False)
            frame = from_arrow_stream(reader)
            del reader
            if place.stop - place.start > _LARGE:
                Thread(target=_end_threads).start()  # in parallel to the next steps
            rare = {name: kind for name, kind in kinds.items() if name not in usual and frame[name].count()}
            if checking.result() or (rare and _have_other_types(parts, rare)):
                return None
    # PolarsError is raised for errors of DuckDB while its rows are fetched, OSError if the temporary folder is full
    except (duckdb.Error, pl.exceptions.PolarsError, OSError):
        return None
    return frame


def _have_other_types(parts: list[Path], kinds: dict[str, str]) -> bool:
    """Return True if DuckDB cast values that have another type than their fields."""
    from apframe.formats.coco.json_types import has_other_types  # brings in NumPy

    numbers = {name for name, kind in kinds.items() if kind in ("id", "float", "number", "box", "numbers")}
    texts = {name for name, kind in kinds.items() if kind == "text"}
    if "rle" in kinds.values():
        numbers, texts = numbers | {"size"}, texts | {"counts"}
    ids = {name for name in numbers if kinds.get(name) != "number"}  # these are never true or false
    for part in parts:
        with part.open("rb") as file:
            if has_other_types(file, numbers=numbers, ids=ids, texts=texts):
                return True
    return False


def json_database() -> duckdb.DuckDBPyConnection:
    """Return a connection of the one database for all reading: opening one takes longer than reading a small file."""
    with _OPENING:  # ground truth and results are read in parallel
        return _database()


@cache
def _database() -> duckdb.DuckDBPyConnection:
    import duckdb

    connection = duckdb.connect()
    atexit.register(_database.cache_clear)  # otherwise DuckDB would complain about a leak at the end of the interpreter
    atexit.register(connection.close)
    return connection


def _end_threads() -> None:
    """Restart the threads of DuckDB, as they only release their memory when they end."""
    cursor = json_database().cursor()
    try:
        cursor.execute("SET threads = 1")
    finally:
        cursor.execute("RESET threads")


def _write_parts(file: BinaryIO, place: slice, folder: Path, *, is_bare: bool) -> list[Path]:
    """Write the list as several files, one for each processor, as DuckDB only uses one thread for a file.

    The list is cut between two objects. A wrong cut, inside a nested object, leaves parts that are not JSON, which the reader
    rejects.
    """
    size = place.stop - place.start
    n_parts = max(1, min(os.cpu_count() or 1, size >> 20))
    cuts = [next_cut(file, place.start + size * part // n_parts, place.stop) for part in range(1, n_parts)]
    ends = [end for end, _ in cuts if end < place.stop] + [place.stop]
    begins = [place.start] + [begin for end, begin in cuts if end < place.stop]
    paths = [folder / f"{number}.json" for number in range(len(ends))]
    for path, begin, end in zip(paths, begins, ends, strict=True):
        file.seek(begin)
        with path.open("wb") as part:
            part.write(b"[" if is_bare or begin > place.start else b"")
            for at in range(begin, end, _PIECE):
                part.write(file.read(min(_PIECE, end - at)))
            part.write(b"]" if is_bare or end < place.stop else b"")
    return paths


def first_row(path: Path, file: BinaryIO) -> dict[str, Any]:
    """Return the first row of a list of objects at the current position of the file; {} for an empty list."""
    begin, size = file.tell(), _HEAD
    while True:
        file.seek(begin)
        text = file.read(size)
        head = text.decode("utf-8", "replace").lstrip("\ufeff \t\r\n")
        if not head:
            raise FormatError("the file is empty; results are a JSON list, [] when nothing was found", path=path)
        if head.startswith("{"):
            raise FormatError("holds an object, not a list of results", "is it ground truth?", path=path)
        if not head.startswith("["):
            raise FormatError(f"not a JSON list of results; it begins with {head[:20]!r}", path=path)
        body = head[1:].lstrip()
        if body.startswith("]"):
            return {}
        try:
            first, _ = json.JSONDecoder().raw_decode(body)
        except (ValueError, RecursionError):
            if len(text) == size:
                size *= 16
                continue
            first = parse_json(path, text)[0]  # raises an error that explains the problem
        if not isinstance(first, dict):
            raise FormatError(f"the list begins with {first!r}, not an object with image_id, bbox and score", path=path)
        return first


def _loses_digits(ids: pl.Series) -> bool:
    ends: list[Any] = [ids.min(), ids.max()] if ids.dtype.is_float() else []
    return any(end is not None and abs(end) >= _LARGEST_ID for end in ends)
