"""Shards matched side by side: by the threads of this process, or by whatever has the interface of `concurrent.futures`."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import closing, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from apframe.exceptions import OutputError, ParameterError, ShardError
from apframe.progress import with_bar
from apframe.scale.addresses import absolute
from apframe.scale.one_shard import Job, match_one, named
from apframe.scale.shards import Shard
from apframe.scale.temporary import Temporary
from apframe.scale.verdict_files import read_verdicts
from apframe.threads import pool, threads
from apframe.wording import counted, listed, reason, spelled

if TYPE_CHECKING:
    import pyarrow as pa

Workers = Executor | Callable[[], Executor]
"""What matches shards; a function that makes it is called once more where workers have died."""
_ATTEMPTS = 2


@dataclass(frozen=True)
class Matched:
    """Shards that have been matched.

    Attributes
    ----------
    shards, files
        each of them, and the file with its verdicts, or these themselves
    bad
        the errors of those that were left out
    folder
        the temporary folder of the files, which is there as long as something refers to it; None if they are kept
    """

    shards: Sequence[Shard]
    files: Sequence[Path | pa.Table]
    bad: Sequence[ShardError]
    folder: Temporary | None

    def tables(self) -> list[pa.Table]:
        """The verdicts of each shard, of which only that is read which is looked at."""
        return [read_verdicts(file) if isinstance(file, Path) else file for file in self.files]

    def held(self) -> Matched:
        """The same with the verdicts themselves, whose files others may not have."""
        return replace(self, files=self.tables(), folder=None)


def match_shards(
    shards: Sequence[Shard], job: Job, work: Path | None, workers: Workers | None = None, *, skip_bad: bool = False
) -> Matched:
    """Match each shard, which writes a file with its verdicts.

    Parameters
    ----------
    shards, job
        what is matched, and how
    work
        the folder of the files, in which those of an earlier run are used again; None: a temporary folder
    workers
        what matches them; None: as many threads as apframe has. Workers on other machines need a `work` that all of them share
    skip_bad
        go on without the shards that cannot be matched

    Raises
    ------
    ShardError
        a shard is damaged, or has rows that cannot be evaluated; or workers died, whose shards are named
    ParameterError
        `work` is needed; a worker lacks a package, or has another version of apframe
    OutputError
        the folder cannot be written to
    """
    folder: Temporary | None = None
    if work is None:
        folder = Temporary()
        place = folder.path
    else:
        place = work
        _make(place)
    match = partial(match_one, job, place.absolute(), resumes=folder is None)
    found: dict[int, Path | ShardError] = {}
    try:
        for attempt in range(1, _ATTEMPTS + 1):
            lost = [number for number in range(len(shards)) if number not in found]
            with closing(_results(match, [shards[number] for number in lost], workers, is_kept=folder is None)) as results:
                for number, result in zip(lost, with_bar(results, "matching", len(lost)), strict=True):
                    if isinstance(result, ShardError) and not skip_bad:
                        raise result
                    if result is not None:
                        found[number] = result
            if len(found) == len(shards):
                break
            if attempt == _ATTEMPTS or not _makes_new(workers):
                raise _lost([shards[number] for number in range(len(shards)) if number not in found], is_kept=folder is None)
    except BaseException as error:  # Ctrl-C too
        if folder is not None:
            folder.close()
            if isinstance(error, OutputError):
                remedy = f"name a folder with more space with {spelled('work', '')}, or set TMPDIR to one"
                raise OutputError(f"verdicts {error.problem}", remedy, path=place.parent) from error
        raise
    good = [(shards[number], each) for number, each in sorted(found.items()) if isinstance(each, Path)]
    bad = [each for _, each in sorted(found.items()) if isinstance(each, ShardError)]
    return Matched([shard for shard, _ in good], [file for _, file in good], bad, folder)


def _results(
    match: Callable[[Shard], str], shards: Sequence[Shard], workers: Workers | None, *, is_kept: bool
) -> Generator[Path | ShardError | None, None, None]:
    """The file of each shard, or its error; None where the worker died. What has not begun when it is closed is not done."""
    own = pool() if workers is None else workers() if not isinstance(workers, Executor) else nullcontext(workers)
    with own as executor:
        ahead = 2 * threads() if workers is None else len(shards)
        if workers is not None:
            _refuse_temporary(executor, is_kept=is_kept)
            shards = [_absolute(shard) for shard in shards]
        running: deque[tuple[Shard, Future[str]]] = deque()
        try:
            for shard in shards:
                running.append((shard, _submitted(executor, match, shard)))
                if len(running) > ahead:
                    yield _result(*running.popleft())
            while running:
                yield _result(*running.popleft())
        finally:
            for _, each in running:
                each.cancel()


def _submitted(executor: Executor, match: Callable[[Shard], str], shard: Shard) -> Future[str]:
    try:
        return executor.submit(match, shard)
    except BrokenExecutor as error:  # by the death of a worker, before this one is begun
        lost = Future[str]()
        lost.set_exception(error)
        return lost


def _result(shard: Shard, future: Future[str]) -> Path | ShardError | None:
    try:
        return Path(future.result())
    except ShardError as error:
        return error if error.shard else named(error, shard)
    except BrokenExecutor:
        return None
    except ModuleNotFoundError as error:
        remedy = "install the same packages everywhere"
        raise ParameterError(f"a worker cannot import {error.name}", remedy) from error


def _makes_new(workers: Workers | None) -> bool:
    return workers is not None and not isinstance(workers, Executor)


def _lost(shards: Sequence[Shard], *, is_kept: bool) -> ShardError:
    """The error that workers died before they had matched some shards."""
    names = listed([shard.name for shard in shards])
    problem = f"workers died before they had matched {counted(len(shards), 'shard')}: {names}"
    again = "repeat the call to go on from here" if is_kept else f"name a folder with {spelled('work', '')} to go on from here"
    error = ShardError(problem, f"{again}; did they run out of memory? Write smaller shards, or use fewer workers")
    error.shard = shards[0].name
    return error


def _refuse_temporary(executor: Executor, *, is_kept: bool) -> None:
    """An error where workers may be on other machines, which a temporary folder of this one is not."""
    is_here = isinstance(executor, (ThreadPoolExecutor, ProcessPoolExecutor)) or getattr(executor, "is_on_this_machine", False)
    if not (is_kept or is_here):
        problem = f"is needed: workers of {type(executor).__name__} may be on other machines"
        raise ParameterError(problem, "name a folder that all of them share", option="work")


def _absolute(shard: Shard) -> Shard:
    """The shard by names that are right in the folder of a worker, too."""
    detections = None if shard.detections is None else absolute(shard.detections)
    return replace(shard, truth=absolute(shard.truth), detections=detections)


def _make(work: Path) -> None:
    """Make the folder, if it is not there."""
    try:
        work.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        remedy = f"name another folder with {spelled('work', '')}"
        raise OutputError(f"cannot be written ({reason(error)})", remedy, path=work) from error
