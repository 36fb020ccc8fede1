"""Class-and-box text: a folder with a file for each image, a class and the four numbers of a box in each line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from apframe.formats.format import OPEN, Format
from apframe.formats.image_sizes import images_with_sizes
from apframe.formats.lines import Lines, refuse_blanks, some_text_files, text_files, write_lines
from apframe.formats.looks import NAME, Look, looks
from apframe.formats.names import categories_of, ids_to_write, image_ids
from apframe.tables.dataset import Dataset
from apframe.tables.shapes.boxes import BOX

_DIFFICULT = "difficult"
_OF_CLASSES = ("*_det_?*_*", "Task[0-9]_*")  # files that are called as classes are, in other results


class Boxes(Format):
    """Text with a class and a box in each line, and the score after the class where they are results.

    The box is left, top, width and height in pixels, unless `box_format` and `relative` say otherwise: Cartucho's mAP writes
    two corners ("xyxy"), rafaelpadilla's Object-Detection-Metrics either, and relative boxes as YOLO does ("cxcywh"). A line of
    ground truth may end with the word `difficult`, which becomes `ignore`. An image is called as its file without the ending;
    its size is known where `image_sizes` gives it. A class is called as it stands there.

    Source: the layout of the folders groundtruths and detections in rafaelpadilla's Object-Detection-Metrics, and of
    ground-truth and detection-results in Cartucho's mAP.
    """

    name = "boxes"
    title = "class-and-box text"
    dataset_is = "a folder of text files, one for each image, lines of class left top width height (or box_format)"
    results_are = "the same, lines of class score left top width height"
    dataset_looks = looks(Look("folder", endings=(".txt",), no_names=_OF_CLASSES, line=NAME + "( #){4}( difficult)?"))
    results_looks = looks(Look("folder", endings=(".txt",), no_names=_OF_CLASSES, line=NAME + "( #){5}"))
    options = ("image_sizes",)
    boxes_of_dataset = boxes_of_results = OPEN
    holds = {"images": (), "categories": (), "annotations": BOX, "detections": ("score", *BOX)}

    def read_tables(
        self, path: Path, *, image_sizes: Any = None, box_format: str | None = None, **options: Any
    ) -> dict[str, pl.DataFrame]:
        """Read the tables of a data set: see `Format.read_tables`."""
        annotations = _read(path, ("category_id", *BOX, "difficult"), optional=1, has_sizes=box_format != "xyxy")
        return {
            "images": images_with_sizes(image_ids(text_files(path)), image_sizes, path),
            "categories": categories_of(annotations),
            "annotations": annotations,
        }

    def read_results(self, path: Path, dataset: Dataset | None) -> pl.DataFrame:
        """Read detections: see `Format.read_results`."""
        return _read(path, ("category_id", "score", *BOX))

    def write(self, dataset: Dataset, path: Path) -> None:
        """Write a data set: see `Format.write`."""
        _write(dataset.annotations, path, ("category_id", *BOX), dataset.images["image_id"])

    def write_results(self, detections: pl.DataFrame, path: Path, dataset: Dataset | None) -> None:
        """Write detections: see `Format.write_results`."""
        images = ids_to_write("image_id", detections, None if dataset is None else dataset.images)
        _write(detections, path, ("category_id", "score", *BOX), images)


def _read(folder: Path, layout: tuple[str, ...], optional: int = 0, *, has_sizes: bool = False) -> pl.DataFrame:
    paths = some_text_files(folder)
    numbers = [name for name in layout if name in ("score", *BOX)]
    lines = Lines("annotations" if optional else "detections", paths)
    frame = lines.take(layout, numbers, optional)
    if optional:
        last = frame[layout[-1]]
        lines.refuse(last != _DIFFICULT, f"the last field is not the word {_DIFFICULT}")
        frame = frame.with_columns(last.is_not_null()) if last.count() else frame.drop(last.name)
    for name in ("width", "height") if has_sizes else ():
        lines.refuse_malformed(frame[name] < 0, f"{name} is negative")
    return lines.marked(frame.select(image_ids(paths).gather(frame["file"]), pl.exclude("file", "line")))


def _write(frame: pl.DataFrame, folder: Path, layout: tuple[str, ...], images: pl.Series) -> None:
    refuse_blanks("categories", frame["category_id"].unique(maintain_order=True))
    write_lines(folder, frame.select(name="image_id", text=pl.concat_str(layout, separator=" ")), images)
