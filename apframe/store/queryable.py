"""Methods of results with tables: answer SQL, open a connection. One mapping of tables serves both.

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
    """A result with tables, which `_lazy_tables` names."""

    @abstractmethod
    def _lazy_tables(self) -> Mapping[str, LazyTable]: ...

    def sql(self, query: str, **parameters: Any) -> pl.DataFrame:
        """Answer an SQL query (DuckDB's dialect) over the tables of this result; `$name` stands for a parameter.

        The documentation of the class says which tables there are. Each is computed only if the query touches it, and only as
        far as its filters let through.

        Raises
        ------
        QueryError
            with DuckDB's message and the names of the tables
        KeyboardInterrupt
            Ctrl-C, within a second, also while tables are computed
        """
        from apframe.store import sql  # brings in DuckDB's side, which only queries need

        return sql.query(lambda: self._plans(query), query, parameters)

    def connection(self) -> duckdb.DuckDBPyConnection:
        """Open a DuckDB connection with the same tables as views, and average precision as an aggregate; close it after use.

        SQL has all your rights here, as in `sql`: it can read and write files, open databases, load extensions and see
        variables of Python. Run no statements of people you do not trust; `apframe sql` keeps them to the tables.
        """
        from apframe.store import sql

        return sql.connect(self._plans())

    def _plans(self, query: str | None = None) -> dict[str, pl.LazyFrame]:
        """The tables as plans; given a query, those that it does not name may be stood for."""
        from apframe.store.sql import mentions

        tables = self._lazy_tables()
        named = {name for name in tables if query is None or mentions(query, name)}
        return {name: (table.plan if name in named else table.unnamed or table.plan)() for name, table in tables.items()}


def connection_for(result: QueryableResult, query: str) -> duckdb.DuckDBPyConnection:
    """Open a connection for one query: tables that it does not name need not be read."""
    from apframe.store.sql import connect

    return connect(result._plans(query), query)
