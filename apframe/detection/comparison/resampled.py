"""The headline numbers of evaluations in resamples of their images: the same draws for every model, metric and slice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from apframe.compare.resampling import Draws, block_size
from apframe.detection.comparison.image_weights import ImageWeights
from apframe.detection.slices.keys import Key
from apframe.detection.slices.slices import Slicing, tabulate, walk
from apframe.exceptions import LargeResultWarning, warn
from apframe.matching.regroup import split_by_images
from apframe.matching.verdicts import Verdicts, has_bit
from apframe.progress import with_bar
from apframe.ranking.weighted import BLOCK, Cell, WeightedRanking
from apframe.rule_sets.summary import Headline
from apframe.threads import map_lazily, pool

if TYPE_CHECKING:
    from apframe.detection.evaluation import Evaluation
    from apframe.rule_sets.protocol import Protocol

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
    """The rows that numbers are wanted for: `slicings` of the same `keys`, as `make_slicings` makes them.

    `categories` has category_id and name where each category is a row of its own.
    """

    keys: Sequence[Key]
    slicings: Sequence[Slicing]
    categories: pl.DataFrame | None = None


def resample(
    evaluations: Sequence[Evaluation],
    lines: Sequence[Headline],
    slices: Slices,
    draws: Draws,
    weights: ImageWeights,
) -> Resampled:
    """The headline numbers of evaluations of the same images in every slice and resample.

    Warns
    -----
    LargeResultWarning
        the numbers take more than 1 GB
    """
    jobs, offset = [], 0
    n_with, tables = [], []
    for slicing in slices.slicings:
        n_groups = len(slicing.images) * len(slicing.detections) * len(slicing.objects)
        shape = (len(slicing.images), len(slicing.detections), len(slicing.objects), len(slicing.categories))
        n_rows = n_groups * len(slicing.categories)
        tables.append((slicing, _support(slicing, shape, offset, draws)))
        for number, evaluation in enumerate(evaluations):
            pieces = list(_pieces(evaluation, slicing, slices.keys))
            jobs += [_Job(number, offset, piece, slicing, lines, evaluation.protocol) for piece in pieces]
            if number == 0:
                n_with.append(_units_with_positives(pieces, slicing, lines, evaluation.protocol, draws, n_rows))
        offset += n_rows
    shape_of_all = (len(evaluations), len(lines), offset)
    size = 8 * int(np.prod(shape_of_all)) * draws.n_resamples
    if size > _LARGE:
        warn(f"the resamples of {offset:,} rows take {size / 1e9:.1f} GB of memory", LargeResultWarning)
    found = np.full((*shape_of_all, draws.n_resamples), np.nan)
    estimates = np.full((*shape_of_all, 1), np.nan)
    once = weights.apply(np.ones((len(draws.unit), 1)))
    for job in jobs:
        job.fill(once, estimates)

    size = block_size(draws.n_units, BLOCK)

    def fill(numbered: tuple[int, np.ndarray]) -> None:
        k, counts = numbered
        weighted = weights.apply(counts)
        for job in jobs:
            job.fill(weighted, found[..., k * size : (k + 1) * size])

    with pool() as others:
        for _ in with_bar(map_lazily(others, fill, enumerate(draws.blocks(size))), "resampling", -(-draws.n_resamples // size)):
            pass
    table = tabulate(tables, slices.keys, slices.categories).drop("rolled_up")
    order = table["at"].to_numpy()
    return Resampled(
        table.drop("at", "n_units"),
        estimates[:, :, order, 0],
        found[:, :, order],
        table["n_units"].to_numpy(),
        np.concatenate(n_with, axis=1)[:, order],
    )


@dataclass(frozen=True)
class _Piece:
    """Verdicts of some slices: `lists` has the group and the category of each list, `image` the numbers of the images."""

    verdicts: Verdicts
    lists: pl.DataFrame
    image: np.ndarray


def _pieces(self: Evaluation, slicing: Slicing, keys: Sequence[Key]) -> Iterator[_Piece]:
    """The verdicts of all groups of images, detections and objects: together, unless some of them are matched again."""
    verdicts = _verdicts(self)
    n_images, ids = verdicts.images.height, verdicts.images["image_id"]
    every = pl.DataFrame({"group": 0, "category": range(verdicts.lists.height)})
    if not slicing.matches_again(self.detections.height):
        if not slicing.images.is_whole(n_images):
            members = slicing.images.members.rename({"row": "image"})
            verdicts, every = split_by_images(verdicts, members, len(slicing.images))
        yield _Piece(verdicts, every, np.arange(n_images))
        return
    heights = {name: table.height for name, table in self._inputs.tables().items()}
    for group, (_, masks) in enumerate(walk([slicing.of_all_categories(heights["categories"])], keys, heights)):
        masks.pop("categories")
        part = _verdicts(self._subset(masks))
        image = ids.to_frame().with_row_index("n").join(part.images, on="image_id", maintain_order="right")["n"].to_numpy()
        yield _Piece(part, every.with_columns(group=pl.lit(group)), image)


def _verdicts(self: Evaluation) -> Verdicts:
    return self._pipeline.verdicts


def _targets(piece: _Piece, slicing: Slicing, offset: int) -> tuple[np.ndarray, np.ndarray]:
    """Which list counts in which row, as numbers of both, by row: a list counts in every group that its category is in."""
    members = slicing.categories.members.select(pl.col("row").cast(pl.Int64).alias("category"), of="group")
    met = piece.lists.select(pl.col("category", "group").cast(pl.Int64)).with_row_index("list").join(members, on="category")
    row = pl.col("group") * len(slicing.categories) + pl.col("of") + offset
    met = met.select("list", row=row).sort("row", "list")
    return met["list"].to_numpy(), met["row"].to_numpy()


class _Job:
    """One piece of one evaluation, made ready to be ranked with weights."""

    def __init__(
        self, number: int, offset: int, piece: _Piece, slicing: Slicing, lines: Sequence[Headline], protocol: Protocol
    ) -> None:
        self._number, self._image = number, piece.image
        self._list, row = _targets(piece, slicing, offset)
        self._starts = np.flatnonzero(np.diff(row, prepend=-1))
        self._rows = row[self._starts]
        cells = {at: cell for at, line in enumerate(lines) if (cell := cell_of(line, protocol)) is not None}
        self._lines = list(cells)
        self._ranking = WeightedRanking(piece.verdicts, protocol.definition, protocol.addend, list(cells.values()))

    def fill(self, weights: np.ndarray, found: np.ndarray) -> None:
        """Put the means over the lists of each row where they belong; `weights` are of shape (images, resamples)."""
        if not len(self._rows):
            return
        for at, values in self._ranking.values(weights.take(self._image, axis=0)):
            own = values.take(self._list, axis=0)
            has_value = np.isfinite(own)
            own[~has_value] = 0
            n = np.add.reduceat(has_value, self._starts, axis=0, dtype=np.float64)
            with np.errstate(invalid="ignore"):
                found[self._number, self._lines[at], self._rows] = np.add.reduceat(own, self._starts, axis=0) / n


def cell_of(line: Headline, protocol: Protocol) -> Cell | None:
    """What a headline number is the mean of; None if its threshold is not evaluated."""
    thresholds = tuple(range(len(protocol.iou_thresholds)))
    if line.iou_threshold is not None:
        number = protocol.threshold_number(line.iou_threshold)
        if number is None:
            return None
        thresholds = (number,)
    names = [name for name, *_ in protocol.area_ranges]
    return Cell(line.column, thresholds, names.index(line.area_range), protocol.max_detections.index(line.max_detections))


def _support(slicing: Slicing, shape: tuple[int, ...], offset: int, draws: Draws) -> dict[str, np.ndarray]:
    """The number of each row, and how many units its images are of."""
    members = slicing.images.members.with_columns(unit=pl.Series(draws.unit)[slicing.images.members["row"]])
    units = members.group_by("group").agg(pl.col("unit").n_unique())
    n_units = np.zeros(shape, dtype=np.int64)
    n_units[units["group"].to_numpy()] = units["unit"].to_numpy()[:, None, None, None]
    return {"at": np.arange(offset, offset + n_units.size).reshape(shape), "n_units": n_units}


def _units_with_positives(
    pieces: Sequence[_Piece],
    slicing: Slicing,
    lines: Sequence[Headline],
    protocol: Protocol,
    draws: Draws,
    n_rows: int,
) -> np.ndarray:
    """How many units have annotations that count, of shape (metrics, rows)."""
    names = [name for name, *_ in protocol.area_ranges]
    counted = np.zeros((len(names), n_rows), dtype=np.int64)
    for piece in pieces:
        number, row = _targets(piece, slicing, 0)
        rows = pl.DataFrame({"list": number, "row": row}, schema={"list": pl.UInt32, "row": pl.Int64})
        unit = draws.unit[piece.image[piece.verdicts.annotations["image"].to_numpy()]]
        bits = piece.verdicts.annotations["counts"].to_numpy()
        with_unit = piece.verdicts.annotations.select("list").with_columns(unit=pl.Series(unit))
        for k in {line.area_range for line in lines}:
            number_of_range = names.index(k)
            pairs = with_unit.filter(pl.Series(has_bit(bits, number_of_range))).unique().join(rows, on="list")
            units = pairs.group_by("row").agg(pl.col("unit").n_unique())
            counted[number_of_range, units["row"].to_numpy()] += units["unit"].to_numpy()
    return counted[[names.index(line.area_range) for line in lines]]
