"""Shards matched on a Ray cluster: one task for each shard; the verdicts stay in Ray's object store and are ranked in tasks."""

from __future__ import annotations

import logging
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import version
from itertools import islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from apframe.exceptions import ApframeError, ParameterError, ShardError, import_optional
from apframe.matching.verdicts import Verdicts
from apframe.progress import with_bar
from apframe.scale.addresses import absolute
from apframe.scale.local import KEPT, make_folder, match_one
from apframe.scale.one_shard import Job
from apframe.scale.shards import Shard
from apframe.scale.store import LocalStore, Store, given, most_rows
from apframe.scale.store import head as head_of_table
from apframe.scale.together import Head, put_together
from apframe.threads import set_threads, threads
from apframe.wording import first_line, spelled

if TYPE_CHECKING:
    import pyarrow as pa

Made = TypeVar("Made")
_ATTEMPTS = 3  # how often a task is begun whose worker dies
_MOST = 64  # the most pieces that the verdicts of a shard are cut into
_LEAST_BYTES = 1 << 21  # of a piece: each costs Ray about a millisecond


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
    match = _task(num_returns=_MOST + 1)
    heads, pieces, good, bad = [], [], [], list[ShardError]()
    begun = _a_few_ahead(lambda shard: _begin(match, partial(_match, job, _absolute(shard), work, _LEAST_BYTES)), shards)
    for shard, (known, *buffers) in zip(shards, with_bar(begun, "matching", len(shards)), strict=True):
        try:
            head, bounds = _result(known, f"shard {shard.name}", shard.name)
        except ShardError as error:
            if not skip_bad:
                raise
            bad.append(error)
        else:
            good.append(shard)
            heads.append(head)
            pieces.append(Pieces(bounds, buffers[: len(bounds) - 1]))
    return OnRay(heads, pieces, most_rows(memory // KEPT, len(good))), good, bad


@dataclass(frozen=True)
class Pieces:
    """The verdicts of a shard in Ray's object store: references to buffers that have tables of consecutive lists.

    Attributes
    ----------
    bounds
        the number of the first list of each buffer, and that of the first list after all of them
    buffers
        the references
    """

    bounds: np.ndarray
    buffers: Sequence[Any]

    def of(self, begin: int, end: int) -> tuple[int, Sequence[Any]]:
        """The number of the first list of the buffers that have some lists, and these buffers.

        >>> Pieces(np.array([0, 2, 5]), ["a", "b"]).of(3, 4), Pieces(np.array([0, 2, 5]), ["a", "b"]).of(1, 5)
        ((2, ['b']), (0, ['a', 'b']))
        """
        first = int(np.searchsorted(self.bounds, begin, side="right")) - 1
        return int(self.bounds[first]), self.buffers[first : int(np.searchsorted(self.bounds, end))]


@dataclass(frozen=True)
class OnRay:
    """The verdicts of shards in Ray's object store.

    Attributes
    ----------
    heads
        what is known of each shard beside its verdicts
    pieces
        the verdicts of each shard
    most_rows
        how many detections may be put together at once
    """

    heads: list[Head]
    pieces: list[Pieces]
    most_rows: int

    def store(self, whole: Verdicts) -> RayStore:
        """The verdicts of all of them; `whole` has none of their rows."""
        together = put_together(self.heads, whole)
        share = -(-int(together.counts.sum()) // (2 * _n_cpus()))  # some blocks take longer than others
        return RayStore(together, max(1, min(self.most_rows, share)), self.pieces, _session())


@dataclass(frozen=True)
class RayStore(Store):
    """Verdicts in Ray's object store, which are put together and ranked in tasks; each task gets the lists that it ranks.

    Attributes
    ----------
    pieces
        the verdicts of each shard
    session
        which Ray they are in
    """

    pieces: Sequence[Pieces]
    session: str

    def map(self, function: Callable[[np.ndarray, Verdicts], Made]) -> list[Made]:
        """See `Store.map`: one task for each block, and only what the function returns comes back.

        Raises
        ------
        ParameterError
            Ray was shut down since the shards were matched
        """
        light = self._ray().put(_dumped(self._local([])))
        task, begun = _task(), []
        for begin, end in self.blocks():
            taken = [of_shard.of(begin, end) for of_shard in self.pieces]
            known = [(first, len(buffers)) for first, buffers in taken]
            buffers = [buffer for _, of_shard in taken for buffer in of_shard]
            begun.append(_begin(task, partial(_apply, function, begin, end, known), light, *buffers))
        return [_result(each, "ranking", None) for each in begun]

    def __reduce__(self) -> Any:
        """For pickle and copies: the verdicts themselves, which need no Ray."""
        import pyarrow as pa

        tables = []
        for of_shard in self.pieces:
            buffers = self._ray().get(list(of_shard.buffers))
            tables.append(partial(given, pa.concat_tables([pa.ipc.open_stream(buffer).read_all() for buffer in buffers])))
        return replace, (self._local(tables),)

    def _local(self, tables: Sequence[Callable[[], pa.Table]]) -> LocalStore:
        """The same with the verdicts in tables of one process."""
        return LocalStore(self.together, self.most_rows, tables, images=self.images, lists=self.lists)

    def _ray(self) -> Any:
        """Ray, if the verdicts are still in it."""
        ray = _ray()
        if not ray.is_initialized() or _session() != self.session:
            raise ParameterError(
                "Ray was shut down, and the verdicts with it", "evaluate again, and keep Ray running meanwhile"
            )
        return ray


def _match(job: Job, shard: Shard, work: Path | None, least_bytes: int) -> tuple[Any, ...]:
    """What is known of a shard, and its verdicts as buffers, filled up with None; this runs on a worker."""
    own = version("apframe")
    if job.version != own:
        versions = f"a Ray worker has apframe {own}, but this process has {job.version}"
        raise ParameterError(versions, "install the same version on every node")
    result = match_one(job, work, shard)
    if isinstance(result, ShardError):
        raise result
    head, plain = head_of_table(result[0]), result[0].replace_schema_metadata(None)
    bounds = _cuts(head.counts, min(_MOST, 1 + plain.nbytes // least_bytes))
    buffers = [_as_buffer(plain.slice(a, b - a)) for a, b in pairwise(bounds.tolist())]
    return (head, bounds), *buffers, *[None] * (_MOST - len(buffers))


def _cuts(counts: np.ndarray, n: int) -> np.ndarray:
    """Where to cut lists into at most `n` pieces of about as many detections: the first lists, and the one after all.

    >>> _cuts(np.array([5, 1, 1, 3]), 2).tolist(), _cuts(np.array([0]), 3).tolist(), _cuts(np.array([]), 1).tolist()
    ([0, 1, 4], [0, 1], [0, 0])
    """
    ends = np.cumsum(counts)
    wanted = np.arange(1, n) * (ends[-1] if len(ends) else 0) / n
    inner = np.unique(np.searchsorted(ends, wanted) + 1)
    return np.concatenate([[0], inner[inner < len(counts)], [len(counts)]])


def _apply(
    function: Callable[[np.ndarray, Verdicts], Made],
    begin: int,
    end: int,
    known: Sequence[tuple[int, int]],
    light: bytes,
    *buffers: pa.Buffer,
) -> Made:
    """What a function makes of the verdicts of some lists; this runs on a worker.

    `known` has, for each shard, the number of the first list of its buffers, and how many buffers it has.
    """
    import pickle

    import pyarrow as pa

    store: LocalStore = pickle.loads(light)
    tables = iter([pa.ipc.open_stream(buffer).read_all() for buffer in buffers])
    parts = [pa.concat_tables(islice(tables, n)).slice(begin - first, end - begin) for first, n in known]
    return function(*store.part(begin, end, parts))


def _as_buffer(table: pa.Table) -> pa.Buffer:
    """A table as one buffer of Arrow IPC, which Ray moves faster than the many of a table."""
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def _absolute(shard: Shard) -> Shard:
    """The shard by names that are right in the folder of a worker, too."""
    detections = None if shard.detections is None else absolute(shard.detections)
    return replace(shard, truth=absolute(shard.truth), detections=detections)


def _ray() -> Any:
    return import_optional("ray", f"{spelled('engine', 'ray')} needs Ray", '"apframe[ray]"')


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
    pickled: bytes = import_optional("ray.cloudpickle", f"{spelled('engine', 'ray')} needs Ray", '"apframe[ray]"').dumps(value)
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
