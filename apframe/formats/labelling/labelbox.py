"""Labelbox exports: a line of JSON for each data row (or one list in earlier exports), with objects in pixels."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

from apframe.exceptions import FormatError
from apframe.formats.documents import parse_json, read_json
from apframe.formats.files import read_text
from apframe.formats.format import TruthOnly
from apframe.formats.labelling.drawn import DrawnObjects
from apframe.formats.looks import Look, looks
from apframe.formats.path_contents import see

_SIDES = ("left", "top", "width", "height")


class Labelbox(TruthOnly):
    """The export of Labelbox: lines of `data_row`, `media_attributes` and `projects`; or a list of `Label`, `External ID`.

    The image id is `external_id` without folders and extension, if these are unique, or else the id of the data row. Of several
    labels of an image, the first is used, and the others are left out. Bounding boxes become boxes, and polygons become masks;
    masks of pixels, lines and points are left out, all with a `ShapesLeftOutWarning`. There are no results, as the
    format has no scores.

    Source: the documentation of Labelbox, "Export specifications: image annotations", and its export of the first version.
    """

    name = "labelbox"
    title = "Labelbox JSON"
    dataset_is = "a file with a JSON object in each line, or a JSON list, with data rows and their labels"
    results_are = "none: the format has no scores"
    dataset_looks = looks(
        Look("file", begins="{", keys=("data_row",), any_keys=("projects", "media_attributes")),
        Look("file", begins="[", any_keys=("Labeled Data", "data_row")),
    )

    def read_tables(self, path: Path, **options: Any) -> dict[str, pl.DataFrame]:
        """Read the tables of a data set: see `Format.read_tables`."""
        drawn, rows = DrawnObjects("annotations"), _rows(path)
        names = [_names(row) for row in rows]
        bare = [re.sub(r".*[/\\]", "", name or "") for _, name in names]
        short = [Path(name).stem for name in bare]
        ids = short if all(short) and len(set(short)) == len(short) else [key for key, _ in names]
        for row, image_id, (key, _), file in zip(rows, ids, names, bare, strict=True):
            media = _object(row.get("media_attributes") or row.get("Media Attributes"))
            drawn.add_image(image_id, file or None, media.get("width"), media.get("height"))
            labels = list(_labels(path, key, row))
            if len(labels) > 1:
                drawn.left_out["further labels of an image"] += len(labels) - 1
            for number, each in enumerate(labels[0] if labels else [], 1):
                if not isinstance(each, dict):
                    raise FormatError(f"object {number} of data row {key} is not a JSON object", "correct it", path=path)
                box, polygon = each.get("bounding_box") or each.get("bbox"), each.get("polygon")
                where = f"{path}: object {number} of data row {key}"
                if box is None and polygon is None:
                    drawn.left_out[str(each.get("annotation_kind") or "other shapes")] += 1
                    continue
                label = each.get("name") or each.get("title") or each.get("value")
                with drawn.refusing(where, image_id, label):
                    outline = _corners(where, box) if box is not None else _points(where, polygon)
                    drawn.add(where, image_id, label, outline, is_box=box is not None)
        return drawn.tables(path)


def _rows(path: Path) -> list[dict[str, Any]]:
    if see(path).begins == "[":
        rows = read_json(path)
    else:
        rows = [parse_json(path, line.encode()) for line in read_text(path).split("\n") if line.strip()]
    if not all(isinstance(row, dict) and ("data_row" in row or "Label" in row) for row in rows):
        raise FormatError("not all rows have a data_row or a Label", "is it an export from Labelbox?", path=path)
    return list(rows)


def _names(row: dict[str, Any]) -> tuple[str, str | None]:
    """Return the id of a data row, and the name of its file."""
    data = _object(row.get("data_row"))
    name = data.get("external_id") or row.get("External ID")
    return str(data.get("id") or row.get("DataRow ID") or row.get("ID")), None if name is None else str(name)


def _labels(path: Path, key: str, row: dict[str, Any]) -> Iterator[list[Any]]:
    """Yield the objects of each label of a row."""

    def inside(owner: Any, name: str, kind: type) -> Any:
        value = owner.get(name, kind()) if isinstance(owner, dict) else kind()
        if not isinstance(value, kind):
            what = "a list" if kind is list else "an object"
            raise FormatError(f"{name} of data row {key} is not {what}", "correct it", path=path)
        return value

    if row.get("Label"):  # may be "Skip"
        yield inside(row["Label"], "objects", list)
    for project in inside(row, "projects", dict).values():
        for label in inside(project, "labels", list):
            yield inside(inside(label, "annotations", dict), "objects", list)


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _corners(where: str, box: Any) -> list[list[Any]]:
    if not isinstance(box, dict) or not all(type(box.get(side)) in (int, float) for side in _SIDES):
        raise FormatError(f"the box of {where} lacks one of the numbers {', '.join(_SIDES)}", "correct it")
    left, top, width, height = (box[side] for side in _SIDES)
    return [[left, top], [left + width, top + height]]


def _points(where: str, polygon: Any) -> list[list[Any]]:
    if not isinstance(polygon, list) or not all(isinstance(point, dict) for point in polygon):
        raise FormatError(f"the polygon of {where} is not a list of points", "correct it")
    return [[point.get("x"), point.get("y")] for point in polygon]
