"""Class-and-box text: a folder with a file for each image, `class left top width height` in each line."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import polars as pl

from apframe.file_formats.format import Format
from apframe.file_formats.lines import (
    first_fields,
    is_name_and_numbers,
    read_lines,
    refuse_blanks,
    refuse_lines,
    some_text_files,
    take_fields,
    text_files,
    write_lines,
)
from apframe.file_formats.names import categories_of, ids_to_write, image_ids
from apframe.schema import Dataset
from apframe.shapes.boxes import BOX

_OF_A_CLASS = re.compile(r".*_det_.+_|Task\d_")


class Boxes(Format):
    """Text with a class and a box in pixels in each line, and the score after the class where they are results.

    An image is called as its file without the ending; its size is not known. A class is called as it stands there.

    Source: the layout of the folders groundtruths and detections in rafaelpadilla's Object-Detection-Metrics.
    """

    name = "boxes"
    title = "class-and-box text"
    dataset_is = "a folder of text files, one for each image, lines of class left top width height"
    results_are = "the same, lines of class score left top width height"
    dataset_from = results_from = ("folder",)
    holds = {"images": (), "categories": (), "annotations": BOX, "detections": ("score", *BOX)}

    def is_dataset(self, path: Path) -> bool:
        """Five fields, of which the first is no number."""
        return _is_like(text_files(path), 5)

    def is_results(self, path: Path) -> bool:
        """Six fields, of which the first is no number; the files are not called as classes are in VOC's and DOTA's results."""
        return _is_like(text_files(path), 6)

    def read_tables(self, path: Path, **options: Any) -> dict[str, pl.DataFrame]:
        """See `Format.read_tables`."""
        annotations = _read(path, ("category_id", *BOX))
        return {
            "images": image_ids(text_files(path)).to_frame(),
            "categories": categories_of(annotations),
            "annotations": annotations,
        }

    def read_results(self, path: Path, dataset: Dataset | None) -> pl.DataFrame:
        """See `Format.read_results`."""
        return _read(path, ("category_id", "score", *BOX))

    def write(self, dataset: Dataset, path: Path) -> None:
        """See `Format.write`."""
        _write(dataset.annotations, path, ("category_id", *BOX), dataset.images["image_id"])

    def write_results(self, detections: pl.DataFrame, path: Path, dataset: Dataset | None) -> None:
        """See `Format.write_results`."""
        images = ids_to_write("image_id", detections, None if dataset is None else dataset.images)
        _write(detections, path, ("category_id", "score", *BOX), images)


def _is_like(files: list[Path], n_fields: int) -> bool:
    if any(_OF_A_CLASS.match(file.stem) for file in files):
        return False
    return is_name_and_numbers(first_fields(files), n_fields)


def _read(folder: Path, layout: tuple[str, ...]) -> pl.DataFrame:
    paths = some_text_files(folder)
    frame = take_fields(paths, read_lines(paths), layout, layout[1:])
    for name in ("width", "height"):
        refuse_lines(paths, frame, frame[name] < 0, f"{name} is negative")
    return frame.select(image_ids(paths).gather(frame["file"]), *layout)


def _write(frame: pl.DataFrame, folder: Path, layout: tuple[str, ...], images: pl.Series) -> None:
    refuse_blanks("categories", frame["category_id"].unique(maintain_order=True))
    write_lines(folder, frame.select(name="image_id", text=pl.concat_str(layout, separator=" ")), images)
