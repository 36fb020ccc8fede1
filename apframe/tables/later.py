"""Annotations, or columns of them, that are read when they are first looked at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import polars as pl

from apframe.lazily import cached_property


@dataclass(frozen=True)
class Later:
    """Columns of annotations, or all of these, that are read when they are first looked at, once.

    Attributes
    ----------
    read_attributes
        gives all columns that have not been read, that of the masks too, and which of them are JSON text
    read_masks
        gives the column `mask` alone, sooner; None if there is none that has not been read
    read_rows, n_rows
        gives all annotations, if none of them has been read, and says how many there are
    """

    read_attributes: Callable[[], tuple[pl.DataFrame, set[str]]]
    read_masks: Callable[[], pl.DataFrame] | None
    read_rows: Callable[[], pl.DataFrame] | None = None
    n_rows: int = 0

    @cached_property
    def rows(self) -> pl.DataFrame:
        """The result of `read_rows`."""
        return pl.DataFrame() if self.read_rows is None else self.read_rows()

    @cached_property
    def attributes(self) -> tuple[pl.DataFrame, set[str]]:
        """The result of `read_attributes`."""
        return self.read_attributes()

    def of_rows(self, rows: pl.Series) -> Later:
        """The same of some of the annotations: numbers of rows, from 0."""

        def attributes() -> tuple[pl.DataFrame, set[str]]:
            frame, as_json = self.attributes
            return (frame[rows] if frame.columns else frame), as_json

        masks = self.read_masks
        return Later(attributes, None if masks is None else lambda: masks()[rows])
