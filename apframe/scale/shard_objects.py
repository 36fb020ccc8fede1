"""The objects of the shards, which are read again, shard by shard, when results need more than verdicts."""

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
_COPY_OF = "expanded_from"  # the column of annotations with the id of the original of a copy


class Objects:
    """The objects of the shards: one shard after the other in memory, or tables in Parquet files of a temporary folder.

    The files contain annotations, detections, pairs and assignments. The rows are in the order of the shards, and within each
    shard in the order of `Evaluation`. Ids of objects that repeat in other shards are replaced by numbers.
    """

    def __init__(self, shards: Sequence[Shard], job: Job) -> None:
        self.shards, self.job = shards, job
        self._files: dict[str, list[Path]] = {}
        self._folders: list[Temporary] = []  # files in an earlier one may still be in use
        self._lock = RLock()  # locked while files are written

    def __reduce__(self) -> Any:
        """Support pickle and copies, without the files, which can be written again."""
        return Objects, (self.shards, self.job)

    @cached_property
    def first(self) -> Inputs:
        """The evaluated tables of the first shard."""
        return self.job.inputs(self.shards[0])

    @cached_property
    def schemas(self) -> dict[str, pl.Schema]:
        """The columns of annotations and of detections, taken from the first shard."""
        return {name: table.drop(INPUT_ROW, strict=False).schema for name, table in self.first.tables().items()}

    def each(self, why: str) -> Iterator[InMemory]:
        """Yield one shard after the other, with a warning that they are read again, and why.

        Raises
        ------
        ShardError
            a shard has changed since it was matched, or can no longer be read
        """
        self.say(why)
        for shard in with_bar(self.shards, "reading again"):
            yield InMemory.of(self.job.inputs(shard))

    def say(self, why: str) -> None:
        """Warn that the shards are read again, and why."""
        warn(f"the objects of {counted(len(self.shards), 'shard')} are read again {why}", SecondPassWarning)

    def table(self, name: str) -> pl.LazyFrame:
        """Return one of the four tables; all are written to files at the first call.

        Raises
        ------
        OutputError
            there is no space for the files
        """
        with self._lock:
            if name not in self._files:
                self._write_all([*OBJECTS, *LINKS] if name in LINKS else OBJECTS)
            return _stacked(self._files[name])

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
    """Replace repeated ids, and all references to them."""
    key, n_before, stacked = KEY_OF[table], 0, _stacked(files[table])
    objects = stacked.select(each for each in (key, _COPY_OF) if each in stacked.collect_schema()).collect()
    ids = unique_ids(objects, table)
    if ids.equals(objects[key]):
        return
    for number, path in enumerate(files[table]):
        frame = pl.read_parquet(path, glob=False)
        old, new = frame[key], ids.slice(n_before, frame.height)
        n_before += frame.height
        _write(folder, path.stem, frame.with_columns(new))
        for name in files.keys() & LINKS.keys():
            references = pl.read_parquet(files[name][number], glob=False)
            _write(folder, f"{name}-{number}", references.with_columns(pl.col(key).replace_strict(old, new)))


def _stacked(files: Sequence[Path]) -> pl.LazyFrame:
    return pl.concat([pl.scan_parquet(path, glob=False) for path in files], how="diagonal_relaxed")


def _write(folder: Temporary, name: str, frame: pl.DataFrame) -> Path:
    path = folder.path / f"{name}.parquet"
    with folder.writing("tables of objects"):
        frame.write_parquet(path)
    return path


def unique_ids(objects: pl.DataFrame, table: str) -> pl.Series:
    """Return the ids of the objects of all shards, or numbers from 1 if they repeat, because each file may count from 1.

    Copies of annotations, which have the next free ids of their shard, get the next ids that are free in all shards.

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
