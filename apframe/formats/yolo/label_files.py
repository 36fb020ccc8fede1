"""YOLO label files without a data.yaml: ground truth whose class names come from an option, or from a list beside them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from apframe.exceptions import FormatError, ParameterError
from apframe.folders import files_in
from apframe.formats.class_names import read_class_names
from apframe.formats.format import INDEX, TruthOnly
from apframe.formats.looks import Look, looks
from apframe.formats.path_contents import PathContents
from apframe.formats.text_lines import text_files
from apframe.formats.yolo.config import ENDINGS, IMAGES, Config, is_label
from apframe.formats.yolo.format import tables_of
from apframe.formats.yolo.label_lines import is_annotation
from apframe.paths import is_file, is_folder
from apframe.wording import option_name

_LABELS = "labels"
_LISTS = ("classes.txt", "obj.names")  # names of the file with a class name in each line in labelImg, Label Studio and CVAT


class YoloLabels(TruthOnly):
    """A folder of YOLO label files, or with a subfolder `labels`, without a data.yaml that names the classes.

    Lines are boxes or polygons, as in `Yolo`. Class names come from `names`, or else from `classes.txt` or `obj.names` in the
    folder, or in the one above it. Images are in the folder `images` beside `labels`, or among the label files; images without
    a label file have no objects. Sizes come from `image_sizes`, or else from `image_sizes.csv` in the folder, or else from the
    image files. Results have the format `Yolo`.

    Source: the folders that labelImg, Label Studio ("YOLO") and CVAT ("YOLO 1.1") export.
    """

    name = "yolo_labels"
    title = "YOLO labels"
    dataset_is = "a folder of label files, itself or its folder labels, lines of class x y width height; names of classes"
    results_are = "none: results are of the format yolo"
    dataset_looks = looks(Look("folder", names=("*.txt", "labels/"), no_names=tuple(f"*{ending}" for ending in ENDINGS)))
    options = ("image_sizes", "names")
    fractions = True
    category_ids = INDEX
    unused_categories = True

    def recognizes(self, seen: PathContents, role: str) -> bool:
        """Require a first line of a label file."""
        folders = [folder for folder in (seen, seen.child(_LABELS)) if folder is not None]
        files = (file for folder in folders for file in folder.children("*.txt") if is_label(file.path, file.fields))
        return is_annotation(next((file.fields for file in files if file.fields), []))

    def read_tables(self, path: Path, *, image_sizes: Any = None, names: Any = None, **options: Any) -> dict[str, pl.DataFrame]:
        """Read the tables of a data set: see `Format.read_tables`.

        Raises
        ------
        ParameterError
            there are no names of classes; or Pillow is required and not installed
        FormatError
            files cannot be read or do not exist; names file and line
        """
        folders = (folder for folder in (path, path / _LABELS) if is_folder(folder))
        folder = next((each for each in folders if any(map(is_label, text_files(each)))), path)
        if names is None:
            here = folder.absolute()
            above = [here.parent, *([here.parent.parent] if _LABELS in (here.name, here.parent.name) else [])]
            places = (place / name for place in (folder, *above) for name in _LISTS)
            names = next((place for place in places if is_file(place) and not _is_label_file(place)), None)
        if names is None:
            remedy = f"name the data.yaml that has their classes and folders of images, or give {option_name('names', '')}"
            raise ParameterError("these look like label files of YOLO", remedy, path=path)
        config = Config(path, read_class_names(names), splits={}, roots=(path,), keypoints=None)
        return tables_of(config, _files(folder), image_sizes)


def _is_label_file(path: Path) -> bool:
    """Return True for the label file of an image named `classes`, and False for a list of classes."""
    return path.suffix == ".txt" and is_label(path)


def _files(folder: Path) -> dict[Path, Path | None]:
    """Return the label files of a folder, and the missing ones of other images, with their images, in order."""
    parts = folder.absolute().parts
    last = max((place for place, part in enumerate(parts) if part == _LABELS), default=None)
    images = folder if last is None else Path(*parts[:last], "images", *parts[last + 1 :])
    files: dict[Path, Path | None] = dict.fromkeys(filter(is_label, text_files(folder)))
    for image in files_in(images if is_folder(images) else folder, *IMAGES):
        label = folder / f"{image.stem}.txt"
        other = files.get(label)
        if other is not None:
            raise FormatError(f"{other.name} and {image.name} have the same label file", "rename one of them", path=images)
        files[label] = image
    return dict(sorted(files.items()))
