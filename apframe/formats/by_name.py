"""Results joined by name to the images and categories of their data set."""

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


def with_names_of_numbers(found: Any, dataset: Dataset) -> Any:
    """Replace the numbers of images by the names of the images that they mean, such as 139 by 000000000139.jpg.

    Ultralytics writes such numbers in predictions.json. If the results also have file names, these are used instead. Results
    stay as they are if a number does not mean exactly one image, or if the numbers count a part of the images from 0 or 1 on
    without gaps, as a program may have numbered them itself; an error then says that numbers are not names.

    >>> dataset = Dataset({"image_id": ["000007", "000008"]}, {"category_id": [1]}, {})
    >>> with_names_of_numbers(pl.DataFrame({"image_id": [8, 7]}), dataset)["image_id"].to_list()
    ['000008', '000007']
    """
    frame, images = to_polars(found, "detections"), dataset.nameable("images")
    if frame.is_empty() or "image_id" not in frame.columns or not frame.schema["image_id"].is_numeric():
        return found
    ids = images["image_id"]
    if ids.dtype != pl.String:
        return found
    are_stems = images.select(stems(pl.col("file_name")) == pl.col("image_id")).to_series().fill_null(False).all()
    if not (are_stems or ids.str.contains(r"^0\d").any()):
        return found  # texts that are not names of files
    if "file_name" in frame.columns and not frame["file_name"].null_count():
        places = places_of(frame["file_name"].cast(pl.String).unique(), labels_of("images", images), "images")
        return with_ids_by_name(frame, dataset, "images") if (places.list.len() == 1).all() else found
    numbers = images.select("image_id", number=pl.col("image_id").cast(pl.Int64, strict=False)).drop_nulls()
    numbers = numbers.filter(~numbers["number"].is_duplicated())
    asked = frame["image_id"].cast(pl.Float64)
    different = asked.drop_nulls().unique()
    is_there = is_known(different, numbers["number"].cast(pl.Float64))
    first = asked.min() if len(different) else None
    may_count = first in (0, 1) and asked.max() == len(different) - 1 + (first == 1) and len(different) < images.height
    if not is_there.all() or may_count:
        return found
    return frame.with_columns(
        asked.cast(pl.Int64).replace_strict(numbers["number"], numbers["image_id"], return_dtype=pl.String)
    )


def with_ids_by_name(
    detections: pl.DataFrame,
    dataset: Dataset,
    tables: str | Collection[str],
    *,
    of: str = "detections",
    are_outputs: bool = False,
) -> pl.DataFrame:
    """Detections with the ids that a data set has for the images and categories that they name.

    Parameters
    ----------
    detections
        with a name for each image or category: the column `file_name`, or `image_id` where there is none; the column `name`, or
        `category_id`. A number names what is called as it is written: 7, also where it was read as 7.0.
    dataset
        its images are known by `file_name`: as it is, without folders, or without folders with or without ending, whichever
        is the first that all names are among; where that is null by `image_id`. Its categories by `name`.
    tables
        "images", "categories", or both
    of
        what they are, for errors
    are_outputs
        whether they were results of a library, which have no rows that could be renamed

    Raises
    ------
    ParameterError
        another table
    ColumnError
        there are no names
    UnknownIdError
        names that the data set does not have
    RowError
        a name that several images or categories have

    >>> dataset = Dataset({"image_id": [7], "file_name": ["val/a.jpg"]}, {"category_id": [3], "name": ["cat"]}, {})
    >>> found = pl.DataFrame({"image_id": ["a"], "category_id": ["cat"]})
    >>> with_ids_by_name(found, dataset, ["images", "categories"]).rows()
    [(7, 3)]
    """
    tables = [tables] if isinstance(tables, str) else list(tables)
    unknown = [table for table in tables if table not in KEYS]
    if unknown:
        raise ParameterError(f"takes {' and '.join(KEYS)}, not {listed(unknown)}", option="join_by_name")
    for table in tables:
        key, name = KEYS[table], NAMES[table]
        given = [column for column in (name, key) if column in detections.columns]
        if not given:
            raise ColumnError(f"no column {name} or {key} to join by", f"there are {', '.join(detections.columns)}", table=of)
        detections, ids = with_ids(of, detections, given[0])
        remedy = _of_outputs(table, tables) if are_outputs else "rename them, or remove these rows"
        named = detections.with_columns(ids.cast(pl.String).alias(key))
        detections = _with_found(named, dataset.nameable(table), table, of, remedy)
    return detections


def tables_named(found: pl.DataFrame, dataset: Dataset, asked: Collection[str]) -> list[str]:
    """The tables to which outputs are joined by name: those that were asked for, and those of which they have no ids.

    The numbers of classes are those of a model, so the names count where both classes and categories have some. Images are
    called as their files where no ids were given: they are joined by name where the data set numbers its own.

    >>> dataset = Dataset({"image_id": [7], "file_name": ["a.jpg"]}, {"category_id": [3], "name": ["cat"]}, {})
    >>> found = pl.DataFrame({"image_id": ["a"], "file_name": ["a.jpg"], "category_id": [0], "name": ["cat"]})
    >>> tables_named(found, dataset, [])
    ['images', 'categories']
    """
    tables = list(asked)
    numbers_images = dataset.core("images").schema["image_id"] != pl.String
    if numbers_images and "file_name" in found.columns and found.schema["image_id"] == pl.String:
        tables += ["images"] if found["image_id"].equals(found.select(image_id=stems(pl.col("file_name")))["image_id"]) else []
    if "name" in found.columns and not found["name"].null_count():
        tables += ["categories"] if dataset.core("categories").get_column("name", default=pl.Series([None])).count() else []
    return list(dict.fromkeys(tables))


def _of_outputs(table: str, tables: Collection[str]) -> str:
    """What to do where results of a library name what the table does not have; all `tables` are joined by name."""
    if table == "images":
        return "give the outputs by image id, as in {22: output}"
    converted = "apf.from_ultralytics(results) or apf.from_supervision(detections, image_ids)"
    joined = ", ".join(f'"{each}"' for each in tables)
    return f"to leave some out, convert them with {converted}, filter by name, and evaluate with join_by_name=[{joined}]"


def _with_found(named: pl.DataFrame, owner: pl.DataFrame, table: str, of: str, remedy: str) -> pl.DataFrame:
    """Detections with the ids of what they name."""
    key = KEYS[table]
    asked = named[key].drop_nulls().unique(maintain_order=True)
    places = places_of(asked, labels_of(table, owner), table)
    is_there = places.list.len() > 0
    if not is_there.all():
        known = is_known(named[key], asked.filter(is_there)).fill_null(True)
        remedy = f"they must be a {NAMES[table]} of the {table}: {remedy}"
        sieve = Sieve(of, named)
        sieve.refuse_as(~known, unknown_ids(of, named, key, table, known, remedy, labels_of(table, owner)))
        named, asked, places = sieve.sound(named), asked.filter(is_there), places.filter(is_there)
    doubled = places.list.len() > 1
    if doubled.any():
        which = listed(asked.filter(doubled).to_list())
        ids = owner[key].gather(places.filter(doubled).explode().unique().sort())
        raise RowError(table, f"{NAMES[table]} is not unique ({which})", key, ids, "make the names unique, or use ids")
    return named.with_columns(replaced(named[key], asked, owner[key].gather(places.list.first())))
