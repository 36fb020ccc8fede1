"""The number of threads that compute at once, and the pool that they come from."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar

import polars as pl

from apframe.exceptions import ParameterError

if TYPE_CHECKING:
    import numpy as np

Given = TypeVar("Given")
Made = TypeVar("Made")
_VARIABLE = "APFRAME_THREADS"
PART_ROWS = 1 << 16  # rows of a part, so that its columns fit a second-level cache
_MOST_KEPT = (1 << 25) - (1 << 13)  # bytes: the largest piece that raises glibc's limits when it is freed; it is never touched

_chosen: int | None = None
_alone: ContextVar[bool] = ContextVar("alone", default=False)


def set_threads(n: int | None) -> None:
    """Set the number of threads that apframe computes with in this process.

    The default is the environment variable APFRAME_THREADS, otherwise as many threads as Polars has: one per core that the
    process may use, unless POLARS_MAX_THREADS says otherwise. With 1, apframe starts no threads; Polars and DuckDB still have
    theirs. The numbers are the same with any number of threads.

    Parameters
    ----------
    n
        1 or more; None for the default.

    Raises
    ------
    ParameterError
        `n` is not a whole number, or less than 1.

    >>> set_threads(1)
    >>> threads()
    1
    >>> set_threads(None)
    """
    if n is not None and (isinstance(n, bool) or not hasattr(n, "__index__") or n.__index__() < 1):
        raise ParameterError(
            f"set_threads({n!r}): the number of threads is a whole number of at least 1", "None restores the default"
        )
    global _chosen  # one number for the whole process
    _chosen = None if n is None else n.__index__()


def threads() -> int:
    """Return the number of threads that apframe computes with; see `set_threads`.

    Raises
    ------
    ParameterError
        APFRAME_THREADS is not a whole number of 1 or more.

    >>> threads() >= 1
    True
    """
    if _alone.get():
        return 1
    if _chosen is not None:
        return _chosen
    value = os.environ.get(_VARIABLE, "").strip()
    if not value:
        return pl.thread_pool_size()
    if not value.isdecimal() or not value.isascii() or int(value) < 1:
        raise ParameterError(
            f"{_VARIABLE}={value}: the number of threads is a whole number of at least 1", "correct the variable, or unset it"
        )
    return int(value)


@contextmanager
def alone() -> Iterator[None]:
    """Compute without further threads in this thread, because its work is one of several pieces that run in parallel.

    >>> with alone():
    ...     threads()
    1
    """
    before = _alone.set(True)
    try:
        yield
    finally:
        _alone.reset(before)


def pool() -> Executor:
    """Open a pool of `threads()` threads for a `with` block, which ends when all of its work has ended.

    Each block has its own pool, whose threads start only when needed, so work may open another block without a deadlock.
    With one thread there is no pool: `submit` does the work itself.

    >>> with pool() as others:
    ...     list(others.map(abs, [-1, 2]))
    [1, 2]
    """
    if threads() == 1:
        return _SameThread()
    return _Threads(threads())


class _Threads(Executor):
    """A pool of threads in which work keeps the context of its submitter, such as the list that collects its warnings.

    >>> with _Threads(2) as others:
    ...     others.submit(divmod, 7, 2).result()
    (3, 1)
    """

    def __init__(self, n: int) -> None:
        from concurrent.futures import ThreadPoolExecutor

        self._pool = ThreadPoolExecutor(n, "apframe")

    def submit(self, function: Callable[..., Made], /, *arguments: Any, **options: Any) -> Future[Made]:
        """Have a thread do the work."""
        return self._pool.submit(copy_context().run, function, *arguments, **options)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """See `Executor`."""
        self._pool.shutdown(wait, cancel_futures=cancel_futures)


class _SameThread(Executor):
    """A pool without threads.

    >>> with _SameThread() as others:
    ...     others.submit(divmod, 7, 2).result()
    (3, 1)
    """

    def submit(self, function: Callable[..., Made], /, *arguments: Any, **options: Any) -> Future[Made]:
        """Do the work at once; as in other pools, `result` raises its error."""
        done = Future[Made]()
        try:
            done.set_result(function(*arguments, **options))
        except Exception as error:  # `result` raises it; Ctrl-C stops at once
            done.set_exception(error)
        return done


def part_bounds(sizes: np.ndarray) -> list[tuple[int, int]]:
    """Cut consecutive groups into parts of about the same size, which are computed in parallel.

    Parameters
    ----------
    sizes
        the number of rows of each group; a group is not divided

    Returns
    -------
    The number of the first group of each part, and of the first group after it. There is at least one part.

    >>> import numpy as np
    >>> part_bounds(np.array([40_000, 10_000, 30_000, 50_000]))
    [(0, 2), (2, 4)]
    """
    import numpy as np

    ends = np.cumsum(sizes)
    total = int(ends[-1]) if len(ends) else 0
    n_parts = -(-total // PART_ROWS)
    cuts = np.searchsorted(ends - sizes / 2, np.arange(1, n_parts) * (total / max(n_parts, 1)))
    bounds = sorted({0, *cuts.tolist(), len(sizes)})
    return list(pairwise(bounds)) or [(0, 0)]


def keep_pages() -> None:
    """Have glibc keep freed memory for the next array, rather than map and clear the same pages again (mallopt(3)).

    >>> keep_pages()
    """
    import numpy as np

    np.empty(_MOST_KEPT, dtype=np.uint8)


def map_parts(function: Callable[[Given], Made], parts: Sequence[Given]) -> list[Made]:
    """Return the result of a function for each part, in order, computed in parallel; a single part needs no thread.

    >>> map_parts(sum, [(1, 2), (3, 4)])
    [3, 7]
    """
    if len(parts) == 1:
        return [function(parts[0])]
    with pool() as others:
        return list(others.map(function, parts))


def map_lazily(others: Executor, function: Callable[[Given], Made], items: Iterable[Given]) -> Generator[Made, None, None]:
    """Yield the result of a function for each item, in order, reading only a few items ahead however many there are.

    If it is closed before its end, work that has not begun is not done.

    >>> with pool() as others:
    ...     list(map_lazily(others, abs, iter([-1, 2])))
    [1, 2]
    """
    running: deque[Future[Made]] = deque()
    try:
        for item in items:
            running.append(others.submit(function, item))
            if len(running) > 2 * threads():
                yield running.popleft().result()
        while running:
            yield running.popleft().result()
    finally:
        for each in running:
            each.cancel()
