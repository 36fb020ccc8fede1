"""The headline numbers of evaluations in resamples of their images: the same draws for every model, metric and slice."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from apframe.compare.resampling import Draws, fill_blocks
from apframe.evaluation.comparison.image_weights import ImageWeights
from apframe.evaluation.headlines import ListRows, compose, images_of_lists, numbers, sum_values, values_of_lists
from apframe.evaluation.slices.keys import Key
from apframe.evaluation.slices.slices import Slicing, tabulate, walk
from apframe.exceptions import LargeResultWarning, warn
from apframe.matching.regroup import split_by_images
from apframe.matching.verdicts import Verdicts, has_bit
from apframe.metrics.cells import Cells
from apframe.metrics.weights import BLOCK, Weights
from apframe.protocols.headlines import Headline, with_terms

if TYPE_CHECKING:
    from apframe.evaluation.evaluation import Evaluation
    from apframe.protocols.protocol import Protocol

_LARGE = 1_000_000_000  # bytes of results, from which on a warning says so


@dataclass(frozen=True)
class Resampled:
    """Headline numbers of several evaluations in resamples.

    Attributes
    ----------
    table
        the rows: keys of slices, and category_id and name where each category is a row
    estimates, draws
        of shape (evaluations, metrics, rows) and (evaluations, metrics, rows, resamples); NaN where there is no value
    n_units, n_with
        how many units there are in each row, and how many of them have positives there, of shape (rows,) and (metrics, rows)
    """

    table: pl.DataFrame
    estimates: np.ndarray
    draws: np.ndarray
    n_units: np.ndarray
    n_with: np.ndarray


@dataclass(frozen=True)
class Slices:
    """The rows that numbers are wanted for: by levels, `slicings` of the same `keys`, as `make_slicings` makes them.

    A level has also category_id and name of the categories where each is a row of its own, or None. The slicings of the levels
    differ in their categories alone.
    """

    keys: Sequence[Key]
    levels: Sequence[tuple[Sequence[Slicing], pl.DataFrame | None]]


def resample(
    evaluations: Sequence[Evaluation],
    lines: Sequence[Headline],
    slices: Sequence[Slices],
    draws: Draws,
    weights: ImageWeights,
) -> Resampled:
    """The headline numbers of evaluations of the same images in every slice and resample; each has its slices by the same keys.

    Warns
    -----
    LargeResultWarning
        the numbers take more than 1 GB
    """
    wanted = lines
    lines = with_terms(wanted, evaluations[0].protocol)
    once = weights.apply(np.ones((len(draws.unit), 1)))
    units = np.where(once[:, 0] > 0, draws.unit, -1)
    parts = [_Part(each, lines, some, units) for each, some in zip(evaluations, slices, strict=True)]
    n_bytes = sum(part.table.height for part in parts) * len(lines) * draws.n_resamples * 8
    if n_bytes > _LARGE:
        n_rows = parts[0].table.height
        warn(f"the resamples of {n_rows:,} rows take {n_bytes / 1e9:.1f} GB of memory", LargeResultWarning)
    estimates, found = ([np.full((len(lines), part.table.height, n), np.nan) for part in parts] for n in (1, draws.n_resamples))
    for part, values in zip(parts, estimates, strict=True):
        part.fill(once, values)

    def fill(places: slice, counts: np.ndarray) -> None:
        weighted = weights.apply(counts)
        for part, values in zip(parts, found, strict=True):
            part.fill(weighted, values[..., places])

    fill_blocks(draws, BLOCK, fill)
    for values in (*estimates, *found):
        means = {line.metric: values[at] for at, line in enumerate(lines)}
        made = compose(means, [line for line in wanted if line.is_of_others], evaluations[0].protocol)
        for name, number in made.items():
            means[name][:] = number
    for part in parts:
        part.n_with = part.n_with[: len(wanted)]
    estimates, found = ([values[: len(wanted)] for values in each] for each in (estimates, found))
    return _beside(parts, estimates, found)


def _beside(parts: Sequence[_Part], estimates: Sequence[np.ndarray], found: Sequence[np.ndarray]) -> Resampled:
    """The numbers of several evaluations in the rows of all: detections of one may have a value of a key that others lack."""
    table, n_units, n_with = parts[0].table, parts[0].n_units, parts[0].n_with
    if any(not part.table.equals(table) for part in parts[1:]):
        table = pl.concat([part.table for part in parts], how="vertical_relaxed").unique(maintain_order=True)
        numbered = table.with_row_index("row")
        rows = [
            part.table.cast(table.schema).join(numbered, on=table.columns, nulls_equal=True, maintain_order="left")["row"]
            for part in parts
        ]
        places = [row.to_numpy() for row in rows]
        estimates = [_spread(values, place, table.height) for values, place in zip(estimates, places, strict=True)]
        found = [_spread(values, place, table.height) for values, place in zip(found, places, strict=True)]
        n_units, n_with = np.zeros(table.height, dtype=np.int64), np.zeros((len(n_with), table.height), dtype=np.int64)
        for part, place in zip(parts, places, strict=True):
            n_units[place], n_with[:, place] = part.n_units, part.n_with
    return Resampled(table, np.stack(estimates)[..., 0], np.stack(found), n_units, n_with)


def _spread(values: np.ndarray, place: np.ndarray, n: int) -> np.ndarray:
    """The values at other places of the second axis, of that length; NaN elsewhere."""
    spread = np.full((len(values), n, values.shape[2]), np.nan)
    spread[:, place] = values
    return spread


class _Part:
    """One evaluation, made ready: the rows of its slices, and what fills them.

    `units` is the number of the unit of each image, or -1 for an image that weighs nothing.
    """

    def __init__(self, evaluation: Evaluation, lines: Sequence[Headline], slices: Slices, units: np.ndarray) -> None:
        self._jobs, n_with, offset = [], [], 0
        parts: list[list[tuple[Slicing, dict[str, np.ndarray]]]] = [[] for _ in slices.levels]
        for of_levels in zip(*(slicings for slicings, _ in slices.levels), strict=True):
            pieces = list(_pieces(evaluation, of_levels[0], slices.keys))
            jobs = [_Job(piece, lines, evaluation.protocol) for piece in pieces]
            for tables, slicing in zip(parts, of_levels, strict=True):
                for job in jobs:
                    job.add_rows(slicing, offset)
                n_with.append(_units_with_positives(pieces, slicing, lines, evaluation.protocol, units))
                tables.append((slicing, _support(slicing, offset, units)))
                offset += n_with[-1].shape[1]
            self._jobs += jobs
        table = pl.concat(
            [tabulate(own, slices.keys, of) for own, (_, of) in zip(parts, slices.levels, strict=True)], how="diagonal"
        ).drop("rolled_up")
        if len(slices.levels) > 1:  # the columns of the categories come after the keys
            names = [key.name for key in slices.keys]
            table = table.select(*names, "category_id", "name", pl.exclude(*names, "category_id", "name"))
        self._order = table["at"].to_numpy()
        self.table, self.n_units = table.drop("at", "n_units"), table["n_units"].to_numpy()
        self.n_with = np.concatenate(n_with, axis=1)[:, self._order]
        self._row = np.empty_like(self._order)  # in the table
        self._row[self._order] = np.arange(offset)

    def fill(self, weights: np.ndarray, found: np.ndarray) -> None:
        """Put the numbers where they belong, of shape (metrics, rows, resamples); `weights` of shape (images, resamples)."""
        for job in self._jobs:
            job.fill(weights, found, self._row)


@dataclass(frozen=True)
class _Piece:
    """Verdicts of some slices: `lists` has the group and the category of each list, `image` the numbers of the images."""

    verdicts: Verdicts
    lists: pl.DataFrame
    image: np.ndarray


def _pieces(self: Evaluation, slicing: Slicing, keys: Sequence[Key]) -> Iterator[_Piece]:
    """The verdicts of all groups of images, detections and objects: together, unless some of them are matched again."""
    verdicts = _verdicts(self)
    n_images = verdicts.images.height
    every = pl.DataFrame({"group": 0, "category": range(verdicts.lists.height)})
    if not slicing.matches_again(verdicts.detections.height):
        if not slicing.images.is_whole(n_images):
            members = slicing.images.members.rename({"row": "image"})
            keeps_empty = self.protocol.classes.counts_absent
            verdicts, every = split_by_images(verdicts, members, len(slicing.images), keeps_empty=keeps_empty)
        yield _Piece(verdicts, every, np.arange(n_images))
        return
    heights = {name: table.height for name, table in self._inputs.tables().items()}
    for group, (_, masks) in enumerate(walk([slicing.of_all_categories(heights["categories"])], keys, heights)):
        masks.pop("categories")
        part = _verdicts(self._subset(masks))
        yield _Piece(part, every.with_columns(group=pl.lit(group)), numbers_of_images(verdicts, part))


def numbers_of_images(whole: Verdicts, part: Verdicts) -> np.ndarray:
    """The numbers that the images of a part have in the whole."""
    numbered = whole.images.with_row_index("n").join(part.images, on="image_id", maintain_order="right")
    return numbered["n"].to_numpy().astype(np.int64)


def _verdicts(self: Evaluation) -> Verdicts:
    return self._pipeline.verdicts


class _Job:
    """One piece of one evaluation, made ready to be read with weights, and the rows that its lists count in."""

    def __init__(self, piece: _Piece, lines: Sequence[Headline], protocol: Protocol) -> None:
        self._image, self._lists, self._lines, self._protocol = piece.image, piece.lists, lines, protocol
        self._cells = Cells.of(piece.verdicts)
        self._rows: list[tuple[slice, ListRows]] = []

    def add_rows(self, slicing: Slicing, offset: int) -> None:
        """Count the lists in the rows of a slicing, which have numbers from `offset` on."""
        rows = _rows_of(self._lists, slicing)
        self._rows.append((slice(offset, offset + len(rows.bounds) - 1), rows))

    def fill(self, weights: np.ndarray, found: np.ndarray, row: np.ndarray) -> None:
        """Put the means over the lists of each row where they belong; `row` has the row of the table that each row is."""
        own = Weights.of(weights.take(self._image, axis=0))
        n_images = images_of_lists(self._cells, self._protocol, own)
        for line, values in values_of_lists(self._cells, self._protocol, self._lines, own):
            for places, rows in self._rows:
                means = numbers(sum_values([(line, values)], rows, n_images), [line], self._protocol)[line.metric]
                at = np.flatnonzero(np.diff(rows.bounds))
                found[self._lines.index(line), row[places][at]] = means[at]


def _rows_of(lists: pl.DataFrame, slicing: Slicing) -> ListRows:
    *groups, _ = slicing.axes.values()
    return ListRows.of(lists, math.prod(map(len, groups)), slicing.categories)


def _support(slicing: Slicing, offset: int, units: np.ndarray) -> dict[str, np.ndarray]:
    """The number of each row, and how many units its images are of."""
    shape = tuple(len(groups) for groups in slicing.axes.values())
    members = slicing.images.members.with_columns(unit=pl.Series(units)[slicing.images.members["row"]]).filter(
        pl.col("unit") >= 0
    )
    counted = members.group_by("group").agg(pl.col("unit").n_unique())
    n_units = np.zeros(shape, dtype=np.int64)
    n_units[counted["group"].to_numpy()] = counted["unit"].to_numpy()[:, None, None, None]
    return {"at": np.arange(offset, offset + n_units.size).reshape(shape), "n_units": n_units}


def _units_with_positives(
    pieces: Sequence[_Piece], slicing: Slicing, lines: Sequence[Headline], protocol: Protocol, units: np.ndarray
) -> np.ndarray:
    """How many units have annotations that count, of shape (metrics, rows); see `_Part`."""
    names = [name for name, *_ in protocol.area_ranges]
    counted = np.zeros((len(names), math.prod(len(groups) for groups in slicing.axes.values())), dtype=np.int64)
    for piece in pieces:
        of_piece = _rows_of(piece.lists, slicing)
        row = np.repeat(np.arange(len(of_piece.bounds) - 1), np.diff(of_piece.bounds))
        rows = pl.DataFrame({"list": of_piece.list, "row": row}, schema={"list": pl.UInt32, "row": pl.Int64})
        unit = units[piece.image[piece.verdicts.annotations["image"].to_numpy()]]
        bits = piece.verdicts.annotations["counts"].to_numpy()
        with_unit = piece.verdicts.annotations.select("list").with_columns(unit=pl.Series(unit))
        for k in {line.area_range for line in lines}:
            number_of_range = names.index(k)
            pairs = with_unit.filter(pl.Series(has_bit(bits, number_of_range) & (unit >= 0))).unique().join(rows, on="list")
            of_row = pairs.group_by("row").agg(pl.col("unit").n_unique())
            counted[number_of_range, of_row["row"].to_numpy()] += of_row["unit"].to_numpy()
    return counted[[names.index(line.area_range) for line in lines]]
