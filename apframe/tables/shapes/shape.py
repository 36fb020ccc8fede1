"""The interface of a shape: its columns, their checks, and the box around it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from apframe.columns import Column


@dataclass(frozen=True, eq=False)
class Shape:
    """A type of shape of objects, such as masks. All shapes are in `apframe.tables.shapes.declarations`.

    Attributes
    ----------
    iou_type
        its name in protocols that compare it
    words
        its columns in plain words, as protocols print them
    columns
        columns of annotations and detections; a table has the shape if it has the first one
    needs
        names of the required columns
    json_field
        the name of the first column in COCO's JSON
    extents
        returns `x, y, width, height` and `area` of every row, from the table's name (for errors) and the result of `decode`
    decode
        returns the input of `extents`, from the table's name and the frame: by default the frame itself
    check
        reports invalid rows, from the table's name and the frame, see `apframe.validation`; `extents` and `decode` report them
        too
    uses_images
        whether `decode` requires the columns `image_width` and `image_height` (null where unknown)
    other_names
        other names of its columns, by the conversion to canonical columns, where `{}` is the other name: hints for errors
    accepts
        columns of another convention; any of them triggers `accept`
    accept
        returns the frame with columns converted from another convention, from the table's name and the frame
    array
        the name of its array in the output of detectors, and the dimensions after the first; a word means any number
    list_remedy
        the remedy for lists that do not hold numbers, for errors
    """

    iou_type: str
    words: str
    columns: tuple[Column, ...]
    needs: tuple[str, ...]
    json_field: str
    extents: Callable[[str, Any], pl.DataFrame]
    check: Callable[[str, pl.DataFrame], Any] = lambda _, __: None
    decode: Callable[[str, pl.DataFrame], Any] = lambda _, frame: frame
    uses_images: bool = False
    other_names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    accepts: tuple[str, ...] = ()
    accept: Callable[[str, pl.DataFrame], pl.DataFrame] = lambda _, frame: frame
    array: tuple[str, tuple[int | str, ...]] | None = None
    list_remedy: str = ""

    @property
    def column(self) -> str:
        """The column that shows that a table has the shape."""
        return self.columns[0].name
