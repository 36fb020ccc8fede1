"""A long JSON list of objects, or JSON lines, as pieces that are lists themselves: only a few of them are in memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from apframe.file_formats.coco.json_types import last_cut
from apframe.file_formats.files import BOM

PIECE = 1 << 24
"""Bytes of a piece, about. A file that has no more is read at once."""


def pieces_of_list(file: BinaryIO, size: int = PIECE) -> Iterator[bytes | None]:
    """Cut a JSON list of objects between two objects, without parsing it.

    A cut may be in the wrong place, inside a nested list of objects: then the pieces around it are no JSON. None where the
    file does not begin or end as such a list does.

    >>> from io import BytesIO
    >>> list(pieces_of_list(BytesIO(b'[{"a": 1}, {"a": 2}, {"a": 3}]'), 20))
    [b'[{"a": 1}, {"a": 2}]', b'[{"a": 3}]']
    """
    head = file.read(size).removeprefix(BOM).lstrip()
    if not head.startswith(b"["):
        yield None
        return
    rest = head[1:].lstrip()
    while block := file.read(size):
        piece = rest + block
        end = last_cut(piece)
        if end:
            yield b"[" + piece[:end] + b"]"
            piece = piece[end:].lstrip().removeprefix(b",").lstrip()
        rest = piece
    rest = rest.rstrip()
    yield b"[" + rest if rest.endswith(b"]") else None


def pieces_of_lines(file: BinaryIO, size: int = PIECE) -> Iterator[bytes | None]:
    """Cut JSON lines between two lines, each piece as a JSON list; empty lines are left out.

    >>> from io import BytesIO
    >>> list(pieces_of_lines(BytesIO(b'{"a": 1}\\n{"a": 2}\\n\\n{"a": 3}'), 20))
    [b'[{"a": 1},\\n{"a": 2}]', b'[{"a": 3}]']
    """
    rest = file.read(len(BOM)).removeprefix(BOM)
    while block := file.read(size):
        rest += block
        end = rest.rfind(b"\n") + 1
        if end:
            if lines := _lines(rest[:end]):
                yield b"[" + lines + b"]"
            rest = rest[end:]
    if lines := _lines(rest):
        yield b"[" + lines + b"]"


def _lines(text: bytes) -> bytes:
    return b",\n".join(line for line in text.split(b"\n") if line.strip())
