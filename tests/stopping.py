"""Processes that a test stops, kills or interrupts at a moment that is defined by a condition, not by a clock."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

from apframe import ctrl_c

ROOT = Path(__file__).parents[1]
SECONDS = 120  # give up waiting after this long; even a very slow machine needs less


@contextmanager
def process(script: str, *arguments: object) -> Iterator[subprocess.Popen[str]]:
    """A process that runs the script, from the moment at which it has printed "ready"; killed at the end."""
    command = [sys.executable, "-c", script, *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT, text=True) as started:
        assert started.stdout is not None and started.stderr is not None
        assert started.stdout.readline() == "ready\n", started.stderr.read()
        try:
            yield started
        finally:
            started.kill()


def hidden(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name.startswith("."))


def wait_until_stopped(started: subprocess.Popen[str]) -> None:
    """Wait until a process has been stopped, by itself or by another; an error if it has ended."""
    until = time.monotonic() + SECONDS
    while (state := os.waitpid(started.pid, os.WUNTRACED | os.WNOHANG)) == (0, 0):
        assert time.monotonic() < until, "the process never stopped"
        time.sleep(0.001)
    assert started.stderr is not None
    if not os.WIFSTOPPED(state[1]):
        raise AssertionError(f"the process has ended, with {os.waitstatus_to_exitcode(state[1])}: {started.stderr.read()}")


def stop_when(started: subprocess.Popen[str], condition: Callable[[], object]) -> None:
    """Stop a process at a moment at which a condition holds: it is looked at while the process stands still."""
    until = time.monotonic() + SECONDS
    while True:
        started.send_signal(signal.SIGSTOP)
        wait_until_stopped(started)
        if condition():
            return
        assert time.monotonic() < until, "the condition never held while the process stood still"
        started.send_signal(signal.SIGCONT)
        time.sleep(random.uniform(0.001, 0.02))  # time to get on, even where others compute; and not in step with its work


@contextmanager
def interrupted_in(function: str) -> Iterator[None]:
    """Send Ctrl-C to this process, once, when one of its threads is inside a function of this name.

    Where Python cannot pass it on, as in a function that is called at each collection of garbage, it is sent again.
    """
    left, report = threading.Event(), sys.unraisablehook

    def watch() -> None:
        until = time.monotonic() + SECONDS
        while not left.is_set() and time.monotonic() < until:
            for frame in sys._current_frames().values():
                at = frame
                while at is not None:
                    if at.f_code.co_name == function:
                        os.kill(os.getpid(), signal.SIGINT)
                        return
                    at = at.f_back
            time.sleep(0.01)

    def report_lost(lost: sys.UnraisableHookArgs) -> None:
        (ctrl_c.report_lost if lost.exc_type is KeyboardInterrupt else report)(lost)

    watching = threading.Thread(target=watch)
    watching.start()
    try:
        with patch.object(sys, "unraisablehook", report_lost):
            yield
    finally:
        left.set()
        watching.join()
