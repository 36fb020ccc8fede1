"""The output stream of the command; control characters, and characters that the encoding lacks, are escaped."""

from __future__ import annotations

import errno
import io
import json
import os
import re
from contextlib import suppress
from typing import TextIO

from apframe.exceptions import OutputError
from apframe.wording import reason

CONTROLS = {chr(code): repr(chr(code))[1:-1] for code in [*range(0x20), *range(0x7F, 0xA0)]}
_NOT_A_LINE_END = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]")
_PLAIN = str.maketrans({"…": "...", "–": "-", "×": "x", "−": "-", "≤": "<="})  # for marks of apframe that the encoding lacks


class ReaderGoneError(Exception):
    """The reader of the output has closed it, as `| head` does."""


class Terminal(io.TextIOBase):
    r"""A stream for people: control characters and those that its encoding lacks are escaped, as `\x1b` or `\u4e2d`.

    Line ends are kept. Nothing more is written once the stream has failed.

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
        """The encoding of the stream, which `input` needs."""
        return self.stream.encoding or "utf-8"

    @property
    def errors(self) -> str:  # type: ignore[override]
        """The error handler of the stream, which `input` needs."""
        return self.stream.errors or "strict"

    def isatty(self) -> bool:
        """Return True if the stream is a terminal."""
        return self.stream.isatty()

    def fileno(self) -> int:
        """Return the descriptor of the stream, which readline needs."""
        return self.stream.fileno()

    def writable(self) -> bool:
        """Return True: the stream can be written to."""
        return True

    def holds(self, text: str) -> bool:
        """Return True if the encoding has all characters of a text."""
        try:
            text.encode(self.encoding)
        except UnicodeEncodeError:
            return False
        return True

    def write(self, text: str) -> int:
        """Write a text for people."""
        safe = _NOT_A_LINE_END.sub(lambda found: CONTROLS[found[0]], text)
        if not self.holds(safe):
            safe = safe.translate(_PLAIN).encode(self.encoding, "backslashreplace").decode(self.encoding)
        self._write(safe)
        return len(text)

    def write_json(self, text: str) -> None:
        r"""Write JSON on a line of its own; characters that its texts cannot hold become escapes such as `\u00e9`."""
        outside = r"[\x7f-\x9f]" if self.holds(text) else r"[^\x00-\x7e]"
        self._write(re.sub(outside, lambda found: json.dumps(found[0])[1:-1].replace("\x7f", r"\u007f"), text) + "\n")

    def write_data(self, text: str) -> None:
        """Write output for programs unchanged; on a terminal, write it as any text.

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
        """Write the buffered output."""
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
        """Discard the buffered output: the interpreter would try to write it again at exit, and complain."""
        with suppress(OSError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.stream.fileno())
            os.close(nowhere)


def one_line(text: str) -> str:
    r"""Return a text as a part of one line, with its control characters and line ends escaped.

    >>> print(one_line("a\nb\x1b[31m"))
    a\nb\x1b[31m
    """
    return text.translate({ord(control): shown for control, shown in CONTROLS.items()})
