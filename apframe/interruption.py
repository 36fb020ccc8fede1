"""Long work that Ctrl-C interrupts at once, although Python hears signals in the main thread alone, between its own steps."""

from __future__ import annotations

import atexit
import threading
from collections.abc import Callable
from contextvars import copy_context
from typing import TYPE_CHECKING, Any, TypeVar

from apframe import exceptions
from apframe.collecting import collecting
from apframe.exceptions import warn

if TYPE_CHECKING:
    from concurrent.futures import Future

T = TypeVar("T")
# what Ctrl-C left behind: work that has not ended yet, and what stops it
_LEFT: list[tuple[Future[Any], Callable[[], None]]] = []
atexit.register(_LEFT.clear)  # DuckDB would complain of connections that are left


def beside(work: Callable[[], T], stop: Callable[[], None]) -> T:
    """The result of work that another thread does, so that this one hears Ctrl-C at once, whatever is being computed.

    On Ctrl-C `stop` is called, which is to end the work soon. If it has not ended after half a second, it is left to itself:
    what DuckDB and Polars compute ends at the next place where they look. Until then `unfinished` says so; the next call waits
    for it, as Polars raises KeyboardInterrupt in every thread while one of them has still to end. Called in any thread but the
    main one, which alone hears signals, the work is done in that thread. Warnings of the work are given when it has ended.

    Raises
    ------
    KeyboardInterrupt
        Ctrl-C

    >>> beside(lambda: 6 * 7, lambda: None)
    42
    """
    if threading.current_thread() is not threading.main_thread():
        return work()
    from concurrent.futures import Future, wait

    settle()
    doing: Future[T] = Future()
    warnings: list[tuple[str, str]] = []
    try:
        # not by an executor: interrupted while its thread starts, it would not say what it has begun
        threading.Thread(target=copy_context().run, args=(_do, work, doing, warnings), name="apframe-sql").start()
        while not doing.done():  # a signal that another thread gets is seen when this one wakes
            wait([doing], timeout=0.1)
    except KeyboardInterrupt:
        if not doing.cancel():  # it has begun
            _LEFT.append((doing, stop))
            for _ in range(5):
                stop()  # again, for one that comes just before a query begins is lost
                if wait([doing], timeout=0.1).done:
                    break
        raise
    try:
        for category, message in warnings:  # of the thread, which does not know the line of the caller's code
            warn(message, getattr(exceptions, category))
        return doing.result()
    finally:
        del doing  # else an error and this frame would hold each other, and the connections with them


def _do(work: Callable[[], T], doing: Future[T], warnings: list[tuple[str, str]]) -> None:
    if doing.set_running_or_notify_cancel():
        try:
            with collecting() as found:
                try:
                    result = work()
                finally:
                    warnings += found
            doing.set_result(result)
        except BaseException as error:
            doing.set_exception(error)
            del work, doing  # as in `beside`


def unfinished() -> bool:
    """Whether work that was interrupted has not ended yet."""
    _LEFT[:] = [(doing, stop) for doing, stop in _LEFT if not doing.done()]
    return bool(_LEFT)


def settle() -> None:
    """Wait until work that was interrupted has ended."""
    while unfinished():
        from concurrent.futures import wait

        for _, stop in _LEFT:
            stop()
        wait([doing for doing, _ in _LEFT], timeout=0.1)
