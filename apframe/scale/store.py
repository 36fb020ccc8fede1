"""The verdicts of all shards, in memory or on disk: read list by list, so that only some of them are in memory at once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar
from uuid import uuid4

import numpy as np

from apframe.exceptions import FormatError, OutputError
from apframe.matching.verdicts import Verdicts
from apframe.scale.together import Head, Together
from apframe.scale.verdict_tables import counts_of, head_of, images_of, is_intact, join_arrow, with_sum
from apframe.threads import alone, map_lazily, pool, threads
from apframe.wording import reason, spelled

if TYPE_CHECKING:
    import pyarrow as pa

Made = TypeVar("Made")
_BLOCK = 1 << 19  # detections that are put together at once: larger blocks are no faster
_PIECE = 1 << 15  # of one shard among them: smaller pieces take longer to open than to read
_WORK = 256  # bytes that putting together and ranking takes for each detection


@dataclass(frozen=True)
class Store(ABC):
    """The verdicts of all shards, which are put together for some lists at a time.

    Attributes
    ----------
    together
        how the shards make one whole
    most_rows
        how many detections are put together at once, unless one list has more
    images, lists
        flags of those that are wanted; None: all
    """

    together: Together
    most_rows: int
    images: np.ndarray | None = field(default=None, kw_only=True)
    lists: np.ndarray | None = field(default=None, kw_only=True)

    @abstractmethod
    def map(self, function: Callable[[np.ndarray, Verdicts], Made]) -> list[Made]:
        """What a function makes of the numbers of some lists and of their verdicts, for all lists, block by block."""

    def of(self, images: np.ndarray | None, lists: np.ndarray | None) -> Self:
        """The same of some images and lists, given as one flag each; None: all."""
        return replace(self, images=_both(self.images, images), lists=_both(self.lists, lists))

    def read(self) -> Verdicts:
        """The verdicts of all lists at once, in memory."""
        at_once = replace(self, most_rows=max(1, int(self.together.counts.sum()) + 1))
        return at_once.map(_verdicts)[0]

    @property
    def outline(self) -> Verdicts:
        """The verdicts without any rows, of the images and lists that are wanted."""
        whole = self.together.whole
        whole = whole if self.lists is None else whole.of_lists(self.lists)
        return whole if self.images is None else whole.of_images(self.images)

    def blocks(self) -> list[tuple[int, int]]:
        """The numbers of the first list of each block, and of the first after it; those without wanted lists are left out."""
        sizes = self.together.counts.sum(axis=0)
        wanted = np.arange(len(sizes)) if self.lists is None else np.flatnonzero(self.lists)
        first, last = (int(wanted[0]), int(wanted[-1]) + 1) if len(wanted) else (0, 0)
        ends = np.cumsum(sizes[first:last])
        cuts = np.searchsorted(ends, np.arange(self.most_rows, int(ends[-1]) if len(ends) else 0, self.most_rows)) + first
        bounds = pairwise(sorted({first, *(int(cut) + 1 for cut in cuts if cut + 1 < last), last}))
        return [(a, b) for a, b in bounds if self.lists is None or self.lists[a:b].any()]

    def part(self, begin: int, end: int, parts: Sequence[pa.Table]) -> tuple[np.ndarray, Verdicts]:
        """The numbers of the wanted lists among some that follow each other, and their verdicts."""
        together = self.together
        whole = replace(together.whole, lists=together.whole.lists[begin:end])
        verdicts = join_arrow(parts, whole, together.codes, together.first_rows)
        numbers = np.arange(begin, end)
        if self.lists is not None:
            verdicts = verdicts.of_lists(self.lists[begin:end])
            numbers = (np.cumsum(self.lists) - 1)[begin:end][self.lists[begin:end]]
        return numbers, verdicts if self.images is None else verdicts.of_images(self.images)


@dataclass(frozen=True)
class LocalStore(Store):
    """Verdicts of this process, as tables in memory or files; `tables` open them one after the other."""

    tables: Sequence[Callable[[], pa.Table]]

    def __getstate__(self) -> dict[str, Any]:
        """For pickle and copies: with the verdicts themselves, which may be in files that others do not have."""
        return self.__dict__ | {"tables": [partial(given, table()) for table in self.tables]}

    def map(self, function: Callable[[np.ndarray, Verdicts], Made]) -> list[Made]:
        """See `Store.map`."""
        with pool() as others:
            return list(map_lazily(others, partial(self._apply, function), self.blocks()))

    def _apply(self, function: Callable[[np.ndarray, Verdicts], Made], block: tuple[int, int]) -> Made:
        begin, end = block
        with alone():
            return function(*self.part(begin, end, [table().slice(begin, end - begin) for table in self.tables]))


def _verdicts(_: np.ndarray, verdicts: Verdicts) -> Verdicts:
    return verdicts


def _both(kept: np.ndarray | None, further: np.ndarray | None) -> np.ndarray | None:
    """Flags of all, where `further` has one for each of those that are already kept."""
    if kept is None or further is None:
        return kept if further is None else further
    flags = kept.copy()
    flags[kept] = further
    return flags


def given(table: pa.Table) -> pa.Table:
    """A table that is in memory."""
    return table


def most_rows(memory: int, n_shards: int) -> int:
    """How many detections may be put together at once with so many bytes, in each thread."""
    return max(1, min(memory // (_WORK * threads()), max(_BLOCK, _PIECE * n_shards)))


def head(table: pa.Table) -> Head:
    """What is known of a shard beside its verdicts."""
    return Head(head_of(table), images_of(table), counts_of(table))


def write_table(table: pa.Table, path: Path) -> None:
    """Write verdicts as an Arrow file, which appears whole or not at all, whoever else writes it.

    Others may write the same file meanwhile: a task of Ray may run twice, and processes may share a folder. What a killed
    process left of this file is removed.

    Raises
    ------
    OutputError
        there is no space, or the folder cannot be written to
    """
    import pyarrow as pa

    part = path.with_name(f".{path.name}.{uuid4().hex}.part")
    table = with_sum(table.combine_chunks())
    try:
        with pa.OSFile(str(part), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)
        with suppress(FileNotFoundError):  # another process was faster, and has removed this part
            part.replace(path)
        for left in path.parent.glob(f".{path.name}.*.part"):
            left.unlink(missing_ok=True)
    except OSError as error:
        part.unlink(missing_ok=True)
        remedy = f"name another folder with {spelled('work', '')}"
        raise OutputError(f"cannot be written ({reason(error)})", remedy, path=path.parent) from error


def read_table(path: Path) -> pa.Table:
    """Verdicts in a file, of which only that is read which is looked at.

    Raises
    ------
    FormatError
        the file cannot be read
    """
    import pyarrow as pa

    try:
        return pa.ipc.open_file(pa.memory_map(str(path))).read_all()
    except (OSError, ValueError, pa.ArrowException) as error:  # the latter two of damaged files
        raise FormatError(f"cannot be read ({reason(error)})", "remove it; it is computed again", path=path) from error


def intact(path: Path) -> pa.Table | None:
    """Verdicts that an earlier run has written; None if there are none, or they are not what was written.

    A machine that loses its power may leave a file of the right size with zeros in it.
    """
    try:
        table = read_table(path) if path.is_file() else None
    except FormatError:
        return None
    return table if table is not None and is_intact(table) else None
