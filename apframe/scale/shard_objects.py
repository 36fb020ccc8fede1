"""The objects of the shards, which are read again, shard by shard, when something needs more than verdicts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from threading import RLock
from typing import Any

import polars as pl

from apframe.evaluation.in_memory import InMemory
from apframe.evaluation.links import LINKS
from apframe.exceptions import SecondPassWarning, warn
from apframe.lazily import cached_property
from apframe.progress import with_bar
from apframe.protocols.inputs import Inputs
from apframe.rows import KEY_OF
from apframe.scale.job import Job
from apframe.scale.layout import INPUT_ROW
from apframe.scale.shards import Shard
from apframe.scale.temporary import Temporary
from apframe.wording import counted

OBJECTS = ("annotations", "detections")
_COPY_OF = "expanded_from"  # the column of annotations that names the one of which each is a copy


class Objects:
    """The shards as data in memory, one after the other, or their tables in Parquet files of a temporary folder.

    In files are annotations, detections, pairs and assignments. The rows of one shard follow those of another; within each,
    they are in the order in which `Evaluation` has them. Ids of objects that repeat in other shards are replaced by numbers.
    """

    def __init__(self, shards: Sequence[Shard], job: Job) -> None:
        self.shards, self.job = shards, job
        self._files: dict[str, list[Path]] = {}
        self._folders: list[Temporary] = []  # an earlier one may still be read from
        self._lock = RLock()  # held while files are written

    def __reduce__(self) -> Any:
        """For pickle and copies: without the files, which can be written again."""
        return Objects, (self.shards, self.job)

    @cached_property
    def first(self) -> Inputs:
        """What is evaluated of the first shard."""
        return self.job.inputs(self.shards[0])

    @cached_property
    def schemas(self) -> dict[str, pl.Schema]:
        """The columns of annotations and of detections, as those of the first shard."""
        return {name: table.drop(INPUT_ROW, strict=False).schema for name, table in self.first.tables().items()}

    def each(self, why: str) -> Iterator[InMemory]:
        """One shard after the other; a warning says that they are read again, and what for.

        Raises
        ------
        ShardError
            a shard has changed since it was matched, or cannot be read any more
        """
        self.say(why)
        for shard in with_bar(self.shards, "reading again"):
            yield InMemory.of(self.job.inputs(shard))

    def say(self, why: str) -> None:
        """Warn that the shards are read again, and what for."""
        warn(f"the objects of {counted(len(self.shards), 'shard')} are read again {why}", SecondPassWarning)

    def table(self, name: str) -> pl.LazyFrame:
        """One of the four tables, in files, which are written when the first one is asked for.

        Raises
        ------
        OutputError
            there is no space for the files
        """
        with self._lock:
            if name not in self._files:
                self._write_all([*OBJECTS, *LINKS] if name in LINKS else OBJECTS)
            return _together(self._files[name])

    def _write_all(self, names: Sequence[str]) -> None:
        folder, files = Temporary(), {name: list[Path]() for name in names}
        for number, source in enumerate(self.each("for the tables of annotations and detections")):
            tables = source.inputs.tables()
            for name in names:
                frame = tables[name] if name in OBJECTS else LINKS[name](source)
                files[name].append(_write(folder, f"{name}-{number}", frame))
        for name in OBJECTS:
            _make_unique(folder, name, files)
        self._folders.append(folder)
        self._files = files


def _make_unique(folder: Temporary, table: str, files: Mapping[str, Sequence[Path]]) -> None:
    """Replace ids that repeat, and what refers to them."""
    key, n_before, whole = KEY_OF[table], 0, _together(files[table])
    known = whole.select(each for each in (key, _COPY_OF) if each in whole.collect_schema()).collect()
    ids = unique_ids(known, table)
    if ids.equals(known[key]):
        return
    for number, path in enumerate(files[table]):
        frame = pl.read_parquet(path, glob=False)
        old, new = frame[key], ids.slice(n_before, frame.height)
        n_before += frame.height
        _write(folder, path.stem, frame.with_columns(new))
        for name in files.keys() & LINKS.keys():
            links = pl.read_parquet(files[name][number], glob=False)
            _write(folder, f"{name}-{number}", links.with_columns(pl.col(key).replace_strict(old, new)))


def _together(files: Sequence[Path]) -> pl.LazyFrame:
    return pl.concat([pl.scan_parquet(path, glob=False) for path in files], how="diagonal_relaxed")


def _write(folder: Temporary, name: str, frame: pl.DataFrame) -> Path:
    path = folder.path / f"{name}.parquet"
    with folder.writing("tables of objects"):
        frame.write_parquet(path)
    return path


def unique_ids(objects: pl.DataFrame, table: str) -> pl.Series:
    """The ids of the objects of all shards, or numbers from 1 where they repeat: each file of results may count for itself.

    Copies of annotations, which each shard gives the next ids that are free in it, get those that are free in all.

    >>> unique_ids(pl.DataFrame({"detection_id": [1, 2, 1]}), "detections").to_list()
    [1, 2, 3]
    >>> unique_ids(pl.DataFrame({"annotation_id": [1, 3, 3, 4], "expanded_from": [None, 1, None, 3]}), "annotations").to_list()
    [1, 4, 3, 5]
    """
    key, ids = KEY_OF[table], objects[KEY_OF[table]]
    if _COPY_OF in objects.columns and ids.dtype.is_integer():
        is_copy = pl.col(_COPY_OF).is_not_null()
        free = pl.col(key).filter(~is_copy).max() + is_copy.cum_sum()
        ids = objects.select(pl.when(is_copy).then(free).otherwise(key).cast(pl.Int64)).to_series()
    return pl.int_range(1, len(ids) + 1, eager=True).alias(key) if ids.is_duplicated().any() else ids.alias(key)
