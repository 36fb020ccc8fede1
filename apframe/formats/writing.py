"""Data sets and results written in any format: whole or not at all, never over anything else, and with what is lost."""

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
    """Write ground truth in a format, and say what it cannot hold.

    Ids become what the format has: names (of files, without their ending, and of classes), or numbers. The file or folder
    appears whole or not at all. Nothing is replaced: there must be nothing at the path yet, or an empty folder.

    Parameters
    ----------
    dataset
        as `read_dataset` takes it
    path
        the file or folder to write, as the format has it
    format
        its name, see `formats`

    Returns
    -------
    A row for each thing that is not in the files: `table`, `column` (null: whole rows), `n_rows`, `what` becomes of them.

    Raises
    ------
    ParameterError
        no such format
    RowError, FormatError
        what cannot be written, such as two images of one name
    OutputError
        there is something at the path, or it cannot be written
    """
    chosen = as_format(format)
    chosen.refuse_writing()
    dataset = read_dataset(dataset)
    annotations = _boxed(chosen, "annotations", dataset.annotations)
    boxed = dataset if annotations is dataset.annotations else dataset.part(dataset.images, annotations)
    given = with_ids_of(chosen, boxed)
    lost = losses(chosen, tables_of(dataset), tables_of(given))
    if chosen.kinds_of("dataset")[0] == "file" and LABEL_MAP.name in chosen.holds["images"]:
        given = given.with_images_changed(lambda images: with_paths_from("images", images, Path(path)))
    write_new(Path(path), chosen.kinds_of("dataset")[0], lambda part: chosen.write(given, part))
    return lost


def write_results(detections: Any, path: str | Path, format: str, *, dataset: Any = None) -> pl.DataFrame:
    """Write detections in a format, and say what it cannot hold; see `write_dataset`.

    `detections` are as `read_results` takes them, `dataset` is what they are of, as `read_dataset` takes it.
    """
    chosen = as_format(format)
    chosen.refuse_writing()
    known = None if dataset is None else read_dataset(dataset)
    found = read_results(detections, dataset=known)
    boxed = _boxed(chosen, "detections", found)
    with naming_format(detections, None):
        given = results_with_ids_of(chosen, boxed, known)
    named = None if known is None else with_ids_of(chosen, known)
    if chosen.fractions and named is None:
        raise ParameterError(f"{chosen.title} stores boxes as fractions of their images", "give their data set")
    lost = losses(chosen, {"detections": found}, {"detections": given})
    if LABEL_MAP.name in chosen.holds["detections"]:
        given = with_paths_from("detections", given, Path(path))
    write_new(Path(path), chosen.kinds_of("results")[0], lambda part: chosen.write_results(given, part, named))
    return lost


def _boxed(format_: Format, table: str, frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with upright boxes around turned ones and corners, as far as the format has boxes and does not have these.

    Rows without a box are an error if the format has boxes alone: cuboids stand beside them.
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
    """Write a "file" or "folder" beside the path and move it there: it appears whole or not at all, and replaces nothing.

    Raises
    ------
    OutputError
        there is something at the path, other than an empty folder, or it cannot be written
    """
    target = refuse_existing(path, kind)
    with replacing(target) as part:
        write(part)
        _refuse_existing(path, kind)  # what came there since


def refuse_existing(path: Path, kind: str) -> Path:
    """Return the whole path of a "file" or "folder" to write; an OutputError if something is there, except an empty folder."""
    target = to_write(path)  # a link to an empty folder stays one
    remove_left_behind(target)  # a writer that was killed at its very end left its target and a hidden folder
    _refuse_existing(path, kind)
    return target


def _refuse_existing(path: Path, kind: str) -> None:
    if is_folder(path) and kind == "file":
        raise OutputError("this is a folder", "name a file", path=path)
    if is_folder(path) and any(path.iterdir()):
        raise OutputError("is not empty", "give a new folder", path=path)
    if not is_folder(path) and os.path.lexists(path):
        raise OutputError("a file with this name exists", "remove it or choose another name", path=path)
