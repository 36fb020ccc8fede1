"""The numbers of slices: verdicts are split by images; for groups of detections and of objects, the pairs are matched again."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from apframe.detection.pairing import matching_rules
from apframe.detection.slices.slices import ObjectGroups, Slicing
from apframe.matching.competitors import Side, add_competitors
from apframe.matching.judge import judge
from apframe.matching.order import place_within
from apframe.matching.regroup import Rows, count_only, regroup, with_rows
from apframe.matching.verdicts import Verdicts
from apframe.ranking.metrics import Cells, compute_cells
from apframe.ranking.ranking import Ranking, Rest, rank
from apframe.rule_sets.summary import Headline, headlines
from apframe.schema import SUPPORT
from apframe.threads import pool

if TYPE_CHECKING:
    from apframe.rule_sets.protocol import Protocol

_MOST_ROWS = 1 << 21  # of groups of objects that are put into lists together


def measure(rows: Rows, verdicts: Verdicts, protocol: Protocol, slicing: Slicing) -> dict[str, np.ndarray]:
    """The headline numbers and the support of every slice.

    Parameters
    ----------
    rows, verdicts
        of everything that is evaluated
    protocol
        the rules
    slicing
        the groups of images, detections, objects and categories

    Returns
    -------
    By name, arrays over these groups.
    """
    metrics = [line.metric for line in headlines(protocol)]
    shape = (len(slicing.images), len(slicing.detections), len(slicing.objects), len(slicing.categories))
    if 0 in shape:  # of a table without rows
        empty = {name: np.zeros(shape) for name in metrics}
        return empty | {name: np.zeros(shape, dtype=np.int64) for name in SUPPORT}
    work = _Work(rows, verdicts, protocol, slicing)
    base = work.split(
        rows if work.matches_again else replace(rows, links=verdicts.hits.with_columns(of=pl.int_range(pl.len())))
    )
    parts = [work.measure(part, base.lists) for part in work.parts(base)]
    joined = {name: np.concatenate([part[name] for part in parts], axis=1) for name in parts[0]}
    values = {name: array.reshape(shape) for name, array in joined.items()}
    n_images = np.bincount(slicing.images.members["group"].to_numpy(), minlength=len(slicing.images))
    values["n_images"] = np.broadcast_to(n_images[:, None, None, None], shape)
    return {name: values[name] for name in (*metrics, *SUPPORT)}


@dataclass(frozen=True)
class _Part:
    """Some groups of the objects: their ranking, the `group` and `category` of its lists, and the number of the groups."""

    ranking: Ranking
    lists: pl.DataFrame
    n_objects: int


@dataclass(frozen=True)
class _Work:
    """The data to slice, and the slices."""

    rows: Rows
    verdicts: Verdicts
    protocol: Protocol
    slicing: Slicing

    @property
    def matches_again(self) -> bool:
        """Whether there are groups of detections or objects: groups of images alone leave all matches as they are."""
        return self.slicing.matches_again(self.rows.detections.height)

    @property
    def _divides_detections(self) -> bool:
        return not self.slicing.detections.is_whole(self.rows.detections.height)

    def split(self, rows: Rows) -> Rows:
        """The lists of every group of images and of detections: group number `image group * n_detections_groups + ...`."""
        slicing, n_parts = self.slicing, len(self.slicing.detections)
        if slicing.images.is_whole(self.verdicts.images.height) and not self._divides_detections:
            return rows
        found = rows.detections.lazy().select("image", "row").with_row_index("at")
        of_images = slicing.images.members.lazy().select(image="row", of_images="group")
        found = found.join(of_images, on="image")
        if self._divides_detections:
            found = found.join(slicing.detections.members.lazy().select("row", part="group"), on="row")
        else:
            found = found.with_columns(part=pl.lit(0, pl.UInt32))
        group = pl.col("of_images").cast(pl.Int64) * n_parts + pl.col("part")
        expected = rows.annotations.lazy().select("image").with_row_index("at").join(of_images, on="image")
        expected = expected.join(pl.LazyFrame({"part": range(n_parts)}), how="cross")
        inside = pl.lit(True).alias("inside")
        parts = regroup(
            rows,
            found.select("at", group.alias("group"), inside).collect(),
            expected.select("at", group.alias("group"), inside).collect(),
            len(slicing.images) * n_parts,
        )
        if not self._divides_detections:
            return parts
        # each detection has its own place among those of its group
        cell = parts.detections["list"].cast(pl.Int64) * self.verdicts.images.height + parts.detections["image"]
        return replace(parts, detections=parts.detections.with_columns(place=pl.Series(place_within(cell.to_numpy()))))

    def parts(self, base: Rows) -> Iterator[_Part]:
        """The rankings of some groups of objects at a time."""
        objects = self.slicing.objects
        base = _restrict(base, objects)
        if not objects.keys:
            yield _Part(self._rank(base), base.lists, 1)
            return
        sides = [
            self._side(table, base.links[name], objects.members(f"{name}s"))
            for table, name in ((base.detections, "detection"), (base.annotations, "annotation"))
        ]
        whole = None
        if sides[0].members is None:  # all detections count in all groups
            bits = base.annotations.schema["counts"]
            nothing = replace(base, annotations=base.annotations.with_columns(counts=pl.lit(0, bits)))
            whole = self._rank(nothing)
        for n, (found, expected) in add_competitors(sides, len(objects), _MOST_ROWS):
            positions = base.detections.select(position=pl.int_range(pl.len(), dtype=pl.Int64))
            part = regroup(replace(base, detections=base.detections.hstack(positions)), found, expected, n)
            of = part.lists["category"]  # the list of `base` that each is a part of
            lists = part.lists.select(
                group=base.lists["group"].gather(of) * n + pl.col("group"), category=base.lists["category"].gather(of)
            )
            rest = None if whole is None else Rest(whole, part.detections["position"].to_numpy(), of.to_numpy())
            yield _Part(self._rank(part, rest), lists, n)

    def _rank(self, rows: Rows, rest: Rest | None = None) -> Ranking:
        """Rank rows, of which the links are pairs, or hits if nothing is matched again."""
        if self.matches_again:
            verdicts = judge(rows, matching_rules(self.protocol), self.verdicts.images, rows.lists)
        else:
            verdicts = with_rows(self.verdicts, rows)
        return rank(verdicts, self.protocol.definition, self.protocol.addend, rest)

    def _side(self, table: pl.DataFrame, paired: pl.Series, members: pl.DataFrame | None) -> Side:
        """The detections or the annotations as a side, with the members of each group, which are given by `row`."""
        is_paired = np.zeros(table.height, dtype=bool)
        is_paired[paired.to_numpy()] = True
        if members is not None:
            members = members.join(table.select("row").with_row_index("at"), on="row").select("at", "group")
        cell = table["list"].cast(pl.Int64) * self.verdicts.images.height + table["image"]
        return Side(cell, pl.Series(is_paired), members)

    def measure(self, part: _Part, base: pl.DataFrame) -> dict[str, np.ndarray]:
        """The headline numbers and counts of some groups of objects: arrays over images and detections, objects, categories.

        `base` has the `group` and `category` of the lists that all detections are in.
        """
        ranking, protocol = part.ranking, self.protocol
        names, last = [name for name, *_ in protocol.area_ranges], len(protocol.max_detections) - 1
        lines = headlines(protocol)
        sums = self._summing(part.lists, part.n_objects)

        def of_range(k: int) -> dict[str, np.ndarray]:
            own = [line for line in lines if line.area_range == names[k]]
            cells = compute_cells(ranking, [k], [protocol.max_detections.index(line.max_detections) for line in own], ())
            positives = ranking.positives[:, k]
            n_categories = sums(positives > 0)
            with np.errstate(invalid="ignore", divide="ignore"):
                values = {line.metric: _values(line, cells, positives, protocol) for line in own}
                means = {metric: sums(np.where(positives > 0, value, 0)) / n_categories for metric, value in values.items()}
            if names[k] != protocol.whole:
                return means
            n_detections = cells[last].n_detections[0, 0]
            if ranking.rest is None:
                counted = sums(n_detections)
            else:  # groups that have no list of their own in a category have the whole one there
                of_whole = ranking.rest.n_detections(k, last)[0]
                counted = self._summing(base, 1)(of_whole) + sums(n_detections - of_whole[ranking.rest.whole])
            counts = {"n_annotations": sums(positives), "n_detections": counted, "n_categories": n_categories}
            return means | {name: count.astype(np.int64) for name, count in counts.items()}

        with pool() as threads:
            return {name: value for each in threads.map(of_range, range(len(names))) for name, value in each.items()}

    def _summing(self, lists: pl.DataFrame, n_objects: int) -> Callable[[np.ndarray], np.ndarray]:
        """What sums values of the lists: each list counts in every group of categories that its category is in."""
        slicing = self.slicing
        shape = (len(slicing.images) * len(slicing.detections), n_objects, len(slicing.categories))
        members = slicing.categories.members.with_columns(pl.col("row").cast(pl.Int64))
        summed = lists.select(row=pl.col("category").cast(pl.Int64)).with_row_index("list")
        summed = summed.join(members, on="row", maintain_order="left")
        number = summed["list"].to_numpy()
        target = lists["group"].to_numpy()[number] * len(slicing.categories) + summed["group"].to_numpy()

        def sums(per_list: np.ndarray) -> np.ndarray:
            return np.bincount(target, weights=per_list[number], minlength=math.prod(shape)).reshape(shape)

        return sums


def _restrict(rows: Rows, objects: ObjectGroups) -> Rows:
    """The rows, where those outside of which all groups end count in no range."""
    tables = {}
    for name, bits in (("detections", "inside"), ("annotations", "counts")):
        table = getattr(rows, name)
        if name in objects.within:
            table = count_only(table, bits, objects.within[name].gather(table["row"]))
        tables[name] = table
    return replace(rows, **tables)


def _values(line: Headline, cells: Mapping[int, Cells], positives: np.ndarray, protocol: Protocol) -> np.ndarray:
    """One headline number of every list."""
    cell = cells[protocol.max_detections.index(line.max_detections)]
    values = cell.hits / positives if line.column == "recall" else cell.ap
    assert values is not None
    values = values[:, 0]
    if line.iou_threshold is None:
        return values.mean(axis=0)
    number = protocol.threshold_number(line.iou_threshold)
    return np.full(values.shape[1], np.nan) if number is None else values[number]
