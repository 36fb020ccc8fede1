"""A progress bar for work that takes more than two seconds, in a terminal or a notebook, never in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sized
from contextlib import contextmanager
from time import monotonic
from typing import Any, TypeVar

Part = TypeVar("Part")
AFTER = 2.0  # seconds before a bar appears
_BETWEEN = 0.2  # seconds between two updates of the bar in a notebook
_spinner: Any = None  # the spinner that a bar replaces


def with_bar(parts: Iterable[Part], doing: str, n: int | None = None) -> Iterator[Part]:
    """Yield the parts one after the other, with a progress bar if that takes more than two seconds.

    The bar is on stderr if that is a terminal, or below the cell of a notebook. It appears when the first part after two
    seconds is done, and disappears at the end. Pipes and files get no bar.

    Parameters
    ----------
    parts
        the parts of the work
    doing
        the work in a word or two, shown in front of the bar
    n
        the number of parts, if `parts` does not have a length

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
    """Return True in a notebook, which only a process that has imported IPython can be."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return type(shell).__name__ == "ZMQInteractiveShell"


def _columns() -> list[Any]:
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn

    return [TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()]


@contextmanager
def stopped_below_bars(spinner: Any) -> Iterator[None]:
    """Stop a spinner of rich while a bar is in the terminal, because both would write into one line.

    >>> with stopped_below_bars(None):
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

    stderr = getattr(sys.stderr, "stream", sys.stderr)  # the stream of the command escapes control characters
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
    """Show the bar as text that is replaced, because rich's own bar needs ipywidgets."""
    import io

    from IPython.display import display
    from rich.console import Console
    from rich.progress import Progress

    text = Console(file=io.StringIO(), width=80, force_jupyter=False, force_terminal=False)
    bar = Progress(*_columns(), console=text, auto_refresh=False)
    task = bar.add_task(doing, total=n)

    def picture(done: int) -> dict[str, str]:
        bar.update(task, completed=done)
        with text.capture() as capture:
            text.print(bar.get_renderable())
        return {"text/plain": capture.get().rstrip()}

    place: Any = display  # has no types
    handle = place(picture(done), raw=True, display_id=True)
    updated_at = monotonic()
    try:
        for now_done, part in enumerate(parts, done + 1):
            yield part
            if monotonic() - updated_at >= _BETWEEN:
                updated_at = monotonic()
                handle.update(picture(now_done), raw=True)
    finally:
        handle.update({"text/plain": ""}, raw=True)
