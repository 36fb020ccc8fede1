"""Headline numbers: what metrics read of every list, the means over the lists of each row, and what is made of these."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from apframe.evaluation.slices.parts import conditions_of_parts
from apframe.matching.verdicts import list_bounds
from apframe.metrics.average_precision import ImageCount
from apframe.metrics.cells import Cell, Cells
from apframe.metrics.metric import read_columns
from apframe.metrics.segments import ranges, sums
from apframe.metrics.weights import Weights
from apframe.protocols.headlines import Headline, composed, headlines, with_terms
from apframe.protocols.rules.limits import ZeroWithoutDetections

if TYPE_CHECKING:
    from apframe.evaluation.evaluation import Evaluation
    from apframe.evaluation.slices.slices import Groups
    from apframe.protocols.protocol import Protocol


@dataclass(frozen=True)
class ListRows:
    """The lists that each row of a result is a mean of; a list can be in several rows.

    Attributes
    ----------
    list
        numbers of lists, by row
    bounds
        where those of each row begin, and the last ones end
    """

    list: np.ndarray
    bounds: np.ndarray

    @classmethod
    def of(cls, lists: pl.DataFrame, n_groups: int, categories: Groups) -> ListRows:
        """Of lists with a `group` (of `n_groups`) and a `category`: each counts in every group that its category is in.

        There is a row for each group, and within it for each of the groups of categories.
        """
        category, group = (lists[name].to_numpy().astype(np.int64) for name in ("category", "group"))
        members = categories.members.sort("row")
        bounds = list_bounds(members["row"].to_numpy(), int(category.max(initial=-1)) + 1)
        place, number = ranges(bounds[category], np.diff(bounds)[category])
        row = group[number] * len(categories) + members["group"].to_numpy()[place]
        order = np.argsort(row, kind="stable")
        return cls(number[order], list_bounds(row[order], n_groups * len(categories)))

    def rows_of_lists(self, n_lists: int) -> Sequence[np.ndarray]:
        """The row of each list, or -1; a second array has the second rows of lists that are in several, and so on.

        >>> [each.tolist() for each in ListRows(np.array([0, 2, 0]), np.array([0, 2, 3])).rows_of_lists(3)]
        [[0, -1, 0], [1, -1, -1]]
        """
        order = np.argsort(self.list, kind="stable")
        number, row = self.list[order], np.repeat(np.arange(len(self.bounds) - 1), np.diff(self.bounds))[order]
        turn = np.arange(len(number)) - np.searchsorted(number, number)
        found = np.full((int(turn.max(initial=-1)) + 1, n_lists), -1)
        found[turn, number] = row
        return [*found]

    def sums(self, values: np.ndarray) -> np.ndarray:
        """The sums of values of the lists, of shape (lists, weightings), in each row.

        >>> ListRows(np.array([0, 1, 1]), np.array([0, 2, 2, 3])).sums(np.array([[0.5], [0.25]])).ravel().tolist()
        [0.75, 0.0, 0.25]
        """
        return sums(values.take(self.list, axis=0), self.bounds)


def cell_of(line: Headline, protocol: Protocol) -> Cell | None:
    """The cell of a headline number; None if its threshold is not evaluated, or if it comes from other numbers or tables."""
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


def values_of_lists(
    cells: Cells, protocol: Protocol, lines: Iterable[Headline], weights: Weights
) -> Iterator[tuple[Headline, np.ndarray]]:
    """Yield the headline numbers that are means over lists, with their values of shape (lists, weightings), or NaN.

    Plain numbers are read together for each area range, as they share much. Others are read for each limit too, so that not all
    of them are in memory at once.
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
        wanted = list(dict.fromkeys(own.values()))
        found = read_columns(metrics[number], cells.wanting(wanted), weights)
        for line, cell in own.items():
            yield line, found[line.column][wanted.index(cell)]


def means_of_table(metrics: pl.DataFrame, protocol: Protocol, parts: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The headline numbers by name, of all lists of the metrics table, and then of each part: flags of its lists."""
    shape = (-1, len(protocol.ranges), len(protocol.iou_thresholds), len(protocol.max_detections))
    n_lists, lines = metrics.height // -math.prod(shape), headlines(protocol)
    flags = np.stack([np.ones(n_lists, dtype=bool), *parts.values()])
    row, number = np.nonzero(flags)
    rows = ListRows(number, list_bounds(row, len(flags)))

    @cache
    def values_of(column: str) -> np.ndarray:
        return metrics[column].cast(pl.Float64).fill_null(float("nan")).to_numpy().reshape(shape)

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
    summed = {"n lists": rows.sums(np.ones((n_lists, 1)))} | sum_values(values, rows, n_images)  # not empty in any case
    return {name: found[:, 0] for name, found in numbers(summed, lines, protocol).items()}


def sum_values(
    values: Iterable[tuple[Headline, np.ndarray]], rows: ListRows, n_images: Mapping[str, np.ndarray] | None
) -> dict[str, np.ndarray]:
    """Sums over the lists of each row: of each number by its name, and by "n " and that, how many lists it is a sum of.

    `n_images`, of each area range by name, is how often a list counts; None: once.
    """
    of_lists = (summands(line, own, n_images) for line, own in values)
    return {name: rows.sums(own) for each in of_lists for name, own in each.items()}


def summands(line: Headline, values: np.ndarray, n_images: Mapping[str, np.ndarray] | None) -> dict[str, np.ndarray]:
    """What is summed over lists: the values of a headline number by its name, and by "n " and that, how often each counts."""
    counts = np.isfinite(values)
    own = np.where(counts, values, 0)
    if n_images is not None:
        counts = counts * n_images[line.area_range]
        own *= counts
    return {line.metric: own, f"n {line.metric}": counts}


def summarize(self: Evaluation, metrics: pl.DataFrame) -> pl.DataFrame:
    """`metric` and `value`, one row for each headline number; null where nothing was evaluated.

    Parts of the categories are means over some lists of the metrics table; parts of the images are slices. What is the mean of
    another table is asked of the evaluation.
    """
    protocol, lines = self.protocol, headlines(self.protocol, with_parts=True)
    parts: dict[str, np.ndarray] = {}
    of_images: dict[str, pl.Expr] = {}
    if any(line.part is not None for line in lines):
        parts, of_images = _parts(self)
    found = means_of_table(metrics, protocol, parts)
    values = {(name, part): of[row] for name, of in found.items() for row, part in enumerate([None, *parts])}
    if of_images:
        slices = self.by(of_images)
        of_slices = [name for name in found if name in slices.columns]
        values |= {(name, part): value for name in of_slices for part, value in slices.select("slice", name).rows()}
    values |= {(line.metric, None): self._mean_of_table(line) for line in lines if line.kind.table}
    value = pl.Series("value", [values.get((line.of_whole, line.part)) for line in lines], pl.Float64).fill_nan(None)
    is_zero = protocol.rule(ZeroWithoutDetections) is not None and not self._inputs.n_detections
    if is_zero and self._inputs.annotations.height:
        value = value.fill_null(0.0)
    return pl.DataFrame({"metric": [line.metric for line in lines], "value": value})


def _parts(self: Evaluation) -> tuple[dict[str, np.ndarray], dict[str, pl.Expr]]:
    """Flags of the lists of each part of the categories, and the conditions of the parts of the images, by name."""
    tables, tables_of = self._inputs.tables(), {part.name: part.table for part in self.protocol.parts}
    conditions = conditions_of_parts(self.protocol, tables)
    of_images = {name: condition for name, condition in conditions.items() if tables_of[name] == "images"}
    flags = tables["categories"].select(pl.all().name.prefix("categories.")).select(
        **{name: each.fill_null(value=False) for name, each in conditions.items() if name not in of_images}
    )  # fmt: skip
    return {each.name: each.to_numpy() for each in flags}, of_images


def images_of_lists(cells: Cells, protocol: Protocol, weights: Weights) -> dict[str, np.ndarray] | None:
    """How many times each list counts in a mean, of shape (lists, weightings), by area range; None if each counts once."""
    if not protocol.means_by_images:
        return None
    names, last = protocol.range_names, len(cells.limits) - 1
    asked = [Cell((0,), k, last) for k in range(len(names))]
    return dict(zip(names, ImageCount().read(cells.wanting(asked), weights)["n_images"], strict=True))


def numbers(summed: Mapping[str, np.ndarray], lines: Sequence[Headline], protocol: Protocol) -> dict[str, np.ndarray]:
    """The headline numbers by name, from the sums of `sum_values`; a number without a value is NaN."""
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
    """The headline numbers by name, from the means of their terms; one that is a mean itself is among these."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return {line.metric: composed(line, means, protocol) for line in lines}
