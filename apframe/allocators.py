"""Memory in the `apframe` command: freed memory goes back to the system soon, because a command computes everything once.

This module is imported before Polars, whose allocator reads its settings when it is loaded. Any other process that imports
apframe keeps its own settings: a process that evaluates repeatedly is faster if it keeps its pages.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress

from apframe.ctrl_c import is_command

_ARENA_MAX = -8  # M_ARENA_MAX in glibc's malloc.h


def return_memory() -> None:
    """Have Polars' allocator (jemalloc, on Linux) keep freed memory for only 10 ms, and glibc use one arena for all threads.

    Settings that are already in the environment are left alone.

    >>> return_memory()
    """
    import ctypes

    os.environ.setdefault("_RJEM_MALLOC_CONF", "dirty_decay_ms:10,muzzy_decay_ms:0")
    with suppress(AttributeError, OSError, TypeError):  # there is no glibc
        ctypes.CDLL(None).mallopt(_ARENA_MAX, 1)


if is_command(sys.argv, sys.orig_argv):
    return_memory()
