"""YOLO text: class numbers and boxes, polygons or keypoints as fractions of the image, and a data.yaml."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import compress
from pathlib import Path
from typing import Any

import polars as pl

from apframe.exceptions import FormatError
from apframe.formats.format import INDEX, Format
from apframe.formats.image_sizes import find_image_sizes, measure_images, with_image_sizes, with_sizes_of, write_image_sizes
from apframe.formats.looks import Look, looks
from apframe.formats.path_contents import PathContents, see
from apframe.formats.text_lines import first_fields, text_files, write_lines
from apframe.formats.yolo.config import ENDINGS, Config, find_config, find_files, is_label, read_config, write_config
from apframe.formats.yolo.label_lines import (
    count_keypoints,
    extent_of,
    is_result,
    keypoints_of_results,
    lines_of,
    polygons_of,
    read_numbers,
    shapes,
)
from apframe.paths import is_file, is_folder
from apframe.rows import OF_SOURCE
from apframe.tables.dataset import Dataset
from apframe.tables.names import label_of
from apframe.tables.schemas import SIZE
from apframe.tables.shapes.boxes import BOX

_SAME = 1e-6  # pixels, far more than the rounding of fractions


class Yolo(Format):
    """The text files of the YOLO family of detectors, beside a data.yaml that names the classes.

    A line is `class x y width height`, with x and y of the centre of the box; or `class x1 y1 x2 y2 ...`, a polygon; or, if
    data.yaml has a `kpt_shape`, a box and x, y (and visibility, by default 1, or 0 if x or y is negative) of each keypoint.
    All are fractions of the image. A polygon becomes the column `mask`, with the box around it. Lines of rotated boxes are
    polygons of four points. In results the score is the last field; the number of keypoints is that of the data set.

    Class ids are the numbers in the files; image ids are file names without folders and extension. Images without a label file
    have no objects. Without image files, the label files define the images.

    Sizes of the images come from `image_sizes`, or else from `image_sizes.csv` beside data.yaml, or else from the image files,
    and every image requires one. Without any of these, images are 1 x 1 and a `UnitWarning` says so. Writing creates data.yaml,
    `labels/val` and `image_sizes.csv`. Numbers survive a round trip to 1e-9 of the image's size, as they are divided and
    multiplied by it.

    Darknet's obj.data, with `names`, `train` and `valid`, may replace data.yaml; paths in it, and in the lists that it names,
    are relative to the folder above its own, or to its own. The files after `data/` in them may be beside it, as in the
    archives of CVAT.

    At most 1,000,000 classes and 1,000 keypoints; a data.yaml of at most 4 MB, nested 20 levels deep.

    Source: the documentation of Ultralytics YOLO on data sets of detection, segmentation and pose, and on `save_txt`.
    """

    name = "yolo"
    title = "YOLO text"
    dataset_is = "a folder with a data.yaml that has names, and val, train or test, or that file; darknet's obj.data"
    results_are = "a folder of text files, itself or its folder labels, lines of class x y width height score"
    dataset_looks = looks(Look("folder", endings=ENDINGS), Look("file", endings=ENDINGS))
    results_looks = looks(Look("folder", names=("*.txt", "labels/")))
    options = ("split", "image_sizes")
    fractions = True
    category_ids = INDEX
    holds = {
        "images": ("file_name", *SIZE),
        "categories": ("name",),
        "annotations": (*BOX, "mask", "keypoints"),
        "detections": ("score", *BOX, "mask", "keypoints"),
    }
    unused_categories = True

    def recognizes(self, seen: PathContents, role: str) -> bool:
        """Require one YAML or darknet file with classes or their number; for results, a first line of fractions and a score."""
        if role == "dataset":
            return find_config(seen) is not None
        folders = [folder for folder in (seen, seen.child("labels")) if folder is not None]
        files = (file for folder in folders for file in folder.children("*.txt") if is_label(file.path, file.fields))
        return is_result(next((file.fields for file in files if file.fields), []))

    def read_tables(
        self, path: Path, *, split: str | None = None, image_sizes: Any = None, **options: Any
    ) -> dict[str, pl.DataFrame]:
        """Read the tables of a data set: see `Format.read_tables`.

        `split` is by default val, or else the only one. Images are ordered by path.

        Raises
        ------
        ParameterError
            an unknown split, or several splits without a choice; PyYAML, or Pillow if required, is not installed
        FormatError
            files cannot be read or do not exist; names file and line
        """
        if not is_folder(path) and path.suffix not in ENDINGS:
            remedy = "give that file, or the folder that holds it"
            raise FormatError("a data.yaml ends in .yaml or .yml, an obj.data in .data", remedy, path=path)
        file = (find_config(see(path)) or path / "data.yaml") if is_folder(path) else path
        config = read_config(file)
        return tables_of(config, find_files(config, split), image_sizes)

    def read_results(self, path: Path, dataset: Dataset | None) -> pl.DataFrame:
        """Read detections: see `Format.read_results`."""
        paths = _result_files(path)
        if not paths:
            raise FormatError("holds no text file (.txt), and neither does its folder labels", path=path)
        n_keypoints = None if dataset is None else count_keypoints(dataset.core("annotations"))
        keypoints = keypoints_of_results(len(first_fields(paths)), n_keypoints)
        lines = with_sizes_of(read_numbers(paths, keypoints, has_score=True), dataset, path)
        return lines.select("image_id", "category_id", "score", OF_SOURCE, *shapes(lines, keypoints))

    def write(self, dataset: Dataset, path: Path) -> None:
        """Write a data set: see `Format.write`. Class numbers may have gaps, which trainers do not accept."""
        lines = lines_of("annotations", dataset.annotations, dataset)
        write_lines(path / "labels" / "val", lines, dataset.images["image_id"])
        names = dataset.categories.select("category_id", label_of("categories"))
        write_config(path / "data.yaml", dict(names.iter_rows()), count_keypoints(dataset.annotations))
        write_image_sizes(dataset.images, path)

    def write_results(self, detections: pl.DataFrame, path: Path, dataset: Dataset | None) -> None:
        """Write detections: see `Format.write_results`. An image without detections gets an empty file."""
        assert dataset is not None  # as boxes are fractions
        expected, n_own = count_keypoints(dataset.annotations), count_keypoints(detections)
        if n_own not in (None, expected):
            raise FormatError(
                f"detections have {n_own} keypoints, but the annotations of their data set have {expected or 'none'}; results "
                "do not say how many they hold",
                "give detections the same number, or leave out the column keypoints",
            )
        write_lines(path, lines_of("detections", detections, dataset), dataset.images["image_id"])

    def further_losses(self, table: str, frame: pl.DataFrame) -> list[tuple[str, pl.Series, str]]:
        """List further losses: see `Format.further_losses`."""
        further = []
        if table == "categories":
            further.append(("name", frame["name"].is_null(), "becomes the number"))
        if table not in ("annotations", "detections"):
            return further
        n_keypoints = count_keypoints(frame)
        if n_keypoints is not None:
            filled = frame["keypoints"].list.len().fill_null(0) != 3 * n_keypoints
            further.append(("keypoints", filled, "padded with unlabelled keypoints at 0"))
        if "mask" in frame.columns:
            polygons = polygons_of(table, frame)
            why = "not a single polygon" if n_keypoints is None else "lines with keypoints cannot hold polygons"
            further.append(("mask", frame["mask"].is_not_null() & polygons.is_null(), f"left out: {why}"))
            extents = polygons.to_frame().select(extent_of(pl.col("polygon")))
            further += [(name, (extents[name] - frame[name]).abs() > _SAME, "replaced by that of the polygon") for name in BOX]
            own, drawn = frame["width"] * frame["height"], extents["width"] * extents["height"]
            further.append(
                ("area", (frame["area"] == own) & ((drawn - own).abs() > _SAME), "replaced by that of the polygon's box")
            )
        return [(name, flags.fill_null(False), what) for name, flags, what in further]


def tables_of(config: Config, files: dict[Path, Path | None], image_sizes: Any) -> dict[str, pl.DataFrame]:
    """Return the tables of a data set with these label and image files."""
    file = config.path
    folder = file if is_folder(file) else file.parent
    images = _images(files, folder)
    sizes = find_image_sizes(image_sizes, folder)
    images = with_image_sizes(images, _measured(images, files.values()) if sizes is None else sizes, file)
    is_there = [is_file(label) for label in files]
    paths = list(compress(files, is_there))
    among = "the names" if file == folder else f"the names in {file.name}"
    unknown = f"class is not among {among}", "add its name, or correct these lines"
    lines = read_numbers(paths, config.keypoints, has_score=False, classes=config.names, unknown=unknown)
    lines = lines.hstack(images.filter(is_there).select(SIZE)[lines["file"]])
    names = {"category_id": list(config.names), "name": list(config.names.values())}
    return {
        "images": images,
        "categories": pl.DataFrame(names, schema={"category_id": pl.Int64, "name": pl.String}),
        "annotations": lines.select("image_id", "category_id", OF_SOURCE, *shapes(lines, config.keypoints)),
    }


def _result_files(path: Path) -> list[Path]:
    folders = (text_files(folder) for folder in (path, path / "labels"))
    return next(filter(None, ([file for file in files if is_label(file)] for files in folders)), [])


def _images(files: dict[Path, Path | None], folder: Path) -> pl.DataFrame:
    """Return the images of label and image files of a data set in a folder; no file name for a label file without an image."""
    names = [(label.stem, _file_name(image, folder)) for label, image in files.items()]
    return pl.DataFrame(names, schema={"image_id": pl.String, "file_name": pl.String}, orient="row")


def _measured(images: pl.DataFrame, paths: Iterable[Path | None]) -> pl.DataFrame | None:
    """Return the images with the sizes of their files, if they have files; None without any."""
    there = [path for path in paths if path is not None]
    if not there:
        return None
    sizes = pl.DataFrame(measure_images(there), schema=dict.fromkeys(SIZE, pl.Int64), orient="row")
    return images.drop_nulls("file_name").hstack(sizes)


def _file_name(image: Path | None, folder: Path) -> str | None:
    if image is None:
        return None
    return image.relative_to(folder).as_posix() if image.is_relative_to(folder) else image.name
