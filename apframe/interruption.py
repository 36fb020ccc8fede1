"""Long work that Ctrl-C interrupts at once, although Python handles signals only in the main thread, between its own steps."""

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
# interrupted work that has not ended yet, each with the function that stops it
_LEFT: list[tuple[Future[Any], Callable[[], None]]] = []
atexit.register(_LEFT.clear)  # DuckDB would complain of connections that are left


def run_interruptible(work: Callable[[], T], stop: Callable[[], None]) -> T:
    """Do work in another thread and return its result, so that this thread handles Ctrl-C at once, whatever is being computed.

    On Ctrl-C, `stop` is called, which has to end the work soon. If the work has not ended after half a second, it is abandoned:
    DuckDB and Polars end it the next time they check for interruption. Until then `unfinished` is True, and the next call waits
    for the work, because Polars raises KeyboardInterrupt in every thread while one of them has yet to end. Only the main thread
    receives signals; in any other thread, the work is done there. Warnings of the work are given when it has ended.

    Raises
    ------
    KeyboardInterrupt
        Ctrl-C

    >>> run_interruptible(lambda: 6 * 7, lambda: None)
    42
    """
    if threading.current_thread() is not threading.main_thread():
        return work()
    from concurrent.futures import Future, wait

    wait_for_cancelled()
    doing: Future[T] = Future()
    warnings: list[tuple[str, str]] = []
    try:
        # not an executor: if interrupted while its thread starts, it cannot say whether the work has begun
        threading.Thread(target=copy_context().run, args=(_do, work, doing, warnings), name="apframe-sql").start()
        while not doing.done():  # a signal that another thread gets is seen when this one wakes
            wait([doing], timeout=0.1)
    except KeyboardInterrupt:
        if not doing.cancel():  # it has begun
            _LEFT.append((doing, stop))
            for _ in range(5):
                stop()  # repeatedly, because a call just before a query begins has no effect
                if wait([doing], timeout=0.1).done:
                    break
        raise
    try:
        for category, message in warnings:  # given here, because the other thread does not know the line of the caller's code
            warn(message, getattr(exceptions, category))
        return doing.result()
    finally:
        del doing  # else an error and this frame would hold each other, and the connections with them


def _do(work: Callable[[], T], doing: Future[T], warnings: list[tuple[str, str]]) -> None:
    if doing.set_running_or_notify_cancel():
        try:
            with collecting() as collected:
                try:
                    result = work()
                finally:
                    warnings += collected
            doing.set_result(result)
        except BaseException as error:
            doing.set_exception(error)
            del work, doing  # as in `run_interruptible`


def unfinished() -> bool:
    """Return True if interrupted work has not ended yet."""
    _LEFT[:] = [(doing, stop) for doing, stop in _LEFT if not doing.done()]
    return bool(_LEFT)


def wait_for_cancelled() -> None:
    """Wait until interrupted work has ended."""
    while unfinished():
        from concurrent.futures import wait

        for _, stop in _LEFT:
            stop()
        wait([doing for doing, _ in _LEFT], timeout=0.1)
