"""Stored sets: a folder of Parquet files, one per table, with a manifest."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import polars as pl

from apframe.columns import exact
from apframe.exceptions import FormatError, OutputError, ParameterError
from apframe.formats.files import reading_from, write_text
from apframe.formats.replacing import finish_replacing, replacing, settled_kind
from apframe.formats.stored_sets import FORMAT, MANIFEST, damage, find_manifest, manifest_at, read_table, refuse_replaced
from apframe.paths import is_file, is_folder, is_utf8, kind_at, literal, scan_parquet, to_write
from apframe.tables.schemas import TABLES
from apframe.wording import listed

SCHEMA_VERSION = 4
DETECTION, RETRIEVAL, REPORT = "detection", "retrieval", "report"
_HELD = {DETECTION: "an evaluation of detection", RETRIEVAL: "an evaluation of retrieval", REPORT: "the tables of a report"}
"""The kinds of sets, in words."""


def write_tables(folder: str | Path, tables: Mapping[str, pl.DataFrame | pl.LazyFrame], manifest: Mapping[str, Any]) -> None:
    """Write every table as `{name}.parquet`, and the manifest. The folder appears complete or not at all.

    The footer of every file identifies it even after it is copied: `apframe.table`, `apframe.schema_version`, `apframe.kind`,
    `apframe.manifest` (the manifest as JSON without the numbers of rows), and `apframe.set_id`, 32 random digits that are new
    for each write and also in the manifest, so that files of different writes can be distinguished. Lazy tables are computed
    while they are written.

    An earlier set in the same folder is replaced as a whole, see `replacing`. A folder with any other content is left alone.

    Raises
    ------
    OutputError
        the folder contains something else, is a file, or cannot be written
    """
    folder = to_write(folder)
    refuse_foreign(folder, manifest["kind"])
    with replacing(folder) as part:
        part.mkdir()
        created = datetime.now(UTC).isoformat(timespec="seconds")
        head = {"format": FORMAT, "schema_version": SCHEMA_VERSION, "created": created, "versions": _versions()}
        contents: dict[str, Any] = head | {"set_id": uuid4().hex} | dict(manifest)
        footer = {
            "apframe.set_id": contents["set_id"],
            "apframe.schema_version": str(SCHEMA_VERSION),
            "apframe.kind": contents["kind"],
            "apframe.manifest": json.dumps(contents),
        }
        heights = {
            name: _write(part / f"{name}.parquet", table, footer | {"apframe.table": name}) for name, table in tables.items()
        }
        write_text(part / MANIFEST, json.dumps(contents | {"tables": heights}, indent=2) + "\n")
        refuse_foreign(folder, contents["kind"])  # which may have appeared since


def read_manifest(folder: str | Path, kind: str | None = None, needed: Sequence[str] = ()) -> dict[str, Any]:
    """Read the manifest of a folder that `write_tables` wrote, if named of a kind ("detection", "retrieval", "report").

    Raises
    ------
    FormatError
        the folder does not exist, is a file or not a stored set, has another schema version or kind, or lacks files
    """
    folder = Path(folder)
    literal(folder)  # tables contain the names of runs, which must be UTF-8
    with reading_from(folder):
        return _read_manifest(folder, kind, needed)


def _read_manifest(folder: Path, kind: str | None, needed: Sequence[str]) -> dict[str, Any]:
    kind_there = settled_kind(folder)
    if kind_there not in (None, "folder"):
        remedy = "name the folder that was written (a DuckDB file is opened with `apframe sql`, or DuckDB itself)"
        raise FormatError("is a file", remedy, path=folder)
    if kind_there is None:
        raise FormatError("there is no such folder", path=folder)
    manifest = manifest_at(folder)
    if manifest is None:
        what = f"{folder}: not an apframe evaluation, it has no {MANIFEST} of one"
        inside = {path.parent: find_manifest(path.parent) for path in sorted(folder.glob(f"*/{MANIFEST}"))}
        runs = [str(path) for path, other in inside.items() if other is not None and other.get("kind") != REPORT]
        if runs:
            raise FormatError(what, f"name one of them, such as {', '.join(runs[:3])}; apframe.scan_runs reads them together")
        raise FormatError(what, "write one with --out or Evaluation.write_parquet")
    version = manifest.get("schema_version")
    if version != SCHEMA_VERSION:
        remedy = "update apframe" if isinstance(version, int) and version > SCHEMA_VERSION else "evaluate again"
        raise FormatError(f"has schema version {version}; this apframe reads version {SCHEMA_VERSION}", remedy, path=folder)
    if kind is not None and manifest.get("kind", kind) != kind:
        there, needed_kind = (_HELD.get(each, each) for each in (manifest["kind"], kind))
        remedy = "read its Parquet files with Polars or DuckDB" if manifest["kind"] == REPORT else ""
        raise FormatError(f"holds {there}, not {needed_kind}", remedy, path=folder)
    _refuse_lacking(folder, manifest, ["kind", "tables"])
    if problem := damage(manifest):
        raise FormatError(f"{MANIFEST} is damaged, {problem}", "evaluate again", path=folder)
    strange = [name for name in manifest["tables"] if re.fullmatch(r"\w+", name) is None]
    if strange:  # these names may be paths, such as ../../secret
        raise FormatError(f"{MANIFEST} is damaged, no table is called {listed(strange)}", "evaluate again", path=folder)
    gone = [name for name in manifest["tables"] if not is_file(folder / f"{name}.parquet")]
    if gone:
        refuse_replaced(folder, manifest.get("set_id"))
        raise FormatError(f"{', '.join(f'{name}.parquet' for name in gone)} is missing", "evaluate again", path=folder)
    _refuse_lacking(folder, manifest, needed)
    if "set_id" in manifest or not isinstance(manifest.get("protocol"), dict):
        return manifest
    from apframe.protocols.stored_before import brought_up  # for sets of 0.5.0 alone

    return manifest | {"protocol": brought_up(manifest["protocol"])}


def _refuse_lacking(folder: Path, manifest: Mapping[str, Any], needed: Sequence[str]) -> None:
    lacking = sorted(set(needed) - set(manifest))
    if lacking:
        raise FormatError(f"{MANIFEST} has no {', '.join(lacking)}", "evaluate again", path=folder)


def input_hash(name: str, table: pl.DataFrame | pl.LazyFrame) -> str:
    """Return the hash of an input table for the manifest, without its attributes, on which no number depends."""
    present = table.collect_schema()
    return content_hash(table.select(column.name for column in TABLES[name] if column.name in present))


def upgrade_evaluation(folder: str | Path) -> bool:
    """Rewrite a stored evaluation, of detections or of search runs, as this version writes it; False if it is up to date.

    Sets of 0.5.0 can also be read without this. Tables and numbers do not change, nor do the time and the versions in the
    manifest.

    Raises
    ------
    FormatError
        the folder is not a stored evaluation, has another schema version, or is incomplete
    OutputError
        the folder cannot be written

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_tables(f"{folder}/run", {"summary": pl.DataFrame({"metric": ["AP"]})}, {"kind": "detection"})
    ...     upgrade_evaluation(f"{folder}/run")
    False
    """
    manifest = read_manifest(folder)
    if "set_id" in manifest:
        return False
    tables = {name: read_table(folder, name, None) for name in manifest["tables"]}
    own = ("format", "schema_version", "tables")
    write_tables(folder, tables, {name: value for name, value in manifest.items() if name not in own})
    return True


def labels(name: str | None, tags: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the entries of a manifest for a name and tags; None adds no entry.

    Raises
    ------
    ParameterError
        a name that is not text or is empty; tags that are not a mapping of names to texts, finite numbers or flags

    >>> labels("baseline", {"lr": 0.1, "epoch": 7})
    {'name': 'baseline', 'tags': {'lr': 0.1, 'epoch': 7}}
    """
    if name is not None and not (isinstance(name, str) and name):
        raise ParameterError(f"must be a non-empty text, not {name!r}", option="name")
    if tags is not None and not isinstance(tags, Mapping):
        raise ParameterError(f'is a dict such as {{"lr": 0.1, "epoch": 7}}, not {tags!r}', option="tags")
    for key, value in (tags or {}).items():
        if not (isinstance(key, str) and key):
            raise ParameterError(f"names must be texts, not {key!r}", option="tags")
        is_number = isinstance(value, (int, float)) and math.isfinite(value) and abs(value) < 2**63
        if not (is_number or isinstance(value, str)):
            raise ParameterError(f"{key} must be a text, a finite number below 2^63 or a flag, not {value!r}", option="tags")
    return ({"name": name} if name else {}) | ({"tags": dict(tags)} if tags else {})


def refuse_changed(folder: str | Path, tables: Mapping[str, pl.Schema], columns: Mapping[str, Mapping[str, Any]]) -> None:
    """Raise an error if a table of a set was changed: it lacks one of these columns, or a column has another type.

    `columns` contains the types by table and column; None accepts any type. Other tables may have any columns.
    """
    for name, expected in columns.items():
        if name not in tables:
            raise FormatError(f"{MANIFEST} has no table {name}", "evaluate again", path=folder)
        lacking = [column for column in expected if column not in tables[name]]
        if lacking:
            raise FormatError(f"no column {', '.join(lacking)}", "evaluate again", path=Path(folder) / f"{name}.parquet")
        for column, dtype in expected.items():
            if dtype is not None and tables[name][column] != dtype:
                problem = f"{column} is {tables[name][column]}, not {dtype}"
                raise FormatError(problem, "evaluate again", path=Path(folder) / f"{name}.parquet")


def content_hash(frame: pl.DataFrame | pl.LazyFrame) -> str:
    """Return the SHA-256 of a frame in hexadecimal: the names, dtypes, nulls and values of its columns, in the order of rows.

    Of a lazy frame, one column at a time is in memory.

    The layout in memory does not matter: neither chunks, nor the bytes below a null, nor the bit pattern of a NaN, nor the byte
    order of the machine. Values are hashed as little-endian numbers through NumPy, texts as their lengths and UTF-8, lists as
    their lengths and their items, structs as their fields.

    >>> frame = pl.DataFrame({"image_id": [1, 2], "weather": ["rain", None]})
    >>> content_hash(pl.concat([frame.head(1), frame.tail(1)], rechunk=False)) == content_hash(frame)
    True
    >>> content_hash(frame.reverse()) == content_hash(frame)
    False
    """
    names, plan = frame.collect_schema().names(), frame.lazy()
    height = frame.height if isinstance(frame, pl.DataFrame) else plan.select(pl.len()).collect().item()
    digest = hashlib.sha256(json.dumps((height, len(names))).encode())
    for name in names:
        column = plan.select(exact(name)).collect().to_series()
        digest.update(json.dumps(column.name).encode())
        for part in _content(column.alias("")):  # Polars might interpret the column's own name as a pattern
            digest.update(part)
    return digest.hexdigest()


def _content(values: pl.Series) -> Iterator[Any]:
    """Yield the bytes of a column for a hash, piece by piece: dtype, length and number of nulls, positions of nulls, values."""
    dtype, n_nulls = values.dtype, values.null_count()
    name = dtype.base_type().__name__
    details = [str(getattr(dtype, detail, "")) for detail in ("time_unit", "time_zone", "precision", "scale", "shape")]
    if isinstance(dtype, pl.Enum):
        details += dtype.categories.to_list()
    yield json.dumps([name, *details, len(values), n_nulls]).encode()
    if n_nulls:
        yield values.is_null().to_numpy()
    if isinstance(dtype, pl.Array):
        values, dtype = values.arr.to_list(), pl.List(dtype.inner)
    if isinstance(dtype, pl.List):
        yield from _content(values.list.len().fill_null(0).cast(pl.Int64))
        yield from _content(values.filter(values.list.len() > 0).explode())
    elif isinstance(dtype, pl.Struct):
        for field, part in zip(dtype.fields, values.struct.unnest().get_columns(), strict=True):
            yield json.dumps(field.name).encode()
            yield from _content(part.alias(""))
    elif dtype.is_temporal() or dtype == pl.Boolean or (dtype.is_numeric() and not dtype.is_decimal() and "128" not in name):
        numbers = values.to_physical()
        if dtype.is_float():
            numbers = numbers.fill_nan(float("nan"))
        array = numbers.fill_null(False if dtype == pl.Boolean else 0).to_numpy()
        yield array.astype(array.dtype.newbyteorder("<"), copy=False)
    elif dtype == pl.Binary:
        yield from _content(values.bin.size().fill_null(0).cast(pl.Int64))
        yield b"".join(values.drop_nulls())
    elif dtype != pl.Null:
        texts = values.cast(pl.String)
        yield from _content(texts.str.len_bytes().fill_null(0).cast(pl.Int64))
        for start in range(0, len(texts), 10_000):  # one text of all rows might be too long for Polars
            yield str(texts.slice(start, 10_000).str.join("").item()).encode()


def _write(path: Path, table: pl.DataFrame | pl.LazyFrame, footer: dict[str, str]) -> int:
    """Write one table, and return the number of its rows."""
    if isinstance(table, pl.DataFrame):
        table.write_parquet(path, compression="zstd", metadata=footer)
        return table.height
    table.sink_parquet(path, compression="zstd", metadata=footer)
    return int(scan_parquet(path).select(pl.len()).collect().item())


def _versions() -> dict[str, str]:
    from importlib.metadata import version  # takes longer to import than a small evaluation to run

    return {name: version(name) for name in ("apframe", "polars", "duckdb", "numpy")}


def refuse_foreign(folder: str | Path, kind: str) -> None:
    """Raise an OutputError if a set of this kind cannot be written to a folder because it contains something else."""
    folder = to_write(folder)
    if folder == folder.parent:
        raise OutputError("name a folder of its own", path=folder)
    if not is_utf8(str(folder)):
        raise OutputError("the name is not UTF-8 text", "name another folder", path=folder)
    finish_replacing(folder)
    if kind_at(folder) not in ("folder", None):
        raise OutputError("this is a file", "name a folder", path=folder)
    if not is_folder(folder):
        return
    if foreign := _foreign(folder, kind):
        raise OutputError(f"holds something else ({', '.join(foreign[:3])})", "name an empty or a new folder", path=folder)


def _foreign(folder: Path, kind: str) -> list[str]:
    """Return the names in a folder that do not belong to a set of this kind; a set of another kind is an OutputError."""
    manifest = find_manifest(folder)
    other = (manifest or {}).get("kind", kind)
    if other != kind:
        raise OutputError(f"holds {_HELD.get(other, other)}, not {_HELD[kind]}", "name another folder", path=folder)
    try:
        names = {path.name for path in folder.iterdir()}
    except FileNotFoundError:  # another writer is replacing the set right now
        return []
    if manifest is not None:
        names -= {MANIFEST, *(f"{name}.parquet" for name in manifest.get("tables") or ())}
    was_replaced = names and find_manifest(folder) != manifest  # then the names do not belong to this manifest
    return _foreign(folder, kind) if was_replaced else sorted(names)
