"""The interface of a shape: its columns, their validity, and the box around it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from apframe.columns import Column


@dataclass(frozen=True, eq=False)
class Shape:
    """One kind of shape that objects have, such as masks. All of them are in `apframe.tables.shapes.declarations`.

    Attributes
    ----------
    iou_type
        what protocols call it when it is compared
    words
        its columns in plain words, as protocols print what they need
    columns
        of annotations and detections; a table has the shape if it has the first one
    needs
        names of the columns that it cannot do without
    json_field
        the name of the first column in COCO's JSON
    extents
        the box columns `x, y, width, height` and `area` of every row, from the table's name (for errors) and what `decode` gave
    decode
        what `extents` computes with, from the table's name and the frame: by default the frame itself
    check
        reports the rows that cannot be right, from the table's name and the frame, see `apframe.validation`; `extents`
        and `decode` do so too
    uses_images
        whether `decode` wants `image_width` and `image_height` (null where unknown) as columns
    called
        other names of its columns, by how ours are made of them, `{}` being the other name: named in errors
    accepts
        columns of another convention, any of which calls for `accept`
    accept
        makes the columns of those of another convention, if a frame has such ones, from the table's name and the frame
    array
        the name of its array in the output of detectors, and the dimensions after the first; a word stands for any number
    list_remedy
        what to do about lists that are not of numbers, for errors
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
    called: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    accepts: tuple[str, ...] = ()
    accept: Callable[[str, pl.DataFrame], pl.DataFrame] = lambda _, frame: frame
    array: tuple[str, tuple[int | str, ...]] | None = None
    list_remedy: str = ""

    @property
    def column(self) -> str:
        """The column that tells that a table has the shape."""
        return self.columns[0].name
