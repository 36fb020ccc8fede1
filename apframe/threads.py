"""How many threads compute at once, and the pool that they come from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor


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
