"""Files behind a `COCO`: their tables, and their bytes, from which dictionaries are created at their first use."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import Any

import polars as pl

from apframe.exceptions import FormatError, InputError
from apframe.formats.coco.results import read_coco_results
from apframe.formats.coco.scan import scan_results
from apframe.formats.coco.truth import read_unchecked
from apframe.formats.documents import parse_json
from apframe.formats.files import read_unpacked
from apframe.tables.canonical import canonical
from apframe.tables.dataset import Dataset

Row = dict[str, Any]


class JsonFile:
    """The content of a file at the time it was read, whatever happens to it later.

    Parameters
    ----------
    path
        a JSON file, plain or gzip
    kind
        dict for ground truth, list for results
    complete
        turns the parsed content into a data set
    """

    def __init__(self, path: Path, kind: type, complete: Callable[[Any], Row]) -> None:
        self.path, self._kind, self._complete = path, kind, complete
        self._text = read_unpacked(path)
        self._tables: Dataset | pl.DataFrame | None = None

    def tables(self) -> Dataset | pl.DataFrame | None:
        """Return ground truth or results as tables; None if the data can only be dictionaries.

        That is so for captions, lists of images, results of which only some have a box, and invalid ground truth, which is
        rejected when it is evaluated.
        """
        if self._tables is None and self._kind is list:
            self._tables = self._results()
        elif self._tables is None:
            with suppress(InputError):
                self._tables = read_unchecked(self.path, masks=False, content=self._text).checked()
        return self._tables

    def _results(self) -> pl.DataFrame | None:
        try:
            scanned = scan_results(self.path, BytesIO(self._text))
            table = read_coco_results(self.parsed()) if scanned is None else canonical("detections", scanned)
        except InputError:
            if "caption" not in next(iter(self.parsed()), ()):
                raise
            return None
        return None if table["x"].null_count() and b'"bbox"' in self._text else table

    def load(self) -> Row:
        """The data set as dictionaries."""
        return self._complete(self.parsed())

    def parsed(self) -> Any:
        """Return the content of the file.

        Raises
        ------
        FormatError
            not JSON, or JSON of another kind
        """
        content = parse_json(self.path, self._text)
        if not isinstance(content, self._kind):
            held, needed = type(content).__name__, self._kind.__name__
            raise FormatError(f"holds a JSON {held}, a {needed} is needed", path=self.path)
        return content


class ResultList:
    """Results from a list; `complete` turns it into a data set."""

    def __init__(self, rows: list[Row], complete: Callable[[list[Row]], Row]) -> None:
        self._rows, self._complete = rows, complete

    def tables(self) -> list[Row]:
        """Return the list, which is converted to columns at every evaluation."""
        return self._rows

    def load(self) -> Row:
        """The data set as dictionaries."""
        return self._complete(self._rows)
