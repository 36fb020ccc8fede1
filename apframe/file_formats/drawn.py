"""Objects of labelling tools that save a document for each image: boxes and polygons, collected as rows, as tables."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from apframe.exceptions import FormatError
from apframe.file_formats.coco.rows import frame_of_rows
from apframe.file_formats.names import categories_of
from apframe.file_formats.outlines import as_masks, polygon_extents, warn_left_out
from apframe.schema import SIZE
from apframe.shapes.boxes import BOX

_POINTS = "points_of_polygon"  # no attribute is called so
_IMAGE: dict[str, Any] = {"image_id": pl.String, "file_name": pl.String, **dict.fromkeys(SIZE, pl.Int64)}
_OBJECT: dict[str, Any] = {
    "image_id": pl.String,
    "category_id": pl.String,
    **dict.fromkeys(BOX, pl.Float64),
    _POINTS: pl.List(pl.Float64),
}


@dataclass
class Drawn:
    """Everything read so far: rows of images and objects, and counts of objects left out by kind."""

    images: list[dict[str, Any]] = field(default_factory=list)
    objects: list[dict[str, Any]] = field(default_factory=list)
    attributes: dict[str, list[dict[str, Any]]] = field(default_factory=lambda: {"images": [], "annotations": []})
    left_out: Counter[str] = field(default_factory=Counter)

    def add_image(self, image_id: str, file_name: str | None, width: Any, height: Any, **attributes: Any) -> None:
        """An image; sizes that are no whole numbers are unknown."""
        sizes = (side if type(side) is int and side > 0 else None for side in (width, height))
        self.images.append(dict(zip(_IMAGE, (image_id, file_name, *sizes), strict=True)))
        self.attributes["images"].append(attributes)

    def add(self, where: str, image_id: str, label: Any, outline: Any, *, is_box: bool, **attributes: Any) -> None:
        """An object: a box by two or more of its corners, or a polygon by its points, each a list of x and y.

        Raises
        ------
        FormatError
            `where` it is, if it has no label, or its points are not numbers, or too few
        """
        if not isinstance(label, str) or not label:
            raise FormatError(f"{where} has no label", "give it one")
        if not isinstance(outline, list) or not all(_is_point(point) for point in outline):
            raise FormatError(f"the points of {where} are not lists of two numbers", "correct it")
        if len(outline) < (2 if is_box else 3):
            raise FormatError(f"{where} has {len(outline)} points", "a box has two corners, a polygon three points or more")
        xs, ys = zip(*outline, strict=True)
        row: dict[str, Any] = {"image_id": image_id, "category_id": label}
        if is_box:
            row |= dict(zip(BOX, (min(xs), min(ys), max(xs) - min(xs), max(ys) - min(ys)), strict=True))
        else:
            row[_POINTS] = [float(side) for point in outline for side in point]
        self.objects.append(row)
        self.attributes["annotations"].append(attributes)

    def rows(self, path: Path) -> pl.DataFrame:
        """The objects; the box of a polygon is the one around it. What was left out is warned of."""
        warn_left_out(path, self.left_out)
        frame = pl.DataFrame(self.objects, _OBJECT)
        around = polygon_extents(frame[_POINTS])
        frame = frame.with_columns(pl.coalesce(name, around[name]).alias(name) for name in BOX)
        if frame[_POINTS].count():
            frame = frame.with_columns(around["area"], as_masks(frame[_POINTS]))
        return frame.drop(_POINTS).hstack(self._attributes("annotations"))

    def _attributes(self, table: str) -> list[pl.Series]:
        """The attributes of images or objects that any of them has; JSON text where they are of several types."""
        frame, _ = frame_of_rows(table, self.attributes[table], attributes_only=True)
        return [values for values in frame if values.count()]

    def tables(self, path: Path, labels: list[str] | None = None) -> dict[str, pl.DataFrame]:
        """The tables of a data set; `labels` are its categories, by default those that occur."""
        annotations = self.rows(path)
        images = pl.DataFrame(self.images, _IMAGE).hstack(self._attributes("images"))
        names = None if labels is None else pl.Series("category_id", labels, pl.String)
        categories = categories_of(annotations) if names is None else pl.DataFrame({"category_id": names, "name": names})
        return {"images": images, "categories": categories, "annotations": annotations}


def _is_point(point: Any) -> bool:
    return isinstance(point, list) and len(point) == 2 and all(type(side) in (int, float) for side in point)
