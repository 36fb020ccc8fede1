"""NDJSON of Ultralytics: a line that describes the data set, and a line for each image with its objects."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import polars as pl

from apframe.exceptions import FormatError
from apframe.formats.documents import parse_json
from apframe.formats.files import read_text
from apframe.formats.format import INDEX, TruthOnly
from apframe.formats.image_sizes import find_image_sizes, with_image_sizes
from apframe.formats.looks import Look, looks
from apframe.formats.path_contents import PathContents
from apframe.formats.text_lines import Lines
from apframe.formats.yolo.config import chosen_split, names_of, shape_of_keypoints
from apframe.formats.yolo.label_lines import numbers_of, shapes
from apframe.rows import OF_SOURCE
from apframe.tables.schemas import SIZE
from apframe.wording import listed, shown

_TASKS = {"detect": "boxes", "segment": "segments", "pose": "pose", "obb": "obb"}  # name of the list of objects of an image
_N_BOX = 5  # numbers before the keypoints: the class, and the box
_FIRST = re.compile(rb'"type"\s*:\s*"dataset"')
_IMAGE: dict[str, Any] = {"image_id": pl.String, "file_name": pl.String, **dict.fromkeys(SIZE, pl.Int64)}


class UltralyticsNdjson(TruthOnly):
    """The file that Ultralytics' Platform exports and its trainers accept: `type` is "dataset" in the first line.

    Objects are lists of the class and fractions of the image, as in the lines of `Yolo`: `boxes`, `segments`, `pose` (with
    the number of keypoints in `kpt_shape`, or else as many as fit) or rotated `obb`, which are polygons. Classes have the
    numbers of `class_names`. The image id is `file` without folders and extension. The images of one `split` are read, by
    default "val" or the only one. Sizes are in the lines of the images, or else come from `image_sizes`; see `Yolo`.

    Source: "Ultralytics NDJSON format" in the documentation of Ultralytics; `convert_ndjson_to_yolo` for optional fields.
    """

    name = "ultralytics_ndjson"
    title = "Ultralytics NDJSON"
    dataset_is = "a file of JSON lines: one with type dataset and class_names, and one for each image"
    results_are = "none: the format has no scores"
    dataset_looks = looks(Look("file", begins="{", keys=("type",), any_keys=("class_names", "task"), no_keys=("images",)))
    options = ("split", "image_sizes")
    fractions = True
    category_ids = INDEX
    unused_categories = True

    def recognizes(self, seen: PathContents, role: str) -> bool:
        """Require a first line that describes a data set."""
        return _FIRST.search(seen.head.partition(b"\n")[0]) is not None

    def read_tables(
        self, path: Path, *, split: str | None = None, image_sizes: Any = None, **options: Any
    ) -> dict[str, pl.DataFrame]:
        """Read the tables of a data set: see `Format.read_tables`.

        Raises
        ------
        ParameterError
            an unknown split, or several splits without a choice
        FormatError
            the file cannot be read (names the line), or its task has no objects
        """
        about, images = _records(path)
        if (task := str(about.get("task") or "detect")) not in _TASKS:
            raise FormatError(f"the task is {shown(task)}, which has no objects to find", path=path)
        splits = list(dict.fromkeys(row["split"] for _, row in images if isinstance(row.get("split"), str)))
        if split is not None or splits:
            split_name = chosen_split(path, splits, split)
            images = [(line, row) for line, row in images if row.get("split") == split_name]
        images_table = _images(path, images)
        sized = images_table.drop_nulls(SIZE)
        is_asked = image_sizes is not None or sized.is_empty()
        sizes = find_image_sizes(image_sizes, path.parent) if is_asked else sized
        images_table = with_image_sizes(images_table.drop(SIZE), sizes, path) if images_table.height else images_table
        lines = Lines("annotations", [path], _objects(path, images, images_table["image_id"], about.get("task")))
        keypoints = _keypoints(path, about, lines.frame["fields"])
        names = _names(path, about)
        unknown = "class is not among the class_names", "add its name, or correct these lines"
        objects = numbers_of(lines, lines.frame["image_id"], keypoints, has_score=False, classes=names, unknown=unknown)
        objects = objects.join(images_table.select("image_id", *SIZE), on="image_id", how="left", maintain_order="left")
        if names is None:
            names = {number: f"class{number}" for number in objects["category_id"].drop_nulls().unique().sort()}
        categories = {"category_id": [*names], "name": [*names.values()]}
        return {
            "images": images_table,
            "categories": pl.DataFrame(categories, {"category_id": pl.Int64, "name": pl.String}),
            "annotations": objects.select("image_id", "category_id", OF_SOURCE, *shapes(objects, keypoints)),
        }


def _records(path: Path) -> tuple[dict[str, Any], list[tuple[int, dict[str, Any]]]]:
    """Return the record of the data set, and those of images with their line numbers; all numbers in them are floats."""
    texts = enumerate(read_text(path).split("\n"), 1)
    records = [(line, parse_json(path, text.encode(), parse_int=float)) for line, text in texts if text.strip()]
    wrong = [line for line, record in records if not isinstance(record, dict)]
    if wrong or not records:
        raise FormatError(f"no JSON object in line {listed(wrong or [1])}", "correct it", path=path)
    return records[0][1], records[1:]


def _images(path: Path, images: list[tuple[int, dict[str, Any]]]) -> pl.DataFrame:
    """Return the images, with ids from their file names."""
    rows = []
    for line, row in images:
        file = row.get("file")
        if not isinstance(file, str) or not file:
            raise FormatError(f"file is missing or not text in line {line}", "correct it", path=path)
        sides = (row.get(side) for side in ("width", "height"))
        sizes = (int(side) if isinstance(side, float) and side.is_integer() and 0 < side < 2**31 else None for side in sides)
        rows.append((re.sub(r".*[/\\]", "", file).rpartition(".")[0] or file, file, *sizes))
    images_table = pl.DataFrame(rows, _IMAGE, orient="row")
    if (doubled := images_table["image_id"].is_duplicated()).any():
        which = listed(images_table["image_id"].filter(doubled).unique(maintain_order=True).to_list())
        raise FormatError(f"two images have the same name without folders and ending: {which}", "rename one", path=path)
    return images_table


def _objects(path: Path, images: list[tuple[int, dict[str, Any]]], ids: pl.Series, task: Any) -> pl.DataFrame:
    """Return the objects: `file`, `line`, `image_id`, and `fields` with the numbers of each."""
    kinds = [_TASKS[task]] if task in _TASKS else [*_TASKS.values()]
    lines, owners, fields = list[int](), list[str](), list[list[float | None]]()
    for (line, row), image_id in zip(images, ids, strict=True):
        named = row.get("annotations") or {}
        objects: Any = next((named[kind] for kind in kinds if kind in named), []) if isinstance(named, dict) else None
        if not isinstance(objects, list) or not all(isinstance(each, list) and each for each in objects):
            raise FormatError(f"annotations have no list of lists of numbers in line {line}", "correct it", path=path)
        lines += [line] * len(objects)
        owners += [image_id] * len(objects)
        fields += [[each if type(each) is float else None for each in numbers] for numbers in objects]
    columns = {"line": lines, "image_id": owners, "fields": fields}
    frame = pl.DataFrame(columns, {"line": pl.Int64, "image_id": pl.String, "fields": pl.List(pl.Float64)})
    return frame.insert_column(0, pl.Series("file", [0] * len(lines), pl.UInt32))


def _keypoints(path: Path, about: dict[str, Any], fields: pl.Series) -> tuple[int, int] | None:
    """Return the number of keypoints of each object, and of values for each: from the first line, or else as fits all."""
    if about.get("task") != "pose" or fields.is_empty():
        return None
    if (shape := about.get("kpt_shape")) is not None:
        numbers = shape if isinstance(shape, list) else [shape]
        return shape_of_keypoints(path, {"kpt_shape": [f"{each:g}" if type(each) is float else str(each) for each in numbers]})
    n_numbers = fields.list.len().cast(pl.Int64).unique() - _N_BOX
    n = n_numbers[0] if len(n_numbers) == 1 and n_numbers[0] > 0 else 0
    seen = fields.list.slice(_N_BOX).list.gather_every(3, 2).explode()
    if n and n % 3 == 0 and seen.is_in([0.0, 1.0, 2.0]).all():
        return n // 3, 3
    if n and n % 2 == 0 and n % 3:
        return n // 2, 2
    raise FormatError("does not say how many keypoints its objects have", "add kpt_shape to the first line", path=path)


def _names(path: Path, about: dict[str, Any]) -> dict[int, str] | None:
    """Return the names of the classes, by number; None without names."""
    names = about.get("class_names")
    if not names:
        return None
    texts = names.values() if isinstance(names, dict) else names if isinstance(names, list) else [names]
    if not all(isinstance(name, str) for name in texts):
        raise FormatError("class_names must be texts, by the number of the class", "correct it", path=path)
    return names_of(path, {"names": names})
