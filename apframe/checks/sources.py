"""Ground truth and results of any kind as tables, without the checks that reading does otherwise."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from apframe.checks.findings import Finding
from apframe.checks.refused import PLACE, accept_detections, accept_truth, of_error
from apframe.exceptions import ColumnError, RowError
from apframe.io.coco import Coco, read_result_columns, tables_of_json
from apframe.io.documents import read_json
from apframe.io.files import reading
from apframe.io.formats import choose_format, read_raw_results, refuse_options, taken_options
from apframe.schema import GROUND_TRUTH, Dataset, to_polars

Frames = dict[str, pl.DataFrame]


def read_truth(source: Any, format: str | None, split: str | None, image_sizes: Any) -> tuple[Dataset | None, list[Finding]]:
    """The data set of what is right in a source, masks included, and what is not; no data set where these cannot be parted.

    Raises
    ------
    FormatError
        a file that cannot be read at all
    ParameterError
        options of files with what is in memory, or that the format does not take

    >>> read_truth({"images": [{"id": 1}], "categories": [], "annotations": []}, None, None, None)
    (Dataset(1 images, 0 categories, 0 annotations), [])
    """
    if not isinstance(source, (str, Path)):
        refuse_options(format=format, split=split, image_sizes=image_sizes)
    if isinstance(source, Dataset):
        source.read_masks()
        return source, []
    try:
        tables, findings = _raw_tables(source, format, split, image_sizes)
        dataset, further = accept_truth(tables)
    except (RowError, ColumnError) as error:
        return None, [of_error(error)]
    return dataset, findings + further


def read_found(
    source: Any, format: str | None, truth: Callable[[], Dataset | None], join_by_name: str | Sequence[str]
) -> tuple[pl.DataFrame | None, list[Finding]]:
    """Canonical detections of what is right in a source, and what is not; none where these cannot be parted.

    `truth` is asked for the data set that they are of; where there is none, they are looked at alone, if they can be read so.

    >>> found, findings = read_found([{"image_id": 1, "category_id": 1, "bbox": [0, 0, 9, 9]}], None, lambda: None, ())
    >>> found.height, findings[0].problem
    (0, '1 of 1 detections: score is missing')
    """

    def dataset() -> Dataset:
        known = truth()
        if known is None:
            raise ColumnError("detections: cannot be read without their ground truth; correct that first")
        return known

    try:
        frame, findings = _raw_detections(source, format, dataset)
        found, further = accept_detections(frame, dataset() if join_by_name else truth(), join_by_name)
    except (RowError, ColumnError) as error:
        return None, [of_error(error)]
    return found, findings + further


def _raw_tables(source: Any, format: str | None, split: str | None, image_sizes: Any) -> tuple[Frames, list[Finding]]:
    if isinstance(source, (str, Path)):
        path, chosen = Path(source), choose_format(source, format, "dataset")
        try:
            with reading(path):
                return chosen.read_tables(path, **taken_options(chosen, split=split, image_sizes=image_sizes)), []
        except RowError:
            if not isinstance(chosen, Coco):
                raise
            source = read_json(path)
    source = getattr(source, "dataset", source)  # pycocotools' COCO has a dict there
    if isinstance(source, Mapping) and set(GROUND_TRUTH) <= set(source):
        given = {table: source[table] for table in GROUND_TRUTH}
        if not any(isinstance(columns, list) for columns in given.values()):
            return {table: to_polars(columns, table) for table, columns in given.items()}, []
    return _accept_rows(source, lambda data: tables_of_json(data, "ground truth", None)[0])


def _raw_detections(source: Any, format: str | None, dataset: Callable[[], Dataset]) -> tuple[pl.DataFrame, list[Finding]]:
    try:
        return to_polars(read_raw_results(source, format, dataset), "detections"), []
    except RowError:
        if isinstance(source, (str, Path)):
            if not isinstance(choose_format(source, format, "results"), Coco):
                raise
            source = read_json(Path(source))
        if not isinstance(source, list):
            raise
    frames, findings = _accept_rows(
        {"detections": source}, lambda data: {"detections": read_result_columns(data["detections"])}
    )
    return frames["detections"], findings


def _accept_rows(data: Any, read: Callable[[Any], Frames]) -> tuple[Frames, list[Finding]]:
    """What is read of lists of JSON objects without those that the reader refuses, with their places; and why."""
    findings: list[Finding] = []
    places: dict[str, list[int]] = {}
    while True:
        try:
            frames = read(data)
        except RowError as error:
            rows = data[error.table]
            numbers = places.get(error.table, range(1, len(rows) + 1))
            names = range(1, len(rows) + 1) if error.key == "row" else [row.get("id") for row in rows]
            refused, n_rows = set(error.rows), len(rows)
            kept = [(row, number) for row, number, name in zip(rows, numbers, names, strict=True) if name not in refused]
            if len(kept) == n_rows:
                raise
            findings.append(of_error(error, {error.table: pl.DataFrame({PLACE: numbers})}))
            data = data | {error.table: [row for row, _ in kept]}
            places[error.table] = [number for _, number in kept]
        else:
            return frames | {table: frames[table].with_columns(pl.Series(PLACE, of)) for table, of in places.items()}, findings
