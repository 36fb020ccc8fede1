"""Temporary folders for data that do not fit into memory."""

from __future__ import annotations

import tempfile
import weakref
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import polars as pl

from apframe.exceptions import OutputError
from apframe.formats.hidden_folders import new_folder
from apframe.wording import reason


class Temporary:
    """A temporary folder, removed when nothing refers to it any more, or at the end of the process.

    If a process is killed, its folder is removed by the next process that needs such a folder.

    Attributes
    ----------
    path
        the folder
    close
        removes it now

    Raises
    ------
    OutputError
        it cannot be created

    >>> folder = Temporary()
    >>> path = folder.path
    >>> path.is_dir()
    True
    >>> del folder
    >>> path.exists()
    False
    """

    def __init__(self) -> None:
        opened, place = ExitStack(), None
        try:
            place = Path(tempfile.gettempdir())
            self.path = opened.enter_context(new_folder(place / "apframe-scale"))
        except OSError as error:
            what = "no temporary folder can be created" if place is None else "cannot be written"
            remedy = "set TMPDIR to a folder that can be written to"
            raise OutputError(f"{what} ({reason(error)})", remedy, path=place) from error
        self.close = weakref.finalize(self, opened.close)

    @contextmanager
    def writing(self, what: str, remedy: str = "set TMPDIR to a folder with more space") -> Iterator[None]:
        """Write into the folder; if that fails, remove it and raise an error that says what cannot be written and where.

        Raises
        ------
        OutputError
            there is no space, or the folder cannot be written to
        """
        try:
            yield
        except (OSError, pl.exceptions.PolarsError) as error:
            self.close()
            raise OutputError(
                f"{what} cannot be written ({reason(error.__cause__ or error)})", remedy, path=self.path.parent
            ) from error
