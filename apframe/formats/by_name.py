"""Joining of results by name to the images and categories of their data set."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import polars as pl

from apframe.exceptions import ColumnError, ParameterError, RowError
from apframe.tables.column_sources import to_polars
from apframe.tables.dataset import Dataset
from apframe.tables.ids import is_known, replaced, unknown_ids
from apframe.tables.names import labels_of, places_of, stems
from apframe.tables.schemas import KEYS, NAMES
from apframe.tables.types import with_ids
from apframe.validation import Sieve
from apframe.wording import listed


def with_names_of_numbers(results: Any, dataset: Dataset) -> Any:
    """Replace the numbers of images by the names that they mean, such as 139 by 000000000139.jpg.

    Ultralytics writes such numbers in predictions.json. If the results also have file names, these are used instead. Results
    are unchanged if a number does not mean exactly one image, or if the numbers count a part of the images from 0 or 1 without
    gaps, because a program may have numbered them itself; an error then says that numbers are not names.

    >>> dataset = Dataset({"image_id": ["000007", "000008"]}, {"category_id": [1]}, {})
    >>> with_names_of_numbers(pl.DataFrame({"image_id": [8, 7]}), dataset)["image_id"].to_list()
    ['000008', '000007']
    """
    frame, images = to_polars(results, "detections"), dataset.nameable("images")
    if frame.is_empty() or "image_id" not in frame.columns or not frame.schema["image_id"].is_numeric():
        return results
    ids = images["image_id"]
    if ids.dtype != pl.String:
        return results
    are_stems = images.select(stems(pl.col("file_name")) == pl.col("image_id")).to_series().fill_null(False).all()
    if not (are_stems or ids.str.contains(r"^0\d").any()):
        return results  # texts that are not names of files
    if "file_name" in frame.columns and not frame["file_name"].null_count():
        places = places_of(frame["file_name"].cast(pl.String).unique(), labels_of("images", images), "images")
        return with_ids_by_name(frame, dataset, "images") if (places.list.len() == 1).all() else results
    numbers = images.select("image_id", number=pl.col("image_id").cast(pl.Int64, strict=False)).drop_nulls()
    numbers = numbers.filter(~numbers["number"].is_duplicated())
    requested = frame["image_id"].cast(pl.Float64)
    different = requested.drop_nulls().unique()
    is_there = is_known(different, numbers["number"].cast(pl.Float64))
    first = requested.min() if len(different) else None
    may_count = first in (0, 1) and requested.max() == len(different) - 1 + (first == 1) and len(different) < images.height
    if not is_there.all() or may_count:
        return results
    return frame.with_columns(
        requested.cast(pl.Int64).replace_strict(numbers["number"], numbers["image_id"], return_dtype=pl.String)
    )


def with_ids_by_name(
    detections: pl.DataFrame,
    dataset: Dataset,
    tables: str | Collection[str],
    *,
    of: str = "detections",
    are_outputs: bool = False,
) -> pl.DataFrame:
    """Return detections with the ids of the images and categories that they name.

    Parameters
    ----------
    detections
        a table with names of images in the column `file_name`, or else `image_id`, and of categories in `name`, or else
        `category_id`. A number matches the same number as text: 7 (even if it was read as 7.0) matches "7".
    dataset
        the data set. Image names are compared with `file_name`, or `image_id` if it is null: exactly, without folders, or
        without folders and extensions, whichever is the first that matches most names. Category names are compared with `name`.
    tables
        "images", "categories", or both
    of
        name of the table in errors
    are_outputs
        whether the detections were results of a library, which have no rows that could be renamed

    Raises
    ------
    ParameterError
        an unknown table
    ColumnError
        the detections have no names
    UnknownIdError
        names that are not in the data set
    RowError
        several images or categories have the same name

    >>> dataset = Dataset({"image_id": [7], "file_name": ["val/a.jpg"]}, {"category_id": [3], "name": ["cat"]}, {})
    >>> detections = pl.DataFrame({"image_id": ["a"], "category_id": ["cat"]})
    >>> with_ids_by_name(detections, dataset, ["images", "categories"]).rows()
    [(7, 3)]
    """
    tables = [tables] if isinstance(tables, str) else list(tables)
    unknown = [table for table in tables if table not in KEYS]
    if unknown:
        raise ParameterError(f"takes {' and '.join(KEYS)}, not {listed(unknown)}", option="join_by_name")
    for table in tables:
        key, name = KEYS[table], NAMES[table]
        columns = [column for column in (name, key) if column in detections.columns]
        if not columns:
            raise ColumnError(f"no column {name} or {key} to join by", f"there are {', '.join(detections.columns)}", table=of)
        detections, ids = with_ids(of, detections, columns[0])
        remedy = _remedy_for_outputs(table, tables) if are_outputs else "rename them, or remove these rows"
        named = detections.with_columns(ids.cast(pl.String).alias(key))
        detections = _with_ids(named, dataset.nameable(table), table, of, remedy)
    return detections


def tables_named(detections: pl.DataFrame, dataset: Dataset, requested: Collection[str]) -> list[str]:
    """Return the tables that outputs are joined to by name: the requested ones, and those that outputs have no ids for.

    Class numbers are those of a model, so names are used if both classes and categories have names. Without image ids, outputs
    have file names, which are joined by name if the data set has numbers as ids.

    >>> dataset = Dataset({"image_id": [7], "file_name": ["a.jpg"]}, {"category_id": [3], "name": ["cat"]}, {})
    >>> detections = pl.DataFrame({"image_id": ["a"], "file_name": ["a.jpg"], "category_id": [0], "name": ["cat"]})
    >>> tables_named(detections, dataset, [])
    ['images', 'categories']
    """
    tables = list(requested)
    numbers_images = dataset.core("images").schema["image_id"] != pl.String
    if numbers_images and "file_name" in detections.columns and detections.schema["image_id"] == pl.String:
        tables += (
            ["images"]
            if detections["image_id"].equals(detections.select(image_id=stems(pl.col("file_name")))["image_id"])
            else []
        )
    if "name" in detections.columns and not detections["name"].null_count():
        tables += ["categories"] if dataset.core("categories").get_column("name", default=pl.Series([None])).count() else []
    return list(dict.fromkeys(tables))


def _remedy_for_outputs(table: str, tables: Collection[str]) -> str:
    """Return the remedy for results of a library with unknown names; all `tables` are joined by name."""
    if table == "images":
        return "give the outputs by image id, as in {22: output}"
    converted = "apf.from_ultralytics(results) or apf.from_supervision(detections, image_ids)"
    joined = ", ".join(f'"{each}"' for each in tables)
    return f"to leave some out, convert them with {converted}, filter by name, and evaluate with join_by_name=[{joined}]"


def _with_ids(named: pl.DataFrame, owner: pl.DataFrame, table: str, of: str, remedy: str) -> pl.DataFrame:
    """Return detections with the ids of the images or categories that they name."""
    key = KEYS[table]
    names = named[key].drop_nulls().unique(maintain_order=True)
    places = places_of(names, labels_of(table, owner), table)
    is_there = places.list.len() > 0
    if not is_there.all():
        known_rows = is_known(named[key], names.filter(is_there)).fill_null(True)
        remedy = f"they must be a {NAMES[table]} of the {table}: {remedy}"
        sieve = Sieve(of, named)
        sieve.refuse_as(~known_rows, unknown_ids(of, named, key, table, known_rows, remedy, labels_of(table, owner)))
        named, names, places = sieve.sound(named), names.filter(is_there), places.filter(is_there)
    doubled = places.list.len() > 1
    if doubled.any():
        which = listed(names.filter(doubled).to_list())
        ids = owner[key].gather(places.filter(doubled).explode().unique().sort())
        raise RowError(table, f"{NAMES[table]} is not unique ({which})", key, ids, "make the names unique, or use ids")
    return named.with_columns(replaced(named[key], names, owner[key].gather(places.list.first())))
