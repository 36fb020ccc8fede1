"""`apframe sql` and `apframe upgrade`: query and rewrite stored evaluations."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import polars as pl

import apframe as apf
from apframe.cli.command_options import Command, argument, option, style_options
from apframe.cli.output import progress, show_table
from apframe.exceptions import ParameterError, QueryError
from apframe.formats.files import decoded, read_text
from apframe.paths import is_pattern
from apframe.show.terminal import one_line
from apframe.store.parquet import RETRIEVAL, read_manifest


@click.command("sql", cls=Command)
@argument(
    "folder", "DIR", type=click.Path(readable=False),
    help="folder written by `apframe eval --out` or `apframe rank --out`, a quoted pattern of many runs of eval such as "
    '"runs/*", or a DuckDB file',
)  # fmt: skip
@argument(
    "query", "[QUERY]", required=False, type=str,
    help="SQL in DuckDB's dialect, statements separated by ; (default: read from stdin)",
)  # fmt: skip
@option("--file", "-f", metavar="FILE", help="read the SQL from a text file; - is stdin")
@style_options()
@option("--unrestricted", help="allow SQL to read and write files, open databases, load extensions and change settings")
@click.pass_context
def query_evaluation(
    context: click.Context, folder: str, query: str | None, file: Path | None, style: str | None, unrestricted: bool
) -> None:
    """Query the tables of an evaluation with SQL.

    Tables of `apframe eval`: metrics, matches, curves, images, categories, annotations, detections, ... Tables of `apframe
    rank`: per_query, summary, coverage, matches, judgements, runs, queries.

    If a pattern selects many runs, their tables have a column run, and the table runs lists them. A terminal shows the first
    40 rows of an answer; pipes, --json and --csv get all rows.

    SHOW TABLES lists the tables, and DESCRIBE metrics lists the columns of one. Statements run one after another up to the
    first error; if there is a syntax error, none is run.

    SQL cannot read or write files, use the network, open other databases or change settings, and a DuckDB file is opened
    read-only. --unrestricted lifts all of these limits. CREATE TEMP TABLE always works.
    """
    source, text = _query_text(context, query, file)
    from apframe.store import sql  # for this alone

    def show(answer: pl.DataFrame) -> None:
        max_rows = 40 if sys.stdout.isatty() and style is None else answer.height
        show_table(answer.head(max_rows), style)
        if answer.height > max_rows:
            print(f"… {answer.height:,} rows; add LIMIT, or use --csv")

    with progress() as say:
        say("reading")
        connection = _opened(folder, text, unrestricted)
    with sql.closing(connection):
        with _located_in(source):
            statements = sql.statements(connection, text)
        if not statements:
            raise ParameterError(f"{source or 'the query'} has no SQL statement", "write one, such as SHOW TABLES")
        for number, statement in enumerate(statements, 1):
            with _located_in(source, f"statement {number}" if len(statements) > 1 else ""), progress() as say:
                say("querying")
                answer = sql.answer(connection, statement.query)
            if sql.has_rows(statement, answer):
                show(answer)


def _query_text(context: click.Context, query: str | None, file: Path | None) -> tuple[str, str]:
    """Return the name of the source and the SQL; the name is a file, "stdin", or empty if the SQL was an argument."""
    if query is not None and file is not None:
        context.fail("QUERY and --file cannot be combined.")
    if query is not None:
        return "", query
    if file is not None and str(file) != "-":
        return one_line(str(file)), read_text(file)
    text = "" if sys.stdin is None or sys.stdin.isatty() else decoded(Path("stdin"), sys.stdin.buffer.read())
    if not text.strip():
        context.fail(
            'There is no query. Give it as an argument, apframe sql DIR "SHOW TABLES", in a file, apframe sql DIR --file FILE, '
            "or on stdin, apframe sql DIR < FILE."
        )
    return "stdin", text


@contextmanager
def _located_in(*places: str) -> Iterator[None]:
    """Add to errors of SQL the file and statement in which they are."""
    try:
        yield
    except QueryError as error:
        where = ", ".join(filter(None, places))
        raise QueryError(f"{where}: {error}" if where else str(error)) from None


def _opened(folder: str, query: str, unrestricted: bool) -> Any:
    """Connect to the tables of a stored set, of many sets (only the tables that the query needs), or of a DuckDB file."""
    from apframe.store import databases, queryable, sql  # for this alone

    if databases.is_database(folder):
        connection = databases.open_database(folder, read_only=not unrestricted)
    else:
        connection = queryable.connection_for(_read_any(folder), query)
    if unrestricted:
        connection.execute("SET python_enable_replacements = false")  # tables are never Python variables here
    else:
        sql.restrict(connection)
    return connection


def _read_any(folder: str) -> Any:
    """Read an evaluation, or the runs that a pattern matches; a folder may have a name like run[1]."""
    if is_pattern(folder):
        return apf.scan_runs(folder)
    return (apf.read_run_evaluation if read_manifest(folder)["kind"] == RETRIEVAL else apf.read_evaluation)(folder)


@click.command("upgrade", cls=Command)
@argument("folders", "RUN...", nargs=-1, required=True, help="folders written by --out")
def upgrade_evaluations(folders: Sequence[Path]) -> None:
    """Rewrite stored evaluations of apframe 0.4 and 0.5.0 in place in today's layout; their numbers stay the same.

    They can also be read without an upgrade. If one folder cannot be read, none is rewritten.
    """
    for folder in folders:
        read_manifest(folder)
    for folder in folders:
        print(f"{one_line(str(folder))}: {'rewritten' if apf.upgrade_evaluation(folder) else 'already up to date'}")
