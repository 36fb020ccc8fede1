"""The numbers of slices: verdicts are split by images; groups of detections and of objects are matched again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from apframe.evaluation.slices.slices import ObjectGroups, Slicing
from apframe.matching.competitors import Side, add_competitors
from apframe.matching.match import match
from apframe.matching.match_input import MatchInput
from apframe.matching.order import place_within
from apframe.matching.regroup import count_only, regroup, split_by_images
from apframe.matching.verdicts import Verdicts
from apframe.metrics.cells import Cells
from apframe.metrics.remainder import Remainder
from apframe.metrics.weights import Weights
from apframe.protocols.headline_values import images_of_lists, numbers, sum_values, values_of_lists
from apframe.protocols.headlines import headlines, support_lines, with_terms
from apframe.protocols.lookups import area_at
from apframe.tables.result_tables import SUPPORT
from apframe.threads import pool

if TYPE_CHECKING:
    from apframe.protocols.protocol import Protocol

_MOST_ROWS = 1 << 21  # of groups of objects that are put into lists at once


def measure(verdicts: Verdicts, rows: Callable[[], MatchInput], protocol: Protocol, slicing: Slicing) -> dict[str, np.ndarray]:
    """Compute the headline numbers and the support of every slice.

    Parameters
    ----------
    verdicts
        the verdicts of everything that is evaluated
    rows
        a function that returns the input of matching, which is matched again for groups of detections and of objects
    protocol
        the rules
    slicing
        the groups of images, detections, objects and categories

    Returns
    -------
    Arrays over these groups, by name.
    """
    if 0 in shape_of(slicing):  # from an empty table
        return finish({}, protocol, slicing)
    if not slicing.matches_again(verdicts.detections.height):
        sums = sum_lists(np.arange(verdicts.lists.height), verdicts, protocol=protocol, slicing=slicing)
        return finish(sums, protocol, slicing)
    work = _Work(rows(), verdicts, protocol, slicing)
    base = work.split(work.rows)
    parts = [sum_part(part, base.lists, protocol, slicing) for part in work.parts(base)]
    return finish({name: np.concatenate([part[name] for part in parts], axis=1) for name in parts[0]}, protocol, slicing)


def shape_of(slicing: Slicing) -> tuple[int, ...]:
    """Return the numbers of groups of images, detections, objects and categories."""
    return tuple(len(groups) for groups in slicing.axes.values())


def sum_lists(of: np.ndarray, verdicts: Verdicts, *, protocol: Protocol, slicing: Slicing) -> dict[str, np.ndarray]:
    """Sum over some lists for `finish`, which requires the sums of all lists. Only images and categories have groups.

    `of` are the numbers of the lists among all, which the groups of categories refer to.
    """
    images, lists = slicing.images, pl.DataFrame({"group": np.zeros_like(of), "category": of})
    if not images.is_whole(verdicts.images.height):
        verdicts, parts = split_by_images(verdicts, images.members.rename({"row": "image"}), len(images))
        lists = parts.with_columns(category=pl.Series(of).gather(parts["category"]))
    return sum_part(_SliceCells(Cells.of(verdicts), lists, 1), lists, protocol, slicing)


def finish(sums: Mapping[str, np.ndarray], protocol: Protocol, slicing: Slicing) -> dict[str, np.ndarray]:
    """Compute the headline numbers and the support from the sums of `sum_part`."""
    shape, lines = shape_of(slicing), [line for line in headlines(protocol) if not line.kind.table]
    if 0 in shape:
        empty = {line.metric: np.zeros(shape) for line in lines}
        return empty | {name: np.zeros(shape, dtype=np.int64) for name in SUPPORT}
    values = numbers(sums, lines, protocol)
    n_images = np.bincount(slicing.images.members["group"].to_numpy(), minlength=len(slicing.images))
    support = {name: sums[name].astype(np.int64) for name in ("n_annotations", "n_detections")}
    support["n_categories"] = sums["n_categories"].astype(np.int64)
    shown = {name: array.reshape(shape) for name, array in (values | support).items()}
    shown["n_images"] = np.broadcast_to(n_images[:, None, None, None], shape)
    return {name: shown[name] for name in (*values, *SUPPORT)}


@dataclass(frozen=True)
class _SliceCells:
    """Some groups of the objects: their cells, the `group` and `category` of the lists, and the number of groups."""

    cells: Cells
    lists: pl.DataFrame
    n_objects: int


@dataclass(frozen=True)
class _Work:
    """The data to slice, and the slices."""

    rows: MatchInput
    verdicts: Verdicts
    protocol: Protocol
    slicing: Slicing

    @property
    def _divides_detections(self) -> bool:
        return not self.slicing.detections.is_whole(self.rows.detections.height)

    def split(self, rows: MatchInput) -> MatchInput:
        """Make the lists of every group of images and of detections: group number `image group * n_detections_groups + ...`."""
        slicing, n_parts = self.slicing, len(self.slicing.detections)
        if slicing.images.is_whole(self.verdicts.images.height) and not self._divides_detections:
            return rows
        of_detections = rows.detections.lazy().select("image", "row").with_row_index("at")
        of_images = slicing.images.members.lazy().select(image="row", of_images="group")
        of_detections = of_detections.join(of_images, on="image")
        if self._divides_detections:
            of_detections = of_detections.join(slicing.detections.members.lazy().select("row", part="group"), on="row")
        else:
            of_detections = of_detections.with_columns(part=pl.lit(0, pl.UInt32))
        group = pl.col("of_images").cast(pl.Int64) * n_parts + pl.col("part")
        of_annotations = rows.annotations.lazy().select("image").with_row_index("at").join(of_images, on="image")
        of_annotations = of_annotations.join(pl.LazyFrame({"part": range(n_parts)}), how="cross")
        inside = pl.lit(True).alias("inside")
        parts = regroup(
            rows,
            of_detections.select("at", group.alias("group"), inside).collect(),
            of_annotations.select("at", group.alias("group"), inside).collect(),
            len(slicing.images) * n_parts,
        )
        parts = replace(parts, lists=parts.lists.with_columns(images=pl.col("group") // n_parts))
        if not self._divides_detections or self.rows.own_places:
            return parts
        # each detection has its own place within its group
        cell = parts.detections["list"].cast(pl.Int64) * self.verdicts.images.height + parts.detections["image"]
        return replace(parts, detections=parts.detections.with_columns(place=pl.Series(place_within(cell.to_numpy()))))

    def parts(self, base: MatchInput) -> Iterator[_SliceCells]:
        """Yield the cells of some groups of objects at a time."""
        objects = self.slicing.objects
        base = _restrict(base, objects)
        if not objects.keys:
            yield _SliceCells(self._judge(base), base.lists, 1)
            return
        sides = [
            self._side(table, base.pairs[name], objects.members(f"{name}s"))
            for table, name in ((base.detections, "detection"), (base.annotations, "annotation"))
        ]
        whole_lists: Cells | None = None
        if sides[0].members is None and not all(metric.reads_remainder for metric in self.protocol.all_metrics):
            every = base.detections.select(at=pl.int_range(pl.len(), dtype=pl.UInt32))
            groups = pl.DataFrame({"group": range(len(objects))}, schema={"group": pl.UInt32})
            sides[0] = replace(sides[0], members=every.join(groups, how="cross"))
        elif sides[0].members is None:  # all detections count in all groups
            bits = base.annotations.schema["counts"]
            nothing = replace(base, annotations=base.annotations.with_columns(counts=pl.lit(0, bits)))
            whole_lists = self._judge(nothing)
        for n, (detection_members, annotation_members) in add_competitors(sides, len(objects), _MOST_ROWS):
            positions = base.detections.select(position=pl.int_range(pl.len(), dtype=pl.Int64))
            part = regroup(
                replace(base, detections=base.detections.hstack(positions)), detection_members, annotation_members, n
            )
            of = part.lists["category"]  # the list of `base` of which each is a part
            lists = part.lists.select(
                group=base.lists["group"].gather(of) * n + pl.col("group"), category=base.lists["category"].gather(of)
            )
            remainder = None
            if whole_lists is not None:
                remainder = Remainder(whole_lists, part.detections["position"].to_numpy(), of.to_numpy())
            yield _SliceCells(self._judge(part, remainder), lists, n)

    def _judge(self, rows: MatchInput, remainder: Remainder | None = None) -> Cells:
        """Match rows."""
        verdicts = match(rows, replace(self.verdicts, lists=rows.lists))
        if "images" in rows.lists.columns:
            verdicts = replace(verdicts, members=self.slicing.images.members.rename({"row": "image"}))
        return Cells.of(verdicts, remainder=remainder)

    def _side(self, table: pl.DataFrame, paired: pl.Series, members: pl.DataFrame | None) -> Side:
        """Return detections or annotations as a side, with the members of each group, which are given by `row`."""
        is_paired = np.zeros(table.height, dtype=bool)
        is_paired[paired.to_numpy()] = True
        if members is not None:
            members = members.join(table.select("row").with_row_index("at"), on="row").select("at", "group")
        cell = table["list"].cast(pl.Int64) * self.verdicts.images.height + table["image"]
        return Side(cell, pl.Series(is_paired), members)


def sum_part(part: _SliceCells, base: pl.DataFrame, protocol: Protocol, slicing: Slicing) -> dict[str, np.ndarray]:
    """Sum over the lists of each slice: arrays over groups of images and detections, objects, categories.

    `base` has the `group` and `category` of the lists with all detections.

    Returns
    -------
    By name: the sums of the headline numbers; "n " and the name of one, the number of summed lists; n_categories, the number of
    lists that count; n_annotations and n_detections.
    """
    cells, n_groups = part.cells, len(slicing.images) * len(slicing.detections)
    lines = [line for line in with_terms(headlines(protocol), protocol) if not line.is_of_others]
    rows, once = slicing.rows_of(part.lists, n_groups * part.n_objects), Weights.once(cells.n_images)
    n_images = images_of_lists(cells, protocol, once)
    n_positives, n_detections, main = support = support_lines(protocol)

    def of_range(name: str) -> dict[str, np.ndarray]:
        own = [line for line in lines if line.area_range == name]
        counted = support if name == main.area_range else ()
        values = dict(values_of_lists(cells, protocol, [*own, *counted], once))
        sums = sum_values(((line, values[line]) for line in own if line in values), rows, n_images)
        if not counted:
            return sums
        sums["n_categories"] = rows.sums(np.isfinite(values[main]))
        sums["n_annotations"] = rows.sums(values[n_positives])
        if cells.remainder is None:
            return sums | {"n_detections": rows.sums(values[n_detections])}
        # groups without a list of their own in a category have the whole list there
        of_whole = cells.remainder.n_detections(area_at(protocol, name), len(cells.limits) - 1)[0][:, None]
        everywhere = slicing.rows_of(base, n_groups).sums(of_whole).reshape(n_groups, 1, -1)
        further = rows.sums(values[n_detections] - of_whole[cells.remainder.whole]).reshape(n_groups, part.n_objects, -1)
        return sums | {"n_detections": everywhere + further}

    shape = (n_groups, part.n_objects, len(slicing.categories))
    with pool() as threads:
        ranges = dict.fromkeys([main.area_range, *(line.area_range for line in lines)])
        return {name: value.reshape(shape) for each in threads.map(of_range, ranges) for name, value in each.items()}


def _restrict(rows: MatchInput, objects: ObjectGroups) -> MatchInput:
    """Restrict the rows: those outside all groups count in no range."""
    tables = {}
    for name, bits in (("detections", "inside"), ("annotations", "counts")):
        table = getattr(rows, name)
        if name in objects.within:
            table = count_only(table, bits, objects.within[name].gather(table["row"]))
        tables[name] = table
    return replace(rows, **tables)
