"""Temporary folders for what does not fit into memory."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from pathlib import Path

from apframe.exceptions import OutputError, reason


class Temporary:
    """A temporary folder, removed when nothing refers to it any more, at the end of the process at the latest.

    Raises
    ------
    OutputError
        there is no place for it

    >>> folder = Temporary()
    >>> path = folder.path
    >>> path.is_dir()
    True
    >>> del folder
    >>> path.exists()
    False
    """

    def __init__(self) -> None:
        try:
            self.path = Path(tempfile.mkdtemp(prefix="apframe-"))
        except OSError as error:
            problem = f"no temporary folder can be made ({reason(error)})"
            raise OutputError(problem, "set TMPDIR to a folder that can be written to") from error
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)
