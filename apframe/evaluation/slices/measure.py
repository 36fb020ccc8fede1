"""The numbers of slices: verdicts are split by images; for groups of detections and of objects, the pairs are matched again."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from apframe.evaluation.pairing import matching_rules
from apframe.evaluation.slices.slices import ObjectGroups, Slicing
from apframe.matching.competitors import Side, add_competitors
from apframe.matching.judge import judge
from apframe.matching.order import place_within
from apframe.matching.regroup import Rows, count_only, regroup, split_by_images
from apframe.matching.verdicts import Verdicts
from apframe.metrics.definition import WeightedSum
from apframe.metrics.metrics import Cells, compute_cells
from apframe.metrics.ranking import Ranking, Rest
from apframe.metrics.rules import AnyRanking, rank_by
from apframe.metrics.summed_ranking import SummedRanking
from apframe.protocols.summary import Headline, composed, headlines, with_terms
from apframe.tables.tables import SUPPORT
from apframe.threads import pool

if TYPE_CHECKING:
    from apframe.protocols.protocol import Protocol

_MOST_ROWS = 1 << 21  # of groups of objects that are put into lists together


def measure(verdicts: Verdicts, rows: Callable[[], Rows], protocol: Protocol, slicing: Slicing) -> dict[str, np.ndarray]:
    """The headline numbers and the support of every slice.

    Parameters
    ----------
    verdicts
        of everything that is evaluated
    rows
        gives what was matched, which is matched again for groups of detections and of objects
    protocol
        the rules
    slicing
        the groups of images, detections, objects and categories

    Returns
    -------
    By name, arrays over these groups.
    """
    if 0 in shape_of(slicing):  # of a table without rows
        return finish({}, protocol, slicing)
    if not slicing.matches_again(verdicts.detections.height):
        sums = sum_lists(np.arange(verdicts.lists.height), verdicts, protocol=protocol, slicing=slicing)
        return finish(sums, protocol, slicing)
    work = _Work(rows(), verdicts, protocol, slicing)
    base = work.split(work.rows)
    parts = [sum_part(part, base.lists, protocol, slicing) for part in work.parts(base)]
    return finish({name: np.concatenate([part[name] for part in parts], axis=1) for name in parts[0]}, protocol, slicing)


def shape_of(slicing: Slicing) -> tuple[int, ...]:
    """How many groups of images, detections, objects and categories there are."""
    return tuple(len(groups) for groups in slicing.axes.values())


def sum_lists(numbers: np.ndarray, verdicts: Verdicts, *, protocol: Protocol, slicing: Slicing) -> dict[str, np.ndarray]:
    """What `finish` takes, of some lists: those of others are added. There are groups of images and categories alone.

    `numbers` are those of the lists among all, by which the groups of categories name them.
    """
    images, lists = slicing.images, pl.DataFrame({"group": np.zeros_like(numbers), "category": numbers})
    if not images.is_whole(verdicts.images.height):
        verdicts, parts = split_by_images(
            verdicts, images.members.rename({"row": "image"}), len(images), keeps_empty=protocol.classes.counts_absent
        )
        lists = parts.with_columns(category=pl.Series(numbers).gather(parts["category"]))
    return sum_part(_Part(rank_by(verdicts, protocol.ranking_rules), lists, 1), lists, protocol, slicing)


def finish(sums: Mapping[str, np.ndarray], protocol: Protocol, slicing: Slicing) -> dict[str, np.ndarray]:
    """The headline numbers and the support from what `sum_part` gives."""
    shape, lines = shape_of(slicing), headlines(protocol)
    if 0 in shape:
        empty = {line.metric: np.zeros(shape) for line in lines}
        return empty | {name: np.zeros(shape, dtype=np.int64) for name in SUPPORT}
    with np.errstate(invalid="ignore", divide="ignore"):
        of = [line for line in with_terms(lines, protocol) if not line.is_of_others]
        means = {line.metric: sums[line.metric] / sums[f"n {line.metric}"] for line in of}
        values = {line.metric: composed(line, means, protocol) for line in lines}
    n_images = np.bincount(slicing.images.members["group"].to_numpy(), minlength=len(slicing.images))
    support = {name: sums[name].astype(np.int64) for name in ("n_annotations", "n_detections")}
    support["n_categories"] = sums["n_categories"].astype(np.int64)
    shown = {name: array.reshape(shape) for name, array in (values | support).items()}
    shown["n_images"] = np.broadcast_to(n_images[:, None, None, None], shape)
    return {name: shown[name] for name in (*values, *SUPPORT)}


@dataclass(frozen=True)
class _Part:
    """Some groups of the objects: their ranking, the `group` and `category` of its lists, and the number of the groups."""

    ranking: AnyRanking
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
            keeps_empty=self.protocol.classes.counts_absent,
        )
        parts = replace(parts, lists=parts.lists.with_columns(images=pl.col("group") // n_parts))
        if not self._divides_detections or self.protocol.limits_images:
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
        whole: AnyRanking | None = None
        needs_rows = self.protocol.miss_rates is not None or not isinstance(self.protocol.definition, WeightedSum)
        if sides[0].members is None and needs_rows:
            every = base.detections.select(at=pl.int_range(pl.len(), dtype=pl.UInt32))
            groups = pl.DataFrame({"group": range(len(objects))}, schema={"group": pl.UInt32})
            sides[0] = replace(sides[0], members=every.join(groups, how="cross"))
        elif sides[0].members is None:  # all detections count in all groups
            bits = base.annotations.schema["counts"]
            nothing = replace(base, annotations=base.annotations.with_columns(counts=pl.lit(0, bits)))
            whole = self._rank(nothing)
        for n, (found, expected) in add_competitors(sides, len(objects), _MOST_ROWS):
            positions = base.detections.select(position=pl.int_range(pl.len(), dtype=pl.Int64))
            part = regroup(
                replace(base, detections=base.detections.hstack(positions)),
                found,
                expected,
                n,
                keeps_empty=self.protocol.classes.counts_absent,
            )
            of = part.lists["category"]  # the list of `base` that each is a part of
            lists = part.lists.select(
                group=base.lists["group"].gather(of) * n + pl.col("group"), category=base.lists["category"].gather(of)
            )
            rest = (
                None if not isinstance(whole, Ranking) else Rest(whole, part.detections["position"].to_numpy(), of.to_numpy())
            )
            yield _Part(self._rank(part, rest), lists, n)

    def _rank(self, rows: Rows, rest: Rest | None = None) -> AnyRanking:
        """Match and rank rows."""
        verdicts = judge(rows, matching_rules(self.protocol), self.verdicts.images, rows.lists)
        if "images" in rows.lists.columns:
            verdicts = replace(verdicts, members=self.slicing.images.members.rename({"row": "image"}))
        return rank_by(verdicts, self.protocol.ranking_rules, rest)

    def _side(self, table: pl.DataFrame, paired: pl.Series, members: pl.DataFrame | None) -> Side:
        """The detections or the annotations as a side, with the members of each group, which are given by `row`."""
        is_paired = np.zeros(table.height, dtype=bool)
        is_paired[paired.to_numpy()] = True
        if members is not None:
            members = members.join(table.select("row").with_row_index("at"), on="row").select("at", "group")
        cell = table["list"].cast(pl.Int64) * self.verdicts.images.height + table["image"]
        return Side(cell, pl.Series(is_paired), members)


def sum_part(part: _Part, base: pl.DataFrame, protocol: Protocol, slicing: Slicing) -> dict[str, np.ndarray]:
    """Sums over the lists of each slice: arrays over groups of images and detections, objects, categories.

    `base` has the `group` and `category` of the lists that all detections are in.

    Returns
    -------
    By name: the sums of the headline numbers; "n " and the name of one, how many lists it is a sum of; n_categories, how many
    lists count; n_annotations and n_detections.
    """
    ranking = part.ranking
    names, last = [name for name, *_ in protocol.area_ranges], len(protocol.max_detections) - 1
    lines = with_terms(headlines(protocol), protocol)
    sums = _summing(part.lists, part.n_objects, slicing)

    def of_range(k: int) -> dict[str, np.ndarray]:
        own = [line for line in lines if line.area_range == names[k] and not line.is_of_others]
        cells = compute_cells(ranking, [k], [protocol.max_detections.index(line.max_detections) for line in own], ())
        positives = ranking.positives[:, k]
        with np.errstate(invalid="ignore", divide="ignore"):
            values = {line.metric: _values(line, cells, positives, protocol) for line in own}
        counts = _has_numbers(ranking, cells[last], k)
        n_categories = sums(counts)
        weight = None if not isinstance(ranking, Ranking) or ranking.n_images is None else ranking.n_images[:, k]
        found: dict[str, np.ndarray] = {}
        for line in own:
            value = values[line.metric]
            if weight is not None:
                found |= {line.metric: sums(np.where(counts, value, 0) * weight), f"n {line.metric}": sums(counts * weight)}
            elif line.column in ranking.further:  # which may have no value where there are positives
                has_value = counts & np.isfinite(value)
                found |= {line.metric: sums(np.where(has_value, value, 0)), f"n {line.metric}": sums(has_value)}
            else:
                found |= {line.metric: sums(np.where(counts, value, 0)), f"n {line.metric}": n_categories}
        if names[k] != protocol.whole:
            return found
        found["n_categories"] = n_categories
        n_detections = cells[last].n_detections[0, 0]
        if ranking.rest is None:
            counted = sums(n_detections)
        else:  # groups that have no list of their own in a category have the whole one there
            of_whole = ranking.rest.n_detections(k, last)[0]
            counted = _summing(base, 1, slicing)(of_whole) + sums(n_detections - of_whole[ranking.rest.whole])
        return found | {"n_annotations": sums(positives), "n_detections": counted}

    with pool() as threads:
        return {name: value for each in threads.map(of_range, range(len(names))) for name, value in each.items()}


def _has_numbers(ranking: AnyRanking, cells: Cells, k: int) -> np.ndarray:
    """Flags of the lists that are averaged in range number k: those with positives, and by some rules others too."""
    counts: np.ndarray = (ranking.positives[:, k] > 0) | ranking.counts_absent
    if isinstance(ranking, SummedRanking):
        counts = np.isfinite(cells.further[ranking.further[0]]).all(axis=(0, 1))
    return counts


def _summing(lists: pl.DataFrame, n_objects: int, slicing: Slicing) -> Callable[[np.ndarray], np.ndarray]:
    """What sums values of the lists: each list counts in every group of categories that its category is in."""
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
    values = cell.hits / positives if line.column == "recall" else cell.further.get(line.column, cell.ap)
    assert values is not None
    values = values[:, 0]
    if line.iou_threshold is None:
        return values.mean(axis=0)
    number = protocol.threshold_number(line.iou_threshold)
    return np.full(values.shape[1], np.nan) if number is None else values[number]
