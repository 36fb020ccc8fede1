"""Slices of images, detections and objects: the lists to be ranked are split by group; those without rows are left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from apframe.matching.match_input import MatchInput
from apframe.matching.verdicts import Verdicts

_MOST_KEYS = 1 << 22  # which are looked up in a table of them all


def regroup(rows: MatchInput, found: pl.DataFrame, expected: pl.DataFrame, n_groups: int) -> MatchInput:
    """Gather detections and annotations into a list for each group and list that has some; the order within a list stays.

    Parameters
    ----------
    rows
        what is split
    found, expected
        `at` (a row number of the detections, or of the annotations), `group` and `inside`. A row may be in several groups, or
        in none. One that is not inside competes in the group, but counts in none of its ranges
    n_groups
        how many groups there are, some of them empty

    >>> number = {"list": [0, 0, 0], "image": [0, 1, 2], "row": [7, 8, 9], "place": [1, 1, 1], "inside": [1, 1, 1]}
    >>> one = {"list": [0], "image": [1], "row": [0], "counts": [1]}
    >>> pairs = {"detection": [1], "annotation": [0], "similarity": [0.7]}
    >>> parts = regroup(
    ...     MatchInput(
    ...         pl.DataFrame(number), pl.DataFrame(one), pl.DataFrame(pairs), pl.DataFrame({"group": [0], "category": [0]})),
    ...     pl.DataFrame({"at": [0, 1, 2], "group": [7, 0, 7], "inside": True}),
    ...     pl.DataFrame({"at": [0, 0], "group": [0, 7], "inside": True}), 8)
    >>> parts.detections.select("list", "row").rows(), parts.links.rows(), parts.lists.rows()
    ([(0, 8), (1, 7), (1, 9)], [(0, 0, 0.7)], [(0, 0), (7, 0)])
    """
    n_lists = rows.lists.height
    members = [_members(*each, n_lists) for each in ((rows.detections, found), (rows.annotations, expected))]
    numbers, codes = _number([each.key for each in members], n_groups * n_lists, keeps_empty=rows.keeps_empty)
    tables, links = [], rows.links.lazy()
    for table, each, code, name, bits in zip(
        (rows.detections, rows.annotations), members, codes, ("detection", "annotation"), ("inside", "counts"), strict=True
    ):
        gathered = table[each.at].with_columns(pl.Series("list", code, dtype=pl.UInt32))
        tables.append(count_only(gathered, bits, pl.Series(each.inside)))
        group = pl.Series("group", numbers[code] // n_lists, dtype=pl.UInt32)
        places = pl.LazyFrame({name: pl.Series(each.at, dtype=pl.UInt32), "group": group}).with_row_index(f"new_{name}")
        links = links.with_columns(pl.col(name).cast(pl.UInt32)).join(
            places, on=[name, *(["group"] if name == "annotation" else [])]
        )
    columns = [pl.col(f"new_{name}").alias(name) for name in ("detection", "annotation")]
    met = links.select(*columns, *rows.links.columns[2:]).collect()
    of = pl.DataFrame({"group": numbers // n_lists, "category": numbers % n_lists})
    further = rows.lists.drop("group", "category")
    of = of.hstack(further[of["category"]]) if further.width else of
    return replace(rows, detections=tables[0], annotations=tables[1], links=met, lists=of)


def split_by_images(verdicts: Verdicts, members: pl.DataFrame, n_groups: int) -> tuple[Verdicts, pl.DataFrame]:
    """The verdicts with a list for each group of images and list that has some rows, and the group and category of these lists.

    `members` has `image` (the number of an image) and `group`; an image may be in several groups, or in none.

    >>> from apframe.matching.verdicts import example
    >>> parts, lists = split_by_images(example(), pl.DataFrame({"image": [0, 1, 1], "group": [0, 1, 2]}), 3)
    >>> lists.rows(), parts.detections["list"].to_list(), parts.hits.height
    ([(0, 0), (1, 0), (2, 0)], [0, 1, 2], 1)
    """
    numbers = pl.DataFrame({"group": 0, "category": range(verdicts.lists.height)})
    further = verdicts.lists.drop("category_id", strict=False)
    categories = numbers.hstack(further) if further.width else numbers
    links = verdicts.hits.with_columns(of=pl.int_range(pl.len()))
    rows = MatchInput(verdicts.detections, verdicts.annotations, links, categories, keeps_empty=verdicts.keeps_empty)
    members = members.select("image", "group")
    groups = members.lazy().with_columns(pl.col("image").cast(pl.UInt32))
    chosen = [
        table.lazy().select("image").with_row_index("at").join(groups, on="image").select("at", "group", inside=True).collect()
        for table in (verdicts.detections, verdicts.annotations)
    ]
    parts = regroup(rows, chosen[0], chosen[1], n_groups)
    own = parts.lists.with_columns(images="group")
    return replace(with_rows(verdicts, replace(parts, lists=own)), members=members), parts.lists


def with_rows(verdicts: Verdicts, rows: MatchInput) -> Verdicts:
    """The verdicts with other rows of theirs, whose links are the hits and `of`, their places among those of the whole."""
    hits = rows.links.sort("detection", "of").drop("of")  # as they were, so that sums are the same to the last bit
    return replace(verdicts, lists=rows.lists, detections=rows.detections, annotations=rows.annotations, hits=hits)


def count_only(table: pl.DataFrame, bits: str, flags: pl.Series) -> pl.DataFrame:
    """The table, where rows without the flag count in no area range; `bits` is the column that says where rows count.

    >>> count_only(pl.DataFrame({"inside": [3, 3]}), "inside", pl.Series([True, False]))["inside"].to_list()
    [3, 0]
    """
    return table.with_columns(pl.when(flags).then(pl.col(bits)).otherwise(pl.lit(0, table.schema[bits])))


@dataclass(frozen=True)
class _Members:
    """Rows of a table in the order of their keys (`group * n_lists + list`): `at` are their numbers."""

    key: np.ndarray
    at: np.ndarray
    inside: np.ndarray


def _members(table: pl.DataFrame, chosen: pl.DataFrame, n_lists: int) -> _Members:
    at = chosen["at"].to_numpy().astype(np.int64)
    key = chosen["group"].to_numpy().astype(np.int64) * n_lists + table["list"].to_numpy()[at]
    # packed, as sorting integers is several times as fast as sorting rows
    bits = table.height.bit_length()
    packed = np.sort((key << (bits + 1)) | (at << 1) | chosen["inside"].to_numpy())
    return _Members(packed >> (bits + 1), (packed >> 1) & ((1 << bits) - 1), (packed & 1).astype(bool))


def _number(keys: Sequence[np.ndarray], n_keys: int, *, keeps_empty: bool = False) -> tuple[np.ndarray, list[np.ndarray]]:
    """The keys that occur, in order, or all there can be, and the number of each among these.

    >>> _number([np.array([7, 3]), np.array([7])], 8)
    (array([3, 7]), [array([1, 0]), array([1])])
    """
    if keeps_empty:
        return np.arange(n_keys), list(keys)
    if n_keys > _MOST_KEYS:
        known = np.unique(np.concatenate(keys))
        return known, [np.searchsorted(known, each) for each in keys]
    occurs = np.zeros(n_keys, dtype=bool)  # several times as fast
    for each in keys:
        occurs[each] = True
    number = np.cumsum(occurs) - 1
    return np.flatnonzero(occurs), [number[each] for each in keys]
