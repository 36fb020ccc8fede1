"""Category maps: renaming and merging of categories by name, in the ground truth and in detections."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from apframe.exceptions import ColumnError, FormatError, ParameterError, UnknownCategoryWarning, warn
from apframe.option_values import one_of
from apframe.paths import opened
from apframe.tables.column_sources import to_polars
from apframe.tables.ids import is_known
from apframe.tables.names import labels_of
from apframe.tables.types import with_ids
from apframe.wording import did_you_mean, listed, nearest, option_name, reason

UNMAPPED = ("keep", "drop", "error")
_COLUMNS = ["category_id", "name", "new_category_id", "new_name"]


def read_category_map(source: Any) -> dict[str, str | None]:
    """Return the new name of each category in the map, None for categories that are left out.

    Parameters
    ----------
    source
        a dict from names, or ids, to names or None; or a table with the columns `from` and `to`, as anything that holds
        columns or a CSV, JSON or Parquet file. A JSON file may also hold one object, from names to names

    >>> read_category_map({"truck": "vehicle", 3: "vehicle"})
    {'truck': 'vehicle', '3': 'vehicle'}
    >>> read_category_map(pl.DataFrame({"from": ["truck", "misc"], "to": ["vehicle", None]}))
    {'truck': 'vehicle', 'misc': None}
    """
    if isinstance(source, (str, Path)) and Path(source).suffix.lower() == ".json":
        source = _json_object(Path(source)) or source
    is_table = not isinstance(source, Mapping) or isinstance(source.get("from"), (list, tuple, pl.Series))
    pairs = _pairs_of_table(source) if is_table else list(source.items())
    wrong = [pair for pair in pairs if not isinstance(pair[0], (int, str)) or not isinstance(pair[1], (str, type(None)))]
    if wrong or not pairs:
        problem = f"maps {wrong[0][0]!r} to {wrong[0][1]!r}" if wrong else "it is empty"
        raise ParameterError(f"{problem}", 'map names to names, as in {"truck": "vehicle"}', option="category_map")
    return {str(old): new or None for old, new in pairs}


def _json_object(path: Path) -> dict[str, Any] | None:
    try:
        with opened(path) as file:
            content = json.load(file)
    except (OSError, ValueError, RecursionError) as error:
        raise FormatError(f"cannot read {path} as JSON: {reason(error)}", table="category_map") from error
    return content if isinstance(content, dict) else None


def _pairs_of_table(source: Any) -> list[tuple[Any, Any]]:
    table = to_polars(source, "category_map")
    missing = [name for name in ("from", "to") if name not in table.columns]
    if missing:
        there = f"there are {', '.join(table.columns) or 'none'}"
        raise ColumnError(
            f"no column {' and '.join(missing)}", f"name the two columns from and to; {there}", table="category_map"
        )
    twice = table["from"].filter(table["from"].is_duplicated()).unique(maintain_order=True)
    if len(twice):
        raise ParameterError(f"has several rows for {listed(twice.to_list())}", "keep one of these rows", option="category_map")
    return table.select("from", "to").rows()


def merge_categories(categories: pl.DataFrame, category_map: Any, unmapped: str) -> pl.DataFrame:
    """Return the new id and name of each category.

    A key of the map is the name of a category, or an id if no category has this name. Categories with the same new name become
    one, with the id of the category that already had the name, or else of the first. If ids are names, as in formats without
    separate ids, the new name becomes the id.

    Returns
    -------
    The old `category_id` and `name`, and `new_category_id` and `new_name`, null for categories that are left out. Names in the
    map that no category has get rows without a category_id: detections may have them.

    >>> categories = pl.DataFrame({"category_id": [1, 2, 3], "name": ["car", "truck", "cat"]})
    >>> merge_categories(categories, {"truck": "vehicle", "car": "vehicle", "van": "vehicle"}, "keep").rows()
    [(1, 'car', 1, 'vehicle'), (2, 'truck', 1, 'vehicle'), (3, 'cat', 3, 'cat'), (None, 'van', 1, 'vehicle')]
    """
    one_of("unmapped", unmapped, UNMAPPED)
    renames = read_category_map(category_map)
    table = categories.select("category_id", name=labels_of("categories", categories))
    by_name, by_id = (table[column].cast(pl.String).alias(column) for column in ("name", "category_id"))
    key = pl.coalesce(*(pl.when(words.is_in(list(renames))).then(words) for words in (by_name, by_id)))
    table = table.with_columns(key=key)
    _refuse_unmapped(table, unmapped)
    _warn_of_unknown(table, renames)
    new = pl.col("key").replace_strict(list(renames), list(renames.values()), default=None, return_dtype=pl.String)
    kept = pl.col("name") if unmapped == "keep" else pl.lit(None, pl.String)
    table = table.with_columns(new_name=pl.when(pl.col("key").is_null()).then(kept).otherwise(new))
    first = pl.col("category_id").sort_by(pl.col("name") != pl.col("new_name"), maintain_order=True).first().over("new_name")
    new_id = pl.col("new_name") if by_id.equals(by_name) else first
    table = table.with_columns(new_category_id=pl.when(pl.col("new_name").is_not_null()).then(new_id))
    others = [(old, to) for old, to in renames.items() if old not in set(table["key"])]
    further = pl.DataFrame(others, schema={"name": pl.String, "new_name": pl.String}, orient="row")
    new_ids = table.select("new_name", "new_category_id").drop_nulls().unique("new_name")
    further = further.join(new_ids, on="new_name", how="left", maintain_order="left")
    no_id = pl.lit(None, table.schema["category_id"]).alias("category_id")
    return pl.concat([table.select(_COLUMNS), further.select(no_id, *_COLUMNS[1:])])


def _refuse_unmapped(table: pl.DataFrame, unmapped: str) -> None:
    names = table["name"].filter(table["key"].is_null())
    if unmapped == "error" and len(names):
        remedy = f"map them too, or keep or drop them ({option_name('unmapped', 'keep')})"
        raise ParameterError(f"does not map {listed(names.to_list())}", remedy, option="category_map")


def _warn_of_unknown(table: pl.DataFrame, renames: Mapping[str, str | None]) -> None:
    """Raise an error if the map names no category; warn if a name in the map nearly matches an unmapped category."""
    names, is_mapped = table["name"].to_list(), table["key"].is_not_null()
    if len(table) and not is_mapped.any():
        raise ParameterError(
            f"matches no category: {listed(list(renames))}", did_you_mean(next(iter(renames)), names), option="category_map"
        )
    others = table["name"].filter(~is_mapped).to_list()
    near = {old: nearest(old, others) for old in renames if old not in set(table["key"])}
    questions = [f"{old!r}, {question}" for old, question in near.items() if question]
    if questions:
        warn(f"category_map: no category is called {'; nor '.join(questions)}", UnknownCategoryWarning)


def describe_map(merged: pl.DataFrame) -> str:
    """Describe in one line the categories that were renamed, merged and left out; "" without any. Unknown names are skipped.

    >>> categories = pl.DataFrame({"category_id": [1, 2, 3, 4], "name": ["car", "truck", "cat", "misc"]})
    >>> describe_map(merge_categories(categories, {"car": "vehicle", "truck": "vehicle", "misc": None, "toad": "frog"}, "keep"))
    'categories mapped: vehicle = car + truck; left out: misc'
    """
    is_there = pl.col("category_id").is_not_null() | pl.col("new_category_id").is_not_null()
    groups = merged.filter(is_there).group_by("new_name", maintain_order=True).agg("name")
    changed = [f"{new} = {' + '.join(names)}" for new, names in groups.iter_rows() if new is not None and names != [new]]
    left_out = [name for new, names in groups.iter_rows() if new is None for name in names]
    parts = [", ".join(changed)] if changed else []
    parts += [f"left out: {', '.join(left_out)}"] if left_out else []
    return f"categories mapped: {'; '.join(parts)}" if parts else ""


def map_categories(categories: pl.DataFrame, merged: pl.DataFrame) -> pl.DataFrame:
    """Return the categories after merging: for each new name, the row that already had it, or else the first row.

    >>> categories = pl.DataFrame({"category_id": [1, 2], "name": ["car", "vehicle"], "supercategory": [None, "outdoor"]})
    >>> map_categories(categories, merge_categories(categories, {"car": "vehicle"}, "keep")).rows()
    [(2, 'vehicle', 'outdoor')]
    """
    kept = merged.head(categories.height).with_row_index("place").filter(pl.col("new_name").is_not_null())
    first = pl.col("place").sort_by(pl.col("name") != pl.col("new_name"), maintain_order=True).first().over("new_name")
    kept = kept.filter(first == pl.col("place"))
    mapped = categories[kept["place"]].with_columns(category_id=kept["new_category_id"], name=kept["new_name"])
    if "parent_ids" in mapped.columns:
        mapped = mapped.with_columns(parent_ids=map_lists(mapped["parent_ids"], merged, but=mapped["category_id"]))
    return mapped


def map_images(images: pl.DataFrame, merged: pl.DataFrame) -> pl.DataFrame:
    """Map the category lists of images; a merged category is verified to be absent if all categories merged into it are.

    >>> merged = pl.DataFrame({"category_id": [1, 2], "new_category_id": [1, 1]})
    >>> map_images(pl.DataFrame({"pos_category_ids": [[2], []], "neg_category_ids": [[1], [2, 1]]}), merged).rows()
    [([1], []), ([], [1])]
    """
    lists = [name for name in ("pos_category_ids", "neg_category_ids", "not_exhaustive_category_ids") if name in images.columns]
    return images.with_columns(map_lists(images[name], merged, of_all=name == "neg_category_ids").alias(name) for name in lists)


def map_lists(lists: pl.Series, merged: pl.DataFrame, *, of_all: bool = False, but: pl.Series | None = None) -> pl.Series:
    """Return lists of category ids after merging.

    A new id is in a list if one of the ids merged into it was, or with `of_all`, if all were. The id in `but` is removed.
    """
    became = merged.select(item="category_id", new="new_category_id").drop_nulls().with_columns(size=pl.len().over("new"))
    rows = lists.alias("item").to_frame().with_row_index("row")
    items = rows.explode("item", empty_as_null=False, keep_nulls=False).unique(maintain_order=True)
    items_after = items.join(became, on="item", maintain_order="left").group_by("row", "new", "size", maintain_order=True).len()
    if of_all:
        items_after = items_after.filter(pl.col("len") == pl.col("size"))
    if but is not None:
        items_after = items_after.filter(pl.col("new") != but.gather(items_after["row"]))
    mapped = items_after.group_by("row", maintain_order=True).agg("new")
    return rows.select("row").join(mapped, on="row", how="left", maintain_order="left")["new"].fill_null([])


def map_ids(table: str, frame: pl.DataFrame, merged: pl.DataFrame, *, by_name: bool = False) -> pl.DataFrame:
    """Map the category ids of annotations or detections, or with `by_name`, their category names.

    Rows whose category is left out are dropped. Unknown ids and names stay.

    >>> merged = pl.DataFrame({"category_id": [1, 2, 3], "name": ["car", "truck", "misc"], "new_category_id": [1, 1, None]})
    >>> map_ids("detections", pl.DataFrame({"category_id": [2, 3, 9]}), merged)["category_id"].to_list()
    [1, 9]
    """
    column = "name" if by_name and "name" in frame.columns else "category_id"
    if column not in frame.columns:
        return frame  # an error that is raised later
    frame, values = with_ids(table, frame, column)
    if by_name:
        values, became = values.cast(pl.String), merged.select(old="name", new="new_name")
    elif values.dtype == merged.schema["category_id"] == pl.String:
        became = merged.select(old=pl.coalesce("category_id", "name"), new=pl.coalesce("new_category_id", "new_name"))
    else:
        became = merged.select(old="category_id", new="new_category_id").drop_nulls("old")
    if values.dtype != became.schema["old"]:
        return frame  # an error that is raised later
    became = became.unique("old", keep="first", maintain_order=True)
    mapped = frame.with_columns(values.replace(became["old"], became["new"]).alias(column))
    left_out = is_known(values, became["old"].filter(became["new"].is_null()))
    return mapped.filter(~left_out) if left_out.any() else mapped
