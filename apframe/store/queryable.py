"""Methods of results with tables: answer SQL queries, and open a connection, from the same mapping of tables.

>>> class Squares(QueryableResult):
...     def _lazy_tables(self) -> dict[str, LazyTable]:
...         return {"squares": LazyTable(lambda: pl.LazyFrame({"n": [2, 3]}).with_columns(square=pl.col("n") ** 2))}
>>> Squares().sql("SELECT square FROM squares WHERE n = $n", n=3).item()
9
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

from apframe.tables.lazy_table import LazyTable

if TYPE_CHECKING:
    import duckdb


class QueryableResult(ABC):
    """A result with tables, which `_lazy_tables` lists."""

    @abstractmethod
    def _lazy_tables(self) -> Mapping[str, LazyTable]: ...

    def sql(self, query: str, **parameters: Any) -> pl.DataFrame:
        """Answer an SQL query (DuckDB's dialect) over the tables of this result; `$name` stands for a parameter.

        The documentation of the class lists the tables. A table is computed only if the query uses it, and only as far as the
        filters of the query require.

        Raises
        ------
        QueryError
            with DuckDB's message and the names of the tables
        KeyboardInterrupt
            after Ctrl-C, within a second, even while tables are computed
        """
        from apframe.store import sql  # brings in DuckDB's side, which only queries need

        return sql.query(lambda: self._plans(query), query, parameters)

    def connection(self) -> duckdb.DuckDBPyConnection:
        """Open a DuckDB connection with the same tables as views, and average precision as an aggregate; close it after use.

        As in `sql`, statements have all your rights: they can read and write files, open databases, load extensions and see
        variables of Python. Do not run statements of people you do not trust; `apframe sql` restricts them to the tables.
        """
        from apframe.store import sql

        return sql.connect(self._plans())

    def _plans(self, query: str | None = None) -> dict[str, pl.LazyFrame]:
        """Return the tables as lazy frames; tables that a query does not name may be placeholders."""
        from apframe.store.sql import mentions

        tables = self._lazy_tables()
        named = {name for name in tables if query is None or mentions(query, name)}
        return {name: (table.plan if name in named else table.unnamed or table.plan)() for name, table in tables.items()}


def connection_for(result: QueryableResult, query: str) -> duckdb.DuckDBPyConnection:
    """Open a connection for one query; tables that it does not name need not be read."""
    from apframe.store.sql import connect

    return connect(result._plans(query), query)
