"""Writing of data sets and results in any format: completely or not at all, replacing nothing, with a list of losses."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

from apframe.exceptions import OutputError, ParameterError
from apframe.formats.catalogue import as_format, naming_format, read_dataset, read_results
from apframe.formats.conversion_losses import losses, tables_of
from apframe.formats.edges import with_boxes_around_corners
from apframe.formats.file_ids import results_with_ids_of, with_ids_of
from apframe.formats.format import Format
from apframe.formats.hidden_folders import remove_left_behind
from apframe.formats.replacing import replacing
from apframe.paths import is_folder, to_write
from apframe.rows import refuse_rows
from apframe.tables.label_map_paths import with_paths_from
from apframe.tables.shapes.corners import upright, with_corners
from apframe.tables.shapes.declarations import CUBOIDS, LABEL_MAP, OTHERS


def write_dataset(dataset: Any, path: str | Path, format: str) -> pl.DataFrame:
    """Write ground truth in a format, and list the data that the format cannot hold.

    Ids become those of the format: names (of files, without extension, and of classes), or numbers. The file or folder appears
    completely or not at all. Nothing is replaced: the path must not exist yet, or be an empty folder.

    Parameters
    ----------
    dataset
        as `read_dataset` accepts it
    path
        the file or folder to write, depending on the format
    format
        the name of the format, see `list_formats`

    Returns
    -------
    A row for each loss: `table`, `column` (null: whole rows), `n_rows`, and `what` happens to the data.

    Raises
    ------
    ParameterError
        an unknown format
    RowError, FormatError
        data that cannot be written, such as two images with the same name
    OutputError
        the path exists already, or it cannot be written
    """
    target_format = as_format(format)
    target_format.refuse_writing()
    dataset = read_dataset(dataset)
    annotations = _boxed(target_format, "annotations", dataset.annotations)
    boxed = dataset if annotations is dataset.annotations else dataset.part(dataset.images, annotations)
    converted = with_ids_of(target_format, boxed)
    lost = losses(target_format, tables_of(dataset), tables_of(converted))
    if target_format.kinds_of("dataset")[0] == "file" and LABEL_MAP.name in target_format.holds["images"]:
        converted = converted.with_images_changed(lambda images: with_paths_from("images", images, Path(path)))
    write_new(Path(path), target_format.kinds_of("dataset")[0], lambda part: target_format.write(converted, part))
    return lost


def write_results(detections: Any, path: str | Path, format: str, *, dataset: Any = None) -> pl.DataFrame:
    """Write detections in a format, and list the data that the format cannot hold; see `write_dataset`.

    `detections` are accepted as in `read_results`, and `dataset`, their ground truth, as in `read_dataset`.
    """
    target_format = as_format(format)
    target_format.refuse_writing()
    truth = None if dataset is None else read_dataset(dataset)
    results = read_results(detections, dataset=truth)
    boxed = _boxed(target_format, "detections", results)
    with naming_format(detections, None):
        converted = results_with_ids_of(target_format, boxed, truth)
    named = None if truth is None else with_ids_of(target_format, truth)
    if target_format.fractions and named is None:
        raise ParameterError(f"{target_format.title} stores boxes as fractions of their images", "give their data set")
    lost = losses(target_format, {"detections": results}, {"detections": converted})
    if LABEL_MAP.name in target_format.holds["detections"]:
        converted = with_paths_from("detections", converted, Path(path))
    write_new(
        Path(path), target_format.kinds_of("results")[0], lambda part: target_format.write_results(converted, part, named)
    )
    return lost


def _boxed(format_: Format, table: str, frame: pl.DataFrame) -> pl.DataFrame:
    """Return the frame with upright boxes around turned ones and corners, if the format has boxes but not these shapes.

    Rows without a box are an error if boxes are the only shape of the format, apart from cuboids.
    """
    columns = set(format_.holds[table])
    if "x" in columns and "angle" not in columns:
        frame = with_corners(frame) if "corners" in columns else upright(frame)
    if "x" not in columns or any(shape.column in columns for shape in OTHERS if shape is not CUBOIDS):
        return frame
    frame = with_boxes_around_corners(frame)
    remedy = f"{format_.title} needs boxes; supply them or remove these rows"
    refuse_rows(table, frame, frame["x"].is_null(), "there is no box", remedy)
    return frame


def write_new(path: Path, kind: str, write: Callable[[Path], None]) -> None:
    """Write a "file" or "folder" beside the path and move it there: completely or not at all, and replacing nothing.

    Raises
    ------
    OutputError
        the path exists, other than as an empty folder, or it cannot be written
    """
    target = refuse_existing(path, kind)
    with replacing(target) as part:
        write(part)
        _refuse_existing(path, kind)  # something may have been written there since


def refuse_existing(path: Path, kind: str) -> Path:
    """Return the absolute path of a "file" or "folder" to write; an OutputError if it exists, except as an empty folder."""
    target = to_write(path)  # a link to an empty folder stays one
    remove_left_behind(target)  # a writer that was killed at the very end left its target and a hidden folder
    _refuse_existing(path, kind)
    return target


def _refuse_existing(path: Path, kind: str) -> None:
    if is_folder(path) and kind == "file":
        raise OutputError("this is a folder", "name a file", path=path)
    if is_folder(path) and any(path.iterdir()):
        raise OutputError("is not empty", "give a new folder", path=path)
    if not is_folder(path) and os.path.lexists(path):
        raise OutputError("a file with this name exists", "remove it or choose another name", path=path)
