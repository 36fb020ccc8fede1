"""What slices are made of: columns of the four tables, bins of their numbers, and named conditions.

A column belongs to the table that has it. One of the images tells images apart, one of the categories tells categories apart.
One of the annotations is a key of the objects, and the detections' column of the same name belongs to it; one that only the
detections have tells these apart. `"annotations.occlusion"` names the table too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import polars as pl

from apframe.columns import exact
from apframe.exceptions import ParameterError, did_you_mean, first_line, listed
from apframe.schema import OUTSIDE

Tables = Mapping[str, pl.DataFrame]
Masks = Mapping[str, Mapping[str, pl.Series]]  # see `conjunction`
SEVERAL = "several"  # the table of named slices that are about more than one
_OBJECTS = ["annotations", "detections"]  # one column in both is one key
_REFERENCES = {"image_id": "images", "category_id": "categories"}  # in other tables, these only refer


@dataclass(frozen=True)
class Bins:
    """A key of intervals of a number, see `bins`; `edges` are probabilities where `of_quantiles` says so."""

    column: str
    edges: tuple[float, ...]
    labels: tuple[str, ...] | None = None
    of_quantiles: bool = False


Condition = pl.Expr | Sequence[int | str] | pl.Series  # of a subset: an expression over columns of one table, or image ids
SliceKey = str | Bins | Mapping[str, Condition | Sequence[pl.Expr]]  # of slices: a column, bins of one, named conditions


@dataclass(frozen=True)
class Key:
    """One key of slices: which rows have which of its values.

    `place` is its place among the keys. `table` is the table that it divides: images, categories, annotations (with the
    detections that carry it too) or detections.
    `values` are what the result shows, in its order. `members` has a frame for each table that carries the key: `row` (a row
    number) and `code` (a place in `values`); named slices may share rows. `masks` are those of named slices; where these are
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
        """What columns of its codes are called: `name` is from the data, and may be a pattern or that of another column."""
        return f"code {self.place}"


def bins(column: str, edges: Iterable[float], labels: Sequence[str] | None = None) -> Bins:
    """A key for `Evaluation.by`: intervals of a number, [a, b) each, the last one with its upper end.

    Parameters
    ----------
    column
        of any of the four tables; may be qualified, as in "annotations.occlusion"
    edges
        strictly increasing, at least two; numbers outside all intervals, and null, are the slice null
    labels
        what the slices are called, one for each interval; "[0, 0.3)" and so on by default

    >>> bins("occlusion", [0, 0.3, 1]).edges
    (0.0, 0.3, 1.0)
    """
    try:
        numbers = tuple(float(edge) for edge in edges)
    except (TypeError, ValueError):
        raise ParameterError(f"bins of {column}: edges are numbers, got {edges!r}") from None
    if len(numbers) < 2 or not all(a < b for a, b in pairwise(numbers)):
        raise ParameterError(f"bins of {column}: edges must increase, and be at least two, got {list(numbers)}")
    if labels is not None and (len(labels) != len(numbers) - 1 or len(set(labels)) < len(labels)):
        raise ParameterError(f"bins of {column}: {len(numbers) - 1} different labels are needed, got {list(labels)}")
    return Bins(column, numbers, None if labels is None else tuple(map(str, labels)))


def quantiles(column: str, n: int | Iterable[float], labels: Sequence[str] | None = None) -> Bins:
    """A key for `Evaluation.by`: intervals of a number that hold about as many rows each.

    Parameters
    ----------
    column
        as in `bins`; the edges are quantiles of the annotations where these have it, and what detections have below the lowest
        and above the highest of these belongs to the first and the last interval
    n
        how many intervals, or the probabilities of their edges, from 0 to 1
    labels
        as in `bins`; where so many values are equal that intervals would be empty, there are fewer of them, and the default
        labels are right

    >>> quantiles("area", 4).edges
    (0.0, 0.25, 0.5, 0.75, 1.0)
    """
    if isinstance(n, int) and (n < 1 or isinstance(n, bool)):
        raise ParameterError(f"quantiles of {column}: at least 1 is needed, got {n}")
    made = bins(column, [k / n for k in range(n + 1)] if isinstance(n, int) else n, labels)
    if made.edges[0] < 0 or made.edges[-1] > 1:
        raise ParameterError(f"quantiles of {column}: probabilities lie in [0, 1], got {list(made.edges)}")
    return replace(made, of_quantiles=True)


def _make_key(place: int, key: Any, tables: Tables) -> Key:
    """The key of a column, or of bins of it."""
    word = key.column if isinstance(key, Bins) else key
    if not isinstance(word, str):
        hints = {pl.Expr: '; name a condition: by({"small": condition})', list: "; give keys one by one"}
        raise ParameterError(
            "a key is a column's name, apframe.bins, apframe.quantiles or a dict of conditions"
            f"{hints.get(type(word), '')}; got {word}",
            option="by",
        )
    column, owners = _owners(word, tables)
    _refuse_ambiguous(word, column, owners)
    found = {table: tables[table][column].alias("value") for table in owners}
    if isinstance(key, Bins):
        values, codes = _binned(key, found)
    else:
        values, codes = _distinct(word, found)
    members = {table: code.to_frame("code").with_row_index("row") for table, code in codes.items()}
    return Key(place, column, owners[0], values, members)


def make_keys(keys: Sequence[Any], tables: Tables) -> list[Key]:
    """The keys of columns, bins and named slices, in their order.

    Parameters
    ----------
    keys
        names of columns, `Bins`, and at most one dict from names to conditions (several expressions in a list must all hold)
    tables
        the four, or some of them, as they are evaluated

    >>> tables = {"images": pl.DataFrame({"image_id": [1, 2, 3], "n": [4, 1, None]})}
    >>> bins_of_n, low = make_keys([bins("n", [0, 2, 4]), {"low": pl.col("n") < 3}], tables)
    >>> bins_of_n.values.to_list(), bins_of_n.members["images"]["code"].to_list()
    (['[0, 2)', '[2, 4]', None], [1, 0, 2])
    >>> low.members["images"].rows()
    [(1, 0)]
    """
    if sum(isinstance(key, Mapping) for key in keys) > 1:
        raise ParameterError("give all named slices in one dict", option="by")
    return [
        _named_slices(place, key, tables) if isinstance(key, Mapping) else _make_key(place, key, tables)
        for place, key in enumerate(keys)
    ]


def refuse_nothing(what: str, masks: Masks) -> None:
    """An error where no image or no category is inside."""
    for table, thing in (("images", "image"), ("categories", "category")):
        if table in masks and not masks[table][table].any():
            raise ParameterError(f"{what}: no {thing} meets the conditions")


def _named_slices(place: int, slices: Mapping[str, Any], tables: Tables) -> Key:
    """The key of named conditions, which may overlap; an error where there are none, or nothing to evaluate in one."""
    if not slices:
        raise ParameterError("the dict of slices is empty", option="by")
    masks: dict[str, Masks] = {}
    for name, condition in slices.items():
        is_several = isinstance(condition, (list, tuple)) and condition and all(isinstance(c, pl.Expr) for c in condition)
        masks[str(name)] = conjunction(condition if is_several else [condition], tables)
        refuse_nothing(f"by: slice {name!r}", masks[str(name)])
    values = pl.Series("slice", list(masks), dtype=pl.Enum(list(masks)))
    about = {table for mask in masks.values() for table in mask}
    if len(about) > 1:
        return Key(place, "slice", SEVERAL, values, {}, masks)
    (table,) = about
    members = {}
    for owner in dict.fromkeys(owner for mask in masks.values() for owner in mask[table]):
        everything = pl.repeat(True, tables[owner].height, eager=True)
        rows = [mask[table].get(owner, everything).arg_true().to_frame("row") for mask in masks.values()]
        members[owner] = pl.concat(part.with_columns(code=pl.lit(code, pl.Int32)) for code, part in enumerate(rows))
    return Key(place, "slice", table, values, members, masks)


def conjunction(conditions: Iterable[Any], tables: Tables) -> dict[str, dict[str, pl.Series]]:
    """Which rows meet all conditions, for each of the four tables that they are about: by table, then by owner.

    A condition is an expression over columns of one table, or a list of image ids. Null is outside. The masks of the objects
    stand under "annotations", for the annotations and, where these carry all columns, the detections.

    >>> tables = {"images": pl.DataFrame({"image_id": [1, 2], "weather": ["fog", None]})}
    >>> conjunction([pl.col("weather") == "fog"], tables)["images"]["images"].to_list()
    [True, False]
    """
    found: dict[str, dict[str, pl.Series]] = {}
    for condition in conditions:
        masks = _evaluated(condition, tables) if isinstance(condition, pl.Expr) else _listed_images(condition, tables["images"])
        of_table = found.setdefault(next(iter(masks)), {})
        for owner, mask in masks.items():
            of_table[owner] = mask & of_table[owner] if owner in of_table else mask
    return found


def _owners(word: str, tables: Tables) -> tuple[str, list[str]]:
    """The column that a word names, and the tables that have it; an error with the near names where none has."""
    columns = {
        table: [name for name in frame.columns if name != OUTSIDE and _REFERENCES.get(name, table) == table]
        for table, frame in tables.items()
    }
    owners = [table for table, names in columns.items() if word in names]
    if owners:
        return word, owners
    table, _, column = word.partition(".")
    if column in columns.get(table, ()):
        return column, [table]
    known = columns.get(table) if column else None
    where = table if known else ", ".join(tables)
    names = known or list(dict.fromkeys(name for names in columns.values() for name in names))
    raise ParameterError(f"{where}: no column {column if known else word!r}", did_you_mean(column if known else word, names))


def _refuse_ambiguous(word: str, column: str, owners: list[str]) -> None:
    if len(owners) > 1 and owners != _OBJECTS:
        qualified = " or ".join(f'"{table}.{column}"' for table in owners)
        raise ParameterError(f"{word!r} is a column of {' and of '.join(owners)}", f"say {qualified}")


def _distinct(word: str, found: Mapping[str, pl.Series]) -> tuple[pl.Series, dict[str, pl.Series]]:
    """The values of a column, sorted, null last, and the place of each row's value among them."""
    nested = next((column for column in found.values() if column.dtype.is_nested()), None)
    if nested is not None:
        raise ParameterError(f"{word!r} holds {nested.dtype}, of which no slices can be made", option="by")
    if len({_kind(column.dtype) for column in found.values()} - {"null"}) > 1:
        dtypes = " and ".join(f"{column.dtype} in {table}" for table, column in found.items())
        raise ParameterError(f"{word!r} is {dtypes}", "cast one of them", option="by")
    columns = list(found.values())
    if len({column.dtype for column in columns}) > 1 and _kind(columns[0].dtype) == "text":
        columns = [column.cast(pl.String) for column in columns]
    together = pl.concat([column.to_frame("value") for column in columns], how="vertical_relaxed")
    values = together["value"].unique().sort(nulls_last=True)
    places = values.to_frame().with_row_index("code").with_columns(pl.col("code").cast(pl.Int32))
    options: dict[str, Any] = {"on": "value", "how": "left", "nulls_equal": True, "maintain_order": "left"}
    codes = {
        table: column.cast(values.dtype).to_frame("value").join(places, **options)["code"] for table, column in found.items()
    }
    return values, codes


def _kind(dtype: pl.DataType) -> str:
    """What dtypes have in common that can be compared."""
    if dtype.is_numeric():
        return "number"
    return {pl.Null: "null", pl.String: "text", pl.Categorical: "text"}.get(dtype.base_type(), str(dtype))


def _binned(key: Bins, found: Mapping[str, pl.Series]) -> tuple[pl.Series, dict[str, pl.Series]]:
    """The labels of the intervals, null last, and the interval of each row's number."""
    for table, column in found.items():
        if not column.dtype.is_numeric():
            raise ParameterError(f"bins of {key.column}: numbers are needed, {table} holds {column.dtype}")
    edges = _quantile_edges(key, next(iter(found.values()))) if key.of_quantiles else key.edges
    n = len(edges) - 1
    if key.labels is not None and len(key.labels) != n:
        raise ParameterError(
            f"quantiles of {key.column}: so many values are equal that there are {n} intervals, not {len(key.labels)}",
            "leave out labels",
        )
    labels = key.labels or _labels(edges, ".6g")
    if len(set(labels)) < n:  # the edges differ in later digits
        labels = _labels(edges, "")
    codes = {}
    for table, column in found.items():
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
    return pl.Series([*labels, None] if has_null else labels, dtype=pl.Enum(labels)), codes


def _labels(edges: Sequence[float], digits: str) -> tuple[str, ...]:
    closing = [")"] * (len(edges) - 2) + ["]"]
    return tuple(f"[{a:{digits}}, {b:{digits}}{end}" for (a, b), end in zip(pairwise(edges), closing, strict=True))


def _quantile_edges(key: Bins, numbers: pl.Series) -> tuple[float, ...]:
    found = numbers.cast(pl.Float64).drop_nulls().drop_nans()
    if found.is_empty():
        raise ParameterError(f"quantiles of {key.column}: all its values are null")
    edges = sorted({float(found.quantile(p, "linear")) for p in key.edges})  # type: ignore[arg-type]
    if len(edges) < 2:
        raise ParameterError(f"quantiles of {key.column}: all its values are {edges[0]:g}")
    return tuple(edges)


def _evaluated(condition: pl.Expr, tables: Tables) -> dict[str, pl.Series]:
    """The rows that meet an expression, in the tables that have all its columns."""
    words = condition.meta.root_names()
    if not words:
        is_pattern = condition.meta.has_multiple_outputs()
        hint = '; Polars reads "*" and "^...$" as patterns: write pl.col("images.*")' if is_pattern else ""
        raise ParameterError(
            'a condition names the columns that it is about, as in pl.col("weather") == "fog"', f"got {condition}{hint}"
        )
    deciding = [word for word in words if word not in _REFERENCES] or words  # other tables have these ids too
    owners_of = {word: _owners(word, tables) for word in deciding}
    owners = [table for table in tables if all(table in owners for _, owners in owners_of.values())]
    if not owners:
        shown = ", ".join(f"{word} ({' and '.join(owners)})" for word, (_, owners) in owners_of.items())
        raise ParameterError(
            f"a condition is about one table, this one is about several: {shown}",
            "give one condition for each, they are combined with and (there is no or across tables)",
        )
    word, (column, _) = next(iter(owners_of.items()))
    _refuse_ambiguous(word, column, owners)
    masks = {}
    for table in owners:
        ids = [word for word in words if word not in deciding and word in tables[table].columns]
        frame = tables[table].select(*ids, *(exact(column).alias(word) for word, (column, _) in owners_of.items()))
        try:
            mask = frame.with_columns(condition.alias("\0inside"))["\0inside"]
        except pl.exceptions.PolarsError as error:
            raise ParameterError(f"the condition {condition} cannot be computed on {table}: {first_line(error)}") from None
        if mask.dtype != pl.Boolean:
            raise ParameterError(f"a condition is true or false, {condition} is {mask.dtype}")
        masks[table] = mask.fill_null(False)
    return masks


def _listed_images(ids: Any, images: pl.DataFrame) -> dict[str, pl.Series]:
    known = images["image_id"]
    if isinstance(ids, (str, bytes, int, float)) or not isinstance(ids, Iterable):
        raise ParameterError(f"a condition is a Polars expression or a list of image ids, not {ids!r}")
    ids = ids if isinstance(ids, pl.Series) else list(ids)
    if (isinstance(ids, pl.Series) and ids.dtype == pl.Boolean) or any(isinstance(value, (bool, pl.Expr)) for value in ids):
        raise ParameterError(
            "a list holds image ids, not true and false, nor expressions",
            'give expressions one by one, as pl.col("weather") == "fog"',
        )
    try:
        wanted = pl.Series(ids, dtype=known.dtype, strict=True)
    except (TypeError, pl.exceptions.PolarsError):
        raise ParameterError(f"a list of image ids holds ids such as {known.first()!r}, got {ids!r}") from None
    unknown = wanted.filter(~wanted.is_in(known.implode())).unique(maintain_order=True).to_list()
    if unknown:
        raise ParameterError(f"there are no images {listed(unknown)}")
    return {"images": known.is_in(wanted.implode())}
