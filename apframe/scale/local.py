"""Shards matched in this process, one in each thread; verdicts beyond the budget are kept on disk."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from apframe.exceptions import OutputError, ShardError
from apframe.progress import with_bar
from apframe.scale.one_shard import Job
from apframe.scale.shards import Shard
from apframe.scale.store import LocalStore, given, head, intact, most_rows, read_table, write_table
from apframe.scale.temporary import Temporary
from apframe.scale.together import Head, put_together
from apframe.threads import alone, map_lazily, pool
from apframe.wording import reason, spelled

if TYPE_CHECKING:
    import pyarrow as pa

    from apframe.matching.verdicts import Verdicts

KEPT = 4  # the share of the memory that verdicts may take is one in so many; so is that of a block of lists


class Matched:
    """The verdicts of shards that are matched one after the other; `heads` are in their order, `tables` open the verdicts.

    Parameters
    ----------
    memory
        how many bytes may be taken; where verdicts in memory take more than a quarter of it, they move to temporary files
    """

    def __init__(self, memory: int) -> None:
        self.heads: list[Head] = []
        self.tables: list[Callable[[], pa.Table]] = []
        self._memory = memory
        self._temporary: Temporary | None = None
        self._n_bytes = 0

    def add(self, table: pa.Table, path: Path | None = None) -> None:
        """Keep the verdicts of a shard, in memory unless they are in a file already."""
        self.heads.append(head(table))
        self.tables.append(partial(given, table) if path is None else partial(read_table, path))
        self._n_bytes += table.nbytes if path is None else 0
        if self._n_bytes > self._memory // KEPT:
            self._spill()

    def _spill(self) -> None:
        """Move the verdicts in memory to files."""
        try:
            if self._temporary is None:
                self._temporary = Temporary()
            for number, table in enumerate(self.tables):
                if isinstance(table, partial) and table.func is given:
                    path = self._temporary.path / f"{number}.arrow"
                    write_table(table(), path)
                    self.tables[number] = partial(_kept, self._temporary, path)
        except OutputError as error:
            remedy = f"name a folder with more space with {spelled('work', '')}, or set TMPDIR to one"
            place = error.path if self._temporary is None else self._temporary.path.parent
            raise OutputError(f"verdicts {error.problem}", remedy, path=place) from error
        self._n_bytes = 0

    def close(self) -> None:
        """Remove the temporary files, which the verdicts in them are lost with."""
        if self._temporary is not None:
            self._temporary.close()

    def store(self, whole: Verdicts) -> LocalStore:
        """The verdicts of all of them; `whole` has none of their rows."""
        try:
            together = put_together(self.heads, whole)
        except BaseException:
            self.close()
            raise
        return LocalStore(together, most_rows(self._memory // KEPT, len(self.tables)), self.tables)


def match_shards(
    shards: Sequence[Shard], job: Job, memory: int, work: Path | None, *, skip_bad: bool
) -> tuple[Matched, list[Shard], list[ShardError]]:
    """Match shards, one in each thread.

    Returns
    -------
    The verdicts, the shards that they are of, and the errors of the others, which are raised unless `skip_bad`.
    """
    if work is not None:
        make_folder(work)
    matched, good, bad = Matched(memory), [], list[ShardError]()
    try:
        with pool() as others, closing(map_lazily(others, partial(match_one, job, work), shards)) as results:
            for shard, result in zip(shards, with_bar(results, "matching", len(shards)), strict=True):
                if isinstance(result, ShardError):
                    if not skip_bad:
                        raise result
                    bad.append(result)
                    continue
                matched.add(*result)
                good.append(shard)
    except BaseException:  # Ctrl-C too
        matched.close()
        raise
    return matched, good, bad


def make_folder(work: Path) -> None:
    """Make the folder for the verdicts of each shard.

    Raises
    ------
    OutputError
        it cannot be made
    """
    try:
        work.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(
            f"cannot be written ({reason(error)})", f"name another folder with {spelled('work', '')}", path=work
        ) from error


def match_one(job: Job, work: Path | None, shard: Shard) -> tuple[pa.Table, Path | None] | ShardError:
    """Match a shard with one thread, or read what was made of it before; the verdicts, and the file that has them."""
    try:
        with alone():
            if work is None:
                return job.match(shard), None
            path = work / f"{job.key(shard)}.arrow"
            table = intact(path)
            if table is None:
                write_table(job.match(shard), path)
                table = read_table(path)
            return table, path
    except ShardError as error:
        return error


def _kept(folder: Temporary, path: Path) -> pa.Table:
    """The verdicts in a file of a temporary folder, which is there as long as something refers to it."""
    del folder
    return read_table(path)
