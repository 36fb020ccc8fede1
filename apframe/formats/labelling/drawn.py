"""Objects of labelling tools with a document for each image: boxes and polygons, collected as rows, as tables."""

from __future__ import annotations

import json
import zlib
from base64 import b64decode
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import BytesIO
from math import isfinite
from pathlib import Path
from sys import float_info
from typing import TYPE_CHECKING, Any

import polars as pl

from apframe.exceptions import FormatError, import_optional
from apframe.formats.coco.json_rows import frame_of_rows
from apframe.formats.image_names import categories_of
from apframe.formats.polygon_columns import as_masks, polygon_extents, warn_left_out
from apframe.rows import MOST, REFUSED
from apframe.tables.schemas import SIZE
from apframe.tables.shapes.boxes import BOX
from apframe.validation import Fault, add_fault
from apframe.wording import counted, reason

if TYPE_CHECKING:
    import numpy as np

_POINTS, _ENCODED, _PIXELS = "points_of_polygon", "mask_of_pixels", "number_of_pixels"  # unlike the names of attributes
_LARGEST = 1 << 26  # bytes of a PNG that is compressed again
_IMAGE: dict[str, Any] = {"image_id": pl.String, "file_name": pl.String, **dict.fromkeys(SIZE, pl.Int64)}
_OBJECT: dict[str, Any] = {
    "image_id": pl.String,
    "category_id": pl.String,
    **dict.fromkeys(BOX, pl.Float64),
    _POINTS: pl.List(pl.Float64),
    _ENCODED: pl.String,
    _PIXELS: pl.Float64,
    REFUSED: pl.Boolean,
}


@dataclass
class DrawnObjects:
    """Collector of rows of images and objects, counts of objects left out by kind, and rejected objects.

    `table` is the table of the objects: annotations or detections.
    """

    table: str
    images: list[dict[str, Any]] = field(default_factory=list)
    objects: list[dict[str, Any]] = field(default_factory=list)
    attributes: dict[str, list[dict[str, Any]]] = field(default_factory=lambda: {"images": [], "annotations": []})
    left_out: Counter[str] = field(default_factory=Counter)
    refused: dict[str, list[tuple[str, FormatError]]] = field(default_factory=dict)

    def add_image(self, image_id: str, file_name: str | None, width: Any, height: Any, **attributes: Any) -> None:
        """Add an image; sizes that are not whole numbers are unknown."""
        sizes = (side if type(side) is int and 0 < side < 1 << 63 else None for side in (width, height))
        self.images.append(dict(zip(_IMAGE, (image_id, file_name, *sizes), strict=True)))
        self.attributes["images"].append(attributes)

    @contextmanager
    def refusing(self, where: str, image_id: str, label: Any) -> Iterator[None]:
        """Within this context, leave out an object that cannot be read; `rows` reports it; its label remains a category."""
        try:
            yield
        except FormatError as error:
            category = label if isinstance(label, str) else None
            self.objects.append({"image_id": image_id, "category_id": category, REFUSED: True})
            self.attributes["annotations"].append({})
            self.refused.setdefault(error.problem.replace(where, "an object"), []).append((where, error))

    def add(self, where: str, image_id: str, label: Any, outline: Any, *, is_box: bool, **attributes: Any) -> None:
        """Add an object: a box by two or more of its corners, or a polygon by its points, each a list of x and y.

        Raises
        ------
        FormatError
            the object has no label, or its points are not numbers, or too few; names `where` it is
        """
        if not isinstance(outline, list) or not all(_is_point(point) for point in outline):
            raise FormatError(f"the points of {where} are not lists of two numbers", "correct it")
        if len(outline) < (2 if is_box else 3):
            raise FormatError(f"{where} has {len(outline)} points", "a box has two corners, a polygon three points or more")
        xs, ys = (tuple(map(float, sides)) for sides in zip(*outline, strict=True))
        if is_box:
            shape: dict[str, Any] = dict(zip(BOX, (min(xs), min(ys), max(xs) - min(xs), max(ys) - min(ys)), strict=True))
        else:
            shape = {_POINTS: [side for point in zip(xs, ys, strict=True) for side in point]}
        self._append(where, image_id, label, shape, attributes)

    def add_picture(
        self, where: str, image_id: str, label: Any, text: Any, corner: Any, *, is_packed: bool = False, **attributes: Any
    ) -> None:
        """Add an object to the last image by its pixels: those of a PNG in base64 that are not 0, or not transparent.

        Parameters
        ----------
        text
            the PNG, compressed by zlib if `is_packed`; a PNG without pixels of the object is counted as left out
        corner
            x and y of its first pixel in the image, whose fractions are cut off

        Raises
        ------
        FormatError
            the object has no label, or no such picture, or the picture is not inside the image; names `where` it is
        ModuleNotFoundError
            Pillow is not installed
        """
        import numpy as np

        from apframe.tables.shapes.run_lengths import count_pixels, to_text

        width, height = (self.images[-1][name] for name in SIZE)
        if width is None or height is None:
            raise FormatError(f"{where} is a mask, which needs the width and height of its image", "give both")
        if not _is_point(corner) or not all(map(isfinite, corner)):
            raise FormatError(f"the corner of {where} is not a list of two finite numbers", "correct it")
        inside = _pixels(where, text, is_packed)
        left, top = map(int, corner)
        if min(left, top) < 0 or left + inside.shape[1] > width or top + inside.shape[0] > height:
            raise FormatError(f"the mask of {where} is not inside the image of {width} x {height} pixels", "correct it")
        if not inside.any():
            self.left_out["mask without pixels"] += 1
            return
        high, wide = inside.shape
        columns, rows = (np.flatnonzero(inside.any(axis=axis)) for axis in (0, 1))
        box = (left + columns[0], top + rows[0], columns[-1] - columns[0] + 1, rows[-1] - rows[0] + 1)
        strip = np.zeros((wide, height), dtype=bool)  # the columns of the image in which the pixels are
        strip[:, top : top + high] = inside.T
        counts, _ = count_pixels(strip[None])
        counts[0] += left * height
        rest = (width - left - wide) * height
        if len(counts) % 2:  # the last pixels are outside
            counts[-1] += rest
        elif rest:
            counts = np.append(counts, rest)
        (text,) = to_text(counts, np.array([len(counts)]))
        encoded = json.dumps({"size": [height, width], "counts": text.decode()})
        shape = dict(zip(BOX, map(float, box), strict=True)) | {_ENCODED: encoded, _PIXELS: float(inside.sum())}
        self._append(where, image_id, label, shape, attributes)

    def _append(self, where: str, image_id: str, label: Any, shape: dict[str, Any], attributes: dict[str, Any]) -> None:
        if not isinstance(label, str) or not label:
            raise FormatError(f"{where} has no label", "give it one")
        self.objects.append({"image_id": image_id, "category_id": label, **shape})
        self.attributes["annotations"].append(attributes)

    def rows(self, path: Path) -> pl.DataFrame:
        """Return the objects, with the boxes around polygons; warn of objects that were left out."""
        warn_left_out(path, self.left_out)
        for problem, objects in self.refused.items():
            error, n = objects[0][1], len(objects)
            if n > 1:
                error = FormatError(f"{error.problem}, and so in {counted(n - 1, 'more object')}", error.remedy)
            names = tuple(Path(where).name for where, _ in objects[:MOST])
            add_fault(Fault(self.table, "invalid_value", error, problem, n, names, n))
        frame = pl.DataFrame(self.objects, _OBJECT)
        around = polygon_extents(frame[_POINTS])
        frame = frame.with_columns(pl.coalesce(name, around[name]).alias(name) for name in BOX)
        if frame[_POINTS].count() or frame[_ENCODED].count():
            area, mask = pl.coalesce(around["area"], _PIXELS), pl.coalesce(as_masks(frame[_POINTS]), _ENCODED)
            frame = frame.with_columns(area.alias("area"), mask.alias("mask"))
        own = [_POINTS, _ENCODED, _PIXELS, *([] if self.refused else [REFUSED])]
        return frame.drop(own).hstack(self._attributes("annotations"))

    def _attributes(self, table: str) -> list[pl.Series]:
        """Return the attributes that any image or object has; as JSON text if they have several types."""
        frame, _ = frame_of_rows(table, self.attributes[table], attributes_only=True)
        return [values for values in frame if values.count()]

    def tables(self, path: Path, labels: list[str] | None = None) -> dict[str, pl.DataFrame]:
        """Return the tables of a data set; `labels` are its categories, by default those that occur."""
        annotations = self.rows(path)
        images = pl.DataFrame(self.images, _IMAGE).hstack(self._attributes("images"))
        names = None if labels is None else pl.Series("category_id", labels, pl.String)
        categories = categories_of(annotations) if names is None else pl.DataFrame({"category_id": names, "name": names})
        return {"images": images, "categories": categories, "annotations": annotations}


def _is_point(point: Any) -> bool:
    """Return True for a list of two numbers that fit into floats."""
    return (
        isinstance(point, list)
        and len(point) == 2
        and all(type(side) is float or (type(side) is int and abs(side) <= float_info.max) for side in point)
    )


def _pixels(where: str, text: Any, is_packed: bool) -> np.ndarray:
    """Return flags of shape (height, width) for the pixels of a PNG in base64 that are not 0, or not transparent."""
    import numpy as np

    pillow = import_optional("PIL.Image", "Pillow is needed to read masks of pixels", "pillow", "images")
    try:
        packed = b64decode(text, validate=True)
        with pillow.open(BytesIO(zlib.decompressobj().decompress(packed, _LARGEST) if is_packed else packed)) as image:
            pixels: np.ndarray = np.asarray(image.getchannel("A") if image.mode in ("LA", "RGBA") else image)
    except (TypeError, OSError, ValueError, SyntaxError, zlib.error, pillow.DecompressionBombError) as error:
        raise FormatError(f"the mask of {where} is not a PNG in base64 ({reason(error)})", "correct it") from None
    if pixels.ndim != 2:
        raise FormatError(f"the mask of {where} is not a grey picture", "correct it")
    return pixels != 0
