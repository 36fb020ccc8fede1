"""What commands print: tables, lines and what is being done."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import polars as pl

from apframe.exceptions import QueryError
from apframe.show.markup import to_latex, to_markdown
from apframe.show.terminal import Terminal, one_line, table_lines

JSON_VERSION = 1
"""Of what --json prints: a larger one when a key is renamed or removed, or means something else. Keys may be added within one.

Objects have it as `json_version`. Lists have no place for it, so `apframe --version --json` says which version they are of.
"""


def show_table(answer: pl.DataFrame, style: str | None, digits: int | None = None) -> None:
    """Print a table: for people (numbers with so many digits), for programs ("json", "csv") or papers ("markdown", "latex")."""
    if style == "json":
        if any("Binary" in str(dtype) for dtype in answer.dtypes):
            raise QueryError("JSON holds no bytes", "use hex() to make them text, or choose other columns")
        stdout().write_json(answer.write_json())
    elif style == "csv":
        if any(dtype.is_nested() for dtype in answer.dtypes):
            raise QueryError("CSV holds no lists or structs", "use --json, or choose other columns")
        stdout().write_data(answer.write_csv())
    elif style is not None:
        markup = to_markdown if style == "markdown" else to_latex
        print(markup(answer) if digits is None else markup(answer, digits))
    else:
        width = shutil.get_terminal_size().columns if stdout().isatty() else None
        print(table_lines(answer, digits, plain=not stdout().holds("┌╞│"), width=width))


def print_lines(lines: Sequence[str]) -> None:
    """Print lines that may hold names from the data."""
    for line in lines:
        print(one_line(line))


def stdout() -> Terminal:
    """The stream that `main` writes to, or one around that of a caller who invokes a command alone."""
    return sys.stdout if isinstance(sys.stdout, Terminal) else Terminal(sys.stdout, "stdout")


@contextmanager
def progress() -> Iterator[Any]:
    """A spinner on stderr that says what is being done; nothing where stderr is not a terminal."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console  # takes a while to import, and is for people only
    from rich.text import Text

    stderr = sys.stderr.stream if isinstance(sys.stderr, Terminal) else sys.stderr
    spinner = "dots" if "utf" in (stderr.encoding or "").lower() else "line"
    with Console(file=stderr).status("starting", spinner=spinner) as status:
        yield lambda text: status.update(Text(one_line(text)))
