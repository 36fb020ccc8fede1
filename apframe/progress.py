"""A bar for what takes long, in front of people only."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TypeVar

Part = TypeVar("Part")


def with_bar(parts: Sequence[Part], doing: str) -> Iterator[Part]:
    """The parts one after the other, with a bar on stderr that says how many are done; none where that is not a terminal.

    >>> list(with_bar(["a", "b"], "writing"))
    ['a', 'b']
    """
    if not sys.stderr.isatty():
        yield from parts
        return
    from rich.console import Console  # takes a while to import, and is for people only
    from rich.progress import track

    yield from track(parts, doing, console=Console(stderr=True), transient=True)
