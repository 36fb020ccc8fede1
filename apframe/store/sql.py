"""The tables in DuckDB, as views that are computed only when a query touches them, or in a file; average precision in SQL.

`average_precision(relevant, score, n_positives)` is an aggregate for GROUP BY, with the numbers of the Polars expression of
that name (`apframe.average_precision`), and in the same words:

- `relevant` is a flag or a grade, of which more than 0 is positive; null is not relevant.
- `score` is anything that has an order, the highest first: a number, `-rank`, `row(score, document_id)`. Null: not retrieved.
- `n_positives` is the same in all rows of a group: all positives there are. Null or 0 gives null.
- `definition := 'coco101'` names one of `SQL_DEFINITIONS`; 'step' is meant otherwise.
- `then_by := detection_id` orders equal scores, ascending. A group in SQL has no order of its own, so that without it, or where
  it is equal too, positives come last: what the expression calls ties="worst".
- NaN, fewer n_positives than positives, and several n_positives in a group are errors.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from apframe.exceptions import (
    FormatError,
    OutputError,
    ParameterError,
    QueryError,
    RenamedColumnWarning,
    first_line,
    reason,
    warn,
)
from apframe.file_formats.files import replacing, writing
from apframe.interruption import beside, unfinished
from apframe.paths import is_folder, is_utf8, kind_at, literal, to_write
from apframe.ranking.definitions import (
    Coco101,
    ElevenPoint,
    Interpolated,
    Levels,
    Step,
    Trec9ElevenPoint,
    Trec10ElevenPoint,
    Voc2007,
)
from apframe.schema import from_arrow_stream

if TYPE_CHECKING:
    import duckdb

Tables = Mapping[str, pl.LazyFrame]
# the definitions by levels, and when a level is reached by `_ap_k` true positives of `{n}`
_REACHED_AT: dict[Levels, str] = {
    Voc2007(): "_ap_level <= _ap_k / {n}",
    ElevenPoint(): "_ap_level <= _ap_k / {n}",
    Coco101(): "_ap_level <= _ap_k / {n}",
    Trec9ElevenPoint(): "floor(_ap_level * {n} + 0.9::DOUBLE) <= _ap_k",
    Trec10ElevenPoint(): "round(_ap_level * {n}) <= _ap_k",
}
SQL_DEFINITIONS = [Step.name, Interpolated.name, *(levels.name for levels in _REACHED_AT)]
_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896  # 0001-01-01 and 9999-12-31, counted from 1970-01-01
_PER_DAY = {None: 1, "ms": 86_400 * 10**3, "us": 86_400 * 10**6}  # of the numbers that stand for them; "ns" reach no further
_MARK = "apframe"  # the table that marks a file as ours


def deferred(make: Callable[[], pl.DataFrame | pl.LazyFrame], schema: Mapping[str, Any]) -> pl.LazyFrame:
    """A table that is made when it is first read; filters and column choices reach into it when it is a plan.

    >>> deferred(lambda: pl.DataFrame({"a": [1, 2]}), {"a": pl.Int64}).filter(pl.col("a") > 1).collect().rows()
    [(2,)]
    """
    return pl.defer(make, schema=dict(schema))  # type: ignore[arg-type]


def mentions(query: str, table: str) -> bool:
    """Whether a query may need the columns of a table: it has its name as a word, or asks for the columns of all tables.

    >>> mentions("SELECT * FROM images", "annotations"), mentions("SHOW ALL TABLES", "annotations")
    (False, True)
    """
    words = set(re.findall(r"\w+", query.lower()))
    of_all = {"show", "describe", "pragma", "information_schema"}
    return table.lower() in words or bool(words & of_all) or any(word.startswith("duckdb_") for word in words)


def connect(tables: Tables, query: str | None = None) -> duckdb.DuckDBPyConnection:
    """A DuckDB connection, in memory, with the tables as views and `average_precision`. Whoever asks for it closes it.

    A table is computed each time that a query touches it, the filters and column choices of the query reaching into its plan.
    A `RenamedColumnWarning` names columns that have another name in SQL, as `sql_names` says; only those of tables that the
    query names, if one is given.

    >>> items = pl.LazyFrame({"q": [1, 1, 2], "relevant": [1, 0, 1], "score": [0.5, 0.9, 0.1]})
    >>> with connect({"items": items}) as connection:
    ...     connection.sql("SELECT q, average_precision(relevant, score, 1) AS ap FROM items GROUP BY q ORDER BY q").fetchall()
    [(1, 0.5), (2, 1.0)]
    """
    connection, renamed = _open(tables)
    _warn_of_renamed({table: names for table, names in renamed.items() if query is None or mentions(query, table)})
    return connection


def _open(tables: Tables) -> tuple[duckdb.DuckDBPyConnection, dict[str, dict[str, str]]]:
    """The connection, and what columns are called there, by table, where it is not their name."""
    import duckdb  # not needed until there is a query, and takes a while

    connection = duckdb.connect()
    connection.execute(_macro())
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
        raise QueryError(f"{name}: DuckDB cannot hold one of the columns ({first_line(error)}); leave it out") from None
    return connection, renamed


def sql_names(columns: Iterable[str]) -> dict[str, str]:
    """What columns are called in SQL, of those that cannot be called by their name.

    SQL ignores case: of two columns that differ in nothing else, the later one gets a number. An empty name is not SQL,
    nor is one with a NUL character.

    >>> sql_names(["image_id", "score", "Image_ID", "IMAGE_ID", ""])
    {'Image_ID': 'Image_ID_1', 'IMAGE_ID': 'IMAGE_ID_2', '': 'unnamed'}
    """
    columns = list(columns)
    taken, seen, renamed = {name.lower() for name in columns}, set[str](), dict[str, str]()
    for column in columns:
        called = column.replace("\0", "\\0") or "unnamed"
        if called == column and called.lower() not in seen:
            seen.add(called.lower())
            continue
        numbered = (f"{called}_{number}" for number in count(1))
        free = (name for name in chain([] if called == column else [called], numbered) if name.lower() not in taken)
        renamed[column] = next(free)
        taken.add(renamed[column].lower())
    return renamed


def _warn_of_renamed(renamed: Mapping[str, Mapping[str, str]]) -> None:
    """A warning that names the columns whose names in SQL are others."""
    if renamed:
        shown = [f"{table}.{old or '(no name)'} is {new}" for table, names in renamed.items() for old, new in names.items()]
        more = f" and {len(shown) - 5} more" if len(shown) > 5 else ""
        warn(
            f"SQL ignores case and has no empty names or NUL, so columns have other names there: {', '.join(shown[:5])}{more}",
            RenamedColumnWarning,
        )


def open_database(path: str | Path, *, read_only: bool = True) -> duckdb.DuckDBPyConnection:
    """A connection to a DuckDB file, such as `write_database` writes, whose tables are those of the file.

    Raises
    ------
    FormatError
        it is damaged, of another version of DuckDB, or open elsewhere
    """
    import duckdb

    try:
        return duckdb.connect(literal(path), read_only=read_only)
    except duckdb.Error as error:
        raise FormatError(f"{path}: cannot be opened ({' '.join(str(error).split())})") from None


def is_database(path: str | Path) -> bool:
    """Whether there is a DuckDB file at a path."""
    if kind_at(path) != "file":
        return False
    with Path(path).open("rb") as file:
        return file.read(12)[8:] == b"DUCK"


def restrict(connection: duckdb.DuckDBPyConnection) -> None:
    """Leave to SQL the tables that are there and new ones in memory, for as long as the connection lasts.

    Statements can neither read nor write files (not even to make room in memory), nor reach the network, open databases, load
    extensions, change settings or see variables of Python.

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
    """Close a connection in the end, unless what was interrupted is still at work over it."""
    try:
        yield
    finally:
        if not unfinished():
            connection.close()


def query(tables: Tables | Callable[[], Tables], sql: str, parameters: Mapping[str, Any] | None = None) -> pl.DataFrame:
    """Answer one SQL query over the tables; `$name` in it stands for a parameter. Of several statements, the last answers.

    Tables may be given as a function that makes them, so that Ctrl-C is heard while it does.

    A `RenamedColumnWarning` names columns of the tables it names that have another name in SQL, as `sql_names` says.

    Raises
    ------
    ParameterError
        the query is no text
    QueryError
        with DuckDB's own message in one line, and the names of the tables
    KeyboardInterrupt
        Ctrl-C, while tables are computed too; see `apframe.interruption.beside`

    >>> query({"t": pl.LazyFrame({"a": [1, 2]})}, "SELECT sum(a) AS total FROM t WHERE a >= $least", {"least": 2}).item()
    2
    """
    connection, renamed = beside(lambda: _open(tables() if callable(tables) else tables), lambda: None)
    _warn_of_renamed({table: names for table, names in renamed.items() if mentions(sql, table)})
    with closing(connection):
        return answer(connection, sql, parameters)


def answer(connection: duckdb.DuckDBPyConnection, sql: str, parameters: Mapping[str, Any] | None = None) -> pl.DataFrame:
    """Answer one SQL query over an open connection, as `query` does; a statement without an answer gives an empty frame.

    After Ctrl-C the connection may be at work for a while still; the next call waits for it.

    Raises
    ------
    QueryError
        with DuckDB's own message in one line, and the names of the tables
    ParameterError
        the query is no text
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
        with suppress(duckdb.ConnectionException):  # it is closed by now
            connection.interrupt()

    return beside(lambda: _answer(connection, sql, parameters, is_stopped), stop)


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
        raise QueryError(f"{message}: two columns have one name; join with USING, or name them with AS") from None
    except RuntimeError as error:
        if str(error) != "Query interrupted":
            raise
        raise KeyboardInterrupt from None
    except (duckdb.Error, pl.exceptions.PolarsError) as error:  # the latter, where an answer breaks off in the middle
        _refuse_interrupted(error)
        message = " ".join(str(error).removeprefix("got external error: ").split("\n\nLINE ")[0].split())
        unread = re.search(r"\bFormatError: (.*)", message)
        if unread is not None:  # from reading a stored table, on its way through DuckDB
            raise FormatError(unread[1]) from None
        message += _hint(message, sql)
        try:
            names = ", ".join(columns_of_tables(connection))
        except duckdb.Error:  # a transaction that failed takes ROLLBACK and nothing else, as the message says
            raise QueryError(message) from None
        raise QueryError(f"{message}; the tables are {names}" if names else f"{message}; there are no tables") from None


def _refuse_interrupted(error: Exception) -> None:
    """Ctrl-C in the middle of DuckDB's or Polars' work comes out as one of their errors."""
    if re.match("(got external error: )?INTERRUPT Error|Invalid Input Error: .* failed: KeyboardInterrupt:", str(error)):
        raise KeyboardInterrupt from None


def _refuse_types(result: duckdb.DuckDBPyRelation) -> None:
    """An error for columns of types that no frame has: Polars panics at them."""
    for name, type_ in zip(result.columns, map(str, result.types), strict=True):
        foreign = re.search(r"\b(INTERVAL|UNION)\b", type_)
        if foreign is not None:
            raise QueryError(f"{name} is {type_}, which no table can hold; CAST({name} AS VARCHAR) makes it text")


def _within_calendar(answer: pl.DataFrame) -> pl.DataFrame:
    """The answer, or an error for dates that no calendar has, infinite ones too: Polars panics when it shows them."""
    for column in answer:
        per_day = _PER_DAY.get(getattr(column.dtype, "time_unit", None))
        if per_day is not None and column.dtype in (pl.Date, pl.Datetime):
            days = column.to_physical() // per_day
            if not days.is_between(_FIRST_DAY, _LAST_DAY).all():
                what = f"{column.name} has dates outside the years 1 to 9999"
                raise QueryError(f"{what}; CAST({column.name} AS VARCHAR) makes them text")
    return answer


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
    """The names of the columns of every table and view, these in the order in which they came to be; computes none of them.

    >>> with connect({"t": pl.LazyFrame({"a": [1], "b": [2]})}) as connection:
    ...     columns_of_tables(connection)
    {'t': ['a', 'b']}
    """
    columns = connection.execute(
        "SELECT table_name, list(column_name ORDER BY column_index) FROM duckdb_columns() WHERE NOT internal "
        "GROUP BY table_name, table_oid ORDER BY table_oid"
    )
    return dict(columns.fetchall())


def write_database(path: str | Path, tables: Mapping[str, pl.LazyFrame | Iterable[pl.LazyFrame]]) -> None:
    """Write the tables as a DuckDB file, with `average_precision`, and a table `apframe` (version, created) that marks it.

    A table that is given as several frames of one schema is written part by part, so that only one of them is held. The file
    appears whole or not at all; one that apframe wrote is replaced. Enum columns arrive as text. Columns are called as in
    `connect`, with the same warning.

    Raises
    ------
    OutputError
        something else is there, the file is open elsewhere, or it cannot be written

    >>> import duckdb, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_database(f"{folder}/a.duckdb", {"t": pl.LazyFrame({"a": [7]})})
    ...     with duckdb.connect(f"{folder}/a.duckdb") as connection:
    ...         connection.sql("FROM t").fetchall()
    [(7,)]
    """
    import duckdb

    path = to_write(path)
    refuse_foreign_file(path)
    renamed: dict[str, dict[str, str]] = {}
    with replacing(path) as part:
        try:
            with duckdb.connect(part) as connection:
                connection.execute(_macro())
                for name, table in tables.items():
                    if isinstance(table, pl.LazyFrame) and (names := sql_names(table.collect_schema().names())):
                        renamed[name], table = names, table.rename(names)
                    _write_table(connection, name, [table] if isinstance(table, pl.LazyFrame) else table)
                connection.execute(f"CREATE TABLE {_MARK} AS SELECT $version AS version, $created AS created", _mark())
                connection.execute("CHECKPOINT")  # closing does the same, and says nothing if the disk is full
            refuse_foreign_file(path)  # that came there since
        except duckdb.Error as error:
            raise OutputError(f"{path}: cannot be written ({reason(error)})") from error
    with writing(path):
        path.with_name(f"{path.name}.wal").unlink(missing_ok=True)  # what was left of the file that was there
    _warn_of_renamed(renamed)


def refuse_foreign_file(path: str | Path) -> None:
    """Raise an OutputError if a database cannot be written there because the place holds something else."""
    import duckdb

    path = to_write(path)
    if not is_utf8(str(path)):
        raise OutputError(f"{path}: the name is not UTF-8 text; name another file")
    if kind_at(path) is None:
        return
    if is_folder(path):
        raise OutputError(f"{path}: this is a folder; name a file")
    remedy = "name another file"
    try:
        with path.open("rb") as file:  # a file of which DuckDB would make something is left alone
            is_database = file.read(12)[8:] == b"DUCK"
        if is_database:
            with duckdb.connect(path, read_only=True) as connection:
                connection.execute(f"SELECT version, created FROM {_MARK}")
            return
    except (duckdb.CatalogException, duckdb.BinderException):
        pass  # it has no such table, or one with other columns
    except duckdb.Error as error:
        raise OutputError(f"{path}: is open elsewhere, or damaged ({reason(error)}); close it, or {remedy}") from None
    except OSError as error:
        raise OutputError(f"{path}: cannot be read ({reason(error)}); {remedy}") from None
    raise OutputError(f"{path}: is there already and is not a database that apframe wrote; {remedy}")


def _write_table(connection: duckdb.DuckDBPyConnection, name: str, parts: Iterable[pl.LazyFrame]) -> None:
    quoted = '"{}"'.format(name.replace('"', '""'))
    as_text = pl.col(pl.Enum, pl.Categorical).cast(pl.String)
    verb = f"CREATE TABLE {quoted} AS"
    for part in parts:
        connection.register("apframe part", part.with_columns(as_text).collect())
        connection.execute(f'{verb} FROM "apframe part"')
        connection.unregister("apframe part")
        verb = f"INSERT INTO {quoted}"
    if verb.startswith("CREATE"):
        raise ParameterError(f"{name}: no frame was given; a table without rows is a frame without rows")


def _mark() -> dict[str, str]:
    from importlib.metadata import version

    return {"version": version("apframe"), "created": datetime.now(UTC).isoformat(timespec="seconds")}


def _macro() -> str:
    """The aggregate, in one piece: a macro that calls another fails once its file is attached to another database.

    The positives of a group are kept as the list of their ranks. The step definition sums k / rank over it. The others sum the
    envelope times what each positive adds to the share of the recall axis that is reached; taken by parts, from the last
    positive to the first, that is the share times what each adds to the envelope, so that one fold does.
    """
    n = "max(n_positives)::DOUBLE"
    positive = "coalesce(relevant::DOUBLE > 0, false)"
    # what a lambda is given starts with _ap_, as columns that a query names must mean themselves inside it
    ranks = f"""list_filter(list_transform(
        list({positive} ORDER BY score DESC, row(then_by), {positive}) FILTER (score IS NOT NULL),
        lambda _ap_positive, _ap_rank: CASE WHEN _ap_positive THEN _ap_rank END), lambda _ap_rank: _ap_rank IS NOT NULL)"""
    shares = "\n".join(
        f"WHEN '{levels}' THEN len(list_filter([{_doubles(levels.levels)}], "
        f"lambda _ap_level: {reached.format(n=n)})) / {len(levels.levels)}"
        for levels, reached in _REACHED_AT.items()
    )
    best = "greatest(_ap_later.best, _ap_point.best)"
    names = ", ".join(f"'{name}'" for name in SQL_DEFINITIONS)
    return f"""
    CREATE MACRO average_precision(relevant, score, n_positives, definition := 'step', then_by := NULL) AS CASE
        WHEN coalesce(definition NOT IN ({names}), true)
            THEN error(concat('no definition ', definition, ' in SQL; there are {", ".join(SQL_DEFINITIONS)}'))
        WHEN min(n_positives) < max(n_positives) THEN
            error('n_positives has several values in one group; give one, all positives that the group has')
        WHEN NOT (isfinite({n}) AND {n} = floor({n}) AND {n} >= 0) THEN
            error('n_positives is a whole number, 0 or more; there are others among those given')
        WHEN bool_or(isnan(relevant::DOUBLE)) THEN error('the relevance is NaN in some rows; correct or remove them')
        WHEN regexp_matches(max(score)::VARCHAR, '^\\(?-?nan(,|\\)|$)') THEN  -- the largest of all, to DuckDB
            error('the score is NaN in some rows; correct or remove them')
        WHEN len({ranks}) > {n} THEN error(concat('n_positives is smaller than the positives in the list (',
            {n}::BIGINT, ' given where ', len({ranks}), ' are present); count all positives there are, retrieved or not'))
        WHEN {n} > 0 THEN coalesce(CASE definition
            WHEN 'step' THEN list_sum(list_transform({ranks}, lambda _ap_rank, _ap_k: _ap_k / _ap_rank)) / {n}
            ELSE list_reduce(
                list_reverse(list_transform({ranks}, lambda _ap_rank, _ap_k: {{
                    best: _ap_k / _ap_rank,
                    share: (CASE definition WHEN 'interpolated' THEN _ap_k / {n} {shares} END)::DOUBLE,
                    total: 0::DOUBLE}})),
                lambda _ap_later, _ap_point: {{
                    best: {best},
                    share: _ap_point.share,
                    total: _ap_later.total + ({best} - _ap_later.best) * _ap_point.share}},
                {{best: 0::DOUBLE, share: 0::DOUBLE, total: 0::DOUBLE}}).total
            END, 0)
    END
    """


def _doubles(levels: Iterable[float]) -> str:
    return ", ".join(f"{level!r}::DOUBLE" for level in levels)


def _plain_integers(answer: pl.DataFrame) -> pl.DataFrame:
    """DuckDB sums integers as 128-bit numbers, which come over as decimals; those that fit become integers again."""
    integers = answer.select(pl.col(pl.Decimal(38, 0)).cast(pl.Int64, strict=False))
    return answer.with_columns(column for column in integers if column.null_count() == answer[column.name].null_count())
