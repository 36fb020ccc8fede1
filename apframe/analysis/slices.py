"""Slices: which rows belong to each, for every table on its own, and the table of results that comes out.

The keys of one table make groups of its rows: every combination of values that occurs, and with marginals, every combination of
some of the keys. A slice is a group of the images, one of the categories, one of the objects and one of the detections.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
import polars as pl

from apframe.analysis.keys import Key
from apframe.exceptions import ParameterError

ROLLED_UP = -1  # the code of a key of which a group takes all values
SUPPORT = ("n_images", "n_annotations", "n_detections", "n_categories")
MOST_GROUPS = 1_000  # of objects: each is matched anew


@dataclass(frozen=True)
class Groups:
    """The groups of a table's rows.

    `codes` has a row for each group, and the code of each key (`ROLLED_UP`: all its values); `members` has `row` and `group`.
    """

    codes: pl.DataFrame
    members: pl.DataFrame

    def __len__(self) -> int:
        return self.codes.height

    def is_whole(self, n_rows: int) -> bool:
        """Whether there is one group, of all rows."""
        return len(self) == 1 and self.members.height == n_rows


@dataclass(frozen=True)
class ObjectGroups:
    """The groups of the objects. `codes` as in `Groups`; whether a row is inside is told key by key."""

    codes: pl.DataFrame
    keys: Sequence[Key]
    heights: Mapping[str, int]

    def __len__(self) -> int:
        return self.codes.height

    def restrict(self, flags: Sequence[np.ndarray], group: int, table: str) -> list[np.ndarray]:
        """The flags of annotations or detections, where a row is also in the group by every key that it carries."""
        inside = self.inside(group, table)
        return list(flags) if inside is None else [row & inside for row in flags]

    def inside(self, group: int, table: str) -> np.ndarray | None:
        """Whether each row of annotations or detections is in the group; None if they carry no key that says so."""
        flags = None
        for key in self.keys:
            code = self.codes[key.name][group]
            if code != ROLLED_UP and table in key.members:
                members = key.members[table]
                own = np.zeros(self.heights[table], dtype=bool)
                own[members["row"].filter(members["code"] == code).to_numpy()] = True
                flags = own if flags is None else flags & own
        return flags


@dataclass(frozen=True)
class Slicing:
    """The groups of the four tables, whose product are the slices."""

    images: Groups
    categories: Groups
    objects: ObjectGroups
    detections: Groups

    @property
    def axes(self) -> dict[str, Groups | ObjectGroups]:
        """The groups by the table of their keys, in the order of the axes of results."""
        objects = {"annotations": self.objects}
        return {"images": self.images, "detections": self.detections, **objects, "categories": self.categories}


def make_slicing(keys: Sequence[Key], heights: Mapping[str, int], *, marginals: bool, each_category: bool) -> Slicing:
    """The groups that the keys make; `heights` are those of the four tables.

    With `each_category` every category is a group of its own, and keys of the categories are never rolled up.
    """
    of = {table: [key for key in keys if key.table == table] for table in heights}
    images, detections = (_groups(of[table], heights[table], marginals) for table in ("images", "detections"))
    if each_category:
        each = pl.int_range(heights["categories"], dtype=pl.UInt32, eager=True)
        codes = [key.members["categories"].sort("row")["code"].alias(key.name) for key in of["categories"]]
        members = pl.DataFrame({"row": each, "group": each})
        categories = Groups(pl.DataFrame([each.alias("group"), *codes]), members)
    else:
        categories = _groups(of["categories"], heights["categories"], marginals)
    objects = ObjectGroups(_object_codes(of["annotations"], heights, marginals), of["annotations"], heights)
    for groups, table in ((objects, "annotations"), (detections, "detections")):
        if len(groups) > MOST_GROUPS:
            names = ", ".join(key.name for key in of[table])
            raise ParameterError(
                f"by: {names} makes {len(groups):,} slices of the {table}, at most {MOST_GROUPS:,} can be, as each is matched "
                "anew; take apframe.bins or apframe.quantiles"
            )
    return Slicing(images, categories, objects, detections)


def tabulate(
    values: Mapping[str, np.ndarray], slicing: Slicing, keys: Sequence[Key], categories: pl.DataFrame | None
) -> pl.DataFrame:
    """The table of slices.

    Parameters
    ----------
    values
        metrics and support by name, arrays over the groups of images, detections, objects and categories
    slicing
        the groups
    keys
        in the order of the columns
    categories
        columns that follow the keys where each category is a group; they stand in the order of the groups

    Returns
    -------
    The keys' columns, those of `categories`, `rolled_up` (names of the keys that are rolled up), the metrics (null where
    nothing could be evaluated) and the support; by key, null last, roll-ups below.
    """
    shape = next(iter(values.values())).shape
    places = dict(zip(slicing.axes, (index.ravel() for index in np.indices(shape)), strict=True))
    codes = pl.DataFrame([slicing.axes[key.table].codes[key.name].gather(places[key.table]) for key in keys])
    is_rolled = {key.name: codes[key.name] == ROLLED_UP for key in keys}
    shown = [key.values.gather(codes[key.name].replace(ROLLED_UP, None)).alias(key.name) for key in keys]
    rolled = [pl.when(flags).then(pl.lit(name)) for name, flags in is_rolled.items()]
    of_categories = [] if categories is None else categories[places["categories"]].get_columns()
    columns = [pl.Series(name, array.ravel(), nan_to_null=True) for name, array in values.items()]
    table = pl.DataFrame([*shown, *of_categories]).with_columns(
        pl.concat_str(rolled, separator=", ", ignore_nulls=True).alias("rolled_up"), *columns
    )
    order = [pl.sum_horizontal(is_rolled.values()), *is_rolled.values(), *codes.get_columns(), pl.Series(places["categories"])]
    return table.select(pl.all().sort_by(order))


def walk(
    slicing: Slicing, keys: Sequence[Key], heights: Mapping[str, int]
) -> Iterator[tuple[pl.DataFrame, dict[str, dict[str, pl.Series]]]]:
    """Every slice: the values of its keys as a table of one row, and its masks as `Inputs.subset` takes them."""
    for places in product(*(range(len(groups)) for groups in slicing.axes.values())):
        at = dict(zip(slicing.axes, places, strict=True))
        values = [key.values.gather([slicing.axes[key.table].codes[key.name][at[key.table]]]).alias(key.name) for key in keys]
        masks = {}
        for table, groups in slicing.axes.items():
            if isinstance(groups, Groups):
                rows = groups.members["row"].filter(groups.members["group"] == at[table])
                masks[table] = {table: pl.int_range(heights[table], eager=True).is_in(rows.implode())}
        inside = {table: slicing.objects.inside(at["annotations"], table) for table in ("annotations", "detections")}
        masks["annotations"] = {table: pl.Series(flags) for table, flags in inside.items() if flags is not None}
        yield pl.DataFrame(values), masks


def _groups(keys: Sequence[Key], n_rows: int, marginals: bool) -> Groups:
    """The groups of the rows of one table."""
    table = keys[0].table if keys else ""
    rows = pl.DataFrame({"row": pl.int_range(n_rows, dtype=pl.UInt32, eager=True)})
    parts = []
    for kept in _kept(keys, marginals):
        part = rows
        for key in keys:
            if key in kept:
                part = part.join(key.members[table].rename({"code": key.name}), on="row")
            else:
                part = part.with_columns(pl.lit(ROLLED_UP, pl.Int32).alias(key.name))
        parts.append(part)
    names = [key.name for key in keys]
    together = pl.concat(parts)
    if not keys:
        return Groups(pl.DataFrame({"group": [0]}), together.with_columns(group=pl.lit(0, pl.UInt32)))
    codes = together.select(names).unique().sort(names).with_row_index("group")
    return Groups(codes, together.join(codes, on=names).select("row", "group"))


def _object_codes(keys: Sequence[Key], heights: Mapping[str, int], marginals: bool) -> pl.DataFrame:
    """The combinations that occur among the annotations, and among the detections where these carry all keys."""
    parts = [
        _groups([_on(key, table) for key in keys], heights[table], marginals).codes
        for table in ("annotations", "detections")
        if all(table in key.members for key in keys)
    ]
    codes = pl.concat(parts).drop("group").unique() if keys else parts[0]
    return codes.sort(codes.columns)


def _on(key: Key, table: str) -> Key:
    return Key(key.name, table, key.values, key.members)


def _kept(keys: Sequence[Key], marginals: bool) -> list[list[Key]]:
    """The keys that are not rolled up, for each way to roll some up."""
    if not marginals:
        return [list(keys)]
    return [list(kept) for n in range(len(keys), -1, -1) for kept in combinations(keys, n)]
