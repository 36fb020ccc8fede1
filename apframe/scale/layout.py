"""The layout of a folder of shards: its names, and `shards.json`, which lists the shards and their numbers of rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl

from apframe.exceptions import FormatError
from apframe.formats.documents import parse_json
from apframe.formats.files import write_text
from apframe.wording import counted, listed

LISTING = "shards.json"
"""The file next to the shards that lists them. It is written last."""
CATEGORIES = "categories.parquet"
"""The table of categories, which all shards share."""
SHARD_TABLES = ("images", "annotations", "detections")
"""The tables of each shard."""
INPUT_ROW = "input_row"
"""The column of annotations and detections with the number of the row in the whole input, from 0."""
FORMAT = "apframe shards"
FORMAT_VERSION = 1
_COUNTS = tuple(f"n_{table}" for table in SHARD_TABLES)
LAYOUT = {"shard": pl.String} | dict.fromkeys(_COUNTS, pl.Int64)
"""The columns of the table of shards: their names, and the numbers of rows of their tables."""
_MOST = 1 << 63  # numbers of rows must be smaller


def write_layout(layout: pl.DataFrame, folder: Path) -> None:
    """Write `shards.json` in a folder; `layout` is a table as `parse_layout` returns it."""
    counts = {name: dict(layout.select("shard", name).iter_rows()) for name in _COUNTS}
    write_text(folder / LISTING, json.dumps({"format": FORMAT, "format_version": FORMAT_VERSION, **counts}, indent=1) + "\n")


def shard_name(number: int) -> str:
    """Return the name of a shard: its number, from 0, in at least five digits, so that names sort like numbers.

    >>> shard_name(7)
    '00007'
    """
    return f"{number:05d}"


def parse_layout(content: bytes, path: Any) -> pl.DataFrame:
    """Return the shards that the content of a `shards.json` lists; `path` is its path, for errors.

    Returns
    -------
    One row for each shard, sorted by name: `shard` (the name of its folder), and the numbers of rows `n_images`,
    `n_annotations` and `n_detections`.

    Raises
    ------
    FormatError
        the content is not JSON, not a list of shards, damaged, or of a later version

    >>> counts = '"n_images": {"00000": 2}, "n_annotations": {"00000": 5}, "n_detections": {"00000": 7}'
    >>> parse_layout(f'{{"format": "apframe shards", "format_version": 1, {counts}}}'.encode(), "shards.json").rows()
    [('00000', 2, 5, 7)]
    """
    listing = parse_json(Path(path), content)
    if not isinstance(listing, dict) or listing.get("format") != FORMAT:
        raise FormatError(f"does not say that its format is {FORMAT!r}", "name a folder that `apframe shard` wrote", path=path)
    version = listing.get("format_version")
    if version != FORMAT_VERSION:
        is_later = isinstance(version, int) and version > FORMAT_VERSION
        remedy = "update apframe" if is_later else "write the shards again"
        raise FormatError(f"has format version {version!r}; this apframe reads version {FORMAT_VERSION}", remedy, path=path)
    counts = {name: _counts(listing.get(name), name, path) for name in _COUNTS}
    first = counts[_COUNTS[0]]
    for name, each in counts.items():
        if each.keys() != first.keys():
            odd = listed(sorted(each.keys() ^ first.keys()))
            raise FormatError(f"is damaged: {_COUNTS[0]} and {name} do not list the same shards ({odd})", path=path)
    table = {"shard": sorted(first)}
    return pl.DataFrame(table | {name: [each[shard] for shard in sorted(first)] for name, each in counts.items()}, LAYOUT)


def _counts(counts: Any, name: str, path: Any) -> dict[str, int]:
    """Check and return the number of rows of each shard in one of the tables."""
    if not isinstance(counts, dict):
        raise FormatError(f"is damaged: {name} must be an object with a number for each shard", path=path)
    wrong = [shard for shard, n in counts.items() if type(n) is not int or not 0 <= n < _MOST]
    if wrong:
        where = f"{counted(len(wrong), 'shard')} ({listed(wrong)})"
        raise FormatError(f"is damaged: {name} must be a whole number of at least 0, and is not for {where}", path=path)
    strange = [shard for shard in counts if not shard or shard.startswith(".") or set(shard) & set("/\\:\0")]
    if strange:  # these names may be paths, such as ../../secret
        raise FormatError(f"is damaged: no shard can be called {listed(strange)}", path=path)
    return counts
