"""Ctrl-C in the `apframe` command: from the first import of this package on, the process ends with 130 and no traceback.

This module is imported before all else, so that it imports nothing that takes time. Before it Python itself starts, in a few
hundredths of a second; what Ctrl-C does then is Python's own.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found] # what `signal` is made of, without its enumerations, which take time
import os
import sys
from itertools import pairwise

TYPE_CHECKING = False  # as in typing, which takes time
if TYPE_CHECKING:
    from types import FrameType

STATUS = 130  # the exit status, of 128 and the number of the signal
is_pressed = False
"""Whether Ctrl-C has been pressed, and nothing has answered it: whatever fails from then on fails because of it."""


def is_command(called: str, arguments: list[str]) -> bool:
    """Whether a process is the command: a script called so, or `python -m apframe`, of which Python has found the package.

    `called` is the name of the process, and `arguments` all that Python was started with.

    >>> is_command("/usr/bin/apframe", []), is_command("-m", ["python", "-m", "apframe", "eval"]), is_command("a.py", [])
    (True, True, False)
    """
    if called == "-m":
        return "-mapframe" in arguments or ("-m", "apframe") in pairwise(arguments)
    return os.path.splitext(os.path.basename(called))[0] == "apframe"  # noqa: PTH119, PTH122 - pathlib takes time


def interrupt(number: int, frame: FrameType | None) -> None:
    """What Ctrl-C does: before and after `main`, end the process at once; inside it, raise KeyboardInterrupt.

    If Python is importing something there, that comes first. Raised in an import, KeyboardInterrupt may be lost with the lock
    of all imports held for ever, or abort a compiled module that is being loaded.
    """
    global is_pressed
    is_pressed = True
    is_importing = False
    while frame is not None:
        code, module = frame.f_code, frame.f_globals.get("__name__")
        is_importing |= code.co_filename.startswith("<frozen importlib")
        if code.co_name == "main" and module == "apframe.cli.command":
            break
        frame = frame.f_back
    if frame is None:
        os._exit(STATUS)
    if not is_importing:
        raise KeyboardInterrupt
    from threading import Timer

    Timer(0.01, os.kill, (os.getpid(), number)).start()


def answered() -> None:
    """Forget that Ctrl-C was pressed: somebody has been told, and goes on."""
    global is_pressed
    is_pressed = False


def listen() -> None:
    """Let Ctrl-C do what `interrupt` does, unless it is ignored, as in the background of a script."""
    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, interrupt)


if is_command(sys.argv[0], sys.orig_argv):
    listen()
