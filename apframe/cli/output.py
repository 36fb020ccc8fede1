"""The output of commands: tables, lines and a spinner."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import polars as pl

from apframe.exceptions import QueryError
from apframe.show.terminal import Terminal, one_line

if TYPE_CHECKING:
    from apframe.show.text_tables import Expendable

JSON_VERSION = 1
"""Version of --json output. It rises when a key is renamed, removed or redefined, but not when keys are added.

Objects contain it as `json_version`. Lists have no place for it, so `apframe --version --json` prints it.
"""


def show_table(answer: pl.DataFrame, style: str | None, digits: int | None = None, expendable: Expendable = ()) -> None:
    """Print a table: for people, for programs ("json", "csv") or for papers ("markdown", "latex").

    For people and papers, `digits` is the number of decimals. A terminal shows the columns that fit its width and leaves out
    the columns of `expendable` first.
    """
    if style == "json":
        if any("Binary" in str(dtype) for dtype in answer.dtypes):
            raise QueryError("JSON cannot contain bytes", "convert them to text with hex(), or choose other columns")
        stdout().write_json(answer.write_json())
    elif style == "csv":
        if any(dtype.is_nested() for dtype in answer.dtypes):
            raise QueryError("CSV cannot contain lists or structs", "use --json, or choose other columns")
        if pl.Binary in answer.dtypes:
            raise QueryError("CSV cannot contain bytes", "convert them to text with hex(), or choose other columns")
        stdout().write_data(answer.write_csv())
    elif style is not None:
        from apframe.show.markup import to_latex, to_markdown

        markup = to_markdown if style == "markdown" else to_latex
        print(markup(answer) if digits is None else markup(answer, digits))
    else:
        from apframe.show.text_tables import table_lines

        print(table_lines(answer, digits, plain=is_plain(), width=terminal_width(), expendable=expendable))


def terminal_width() -> int | None:
    """Return the number of columns of the terminal; None if the output goes to a file or pipe."""
    return shutil.get_terminal_size().columns if stdout().isatty() else None


def is_plain() -> bool:
    """Return True if tables are drawn in ASCII, because the encoding of the output has no box-drawing characters."""
    return not stdout().holds("┌╞│")


def print_lines(lines: Sequence[str]) -> None:
    """Print lines that may contain names from the data; on a terminal they are wrapped between words."""
    width = terminal_width()
    for line in map(one_line, lines):
        if width is None or len(line) <= width:
            print(line)
        else:
            indent = line[: len(line) - len(line.lstrip())]
            print(textwrap.fill(line, max(width, 20), subsequent_indent=f"{indent}  ", break_on_hyphens=False))


def stdout() -> Terminal:
    """Return the stream that `main` writes to; if a command is invoked without `main`, a stream around the caller's."""
    return sys.stdout if isinstance(sys.stdout, Terminal) else Terminal(sys.stdout, "stdout")


@contextmanager
def progress() -> Iterator[Any]:
    """Show a spinner on stderr that says what is being done, if stderr is a terminal."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console  # takes a while to import, and is for people only
    from rich.text import Text

    from apframe.progress import stopped_below_bars

    stderr = sys.stderr.stream if isinstance(sys.stderr, Terminal) else sys.stderr
    spinner = "dots" if "utf" in (stderr.encoding or "").lower() else "line"
    with Console(file=stderr).status("starting", spinner=spinner) as status, stopped_below_bars(status):
        yield lambda text: status.update(Text(one_line(text)))
