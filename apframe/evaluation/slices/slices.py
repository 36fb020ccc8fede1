"""Slices: the rows of each, separately for every table, and the table of results.

The keys of one table make groups of its rows: every combination of values that occurs, and with marginals, every combination of
some of the keys. A slice is a group of the images, one of the detections, one of the objects and one of the categories.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, product

import numpy as np
import polars as pl

from apframe.evaluation.slices.keys import SEVERAL, Key
from apframe.exceptions import ParameterError
from apframe.metrics.list_rows import ListRows
from apframe.tables.conditions import Masks

ROLLED_UP = -1  # the code of a key whose values are all in a group
MOST_GROUPS = 1_000  # of objects: each is matched anew


@dataclass(frozen=True)
class Groups:
    """The groups of a table's rows.

    `codes` has a row for each group, with the `Key.code` of each key (`ROLLED_UP`: all values); `members` has `row` and
    `group`.
    """

    codes: pl.DataFrame
    members: pl.DataFrame

    def __len__(self) -> int:
        return self.codes.height

    def is_whole(self, n_rows: int) -> bool:
        """Return True if there is one group, of all rows."""
        return len(self) == 1 and self.members.height == n_rows


@dataclass(frozen=True)
class ObjectGroups:
    """The groups of the objects, `codes` as in `Groups`; all groups are inside the rows `within`."""

    codes: pl.DataFrame
    keys: Sequence[Key]
    heights: Mapping[str, int]
    within: Mapping[str, pl.Series]

    def __len__(self) -> int:
        return self.codes.height

    def restrict(self, flags: Sequence[np.ndarray], table: str) -> list[np.ndarray]:
        """Restrict flags of annotations or detections to the rows that contain all groups."""
        return [row & self.within[table].to_numpy() for row in flags] if table in self.within else list(flags)

    def members(self, table: str) -> pl.DataFrame | None:
        """Return `row` and `group` of annotations or detections by the keys that they have; None without keys."""
        keys = [key for key in self.keys if table in key.members]
        if not keys:
            return None
        rows = pl.int_range(self.heights[table], dtype=pl.UInt32, eager=True).alias("row").to_frame()
        codes = self.codes.with_row_index("group")
        parts = []
        for rolled, groups in codes.group_by([pl.col(key.code) == ROLLED_UP for key in keys]):
            kept = [key for key, is_rolled in zip(keys, rolled, strict=True) if not is_rolled]
            part = rows
            for key in kept:
                part = part.join(key.members[table].rename({"code": key.code}), on="row")
            names = [key.code for key in kept]
            of_groups = groups.select("group", *names)
            parts.append(part.join(of_groups, on=names) if kept else part.join(of_groups, how="cross"))
        return pl.concat(part.select("row", "group") for part in parts)

    def inside(self, group: int, table: str) -> np.ndarray | None:
        """True for rows of annotations or detections in the group; None if they have none of its keys."""
        flags = self.within[table].to_numpy() if table in self.within else None
        for key in self.keys:
            code = self.codes[key.code][group]
            if code != ROLLED_UP and table in key.members:
                members = key.members[table]
                own = np.zeros(self.heights[table], dtype=bool)
                own[members["row"].filter(members["code"] == code).to_numpy()] = True
                flags = own if flags is None else flags & own
        return flags


@dataclass(frozen=True)
class Slicing:
    """The groups of the four tables, whose product are the slices; `fixed` are codes of a key that all of them share."""

    images: Groups
    detections: Groups
    objects: ObjectGroups
    categories: Groups
    fixed: Mapping[str, int] = field(default_factory=dict)

    @property
    def axes(self) -> dict[str, Groups | ObjectGroups]:
        """The groups by the table of their keys, in the order of the axes of results."""
        objects = {"annotations": self.objects}
        return {"images": self.images, "detections": self.detections, **objects, "categories": self.categories}

    def matches_again(self, n_detections: int) -> bool:
        """Return True if there are groups of detections or objects; groups of images do not change matches."""
        return not self.detections.is_whole(n_detections) or bool(self.objects.keys or self.objects.within)

    def rows_of(self, lists: pl.DataFrame, n_groups: int) -> ListRows:
        """Return the lists of each of `n_groups` groups of the other tables and each group of categories, see `ListRows.of`."""
        return ListRows.of(lists, n_groups, self.categories.members, len(self.categories))

    def of_all_categories(self, n_categories: int) -> Slicing:
        """Return the same groups of the other tables, with one group of all categories."""
        rows = pl.DataFrame({"row": pl.Series(range(n_categories), dtype=pl.UInt32)})
        return replace(self, categories=Groups(pl.DataFrame({"": [0]}), rows.with_columns(group=pl.lit(0, pl.UInt32))))


def make_slicings(
    keys: Sequence[Key], heights: Mapping[str, int], *, marginals: bool = False, each_category: bool = False
) -> list[Slicing]:
    """Make the groups of the keys; one for each named slice about several tables.

    Parameters
    ----------
    keys
        the result of `make_keys`
    heights
        the numbers of rows of the four tables
    marginals
        whether to add groups of all values of some keys
    each_category
        whether every category is a separate group, and keys of the categories are not rolled up
    """
    named_slices = next((key for key in keys if key.table == SEVERAL), None)
    if named_slices is None:
        return [_slicing(keys, heights, marginals, each_category, {}, {})]
    parts: list[tuple[int, Masks]] = list(enumerate(named_slices.masks.values()))
    if marginals:
        parts.append((ROLLED_UP, {}))
    others = [key for key in keys if key is not named_slices]
    return [_slicing(others, heights, marginals, each_category, masks, {named_slices.code: code}) for code, masks in parts]


def tabulate(
    parts: Sequence[tuple[Slicing, Mapping[str, np.ndarray]]], keys: Sequence[Key], categories: pl.DataFrame | None
) -> pl.DataFrame:
    """Return the table of slices.

    Parameters
    ----------
    parts
        the groups, and metrics and support by name as arrays over the groups of images, detections, objects and categories
    keys
        in the order of the columns
    categories
        columns of the categories, which follow the keys if each category is a group

    Returns
    -------
    The keys' columns, those of `categories`, `rolled_up` (names of the rolled-up keys), the metrics (null if nothing could be
    evaluated) and the support; sorted by key, null last, roll-ups below.
    """
    tables = []
    for slicing, values in parts:
        shape = next(iter(values.values())).shape
        places = dict(zip(slicing.axes, (index.ravel() for index in np.indices(shape)), strict=True))
        codes = [_code(key, slicing, places) for key in keys]
        rows = slicing.categories.members.sort("group")["row"].to_numpy()
        of_categories = [] if categories is None else categories[rows[places["categories"]]].get_columns()
        columns = [pl.Series(name, array.ravel(), nan_to_null=True) for name, array in values.items()]
        tables.append(pl.DataFrame([*codes, *of_categories, *columns]))
    table = pl.concat(tables)
    if not keys:
        return table.with_columns(rolled_up=pl.lit(""))
    is_rolled = {key.code: pl.col(key.code) == ROLLED_UP for key in keys}
    order = [pl.sum_horizontal(is_rolled.values()), *is_rolled.values(), *is_rolled]
    words = [pl.when(is_rolled[key.code]).then(pl.lit(key.name)) for key in keys]
    rolled = pl.concat_str(words, separator=", ", ignore_nulls=True)
    table = table.sort(order, maintain_order=True).with_columns(rolled_up=rolled)
    shown = [key.values.gather(table[key.code].replace(ROLLED_UP, None)).alias(key.name) for key in keys]
    after = [*(categories.columns if categories is not None else ()), "rolled_up"]
    return table.select(*shown, *after, pl.exclude(*is_rolled, *after))


def walk(
    slicings: Sequence[Slicing], keys: Sequence[Key], heights: Mapping[str, int]
) -> Iterator[tuple[pl.DataFrame, dict[str, dict[str, pl.Series]]]]:
    """Yield every slice: the values of its keys as a table of one row, and its masks for `Inputs.subset`."""
    for slicing in slicings:
        for places, masks in _places(list(slicing.axes.items()), heights):
            at = {axis: np.array([place]) for axis, place in zip(slicing.axes, places, strict=True)}
            values = {key.name: key.values.gather(_code(key, slicing, at)) for key in keys}
            yield pl.DataFrame(values), masks


def _places(
    axes: Sequence[tuple[str, Groups | ObjectGroups]], heights: Mapping[str, int]
) -> Iterator[tuple[tuple[int, ...], dict[str, dict[str, pl.Series]]]]:
    """Yield every combination of groups and its masks; a group's masks stay the same objects while later axes vary."""
    if not axes:
        yield (), {}
        return
    (table, groups), *others = axes
    for place in range(len(groups)):
        own = mask_of(groups, place, table, heights[table])
        for places, masks in _places(others, heights):
            yield (place, *places), {table: own, **masks}


def parts_of_objects(slicing: Slicing, heights: Mapping[str, int]) -> Iterator[tuple[Masks, Slicing]]:
    """Yield each group of detections and of objects: its masks for `Inputs.subset`, and its slices by images and categories.

    Without such groups, there are no masks.
    """
    if not slicing.matches_again(heights["detections"]):
        yield {}, slicing
        return
    one = replace(slicing, detections=Groups(pl.DataFrame({"": [0]}), pl.DataFrame()))
    for part, group in product(range(len(slicing.detections)), range(len(slicing.objects))):
        masks = {
            "detections": mask_of(slicing.detections, part, "detections", heights["detections"]),
            "annotations": mask_of(slicing.objects, group, "annotations", heights["annotations"]),
        }
        yield masks, one


def mask_of(groups: Groups | ObjectGroups, group: int, table: str, height: int) -> dict[str, pl.Series]:
    """Return flags of the rows in one of the groups of a table: by owner, for `Inputs.subset`."""
    if isinstance(groups, ObjectGroups):
        inside = {owner: groups.inside(group, owner) for owner in ("annotations", "detections")}
        return {owner: pl.Series(flags) for owner, flags in inside.items() if flags is not None}
    flags = np.zeros(height, dtype=bool)
    flags[groups.members["row"].filter(groups.members["group"] == group).to_numpy()] = True
    return {table: pl.Series(flags)}


def _code(key: Key, slicing: Slicing, places: Mapping[str, np.ndarray]) -> pl.Series:
    if key.code in slicing.fixed:
        n = len(places["images"])
        return pl.repeat(slicing.fixed[key.code], n, dtype=pl.Int32, eager=True).alias(key.code)
    return slicing.axes[key.table].codes[key.code].gather(places[key.table])


def _slicing(
    keys: Sequence[Key],
    heights: Mapping[str, int],
    marginals: bool,
    each_category: bool,
    within: Masks,
    fixed: Mapping[str, int],
) -> Slicing:
    of = {table: [key for key in keys if key.table == table] for table in heights}
    rows = {table: pl.Series("row", range(height), dtype=pl.UInt32) for table, height in heights.items()}
    rows |= {table: rows[table].filter(masks[table]) for table, masks in within.items() if table != "annotations"}
    images, detections = (_groups(of[table], table, rows[table], marginals) for table in ("images", "detections"))
    if each_category:
        each = _each(rows["categories"])
        groups_of_each = _groups([*of["categories"], each], "categories", rows["categories"], False)
        categories = Groups(groups_of_each.codes.drop(each.code), groups_of_each.members)
    else:
        categories = _groups(of["categories"], "categories", rows["categories"], marginals)
    objects = ObjectGroups(
        _object_codes(of["annotations"], heights, marginals), of["annotations"], heights, within.get("annotations", {})
    )
    for groups, table in ((objects, "annotations"), (detections, "detections")):
        if len(groups) > MOST_GROUPS:
            names = ", ".join(key.name for key in of[table])
            raise ParameterError(
                f"{names} makes {len(groups):,} slices of the {table}; the limit is {MOST_GROUPS:,}, as each is matched again",
                "use apframe.bins or apframe.quantiles",
                option="by",
            )
    return Slicing(images, detections, objects, categories, fixed)


def _each(rows: pl.Series) -> Key:
    """Return a key that separates all rows."""
    return Key(-1, "", "categories", rows, {"categories": pl.DataFrame({"row": rows, "code": rows.cast(pl.Int32)})})


def _groups(keys: Sequence[Key], table: str, rows: pl.Series, marginals: bool) -> Groups:
    """Make the groups of some rows of a table."""
    if not keys:
        return Groups(pl.DataFrame({"": [0]}), rows.to_frame().with_columns(group=pl.lit(0, pl.UInt32)))
    names = [key.code for key in keys]
    parts = []
    for kept in _kept(keys, marginals):
        part = rows.to_frame()
        for key in keys:
            if key in kept:
                part = part.join(key.members[table].rename({"code": key.code}), on="row")
            else:
                part = part.with_columns(pl.lit(ROLLED_UP, pl.Int32).alias(key.code))
        parts.append(part)
    rows_of_groups = pl.concat(parts)
    codes = pl.concat([rows_of_groups.select(names), *_always(keys, marginals)]).unique().sort(names).with_row_index("group")
    members = rows_of_groups.join(codes, on=names).select("row", "group")
    return Groups(codes.select(names), members)


def _always(keys: Sequence[Key], marginals: bool) -> list[pl.DataFrame]:
    """Return codes that have a group even without rows: all named slices, if there is no other key; everything rolled up."""
    always = []
    if len(keys) == 1 and keys[0].masks:
        always.append(pl.DataFrame({keys[0].code: range(len(keys[0].masks))}, schema={keys[0].code: pl.Int32}))
    if marginals:
        always.append(pl.DataFrame({key.code: [ROLLED_UP] for key in keys}, schema={key.code: pl.Int32 for key in keys}))
    return always


def _object_codes(keys: Sequence[Key], heights: Mapping[str, int], marginals: bool) -> pl.DataFrame:
    """Return the combinations among the annotations, and among the detections if these have all of the keys."""
    if not keys:
        return pl.DataFrame({"": [0]})
    names = [key.code for key in keys]
    parts = _always(keys, marginals)
    for kept in _kept(keys, marginals):
        rolled = [pl.lit(ROLLED_UP, pl.Int32).alias(key.code) for key in keys if key not in kept]
        for table in ("annotations", "detections"):
            if kept and all(table in key.members for key in kept):
                rows = pl.Series("row", range(heights[table]), dtype=pl.UInt32)
                parts.append(_groups(kept, table, rows, False).codes.with_columns(rolled).select(names))
    return pl.concat(parts).unique().sort(names)


def _kept(keys: Sequence[Key], marginals: bool) -> list[list[Key]]:
    """Return the keys that are not rolled up, for each way to roll some up."""
    if not marginals:
        return [list(keys)]
    return [list(combination) for n in range(len(keys), -1, -1) for combination in combinations(keys, n)]
