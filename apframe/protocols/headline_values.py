"""Headline numbers: a metric's number for every list, the means over the lists of each row, and functions of these means."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from apframe.matching.verdicts import list_bounds
from apframe.metrics.average_precision import ImageCount
from apframe.metrics.cells import Cell, Cells
from apframe.metrics.list_rows import ListRows
from apframe.metrics.metric import Metric, read_columns
from apframe.metrics.weights import Weights
from apframe.protocols.headlines import Headline, composed, headlines, with_terms

if TYPE_CHECKING:
    from apframe.protocols.protocol import Protocol


def cell_of(line: Headline, protocol: Protocol) -> Cell | None:
    """Return the cell of a headline number; None if its threshold is not evaluated, or it is computed from other numbers."""
    if line.is_of_others or line.kind.table:
        return None
    thresholds = tuple(range(len(protocol.iou_thresholds)))
    if line.iou_threshold is not None:
        number = protocol.threshold_number(line.iou_threshold)
        if number is None:
            return None
        thresholds = (number,)
    names = protocol.range_names
    return Cell(thresholds, names.index(line.area_range), protocol.max_detections.index(line.max_detections))


def metric_of(line: Headline, protocol: Protocol) -> Metric:
    """Return the metric whose column a headline number averages."""
    return next(metric for metric in protocol.all_metrics if line.column in metric.columns)


def values_of_lists(
    cells: Cells, protocol: Protocol, lines: Iterable[Headline], weights: Weights
) -> Iterator[tuple[Headline, np.ndarray]]:
    """Yield the headline numbers that are means over lists, with their values of shape (lists, weightings), or NaN.

    Unweighted numbers are read together for each area range, because they share much. Weighted ones are read separately for
    each limit as well, so that not all of them are in memory at once.
    """
    metrics = protocol.all_metrics
    places: dict[tuple[int, int, int | None], dict[Headline, Cell]] = {}
    for line in lines:
        cell = cell_of(line, protocol)
        for number, metric in enumerate(metrics):
            if cell is not None and line.column in metric.columns:
                place = number, cell.area_range, None if weights.are_once else cell.limit
                places.setdefault(place, {})[line] = cell
    for (number, *_), own in sorted(places.items(), key=str):
        requests = list(dict.fromkeys(own.values()))
        columns = read_columns(metrics[number], cells.wanting(requests), weights)
        for line, cell in own.items():
            yield line, columns[line.column][requests.index(cell)]


def means_of_table(metrics: pl.DataFrame, protocol: Protocol, parts: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the headline numbers by name, for all lists of the metrics table and then for each part, given as flags."""
    shape = (-1, len(protocol.ranges), len(protocol.iou_thresholds), len(protocol.max_detections))
    n_lists, lines = metrics.height // -math.prod(shape), headlines(protocol)
    flags = np.stack([np.ones(n_lists, dtype=bool), *parts.values()])
    row, number = np.nonzero(flags)
    rows = ListRows(number, list_bounds(row, len(flags)))

    @cache
    def values_of(column: str) -> np.ndarray:
        return metrics[column].cast(pl.Float64).to_numpy().reshape(shape)

    def of_lists(column: str, cell: Cell) -> np.ndarray:
        values = values_of(column)
        means: np.ndarray = values[:, cell.area_range, list(cell.thresholds), cell.limit].mean(axis=1, keepdims=True)
        return means

    cells = {line: cell for line in with_terms(lines, protocol) if (cell := cell_of(line, protocol)) is not None}
    n_images = None
    if protocol.means_by_images:
        at = {line.area_range: Cell((0,), cell.area_range, len(protocol.max_detections) - 1) for line, cell in cells.items()}
        n_images = {name: of_lists("n_images", cell) for name, cell in at.items()}
    values = ((line, of_lists(line.column, cell)) for line, cell in cells.items())
    summed = {"n lists": rows.sums(np.ones((n_lists, 1)))} | sum_values(values, rows, n_images)  # never empty
    return {name: values_by_row[:, 0] for name, values_by_row in numbers(summed, lines, protocol).items()}


def sum_values(
    values: Iterable[tuple[Headline, np.ndarray]], rows: ListRows, n_images: Mapping[str, np.ndarray] | None
) -> dict[str, np.ndarray]:
    """Sum each number over the lists of each row, by name; "n " and the name is the number of summed lists.

    `n_images`, by name of the area range, is how often a list counts; None means once.
    """
    of_lists = (summands(line, own, n_images) for line, own in values)
    return {name: rows.sums(own) for each in of_lists for name, own in each.items()}


def summands(line: Headline, values: np.ndarray, n_images: Mapping[str, np.ndarray] | None) -> dict[str, np.ndarray]:
    """Return the summands over lists: the values of a headline number by its name, and by "n " and the name their counts."""
    counts = np.isfinite(values)
    own = np.where(counts, values, 0)
    if n_images is not None:
        counts = counts * n_images[line.area_range]
        own *= counts
    return {line.metric: own, f"n {line.metric}": counts}


def tabulate_values(values: Sequence[float | None], lines: Sequence[Headline], default: float | None) -> pl.DataFrame:
    """Return the summary: `metric` and `value`, which is the default if nothing was evaluated."""
    value = pl.Series("value", np.array(values, dtype=float), nan_to_null=True)
    if default is not None:
        value = value.fill_null(default)
    return pl.DataFrame({"metric": [line.metric for line in lines], "value": value})


def images_of_lists(cells: Cells, protocol: Protocol, weights: Weights) -> dict[str, np.ndarray] | None:
    """Return how often each list counts in a mean, of shape (lists, weightings), by area range; None if each counts once."""
    if not protocol.means_by_images:
        return None
    names, last = protocol.range_names, len(cells.limits) - 1
    cell_of_range = [Cell((0,), k, last) for k in range(len(names))]
    return dict(zip(names, ImageCount().read(cells.wanting(cell_of_range), weights)["n_images"], strict=True))


def numbers(summed: Mapping[str, np.ndarray], lines: Sequence[Headline], protocol: Protocol) -> dict[str, np.ndarray]:
    """Return the headline numbers by name, from the sums of `sum_values`; NaN if undefined."""
    some = next(iter(summed.values()))
    with np.errstate(invalid="ignore", divide="ignore"):
        means = {
            line.metric: summed[line.metric] / summed[f"n {line.metric}"]
            if line.metric in summed
            else np.full(some.shape, np.nan)
            for line in with_terms(lines, protocol)
            if not line.is_of_others
        }
    return compose(means, lines, protocol)


def compose(means: Mapping[str, np.ndarray], lines: Iterable[Headline], protocol: Protocol) -> dict[str, np.ndarray]:
    """Return the headline numbers by name, from the means of their terms, which include numbers that are means themselves."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return {line.metric: composed(line, means, protocol) for line in lines}
