"""Annotations, or columns of annotations, that are read when they are first used."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import polars as pl

from apframe.lazily import cached_property


@dataclass(frozen=True)
class Later:
    """Columns of annotations, or all annotations, that are read once, when they are first used.

    Attributes
    ----------
    read_attributes
        returns all columns that have not been read, including masks, and the names of those that are JSON text
    read_masks
        returns the column `mask` alone, faster; None if no masks are left to read
    read_rows, n_rows
        returns all annotations, if none have been read; and their number
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
        """Return the columns of some of the annotations, given by row numbers from 0."""

        def attributes() -> tuple[pl.DataFrame, set[str]]:
            frame, as_json = self.attributes
            return (frame[rows] if frame.columns else frame), as_json

        masks = self.read_masks
        return Later(attributes, None if masks is None else lambda: masks()[rows])
