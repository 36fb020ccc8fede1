"""The memory budget."""

from __future__ import annotations

import os
import re
from pathlib import Path

from apframe.exceptions import ParameterError

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 1 << 10, "mi": 1 << 20, "gi": 1 << 30, "ti": 1 << 40}
_LIMIT = Path("/sys/fs/cgroup/memory.max")  # the limit of a container


def as_bytes(memory: int | str | None) -> int:
    """Convert a number or text such as "4GB" or "512 MiB" to bytes; None is half of the machine's or container's memory.

    Raises
    ------
    ParameterError
        the value is something else, or 0

    >>> as_bytes("4GB"), as_bytes("0.5 GiB"), as_bytes(1000)
    (4000000000, 536870912, 1000)
    >>> as_bytes("much")
    Traceback (most recent call last):
    apframe.exceptions.ParameterError: memory is a number of bytes or text such as "4GB", not 'much'
    """
    if memory is None:
        return _available() // 2
    match = re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*([kmgt]i?)?b?\s*", memory.lower()) if isinstance(memory, str) else None
    n_bytes = int(float(match[1]) * _UNITS[match[2] or ""]) if match else memory
    if isinstance(n_bytes, bool) or not isinstance(n_bytes, int) or n_bytes < 1:
        raise ParameterError(f'is a number of bytes or text such as "4GB", not {memory!r}', option="memory")
    return n_bytes


def in_words(n_bytes: int) -> str:
    """Return a number of bytes in readable units.

    >>> in_words(1_234_567_890), in_words(12_345)
    ('1.2 GB', '0.012 MB')
    """
    return f"{n_bytes / 1e9:.1f} GB" if n_bytes >= 1e8 else f"{n_bytes / 1e6:.2g} MB"


def _available() -> int:
    """Return the memory of the machine, or of the container if that has less."""
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        return min(physical, int(_LIMIT.read_text()))
    except (OSError, ValueError):  # not in a container, or in one without a limit
        return physical
