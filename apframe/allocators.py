"""Memory in the `apframe` command: what is freed goes back to the system soon, as a command computes everything once.

This module is imported before Polars, whose allocator takes its settings when it is loaded. Another process that imports
apframe keeps its own settings: one that evaluates again and again is faster with pages that it has already.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress

from apframe.ctrl_c import is_command

_ARENA_MAX = -8  # M_ARENA_MAX in glibc's malloc.h


def return_memory() -> None:
    """Have Polars' allocator (jemalloc, on Linux) keep what is freed for 10 ms only, and glibc's in one arena for all threads.

    Settings that the environment has already are left alone.

    >>> return_memory()
    """
    import ctypes

    os.environ.setdefault("_RJEM_MALLOC_CONF", "dirty_decay_ms:10,muzzy_decay_ms:0")
    with suppress(AttributeError, OSError, TypeError):  # there is no glibc
        ctypes.CDLL(None).mallopt(_ARENA_MAX, 1)


if is_command(sys.argv, sys.orig_argv):
    return_memory()
