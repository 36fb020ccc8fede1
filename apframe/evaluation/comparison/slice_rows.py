"""One evaluation in the rows of slices: the images, categories and lists of each row."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from apframe.compare.resampling import Units
from apframe.compare.standard_errors import LEAST_UNITS
from apframe.evaluation.slices.keys import Key, heights_of, make_keys, names_of_categories, refuse_keys
from apframe.evaluation.slices.slices import Slicing, make_slicings, tabulate, walk
from apframe.matching.regroup import split_by_images
from apframe.matching.verdicts import Verdicts, has_bit
from apframe.metrics.cells import Cells
from apframe.metrics.list_rows import ListRows
from apframe.metrics.weights import Weights

if TYPE_CHECKING:
    from apframe.evaluation.evaluation import Evaluation
    from apframe.evaluation.pipeline import Pipeline
    from apframe.evaluation.slices.keys import SliceKey
    from apframe.protocols.protocol import Protocol
    from apframe.tables.conditions import Masks, Tables

Place = tuple[np.ndarray, np.ndarray | slice]
_AT = "number of the row"  # a column; no key can have this name


@dataclass(frozen=True)
class Slices:
    """The rows of requested numbers: by levels, `slicings` of the same `keys`, from `make_slicings`.

    If each category is a row, a level also has category_id and name of the categories; otherwise None. The slicings of the
    levels only differ in their categories.
    """

    keys: Sequence[Key]
    levels: Sequence[tuple[Sequence[Slicing], pl.DataFrame | None]]

    @property
    def by_level(self) -> Iterator[tuple[Slicing, ...]]:
        """The slicings of each level that only differ in their categories."""
        return zip(*(slicings for slicings, _ in self.levels), strict=True)


@dataclass(frozen=True)
class Block:
    """Cells of some lists, the numbers of their images among all, and by level the rows in which the lists count.

    Each level has the rows of the table, and the lists of each of these.
    """

    cells: Cells
    image: np.ndarray
    levels: Sequence[tuple[np.ndarray, ListRows]]

    @property
    def number_and_image(self) -> tuple[np.ndarray, np.ndarray]:
        """The list and the image, as a number among all, of each detection and then of each annotation."""
        tables = self.cells.detections, self.cells.annotations
        number, image = (np.concatenate([columns[name] for columns in tables]) for name in ("list", "image"))
        return number, self.image[image]

    def weights(self, of_images: np.ndarray) -> Weights:
        """Select the weights of the cells from weights of all images, of shape (images, weightings); `once` if all are 1."""
        if of_images.shape[1] == 1 and (of_images == 1).all():
            return Weights.once(self.cells.n_images)
        return Weights.of(of_images.take(self.image, axis=0))


@dataclass(frozen=True, eq=False)
class RowSums:
    """Sums over the lists of some rows of the table, for one evaluation; `slot` is the position of each row, or -1.

    `totals` have the shape (rows, 1), `of_images` the shape (rows, images).
    """

    rows: np.ndarray
    slot: np.ndarray
    n_images: int
    totals: dict[str, np.ndarray] = field(default_factory=dict)
    of_images: dict[str, np.ndarray] = field(default_factory=dict)

    @classmethod
    def of(cls, rows: np.ndarray, n_rows: int, n_images: int) -> RowSums:
        """Make empty sums for these rows of a table with `n_rows` rows."""
        slot = np.full(n_rows, -1)
        slot[rows] = np.arange(len(rows))
        return cls(rows, slot, n_images)

    def add(self, block: Block, of_lists: Mapping[str, np.ndarray]) -> None:
        """Add the sums of values of lists, of shape (lists, 1), to the rows of each level."""
        for row, of in block.levels:
            kept = np.flatnonzero(self.slot[row] >= 0)
            for name, values in of_lists.items():
                total = self.totals.setdefault(name, np.zeros((len(self.rows), 1)))
                total[self.slot[row[kept]]] += of.sums(values)[kept]

    def places(self, block: Block) -> list[Place]:
        """Return where detections and then annotations count: positions among rows and images, and flags of those with one."""
        number, image = block.number_and_image
        places = []
        for row, of in block.levels:
            for row_of_list in of.rows_of_lists(block.cells.n_lists):
                slot = np.where(row_of_list >= 0, self.slot[row[row_of_list]], -1)[number]
                kept: np.ndarray | slice = slice(None) if (slot >= 0).all() else np.flatnonzero(slot >= 0)
                places.append((slot[kept] * self.n_images + image[kept], kept))
        return places

    def add_rows(self, name: str, places: Sequence[Place], detections: np.ndarray, annotations: np.ndarray) -> None:
        """Add values of detections and annotations, by row and image."""
        values, shape = np.concatenate([detections, annotations]), (len(self.rows), self.n_images)
        for place, kept in places:
            sums = np.bincount(place, values[kept], minlength=shape[0] * shape[1]).reshape(shape).astype(np.float64, copy=False)
            self.of_images[name] = self.of_images[name] + sums if name in self.of_images else sums

    def count(self, block: Block, places: Sequence[Place], name: str, k: int, unit: np.ndarray, n_units: int) -> None:
        """Count images with annotations that count, lists with such images, and lists with such images in few units.

        `name` and `k` are those of an area range, and `unit` is the number of each image's unit, or -1 without weight.
        """
        rows, nothing = block.cells.annotations, np.zeros(len(block.cells.detections["list"]))
        of = unit[block.image][rows["image"]]
        counts = has_bit(rows["counts"], k) & (of >= 0)
        pairs = np.unique(rows["list"][counts].astype(np.int64) * n_units + of[counts])
        n = np.bincount(pairs // max(1, n_units), minlength=block.cells.n_lists)[:, None]
        self.add_rows(f"with {name}", places, nothing, counts)
        self.add(block, {f"lists {name}": n > 0, f"rare {name}": (n > 0) & (n < LEAST_UNITS)})

    def have_positives(self, name: str, units: Units) -> np.ndarray:
        """True for units with annotations that count in the area range with this name, of shape (rows, units)."""
        flags: np.ndarray = units.sums(self.of_images[f"with {name}"]) > 0
        return flags


class SlicedEvaluation:
    """One evaluation, and the rows of its slices.

    Attributes
    ----------
    table
        the keys of slices, and category_id and name if each category is a row
    row
        the position of each row of the table in the common table of several evaluations, see `align`
    """

    def __init__(self, evaluation: Evaluation, slices: Slices) -> None:
        self._evaluation, self._slices = evaluation, slices
        parts: list[list[tuple[Slicing, dict[str, np.ndarray]]]] = [[] for _ in slices.levels]
        self._offsets: list[list[int]] = []  # of the rows of each slicing among all rows
        n_rows = 0
        for of_levels in slices.by_level:
            self._offsets.append([])
            for tables, slicing in zip(parts, of_levels, strict=True):
                shape = tuple(len(groups) for groups in slicing.axes.values())
                self._offsets[-1].append(n_rows)
                tables.append((slicing, {_AT: np.arange(n_rows, n_rows + math.prod(shape)).reshape(shape)}))
                n_rows += math.prod(shape)
        table = pl.concat(
            [tabulate(own, slices.keys, of) for own, (_, of) in zip(parts, slices.levels, strict=True)], how="diagonal"
        ).drop("rolled_up")
        if len(slices.levels) > 1:  # the columns of the categories come after the keys
            names = [key.name for key in slices.keys]
            table = table.select(*names, "category_id", "name", pl.exclude(*names, "category_id", "name"))
        self._order = table[_AT].to_numpy()
        self.table, self.row = table.drop(_AT), np.arange(n_rows)

    @property
    def _slicings(self) -> Iterator[tuple[int, Slicing]]:
        """Each slicing of each level, with the number of its first row."""
        for offsets, of_levels in zip(self._offsets, self._slices.by_level, strict=True):
            yield from zip(offsets, of_levels, strict=True)

    def _in_table(self, values: np.ndarray) -> np.ndarray:
        """Return values of the rows of all slicings, one after the other, in the order of the table."""
        return values[self._order]

    @property
    def matches_again(self) -> bool:
        """True if slices are groups of detections or objects."""
        n_matched = pipeline_of(self._evaluation).source.heights["detections"]
        return any(slicing.matches_again(n_matched) for _, slicing in self._slicings)

    @property
    def n_lists(self) -> int:
        """The number of lists of the evaluation."""
        return pipeline_of(self._evaluation).outline.lists.height

    @property
    def list_sizes(self) -> np.ndarray:
        """The number of detections of each list that are not in memory yet."""
        return pipeline_of(self._evaluation).source.list_sizes

    def categories(self) -> np.ndarray:
        """Return the first and the last category of each row, of shape (rows, 2)."""
        ranges = []
        for _, slicing in self._slicings:
            members = slicing.categories.members.group_by("group").agg(first=pl.min("row"), last=pl.max("row")).sort("group")
            ranges.append(np.tile(members.select("first", "last").to_numpy(), (_n_rows_of(slicing, "categories"), 1)))
        return self._in_table(np.concatenate(ranges))

    def n_units(self, units: Units) -> np.ndarray:
        """Number of units with images in each row and in each stratum, of shape (rows, strata)."""
        n_units = []
        strata = np.zeros(units.n_units, dtype=np.int64) if units.stratum is None else units.stratum
        for _, slicing in self._slicings:
            image, group = (slicing.images.members[name].to_numpy().astype(np.int64) for name in ("row", "group"))
            unit = units.unit[image]
            pairs = np.unique((group * (units.n_units + 1) + unit)[unit >= 0])
            of, own = pairs // (units.n_units + 1), pairs % (units.n_units + 1)
            counts = np.bincount(of * units.n_strata + strata[own], minlength=len(slicing.images) * units.n_strata)
            n_units.append(np.repeat(counts.reshape(-1, units.n_strata), _n_rows_of(slicing, "images"), axis=0))
        return self._in_table(np.concatenate(n_units))

    @property
    def protocol(self) -> Protocol:
        """The rules of the evaluation."""
        return self._evaluation.protocol

    def has_images(self, rows: np.ndarray) -> np.ndarray:
        """True for images of some rows of the table, of shape (rows, images)."""
        n_images = pipeline_of(self._evaluation).outline.images.height
        groups: list[np.ndarray] = []
        flags: list[np.ndarray] = []
        for _, slicing in self._slicings:
            members = slicing.images.members
            own = np.zeros((len(slicing.images), n_images), dtype=bool)
            own[members["group"].to_numpy(), members["row"].to_numpy()] = True
            groups.append(np.repeat(np.arange(len(own)), _n_rows_of(slicing, "images")) + sum(len(each) for each in flags))
            flags.append(own)
        of_rows: np.ndarray = np.concatenate(flags)[self._in_table(np.concatenate(groups))[rows]]
        return of_rows

    def blocks(self, begin: int = 0, end: int | None = None) -> Iterator[Block]:
        """Yield the cells of the lists with numbers begin .. end - 1, or of all, for each group of detections and objects."""
        row = np.empty_like(self._order)  # in the table
        row[self._order] = self.row
        for offsets, of_levels in zip(self._offsets, self._slices.by_level, strict=True):
            for cells, lists, image in self._pieces(of_levels[0], begin, end):
                levels = []
                for offset, slicing in zip(offsets, of_levels, strict=True):
                    *groups, _ = slicing.axes.values()
                    of = slicing.rows_of(lists, math.prod(map(len, groups)))
                    levels.append((row[offset : offset + len(of.bounds) - 1], of))
                yield Block(cells, image, levels)

    def _pieces(self, slicing: Slicing, begin: int, end: int | None) -> Iterator[tuple[Cells, pl.DataFrame, np.ndarray]]:
        """Yield cells, the group and the category of their lists, and the numbers of their images."""
        pipeline: Pipeline = pipeline_of(self._evaluation)
        images = pipeline.outline.images
        end = pipeline.outline.lists.height if end is None else end
        every = pl.DataFrame({"group": 0, "category": range(begin, end)})
        if not slicing.matches_again(pipeline.source.heights["detections"]):
            cells, lists = pipeline.cells_of(begin, end), every
            if not slicing.images.is_whole(images.height):
                members = slicing.images.members.rename({"row": "image"})
                verdicts = pipeline.source.verdicts((begin, end))
                parts, lists = split_by_images(verdicts, members, len(slicing.images))
                cells, lists = Cells.of(parts), lists.with_columns(pl.col("category") + begin)
            yield cells, lists, np.arange(images.height)
            return
        heights = pipeline.source.heights
        for group, (_, masks) in enumerate(walk([slicing.of_all_categories(heights["categories"])], [], heights)):
            masks.pop("categories")
            part = pipeline_of(_subset_of(self._evaluation, masks))
            yield part.cells, every.with_columns(group=pl.lit(group)), numbers_of_images(images, part.outline)


def _n_rows_of(slicing: Slicing, axis: str) -> int:
    """Number of rows of a slicing that contain each group of one axis."""
    return math.prod(len(groups) for name, groups in slicing.axes.items() if name != axis)


def pipeline_of(self: Evaluation) -> Pipeline:
    """Return the pipeline of an evaluation."""
    return self._pipeline


def tables_of(self: Evaluation) -> Tables:
    """Return the tables of an evaluation."""
    return self._source.tables()


def _subset_of(self: Evaluation, masks: Masks) -> Evaluation:
    return self._subset(masks)


def make_slices(self: Evaluation, by: Sequence[SliceKey], level: str, column_names: Sequence[str]) -> Slices:
    """Make the slices by some keys, which cannot have the names in `column_names`."""
    keys = make_keys(by, tables_of(self))
    own = {"metric", *column_names} | ({"category_id", "name"} if level != "summary" else set())
    refuse_keys(self, keys, own)
    heights = heights_of(self)
    levels: list[tuple[Sequence[Slicing], pl.DataFrame | None]] = []
    if level != "category":
        levels.append((make_slicings(keys, heights), None))
    if level != "summary":
        levels.append((make_slicings(keys, heights, each_category=True), names_of_categories(self)))
    return Slices(keys, levels)


def numbers_of_images(images: pl.DataFrame, part: Verdicts) -> np.ndarray:
    """Return the numbers of a part's images in the table of all images."""
    numbered = images.with_row_index("n").join(part.images, on="image_id", maintain_order="right")
    return numbered["n"].to_numpy().astype(np.int64)


def align(parts: Sequence[SlicedEvaluation]) -> pl.DataFrame:
    """Join the rows of all parts, and set `row` in each: detections of one may have values that others lack."""
    table = parts[0].table
    if any(not part.table.equals(table) for part in parts[1:]):
        table = pl.concat([part.table for part in parts], how="vertical_relaxed").unique(maintain_order=True)
        numbered = table.with_row_index("row")
        for part in parts:
            own = part.table.cast(table.schema).join(numbered, on=table.columns, nulls_equal=True, maintain_order="left")
            part.row = own["row"].to_numpy().astype(np.int64)
    return table
