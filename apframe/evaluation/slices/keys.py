"""The keys of slices: columns of the four tables, bins of their numbers, and named conditions.

A column belongs to the table that has it. Columns of the images separate images, columns of the categories separate categories.
A column of the annotations is a key of the objects, and the detections' column of the same name belongs to it; a column that
only the detections have separates these. `"annotations.occlusion"` also names the table.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import polars as pl

from apframe.exceptions import ParameterError
from apframe.option_values import one_of
from apframe.tables.conditions import (
    Condition,
    Masks,
    Tables,
    column_of,
    columns_of,
    conjunction,
    find_owners,
    items_of,
    list_columns,
    names_in,
    refuse_ambiguous,
    refuse_nothing,
)
from apframe.wording import listed, nearest

if TYPE_CHECKING:
    from apframe.evaluation.evaluation import Evaluation
    from apframe.protocols.inputs import Inputs

SEVERAL = "several"  # the table of named slices about several tables


@dataclass(frozen=True)
class Bins:
    """A key of intervals of a number, see `bins`; with `of_quantiles`, `edges` are probabilities."""

    column: str
    edges: tuple[float, ...]
    labels: tuple[str, ...] | None = None
    of_quantiles: bool = False


@dataclass(frozen=True)
class Breakdown(ABC):
    """A key of slices that are matched again, each with its own objects, as in the programs of some benchmarks.

    Attributes
    ----------
    name
        the name of its column
    """

    name: str

    @abstractmethod
    def parts(self, inputs: Inputs) -> Iterator[tuple[str, Inputs]]:
        """Yield the name and the input of each slice, in the order of the result."""


SliceKey = str | Bins | Mapping[str, Condition | Sequence[pl.Expr]] | Sequence[str | Bins]
"""A key of slices: a column, bins of one, values of columns or named conditions in a dict, several columns in a list."""


@dataclass(frozen=True)
class _Only:
    """A key of some values of a column."""

    column: str
    values: Any


@dataclass(frozen=True)
class Key:
    """One key of slices, with the rows that have each of its values.

    `place` is its position among the keys. `table` is the table that it divides: images, categories, annotations (with the
    detections that have the column too) or detections.
    `values` are the values in the result, in their order. `members` has a frame for each table with the key: `row` (a row
    number) and `code` (a position in `values`); named slices may share rows. `masks` are those of named slices; if these are
    about several tables, there are no members.
    """

    place: int
    name: str
    table: str
    values: pl.Series
    members: Mapping[str, pl.DataFrame]
    masks: Mapping[str, Masks] = field(default_factory=dict)

    @property
    def code(self) -> str:
        """The name of columns of its codes: `name` is from the data, and may be a pattern or the name of another column."""
        return f"code {self.place}"


def bins(column: str, edges: Iterable[float], labels: Sequence[str] | None = None) -> Bins:
    """Make a key for `Evaluation.by`: intervals [a, b) of a number, the last one with its upper end.

    Parameters
    ----------
    column
        a column of any of the four tables; may be qualified, as in "annotations.occlusion".
    edges
        strictly increasing, at least two; numbers outside all intervals, and null, are the slice null.
    labels
        the names of the slices, one for each interval; "[0, 0.3)" and so on by default.

    >>> bins("occlusion", [0, 0.3, 1]).edges
    (0.0, 0.3, 1.0)
    """
    try:
        numbers = None if isinstance(edges, str) else tuple(float(edge) for edge in edges)
    except (TypeError, ValueError):
        numbers = None
    if numbers is None:
        suggestion = f"quantiles({column!r}, {edges}) makes {edges} intervals with about as many rows each"
        remedy = suggestion if isinstance(column, str) and isinstance(edges, int) and not isinstance(edges, bool) else ""
        raise ParameterError(f"bins of {column}: edges are a list of numbers, got {edges!r}", remedy)
    if len(numbers) < 2 or not all(a < b for a, b in pairwise(numbers)):
        raise ParameterError(f"bins of {column}: edges must increase, and be at least two, got {list(numbers)}")
    if labels is not None and (len(labels) != len(numbers) - 1 or len(set(labels)) < len(labels)):
        raise ParameterError(f"bins of {column}: {len(numbers) - 1} different labels are needed, got {list(labels)}")
    return Bins(column, numbers, None if labels is None else tuple(map(str, labels)))


def quantiles(column: str, n: int | Iterable[float], labels: Sequence[str] | None = None) -> Bins:
    """Make a key for `Evaluation.by`: intervals of a number with about as many rows each.

    Parameters
    ----------
    column
        as in `bins`; if annotations have the column, the edges are their quantiles, and smaller and larger values of detections
        belong to the first and the last interval.
    n
        the number of intervals, or the probabilities of their edges, from 0 to 1.
    labels
        as in `bins`; if so many values are equal that intervals would be empty, there are fewer of them, with the default
        labels.

    >>> quantiles("area", 4).edges
    (0.0, 0.25, 0.5, 0.75, 1.0)
    """
    if isinstance(n, int) and (n < 1 or isinstance(n, bool)):
        raise ParameterError(f"quantiles of {column}: at least 1 is needed, got {n}")
    key = bins(column, [k / n for k in range(n + 1)] if isinstance(n, int) else n, labels)
    if key.edges[0] < 0 or key.edges[-1] > 1:
        raise ParameterError(f"quantiles of {column}: probabilities lie in [0, 1], got {list(key.edges)}")
    return replace(key, of_quantiles=True)


def _make_key(place: int, key: Any, tables: Tables) -> Key:
    """Make the key of a column, of bins of it, or of some of its values."""
    word = key.column if isinstance(key, (Bins, _Only)) else key
    if not isinstance(word, str):
        hint = '; name a condition: by({"small": condition})' if isinstance(word, pl.Expr) else ""
        raise ParameterError(
            f"a key is a column name, apframe.bins, apframe.quantiles or a dict of conditions{hint}; got {word}", option="by"
        )
    column, owners = find_owners(word, tables)
    refuse_ambiguous(word, column, owners)
    columns = {table: column_of(tables[table], column).alias("value") for table in owners}
    values, members = _binned(key, columns) if isinstance(key, Bins) else _distinct(word, columns)
    whole_key = Key(place, column, owners[0], values, members)
    return _restricted(whole_key, key) if isinstance(key, _Only) else whole_key


def as_keys(by: SliceKey | Sequence[SliceKey]) -> list[Any]:
    """Return one key or several as a list.

    >>> as_keys("weather"), as_keys(["weather", "city"]), as_keys(())
    (['weather'], ['weather', 'city'], [])
    """
    return [by] if isinstance(by, (str, Bins, Mapping)) else list(by)


def make_keys(keys: Sequence[Any], tables: Tables) -> list[Key]:
    """Make the keys of columns, bins and named slices, in their order.

    Parameters
    ----------
    keys
        names of columns, `Bins`, dicts from columns to some of their values, and at most one dict from names to conditions
        (several expressions in a list must all be true); a list of keys is flattened.
    tables
        the four tables, or some of them, as evaluated.

    >>> tables = {"images": pl.DataFrame({"image_id": [1, 2, 3], "n": [4, 1, None]})}
    >>> bins_of_n, low = make_keys([bins("n", [0, 2, 4]), {"low": pl.col("n") < 3}], tables)
    >>> bins_of_n.values.to_list(), bins_of_n.members["images"]["code"].to_list()
    (['[0, 2)', '[2, 4]', None], [1, 0, 2])
    >>> low.members["images"].rows()
    [(1, 0)]
    """
    singly = [each for key in keys for each in _one_by_one(key, tables)]
    if sum(isinstance(key, Mapping) for key in singly) > 1:
        raise ParameterError("give all named slices in one dict", option="by")
    return [
        _named_slices(place, key, tables) if isinstance(key, Mapping) else _make_key(place, key, tables)
        for place, key in enumerate(singly)
    ]


def _one_by_one(key: Any, tables: Tables) -> list[Any]:
    """Return the keys in a list, and those in a dict of values of columns."""
    if isinstance(key, (list, tuple)):
        return [each for inner in key for each in _one_by_one(inner, tables)]
    if not isinstance(key, Mapping):
        return [key]
    of_values = [name for name, value in key.items() if _are_values(name, value, tables)]
    if of_values and len(of_values) < len(key):
        (first, *_), other = of_values, next(name for name in key if name not in of_values)
        raise ParameterError(
            f"{first!r} is a column, {other!r} a named slice", "give values of columns and conditions in two dicts", option="by"
        )
    return [_Only(name, key[name]) for name in of_values] or [key]


def _are_values(name: Any, value: Any, tables: Tables) -> bool:
    """Return True if an entry of a dict names values of a column, instead of being a named condition."""
    table, _, column = str(name).partition(".")
    names = {table: names_in(frame) for table, frame in tables.items()}
    is_column = any(name in of_table for of_table in names.values()) or column in names.get(table, ())
    items = value if isinstance(value, (list, tuple)) else [value]
    return is_column and not any(isinstance(each, pl.Expr) for each in items)


def _named_slices(place: int, slices: Mapping[str, Any], tables: Tables) -> Key:
    """Make the key of named conditions, which may overlap; an error if there are none, or if one is empty."""
    if not slices:
        raise ParameterError("the dict of slices is empty", option="by")
    masks: dict[str, Masks] = {}
    for name, condition in slices.items():
        is_several = isinstance(condition, (list, tuple)) and condition and all(isinstance(c, pl.Expr) for c in condition)
        has_texts = isinstance(condition, (list, tuple)) and any(isinstance(c, str) for c in condition)
        are_ids = column_of(tables["images"], "image_id").dtype == pl.String
        if has_texts and not are_ids and nearest(str(name), list_columns(tables)):
            find_owners(str(name), tables)  # not image ids but values of a misspelt column, which the error names
        masks[str(name)] = conjunction(condition if is_several else [condition], tables)
        refuse_nothing(f"by: slice {name!r}", masks[str(name)])
    values = pl.Series("slice", list(masks), dtype=pl.Enum(list(masks)))
    about = {table for mask in masks.values() for table in mask}
    if len(about) > 1:
        return Key(place, "slice", SEVERAL, values, {}, masks)
    (table,) = about
    members = {}
    for owner in dict.fromkeys(owner for mask in masks.values() for owner in mask[table]):
        everything = columns_of(tables[owner], pl.repeat(True, pl.len())).to_series()
        rows = [mask[table].get(owner, everything).arg_true().to_frame("row") for mask in masks.values()]
        members[owner] = pl.concat(part.with_columns(code=pl.lit(code, pl.Int32)) for code, part in enumerate(rows))
    return Key(place, "slice", table, values, members, masks)


def _restricted(key: Key, only: _Only) -> Key:
    """Restrict a key to these of its values, in their order; rows with other values are in no slice."""
    values = only.values
    items = list(values) if isinstance(values, Iterable) and not isinstance(values, (str, bytes)) else [values]
    existing_values = key.values.to_list()
    unknown = [value for value in items if value not in existing_values]
    if unknown or not items:
        near = nearest(str(unknown[0]), [value for value in existing_values if isinstance(value, str)]) if unknown else ""
        problem = f"{only.column} has no value {listed(unknown)}" if unknown else f"no values of {only.column} are given"
        raise ParameterError(problem, near or f"there are {listed(existing_values, 12)}", option="by")
    positions = list(dict.fromkeys(existing_values.index(value) for value in items))
    codes = pl.DataFrame({"code": positions, "new": range(len(positions))}, schema={"code": pl.Int32, "new": pl.Int32})
    members = {
        table: rows.join(codes, on="code", maintain_order="left").select("row", code="new")
        for table, rows in key.members.items()
    }
    return replace(key, values=key.values.gather(positions), members=members)


def _distinct(word: str, columns_of_tables: Mapping[str, pl.Series]) -> tuple[pl.Series, dict[str, pl.DataFrame]]:
    """Return the sorted values of a column, null last, and each row's value, or those in its list."""
    rows = {table: items_of(column) for table, column in columns_of_tables.items()}
    columns = [frame["value"] for frame in rows.values()]
    nested = next((column for column in columns if column.dtype.is_nested()), None)
    if nested is not None:
        raise ParameterError(f"{word!r} holds {nested.dtype}, which cannot be used for slices", option="by")
    if len({_kind(column.dtype) for column in columns} - {"null"}) > 1:
        dtypes = " and ".join(f"{column.dtype} in {table}" for table, column in zip(columns_of_tables, columns, strict=True))
        raise ParameterError(f"{word!r} is {dtypes}", "cast one of them", option="by")
    if len({column.dtype for column in columns}) > 1 and _kind(columns[0].dtype) == "text":
        columns = [column.cast(pl.String) for column in columns]
    all_values = pl.concat([column.to_frame("value") for column in columns], how="vertical_relaxed")
    values = all_values["value"].unique().sort(nulls_last=True)
    places = values.to_frame().with_row_index("code").with_columns(pl.col("code").cast(pl.Int32))
    options: dict[str, Any] = {"on": "value", "how": "left", "nulls_equal": True, "maintain_order": "left"}
    members = {
        table: frame.cast({"value": values.dtype}).join(places, **options).select("row", "code")
        for table, frame in rows.items()
    }
    return values, members


def _kind(dtype: pl.DataType) -> str:
    """Return the family of a dtype, within which values can be compared."""
    if dtype.is_numeric():
        return "number"
    return {pl.Null: "null", pl.String: "text", pl.Categorical: "text"}.get(dtype.base_type(), str(dtype))


def _binned(key: Bins, columns_of_tables: Mapping[str, pl.Series]) -> tuple[pl.Series, dict[str, pl.DataFrame]]:
    """Return the labels of the intervals, null last, and the interval of each row's number."""
    for table, column in columns_of_tables.items():
        if not column.dtype.is_numeric():
            raise ParameterError(f"bins of {key.column}: numbers are needed, {table} holds {column.dtype}")
    edges = _quantile_edges(key, next(iter(columns_of_tables.values()))) if key.of_quantiles else key.edges
    n = len(edges) - 1
    if key.labels is not None and len(key.labels) != n:
        raise ParameterError(
            f"quantiles of {key.column}: equal values leave {n} intervals for {len(key.labels)} labels",
            "leave out the labels",
        )
    labels = key.labels or _labels(edges, ".6g")
    if len(set(labels)) < n:  # the edges differ in later digits
        labels = _labels(edges, "")
    codes = {}
    for table, column in columns_of_tables.items():
        number = column.cast(pl.Float64)
        if key.of_quantiles:
            lowest, highest = edges[0] if key.edges[0] == 0 else None, edges[-1] if key.edges[-1] == 1 else None
            number = number.clip(lowest, highest)
        place = pl.Series(edges).search_sorted(number, side="right").cast(pl.Int32) - 1
        place = place.to_frame("code").select(
            pl.when(number == edges[-1]).then(n - 1)
            .when(number.is_null() | number.is_nan() | ~pl.col("code").is_between(0, n - 1)).then(n)
            .otherwise("code").cast(pl.Int32)
        ).to_series()  # fmt: skip
        codes[table] = place
    has_null = any((code == n).any() for code in codes.values())
    members = {table: code.to_frame("code").with_row_index("row") for table, code in codes.items()}
    return pl.Series([*labels, None] if has_null else labels, dtype=pl.Enum(labels)), members


def _labels(edges: Sequence[float], digits: str) -> tuple[str, ...]:
    closing = [")"] * (len(edges) - 2) + ["]"]
    return tuple(f"[{a:{digits}}, {b:{digits}}{end}" for (a, b), end in zip(pairwise(edges), closing, strict=True))


def _quantile_edges(key: Bins, numbers: pl.Series) -> tuple[float, ...]:
    values = numbers.cast(pl.Float64).drop_nulls().drop_nans()
    if values.is_empty():
        raise ParameterError(f"quantiles of {key.column}: all its values are null")
    edges = sorted({float(values.quantile(p, "linear")) for p in key.edges})  # type: ignore[arg-type]
    if len(edges) < 2:
        raise ParameterError(f"quantiles of {key.column}: all its values are {edges[0]:g}")
    return tuple(edges)


def heights_of(self: Evaluation) -> dict[str, int]:
    """The number of rows of each table that can be grouped; pooled categories count as one."""
    return {**self._source.heights, "categories": self._pipeline.outline.lists.height}


def names_of_categories(self: Evaluation) -> pl.DataFrame:
    """Return category_id and name of the evaluated categories, by their ids."""
    return columns_of(self._source.tables()["categories"], "category_id", "name")


def check_level(self: Evaluation, level: str, levels: Sequence[str] = ("summary", "category")) -> None:
    """Raise an error if a level is unknown, or requires categories although these are pooled."""
    one_of("level", level, levels)
    if self._pipeline.outline.is_pooled and level != "summary":
        raise ParameterError(f'the categories are pooled: there is no level="{level}"')


def refuse_keys(self: Evaluation, keys: Sequence[Key], column_names: set[str]) -> None:
    """Raise an error if keys have the names of other columns of the result."""
    for place, key in enumerate(keys):
        if key.name in [other.name for other in keys[:place]]:
            raise ParameterError(f"{key.name} is given twice", option="by")
        if key.name in column_names:
            raise ParameterError(
                f"the result has a column {key.name!r} of its own", f"rename that of the {key.table}", option="by"
            )
        about = {key.table, *(table for masks in key.masks.values() for table in masks)}
        if "categories" in about and self._pipeline.outline.is_pooled:
            raise ParameterError(f"{key.name} is of the categories, which are pooled", option="by")
