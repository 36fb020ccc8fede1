"""What a shape is: the columns that hold it, what makes them valid, and the box around it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from apframe.columns import Column


@dataclass(frozen=True, eq=False)
class Shape:
    """One kind of shape that objects have, such as masks. All of them are in `apframe.shapes.catalogue`.

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
    extents
        the box columns `x, y, width, height` and `area` of every row, of the table's name (for errors) and what `decode` gave
    decode
        checks every row of a table, given its name and frame, and gives what `extents` computes with: the frame itself, unless
        there is a faster form; `RowError` names the rows that cannot be right
    uses_images
        whether `decode` wants `image_width` and `image_height` (null where unknown) as columns
    json_field
        the name of the first column in COCO's JSON
    called
        other names of its columns, by how ours are made of them, `{}` being the other name
    array
        the name of its array in the output of detectors, and the dimensions after the first; a word stands for any number
    flat
        what to do about lists that are not of numbers, for errors
    """

    iou_type: str
    words: str
    columns: tuple[Column, ...]
    needs: tuple[str, ...]
    extents: Callable[[str, Any], pl.DataFrame]
    decode: Callable[[str, pl.DataFrame], Any] = lambda _, frame: frame
    uses_images: bool = False
    json_field: str = ""
    called: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    array: tuple[str, tuple[int | str, ...]] | None = None
    flat: str = ""

    @property
    def column(self) -> str:
        """The column that tells that a table has the shape."""
        return self.columns[0].name
