"""The tables as DuckDB views, computed only when a query touches them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import polars as pl

from apframe.exceptions import QueryError
from apframe.schema import from_arrow_stream


def deferred(make: Callable[[], pl.DataFrame | pl.LazyFrame], schema: Mapping[str, Any]) -> pl.LazyFrame:
    """A table that is made when it is first read; filters and column choices reach into it when it is a plan.

    >>> deferred(lambda: pl.DataFrame({"a": [1, 2]}), {"a": pl.Int64}).filter(pl.col("a") > 1).collect().rows()
    [(2,)]
    """
    return pl.defer(make, schema=dict(schema))  # type: ignore[arg-type]


def query(tables: Mapping[str, pl.LazyFrame], sql: str, parameters: Mapping[str, Any] | None = None) -> pl.DataFrame:
    """Answer one SQL query over the tables; `$name` in it stands for a parameter.

    Raises
    ------
    QueryError
        with DuckDB's own message in one line, and the names of the tables

    >>> query({"t": pl.LazyFrame({"a": [1, 2]})}, "SELECT sum(a) AS total FROM t WHERE a >= $least", {"least": 2}).item()
    2
    """
    import duckdb  # not needed until there is a query, and takes a while

    with duckdb.connect() as connection:
        for name, table in tables.items():
            connection.register(name, table)
        try:
            result = connection.sql(sql, params=dict(parameters or {}))
            return pl.DataFrame() if result is None else _plain_integers(from_arrow_stream(result))
        except duckdb.Error as error:
            message = " ".join(str(error).split("\n\nLINE ")[0].split())
            raise QueryError(f"{message}; the tables are {', '.join(tables)}") from None
        except pl.exceptions.DuplicateError as error:
            message = " ".join(str(error).split())
            raise QueryError(f"{message}: two columns have one name; join with USING, or name them with AS") from None


def _plain_integers(answer: pl.DataFrame) -> pl.DataFrame:
    """DuckDB sums integers as 128-bit numbers, which come over as decimals; those that fit become integers again."""
    sums = [name for name, dtype in answer.schema.items() if dtype == pl.Decimal(38, 0)]
    integers = answer.select(pl.col(sums).cast(pl.Int64, strict=False))
    return answer.with_columns(column for column in integers if column.null_count() == answer[column.name].null_count())
