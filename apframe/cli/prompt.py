"""A prompt for SQL: statements from a terminal, or from a pipe, over one connection that stays open."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from apframe import ctrl_c
from apframe.exceptions import ApframeError, QueryError, did_you_mean
from apframe.interruption import settle
from apframe.show.terminal import one_line
from apframe.store import sql

if TYPE_CHECKING:
    import duckdb

Show = Callable[[pl.DataFrame], None]
_FIRST, _FURTHER = "apframe> ", "    ...> "
_COMMANDS = {
    ".tables": "the tables and their columns",
    ".schema": "the columns of a table and their types: .schema TABLE",
    ".help": "this",
    ".quit": "leave, as .exit and Ctrl-D do",
    ".exit": "leave",
}
_HELP = """SQL in DuckDB's dialect; a statement ends with ; and may take several lines. Ctrl-C abandons it. Tab completes names.
Average precision of each group: SELECT ..., average_precision(relevant, score, n_positives) FROM ... GROUP BY ...
    definition := 'coco101' names another definition than 'step'; then_by := ... orders equal scores, ascending"""
_AT_TABLE = re.compile(r"\b(from|join|\.schema)\s+$", re.IGNORECASE)
_COMMENTS = re.compile(r"--[^\n]*|/\*.*?\*/", re.DOTALL)
_QUOTED = r"'(?:[^']|'')*(?:'|\Z)|\"(?:[^\"]|\"\")*(?:\"|\Z)|\$(?P<tag>\w*)\$.*?(?:\$(?P=tag)\$|\Z)"
_PIECES = re.compile(rf"{_COMMENTS.pattern}|/\*.*|{_QUOTED}|(?P<end>;)", re.DOTALL)


def run_prompt(connection: duckdb.DuckDBPyConnection, show: Show) -> None:
    """Answer statements from stdin until it ends or `.quit`; `show` prints the answers.

    In a terminal an error is printed as one line, and the prompt goes on. From a pipe there is no prompt; the last statement
    needs no semicolon.

    Raises
    ------
    QueryError
        the first error in what comes from a pipe
    """
    prompt = Prompt(connection, show)
    if not sys.stdin.isatty():
        run_script(prompt, sys.stdin)
        return
    with _line_editing(prompt) as remember:
        _converse(prompt, remember)


class Prompt:
    """Lines in, answers out: keeps the lines of a statement that has not ended.

    >>> with sql.connect({"t": pl.LazyFrame({"a": [1, 2]})}) as connection:
    ...     prompt = Prompt(connection, lambda answer: print(answer.rows()))
    ...     for line in ["SELECT max(a)", "FROM t; SELECT 7;"]:
    ...         for statement in prompt.take(line):
    ...             prompt.run(statement)
    [(2,)]
    [(7,)]
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, show: Show) -> None:
        self.connection, self.show = connection, show
        self.pending = ""

    def take(self, line: str) -> list[str]:
        """Add a line; the statements that have ended with it, or the command that it is."""
        bare = line.strip().rstrip(";").strip()
        if self.pending:
            word = bare.split(maxsplit=1)[:1]
            if word and word[0] in _COMMANDS and not _split(self.pending + ";")[-1]:  # nor in a text or comment
                return [bare]
        elif bare.startswith(".") or f".{bare.lower()}" in _COMMANDS:
            return [bare if bare.startswith(".") else f".{bare.lower()}"]
        *ended, self.pending = _split(self.pending + line.rstrip("\n") + "\n")
        return ended

    def rest(self) -> list[str]:
        """The statement that the end of the input has ended, if there is one."""
        ended, self.pending = [self.pending] if self.pending else [], ""
        return ended

    def run(self, statement: str) -> None:
        """Answer a statement, or do what a command says.

        Raises
        ------
        QueryError
            what DuckDB says; no such command
        EOFError
            the command to leave
        """
        settle()
        if statement.startswith("."):
            self._obey(statement)
            return
        answer = sql.answer(self.connection, statement)
        if self._is_question(statement) or answer.columns not in ([], ["Count"], ["Success"]):
            self.show(answer)

    def _is_question(self, statement: str) -> bool:
        """Does it ask for rows, and nothing else? CREATE, SET and their like are answered by silence."""
        import duckdb

        parsed = self.connection.extract_statements(statement)
        return [one.expected_result_type for one in parsed] == [[duckdb.ExpectedResultType.QUERY_RESULT]]

    def _obey(self, command: str) -> None:
        name, _, table = command.partition(" ")
        if name == ".schema":
            if not table.strip():
                tables = ", ".join(sql.columns_of_tables(self.connection))
                raise QueryError(f".schema takes a table; there are {tables}" if tables else ".schema: there are no tables")
            quoted = table.strip().strip('"').replace('"', '""')
            self.show(sql.answer(self.connection, f'DESCRIBE "{quoted}"'))
            return
        if command in (".quit", ".exit"):
            raise EOFError
        if command == ".tables":
            columns = sql.columns_of_tables(self.connection)
            width = max(map(len, columns), default=0)
            lines = [one_line(f"{table:<{width}}  {', '.join(names)}") for table, names in columns.items()]
        elif command == ".help":
            lines = [_HELP, *(f"{name:<8} {meaning}" for name, meaning in _COMMANDS.items())]
        else:
            raise QueryError(f"no command {command}", did_you_mean(command, [*_COMMANDS]))
        sys.stdout.write("".join(f"{line}\n" for line in lines))

    def complete(self, text: str, before: str = "") -> list[str]:
        """What a word that was begun may become: a table after FROM and JOIN, a column after `table.`, otherwise either.

        A command stands at the start of a line; `before` is what the line has before the word.

        >>> with sql.connect({"tables_of_mine": pl.LazyFrame({"tall": [1]})}) as connection:
        ...     prompt = Prompt(connection, print)
        ...     prompt.complete("ta"), prompt.complete("tables_of_mine."), prompt.complete(".ta")
        (['tables_of_mine', 'tall'], ['tables_of_mine.tall'], ['.tables'])
        """
        import duckdb

        if text.startswith("."):
            return [] if before.strip() else sorted(name for name in _COMMANDS if name.startswith(text))
        try:
            columns = sql.columns_of_tables(self.connection)
        except duckdb.Error:  # nothing can be asked in a transaction that failed
            return []
        table, dot, word = text.rpartition(".")
        every = {name for names in columns.values() for name in names}
        alone = set(columns) if _AT_TABLE.search(before) else every | columns.keys()
        names = columns.get(table, every) if dot else alone
        return sorted(f"{table}{dot}{name}" for name in names if name.lower().startswith(word.lower()))


def run_script(prompt: Prompt, lines: Iterable[str]) -> None:
    """Answer all statements of a text; the first error ends it.

    >>> with sql.connect({}) as connection:
    ...     run_script(Prompt(connection, lambda answer: print(answer.item())), ["SELECT 1;", "SELECT", "2"])
    1
    2
    """
    try:
        for line in lines:
            for statement in prompt.take(line):
                prompt.run(statement)
    except EOFError:
        return
    for statement in prompt.rest():
        prompt.run(statement)


def _converse(prompt: Prompt, remember: Callable[[str], None]) -> None:
    lines: list[str] = []  # of the statement that has not ended
    shows_prompt = sys.stdout.isatty()  # answers that go to a file are not mixed with it
    while True:
        statements: list[str] = []
        try:
            line = input((_FURTHER if prompt.pending else _FIRST) if shows_prompt else "")
            statements = prompt.take(line)
            if prompt.pending and statements and statements[0].startswith("."):
                remember(line)
            else:
                lines.append(line)
            if not prompt.pending:  # what was typed comes back whole; a comment ends with its line
                remember(("\n" if any("--" in part for part in lines) else " ").join(lines))
                lines.clear()
            for statement in statements:
                _run_or_say_why_not(prompt, statement)
        except KeyboardInterrupt:
            ctrl_c.answered()
            if statements:
                sys.stdout.flush()
                sys.stderr.write("\ninterrupted\n")
            else:
                prompt.pending = ""
                lines.clear()
                sys.stdout.write("\n")
        except EOFError:
            break
    settle()
    if shows_prompt:
        sys.stdout.write("\n")


def _run_or_say_why_not(prompt: Prompt, statement: str) -> None:
    try:
        prompt.run(statement)
    except ApframeError as error:
        sys.stdout.flush()
        sys.stderr.write(f"error: {one_line(str(error))}\n")


def _split(text: str) -> list[str]:
    """The statements that a semicolon ends, and last what follows them; what is only comments is left out.

    >>> _split("SELECT ';'; -- ; \\n SELECT")
    ["SELECT ';';", ' -- ; \\n SELECT']
    """
    ends = [piece.end() for piece in _PIECES.finditer(text) if piece["end"]]
    *ended, rest = (text[start:end] for start, end in zip([0, *ends], [*ends, len(text)], strict=True))
    return [*(part.strip() for part in ended if _says_something(part)), rest if _says_something(rest) else ""]


def statements(text: str) -> list[str]:
    """All statements of a text, the last of which needs no semicolon.

    >>> statements("SELECT 1; SELECT 2")
    ['SELECT 1;', ' SELECT 2']
    """
    return [part for part in _split(text) if part]


def _says_something(part: str) -> bool:
    return bool(_COMMENTS.sub("", part).strip("; \t\r\n"))


@contextmanager
def _line_editing(prompt: Prompt) -> Iterator[Callable[[str], None]]:
    """History and completion by readline, while a terminal has them; neither where Python comes without."""
    try:
        import readline
    except ImportError:
        yield lambda _: None
        return
    path = _history_file()
    readline.set_history_length(2000)
    with suppress(OSError):  # there is none yet, or it cannot be read
        readline.read_history_file(path)
    found: list[str] = []

    def complete(text: str, state: int) -> str | None:
        if state == 0:
            found[:] = prompt.complete(text, readline.get_line_buffer()[: readline.get_begidx()])
        return found[state] if state < len(found) else None

    readline.set_completer(complete)
    readline.set_completer_delims(" \t\n()[]{},;:=<>+-*/%|&!'\"")
    readline.parse_and_bind("bind ^I rl_complete" if "libedit" in (readline.__doc__ or "") else "tab: complete")
    automatic = getattr(readline, "set_auto_history", None)  # which would keep lines, not statements

    def remember(statement: str) -> None:
        if statement.strip():
            readline.add_history(statement)

    if automatic is not None:
        automatic(False)
    try:
        yield remember if automatic is not None else lambda _: None
    finally:
        readline.set_completer(None)
        if automatic is not None:
            automatic(True)
        with suppress(OSError):  # the folder is not ours to write to
            path.parent.mkdir(parents=True, exist_ok=True)
            readline.write_history_file(path)


def _history_file() -> Path:
    state = os.environ.get("XDG_STATE_HOME")
    with suppress(RuntimeError):  # whoever runs this has no home: then there is no such file, which is fine too
        return Path(state or "~/.local/state").expanduser() / "apframe" / "history"
    return Path(os.devnull) / "history"
