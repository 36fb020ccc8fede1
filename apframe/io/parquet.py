"""A folder of Parquet files, one per table, with a manifest: how an evaluation is kept."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl

from apframe.exceptions import FormatError, OutputError, first_line
from apframe.io.documents import read_json
from apframe.io.files import folder_beside, write_text
from apframe.paths import is_file, is_folder, is_utf8, kind_at, literal, read_parquet, scan_parquet, to_write

MANIFEST = "manifest.json"
FORMAT, SCHEMA_VERSION = "apframe evaluation", 4
DETECTION, RETRIEVAL = "detection", "retrieval"  # the kinds of evaluation


def write_tables(folder: str | Path, tables: Mapping[str, pl.DataFrame | pl.LazyFrame], manifest: Mapping[str, Any]) -> None:
    """Write every table as `{name}.parquet`, and the manifest. The folder appears whole or not at all.

    The footer of every file says what it is, wherever it is copied: `apframe.table`, `apframe.schema_version`,
    `apframe.kind`, and `apframe.manifest`, the manifest as JSON without the numbers of rows. Lazy tables are computed on the
    way into their files.

    All is written beside it first. An earlier set at the same place is then moved aside, the new one takes its place, and the
    earlier one is removed: whoever reads in the moment between the two moves finds none. A folder that holds anything else
    is left alone.

    Raises
    ------
    OutputError
        the folder holds something else, is a file, or cannot be written
    """
    folder = to_write(folder)
    try:
        refuse_foreign(folder, manifest["kind"])
        with folder_beside(folder) as work:
            part = work / "new"
            part.mkdir()
            created = datetime.now(UTC).isoformat(timespec="seconds")
            head = {"format": FORMAT, "schema_version": SCHEMA_VERSION, "created": created, "versions": _versions()}
            contents: dict[str, Any] = head | dict(manifest)
            footer = {
                "apframe.schema_version": str(SCHEMA_VERSION),
                "apframe.kind": contents["kind"],
                "apframe.manifest": json.dumps(contents),
            }
            heights = {
                name: _write(part / f"{name}.parquet", table, footer | {"apframe.table": name})
                for name, table in tables.items()
            }
            write_text(part / MANIFEST, json.dumps(contents | {"tables": heights}, indent=2) + "\n")
            _replace(folder, part, work / "earlier")
    except OutputError:
        raise
    except (OSError, pl.exceptions.PolarsError) as error:
        what = getattr(error, "strerror", None) or first_line(error)
        raise OutputError(f"{folder}: cannot be written ({what})") from error


def read_manifest(folder: str | Path, kind: str | None = None, needed: Sequence[str] = ()) -> dict[str, Any]:
    """The manifest of a folder that `write_tables` wrote, of the kind ("detection" or "retrieval") if one is named.

    Raises
    ------
    FormatError
        there is no such folder, a file or no such set, it is of another schema version or kind, or parts of it are missing
    """
    folder = Path(folder)
    literal(folder)  # as tables hold the names of runs, none of them may be other than UTF-8
    if kind_at(folder) not in (None, "folder"):
        remedy = "name the folder that was written (a DuckDB file is opened with `apframe sql`, or DuckDB itself)"
        raise FormatError(f"{folder}: is a file; {remedy}")
    if not is_folder(folder):
        raise FormatError(f"{folder}: there is no such folder")
    manifest = _manifest(folder)
    if manifest is None:
        what = f"{folder}: not an apframe evaluation, it has no {MANIFEST} of one"
        runs = [str(path.parent) for path in sorted(folder.glob(f"*/{MANIFEST}")) if _manifest(path.parent) is not None]
        if runs:
            raise FormatError(f"{what}; name one of them, such as {', '.join(runs[:3])}; apframe.scan_runs reads them together")
        raise FormatError(f"{what}; write one with --out or Evaluation.write_parquet")
    version = manifest.get("schema_version")
    if version != SCHEMA_VERSION:
        remedy = "update apframe" if isinstance(version, int) and version > SCHEMA_VERSION else "evaluate again"
        raise FormatError(f"{folder}: written with schema version {version}, this apframe reads {SCHEMA_VERSION}; {remedy}")
    if kind is not None and manifest.get("kind", kind) != kind:
        raise FormatError(f"{folder}: this is an evaluation of {manifest['kind']}, not of {kind}")
    lacking = {"kind", "tables", *needed} - set(manifest)
    if lacking:
        raise FormatError(f"{folder}: {MANIFEST} has no {', '.join(sorted(lacking))}; evaluate again")
    if problem := damage(manifest):
        raise FormatError(f"{folder}: {MANIFEST} is damaged, {problem}; evaluate again")
    gone = [name for name in manifest["tables"] if not is_file(folder / f"{name}.parquet")]
    if gone:
        raise FormatError(f"{folder}: {', '.join(f'{name}.parquet' for name in gone)} is missing; evaluate again")
    return manifest


def read_table(folder: str | Path, name: str) -> pl.DataFrame:
    """One table of the set."""
    path = Path(folder) / f"{name}.parquet"
    with _as_format_error(path):
        _refuse_another(path, name)
        return read_parquet(path)


def scan_table(folder: str | Path, name: str) -> pl.LazyFrame:
    """The same table as a plan that reads it when collected. Its footer is looked at here, so that a damaged file is told."""
    path = Path(folder) / f"{name}.parquet"
    with _as_format_error(path):
        _refuse_another(path, name)
        table = scan_parquet(path)
        table.collect_schema()
        return table


def damage(manifest: Mapping[str, Any]) -> str | None:
    """What is wrong with the values in a manifest, or beside the tables of a data set; None if nothing is.

    >>> damage({"json_columns": [["images", "a"]]}), damage({"json_columns": [7]})
    (None, 'json_columns is not a list of pairs of texts')
    """
    for name, (kind, of_items, what) in _VALUES.items():
        value: Any = manifest.get(name, kind())
        items = list(value.values()) if isinstance(value, dict) else value
        if not isinstance(value, kind) or not of_items(items):
            return f"{name} is not {what}"
    return None


def _are_texts(values: list[Any]) -> bool:
    return all(isinstance(each, str) for each in values)


def _are_pairs(values: list[Any]) -> bool:
    return all(isinstance(each, list) and [type(part) for part in each] == [str, str] for each in values)


def _are_numbers(values: list[Any]) -> bool:
    return all(type(each) is int and abs(each) < 2**63 for each in values)


def _are_ids(values: list[Any]) -> bool:
    return _are_texts(values) or _are_numbers(values)


_VALUES: dict[str, tuple[type, Callable[[list[Any]], object], str]] = {  # of a manifest: what they are, and what is in them
    "category_ids": (list, _are_ids, "a list of numbers or of texts"),
    "conditions": (list, _are_texts, "a list of texts"),
    "inputs": (dict, _are_texts, "an object of texts"),
    "json_columns": (list, _are_pairs, "a list of pairs of texts"),
    "measures": (list, _are_texts, "a list of texts"),
    "options": (dict, lambda _: True, "an object"),
    "other_sections": (dict, lambda _: True, "an object"),
    "tables": (dict, _are_numbers, "an object of names and numbers of rows"),
}


def _refuse_another(path: Path, name: str) -> None:
    """An error where the footer says that the file holds another table."""
    with path.open("rb") as file:
        said = pl.read_parquet_metadata(file).get("apframe.table", name)
    if said != name:
        raise FormatError(f"{path}: holds the table {said}; evaluate again")


def refuse_changed(folder: str | Path, tables: Mapping[str, pl.Schema], columns: Mapping[str, Mapping[str, Any]]) -> None:
    """An error where a table of a set is not as it was written: it lacks one of these columns, or has it of another type.

    `columns` says the types, by table and column; None: any. Tables of which it says nothing may have any columns.
    """
    for name, expected in columns.items():
        if name not in tables:
            raise FormatError(f"{folder}: {MANIFEST} has no table {name}; evaluate again")
        lacking = [column for column in expected if column not in tables[name]]
        if lacking:
            raise FormatError(f"{Path(folder) / name}.parquet: no column {', '.join(lacking)}; evaluate again")
        for column, dtype in expected.items():
            if dtype is not None and tables[name][column] != dtype:
                problem = f"{column} is {tables[name][column]}, not {dtype}"
                raise FormatError(f"{Path(folder) / name}.parquet: {problem}; evaluate again")


def content_hash(frame: pl.DataFrame) -> str:
    """SHA-256 of what a frame holds, in hexadecimal: the names, dtypes, nulls and values of its columns, in the order of rows.

    How the values lie in memory plays no part: neither chunks, nor what stands below a null, nor which of its forms a NaN has,
    nor the byte order of the machine. Values go in as little-endian numbers through NumPy, texts as their lengths and UTF-8,
    lists as their lengths and their items, structs as their fields.

    >>> frame = pl.DataFrame({"image_id": [1, 2], "weather": ["rain", None]})
    >>> content_hash(pl.concat([frame.head(1), frame.tail(1)], rechunk=False)) == content_hash(frame)
    True
    >>> content_hash(frame.reverse()) == content_hash(frame)
    False
    """
    digest = hashlib.sha256(json.dumps(frame.shape).encode())
    for column in frame:
        digest.update(json.dumps(column.name).encode())
        for part in _content(column.alias("")):  # under its own name, Polars might take that for a pattern
            digest.update(part)
    return digest.hexdigest()


def _content(values: pl.Series) -> Iterator[Any]:
    """What a hash takes of a column, piece by piece: dtype, length and number of nulls, where these are, the values."""
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
    """Write one table; the number of its rows."""
    if isinstance(table, pl.DataFrame):
        table.write_parquet(path, compression="zstd", metadata=footer)
        return table.height
    table.sink_parquet(path, compression="zstd", metadata=footer)
    return int(scan_parquet(path).select(pl.len()).collect().item())


@contextmanager
def _as_format_error(path: Path) -> Iterator[None]:
    """What Polars says of a file that cannot be read, as the error of a bad file."""
    try:
        yield
    except (OSError, pl.exceptions.PolarsError) as error:
        raise FormatError(f"{path}: cannot be read as Parquet ({first_line(error)}); evaluate again") from error


def _versions() -> dict[str, str]:
    from importlib.metadata import version  # takes longer to import than a small evaluation to run

    return {name: version(name) for name in ("apframe", "polars", "duckdb", "numpy")}


def _manifest(folder: Path) -> dict[str, Any] | None:
    try:
        manifest = read_json(folder / MANIFEST) if is_file(folder / MANIFEST) else None
    except FormatError:
        return None
    return manifest if isinstance(manifest, dict) and manifest.get("format") == FORMAT else None


def refuse_foreign(folder: str | Path, kind: str) -> None:
    """Raise an OutputError if a set of this kind cannot be written there because the place holds something else."""
    folder = to_write(folder)
    if folder == folder.parent:
        raise OutputError(f"{folder}: name a folder of its own")
    if not is_utf8(str(folder)):
        raise OutputError(f"{folder}: the name is not UTF-8 text; name another folder")
    if kind_at(folder) not in ("folder", None):
        raise OutputError(f"{folder}: this is a file; name a folder")
    if not is_folder(folder):
        return
    manifest = _manifest(folder)
    other = (manifest or {}).get("kind", kind)
    if other != kind:
        raise OutputError(f"{folder}: holds an evaluation of {other}, not of {kind}; name another folder")
    known = {MANIFEST, *(f"{name}.parquet" for name in (manifest or {}).get("tables") or ())}
    foreign = sorted(entry.name for entry in folder.iterdir() if entry.name not in known or manifest is None)
    if foreign:
        raise OutputError(f"{folder}: holds something else ({', '.join(foreign[:3])}); name an empty or a new folder")


def _replace(folder: Path, part: Path, earlier: Path) -> None:
    """Put the finished part in the folder's place; the earlier one stays until then."""
    if folder.exists():
        folder.rename(earlier)
    try:
        part.rename(folder)
    except BaseException:  # an interruption too must not lose the earlier one
        if earlier.exists():
            earlier.rename(folder)
        raise
