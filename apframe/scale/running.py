"""Shards matched in parallel, by the threads of this process or anything with the interface of `concurrent.futures`."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from apframe.exceptions import OutputError, ParameterError, ShardError
from apframe.progress import with_bar
from apframe.scale.addresses import absolute
from apframe.scale.job import Job, match_one, named
from apframe.scale.shards import Shard
from apframe.scale.temporary import Temporary
from apframe.scale.verdict_files import read_verdicts, write_verdicts
from apframe.similarity.user import UserSimilarity
from apframe.threads import pool, threads
from apframe.wording import counted, first_line, listed, option_name, reason, shown

if TYPE_CHECKING:
    import pyarrow as pa

Workers = Executor | Callable[[], Executor]
"""An executor that matches shards; a function that creates it is called once more if workers have died."""
Result: TypeAlias = "Path | pa.RecordBatch | ShardError"
"""The verdicts of a shard, or their file, or the error in their place."""
_ATTEMPTS = 2
KEPT = 4  # verdicts may use one part in this many of the memory, and a block of lists another


@dataclass(frozen=True)
class Matched:
    """Matched shards.

    Attributes
    ----------
    shards, files
        the shards, and for each the file with its verdicts, or the verdicts
    bad
        the errors of the shards that were left out
    folder
        the temporary folder of the files, which exists as long as something refers to it; None if they are kept
    """

    shards: Sequence[Shard]
    files: Sequence[Path | pa.RecordBatch]
    bad: Sequence[ShardError]
    folder: Temporary | None

    def tables(self) -> list[pa.RecordBatch]:
        """Return the verdicts of each shard, which are read only as far as they are used."""
        return [read_verdicts(file) if isinstance(file, Path) else file for file in self.files]

    def held(self) -> Matched:
        """Return the same with the verdicts in memory, because other processes may not see their files."""
        return replace(self, files=self.tables(), folder=None)


@dataclass(frozen=True)
class Engine:
    """The way shards are matched.

    Attributes
    ----------
    job
        the job of each shard
    memory
        the number of bytes that may be used: verdicts that need more than a quarter of it are kept in files
    work
        the folder of files with verdicts, which an earlier run may have written; None keeps nothing
    workers
        the executor; None for as many threads as apframe has. Workers on other machines need a shared `work`
    """

    job: Job
    memory: int
    work: Path | None = None
    workers: Workers | None = None

    @property
    def again(self) -> Engine:
        """Return the engine for later parts, when an executor passed by the user may be shut down."""
        return self if callable(self.workers) else replace(self, workers=None)

    @property
    def has_own_similarity(self) -> bool:
        """Return True if objects are compared by a function of the user, which cannot be part of the name of a file."""
        return self.job.choice.protocol.similarity.name == UserSimilarity.name

    def match(self, shards: Sequence[Shard], *, skip_bad: bool = False) -> Matched:
        """Match each shard separately.

        Parameters
        ----------
        shards
            the shards to match
        skip_bad
            continue without the shards that cannot be matched

        Raises
        ------
        ShardError
            a shard is damaged, or has rows that cannot be evaluated; or workers died before they matched some shards
        ParameterError
            `work` is needed; a worker lacks a package, or has another version of apframe
        OutputError
            the folder cannot be written to
        """
        if self.work is not None:
            _make(self.work)
        storage = _Kept(self.memory // KEPT, Temporary() if self.work is None and self.workers is not None else None)
        results: dict[int, Result] = {}
        try:
            for attempt in range(1, _ATTEMPTS + 1):
                lost = [number for number in range(len(shards)) if number not in results]
                with closing(self._results([shards[number] for number in lost], storage.folder)) as new_results:
                    for number, result in zip(lost, with_bar(new_results, "matching", len(lost)), strict=True):
                        if isinstance(result, ShardError) and not skip_bad:
                            raise result
                        if result is not None:
                            results[number] = storage.add(number, result)
                if len(results) == len(shards):
                    break
                if attempt == _ATTEMPTS or not callable(self.workers):
                    raise self._lost([shard for number, shard in enumerate(shards) if number not in results])
        except BaseException:  # Ctrl-C too
            storage.close()
            raise
        good = [number for number, each in sorted(results.items()) if not isinstance(each, ShardError)]
        bad = [each for _, each in sorted(results.items()) if isinstance(each, ShardError)]
        return Matched([shards[number] for number in good], [results[number] for number in good], bad, storage.folder)

    def _results(self, shards: Sequence[Shard], folder: Temporary | None) -> Generator[Result | None, None, None]:
        """Yield the result of each shard; None if the worker died. When closed, it does not start further shards."""
        place = self.work if folder is None else folder.path
        resumes = folder is None and not self.has_own_similarity
        match = partial(match_one, self.job, None if place is None else place.absolute(), resumes=resumes)
        with _opened(self.workers) as executor:
            if self.workers is not None:
                self._refuse_temporary(executor)
                shards = [_absolute(shard) for shard in shards]
            ahead = 2 * threads() if self.workers is None else len(shards)
            running: deque[tuple[Shard, Future[Result]]] = deque()
            try:
                for shard in shards:
                    running.append((shard, _submitted(executor, match, shard)))
                    if len(running) > ahead:
                        yield self._result(*running.popleft())
                while running:
                    yield self._result(*running.popleft())
            finally:
                for _, each in running:
                    each.cancel()

    def _result(self, shard: Shard, future: Future[Result]) -> Result | None:
        """Return the result of matching a shard; None if the worker died."""
        try:
            return future.result()
        except ShardError as error:
            return error if error.shard else named(error, shard)
        except (BrokenExecutor, CancelledError):
            return None
        except Exception as error:
            if type(error).__name__ == "KilledWorker":  # the error of Dask
                return None
            if self.workers is not None and isinstance(error, ModuleNotFoundError):
                problem = f"a worker cannot import {error.name}"
                raise ParameterError(problem, "install the same packages everywhere") from error
            if self.workers is not None and "pickle" in str(error):
                remedy = "functions of your own must be importable, or use loky, Dask or Ray, which send them whole"
                raise ParameterError(f"cannot be sent to workers ({first_line(error)})", remedy, option="executor") from error
            raise

    def _refuse_temporary(self, executor: Executor) -> None:
        """Raise an error if workers may be on other machines, which cannot see a temporary folder of this machine."""
        is_here = isinstance(executor, (ThreadPoolExecutor, ProcessPoolExecutor))
        if self.work is None and not (is_here or getattr(executor, "is_on_this_machine", False)):
            problem = f"is needed: workers of {type(executor).__name__} may be on other machines"
            raise ParameterError(problem, "name a folder that all of them share", option="work")

    def _lost(self, shards: Sequence[Shard]) -> ShardError:
        """Return the error that workers died before they had matched some shards."""
        names, folder = listed([shard.name for shard in shards]), option_name("work", "")
        problem = f"workers died before they had matched {counted(len(shards), 'shard')}: {names}"
        other = "" if callable(self.workers) else " with another executor, or a function that makes one,"
        again = f"name a folder with {folder}" if self.work is None else f"repeat the call{other}"
        remedy = f"{again} to resume from here; did they run out of memory? Write smaller shards, or use fewer workers"
        error = ShardError(problem, remedy)
        error.shard = shards[0].name
        return error


class _Kept:
    """Verdicts, kept in memory up to a number of bytes and then in a temporary folder."""

    def __init__(self, max_bytes: int, folder: Temporary | None) -> None:
        self._left, self.folder = max_bytes, folder

    def add(self, number: int, result: Result) -> Result:
        """Return the result, or the file to which its verdicts were moved."""
        if isinstance(result, (Path, ShardError)):
            return result
        self._left -= result.nbytes
        if self._left >= 0:
            return result
        self.folder = self.folder or Temporary()
        path = self.folder.path / f"{number}.arrow"
        with self.folder.writing(
            "verdicts", f"name a folder with more space with {option_name('work', '')}, or set TMPDIR to one"
        ):
            write_verdicts(result, path)
        return path

    def close(self) -> None:
        """Remove the folder."""
        if self.folder is not None:
            self.folder.close()


def _opened(workers: Workers | None) -> AbstractContextManager[Executor]:
    """Open the executor for a `with` block.

    Raises
    ------
    ParameterError
        it is neither an executor nor a function that creates one, or it would never end
    """
    if workers is None:
        return pool()
    executor = workers() if callable(workers) else workers
    if not isinstance(executor, Executor):
        remedy = "pass an object with the interface of concurrent.futures.Executor, or a function that creates one"
        raise ParameterError(f"is not an executor: {shown(executor)}", remedy, option="executor")
    if getattr(getattr(executor, "_mp_context", None), "get_start_method", str)() == "fork":
        remedy = 'give it mp_context=multiprocessing.get_context("spawn")'
        raise ParameterError("forks processes, which hang once Polars has run", remedy, option="executor")
    return nullcontext(executor) if executor is workers else executor


def _submitted(executor: Executor, match: Callable[[Shard], Result], shard: Shard) -> Future[Result]:
    try:
        return executor.submit(match, shard)
    except BrokenExecutor as error:  # a worker died before this task began
        lost = Future[Any]()
        lost.set_exception(error)
        return lost
    except RuntimeError as error:
        raise ParameterError(f"accepts no work ({error})", "pass one that is open", option="executor") from error


def _absolute(shard: Shard) -> Shard:
    """Return the shard with absolute names, which are also valid in the working folder of a worker."""
    detections = None if shard.detections is None else absolute(shard.detections)
    return replace(shard, truth=absolute(shard.truth), detections=detections)


def _make(work: Path) -> None:
    """Create the folder if it does not exist."""
    try:
        work.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        remedy = f"name another folder with {option_name('work', '')}"
        raise OutputError(f"cannot be written ({reason(error)})", remedy, path=work) from error
