"""Results in COCO JSON: a list of detections, one in each line, or a data set whose annotations have scores."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path
from typing import Any

import polars as pl

from apframe.exceptions import FormatError
from apframe.formats.coco.json_rows import canonical_names, frame_of_rows, lacks_box
from apframe.formats.coco.scan import scan_results
from apframe.formats.documents import parse_json
from apframe.formats.files import BOM, reading_unpacked
from apframe.formats.format import with_own_paths
from apframe.tables.canonical import canonical
from apframe.tables.schemas import KEYS, NAMES
from apframe.validation import validating

SCORE = b'"score"'
"""Text found in a data set whose annotations are results."""
FIRST_LINE = 1 << 16  # bytes in which the first line is searched for


def read_coco_results(source: str | Path | list[dict[str, Any]] | dict[str, Any]) -> pl.DataFrame:
    """Read COCO results: a JSON file, plain or gzip, with a list of boxes, masks or keypoints; or that list already in memory.

    The file may also have a result in each line, or be a data set whose annotations have scores; `file_name` and `name` then
    come from its own images and categories.

    The first row of a file determines the columns. Returns the canonical detections: `detection_id` (from 1, in the order of
    the file), `image_id`, `category_id`, `score`, the box, its `area`, `mask` or `keypoints`, and further fields as attributes.
    If the first row has another shape and no `bbox`, `evaluate` computes the boxes of all rows from this shape, as pycocotools
    does, even for rows that have a `bbox`; if it has one, all rows require one.

    Raises
    ------
    FormatError
        the file is missing, not JSON, cut off, or a ground-truth file
    RowError
        rows without a score or a box, with NaN or infinite numbers, negative sizes or values of the wrong type; names their
        positions in the file

    >>> read_coco_results([{"image_id": 7, "category_id": 1, "bbox": [10, 20, 30, 40], "score": 0.5}]).rows()
    [(1, 7, 1, 0.5, 10.0, 20.0, 30.0, 40.0, 1200.0)]
    """
    with validating():
        results = canonical("detections", read_result_columns(source))
    return with_own_paths("detections", results, source)


def read_result_columns(source: str | Path | list[dict[str, Any]] | dict[str, Any]) -> pl.DataFrame:
    """Read results like `read_coco_results`, with canonical names, but unchecked.

    >>> read_result_columns([{"image_id": 7, "bbox": [10, 20, 30, 40], "score": 0.5}])["category_id"].to_list()
    [None]
    """
    if not isinstance(source, (str, Path)):
        return _of_data_set(source, "results") if isinstance(source, dict) else _results(source, "results")
    path = Path(source)
    with reading_unpacked(path) as file:
        head = file.read(FIRST_LINE)
        if head.removeprefix(BOM).lstrip()[:1] == b"{":
            text = head + file.read()
            if are_lines(head):
                file = BytesIO(b"[" + b",\n".join(line for line in text.removeprefix(BOM).split(b"\n") if line.strip()) + b"]")
            elif SCORE in text:
                return _of_data_set(parse_json(path, text), str(path))
        scanned = scan_results(path, file)
        if scanned is not None:
            return scanned
        file.seek(0)
        return _results(parse_json(path, file.read()), str(path))


def are_lines(head: bytes) -> bool:
    """Return True if a file with this beginning has a result in each line, judging by its first line.

    >>> are_lines(b'{"image_id": 7, "score": 0.5}'), are_lines(b'{"images": [')
    (True, False)
    """
    row = first_line_row(head)
    return row is not None and "image_id" in row


def first_line_row(head: bytes) -> dict[str, Any] | None:
    """Return the object in the first line; None if no object ends there."""
    first = head.removeprefix(BOM).lstrip().partition(b"\n")[0]
    try:
        return json.loads(first) if first.startswith(b"{") else None
    except (ValueError, RecursionError):
        return None


def _of_data_set(data: Any, source: str) -> pl.DataFrame:
    """Return results from a data set: its annotations, with the names of its own images and categories."""
    rows = data.get("annotations") if isinstance(data, dict) else None
    if not isinstance(rows, list) or not any(isinstance(row, dict) and "score" in row for row in rows):
        raise FormatError("holds an object, not a list of results", "is it ground truth?", path=source)
    results = _results(rows, source)
    for table, key in KEYS.items():
        if isinstance(data.get(table), list):
            owner = canonical_names(table, frame_of_rows(table, data[table])[0])
            is_named = {key, NAMES[table]} <= set(owner.columns) and NAMES[table] not in results.columns
            if is_named and owner.schema[key] == results.schema.get(key):
                names = owner.select(key, NAMES[table]).unique(key)
                results = results.join(names, on=key, how="left", maintain_order="left")
    return results


def _results(rows: Any, source: str) -> pl.DataFrame:
    """Return results from parsed JSON, with all their fields."""
    if not isinstance(rows, list):
        raise FormatError("not a list of objects, one for each detection", "is it ground truth?", path=source)
    frame, _ = frame_of_rows("detections", rows)
    return result_columns(frame, next((row for row in rows if isinstance(row, dict)), {}))


def result_columns(frame: pl.DataFrame, first: dict[str, Any]) -> pl.DataFrame:
    """Return results of `frame_of_rows` with canonical names; the first row shows if they have boxes."""
    boxes_of_shapes = ["bbox"] if first and lacks_box(first) else []
    return canonical_names("detections", frame.drop("area", *boxes_of_shapes, strict=False))
