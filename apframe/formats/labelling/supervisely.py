"""Supervisely projects: meta.json, and folders of data sets with a JSON file for each image in `ann`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from apframe.exceptions import FormatError, ParameterError
from apframe.folders import files_in, folders_in
from apframe.formats.documents import read_json
from apframe.formats.format import ReadOnly
from apframe.formats.labelling.drawn import DrawnObjects
from apframe.formats.looks import Look, looks
from apframe.formats.path_contents import PathContents
from apframe.paths import is_file, is_folder
from apframe.tables.dataset import Dataset
from apframe.tables.schemas import TABLES
from apframe.wording import did_you_mean

_META, _ANN = "meta.json", "ann"
_SCORES = ("confidence", "score")
_RESERVED = {column.name for columns in TABLES.values() for column in columns}


class Supervisely(ReadOnly):
    """The folder of a project, or of a data set in it: `ann/NAME.json` with objects in pixels, `meta.json` with classes.

    The image id is the file name without its extension. Tags of images and objects become columns with their value, or true.
    Without `split`, the images of all data sets of the project are read. Objects of results have a tag `confidence` or `score`.
    Rectangles become boxes, polygons masks without holes; bitmaps become masks too, which requires Pillow. Lines, points and
    bitmaps without pixels are left out, with a `ShapesLeftOutWarning`.

    Source: the documentation of Supervisely, "Supervisely JSON format"; `Bitmap.base64_2_data` of its SDK.
    """

    name = "supervisely"
    title = "Supervisely JSON"
    dataset_is = "the folder of a project with meta.json, or of a data set in it, with a folder ann"
    results_are = "the same, its objects with a tag confidence"
    dataset_looks = results_looks = looks(Look("folder", names=("*/",)))
    options = ("split",)
    unused_categories = True

    def recognizes(self, seen: PathContents, role: str) -> bool:
        """Require objects and a size in the first file of a folder `ann`, here or in subfolders; in results, a tagged score."""
        children = (each.child(_ANN) for each in ([seen] if f"{_ANN}/" in seen.names else seen.folders))
        folders = [folder for folder in children if folder is not None]
        first = next((file for folder in folders[:1] for file in folder.children("*.json")), None)
        if first is None or not all(map(first.has_key, ("objects", "size"))):
            return False
        files = (file for folder in folders for file in folder.children("*.json"))
        return role == "dataset" or any(file.has_key(name) for file in files for name in _SCORES)

    def read_tables(self, path: Path, *, split: str | None = None, **options: Any) -> dict[str, pl.DataFrame]:
        """Read the tables of a data set: see `Format.read_tables`. An unknown data set is a `ParameterError`."""
        return _read(path, split, "annotations").tables(path, _classes(path))

    def read_results(self, path: Path, dataset: Dataset | None) -> pl.DataFrame:
        """Read detections: see `Format.read_results`."""
        detections = _read(path, None, "detections").rows(path)
        scores = [name for name in _SCORES if name in detections.columns]
        return detections.rename({scores[0]: "score"}) if scores else detections


def _parts(path: Path) -> dict[str, list[Path]]:
    """Return the files of each data set, by the names of their folders."""
    folders = [path] if is_folder(path / _ANN) else [folder for folder in folders_in(path) if is_folder(folder / _ANN)]
    return {folder.name: files_in(folder / _ANN, ".json") for folder in folders}


def _classes(path: Path) -> list[str] | None:
    """Return the classes of the project; None without a meta.json."""
    file = next((each for each in (path / _META, path.parent / _META) if is_file(each)), None)
    if file is None:
        return None
    meta = read_json(file)
    classes = meta.get("classes") if isinstance(meta, dict) else None
    titles = [each.get("title") for each in classes if isinstance(each, dict)] if isinstance(classes, list) else []
    if not isinstance(classes, list) or [*map(type, titles)] != [str] * len(classes):
        raise FormatError("no list named classes with a title each", "correct or remove it", path=file)
    return list(map(str, titles))


def _read(path: Path, split: str | None, table: str) -> DrawnObjects:
    drawn, parts = DrawnObjects(table), _parts(path)
    if not parts:
        raise FormatError(f"has no folder {_ANN}, and neither do its subfolders", path=path)
    if split is not None and split not in parts:
        raise ParameterError(f"no data set {split!r}", did_you_mean(split, list(parts)), path=path)
    for file in [file for name, files in parts.items() if split in (None, name) for file in files]:
        data = read_json(file)
        objects = data.get("objects") if isinstance(data, dict) else None
        if not isinstance(objects, list) or not all(isinstance(each, dict) for each in objects):
            raise FormatError("no list of objects named objects", "is it Supervisely's?", path=file)
        size = data["size"] if isinstance(data.get("size"), dict) else {}
        image_id = Path(file.stem).stem  # a.jpg.json
        drawn.add_image(image_id, file.stem, size.get("width"), size.get("height"), **_tags(data))
        for number, each in enumerate(objects, 1):
            kind, points, bitmap = (each.get(key) for key in ("geometryType", "points", "bitmap"))
            where, label = f"{file}: object {number}", each.get("classTitle")
            with drawn.refusing(where, image_id, label):
                if kind == "bitmap" and isinstance(bitmap, dict):
                    text, corner = bitmap.get("data"), bitmap.get("origin")
                    drawn.add_picture(where, image_id, label, text, corner, is_packed=True, **_tags(each))
                elif kind in ("rectangle", "polygon") and isinstance(points, dict):
                    if isinstance(holes := points.get("interior"), list) and holes:
                        drawn.left_out["holes of polygons"] += len(holes)
                    drawn.add(where, image_id, label, points.get("exterior"), is_box=kind == "rectangle", **_tags(each))
                else:
                    drawn.left_out[str(kind)] += 1
    return drawn


def _tags(data: dict[str, Any]) -> dict[str, Any]:
    """Return the tags of an image or an object: their values, or true; scores keep their names."""
    tags = data["tags"] if isinstance(data.get("tags"), list) else []
    tags = [tag for tag in tags if isinstance(tag, dict) and isinstance(tag.get("name"), str)]
    named = {tag["name"]: True if tag.get("value") is None else tag["value"] for tag in tags}
    return {f"{name}_attribute" if name in _RESERVED - {*_SCORES} else name: value for name, value in named.items()}
