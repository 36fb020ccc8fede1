"""Objects in one Parquet, Arrow or JSON lines file, with a row for each object, and common names of columns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from apframe.exceptions import FormatError
from apframe.formats.arrow_files import is_of_sweeps
from apframe.formats.format import ANY, OPEN, ReadOnly
from apframe.formats.hugging_face import read_rows
from apframe.formats.looks import Look, looks
from apframe.formats.nested_rows import has_objects
from apframe.formats.object_rows import is_of_objects, tables_of_objects, with_canonical_names, with_objects_alone
from apframe.formats.path_contents import PathContents
from apframe.tables.dataset import Dataset


class FlatTable(ReadOnly):
    """A table with a row for each object: an image, a class, a box or another shape, attributes, and a score in results.

    Columns may have the usual names, as in a CSV file; see `apframe.formats.object_rows.with_canonical_names`. Images and
    categories are those that occur. An image without objects is a row with only its id or file. Results in Parquet and Arrow
    belong to these formats, and JSON lines with COCO's names to COCO.
    """

    name = "table"
    title = "a table of objects"
    dataset_is = (
        "a Parquet, Arrow or JSON lines file with a row for each object: image_id or file_name, category or class, a box"
    )
    results_are = "the same with a score, in JSON lines"
    dataset_looks = looks(Look("file", endings=(".parquet", ".arrow", ".feather", ".ipc", ".jsonl")))
    results_looks = looks(Look("file", endings=(".jsonl",), no_keys=("category_id",)))
    boxes_of_dataset = boxes_of_results = OPEN
    image_ids = category_ids = ANY

    def recognizes(self, seen: PathContents, role: str) -> bool:
        """Require columns for an image, a class and a box, a score only in results, and no lists of objects."""
        columns = {
            name: dtype for name, dtype in seen.columns.items() if dtype != pl.Null
        }  # null columns may be scores in ground truth
        is_other = has_objects(columns) or is_of_sweeps(columns)
        return is_of_objects([*columns], scored=role == "results") and not is_other

    def read_tables(self, path: Path, **options: Any) -> dict[str, pl.DataFrame]:
        """Read the tables of a data set: see `Format.read_tables`."""
        return tables_of_objects(_rows(path))

    def read_results(self, path: Path, dataset: Dataset | None) -> pl.DataFrame:
        """Read detections: see `Format.read_results`."""
        return with_objects_alone(with_canonical_names("detections", _rows(path)))


def _rows(path: Path) -> pl.DataFrame:
    rows, _ = read_rows(path)
    if not is_of_objects(rows.columns):
        remedy = "each row needs image_id or file_name, category or class, a box, and a score in results"
        raise FormatError(f"the columns are {', '.join(rows.columns)}", remedy, path=path)
    return rows
