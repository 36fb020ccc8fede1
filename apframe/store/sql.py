"""The tables in DuckDB, as views that are computed only when a query uses them, with average precision as an aggregate."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import chain, count
from typing import TYPE_CHECKING, Any

import polars as pl

from apframe.exceptions import FormatError, OutputError, ParameterError, QueryError, RenamedColumnWarning, ShardError, warn
from apframe.interruption import run_interruptible, unfinished
from apframe.store.aggregate import average_precision_macro
from apframe.tables.column_sources import from_arrow_stream
from apframe.wording import first_line, with_option_style

if TYPE_CHECKING:
    import duckdb

Tables = Mapping[str, pl.LazyFrame]
_OWN = {error.__name__: error for error in (FormatError, OutputError, ParameterError, ShardError)}  # of tables
_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896  # 0001-01-01 and 9999-12-31, counted from 1970-01-01
# types of DuckDB at which Polars panics, or for which it gets bytes that only DuckDB understands, or no time zone
_FOREIGN = ("interval", "union", "bit", "bignum", "variant", "geometry", "time with time zone")
_PER_DAY = {None: 1, "ms": 86_400 * 10**3, "us": 86_400 * 10**6}  # of the numbers that stand for them; "ns" reach no further


def deferred(make: Callable[[], pl.DataFrame | pl.LazyFrame], schema: Mapping[str, Any]) -> pl.LazyFrame:
    """Return a table that is made when it is read; if it is a lazy frame, filters and column selections are pushed into it.

    >>> deferred(lambda: pl.DataFrame({"a": [1, 2]}), {"a": pl.Int64}).filter(pl.col("a") > 1).collect().rows()
    [(2,)]
    """
    return pl.defer(with_option_style(make), schema=dict(schema))  # type: ignore[arg-type]


def mentions(query: str, table: str) -> bool:
    """Return True if a query may need the columns of a table: it contains the name as a word, or lists all columns.

    >>> mentions("SELECT * FROM images", "annotations"), mentions("SHOW ALL TABLES", "annotations")
    (False, True)
    """
    words = set(re.findall(r"\w+", query.lower()))
    of_all = {"show", "describe", "pragma", "information_schema"}
    return table.lower() in words or bool(words & of_all) or any(word.startswith("duckdb_") for word in words)


def connect(tables: Tables, query: str | None = None) -> duckdb.DuckDBPyConnection:
    """Open an in-memory DuckDB connection with the tables as views and `average_precision`. The caller closes it.

    A table is computed each time a query uses it; the filters and column selections of the query are pushed into its plan.
    A `RenamedColumnWarning` lists the columns with another name in SQL (see `sql_names`), for a query only those of tables that
    it names.

    >>> items = pl.LazyFrame({"q": [1, 1, 2], "relevant": [1, 0, 1], "score": [0.5, 0.9, 0.1]})
    >>> with connect({"items": items}) as connection:
    ...     connection.sql("SELECT q, average_precision(relevant, score, 1) AS ap FROM items GROUP BY q ORDER BY q").fetchall()
    [(1, 0.5), (2, 1.0)]
    """
    connection, renamed = _open(tables)
    warn_of_renamed({table: names for table, names in renamed.items() if query is None or mentions(query, table)})
    return connection


def _open(tables: Tables) -> tuple[duckdb.DuckDBPyConnection, dict[str, dict[str, str]]]:
    """Return the connection, and the renamed columns by table."""
    import duckdb  # slow to import, and needed only for queries

    connection = duckdb.connect()
    connection.execute(average_precision_macro())
    renamed = {}
    name = ""
    try:
        for name, table in tables.items():
            if names := sql_names(table.collect_schema().names()):
                renamed[name] = names
            connection.register(name, table.rename(names) if names else table)
    except duckdb.Error as error:
        _refuse_interrupted(error)
        connection.close()
        raise QueryError(f"{name}: DuckDB cannot store one of the columns ({first_line(error)})", "leave it out") from None
    return connection, renamed


def sql_names(columns: Iterable[str]) -> dict[str, str]:
    """Map columns that cannot keep their name in SQL to their name there.

    SQL ignores case: of two columns that differ only in case, the later one gets a number. Empty names and names with a NUL
    character are not valid in SQL.

    >>> sql_names(["image_id", "score", "Image_ID", "IMAGE_ID", ""])
    {'Image_ID': 'Image_ID_1', 'IMAGE_ID': 'IMAGE_ID_2', '': 'unnamed'}
    """
    columns = list(columns)
    used_names, seen, renamed = {name.lower() for name in columns}, set[str](), dict[str, str]()
    for column in columns:
        sql_name = column.replace("\0", "\\0") or "unnamed"
        if sql_name == column and sql_name.lower() not in seen:
            seen.add(sql_name.lower())
            continue
        numbered = (f"{sql_name}_{number}" for number in count(1))
        free = (name for name in chain([] if sql_name == column else [sql_name], numbered) if name.lower() not in used_names)
        renamed[column] = next(free)
        used_names.add(renamed[column].lower())
    return renamed


def warn_of_renamed(renamed: Mapping[str, Mapping[str, str]]) -> None:
    """Warn of the columns that have other names in SQL."""
    if renamed:
        texts = [f"{table}.{old or '(no name)'} is {new}" for table, names in renamed.items() for old, new in names.items()]
        more = f" and {len(texts) - 5} more" if len(texts) > 5 else ""
        warn(
            f"SQL ignores case and has no empty names or NUL, so columns have other names there: {', '.join(texts[:5])}{more}",
            RenamedColumnWarning,
        )


def restrict(connection: duckdb.DuckDBPyConnection) -> None:
    """Restrict SQL to the existing tables and new ones in memory, as long as the connection is open.

    Statements can neither read nor write files (not even temporary ones), nor use the network, open databases, load extensions,
    change settings or see variables of Python.

    >>> with connect({"t": pl.LazyFrame({"a": [1]})}) as connection:
    ...     restrict(connection)
    ...     answer(connection, "FROM t").item()
    ...     answer(connection, "COPY t TO 'a.csv'")
    Traceback (most recent call last):
    apframe.exceptions.QueryError: Permission Error: File system LocalFileSystem has been disabled by configuration; ...
    """
    for setting in (
        "python_enable_replacements = false",
        "enable_external_access = false",
        "disabled_filesystems = 'LocalFileSystem'",  # else it could write its own file, and folders for temporary ones
        "lock_configuration = true",
    ):
        connection.execute(f"SET {setting}")


@contextmanager
def closing(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Close a connection at the end, unless interrupted work still uses it."""
    try:
        yield
    finally:
        if not unfinished():
            connection.close()


def query(tables: Tables | Callable[[], Tables], sql: str, parameters: Mapping[str, Any] | None = None) -> pl.DataFrame:
    """Answer an SQL query over the tables; `$name` in it stands for a parameter. Of several statements, the last one answers.

    Tables may be a function that makes them, so that Ctrl-C can interrupt it.

    A `RenamedColumnWarning` lists columns of the named tables that have another name in SQL; see `sql_names`.

    Raises
    ------
    ParameterError
        the query is not text
    QueryError
        with DuckDB's own message in one line, and the names of the tables
    KeyboardInterrupt
        Ctrl-C, even while tables are computed; see `apframe.interruption.run_interruptible`

    >>> query({"t": pl.LazyFrame({"a": [1, 2]})}, "SELECT sum(a) AS total FROM t WHERE a >= $least", {"least": 2}).item()
    2
    """
    connection, renamed = run_interruptible(lambda: _open(tables() if callable(tables) else tables), lambda: None)
    warn_of_renamed({table: names for table, names in renamed.items() if mentions(sql, table)})
    with closing(connection):
        return answer(connection, sql, parameters)


def answer(connection: duckdb.DuckDBPyConnection, sql: str, parameters: Mapping[str, Any] | None = None) -> pl.DataFrame:
    """Answer an SQL query over an open connection, as `query` does; a statement without an answer returns an empty frame.

    After Ctrl-C the connection may be busy for a while; the next call waits for it.

    Raises
    ------
    QueryError
        with DuckDB's own message in one line, and the names of the tables
    ParameterError
        the query is not text
        FormatError
        a stored table cannot be read, or another evaluation has been written in its place
    KeyboardInterrupt
        Ctrl-C

    >>> with connect({}) as connection:
    ...     answer(connection, "SELECT 7 AS a").item()
    7
    """
    import duckdb

    is_stopped = threading.Event()

    def stop() -> None:
        is_stopped.set()
        with suppress(duckdb.ConnectionException):  # it is closed already
            connection.interrupt()

    return run_interruptible(lambda: _answer(connection, sql, parameters, is_stopped), stop)


def statements(connection: duckdb.DuckDBPyConnection, text: str) -> list[duckdb.Statement]:
    """Split SQL into statements, as DuckDB does. The last one needs no semicolon; comments are not statements.

    Raises
    ------
    QueryError
        a syntax error anywhere in the text

    >>> with connect({}) as connection:
    ...     [each.query for each in statements(connection, "SELECT ';'; -- ; and\\n SELECT 2")]
    ["SELECT ';';", ' -- ; and\\n SELECT 2']
    """
    import duckdb

    try:
        return connection.extract_statements(text)
    except duckdb.Error as error:
        raise _query_error(connection, error, text) from None


def has_rows(statement: duckdb.Statement, answer: pl.DataFrame) -> bool:
    """Return True if a statement returns rows to show, which CREATE, SET and INSERT do not.

    >>> with connect({}) as connection:
    ...     for each in statements(connection, "CREATE TABLE t (a INT); INSERT INTO t VALUES (1); SELECT 7 AS Count"):
    ...         has_rows(each, answer(connection, each.query))
    False
    False
    True
    """
    import duckdb

    asks = statement.expected_result_type == [duckdb.ExpectedResultType.QUERY_RESULT]
    return asks or answer.columns not in ([], ["Count"], ["Success"])  # INSERT returns rows with RETURNING, PIVOT always


def _answer(
    connection: duckdb.DuckDBPyConnection, sql: str, parameters: Mapping[str, Any] | None, is_stopped: threading.Event
) -> pl.DataFrame:
    import duckdb

    if not isinstance(sql, str):
        raise ParameterError(f"a query is SQL text, not {sql!r}")
    try:
        result = connection.sql(sql, params=dict(parameters or {}))
        if is_stopped.is_set():
            raise KeyboardInterrupt
        if result is None:
            return pl.DataFrame()
        _refuse_types(result)
        return _plain_integers(_within_calendar(from_arrow_stream(result)))
    except pl.exceptions.DuplicateError as error:
        message = " ".join(str(error).split())
        raise QueryError(f"{message}: two columns have one name", "join with USING, or name them with AS") from None
    except RuntimeError as error:
        if str(error) != "Query interrupted":
            raise
        raise KeyboardInterrupt from None
    except (duckdb.Error, pl.exceptions.PolarsError) as error:  # the latter if an answer breaks off in the middle
        _refuse_interrupted(error)
        own = re.search(rf"\b({'|'.join(_OWN)}): (.*)", _in_one_line(error))
        if own is not None:  # raised while reading or computing a table, and passed on by DuckDB
            raise _OWN[own[1]](own[2]) from None
        raise _query_error(connection, error, sql) from None


def _query_error(connection: duckdb.DuckDBPyConnection, error: Exception, sql: str) -> QueryError:
    """Return DuckDB's message in one line, a remedy, and the names of the tables, or for a syntax error its line instead."""
    import duckdb

    message = _in_one_line(error)
    if message.startswith("Parser Error"):
        if command := re.search(r"^\s*(\.(tables|schema|help|quit|exit)\b)", sql, re.MULTILINE):
            remedy = "SHOW TABLES lists the tables, and DESCRIBE metrics the columns of one"
            return QueryError(f"{command[1]} was a command of the prompt, which is gone", remedy)
        line = re.search(r"\nLINE (\d+): ", str(error))
        return QueryError(f"{message} in line {line[1]}" if line and "\n" in sql.strip() else message)
    message += _hint(message, sql)
    try:
        names = ", ".join(columns_of_tables(connection))
    except duckdb.Error:  # a failed transaction accepts only ROLLBACK, as the message says
        return QueryError(message)
    return QueryError(f"{message}; the tables are {names}" if names else f"{message}; there are no tables")


def _in_one_line(error: Exception) -> str:
    return " ".join(str(error).removeprefix("got external error: ").split("\n\nLINE ")[0].split())


def _refuse_interrupted(error: Exception) -> None:
    """Raise KeyboardInterrupt if an error of DuckDB or Polars was caused by Ctrl-C."""
    if re.match("(got external error: )?INTERRUPT Error|Invalid Input Error: .* failed: KeyboardInterrupt:", str(error)):
        raise KeyboardInterrupt from None


def _refuse_types(result: duckdb.DuckDBPyRelation) -> None:
    """Raise an error for columns of types that frames do not support, see `_FOREIGN`."""
    for name, type_ in zip(result.columns, result.types, strict=True):
        if _is_foreign(type_):
            raise QueryError(f"{name} has type {type_}, which tables do not support", f"CAST({name} AS VARCHAR) makes it text")


def _is_foreign(type_: Any) -> bool:
    inner = type_.children if type_.id in ("list", "array", "struct", "map") else []  # includes the size of an array
    return type_.id in _FOREIGN or any(_is_foreign(each) for _, each in inner if not isinstance(each, int))


def _within_calendar(answer: pl.DataFrame) -> pl.DataFrame:
    """Return the answer; infinite dates, or dates outside the calendar, are an error, because Polars panics at them."""
    for column in answer:
        for dates in _dates_in(column):
            per_day = _PER_DAY.get(getattr(dates.dtype, "time_unit", None))
            if per_day is not None and not (dates.to_physical() // per_day).is_between(_FIRST_DAY, _LAST_DAY).all():
                what = f"{column.name} has dates outside the years 1 to 9999"
                raise QueryError(what, f"CAST({column.name} AS VARCHAR) makes them text")
    return answer


def _dates_in(column: pl.Series) -> Iterator[pl.Series]:
    """Yield the dates and times of a column, including those inside lists and structs."""
    if column.dtype in (pl.Date, pl.Datetime):
        yield column
    elif isinstance(column.dtype, (pl.List, pl.Array)):
        yield from _dates_in(column.explode())
    elif isinstance(column.dtype, pl.Struct):
        for field in column.struct.fields:
            yield from _dates_in(column.struct.field(field))


def _hint(message: str, sql: str) -> str:
    column = re.match(r'Binder Error: Referenced column "(.*)" not found', message)
    if column is not None and '"{}"'.format(column[1].replace('"', '""')) in sql:
        return "; text is written in 'single quotes'"
    if "Cannot compare values of type VARCHAR" in message:
        return "; a column of text is compared with a number: TRY_CAST(column AS DOUBLE) reads its numbers"
    if "Window function macro" in message and "average_precision" in sql.lower():
        return "; average_precision works with GROUP BY, not with OVER"
    if re.search("disabled (by|through) configuration|configuration has been locked|attached in read-only mode", message):
        return "; `apframe sql --unrestricted` allows SQL to read and write files, load extensions and change settings"
    return ""


def columns_of_tables(connection: duckdb.DuckDBPyConnection) -> dict[str, list[str]]:
    """Return the column names of every table and view, in the order of creation, without computing any of them.

    >>> with connect({"t": pl.LazyFrame({"a": [1], "b": [2]})}) as connection:
    ...     columns_of_tables(connection)
    {'t': ['a', 'b']}
    """
    columns = connection.execute(
        "SELECT table_name, list(column_name ORDER BY column_index) FROM duckdb_columns() WHERE NOT internal "
        "GROUP BY table_name, table_oid ORDER BY table_oid"
    )
    return dict(columns.fetchall())


def _plain_integers(answer: pl.DataFrame) -> pl.DataFrame:
    """Convert decimals back to integers where they fit; DuckDB sums integers as 128-bit numbers, which arrive as decimals."""
    integers = answer.select(pl.col(pl.Decimal(38, 0)).cast(pl.Int64, strict=False))
    return answer.with_columns(column for column in integers if column.null_count() == answer[column.name].null_count())
