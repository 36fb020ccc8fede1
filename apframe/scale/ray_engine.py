"""Shards matched on a Ray cluster: one task for each shard; the verdicts stay in Ray's object store and are ranked in tasks."""

from __future__ import annotations

import logging
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from apframe.exceptions import ApframeError, ParameterError, ShardError, first_line, import_optional
from apframe.matching.verdicts import Verdicts
from apframe.progress import with_bar
from apframe.scale.addresses import is_remote
from apframe.scale.local import KEPT, make_folder, match_one
from apframe.scale.one_shard import Job
from apframe.scale.shards import Shard
from apframe.scale.store import Store, both, most_rows
from apframe.scale.store import head as head_of_table
from apframe.scale.together import Head, Together, put_together
from apframe.threads import set_threads, threads

if TYPE_CHECKING:
    import pyarrow as pa

Made = TypeVar("Made")
_ATTEMPTS = 3  # how often a task is begun whose worker dies
_PIECES = 64  # the most that the verdicts of a shard are cut into


def match_shards(
    shards: Sequence[Shard], job: Job, memory: int, work: Path | None, *, skip_bad: bool
) -> tuple[OnRay, list[Shard], list[ShardError]]:
    """Match shards in tasks of Ray, one for each shard, with one CPU each.

    If Ray runs in this process, that cluster is used, as `ray.init` was called. Otherwise, RAY_ADDRESS names a running one, or
    Ray is started on this machine with as many CPUs as apframe has threads. It then runs until the process ends or calls
    `ray.shutdown`; the evaluation needs it, because the verdicts are in its object store.

    Every node needs the same versions of Python, Ray and apframe, and must be able to read the shards: local paths have to be
    on a disk that all nodes share. Over the network go the names of the shards, image ids, verdicts and numbers.

    Parameters
    ----------
    shards, job
        what is matched, and how
    memory
        how many bytes each of the ranking tasks may take; a quarter of it is used
    work
        a folder that all nodes share, in which each shard's verdicts are kept; None: nothing is kept
    skip_bad
        go on without the shards that cannot be matched

    Returns
    -------
    The verdicts, the shards that they are of, and the errors of the others, which are raised unless `skip_bad`.

    Raises
    ------
    ParameterError
        Ray is missing; a worker has another version of apframe, or lacks a package
    ShardError
        a shard is damaged, or the worker that matched it died three times
    OutputError
        the folder for the verdicts cannot be written to
    """
    _running()
    if work is not None:
        work = work.absolute()
        make_folder(work)
    n_pieces = min(_PIECES, 8 * _n_cpus())
    match = _task(num_returns=n_pieces + 1)
    heads, pieces, good, bad = [], [], [], list[ShardError]()
    begun = _a_few_ahead(lambda shard: _begin(match, partial(_match, job, _absolute(shard), work, n_pieces)), shards)
    for shard, (head, *rows) in zip(shards, with_bar(begun, "matching", len(shards)), strict=True):
        try:
            heads.append(_result(head, f"shard {shard.name}", shard.name))
        except ShardError as error:
            if not skip_bad:
                raise
            bad.append(error)
        else:
            good.append(shard)
            pieces.append(rows)
    return OnRay(heads, pieces, most_rows(memory // KEPT, len(good))), good, bad


@dataclass(frozen=True)
class OnRay:
    """The verdicts of shards in Ray's object store.

    Attributes
    ----------
    heads
        what is known of each shard beside its verdicts
    pieces
        references to its verdicts, in buffers of consecutive lists
    most_rows
        how many detections may be put together at once
    """

    heads: list[Head]
    pieces: list[list[Any]]
    most_rows: int

    def store(self, whole: Verdicts) -> RayStore:
        """The verdicts of all of them; `whole` has none of their rows."""
        together = put_together(self.heads, whole)
        share = -(-int(together.counts.sum()) // (2 * _n_cpus()))  # some blocks take longer than others
        return RayStore(together, self.pieces, max(1, min(self.most_rows, share)), _session())


@dataclass(frozen=True)
class RayStore(Store):
    """Verdicts in Ray's object store, which are put together and ranked in tasks; each task gets the lists that it ranks.

    Attributes
    ----------
    pieces
        for each shard, references to buffers with tables of consecutive lists
    session
        which Ray they are in
    """

    together: Together
    pieces: Sequence[Sequence[Any]]
    most_rows: int
    session: str
    images: np.ndarray | None = None
    lists: np.ndarray | None = None

    def map(self, function: Callable[[np.ndarray, Verdicts], Made]) -> list[Made]:
        """See `Store.map`: one task for each block, and only what the function returns comes back.

        Raises
        ------
        ParameterError
            Ray was shut down since the shards were matched
        """
        ray = _ray()
        if not ray.is_initialized() or _session() != self.session:
            raise ParameterError(
                "Ray was shut down, and the verdicts with it", "evaluate again, and keep Ray running meanwhile"
            )
        light = ray.put(_dumped(replace(self, pieces=())))
        bounds = _cuts(self.together.whole.lists.height, len(self.pieces[0]))
        task, given = _task(), []
        for begin, end in self.blocks():
            at = slice(*np.searchsorted(bounds, [begin, end]))
            buffers = [buffer for of_shard in self.pieces for buffer in of_shard[at]]
            given.append(_begin(task, partial(_apply, function, begin, end, len(self.pieces)), light, *buffers))
        return [_result(each, "ranking", None) for each in given]

    def blocks(self) -> list[tuple[int, int]]:
        """See `Store.blocks`; they begin where a piece does."""
        bounds = np.unique(_cuts(self.together.whole.lists.height, len(self.pieces[0])))
        before = np.append(0, np.cumsum(self.together.counts.sum(axis=0)))[bounds]
        number = before[:-1] // self.most_rows
        begins = bounds[:-1][np.append(True, number[1:] != number[:-1])[: len(number)]].tolist()
        blocks = pairwise([*begins, int(bounds[-1])])
        return [(a, b) for a, b in blocks if self.lists is None or self.lists[a:b].any()]

    def at_once(self) -> Store:
        """See `Store.at_once`."""
        return replace(self, most_rows=1 + int(self.together.counts.sum()))

    def of(self, images: np.ndarray | None, lists: np.ndarray | None) -> Store:
        """See `Store.of`."""
        return replace(self, images=both(self.images, images), lists=both(self.lists, lists))


def _match(job: Job, shard: Shard, work: Path | None, n_pieces: int) -> tuple[Any, ...]:
    """What is known of a shard, and its verdicts in pieces; this runs on a worker."""
    own = version("apframe")
    if job.version != own:
        versions = f"a Ray worker has apframe {own}, but this process has {job.version}"
        raise ParameterError(versions, "install the same version on every node")
    result = match_one(job, work, shard)
    if isinstance(result, ShardError):
        raise result
    plain = result[0].replace_schema_metadata(None)
    bounds = _cuts(plain.num_rows, n_pieces)
    return head_of_table(result[0]), *(_as_buffer(plain.slice(a, b - a)) for a, b in pairwise(bounds.tolist()))


def _apply(
    function: Callable[[np.ndarray, Verdicts], Made], begin: int, end: int, n_shards: int, light: bytes, *buffers: pa.Buffer
) -> Made:
    """What a function makes of the verdicts of some lists; this runs on a worker."""
    import pickle

    import pyarrow as pa

    store: RayStore = pickle.loads(light)
    tables, n = [pa.ipc.open_stream(buffer).read_all() for buffer in buffers], len(buffers) // n_shards
    parts = [pa.concat_tables(tables[k * n : (k + 1) * n]) for k in range(n_shards)]
    return function(*store.part(begin, end, parts))


def _as_buffer(table: pa.Table) -> pa.Buffer:
    """A table as one buffer of Arrow IPC, which Ray moves faster than the many of a table."""
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def _cuts(n_lists: int, n_pieces: int) -> np.ndarray:
    """Where the pieces of the verdicts of a shard begin, and where the last one ends: the same for each shard."""
    return np.arange(n_pieces + 1) * n_lists // n_pieces


def _absolute(shard: Shard) -> Shard:
    """The shard by names that are right in the folder of a worker, too."""
    names = {name: getattr(shard, name) for name in ("truth", "detections")}
    return replace(shard, **{name: os.path.abspath(at) for name, at in names.items() if at is not None and not is_remote(at)})  # noqa: PTH100


def _ray() -> Any:
    return import_optional("ray", 'engine="ray" needs Ray', '"apframe[ray]"')


def _running() -> Any:
    """Ray, started if it does not run."""
    ray = _ray()
    if not ray.is_initialized():
        for name in ("RAY_USAGE_STATS_ENABLED", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO"):  # the latter causes a warning
            os.environ.setdefault(name, "0")
        quietly = {"log_to_driver": False, "logging_level": logging.ERROR}
        if os.environ.get("RAY_ADDRESS"):
            ray.init(**quietly)
        else:  # not any Ray on this machine, which would end with the process that started it
            ray.init("local", num_cpus=threads(), include_dashboard=False, **quietly)
    return ray


def _session() -> str:
    """Which Ray this process is connected to, and since when."""
    context = _ray().get_runtime_context()
    return f"{context.get_node_id()} {context.get_job_id()}"


def _task(**options: Any) -> Any:
    """A task of Ray that runs a pickled function, after it has made Polars and apframe use one thread, as Ray gives one CPU.

    The function itself is pickled as a whole, so that Polars is imported after its number of threads is set.
    """

    def run(pickled: bytes, *arguments: Any) -> Any:
        import os
        import pickle

        os.environ["POLARS_MAX_THREADS"] = "1"
        return pickle.loads(pickled)(*arguments)

    return _ray().remote(num_cpus=1, max_retries=_ATTEMPTS - 1, **options)(run)


def _begin(task: Any, function: Callable[..., Any], *arguments: Any) -> Any:
    return task.remote(_dumped(partial(_with_one_thread, function)), *arguments)


def _with_one_thread(function: Callable[..., Made], *arguments: Any) -> Made:
    set_threads(1)
    return function(*arguments)


def _dumped(value: Any) -> bytes:
    """A value as bytes, with functions of notebooks and lambdas as a whole."""
    pickled: bytes = import_optional("ray.cloudpickle", 'engine="ray" needs Ray', '"apframe[ray]"').dumps(value)
    return pickled


def _a_few_ahead(begin: Callable[[Shard], Made], shards: Iterable[Shard]) -> Iterator[Made]:
    """Begin tasks in order, and only a few more than run at once: after an error, the others are not begun.

    To cancel them instead may end this process: Ray 2.60 fails a check of its own if such a task has just finished.
    """
    begun = deque[Made]()
    for shard in shards:
        begun.append(begin(shard))
        if len(begun) >= 4 * _n_cpus():  # there may be more CPUs than before
            yield begun.popleft()
    yield from begun


def _n_cpus() -> int:
    """How many CPUs the cluster has."""
    return max(1, int(_ray().cluster_resources().get("CPU", 1)))


def _result(reference: Any, doing: str, shard: str | None) -> Any:
    """What a task has returned; its errors are those that it would raise in this process.

    Raises
    ------
    ParameterError
        a package is missing on a worker, or workers died while ranking
    ShardError
        the worker of a shard died three times
    """
    ray = _ray()
    try:
        return ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        cause = error.cause
        if isinstance(cause, ModuleNotFoundError):
            problem = f"a Ray worker cannot import {cause.name}"
            raise ParameterError(problem, "install the same packages on every node") from error
        if isinstance(cause, ApframeError):
            raise cause from error  # whose text has the traceback of the worker
        raise
    except ray.exceptions.RayError as error:
        problem = f"{doing}: its Ray worker died {_ATTEMPTS} times ({first_line(error)})"
        remedy = "did it run out of memory? Write smaller shards"
        if shard is None:
            raise ParameterError(problem, "did it run out of memory? Allow less", option="memory") from error
        named = ShardError(problem, remedy)
        named.shard = shard
        raise named from error
