"""Places between two objects of a JSON list, where it can be cut without parsing it."""

from __future__ import annotations

import re
from typing import BinaryIO

_BETWEEN = re.compile(rb"\}\s*,\s*(?=\{)")  # between two objects of a list; also possible in nested lists and texts
HEAD = 1 << 16  # bytes in which a place to cut is searched for first


def next_cut(file: BinaryIO, begin: int, end: int) -> tuple[int, int]:
    """Return the end of the next object of a list, and the beginning of the one after it; `end` twice without one.

    >>> from io import BytesIO
    >>> next_cut(BytesIO(b'[{"a": 1}, {"a": 2}]'), 2, 19)
    (9, 11)
    """
    size = HEAD
    while True:
        file.seek(begin)
        cut = _BETWEEN.search(file.read(min(size, end - begin)))
        if cut:
            return begin + cut.start() + 1, begin + cut.end()
        if begin + size >= end:
            return end, end
        size *= 16


def last_cut(piece: bytes) -> int:
    """Return the end of the last object that is followed by another one; 0 if there is none."""
    end = piece.rfind(b"}")
    while end >= 0 and not _BETWEEN.match(piece, end):
        end = piece.rfind(b"}", 0, end)
    return end + 1
