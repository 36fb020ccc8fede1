"""Pieces of a list of objects in COCO's JSON, parsed one after the other: for lists that are read neither fast nor at once."""

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
    """Results as `frame_of_rows` gives them, piece by piece, each with the first row of all.

    None, and nothing after it, where a piece is no JSON, or where a column is of different kinds in different pieces, such as
    text and numbers, so that all rows have to be seen at once.
    """
    first: dict[str, Any] | None = None
    for part in _frames("detections", path, file, pieces):
        if part is not None and first is None and part[0]:
            first = part[0][0]
        yield None if part is None else (part[1], first or {})


def parsed_attributes(path: Path, file: BinaryIO, pieces: Iterable[Piece | None]) -> tuple[pl.DataFrame, set[str]] | None:
    """Annotations as `frame_of_rows` gives them with `attributes_only`; None where that needs all rows at once."""
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
    """The objects of the pieces, and what `frame_of_rows` makes of them; None, and nothing after it, if that cannot be.

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
