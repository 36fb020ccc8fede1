"""`apframe sql` and `apframe upgrade`: stored evaluations."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import polars as pl

import apframe as apf
from apframe.cli.declared import Argument, Option
from apframe.cli.options import Latex, Markdown, one_style
from apframe.cli.output import progress, show_table
from apframe.exceptions import ParameterError
from apframe.paths import is_pattern
from apframe.show.terminal import one_line
from apframe.store.parquet import RETRIEVAL, read_manifest


def query_evaluation(
    folder: Annotated[
        str,
        Argument(
            metavar="DIR",
            help="folder that `apframe eval --out` or `apframe rank --out` wrote; a pattern for many runs of eval, in quotes: "
            '"runs/*"; or a DuckDB file',
        ),
    ],
    query: Annotated[
        str | None,
        Argument(metavar="[QUERY]", help="SQL in DuckDB's dialect, statements separated by ; (default: a prompt)"),
    ] = None,
    as_json: Annotated[bool, Option("--json", help="print a list of JSON objects")] = False,
    as_csv: Annotated[bool, Option("--csv", help="print comma-separated values")] = False,
    as_markdown: Markdown = False,
    as_latex: Latex = False,
    unrestricted: Annotated[
        bool,
        Option("--unrestricted", help="let SQL read and write files, open databases, load extensions and change settings"),
    ] = False,
) -> None:
    """Query the tables of an evaluation with SQL.

    Tables of `apframe eval`: metrics, matches, curves, images, categories, annotations, detections, ... Tables of `apframe
    rank`: per_query, summary, coverage, matches, judgements, runs, queries.

    If a pattern selects many runs, their tables have a column run, and the table runs lists them. A terminal shows the first
    40 rows of an answer; pipes, --json and --csv get all rows.

    Without QUERY, statements are read from a prompt, or from stdin, each ended by a semicolon. At the prompt, .help lists
    commands.

    SQL cannot read or write files, use the network, open other databases or change settings, and a DuckDB file is opened
    read-only. --unrestricted lifts all of this. CREATE TEMP TABLE always works.
    """
    style = one_style(json=as_json, csv=as_csv, markdown=as_markdown, latex=as_latex)
    if query is not None and not query.strip(" ;\n\t"):
        raise ParameterError("the query is empty", "leave it out for a prompt")
    from apframe.cli import prompt  # for this alone
    from apframe.store import sql

    def show(answer: pl.DataFrame) -> None:
        most = 40 if sys.stdout.isatty() and style is None else answer.height
        show_table(answer.head(most), style)
        if answer.height > most:
            print(f"… {answer.height:,} rows; add LIMIT, or use --csv")

    with progress() as say:
        say("reading")
        connection = _opened(folder, query, unrestricted)
    with sql.closing(connection):
        if query is None:
            prompt.run_prompt(connection, show)
        elif len(prompt.statements(query)) > 1:
            prompt.run_script(prompt.Prompt(connection, show), [query])
        else:
            with progress() as say:
                say("querying")
                answer = sql.answer(connection, query)
            show(answer)


def _opened(folder: str, query: str | None, unrestricted: bool) -> Any:
    """A connection to the tables of a set, of many, or of a DuckDB file; of many, the tables that the query needs."""
    from apframe.store import databases, results, sql  # for this alone

    if databases.is_database(folder):
        connection = databases.open_database(folder, read_only=not unrestricted)
    else:
        evaluation = _read_any(folder)
        connection = evaluation.connection() if query is None else results.connection_for(evaluation, query)
    if unrestricted:
        connection.execute("SET python_enable_replacements = false")  # a table is none of Python's variables here
    else:
        sql.restrict(connection)
    return connection


def _read_any(folder: str) -> Any:
    """An evaluation, or the runs that a pattern matches; a folder may be called run[1]."""
    if is_pattern(folder):
        return apf.scan_runs(folder)
    return (apf.read_run_evaluation if read_manifest(folder)["kind"] == RETRIEVAL else apf.read_evaluation)(folder)


def upgrade_evaluations(
    folders: Annotated[list[Path], Argument(metavar="RUN...", help="folders that --out wrote")],
) -> None:
    """Rewrite stored evaluations of earlier apframe versions in place, in today's layout; their numbers stay the same.

    Evaluations of this schema version and of the two before it can be read without an upgrade. If one folder cannot be read,
    none is rewritten.
    """
    for folder in folders:
        read_manifest(folder)
    for folder in folders:
        print(f"{one_line(str(folder))}: {'rewritten' if apf.upgrade_evaluation(folder) else 'already up to date'}")
