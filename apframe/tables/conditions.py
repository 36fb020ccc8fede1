"""Conditions on the columns of the four tables, as SQL text, expressions or lists of image ids, and the rows that meet them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NoReturn

import polars as pl

from apframe.columns import exact
from apframe.exceptions import ParameterError
from apframe.tables.lazy_table import LazyTable
from apframe.tables.schemas import OUTSIDE, TABLES
from apframe.wording import did_you_mean, first_line, listed, nearest, option_name

Table = pl.DataFrame | LazyTable  # the latter is read when its columns are used
Tables = Mapping[str, Table]
Masks = Mapping[str, Mapping[str, pl.Series]]  # see `conjunction`
Condition = str | pl.Expr | Sequence[int | str] | pl.Series
"""SQL text, an expression over columns of one table, or image ids."""
_OBJECTS = ["annotations", "detections"]  # one column in both is one key
_REFERENCES = {"image_id": "images", "category_id": "categories"}  # in other tables, these are references
_OF_CATEGORIES = ("category", "category_name", "class", "class_name", "label")  # other words for the name of a category
_QUOTE = '"'
_QUALIFIED = re.compile(  # a column with its table, outside of texts and of names in quotes
    r"""'[^']*'|"[^"]*"(?!\.)|\b(?P<table>images|categories|annotations|detections)\.(?P<column>\w+|"[^"]+")"""
)


def names_in(table: Table) -> list[str]:
    """Return the names of the columns of a table.

    >>> names_in(LazyTable(pl.LazyFrame({"a": [1]}).lazy))
    ['a']
    """
    plan = table if isinstance(table, pl.DataFrame) else (table.unnamed or table.plan)()
    return plan.collect_schema().names()


def columns_of(table: Table, *columns: Any) -> pl.DataFrame:
    """Return some columns of a table, given as for `pl.DataFrame.select`.

    >>> columns_of(LazyTable(pl.LazyFrame({"a": [1, 2]}).lazy), pl.col("a") + 1)["a"].to_list()
    [2, 3]
    """
    if isinstance(table, pl.DataFrame):
        return table.select(*columns)
    return table.plan().select(*columns).collect() if table.select is None else table.select(*columns)


def column_of(table: Table, name: str) -> pl.Series:
    """Return the column of a table with exactly this name.

    >>> column_of(pl.DataFrame({"a": [1, 2]}), "a").to_list()
    [1, 2]
    """
    return columns_of(table, exact(name)).to_series()


def refuse_nothing(what: str, masks: Masks) -> None:
    """Raise an error if no image or no category meets the conditions."""
    for table, thing in (("images", "image"), ("categories", "category")):
        if table in masks and not masks[table][table].any():
            raise ParameterError(f"{what}: no {thing} meets the conditions")


def conjunction(conditions: Iterable[Any], tables: Tables) -> dict[str, dict[str, pl.Series]]:
    """Flag the rows that meet all conditions, for each of the four tables that they concern: by table, then by owner.

    A condition is an expression over columns of one table, a list of image ids, or SQL text, where each part between the
    outermost ANDs may use another table. Null counts as false. The masks of objects are under "annotations", for the
    annotations and, if they have all columns, the detections.

    >>> tables = {"images": pl.DataFrame({"image_id": [1, 2], "weather": ["fog", None]})}
    >>> conjunction([pl.col("weather") == "fog"], tables)["images"]["images"].to_list()
    [True, False]
    >>> conjunction(["image_id > 1 AND weather IS NULL"], tables)["images"]["images"].to_list()
    [False, True]
    """
    combined: dict[str, dict[str, pl.Series]] = {}
    parts = [part for each in conditions for part in (_parts_of_sql(each, tables) if isinstance(each, str) else [each])]
    for condition in parts:
        masks = _evaluated(condition, tables) if isinstance(condition, pl.Expr) else _listed_images(condition, tables)
        of_table = combined.setdefault(next(iter(masks)), {})
        for owner, mask in masks.items():
            of_table[owner] = mask & of_table[owner] if owner in of_table else mask
    return combined


def choose_categories(categories: pl.DataFrame, chosen: Sequence[int | str] | None) -> pl.Series | None:
    """Return the ids of categories given by id or name; None for None."""
    if chosen is None:
        return None
    ids, names = categories["category_id"], categories["name"]
    as_text = ids.cast(pl.String)
    chosen = [chosen] if isinstance(chosen, (int, str)) else list(chosen)
    matches: list[pl.Series] = []
    for value in chosen:
        # a text is a name, or an id where no category has that name; an integer is an id
        by_name = ids.filter(names == value) if isinstance(value, str) else ids.clear()
        matches.append(ids.filter(as_text == str(value)) if by_name.is_empty() else by_name)
    unknown = [value for value, matching in zip(chosen, matches, strict=True) if matching.is_empty()]
    if unknown or not matches:
        existing = f"there are {listed(names.fill_null(as_text).to_list(), 12)}"
        near = nearest(str(unknown[0]), names.drop_nulls().to_list()) if len(unknown) == 1 else ""
        raise ParameterError(f"no category {listed(unknown) or 'was named'}", near or existing)
    return pl.concat(matches).unique()


def find_owners(word: str, tables: Tables) -> tuple[str, list[str]]:
    """Return the column that a word names, and the tables that have it; raise an error with near names if none has."""
    columns = {
        table: [name for name in names_in(frame) if name != OUTSIDE and _REFERENCES.get(name, table) == table]
        for table, frame in tables.items()
    }
    owners = [table for table, names in columns.items() if word in names]
    if owners:
        return word, owners
    table, _, column = word.partition(".")
    if column in columns.get(table, ()):
        return column, [table]
    column_names = columns.get(table) if column else None
    where = table if column_names else ", ".join(tables)
    raise ParameterError(
        f"{where}: no column {column if column_names else word!r}",
        _meant(column if column_names else word, column_names, columns),
    )


def _meant(word: str, table_columns: list[str] | None, columns: Mapping[str, list[str]]) -> str:
    """Suggest columns of a table, or of all tables: attributes come first, beginning with those of the images."""
    of_tables = {table: {column.name for column in TABLES[table]} for table in columns}
    attributes = [name for table, names in columns.items() for name in names if name not in of_tables[table]]
    names = table_columns or list(dict.fromkeys([*attributes, *(name for names in columns.values() for name in names)]))
    of_images = [name for name in columns.get("images", ()) if name in attributes]
    if word.lower() in _OF_CATEGORIES and "name" in names:
        return "did you mean name?"
    if near := (not table_columns and nearest(word, of_images)) or nearest(word, names):
        return near
    further = "" if table_columns else f"; columns of a table of your own come with {option_name('image_attributes')}"
    return f"{did_you_mean(word, names)}{further}"


def list_columns(tables: Tables) -> list[str]:
    """Return the names of all columns, each once.

    >>> list_columns({"images": pl.DataFrame({"image_id": [1]}), "annotations": pl.DataFrame({"image_id": [1], "x": [0]})})
    ['image_id', 'x']
    """
    return list(dict.fromkeys(name for frame in tables.values() for name in names_in(frame)))


def refuse_ambiguous(word: str, column: str, owners: list[str]) -> None:
    """Raise an error if several tables have a column; annotations and detections may share it, as one key."""
    if len(owners) > 1 and owners != _OBJECTS:
        qualified = " or ".join(f'"{table}.{column}"' for table in owners)
        raise ParameterError(f"{word!r} is a column of {' and of '.join(owners)}", f"say {qualified}")


def items_of(column: pl.Series) -> pl.DataFrame:
    """Return `row` and `value`: for lists, a row for each different item, null if empty; otherwise a row for each value.

    >>> items_of(pl.Series([["a", "b"], []])).rows()
    [(0, 'a'), (0, 'b'), (1, None)]
    """
    rows = column.to_frame("value").with_row_index("row")
    if isinstance(column.dtype, pl.Array):
        rows = rows.with_columns(pl.col("value").arr.to_list())
    if not isinstance(rows["value"].dtype, pl.List) or rows["value"].dtype.inner.is_nested():
        return rows
    items = pl.col("value").list.drop_nulls().list.unique(maintain_order=True)
    return rows.with_columns(items).explode("value", empty_as_null=True, keep_nulls=True)


def _parts_of_sql(text: str, tables: Tables) -> list[pl.Expr]:
    """Return the expressions between the outermost ANDs of SQL text, with qualified columns as "table.column"."""
    try:
        condition = pl.sql_expr(_QUALIFIED.sub(_one_name, text))
    except pl.exceptions.PolarsError as error:
        raise ParameterError(
            f"the condition {text!r} cannot be read as SQL ({first_line(error)})", "write it as in \"weather = 'fog'\""
        ) from None
    for word in condition.meta.root_names():
        try:
            find_owners(word, tables)
        except ParameterError as error:
            is_value = re.search(rf'[=(,]\s*"?{re.escape(word)}\b', text)
            quotes = f"; if {word} is text, write it in single quotes: '{word}'" if is_value else ""
            raise ParameterError(error.problem, error.remedy + quotes) from None
    return _sides_of_ands(condition)


def _one_name(match: re.Match[str]) -> str:
    table, column = match["table"], match["column"]
    return f'"{table}.{column.strip(_QUOTE)}"' if table else match[0]


def _sides_of_ands(condition: pl.Expr) -> list[pl.Expr]:
    sides = condition.meta.pop()[::-1]
    if len(sides) == 2 and (sides[0] & sides[1]).meta.eq(condition):
        return [part for side in sides for part in _sides_of_ands(side)]
    return [condition]


def _evaluated(condition: pl.Expr, tables: Tables) -> dict[str, pl.Series]:
    """Flag the rows that meet an expression, in the tables that have all its columns."""
    words = condition.meta.root_names()
    if not words:
        is_pattern = condition.meta.has_multiple_outputs()
        hint = '; Polars treats "*" and "^...$" as patterns: write pl.col("images.*")' if is_pattern else ""
        raise ParameterError('a condition must name its columns, as in pl.col("weather") == "fog"', f"got {condition}{hint}")
    deciding = [word for word in words if word not in _REFERENCES] or words  # other tables have these ids too
    owners_of = {word: find_owners(word, tables) for word in deciding}
    owners = [table for table in tables if all(table in owners for _, owners in owners_of.values())]
    if not owners:
        shown = ", ".join(f"{word} ({' and '.join(owners)})" for word, (_, owners) in owners_of.items())
        raise ParameterError(
            f"a condition must use one table, but this one uses several: {shown}",
            "join conditions on different tables with AND; for OR, evaluate each side separately",
        )
    word, (column, _) = next(iter(owners_of.items()))
    refuse_ambiguous(word, column, owners)
    masks = {}
    for table in owners:
        ids = [word for word in words if word not in deciding and word in names_in(tables[table])]
        frame = columns_of(tables[table], *ids, *(exact(column).alias(word) for word, (column, _) in owners_of.items()))
        try:
            mask = frame.with_columns(condition.alias("\0inside"))["\0inside"]
        except pl.exceptions.PolarsError as error:
            raise ParameterError(f"the condition {condition} cannot be computed on {table}: {first_line(error)}") from None
        if mask.dtype != pl.Boolean:
            raise ParameterError(f"a condition must be true or false, but {condition} is {mask.dtype}")
        masks[table] = mask.fill_null(False)
    return masks


def _refuse_values(values: Mapping[Any, Any], tables: Tables) -> NoReturn:
    """Raise the error for a dict of columns and values in place of a condition, with the call that filters by these."""
    if not values:
        raise ParameterError("a condition is SQL text or an expression, not an empty dict")
    problem = "a condition is SQL text or an expression, not a column with its value"
    try:
        for name in values:
            find_owners(str(name), tables)
    except ParameterError as error:
        raise ParameterError(problem, str(error)) from None
    words = [_condition_for(str(name), value) for name, value in values.items()]
    raise ParameterError(problem, f"write where({', '.join(words)})" if all(words) else "")


def _condition_for(name: str, value: Any) -> str:
    """Return an expression that is true where a column has a value, or one of several; "" for other kinds of values.

    >>> _condition_for("weather", "fog"), _condition_for("lane", [1, 2]), _condition_for("lane", None)
    ('pl.col("weather") == "fog"', 'pl.col("lane").is_in([1, 2])', 'pl.col("lane").is_null()')
    """
    column = f"pl.col({json.dumps(name, ensure_ascii=False)})"
    if value is None:
        return f"{column}.is_null()"
    if isinstance(value, (str, int, float)):
        return f"{column} == {json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)}"
    are_values = isinstance(value, (list, tuple, set)) and all(isinstance(each, (str, int, float)) for each in value)
    return f"{column}.is_in({list(value)})" if are_values else ""


def _listed_images(ids: Any, tables: Tables) -> dict[str, pl.Series]:
    image_ids = column_of(tables["images"], "image_id")
    if isinstance(ids, Mapping):
        _refuse_values(ids, tables)
    if isinstance(ids, (str, bytes, int, float)) or not isinstance(ids, Iterable):
        raise ParameterError(f"a condition must be SQL text, a Polars expression or a list of image ids, not {ids!r}")
    ids = ids if isinstance(ids, pl.Series) else list(ids)
    if (isinstance(ids, pl.Series) and ids.dtype == pl.Boolean) or any(isinstance(value, (bool, pl.Expr)) for value in ids):
        raise ParameterError(
            "a list must hold image ids, not Booleans or expressions",
            'pass expressions as separate arguments, as pl.col("weather") == "fog"',
        )
    try:
        requested_ids = pl.Series(ids, dtype=image_ids.dtype, strict=True)
    except (TypeError, pl.exceptions.PolarsError):
        raise ParameterError(f"image ids look like {image_ids.first()!r}, but the list is {ids!r}") from None
    unknown = requested_ids.filter(~requested_ids.is_in(image_ids.implode())).unique(maintain_order=True).to_list()
    if unknown:
        raise ParameterError(f"there are no images {listed(unknown)}")
    return {"images": image_ids.is_in(requested_ids.implode())}
