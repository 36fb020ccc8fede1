"""Pieces of a list of objects in COCO JSON, parsed one after the other: for long lists that the fast reader cannot read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import polars as pl

from apframe.exceptions import FormatError
from apframe.formats.coco.json_rows import frame_of_rows
from apframe.formats.coco.pieces import Piece
from apframe.formats.columns_of_parts import Columns
from apframe.formats.documents import parse_json


def parsed_results(
    path: Path, file: BinaryIO, pieces: Iterable[Piece | None]
) -> Iterator[tuple[pl.DataFrame, dict[str, Any]] | None]:
    """Yield results of `frame_of_rows` piece by piece, each with the first row of the list.

    None, and nothing after it, if a piece is not JSON, or if a column has different kinds of values in different pieces, such
    as text and numbers, so that all rows have to be read at once.
    """
    first: dict[str, Any] | None = None
    for part in _frames("detections", path, file, pieces):
        if part is not None and first is None and part[0]:
            first = part[0][0]
        yield None if part is None else (part[1], first or {})


def parsed_attributes(path: Path, file: BinaryIO, pieces: Iterable[Piece | None]) -> tuple[pl.DataFrame, set[str]] | None:
    """Return attributes of annotations, see `frame_of_rows`; None if all rows have to be read at once."""
    frames, all_json = list[pl.DataFrame](), set[str]()
    for part in _frames("annotations", path, file, pieces, attributes_only=True):
        if part is None:
            return None
        frames.append(part[1])
        all_json |= part[2]
    # a part without attributes has no columns, and therefore no rows
    heights = pl.concat([frame.with_columns(pl.lit(0).alias("\0")) for frame in frames], how="diagonal_relaxed")
    return heights.drop("\0"), all_json


def _frames(
    table: str, path: Path, file: BinaryIO, pieces: Iterable[Piece | None], *, attributes_only: bool = False
) -> Iterator[tuple[list[Any], pl.DataFrame, set[str]] | None]:
    """Yield the objects of the pieces, and the result of `frame_of_rows`; None, and nothing after it, if they cannot be read.

    A piece that ends inside a nested list is parsed together with the next one.
    """
    kinds, text = Columns(), b""
    for piece in pieces:
        if piece is None:
            yield None
            return
        here = piece.head(file)
        text = text[:-1] + b"," + here[1:] if text else here
        try:
            rows = parse_json(path, text)
        except FormatError:
            continue
        text = b""
        frame, as_json = frame_of_rows(table, rows, attributes_only=attributes_only)
        if not kinds.agree(frame, as_json):
            yield None
            return
        yield rows, frame, as_json
    if text:
        yield None
