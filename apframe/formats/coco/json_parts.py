"""Results of a long file, part by part, so that only a few parts are in memory."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from io import SEEK_END, BytesIO
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

import polars as pl

from apframe.exceptions import FormatError
from apframe.formats.coco.parsed_pieces import parsed_results
from apframe.formats.coco.pieces import PIECE, Piece, pieces_of_lines, pieces_of_list, pieces_of_stream
from apframe.formats.coco.results import FIRST_LINE, are_lines, read_result_columns, result_columns
from apframe.formats.coco.scan import first_row, kinds_of_results, scan_rows
from apframe.formats.files import BOM, reading
from apframe.threads import map_lazily, pool


def read_in_parts(path: Path) -> Iterator[pl.DataFrame | None]:
    """Yield results like `read_result_columns`, part by part: see `Format.results_in_parts`.

    If the results cannot be scanned, they are parsed; and if the values of a field have different kinds, such as text and
    numbers, the file is read as a whole.
    """
    for read in (scan_results_in_parts, _parsed_in_parts):
        with reading(path) as file:
            pieces = _pieces_of_results(file)
            if pieces is None:
                break
            for part in read(path, file, pieces):
                yield part
                if part is None:
                    break
            else:
                return
    yield read_result_columns(path)


def scan_results_in_parts(path: Path, file: BinaryIO, pieces: Iterator[Piece | None]) -> Iterator[pl.DataFrame | None]:
    """Yield results like `scan_results`, from the pieces of a list in an open file.

    None, and nothing after it, if a piece is None, or if only `parse_json` and `frame_of_rows` can read or explain one.
    """
    first = next(pieces, None)
    try:
        row = {} if first is None else first_row(path, BytesIO(first.head(file)))
    except FormatError:  # the piece ends inside a nested list, or there is something else in the file
        yield None
        return
    kinds = kinds_of_results(row)

    def scan(piece: Piece | None) -> pl.DataFrame | None:
        if piece is None:
            return None
        with piece.opened(path) as own:  # several pieces are read at once
            return scan_rows(own, piece.place, row, kinds, is_bare=True)

    with pool() as others:
        for frame in map_lazily(others, scan, chain([first], pieces)):
            yield frame
            if frame is None:
                return


def _parsed_in_parts(path: Path, file: BinaryIO, pieces: Iterator[Piece | None]) -> Iterator[pl.DataFrame | None]:
    for part in parsed_results(path, file, pieces):
        yield None if part is None else result_columns(*part)


def _pieces_of_results(file: BinaryIO) -> Iterator[Piece | None] | None:
    """Return the pieces of a long file of results, plain or gzip; None if it is short, or neither a list nor lines."""
    is_packed = file.read(2) == b"\x1f\x8b"
    size = file.seek(0, SEEK_END)
    file.seek(0)
    stream: Any = gzip.GzipFile(fileobj=file) if is_packed else file
    head = stream.read(FIRST_LINE)
    stream.seek(0)
    if are_lines(head):
        return None if size <= PIECE else pieces_of_lines(stream, PIECE)
    is_list = head.removeprefix(BOM).lstrip()[:1] == b"["
    if not is_list or size <= PIECE:
        return None
    return pieces_of_stream(stream, PIECE) if is_packed else pieces_of_list(file, PIECE)
