"""DuckDB files: tables written with average precision as an aggregate, whole or not at all."""

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

_MARK = "apframe"  # the table that marks a file as ours
_LENGTH = 100_000  # rows that are written at once, at least


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
        raise FormatError(f"cannot be opened ({' '.join(str(error).split())})", path=path) from None


def is_database(path: str | Path) -> bool:
    """Whether there is a DuckDB file at a path."""
    if kind_at(path) != "file":
        return False
    with Path(path).open("rb") as file:
        return file.read(12)[8:] == b"DUCK"


def write_database(path: str | Path, tables: Mapping[str, pl.LazyFrame | Iterable[pl.LazyFrame]]) -> None:
    """Write the tables as a DuckDB file, with `average_precision`, and a table `apframe` (version, created) that marks it.

    A table that is given as several frames of one schema is written part by part, small ones together, so that it is never
    held whole. The file appears whole or not at all; one that apframe wrote is replaced. Enum columns arrive as text. Columns
    are called as in `connect`, with the same warning.

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
                connection.execute(average_precision_macro())
                for name, table in tables.items():
                    if isinstance(table, pl.LazyFrame) and (names := sql_names(table.collect_schema().names())):
                        renamed[name], table = names, table.rename(names)
                    _write_table(connection, name, [table] if isinstance(table, pl.LazyFrame) else table)
                connection.execute(f"CREATE TABLE {_MARK} AS SELECT $version AS version, $created AS created", _mark())
                connection.execute("CHECKPOINT")  # closing does the same, and says nothing if the disk is full
            refuse_foreign_file(path)  # that came there since
        except duckdb.Error as error:
            raise OutputError(f"cannot be written ({reason(error)})", path=path) from error
    with writing(path):
        path.with_name(f"{path.name}.wal").unlink(missing_ok=True)  # what was left of the file that was there
    warn_of_renamed(renamed)


def refuse_foreign_file(path: str | Path) -> None:
    """Raise an OutputError if a database cannot be written there because the place holds something else."""
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
        if is_database(path):  # a file of which DuckDB would make something is left alone
            with duckdb.connect(path, read_only=True) as connection:
                connection.execute(f"SELECT version, created FROM {_MARK}")
            return
    except (duckdb.CatalogException, duckdb.BinderException):
        pass  # it has no such table, or one with other columns
    except duckdb.Error as error:
        raise OutputError(f"is open elsewhere, or damaged ({reason(error)})", f"close it, or {remedy}", path=path) from None
    except OSError as error:
        raise OutputError(f"cannot be read ({reason(error)})", remedy, path=path) from None
    raise OutputError("is there already and is not a database that apframe wrote", remedy, path=path)


def _write_table(connection: duckdb.DuckDBPyConnection, name: str, parts: Iterable[pl.LazyFrame]) -> None:
    quoted = '"{}"'.format(name.replace('"', '""'))
    as_text = pl.col(pl.Enum, pl.Categorical).cast(pl.String)

    def write(verb: str, frame: pl.DataFrame) -> None:
        connection.register("apframe part", frame.with_columns(as_text))
        connection.execute(f'{verb} FROM "apframe part"')
        connection.unregister("apframe part")

    verb = f"CREATE TABLE {quoted} AS"
    insertion: Future[None] | None = None
    with pool() as others:  # one part is written while the next is made
        for frame in _of_some_length(parts):
            if insertion:
                insertion.result()
            insertion = others.submit(write, verb, frame)
            verb = f"INSERT INTO {quoted}"
    if insertion:
        insertion.result()
    else:
        raise ParameterError(f"{name}: no frame was given", "a table without rows is a frame without rows")


def _of_some_length(parts: Iterable[pl.LazyFrame]) -> Iterator[pl.DataFrame]:
    """The parts, small ones together: DuckDB takes as long for one row as for thousands."""
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
