"""The output stream of the command; control characters, and characters the encoding lacks, are written out."""

from __future__ import annotations

import errno
import io
import json
import os
import re
import textwrap
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, TextIO

import polars as pl

from apframe.exceptions import OutputError
from apframe.wording import reason

_CONTROLS = {chr(code): repr(chr(code))[1:-1] for code in [*range(0x20), *range(0x7F, 0xA0)]}
_NOT_A_LINE_END = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]")
_PLAIN = str.maketrans({"…": "...", "–": "-", "×": "x", "−": "-", "≤": "<="})  # our own marks, where the encoding lacks them


Least = Sequence[str | tuple[str, ...]]
"""The least informative columns of a table, in the order in which they are left out; those of a group go together."""


class ReaderGoneError(Exception):
    """Whoever read the output has gone, as `| head` does."""


class Terminal(io.TextIOBase):
    r"""A stream for people: control characters and what its encoding lacks are written out, as `\x1b` or `\u4e2d`.

    Lines end as usual. Nothing is written any more once the stream has failed.

    Raises
    ------
    OutputError
        there is no space left, or the stream cannot be written for another reason
    ReaderGoneError
        the reader has gone

    >>> buffer = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    >>> print("\x1b[31mcafé…", file=Terminal(buffer, "stdout"), flush=True)
    >>> buffer.buffer.getvalue()
    b'\\x1b[31mcaf\\xe9...\n'
    """

    def __init__(self, stream: TextIO, name: str) -> None:
        self.stream, self.name = stream, name

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """What `input` asks for, too."""
        return self.stream.encoding or "utf-8"

    @property
    def errors(self) -> str:  # type: ignore[override]
        """What `input` asks for, too."""
        return self.stream.errors or "strict"

    def isatty(self) -> bool:
        """Whether a person looks at it."""
        return self.stream.isatty()

    def fileno(self) -> int:
        """What readline asks for."""
        return self.stream.fileno()

    def writable(self) -> bool:
        """It is."""
        return True

    def holds(self, text: str) -> bool:
        """Whether the encoding has all characters of a text."""
        try:
            text.encode(self.encoding)
        except UnicodeEncodeError:
            return False
        return True

    def write(self, text: str) -> int:
        """Write a text for people."""
        safe = _NOT_A_LINE_END.sub(lambda found: _CONTROLS[found[0]], text)
        if not self.holds(safe):
            safe = safe.translate(_PLAIN).encode(self.encoding, "backslashreplace").decode(self.encoding)
        self._write(safe)
        return len(text)

    def write_json(self, text: str) -> None:
        r"""Write JSON on a line of its own; in its texts, what cannot stand there becomes `\u00e9`, which means the same."""
        outside = r"[\x7f-\x9f]" if self.holds(text) else r"[^\x00-\x7e]"
        self._write(re.sub(outside, lambda found: json.dumps(found[0])[1:-1].replace("\x7f", r"\u007f"), text) + "\n")

    def write_data(self, text: str) -> None:
        """Write what a program reads, as it is; in front of a person, as any text.

        Raises
        ------
        OutputError
            the encoding lacks some of its characters
        """
        if self.isatty():
            self.write(text)
            return
        try:
            self._write(text)
        except UnicodeEncodeError as error:
            lacking = text[error.start : error.start + 1]
            raise OutputError(
                f"{self.name}: its encoding, {self.encoding}, has no {lacking!a}", "set PYTHONIOENCODING=utf-8, or use --json"
            ) from None

    def flush(self) -> None:
        """Write what waits to be written."""
        self._write("")

    def _write(self, text: str) -> None:
        try:
            if text:
                self.stream.write(text)
            else:
                self.stream.flush()
        except OSError as error:
            self._give_up()
            if error.errno in (errno.EPIPE, errno.ESHUTDOWN) or (os.name == "nt" and error.errno == errno.EINVAL):
                raise ReaderGoneError from None
            raise OutputError(f"{self.name}: cannot be written ({reason(error)})") from None

    def _give_up(self) -> None:
        """Let what waits to be written go nowhere: the interpreter would try it again at its end, and complain."""
        with suppress(OSError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.stream.fileno())
            os.close(nowhere)


def one_line(text: str) -> str:
    r"""A text from data as a part of one line: its control characters, line ends too, written out.

    >>> print(one_line("a\nb\x1b[31m"))
    a\nb\x1b[31m
    """
    return text.translate({ord(control): shown for control, shown in _CONTROLS.items()})


def table_lines(
    table: pl.DataFrame,
    digits: int | None = None,
    *,
    plain: bool = False,
    width: int | None = None,
    least: Least = (),
) -> str:
    r"""Draw a table for people, one line per row, with the control characters in names and texts written out.

    `digits` is the number of decimals; `plain` draws in ASCII. If the table is wider than `width`, texts are shortened first.
    Then columns are left out, those of `least` before the last ones and those of a group together, and named below the table.
    None draws the whole table.

    >>> print(table_lines(pl.DataFrame({"name": ["a\nb"], "ap": [0.25]}), 3, plain=True))
    +------+-------+
    | name | ap    |
    +==============+
    | a\nb | 0.250 |
    +------+-------+
    """
    drawn, left_out = fit(written_out(table), width, least, lambda part, length: _draw(part, digits, plain, length))
    return drawn + not_shown(left_out, width)


def fit(
    table: pl.DataFrame, width: int | None, least: Least, draw: Callable[[pl.DataFrame, int], str]
) -> tuple[str, list[str]]:
    """Fit a table into a width as `table_lines` does, and name the columns that are left out.

    `draw` draws some of the columns, with texts of at most a length.
    """
    order = [(each,) if isinstance(each, str) else each for each in least]
    named = {name for group in order for name in group}
    order += [(name,) for name in reversed(table.columns) if name not in named]
    order = [group for group in order if {*group} & {*table.columns}]
    shorter = [(0, length) for length in (60, 40, 25, 15)]
    fewer = [(n, 15) for n in range(1, max(len(order), 1))]
    for n, length in shorter + fewer:
        fewest = {name for group in order[:n] for name in group}
        left_out = [name for name in table.columns if name in fewest]
        drawn = draw(table[[name for name in table.columns if name not in left_out]] if n else table, length)
        if width is None or max(map(len, drawn.split("\n", 2)[:2])) <= width:  # its border, which may follow a title
            break
    return "\n".join(line[:width] for line in drawn.splitlines()), left_out  # one column alone may be too wide


def not_shown(columns: Sequence[str], width: int | None) -> str:
    """The line below a table that names the columns left out of it, if there are any."""
    lines = textwrap.wrap(f"not shown: {', '.join(columns)}", max(width or 80, 2)) if columns else []
    return "".join(f"\n{line}" for line in lines)


def _draw(table: pl.DataFrame, digits: int | None, plain: bool, length: int) -> str:
    with pl.Config(
        tbl_rows=-1, tbl_cols=-1, tbl_hide_dataframe_shape=True, tbl_hide_column_data_types=True, fmt_str_lengths=length,
        tbl_width_chars=-1, float_precision=digits, tbl_formatting="ASCII_FULL_CONDENSED" if plain else "UTF8_FULL_CONDENSED",
    ):  # fmt: skip
        return str(table)


def written_out(table: pl.DataFrame) -> pl.DataFrame:
    """The table with the control characters in its names and texts written out."""
    columns: dict[str, pl.Series] = {}
    for column in table:
        name = one_line(column.name)
        while name in columns:  # "a" and a line end may stand beside a\n
            name += " "
        columns[name] = column.to_frame().select(_text_written_out(pl.first(), column.dtype)).to_series()
    return pl.DataFrame(columns)


def _text_written_out(values: pl.Expr, dtype: Any) -> pl.Expr:
    """The values with control characters written out, in lists and structs too, of which Polars shows no names."""
    if isinstance(dtype, (pl.String, pl.Enum, pl.Categorical)):
        return values.cast(pl.String).str.replace_many(_CONTROLS)
    if isinstance(dtype, pl.Array):
        return _text_written_out(values.arr.to_list(), pl.List(dtype.inner))
    if isinstance(dtype, pl.List):
        return values.list.eval(_text_written_out(pl.element(), dtype.inner))
    if isinstance(dtype, pl.Struct):
        numbers = [str(number) for number in range(len(dtype.fields))]  # a name might be a pattern
        numbered = values.struct.rename_fields(numbers)
        fields = zip(numbers, dtype.fields, strict=True)
        parts = [_text_written_out(numbered.struct.field(number), field.dtype).alias(number) for number, field in fields]
        return pl.when(values.is_not_null()).then(pl.struct(parts)) if parts else values
    return values
