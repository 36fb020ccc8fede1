"""Ctrl-C at the worst moments: before work has begun in its thread, and just after."""

from __future__ import annotations

import threading

import pytest

from apframe.interruption import run_interruptible, unfinished, wait_for_cancelled


@pytest.mark.parametrize("has_begun", [False, True])
def test_interrupted_while_the_thread_starts(has_begun: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    start, begun, stopped = threading.Thread.start, threading.Event(), threading.Event()

    def work() -> bool:
        begun.set()
        return stopped.wait(20)

    def interrupted(thread: threading.Thread) -> None:
        if has_begun:
            start(thread)
            begun.wait(20)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(threading.Thread, "start", interrupted)
        run_interruptible(work, stopped.set)
    wait_for_cancelled()
    assert (begun.is_set(), stopped.is_set(), unfinished()) == (has_begun, has_begun, False)
    assert run_interruptible(lambda: 7, lambda: None) == 7
