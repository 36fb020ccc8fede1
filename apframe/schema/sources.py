"""Anything that holds columns as a Polars frame."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from apframe.exceptions import ColumnError, FormatError, first_line, reason
from apframe.paths import read_parquet


def to_polars(source: Any, table: str) -> pl.DataFrame:
    """Polars, pyarrow, pandas, DuckDB, a dict of columns, or the path of a Parquet file, as a Polars frame.

    >>> to_polars({"a": [1]}, "images").shape
    (1, 1)
    """
    if isinstance(source, pl.DataFrame):
        return source
    if isinstance(source, pl.LazyFrame):
        return source.collect()
    if isinstance(source, (str, Path)):
        try:
            return read_parquet(source)
        except (OSError, pl.exceptions.PolarsError) as error:
            raise FormatError(f"cannot read {source} as Parquet: {reason(error)}", table=table) from error
    if isinstance(source, dict) or hasattr(source, "__arrow_c_stream__"):
        try:
            return _of_columns(source) if isinstance(source, dict) else from_arrow_stream(source)
        except (pl.exceptions.PolarsError, TypeError, ValueError) as error:
            raise ColumnError(f"the columns cannot be read: {first_line(error)}", table=table) from error
    raise ColumnError(
        f"{kind_of(source)} holds no columns",
        "give a Polars, pyarrow or pandas frame, a DuckDB relation, a dict of columns or the path of a Parquet file",
        table=table,
    )


def kind_of(value: Any) -> str:
    """What something is, for messages: its type, with an article.

    >>> kind_of(None), kind_of(1), kind_of({})
    ('None', 'an int', 'a dict')
    """
    name = type(value).__name__
    return str(value) if value is None else f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"


def _of_columns(columns: dict[str, Any]) -> pl.DataFrame:
    """A dict of columns as a frame; Polars takes one array of two dimensions, but not a list of them, such as bitmaps."""
    return pl.DataFrame(
        {
            name: [each.tolist() if hasattr(each, "tolist") else each for each in values]
            if isinstance(values, list)
            else values
            for name, values in columns.items()
        }
    )


def from_arrow_stream(source: Any) -> pl.DataFrame:
    """A frame from anything that gives an Arrow stream: pyarrow, pandas, a DuckDB relation.

    Polars is shown the stream and nothing else: it would look into a relation more closely, and DuckDB would complain of
    that at the end of the program.

    >>> import duckdb
    >>> from_arrow_stream(duckdb.sql("SELECT 7 AS a")).item()
    7
    """
    return pl.DataFrame(_ArrowStream(source.__arrow_c_stream__()))


@dataclass(frozen=True)
class _ArrowStream:
    stream: Any

    def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
        return self.stream
