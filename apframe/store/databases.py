"""DuckDB files of tables, with average precision as an aggregate, written completely or not at all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from apframe.exceptions import FormatError, OutputError, ParameterError
from apframe.formats.files import writing
from apframe.formats.replacing import replacing
from apframe.paths import is_folder, is_utf8, kind_at, literal, to_write
from apframe.store.aggregate import average_precision_macro
from apframe.store.sql import sql_names, warn_of_renamed
from apframe.threads import pool
from apframe.wording import reason

if TYPE_CHECKING:
    from concurrent.futures import Future

    import duckdb

_MARK = "apframe"  # the table that marks a file as written by apframe
_LENGTH = 100_000  # minimum number of rows that are written at once


def open_database(path: str | Path, *, read_only: bool = True) -> duckdb.DuckDBPyConnection:
    """Open a connection to a DuckDB file, such as `write_database` writes.

    Raises
    ------
    FormatError
        the file is damaged, was written by another version of DuckDB, or is open elsewhere
    """
    import duckdb

    try:
        return duckdb.connect(literal(path), read_only=read_only)
    except duckdb.Error as error:
        raise FormatError(f"cannot be opened ({' '.join(str(error).split())})", path=path) from None


def is_database(path: str | Path) -> bool:
    """Return True if there is a DuckDB file at a path."""
    if kind_at(path) != "file":
        return False
    with Path(path).open("rb") as file:
        return file.read(12)[8:] == b"DUCK"


def write_database(path: str | Path, tables: Mapping[str, pl.LazyFrame | Iterable[pl.LazyFrame]]) -> None:
    """Write the tables as a DuckDB file, with `average_precision`, and a table `apframe` (version, created) that marks it.

    A table may be several frames of one schema; they are written part by part, small parts together, so that the table is never
    in memory as a whole. The file appears complete or not at all, and replaces a file written by apframe. Enum columns become
    text. Columns are named as in `connect`, with the same warning.

    Raises
    ------
    OutputError
        the path holds something else, the file is open elsewhere, or it cannot be written

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
                connection.execute(average_precision_macro())
                for name, table in tables.items():
                    if isinstance(table, pl.LazyFrame) and (names := sql_names(table.collect_schema().names())):
                        renamed[name], table = names, table.rename(names)
                    _write_table(connection, name, [table] if isinstance(table, pl.LazyFrame) else table)
                connection.execute(f"CREATE TABLE {_MARK} AS SELECT $version AS version, $created AS created", _mark())
                connection.execute("CHECKPOINT")  # closing does the same, but reports no error if the disk is full
            refuse_foreign_file(path)  # which may have appeared since
        except duckdb.Error as error:
            raise OutputError(f"cannot be written ({reason(error)})", path=path) from error
    with writing(path):
        path.with_name(f"{path.name}.wal").unlink(missing_ok=True)  # a remainder of the replaced file
    warn_of_renamed(renamed)


def refuse_foreign_file(path: str | Path) -> None:
    """Raise an OutputError if a database cannot be written to a path because something else is there."""
    import duckdb

    path = to_write(path)
    if not is_utf8(str(path)):
        raise OutputError("the name is not UTF-8 text", "name another file", path=path)
    if kind_at(path) is None:
        return
    if is_folder(path):
        raise OutputError("this is a folder", "name a file", path=path)
    remedy = "name another file"
    try:
        if is_database(path):  # otherwise DuckDB might turn the file into a database
            with duckdb.connect(path, read_only=True) as connection:
                connection.execute(f"SELECT version, created FROM {_MARK}")
            return
    except (duckdb.CatalogException, duckdb.BinderException):
        pass  # it has no such table, or the table has other columns
    except duckdb.Error as error:
        raise OutputError(f"is open elsewhere, or damaged ({reason(error)})", f"close it, or {remedy}", path=path) from None
    except OSError as error:
        raise OutputError(f"cannot be read ({reason(error)})", remedy, path=path) from None
    raise OutputError("exists and is not a database written by apframe", remedy, path=path)


def _write_table(connection: duckdb.DuckDBPyConnection, name: str, parts: Iterable[pl.LazyFrame]) -> None:
    quoted = '"{}"'.format(name.replace('"', '""'))
    as_text = pl.col(pl.Enum, pl.Categorical).cast(pl.String)

    def write(verb: str, frame: pl.DataFrame) -> None:
        connection.register("apframe part", frame.with_columns(as_text))
        connection.execute(f'{verb} FROM "apframe part"')
        connection.unregister("apframe part")

    verb = f"CREATE TABLE {quoted} AS"
    insertion: Future[None] | None = None
    with pool() as others:  # one part is written while the next is computed
        for frame in _of_some_length(parts):
            if insertion:
                insertion.result()
            insertion = others.submit(write, verb, frame)
            verb = f"INSERT INTO {quoted}"
    if insertion:
        insertion.result()
    else:
        raise ParameterError(f"{name} has no frame", "pass a frame without rows for an empty table")


def _of_some_length(parts: Iterable[pl.LazyFrame]) -> Iterator[pl.DataFrame]:
    """Yield the parts, small ones combined, because DuckDB takes as long for one row as for thousands."""
    frames: list[pl.DataFrame] = []
    for part in parts:
        frames.append(part.collect())
        if sum(frame.height for frame in frames) >= _LENGTH:
            yield pl.concat(frames)
            frames = []
    if frames:
        yield pl.concat(frames)


def _mark() -> dict[str, str]:
    from importlib.metadata import version

    return {"version": version("apframe"), "created": datetime.now(UTC).isoformat(timespec="seconds")}
