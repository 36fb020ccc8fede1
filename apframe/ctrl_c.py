"""Ctrl-C in the `apframe` command: from the first import of this package on, the process ends with 130 and no traceback.

This module is imported before all others, so it imports nothing slow. While Python itself starts, for a few hundredths of a
second, Ctrl-C does what it does in any Python program.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found] # `signal` without its enumerations, which take time
import os
import sys

TYPE_CHECKING = False  # as in typing, which takes time
if TYPE_CHECKING:
    from sys import UnraisableHookArgs
    from types import FrameType

STATUS = 130  # the exit status: 128 plus the number of the signal
is_pressed = False
"""True once Ctrl-C was pressed. Later errors are consequences of it."""


def is_command(arguments: list[str], original: list[str]) -> bool:
    """Return True if this process is the `apframe` command: a script of that name, or `python -m apframe`.

    `arguments` are the program's, which begin with its name; `original` are all that Python was started with. While Python
    looks for a module, the name is -m, and the word before the other arguments is the module, or ends with it.

    >>> is_command(["/usr/bin/apframe"], ["python", "/usr/bin/apframe"]), is_command(["a.py"], ["python", "a.py"])
    (True, False)
    >>> is_command(["-m", "eval"], ["python", "-um", "apframe", "eval"]), is_command(["-m"], ["python", "-Imapframe"])
    (True, True)
    """
    if arguments[0] == "-m":
        module = original[-len(arguments)]
        return module == "apframe" or (module.startswith("-") and module.partition("m")[2] == "apframe")
    return os.path.splitext(os.path.basename(arguments[0]))[0] == "apframe"  # noqa: PTH119, PTH122 - pathlib takes time


def interrupt(number: int, frame: FrameType | None) -> None:
    """Handle Ctrl-C: end the process at once before and after `main`, and raise KeyboardInterrupt inside it.

    During an import there, it waits until the import is done. Raised during an import, KeyboardInterrupt may get lost and leave
    the lock of all imports held for ever, or abort a compiled module that is being loaded.
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
    _send_again(number)


def _send_again(number: int) -> None:
    from threading import Timer

    Timer(0.01, os.kill, (os.getpid(), number)).start()


def report_lost(lost: UnraisableHookArgs) -> None:
    """Report an error that Python cannot pass on, such as one in `__del__`; a KeyboardInterrupt is sent again instead."""
    if issubclass(lost.exc_type, KeyboardInterrupt):
        _send_again(_signal.SIGINT)
    else:
        sys.__unraisablehook__(lost)


def listen() -> None:
    """Have `interrupt` handle Ctrl-C, unless the process ignores it, as a background process of a script does."""
    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, interrupt)
        sys.unraisablehook = report_lost


if is_command(sys.argv, sys.orig_argv):
    listen()
