"""Detections that are checked, numbered and sorted into shards while they are read, part by part."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import polars as pl

from apframe.exceptions import DuplicateIdError, MostlyUnknownImagesWarning, RowError, warn
from apframe.protocols.application import on_known_images
from apframe.protocols.rules.known import FIND_OUT
from apframe.rows import MOST
from apframe.scale.layout import INPUT_ROW
from apframe.scale.sharded_rows import ShardedRows
from apframe.tables.column_sources import to_polars
from apframe.tables.dataset import Dataset, canonical_detections
from apframe.wording import counted, listed

_ID = "detection_id"


@dataclass(frozen=True)
class ShardAssignment:
    """The assignment of the images of a data set to shards.

    Attributes
    ----------
    dataset
        the data set
    shards
        `image_id` and `shard` (its number, from 0) of each image
    n_shards
        how many there are
    """

    dataset: Dataset
    shards: pl.DataFrame
    n_shards: int

    def of(self, rows: pl.DataFrame) -> pl.Series:
        """Return the number of the shard of each row; null for unknown images."""
        return rows.select("image_id").join(self.shards, on="image_id", how="left", maintain_order="left")["shard"]


@dataclass(frozen=True)
class _Portion:
    """Facts about a part: its file, its ids, if they rise, and if there are boxes."""

    file: int
    ids: pl.Series
    rises: bool
    has_boxes: bool


def take_detections(
    shard_rows: ShardedRows, cut: ShardAssignment, parts: Iterator[tuple[int, Any]], *, drops_unknown: bool
) -> bool:
    """Check and number all parts, and add their rows to their shards.

    Parameters
    ----------
    shard_rows
        receives the rows
    cut
        the assignment of images to shards
    parts
        the result of `apframe.scale.shard_inputs.detections_in_parts`
    drops_unknown
        True to drop detections of unknown images; otherwise they are an error

    Returns
    -------
    True if ids of detections repeat in other files, so that numbers must replace them.

    Raises
    ------
    InputError
        the errors of `evaluate`
    """
    portions: list[_Portion] = []
    files: list[tuple[int, int]] = []  # for each file, the numbers of parts and rows before it
    dropped: list[Any] = []
    n_rows = 0
    while True:
        with _rows_from(n_rows):
            file, part = next(parts, (-1, None))
            if file < 0:
                break
            if file == len(files):
                files.append((shard_rows.n_parts, n_rows))
            if part is None:
                before, n_rows = files[file]
                shard_rows.keep(before)
                del portions[before:]
                continue
            rows = _checked(part, n_rows, cut.dataset)
        n_rows += rows.height
        shards = cut.of(rows)
        if shards.null_count():
            is_known_image = on_known_images(rows, cut.dataset, drop=drops_unknown)
            dropped = rows["image_id"].filter(~is_known_image).unique(maintain_order=True).head(MOST).to_list()
            rows, shards = rows.filter(is_known_image), shards.drop_nulls()
        if rows.height or not shard_rows.n_parts:
            shard_rows.add(rows, shards)
            portions.append(_known_of(rows, file))
    if n_rows and not sum(shard_rows.counts):
        _warn_of_images(n_rows, dropped, cut.dataset)
    _refuse_some_without_box(portions)
    return _repeat(portions, shard_rows)


@contextmanager
def _rows_from(n_rows: int) -> Iterator[None]:
    """Renumber the rows in errors of the block as in the whole input, which has some rows before these."""
    try:
        yield
    except RowError as error:
        if error.key != "row" or error.table != "detections":
            raise
        shifted = [row + n_rows for row in error.rows]
        raise type(error)(error.table, error.problem, error.key, shifted, error.remedy) from None


def _checked(part: Any, n_before: int, dataset: Dataset) -> pl.DataFrame:
    """Return a part as the canonical table, with its row numbers in the whole input."""
    frame = to_polars(part, "detections")
    numbers = pl.int_range(n_before, n_before + pl.len(), dtype=pl.Int64)
    if frame.columns and _ID not in frame.columns:
        frame = frame.with_columns((numbers + 1).alias(_ID))
    rows = canonical_detections(frame, dataset)
    return rows.with_columns(numbered(n_before, rows.height))


def numbered(start: int, n: int) -> pl.Series:
    """Return the column `input_row` of some rows: numbers from `start`, in 32 bits if they fit.

    >>> numbered(3, 2).to_list(), numbered(2**32 - 1, 2).dtype
    ([3, 4], UInt64)
    """
    dtype = pl.UInt32 if start + n <= 2**32 else pl.UInt64
    return pl.int_range(start, start + n, dtype=pl.Int64, eager=True).cast(dtype).alias(INPUT_ROW)


def _known_of(rows: pl.DataFrame, file: int) -> _Portion:
    ids = rows[_ID]
    rises = ids.is_sorted()  # ids of one part are distinct
    return _Portion(file, pl.concat([ids.head(MOST), ids.tail(1)]), rises, rows["x"].count() > 0 or rows.is_empty())


def _warn_of_images(n_rows: int, dropped: list[Any], dataset: Dataset) -> None:
    problem = f"{counted(n_rows, 'detection')} had unknown image_ids and were dropped, such as {listed(dropped)}"
    known_ids = listed(dataset.images["image_id"].to_list()) or "none"
    warn(f"all {problem}; the ground truth has {known_ids}; {FIND_OUT}", MostlyUnknownImagesWarning)


def _refuse_some_without_box(portions: list[_Portion]) -> None:
    """Raise an error if some parts have boxes and others have none, as within one part."""
    without = [part for part in portions if not part.has_boxes]
    if without and any(part.has_boxes and len(part.ids) for part in portions):
        raise RowError(
            "detections", "x is missing", _ID, without[0].ids.unique(maintain_order=True), "supply it or remove these rows"
        )


def _repeat(portions: list[_Portion], shard_rows: ShardedRows) -> bool:
    """Return True if ids repeat in other files; raise an error if they repeat in the same one."""
    files: dict[int, list[int]] = {}
    for number, part in enumerate(portions):
        if len(part.ids):
            files.setdefault(part.file, []).append(number)

    def repeated(numbers: list[int]) -> pl.Series:
        parts = [portions[number] for number in numbers]
        follow = all(earlier.ids[-1] < later.ids[0] for earlier, later in pairwise(parts))
        rise = follow and all(part.rises for part in parts)  # then none repeats
        return pl.Series() if rise else shard_rows.repeated(_ID, numbers)

    for numbers in files.values():
        if len(ids := repeated(numbers)):
            raise DuplicateIdError("detections", f"{_ID} is not unique", _ID, ids, "make the ids unique")
    return len(files) > 1 and len(repeated(sorted(number for numbers in files.values() for number in numbers))) > 0
