"""Sets of tables: a folder of Parquet files, one for each table, with a manifest that lists them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import polars as pl

from apframe.exceptions import FormatError
from apframe.formats.documents import read_json
from apframe.formats.replacing import finish_replacing
from apframe.paths import is_file, opened
from apframe.tables.table_files import parquet_of
from apframe.wording import reason

MANIFEST = "manifest.json"
FORMAT = "apframe evaluation"  # the value of `format` in a manifest


def find_manifest(folder: Path) -> dict[str, Any] | None:
    """Return the manifest of a set; None if there is none, or it cannot be read."""
    try:
        return manifest_at(folder)
    except FormatError:
        return None


def manifest_at(folder: Path) -> dict[str, Any] | None:
    """Return the manifest of a set; None if there is none; raise a `FormatError` if it is damaged."""
    for _ in range(10):  # another process that removes the manifest writes a new one immediately
        manifest, problem = None, None
        try:
            manifest = read_json(folder / MANIFEST) if is_file(folder / MANIFEST) else None
        except FormatError as error:
            problem = error
        if manifest is not None or not finish_replacing(folder):
            break
    if problem is not None:
        raise problem
    return manifest if isinstance(manifest, dict) and manifest.get("format") == FORMAT else None


def read_table(folder: str | Path, name: str, set_id: str | None) -> pl.DataFrame:
    """Read a table of the set with this id.

    Raises
    ------
    FormatError
        the file cannot be read, or belongs to another set, which has been written there since then
    """
    with _opened(Path(folder), name, set_id) as file:
        return parquet_of(file)


def scan_table(folder: str | Path, name: str, set_id: str | None) -> pl.LazyFrame:
    """Return the table as a plan, which reads it when it is collected, and raises its errors then.

    The footer is read immediately, so that a damaged file is detected.
    """
    at = Path(folder).absolute()

    def scan() -> pl.LazyFrame:
        with _opened(at, name, set_id) as file:
            return pl.scan_parquet(file)  # keeps the file open until it is read

    with _opened(at, name, set_id) as file:
        schema = pl.read_parquet_schema(file)
    return pl.defer(scan, schema=schema)  # type: ignore[arg-type]


@contextmanager
def _opened(folder: Path, name: str, set_id: str | None) -> Iterator[BinaryIO]:
    """Open the file of a table and check by its footer that it belongs to the set; the same open file is then read."""
    path = folder / f"{name}.parquet"
    try:
        with opened(path) as file:
            footer = pl.read_parquet_metadata(file)
            is_of_set, table_name = footer.get("apframe.set_id") == set_id, footer.get("apframe.table", name)
            if is_of_set and table_name == name:
                file.seek(0)
                yield file
    except (OSError, pl.exceptions.PolarsError) as error:
        refuse_replaced(folder, set_id)
        raise FormatError(f"cannot be read as Parquet ({reason(error)})", "evaluate again", path=path) from error
    if not is_of_set:
        refuse_replaced(folder, set_id)
        raise FormatError(f"does not belong to the evaluation in {MANIFEST}", "evaluate again", path=path)
    if table_name != name:
        raise FormatError(f"holds the table {table_name}", "evaluate again", path=path)


def refuse_replaced(folder: Path, set_id: str | None) -> None:
    """Raise a `FormatError` if the folder no longer holds the set with this id."""
    manifest = find_manifest(folder)
    if manifest is not None and manifest.get("set_id") != set_id:
        raise FormatError("another evaluation was written to this folder while it was being read", "read it again", path=folder)


def damage(manifest: Mapping[str, Any]) -> str | None:
    """Return a problem with the values in a manifest, or with a data set's other sections; None if there is none.

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


_VALUES: dict[
    str, tuple[type, Callable[[list[Any]], object], str]
] = {  # fields of a manifest: their types, and those of their items
    "category_ids": (list, _are_ids, "a list of numbers or texts"),
    "conditions": (list, _are_texts, "a list of texts"),
    "inputs": (dict, _are_texts, "an object of texts"),
    "json_columns": (list, _are_pairs, "a list of pairs of texts"),
    "notes": (list, _are_texts, "a list of texts"),
    "measures": (list, _are_texts, "a list of texts"),
    "options": (dict, lambda _: True, "an object"),
    "other_sections": (dict, lambda _: True, "an object"),
    "tables": (dict, _are_numbers, "an object of names and numbers of rows"),
    "tags": (dict, lambda _: True, "an object"),
}
