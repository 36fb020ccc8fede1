"""A bar for what takes more than two seconds, in front of people only: in a terminal or a notebook, never in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sized
from contextlib import contextmanager
from time import monotonic
from typing import Any, TypeVar

Part = TypeVar("Part")
AFTER = 2.0  # seconds, before which nothing appears
_BETWEEN = 0.2  # seconds between two pictures of the bar in a notebook
_spinner: Any = None  # what a bar takes the place of


def with_bar(parts: Iterable[Part], doing: str, n: int | None = None) -> Iterator[Part]:
    """Yield the parts one after the other; a bar says how many are done if that takes more than two seconds.

    The bar is on stderr if that is a terminal, or below the cell of a notebook. It appears when the first part is done after
    the two seconds, and goes away at the end. In a pipe or a file there is none.

    Parameters
    ----------
    parts
        what is done part by part
    doing
        what is being done, in a word or two
    n
        how many parts there are, if `parts` does not have a length

    >>> list(with_bar(["a", "b"], "writing"))
    ['a', 'b']
    """
    bar = _bar_below_cell if _in_notebook() else _bar_in_terminal if sys.stderr.isatty() else None
    n = len(parts) if n is None and isinstance(parts, Sized) else n
    if bar is None or n is None:
        yield from parts
        return
    started, each = monotonic(), iter(parts)
    for done, part in enumerate(each, 1):
        yield part
        if done < n and monotonic() - started > AFTER:
            yield from bar(each, doing, n, done)


def _in_notebook() -> bool:
    """Whether this runs in a notebook, which only a process that has imported IPython can do."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return type(shell).__name__ == "ZMQInteractiveShell"


def _columns() -> list[Any]:
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn

    return [TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()]


@contextmanager
def giving_way(spinner: Any) -> Iterator[None]:
    """Stop a spinner of rich while a bar is in the terminal, because both would write into one line.

    >>> with giving_way(None):
    ...     list(with_bar("ab", "reading"))
    ['a', 'b']
    """
    global _spinner
    before, _spinner = _spinner, spinner
    try:
        yield
    finally:
        _spinner = before


def _bar_in_terminal(parts: Iterator[Part], doing: str, n: int, done: int) -> Iterator[Part]:
    from rich.console import Console  # takes a while to import, and is for people only
    from rich.progress import Progress

    stderr = getattr(sys.stderr, "stream", sys.stderr)  # that of the command writes control characters out
    if _spinner is not None:
        _spinner.stop()
    try:
        with Progress(*_columns(), console=Console(file=stderr), transient=True) as bar:
            task = bar.add_task(doing, total=n, completed=done)
            for part in parts:
                yield part
                bar.advance(task)
    finally:
        if _spinner is not None:
            _spinner.start()


def _bar_below_cell(parts: Iterator[Part], doing: str, n: int, done: int) -> Iterator[Part]:
    """The bar as text that is replaced; rich itself would need ipywidgets."""
    import io

    from IPython.display import display
    from rich.console import Console
    from rich.progress import Progress

    text = Console(file=io.StringIO(), width=80, force_jupyter=False, force_terminal=False)
    bar = Progress(*_columns(), console=text, auto_refresh=False)
    task = bar.add_task(doing, total=n)

    def picture(done: int) -> dict[str, str]:
        bar.update(task, completed=done)
        with text.capture() as drawn:
            text.print(bar.get_renderable())
        return {"text/plain": drawn.get().rstrip()}

    place: Any = display  # which has no types
    handle = place(picture(done), raw=True, display_id=True)
    drawn_at = monotonic()
    try:
        for now_done, part in enumerate(parts, done + 1):
            yield part
            if monotonic() - drawn_at >= _BETWEEN:
                drawn_at = monotonic()
                handle.update(picture(now_done), raw=True)
    finally:
        handle.update({"text/plain": ""}, raw=True)
