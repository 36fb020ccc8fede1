"""The `apframe` command as a process of its own: `python -m apframe`, and the script."""

from __future__ import annotations

import gc
import os
import sys
from contextlib import suppress
from typing import NoReturn

from apframe import ctrl_c


def run() -> NoReturn:
    """Run the command with the arguments of the process, and end the process at once.

    Python would first free every table and module, which takes a tenth of a second. It still does so if a profiler or debugger
    waits for the end, and if the output cannot be written, which it then reports. After Ctrl-C the exit status is 130, whatever
    became of it: what Python, Polars or DuckDB were doing may have failed in some other way.
    """
    ctrl_c.listen()
    gc.set_threshold(100_000)  # imports and reading make objects that stay: looking for others among them takes 0.03 s
    # NumPy's linear algebra starts threads that keep a core busy for 0.03 s, for work that most verbs do not have
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")
    from apframe.cli.command import main

    try:
        main()
    except SystemExit as ended:
        code = int(ended.code or 0)
    except BaseException:
        if not ctrl_c.is_pressed:
            raise
    if ctrl_c.is_pressed:
        code = ctrl_c.STATUS
    if sys.getprofile() is None and sys.gettrace() is None:
        with suppress(OSError, ValueError):
            for stream in (sys.stdout, sys.stderr):
                if stream is not None:  # the process was started without it
                    stream.flush()
            os._exit(code)
        if ctrl_c.is_pressed:
            os._exit(code)
    raise SystemExit(code)


if __name__ == "__main__":
    run()
