"""The `apframe` command as a process of its own: `python -m apframe`, and the script."""

from __future__ import annotations

import gc
import os
import signal
import sys
from contextlib import suppress
from threading import Timer
from types import FrameType
from typing import NoReturn


def run() -> NoReturn:
    """Run the command with the arguments of the process, and end the process at once.

    Python would first free every table and module, which takes a tenth of a second. It still does so if a profiler or debugger
    waits for the end, and if the output cannot be written, which it then reports.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # not ignored, as it is in the background of a script
        signal.signal(signal.SIGINT, interrupt)
    gc.set_threshold(100_000)  # imports and reading make objects that stay: looking for others among them takes 0.03 s
    # NumPy's linear algebra starts threads that keep a core busy for 0.03 s, for work that most verbs do not have
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")
    from apframe.cli.command import main

    try:
        main()
    except SystemExit as ended:
        if sys.getprofile() is None and sys.gettrace() is None:
            with suppress(OSError, ValueError):
                for stream in (sys.stdout, sys.stderr):
                    if stream is not None:  # the process was started without it
                        stream.flush()
                os._exit(int(ended.code or 0))
        raise


def interrupt(number: int, frame: FrameType | None) -> None:
    """Raise KeyboardInterrupt on Ctrl-C, but if Python is importing, only when that is done.

    Raised there, it may be lost with the lock of all imports held for ever, or abort a compiled module that is being loaded.
    """
    while frame is not None and not frame.f_code.co_filename.startswith("<frozen importlib"):
        frame = frame.f_back
    if frame is None:
        raise KeyboardInterrupt
    Timer(0.01, os.kill, (os.getpid(), number)).start()


if __name__ == "__main__":
    run()
