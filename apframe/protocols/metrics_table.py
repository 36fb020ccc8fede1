"""The metrics table: every number for every list, area range, threshold and number of detections."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from apframe.matching.verdicts import range_names, threshold_names
from apframe.metrics.cells import Cell, Cells
from apframe.metrics.metric import read_columns
from apframe.metrics.weights import Weights
from apframe.protocols.headlines import headlines, with_terms
from apframe.tables.metric_columns import METRICS
from apframe.threads import map_parts

if TYPE_CHECKING:
    from apframe.matching.verdicts import Verdicts
    from apframe.protocols.protocol import Protocol


def compute_columns(cells: Cells, protocol: Protocol, *, headlines_only: bool) -> dict[str, np.ndarray]:
    """Compute the columns of the protocol's metrics, of shape (lists, ranges, thresholds, limits); NaN if undefined.

    With `headlines_only`, most metrics are computed only at the largest limit, and are NaN at others.
    """
    metrics = protocol.all_metrics
    n_ranges, n_thresholds, n_limits = cells.positives.shape[1], len(cells.thresholds), len(cells.limits)
    shape = (cells.n_lists, n_ranges, n_thresholds, n_limits)
    columns = {name: np.full(shape, np.nan) for metric in metrics for name in metric.columns}
    lines = with_terms(headlines(protocol), protocol)
    once = Weights.once(cells.n_images)
    requests = {}
    for metric in metrics:
        limits = {protocol.max_detections.index(line.max_detections) for line in lines if line.column in metric.columns}
        at = sorted(limits | {n_limits - 1}) if headlines_only else list(range(n_limits))
        requests[metric] = at, [Cell((t,), k, m) for k, t, m in product(range(n_ranges), range(n_thresholds), at)]

    def fill(part: tuple[slice, Cells]) -> None:
        lists, own = part
        for metric, (limits, outputs) in requests.items():
            values = read_columns(metric, own.wanting(outputs), once)
            for name in metric.columns:
                of_lists = values[name][..., 0].T.reshape(own.n_lists, n_ranges, n_thresholds, len(limits))
                columns[name][lists, ..., limits] = of_lists

    map_parts(fill, cells.parts())
    return columns


def tabulate_columns(columns: dict[str, np.ndarray], outline: Verdicts, protocol: Protocol) -> pl.DataFrame:
    """Return the metrics table; `outline` has the lists, ranges and thresholds."""
    shape = columns["recall"].shape
    number, area, threshold, limit = (index.ravel() for index in np.indices(shape, dtype=np.int32))
    values = {"ap": np.full(shape, np.nan)} | columns
    dtypes = {column.name: column.dtype for column in METRICS}
    names = ("ap", "recall", "n_positives", "n_detections", *protocol.further_columns)
    series = {name: pl.Series(values[name].ravel(), nan_to_null=True).cast(dtypes.get(name, pl.Float64)) for name in names}
    return pl.DataFrame(
        {
            "category_id": outline.lists["category_id"][number],
            "area_range": range_names(outline.ranges)[area],
            "iou_threshold": threshold_names(outline.thresholds)[threshold],
            "max_detections": pl.Series(protocol.max_detections, dtype=pl.Int64)[limit],
            **series,
        }
    )


def arrays_of(cells: Cells, protocol: Protocol, *, headlines_only: bool = False) -> dict[str, np.ndarray]:
    """Return the arrays of cells, see `Evaluation.arrays`.

    Raises
    ------
    ParameterError
        the definition has no recall levels
    """
    n_limits = len(cells.limits)
    return protocol.definition.arrays(cells, protocol.addend, range(n_limits - 1 if headlines_only else 0, n_limits))
