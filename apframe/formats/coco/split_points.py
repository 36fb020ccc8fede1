"""Places between two objects of a JSON list, at which it can be cut without parsing it."""

from __future__ import annotations

import re
from typing import BinaryIO

_BETWEEN = re.compile(rb"\}\s*,\s*(?=\{)")  # two objects of a list; nested lists and texts may hold it too
HEAD = 1 << 16  # bytes in which a place to cut is looked for first


def next_cut(file: BinaryIO, begin: int, end: int) -> tuple[int, int]:
    """Where the next object of a list ends, and the one after it begins; the end where there is none.

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
    """The end of the last object before another one; 0 if there is none."""
    end = piece.rfind(b"}")
    while end >= 0 and not _BETWEEN.match(piece, end):
        end = piece.rfind(b"}", 0, end)
    return end + 1
