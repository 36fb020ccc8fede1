"""The layout of a folder of shards: its names, and `shards.json`, which lists the shards and their numbers of rows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from apframe.exceptions import FormatError
from apframe.formats.documents import parse_json
from apframe.formats.files import write_text
from apframe.wording import counted, listed

LISTING = "shards.json"
"""The file beside the shards that lists them. It is written last."""
CATEGORIES = "categories.parquet"
"""The table of categories, which all shards have in common."""
SHARD_TABLES = ("images", "annotations", "detections")
"""The tables of each shard."""
INPUT_ROW = "input_row"
"""The column of annotations and detections with the number of the row in the whole input, from 0."""
FORMAT = "apframe shards"
FORMAT_VERSION = 1
_COUNTS = tuple(f"n_{table}" for table in SHARD_TABLES)


@dataclass(frozen=True)
class Layout:
    """The shards in a folder, and how many rows the tables of each have.

    Attributes
    ----------
    n_images, n_annotations, n_detections
        the numbers of rows by the name of the shard, which is the name of its folder; sorted by that name

    >>> Layout({"00000": 2}, {"00000": 5}, {"00000": 7}).names
    ['00000']
    """

    n_images: Mapping[str, int]
    n_annotations: Mapping[str, int]
    n_detections: Mapping[str, int]

    @property
    def names(self) -> list[str]:
        """The names of the shards, sorted."""
        return list(self.n_images)

    def table(self) -> pl.DataFrame:
        """One row for each shard: `shard` (its name), `n_images`, `n_annotations` and `n_detections`.

        >>> Layout({"00000": 2}, {"00000": 5}, {"00000": 7}).table().rows()
        [('00000', 2, 5, 7)]
        """
        counts = {name: list(getattr(self, name).values()) for name in _COUNTS}
        schema = {"shard": pl.String} | dict.fromkeys(_COUNTS, pl.Int64)
        return pl.DataFrame({"shard": self.names, **counts}, schema=schema)

    def write(self, folder: Path) -> None:
        """Write `shards.json` in a folder."""
        head = {"format": FORMAT, "format_version": FORMAT_VERSION}
        write_text(folder / LISTING, json.dumps(head | {name: dict(getattr(self, name)) for name in _COUNTS}, indent=1) + "\n")


def shard_name(number: int) -> str:
    """The name of a shard: its number, from 0, in at least five digits, so that names are sorted as numbers are.

    >>> shard_name(7)
    '00007'
    """
    return f"{number:05d}"


def parse_layout(content: bytes, path: Any) -> Layout:
    """The shards that the content of a `shards.json` lists; `path` is where it was read, for errors.

    Raises
    ------
    FormatError
        it is not JSON, not a list of shards, damaged, or of a later version

    >>> counts = '"n_images": {"00000": 2}, "n_annotations": {"00000": 5}, "n_detections": {"00000": 7}'
    >>> parse_layout(f'{{"format": "apframe shards", "format_version": 1, {counts}}}'.encode(), "shards.json").n_detections
    {'00000': 7}
    """
    said = parse_json(Path(path), content)
    if not isinstance(said, dict) or said.get("format") != FORMAT:
        raise FormatError(f"does not say that its format is {FORMAT!r}", "name a folder that `apframe shard` wrote", path=path)
    version = said.get("format_version")
    if version != FORMAT_VERSION:
        is_later = isinstance(version, int) and version > FORMAT_VERSION
        remedy = "update apframe" if is_later else "write the shards again"
        raise FormatError(f"has format version {version!r}; this apframe reads version {FORMAT_VERSION}", remedy, path=path)
    counts: dict[str, dict[str, int]] = {}
    for name in _COUNTS:
        counts[name] = _counts(said.get(name), name, path)
    first = counts[_COUNTS[0]]
    for name, each in counts.items():
        if each.keys() != first.keys():
            odd = listed(sorted(each.keys() ^ first.keys()))
            raise FormatError(f"is damaged: {_COUNTS[0]} and {name} do not list the same shards ({odd})", path=path)
    return Layout(*({shard: each[shard] for shard in sorted(first)} for each in counts.values()))


def _counts(said: Any, name: str, path: Any) -> dict[str, int]:
    """The number of rows of each shard in one of the tables, checked."""
    if not isinstance(said, dict):
        raise FormatError(f"is damaged: {name} must be an object with a number for each shard", path=path)
    wrong = [shard for shard, n in said.items() if not isinstance(n, int) or isinstance(n, bool) or n < 0]
    if wrong:
        where = f"{counted(len(wrong), 'shard')} ({listed(wrong)})"
        raise FormatError(f"is damaged: {name} must be a whole number of at least 0, and is not for {where}", path=path)
    strange = [shard for shard in said if not shard or shard.startswith(".") or set(shard) & set("/\\:\0")]
    if strange:  # which may be paths, such as ../../secret
        raise FormatError(f"is damaged: no shard can be called {listed(strange)}", path=path)
    return said
