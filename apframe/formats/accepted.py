"""Ground truth and results of any kind without the rows that are refused, and what these are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

from apframe.exceptions import ColumnError, RowError
from apframe.formats.catalogue import choose_format, tables_in_memory, take_results
from apframe.formats.class_names import with_known_classes
from apframe.formats.coco import Coco, read_result_columns, tables_of_json
from apframe.formats.documents import read_json
from apframe.formats.files import reading_from
from apframe.formats.format import FIXED, OPEN, OUTPUTS, USUAL, refuse_options, taken_boxes, taken_options
from apframe.formats.ids import tables_named
from apframe.formats.nested_rows import holds_columns
from apframe.formats.reading import Reading
from apframe.formats.refused import PLACE, Refused, accept_detections, accept_truth, of_error
from apframe.formats.stored_sets import with_own_paths
from apframe.formats.urls import url_of
from apframe.paths import reading_once
from apframe.tables.dataset import Dataset
from apframe.tables.sources import to_polars
from apframe.tables.tables import GROUND_TRUTH

Frames = dict[str, pl.DataFrame]
Heights = dict[str, int]  # rows of each table that a source has


def read_truth(
    source: Any, reading: Reading, *, alone: bool = True, whole: bool = False
) -> tuple[Dataset | None, list[Refused], Heights]:
    """The data set of what is right in a source, masks included, and what is not; no data set where these cannot be parted.

    With the number of rows that each table of the source has, as far as it could be read. Unless it is read `alone`,
    `box_format` and `relative` are for its results, and for it only if its format leaves its boxes open. The attributes of
    annotations in COCO's JSON are read if it is to be `whole`.

    Raises
    ------
    FormatError
        a file that cannot be read at all
    ParameterError
        options of files with what is in memory, or that the format does not take

    >>> read_truth({"images": [{"id": 1}], "categories": [], "annotations": []}, Reading())
    (Dataset(1 image, 0 categories, 0 annotations), [], {'images': 1, 'categories': 0, 'annotations': 0})
    """
    if not isinstance(source, (str, Path)):
        refuse_options(format=reading.format, split=reading.split, image_sizes=reading.image_sizes)
    boxes = _boxes_of_truth(source, reading, alone)
    if isinstance(source, Dataset):
        source = reading.mapped(source.with_masks)
        return source, [], {table: source.core(table).height for table in GROUND_TRUTH}
    heights: Heights = {}
    try:
        tables, refused, heights = _raw_tables(source, reading, whole)
        tables["images"] = with_own_paths("images", tables["images"], source)
        dataset, further = accept_truth(tables, boxes)
    except (RowError, ColumnError) as error:
        return None, [of_error(error)], heights
    return None if dataset is None else reading.mapped(dataset), refused + further, heights


def read_found(
    source: Any, reading: Reading, truth: Callable[[], Dataset | None]
) -> tuple[pl.DataFrame | None, list[Refused], Heights]:
    """Canonical detections of what is right in a source, and what is not; none where these cannot be parted. And all rows.

    `truth` is asked for the data set that they are of; where there is none, they are looked at alone, if they can be read so.

    >>> found, refused, heights = read_found(
    ...     [{"image_id": 1, "category_id": 1, "bbox": [0, 0, 9, 9]}], Reading(), lambda: None)
    >>> found.height, refused[0].error.problem, heights
    (0, 'score is missing', {'detections': 1})
    """

    def dataset() -> Dataset:
        known = truth()
        if known is None:
            raise ColumnError("cannot be read without their ground truth", "correct that first", table="detections")
        return known

    heights: Heights = {}
    try:
        frame, how, refused, heights = _raw_detections(source, reading, dataset)
        known = truth()
        may_count_from_1, is_whole = how == OPEN, reading.is_whole
        frame = with_known_classes(frame, reading.names, known, may_count_from_1=may_count_from_1, is_whole=is_whole)
        by_name = tables_named(frame, known, reading.joined) if how == OUTPUTS and known is not None else reading.joined
        needs_truth = by_name or reading.relative
        found, further = accept_detections(frame, dataset() if needs_truth else known, by_name, reading.boxes)
    except (RowError, ColumnError) as error:
        return None, [of_error(error)], heights
    return found, refused + further, heights


def _raw_tables(source: Any, reading: Reading, whole: bool) -> tuple[Frames, list[Refused], Heights]:
    if isinstance(source, (str, Path)) and not url_of(source):
        path = Path(source)
        with reading_once(path), reading_from(path):
            chosen = choose_format(source, reading.format, "dataset")
            options = taken_options(chosen, **reading.of_formats)
            try:
                if not (whole and isinstance(chosen, Coco)):
                    return _whole(chosen.read_tables(path, **options))
            except RowError:
                if not isinstance(chosen, Coco):
                    raise
            source = read_json(path)
    elif (tables := tables_in_memory(source)) is not None:
        return _whole(tables)
    source = getattr(source, "dataset", source)  # pycocotools' COCO has a dict there
    return _accept_rows(source, lambda data: tables_of_json(data, "ground truth", None)[0])


def _boxes_of_truth(source: Any, reading: Reading, alone: bool) -> dict[str, Any]:
    """Return the box options that apply to ground truth, alone or together with results."""
    how, of = USUAL, ""
    if isinstance(source, Dataset):
        how, of = FIXED, "a Dataset"
    elif url_of(source) or holds_columns(source):
        how = OPEN
    elif isinstance(source, (str, Path)) and any(reading.boxes.values()):
        chosen = choose_format(source, reading.format, "dataset")
        how, of = chosen.boxes_of_dataset, chosen.title
    return taken_boxes(how, of, reading.boxes, refuses=alone, usual=alone)


def _raw_detections(
    source: Any, reading: Reading, dataset: Callable[[], Dataset]
) -> tuple[pl.DataFrame, str, list[Refused], Heights]:
    format, given = reading.results_format, source
    with reading_once(source):
        try:
            found, how = take_results(source, format, dataset, reading.boxes)
            frame = to_polars(found, "detections")
            return frame, how, [], {"detections": frame.height}
        except RowError:
            if isinstance(source, (str, Path)):
                if not isinstance(choose_format(source, format, "results"), Coco):
                    raise
                source = read_json(Path(source))
            if not isinstance(source, list):
                raise
    frames, refused, heights = _accept_rows(
        {"detections": source}, lambda data: {"detections": read_result_columns(data["detections"])}
    )
    return with_own_paths("detections", frames["detections"], given), OPEN, refused, heights


def _whole(frames: Frames) -> tuple[Frames, list[Refused], Heights]:
    """Tables that were read without a complaint."""
    return frames, [], {table: frame.height for table, frame in frames.items()}


def _accept_rows(data: Any, read: Callable[[Any], Frames]) -> tuple[Frames, list[Refused], Heights]:
    """Read JSON rows without those that the reader refuses; return the rows with their places, the reasons, and all rows."""
    refused: list[Refused] = []
    places: dict[str, list[int]] = {}
    heights: Heights = {}
    while True:
        try:
            frames = read(data)
        except RowError as error:
            rows = data[error.table]
            numbers = places.get(error.table, range(1, len(rows) + 1))
            names = range(1, len(rows) + 1) if error.key == "row" else [row.get("id") for row in rows]
            wrong, n_rows = set(error.rows), len(rows)
            heights.setdefault(error.table, n_rows)
            kept = [(row, number) for row, number, name in zip(rows, numbers, names, strict=True) if name not in wrong]
            if len(kept) == n_rows:
                raise
            refused.append(of_error(error, {error.table: pl.DataFrame({PLACE: numbers})}))
            data = data | {error.table: [row for row, _ in kept]}
            places[error.table] = [number for _, number in kept]
        else:
            heights = {table: frame.height for table, frame in frames.items()} | heights
            return (
                frames | {table: frames[table].with_columns(pl.Series(PLACE, of)) for table, of in places.items()},
                refused,
                heights,
            )
