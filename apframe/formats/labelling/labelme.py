"""labelme JSON: a file for each image with its shapes in pixels."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import polars as pl

from apframe.exceptions import FormatError
from apframe.folders import files_in
from apframe.formats.documents import read_json
from apframe.formats.format import ReadOnly
from apframe.formats.labelling.drawn import DrawnObjects
from apframe.formats.looks import Look, looks
from apframe.formats.path_contents import PathContents
from apframe.paths import is_folder
from apframe.tables.dataset import Dataset

_SCORE = re.compile(rb'"score"\s*:\s*[-0-9.]')
_ATTRIBUTES = ("group_id", "score", "difficult")


class Labelme(ReadOnly):
    """The files that labelme, and tools with the same format, save beside the images: `shapes` with `label` and `points`.

    The image id is the name of its JSON file without the extension, `file_name` is `imagePath` without folders. Rectangles
    become boxes, and polygons (and rotated rectangles) masks, with the box around them; shapes of the type `mask` become masks
    too, which requires Pillow. `group_id`, `difficult` and `score` are kept; results have scores. Circles, lines, points and
    masks without pixels are left out, with a `ShapesLeftOutWarning`.

    Source: the files of labelme 5 and of X-AnyLabeling; `shapes_to_label` of labelme for masks.
    """

    name = "labelme"
    title = "labelme JSON"
    dataset_is = "a folder of JSON files with shapes, one for each image, or one such file"
    results_are = "the same, its shapes with a score"
    dataset_looks = results_looks = looks(
        Look("folder", endings=(".json",), begins="{", keys=("shapes",), any_keys=("imagePath", "shape_type")),
        Look("file", begins="{", keys=("shapes",), any_keys=("imagePath", "shape_type")),
        # the image data may come before the shapes, which are then beyond the head of the file
        Look("folder", endings=(".json",), begins="{", keys=("imageData",), no_keys=("shapes", "images")),
        Look("file", begins="{", keys=("imageData",), no_keys=("shapes", "images")),
    )

    def recognizes(self, seen: PathContents, role: str) -> bool:
        """Require a score in any of the files for results."""
        files = [seen] if seen.kind == "file" else seen.children("*.json")
        return role == "dataset" or any(_SCORE.search(file.head) or _SCORE.search(file.tail) for file in files)

    def read_tables(self, path: Path, **options: Any) -> dict[str, pl.DataFrame]:
        """Read the tables of a data set: see `Format.read_tables`."""
        return _read(path, "annotations").tables(path)

    def read_results(self, path: Path, dataset: Dataset | None) -> pl.DataFrame:
        """Read detections: see `Format.read_results`."""
        return _read(path, "detections").rows(path)


def _read(path: Path, table: str) -> DrawnObjects:
    drawn, files = DrawnObjects(table), files_in(path, ".json") if is_folder(path) else [path]
    if not files:
        raise FormatError("holds no JSON file", path=path)
    for file in files:
        data = read_json(file)
        shapes = data.get("shapes") if isinstance(data, dict) else None
        if not isinstance(shapes, list) or not all(isinstance(shape, dict) for shape in shapes):
            raise FormatError("no list of objects named shapes", "is it from labelme? Remove other JSON files", path=file)
        name = re.sub(r".*[/\\]", "", str(data.get("imagePath") or "")) or None
        drawn.add_image(file.stem, name, data.get("imageWidth"), data.get("imageHeight"))
        for number, shape in enumerate(shapes, 1):
            kind = shape.get("shape_type") or "polygon"
            attributes = {key: shape.get(key) for key in _ATTRIBUTES}
            where, label, points = f"{file}: shape {number}", shape.get("label"), shape.get("points")
            with drawn.refusing(where, file.stem, label):
                if kind in ("rectangle", "polygon", "rotation"):
                    drawn.add(where, file.stem, label, points, is_box=kind == "rectangle", **attributes)
                elif kind == "mask":
                    corner = points[0] if isinstance(points, list) and points else None
                    drawn.add_picture(where, file.stem, label, shape.get("mask"), corner, **attributes)
                else:
                    drawn.left_out[str(kind)] += 1
    return drawn
