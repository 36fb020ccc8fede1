"""Pieces of a list of objects in COCO's JSON, parsed one after the other: for lists that are read neither fast nor at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import polars as pl

from apframe.exceptions import FormatError
from apframe.formats.coco.pieces import Piece
from apframe.formats.coco.rows import frame_of_rows
from apframe.formats.columns_of_parts import Columns
from apframe.formats.documents import parse_json


def parsed_results(
    path: Path, file: BinaryIO, pieces: Iterable[Piece | None]
) -> Iterator[tuple[pl.DataFrame, dict[str, Any]] | None]:
    """Results as `frame_of_rows` gives them, piece by piece, each with the first row of all.

    None, and nothing after it, where a piece is no JSON, or where a column is of different kinds in different pieces, such as
    text and numbers, so that all rows have to be seen at once.
    """
    kinds = Columns()
    first: dict[str, Any] | None = None
    for rows in _rows(path, file, pieces):
        frame, as_json = (None, set[str]()) if rows is None else frame_of_rows("detections", rows)
        if frame is None or not kinds.agree(frame, as_json):
            yield None
            return
        first = rows[0] if first is None and rows else first
        yield frame, first or {}


def parsed_attributes(path: Path, file: BinaryIO, pieces: Iterable[Piece | None]) -> tuple[pl.DataFrame, set[str]] | None:
    """Annotations as `frame_of_rows` gives them with `attributes_only`; None where that needs all rows at once."""
    kinds, frames, all_json = Columns(), list[pl.DataFrame](), set[str]()
    for rows in _rows(path, file, pieces):
        frame, as_json = (None, set[str]()) if rows is None else frame_of_rows("annotations", rows, attributes_only=True)
        if frame is None or not kinds.agree(frame, as_json):
            return None
        frames.append(frame)
        all_json |= as_json
    # a part without attributes has no columns, and therefore no rows
    heights = pl.concat([frame.with_columns(pl.lit(0).alias("\0")) for frame in frames], how="diagonal_relaxed")
    return heights.drop("\0"), all_json


def _rows(path: Path, file: BinaryIO, pieces: Iterable[Piece | None]) -> Iterator[list[Any] | None]:
    """The objects of the pieces; None, and nothing after it, where they are no JSON.

    A piece that ends inside a nested list is parsed together with the next one.
    """
    text = b""
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
        yield rows
    if text:
        yield None
