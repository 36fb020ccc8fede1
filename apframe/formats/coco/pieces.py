"""A long JSON list of objects, or JSON lines, as pieces of several objects, so that only a few are in memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from io import SEEK_END, BytesIO
from pathlib import Path
from typing import Any, BinaryIO

from apframe import paths
from apframe.formats.coco.split_points import HEAD, last_cut, next_cut
from apframe.formats.files import BOM

PIECE = 1 << 24
"""Approximate number of bytes of a piece. A file that is not larger is read as a whole."""


@dataclass(frozen=True)
class Piece:
    """Some objects of a list, without its brackets, given by their place in a file, or in a text.

    >>> Piece(slice(0, 8), b'{"a": 1}').head(BytesIO())
    b'[{"a": 1}]'
    """

    place: slice
    text: bytes | None = None

    def opened(self, path: Path) -> Any:
        """Open the file, or the text instead of it."""
        return paths.opened(path) if self.text is None else nullcontext(BytesIO(self.text))

    def head(self, file: BinaryIO) -> bytes:
        """Return the objects as a list; `file` is read if they are in a file."""
        if self.text is not None:
            return b"[" + self.text[self.place] + b"]"
        file.seek(self.place.start)
        return b"[" + file.read(self.place.stop - self.place.start) + b"]"


def pieces_of_list(file: BinaryIO, size: int) -> Iterator[Piece | None]:
    """Cut a JSON list of objects between two objects, without parsing it.

    A cut may be wrong, inside a nested list of objects: then the pieces around it are not JSON. None if the file does not
    begin or end like such a list.

    >>> [piece.place for piece in pieces_of_list(BytesIO(b'[{"a": 1}, {"a": 2}, {"a": 3}]'), 8)]
    [slice(1, 9, None), slice(11, 19, None), slice(21, 29, None)]
    """
    end = file.seek(0, SEEK_END)
    file.seek(max(0, end - HEAD))
    tail = file.read()
    file.seek(0)
    head = file.read(HEAD)
    begin = len(head) - len(head.removeprefix(BOM).lstrip())
    last = tail.rfind(b"]")
    if head[begin : begin + 1] != b"[" or last < 0 or tail[last + 1 :].strip():
        yield None
        return
    begin, end = begin + 1, end - len(tail) + last
    while end - begin > size:
        stop, following = next_cut(file, begin + size - 1, end)
        yield Piece(slice(begin, stop))
        begin = following
    if begin < end:
        yield Piece(slice(begin, end))


def pieces_of_stream(file: Any, size: int) -> Iterator[Piece | None]:
    """Cut a list like `pieces_of_list`, for a compressed file, which can only be read from its beginning.

    >>> [piece.text for piece in pieces_of_stream(BytesIO(b'[{"a": 1}, {"a": 2}, {"a": 3}]'), 20)]
    [b'{"a": 1}, {"a": 2}', b'{"a": 3}']
    """
    head = file.read(size).removeprefix(BOM).lstrip()
    if not head.startswith(b"["):
        yield None
        return
    rest = head[1:].lstrip()
    while block := file.read(size):
        text = rest + block
        end = last_cut(text)
        if end:
            yield _piece(text[:end])
            text = text[end:].lstrip().removeprefix(b",").lstrip()
        rest = text
    rest = rest.rstrip()
    yield _piece(rest[:-1]) if rest.endswith(b"]") else None


def pieces_of_lines(file: Any, size: int) -> Iterator[Piece | None]:
    """Cut JSON lines between two lines, with commas between them; empty lines are left out.

    >>> [piece.text for piece in pieces_of_lines(BytesIO(b'{"a": 1}\\n{"a": 2}\\n\\n{"a": 3}'), 20)]
    [b'{"a": 1},\\n{"a": 2}', b'{"a": 3}']
    """
    rest = file.read(len(BOM)).removeprefix(BOM)
    while block := file.read(size):
        rest += block
        end = rest.rfind(b"\n") + 1
        if end:
            if lines := _lines(rest[:end]):
                yield _piece(lines)
            rest = rest[end:]
    if lines := _lines(rest):
        yield _piece(lines)


def _lines(text: bytes) -> bytes:
    return b",\n".join(line for line in text.split(b"\n") if line.strip())


def _piece(text: bytes) -> Piece:
    return Piece(slice(0, len(text)), text)
