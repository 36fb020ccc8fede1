"""The data dictionary: every column of every table, and its meaning."""

from __future__ import annotations

import polars as pl

from apframe.columns import Column
from apframe.tables.result_tables import DIFFERENCES, RESULTS, RUN_RESULTS, SLICES
from apframe.tables.schemas import TABLES


def dictionary() -> pl.DataFrame:
    """Return every column of every table: table, column, dtype, meaning.

    >>> dictionary().filter(pl.col("table") == "summary")["column"].to_list()
    ['metric', 'value', 'run', 'measure', 'value', 'n_queries']
    """
    groups = [*TABLES.items(), *RESULTS.items(), ("(slices)", SLICES), ("differences", DIFFERENCES)]
    groups += RUN_RESULTS.items()
    rows = [(table, c.name, _dtype_name(c), c.meaning) for table, columns in groups for c in columns]
    return pl.DataFrame(rows, schema=["table", "column", "dtype", "meaning"], orient="row")


def _dtype_name(column: Column) -> str:
    if column.is_id:
        return "List of ids" if isinstance(column.dtype, pl.List) else "Int64 or String"
    if column.dtype is None:
        return "String, List or Struct"
    return "Enum" if isinstance(column.dtype, pl.Enum) else str(column.dtype)
