"""How many threads compute at once, and the pool that they come from."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, TypeVar

import polars as pl

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

Given = TypeVar("Given")
Made = TypeVar("Made")


def threads() -> int:
    """As many threads as Polars uses: one per available processor, unless POLARS_MAX_THREADS says otherwise.

    >>> threads() >= 1
    True
    """
    return pl.thread_pool_size()


def pool() -> ThreadPoolExecutor:
    """A pool of that many threads for the length of a `with` block, which ends when all of its work has ended.

    Each block has a pool of its own, started only as far as needed, so work may open such a block itself without a deadlock.

    >>> with pool() as others:
    ...     list(others.map(abs, [-1, 2]))
    [1, 2]
    """
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(threads(), "apframe")


def map_lazily(others: ThreadPoolExecutor, function: Callable[[Given], Made], items: Iterable[Given]) -> Iterator[Made]:
    """What a function makes of each item, in their order; only a few items are taken ahead, however many there are.

    >>> with pool() as others:
    ...     list(map_lazily(others, abs, iter([-1, 2])))
    [1, 2]
    """
    running: deque[Future[Made]] = deque()
    for item in items:
        running.append(others.submit(function, item))
        if len(running) > 2 * threads():
            yield running.popleft().result()
    while running:
        yield running.popleft().result()
