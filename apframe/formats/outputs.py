"""Outputs of detectors and other libraries in memory: recognized by their attributes, and read as detections."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from typing import Any

import polars as pl

from apframe.exceptions import ColumnError
from apframe.formats.format import OPEN, OUTPUTS
from apframe.formats.nested_rows import holds_columns
from apframe.tables.column_sources import kind_of
from apframe.tables.dataset import Dataset

_HAVE_NO_IDS = {"torchvision": "an output of torchvision's detectors", "supervision": "supervision's Detections"}


@dataclass(frozen=True)
class Outputs:
    """Detections that were not a table.

    Attributes
    ----------
    table
        the detections, with canonical columns
    how
        OPEN if the format of boxes is unknown, or OUTPUTS for results of a library
    images
        `image_id` of all images, with or without detections, and `file_name` for ultralytics' results; None for arrays
    """

    table: pl.DataFrame
    how: str
    images: pl.DataFrame | None = None


def recognize(source: Any, image_ids: Any = None, iou_type: str | None = None) -> Any:
    """Return outputs of torchvision, ultralytics and supervision, and arrays of seven columns, as `Outputs`; others unchanged.

    Parameters
    ----------
    source
        outputs in a list, by image id, or alone: see `apframe.from_torchvision`, `from_ultralytics`, `from_supervision`; an
        array as `apframe.adapters.arrays.tabulate_rows` accepts it; an iterator over outputs or rows
    image_ids
        the image ids of outputs in a list, by default the `image_id` in each; not for tables, arrays and rows, which have ids
    iou_type
        the compared shape: for torchvision's outputs only this shape is read, as in its own evaluation

    Raises
    ------
    ColumnError
        outputs in a list do not name their images, or rows are lists of numbers
    RowError, ParameterError
        see the readers

    >>> recognize({42: {"boxes": [[10.0, 10, 30, 20]], "labels": [3], "scores": [0.75]}}).table.rows()
    [(42, 3, 0.75, 10.0, 10.0, 20.0, 10.0, 200.0)]
    >>> recognize([{"image_id": 42}])
    [{'image_id': 42}]
    """
    is_stream = hasattr(source, "read") or hasattr(source, "__arrow_c_stream__")  # a file or a table
    if isinstance(source, tuple) or (isinstance(source, Iterator) and not is_stream):
        source = list(source)  # ultralytics returns an iterator with stream=True
    own_ids = _ids_in(source)
    if own_ids is None and (isinstance(source, (str, Path, Dataset, Outputs)) or holds_columns(source)):
        return source
    if hasattr(source, "detach") or (hasattr(source, "shape") and hasattr(source, "dtype")):
        from apframe.adapters.arrays import tabulate_rows

        return Outputs(tabulate_rows(source), OPEN)
    _refuse_numbers(source)
    image_ids = own_ids if image_ids is None else image_ids
    library = _library_of(source)
    if library is None and image_ids is not None and not _are_rows(source):
        library = "torchvision"  # its reader explains the error
    if library is None:
        return source
    if image_ids is None and library in _HAVE_NO_IDS and (not isinstance(source, Mapping) or "labels" in source):
        remedy = f"give them by image id, as in {{22: output}}; or convert them with apf.from_{library}(outputs, image_ids)"
        raise ColumnError(f"{_HAVE_NO_IDS[library]} does not name its image", remedy, table="detections")
    return _read(library, source, image_ids, iou_type)


def _library_of(source: Any) -> str | None:
    """Return the library whose outputs these look like, judging by the first one."""
    items = source.values() if isinstance(source, Mapping) else source if isinstance(source, list) else [source]
    first = next(iter(items), None)
    if isinstance(source, Mapping) and {"labels", "scores"} <= source.keys():
        first = source
    if isinstance(first, Mapping):
        is_by_number = isinstance(source, Mapping) and not isinstance(next(iter(source)), str)
        is_output = bool({"labels", "scores"} & first.keys()) and not {"category_id", "score"} & first.keys()
        return "torchvision" if is_by_number or is_output else None
    if hasattr(first, "boxes") and hasattr(first, "names"):
        return "ultralytics"
    return "supervision" if hasattr(first, "xyxy") and hasattr(first, "class_id") else None


def _ids_in(source: Any) -> list[Any] | None:
    """Return the ids in torchvision's outputs, which have arrays; None without ids. Lists may be boxes in any format."""
    first = source[0] if isinstance(source, list) and source else None
    names = {"image_id", "boxes", "labels", "scores"}
    if not (isinstance(first, dict) and names <= first.keys()) or isinstance(first["boxes"], list):
        return None
    return [each.get("image_id") if isinstance(each, dict) else None for each in source]


def _are_rows(source: Any) -> bool:
    """Return True for an empty list or dict, or a list of rows with ids."""
    if isinstance(source, (list, dict)) and not source:
        return True
    return isinstance(source, list) and isinstance(source[0], Mapping) and "image_id" in source[0]


def _refuse_numbers(source: Any) -> None:
    """Raise an error if rows are not dicts, but lists or arrays of numbers."""
    first = source[0] if isinstance(source, list) and source else None
    is_array = getattr(first, "ndim", 0) == 1 and not hasattr(first, "keys")  # unlike a Series of pandas
    if is_array or (isinstance(first, (list, tuple)) and first and isinstance(first[0], Real)):
        from apframe.adapters.arrays import OF_ROWS

        remedy = f"give an array of n × {len(OF_ROWS)} numbers, np.array(rows): {', '.join(OF_ROWS)}"
        raise ColumnError(f"the rows are in a list, and the first of them is {kind_of(first)}", remedy, table="detections")


def _read(library: str, source: Any, image_ids: Any, iou_type: str | None) -> Outputs:
    if library == "ultralytics":
        from apframe.adapters.ultralytics import from_ultralytics, with_files

        return Outputs(from_ultralytics(source, image_ids), OUTPUTS, with_files(source, image_ids)[1])
    from apframe.adapters.arrays import SHAPES, check_ids, column_of_ids

    if library == "supervision":
        from apframe.adapters.supervision import from_supervision

        table = from_supervision(source, image_ids)
    else:
        from apframe.adapters.torchvision import from_torchvision

        table = from_torchvision(source, image_ids, iou_type=iou_type if iou_type in SHAPES else None)  # None reads all shapes
    ids = list(source) if image_ids is None else image_ids
    return Outputs(table, OUTPUTS, pl.DataFrame([column_of_ids(check_ids("outputs", len(ids), ids))]))
