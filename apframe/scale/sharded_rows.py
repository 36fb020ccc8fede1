"""Rows that arrive part by part, sorted into shards, and wait on disk until all have arrived."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from apframe.columns import exact
from apframe.exceptions import ColumnError
from apframe.tables.column_sources import from_arrow_stream
from apframe.tables.schemas import TABLES

if TYPE_CHECKING:
    import numpy as np

_AT_ONCE = 1 << 23  # ids that are compared at once


@dataclass(frozen=True)
class _RowFile:
    """A file with a batch for each shard with rows: its columns, and its number of rows of each shard."""

    schema: pl.Schema
    sizes: np.ndarray


class ShardedRows:
    """The rows of a table by shard, in files in an existing folder.

    Each part is an Arrow file with a batch of rows for each shard that has rows in it. Parts may have different columns, and
    different types of numbers; all shards get the same columns and types.

    Parameters
    ----------
    table
        the name of the canonical table
    folder
        the folder of the files
    n_shards
        the number of shards

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rows = ShardedRows("detections", Path(folder), 2)
    ...     rows.add(pl.DataFrame({"score": [0.1, 0.2, 0.3]}), pl.Series([1, 0, 1], dtype=pl.UInt32))
    ...     rows.add(pl.DataFrame({"score": [0.4], "frame": [7]}), pl.Series([1], dtype=pl.UInt32))
    ...     rows.of_shard(1, rows.schema).rows(), rows.counts
    ([(0.1, None), (0.3, None), (0.4, 7)], [1, 3])
    """

    def __init__(self, table: str, folder: Path, n_shards: int) -> None:
        self.table, self.folder, self.n_shards = table, folder, n_shards
        self._parts: list[_RowFile] = []

    def add(self, rows: pl.DataFrame, shards: pl.Series) -> None:
        """Add a part; `shards` has the number of the shard of each row."""
        import numpy as np
        import pyarrow as pa

        sizes = np.bincount(shards.to_numpy(), minlength=self.n_shards)
        ends = np.cumsum(sizes)
        table = _in_order(rows, shards).rechunk().to_arrow()
        with pa.OSFile(str(self._path(self.n_parts)), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
            for shard in np.flatnonzero(sizes).tolist():
                writer.write_table(table.slice(ends[shard] - sizes[shard], sizes[shard]))
        self._parts.append(_RowFile(rows.schema, sizes))

    def keep(self, n_parts: int) -> None:
        """Keep only the first parts, and remove the files of the others."""
        for number in range(n_parts, self.n_parts):
            self._path(number).unlink()
        del self._parts[n_parts:]

    @property
    def n_parts(self) -> int:
        """The number of parts."""
        return len(self._parts)

    @property
    def counts(self) -> list[int]:
        """The number of rows of each shard."""
        import numpy as np

        counts: list[int] = sum((part.sizes for part in self._parts), np.zeros(self.n_shards, dtype=int)).tolist()
        return counts

    @property
    def schema(self) -> pl.Schema:
        """The columns and types of all shards."""
        return common_schema(self.table, [part.schema for part in self._parts])

    def of_shard(self, shard: int, schema: pl.Schema) -> pl.DataFrame:
        """Return the rows of a shard, in the order of their arrival; `schema` is the schema of all shards."""
        rows = [schema.to_frame()]
        for number, part in enumerate(self._parts):
            if part.sizes[shard]:
                rows.append(self._read(number, [int((part.sizes[:shard] > 0).sum())]))
        return pl.concat(rows, how="diagonal_relaxed")

    def repeated(self, column: str, numbers: Sequence[int]) -> pl.Series:
        """Return repeated values of a column in some parts, not always all of them. It compares 8 million at once."""
        parts = [self._parts[number] for number in numbers]
        n_buckets = -(-sum(int(part.sizes.sum()) for part in parts) // _AT_ONCE)
        duplicates = pl.Series(column, [], dtype=parts[0].schema[column])
        for bucket in range(n_buckets):
            own = []
            for number, part in zip(numbers, parts, strict=True):
                batches = range(int((part.sizes > 0).sum()))
                ids = self._read(number, batches, [part.schema.names().index(column)])[column]
                own.append(ids.filter(ids.hash() % n_buckets == bucket))
            values = pl.concat(own)
            duplicates = values.filter(values.is_duplicated()).unique(maintain_order=True)
            if len(duplicates):
                break
        return duplicates

    def _read(self, number: int, batches: Sequence[int], columns: Sequence[int] | None = None) -> pl.DataFrame:
        """Read the rows of some batches of a file, and only the columns of these numbers."""
        import pyarrow as pa

        options = pa.ipc.IpcReadOptions(included_fields=columns)
        with pa.OSFile(str(self._path(number)), "rb") as file, pa.ipc.open_file(file, options=options) as reader:
            read = [reader.get_batch(each) for each in batches]
        frame = from_arrow_stream(pa.Table.from_batches(read))
        schema = self._parts[number].schema
        return frame.select(exact(name).cast(schema[name]) for name in frame.columns)  # Arrow has no Enum

    def _path(self, number: int) -> Path:
        return self.folder / f"{self.table}.{number}"


def _in_order(rows: pl.DataFrame, shards: pl.Series) -> pl.DataFrame:
    name = "\0shard"  # no other column has this name
    return rows if shards.is_sorted() else rows.with_columns(shards.alias(name)).sort(name, maintain_order=True).drop(name)


def common_schema(table: str, schemas: Sequence[Mapping[str, Any]]) -> pl.Schema:
    """Return the columns of all parts, with types that fit the values of each: canonical columns first, then attributes.

    Raises
    ------
    ColumnError
        a column has incompatible types, such as text and numbers

    >>> common_schema("detections", [{"score": pl.Float64, "frame": pl.Int64}, {"score": pl.Float64, "frame": pl.Float64}])
    Schema([('score', Float64), ('frame', Float64)])
    """
    types: dict[str, Any] = {}
    for schema in schemas:
        for name, dtype in schema.items():
            types[name] = dtype if name not in types else _common_type(table, name, types[name], dtype)
    canonical = [column.name for column in TABLES[table] if column.name in types]
    return pl.Schema({name: types[name] for name in (*canonical, *(name for name in types if name not in canonical))})


def _common_type(table: str, name: str, one: Any, other: Any) -> Any:
    if one == other or pl.Null in (one, other):
        return other if one == pl.Null else one
    if one.is_nested() == other.is_nested() and one.is_numeric() == other.is_numeric():
        try:
            empty = [pl.DataFrame(schema={name: dtype}) for dtype in (one, other)]
            return pl.concat(empty, how="vertical_relaxed").schema[name]
        except pl.exceptions.PolarsError:
            pass
    problem = f"is {one} in some files and {other} in others"
    raise ColumnError(problem, "use the same type everywhere", table=table, column=name)


def rows_of_shards(rows: pl.DataFrame, shards: pl.Series, n_shards: int) -> Iterator[pl.DataFrame]:
    """Yield the rows of each shard of a table in memory, in their order; `shards` has the number of the shard of each row.

    >>> [each["a"].to_list() for each in rows_of_shards(pl.DataFrame({"a": [7, 8, 9]}), pl.Series([2, 0, 2]), 3)]
    [[8], [], [7, 9]]
    """
    import numpy as np

    rows, start = _in_order(rows, shards), 0
    for size in np.bincount(shards.to_numpy(), minlength=n_shards).tolist():
        yield rows.slice(start, size)
        start += size
