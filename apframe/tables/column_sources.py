"""Polars frames from anything that holds columns."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from apframe.exceptions import ColumnError
from apframe.tables.shapes.declarations import LABEL_MAP
from apframe.wording import first_line

OTHER_LIBRARIES = "see apf.from_torchvision, apf.from_ultralytics and apf.from_supervision for results of other libraries"


def to_polars(source: Any, table: str) -> pl.DataFrame:
    """Return a frame from Polars, pyarrow, pandas, DuckDB, a dict of columns, a list of dicts, or a Parquet, CSV or JSON file.

    CSV has a header, and commas, semicolons or tabs. JSON is a list of objects, or one object in each line. Ids and file names
    in CSV are text, unless all of a column are whole numbers in their usual form (not 007). Paths of label maps in a file are
    relative to its folder and must stay in it, see `with_whole_paths`.

    >>> to_polars({"a": [1]}, "images").shape
    (1, 1)
    """
    if isinstance(source, pl.DataFrame):
        return _with_numbers(source) if pl.Object in source.dtypes else source
    if isinstance(source, pl.LazyFrame):
        return source.collect()
    if isinstance(source, (str, Path)):
        from apframe.tables.table_files import read_table

        frame = read_table(Path(source), table)
        if LABEL_MAP.name not in frame.columns:
            return frame
        from apframe.tables.label_map_paths import with_whole_paths

        return with_whole_paths(table, frame, source)
    if isinstance(source, dict):
        refuse_other_keys(table, source)
    if isinstance(source, dict) or hasattr(source, "__arrow_c_stream__"):
        try:
            return _of_columns(source) if isinstance(source, dict) else from_arrow_stream(source)
        except (pl.exceptions.PolarsError, TypeError, ValueError) as error:
            raise ColumnError(f"the columns cannot be read: {first_line(error)}", table=table) from error
    if isinstance(source, list) and all(isinstance(row, dict) for row in source):
        try:
            names = dict.fromkeys(name for row in source for name in row)
            return _of_columns({name: [row.get(name) for row in source] for name in names})
        except (pl.exceptions.PolarsError, TypeError, ValueError) as error:
            raise ColumnError(f"the rows cannot be read: {first_line(error)}", table=table) from error
    tables = (
        "give a Polars, pyarrow or pandas frame, a DuckDB relation, a dict of columns, a list of dicts, or a Parquet, CSV "
        "or JSON file"
    )
    remedy = f"{tables}; {OTHER_LIBRARIES}" if table == "detections" else tables
    raise ColumnError(f"{kind_of(source)} cannot be read as a table", remedy, table=table)


def kind_of(value: Any) -> str:
    """Return the type of a value with an article, for messages.

    >>> kind_of(None), kind_of(1), kind_of({})
    ('None', 'an int', 'a dict')
    """
    name = type(value).__name__
    return str(value) if value is None else f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"


def refuse_other_keys(table: str, names: Iterable[Any]) -> None:
    """Raise an error if a column name is not text.

    >>> refuse_other_keys("images", ["image_id", 7])
    Traceback (most recent call last):
    apframe.exceptions.ColumnError: images: the key 7 is an int, not the name of a column; give columns, or rows, by name
    """
    for name in names:
        if not isinstance(name, str):
            remedy = "give columns, or rows, by name"
            if table == "detections":
                remedy += "; what is given by image id must be outputs of a detector: dicts of arrays, Results or Detections"
            raise ColumnError(f"the key {name!r} is {kind_of(name)}, not the name of a column", remedy, table=table)


def _of_columns(columns: dict[str, Any]) -> pl.DataFrame:
    """Return a dict of columns as a frame, even if whole numbers and fractions are mixed, or bitmaps are a list of arrays."""
    plain = {
        name: [each.tolist() if hasattr(each, "tolist") else each for each in values] if isinstance(values, list) else values
        for name, values in columns.items()
    }
    try:
        return pl.DataFrame(plain)
    except TypeError as error:  # Polars infers the type from the first number
        import pyarrow as pa

        try:
            mixed = {name: pa.array(values) if isinstance(values, list) else values for name, values in plain.items()}
        except (pa.ArrowInvalid, TypeError):
            raise error from None
        return pl.DataFrame(mixed)


def _kinds(values: Any) -> set[type]:
    """Return the types of all items in a list, and in the lists in it."""
    if not isinstance(values, (list, tuple)):
        return set() if values is None else {type(values)}
    return set().union(*map(_kinds, values))


def _with_numbers(frame: pl.DataFrame) -> pl.DataFrame:
    """Convert columns of Python objects that are all numbers to numbers."""
    objects = [values for values in frame if values.dtype == pl.Object and _kinds(values.to_list()) <= {int, float}]
    return frame.with_columns(pl.Series(values.name, values.to_list(), strict=False) for values in objects)


def from_arrow_stream(source: Any) -> pl.DataFrame:
    """Return a frame from any source of an Arrow stream: pyarrow, pandas, a DuckDB relation.

    Polars gets only the stream: otherwise it would inspect a relation, and DuckDB would complain at the end of the program.

    >>> import duckdb
    >>> from_arrow_stream(duckdb.sql("SELECT 7 AS a")).item()
    7
    """
    return pl.DataFrame(_ArrowStream(source.__arrow_c_stream__()))


@dataclass(frozen=True)
class _ArrowStream:
    stream: Any

    def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
        return self.stream
