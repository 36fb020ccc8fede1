"""Temporary folders for what does not fit into memory."""

from __future__ import annotations

import tempfile
import weakref
from contextlib import ExitStack
from pathlib import Path

from apframe.exceptions import OutputError
from apframe.formats.files import new_folder
from apframe.wording import reason


class Temporary:
    """A temporary folder, removed when nothing refers to it any more, at the end of the process at the latest.

    A process that is killed leaves its folder behind, and the next one that needs such a folder removes it.

    Attributes
    ----------
    path
        the folder
    close
        removes it now

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
        opened = ExitStack()
        try:
            place = Path(tempfile.gettempdir())
        except OSError as error:
            problem = f"no temporary folder can be made ({reason(error)})"
            raise OutputError(problem, "set TMPDIR to a folder that can be written to") from error
        try:
            self.path = opened.enter_context(new_folder(place / "apframe-scale"))
        except OSError as error:
            problem = f"cannot be written ({reason(error)})"
            raise OutputError(problem, "set TMPDIR to a folder that can be written to", path=place) from error
        self.close = weakref.finalize(self, opened.close)
