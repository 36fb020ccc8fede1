"""Tables read from Parquet, CSV and JSON files."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import polars as pl

from apframe.exceptions import FormatError
from apframe.paths import opened
from apframe.rows import KEY_OF
from apframe.wording import first_line, reason

_DEEPEST = 100  # levels of JSON
_PIECE = 1 << 24  # bytes that are examined at once
_IDS = {*KEY_OF.values(), "file_name", "name"}


def read_table(path: Path, table: str) -> pl.DataFrame:
    """Read the table in a file, which is Parquet unless its extension says otherwise; see `to_polars`.

    Raises
    ------
    FormatError
        the file cannot be read
    """
    kind, read = _KINDS.get(path.suffix.lower(), ("Parquet", read_parquet))
    try:
        return read(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        remedy = "" if path.suffix in (".parquet", *_KINDS) else f"other endings: {', '.join(_KINDS)}"
        raise FormatError(f"cannot read {path} as {kind}: {reason(error)}", remedy, table=table) from error


def _read_csv(path: Path) -> pl.DataFrame:
    with opened(path) as file:
        content = file.read()
    header = content.partition(b"\n")[0].decode(errors="replace")
    separator = max(",;\t", key=header.count)
    columns = pl.read_csv(content, separator=separator, n_rows=0, infer_schema=False).columns
    texts = {name: pl.String for name in columns if name in _IDS}
    frame = pl.read_csv(content, separator=separator, schema_overrides=texts)
    return frame.with_columns(_as_numbers(frame[name]) for name in _IDS if name in frame.columns)


def _as_numbers(ids: pl.Series) -> pl.Series:
    numbers = ids.cast(pl.Int64, strict=False)
    return numbers if (numbers.cast(pl.String) == ids).fill_null(False).all() else ids


def _read_json(path: Path) -> pl.DataFrame:
    with opened(path) as file:
        return pl.read_json(not_deep(file.read()))


def _read_json_lines(path: Path) -> pl.DataFrame:
    with opened(path) as file:
        return pl.read_ndjson(not_deep(file.read()))


_KINDS: dict[str, tuple[str, Callable[[Path], pl.DataFrame]]] = {
    ".csv": ("CSV", _read_csv),
    ".json": ("JSON", _read_json),
    ".jsonl": ("JSON lines", _read_json_lines),
    ".ndjson": ("JSON lines", _read_json_lines),
}


def read_parquet(path: str | Path) -> pl.DataFrame:
    """Read the Parquet file of exactly this name: Polars would interpret patterns, addresses and key=value folders."""
    with opened(Path(path)) as file:
        return parquet_of(file)


def parquet_of(file: BinaryIO) -> pl.DataFrame:
    """Read an open Parquet file; damage that makes Polars panic is a `ComputeError` too."""
    try:
        return pl.read_parquet(file)
    except pl.exceptions.PanicException as error:  # not a subclass of Exception
        raise pl.exceptions.ComputeError(f"the file is damaged: {first_line(error)}") from None


def not_deep(content: bytes) -> bytes:
    """Return the same JSON; raise a `ComputeError` if it is nested over 100 levels deep, which takes Polars hours.

    >>> not_deep(b'{"a": [1]}')
    b'{"a": [1]}'
    """
    if _depth(content) > _DEEPEST and _depth(re.sub(rb'"(?:[^"\\]|\\.)*"', b"", content)) > _DEEPEST:
        raise pl.exceptions.ComputeError("it is nested too deeply")
    return content


def _depth(content: bytes) -> int:
    """Return the largest number of open brackets, including brackets in texts."""
    import numpy as np

    step = np.zeros(256, dtype=np.int8)
    step[list(b"[{")], step[list(b"]}")] = 1, -1
    deepest = depth = 0
    for start in range(0, len(content), _PIECE):
        depths = step[np.frombuffer(content[start : start + _PIECE], dtype=np.uint8)].cumsum(dtype=np.int32)
        deepest, depth = max(deepest, depth + int(depths.max())), depth + int(depths[-1])
    return deepest
