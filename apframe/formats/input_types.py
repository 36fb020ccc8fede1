"""The types of ground truth and detections that functions of apframe accept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, Protocol, TypeAlias

import polars as pl

from apframe.tables.dataset import Dataset


class HoldsColumns(Protocol):
    """A frame or a table of any library with Arrow's interface: Polars, pyarrow, pandas, DuckDB."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> Any: ...


class HoldsFeatures(Protocol):
    """A data set of Hugging Face's `datasets`."""

    features: Any


class HoldsDataset(Protocol):
    """A COCO object of pycocotools, also as returned by `loadRes`."""

    dataset: Any


class HoldsArray(Protocol):
    """An array of n x 7 numbers, as `loadRes` of pycocotools accepts it."""

    def __array__(self) -> Any: ...


class HoldsBoxes(Protocol):
    """Ultralytics' `Results`."""

    boxes: Any


class HoldsCorners(Protocol):
    """Supervision's `Detections`."""

    xyxy: Any


_Rows: TypeAlias = "Mapping[Any, Any] | Sequence[Mapping[str, Any]]"
_Columns: TypeAlias = "str | PathLike[str] | pl.LazyFrame | _Rows | HoldsColumns | HoldsFeatures"
TruthLike: TypeAlias = "Dataset | HoldsDataset | _Columns"
"""Ground truth: a `Dataset`, a path or a URL, a dict as `json.load` returns it for COCO, anything that holds columns."""
DetectionsLike: TypeAlias = "Sequence[Any] | HoldsArray | HoldsBoxes | HoldsCorners | HoldsDataset | _Columns"
"""Detections: anything that holds columns, a path or a URL, a list of dicts as in COCO's results, outputs of a detector."""
