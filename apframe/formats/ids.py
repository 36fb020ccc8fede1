"""Ids as a format's files have them, names or numbers, and results joined to their data set."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

import polars as pl

from apframe.exceptions import ColumnError, ParameterError, RowError
from apframe.formats.format import ANY, INDEX, NAME, NUMBER, OPEN, OUTPUTS, Format
from apframe.tables.box_formats import as_pixel_boxes, warn_of_boxes
from apframe.tables.dataset import Dataset
from apframe.tables.ids import is_known, replaced, unknown_ids, with_id_types
from apframe.tables.names import called, places_of, stems
from apframe.tables.sources import to_polars
from apframe.tables.tables import ID, KEYS, NAMES
from apframe.tables.types import with_ids
from apframe.validation import Sieve
from apframe.wording import listed


def with_ids_of(format_: Format, dataset: Dataset) -> Dataset:
    """The data set with ids as the format has them; the same one where they are so already.

    Names are the files' without folders and ending (the ids as text where there is no file_name) and those of the categories;
    numbers count the rows from 1, where ids are texts; indices count them from 0, where ids are no indices yet.

    Raises
    ------
    RowError
        two images or categories would have the same name
    """
    new = {table: _new_ids(dataset.core(table), table, kind) for table, kind in _kinds(format_).items()}
    if all(new[table].equals(dataset.core(table)[KEYS[table]]) for table in new):
        return dataset
    annotations = dataset.annotations
    frames = {}
    for table, key in KEYS.items():
        frames[table] = dataset.core(table).with_columns(new[table].alias(key))
        if new[table].dtype == ID and not new[table].equals(dataset.core(table)[key]):  # the texts stay as names
            frames[table] = frames[table].with_columns(pl.coalesce(NAMES[table], dataset.core(table)[key].cast(pl.String)))
        annotations = annotations.with_columns(replaced(annotations[key], dataset.core(table)[key], new[table]))
    lists = {"images": ["pos_category_ids", "neg_category_ids", "not_exhaustive_category_ids"], "categories": ["parent_ids"]}
    for table, names in lists.items():
        for name in set(names) & set(frames[table].columns):
            frames[table] = frames[table].with_columns(
                _replaced_in_lists(frames[table][name], dataset.core("categories")["category_id"], new["categories"])
            )
    renamed = Dataset(frames["images"], frames["categories"], annotations, box_format="xywh")
    return renamed.with_rest(dataset.json_columns, dataset.other_sections)


def results_with_ids_of(format_: Format, detections: pl.DataFrame, dataset: Dataset | None) -> pl.DataFrame:
    """Canonical detections with ids as the format has them, by their data set where one is given.

    Raises
    ------
    ParameterError
        the format numbers what has names here, and there is no data set that would say the numbers
    UnknownIdError
        detections of images or categories that the data set does not have
    IdTypeError
        ids are integers on one side and strings on the other
    """
    if dataset is not None:
        detections = with_id_types("detections", detections, dataset)
    for table, kind in _kinds(format_).items():
        ids = detections[KEYS[table]]
        if dataset is not None:
            known = dataset.core(table)[KEYS[table]]
            is_there = is_known(ids, known)
            if not is_there.all():
                raise unknown_ids("detections", detections, ids.name, table, is_there, "give their data set", known)
            ids = replaced(ids, known, _new_ids(dataset.core(table), table, kind))
        elif kind == NAME:
            ids = ids.cast(pl.String)
        elif kind in (NUMBER, INDEX) and ids.dtype == pl.String:
            raise ParameterError(f"{format_.title} numbers its {table}, but these results name them", "give their data set")
        detections = detections.with_columns(ids)
    return detections


def _kinds(format_: Format) -> dict[str, str]:
    return {"images": format_.image_ids, "categories": format_.category_ids}


def _new_ids(frame: pl.DataFrame, table: str, kind: str) -> pl.Series:
    ids = frame[KEYS[table]]
    if kind == ANY or (kind == NUMBER and ids.dtype == ID):
        return ids
    if kind in (NUMBER, INDEX):
        numbers = pl.int_range(frame.height, dtype=pl.Int64, eager=True).alias(ids.name)
        if kind == NUMBER:
            return numbers + 1
        return ids if ids.dtype == ID and ids.sort().equals(numbers) else numbers
    name = pl.col(NAMES[table])
    names = frame.select(pl.coalesce(stems(name) if table == "images" else name, pl.col(ids.name).cast(pl.String)))
    new = names.to_series().alias(ids.name)
    doubled = new.is_duplicated()
    if doubled.any():
        which = listed(new.filter(doubled).unique(maintain_order=True).to_list())
        remedy = "this format identifies them by name: rename them"
        raise RowError(table, f"the name is not unique ({which})", ids.name, ids.filter(doubled).to_list(), remedy)
    return new


def _replaced_in_lists(values: pl.Series, old: pl.Series, new: pl.Series) -> pl.Series:
    rows = values.to_frame().with_row_index("row")
    items = rows.explode(values.name, empty_as_null=False, keep_nulls=False)
    items = items.with_columns(replaced(items[values.name], old, new))
    lists = items.group_by("row", maintain_order=True).agg(values.name)
    return rows.select("row").join(lists, on="row", how="left", maintain_order="left")[values.name].fill_null([])


def joined_results(
    found: Any,
    how: str,
    dataset: Callable[[], Dataset | None],
    join_by_name: str | Collection[str],
    boxes: Mapping[str, Any],
    *,
    names: Any = None,
    warns: bool = True,
    is_whole: bool = True,
) -> Any:
    """Results of `take_results`, or a part, with the ids of their data set, and boxes in pixels.

    Categories become what those of the data set became. `boxes` are `box_format` and `relative`, `names` those of classes.
    Unless it `warns`, nothing is said of how boxes look. What numbers of classes and images mean is decided only if these are
    all results (`is_whole`).
    """
    known, is_open = dataset(), warns and how == OPEN
    if is_open:
        found = to_polars(found, "detections")
    if names is not None or (is_open and "file_name" in found.columns):  # of files that number classes
        from apframe.formats.class_names import with_known_classes

        found = with_known_classes(found, names, known, may_count_from_1=is_open, is_whole=is_whole)
    if how == OUTPUTS and known is not None:
        join_by_name = tables_named(found, known, join_by_name)
    if known is not None and known.merged is not None:
        from apframe.tables.category_map import map_ids

        found = map_ids("detections", to_polars(found, "detections"), known.merged, by_name="categories" in join_by_name)
    are_named = known is not None and known.core("images").schema["image_id"] == pl.String
    if known is not None and are_named and is_whole and "images" not in join_by_name:
        found = with_names_of_numbers(found, known)
    if join_by_name:
        if known is None:
            raise ParameterError("needs the data set that has these names", option="join_by_name")
        found = with_ids_by_name(to_polars(found, "detections"), known, join_by_name, are_outputs=how == OUTPUTS)
    if known is not None and known.left_out is not None:
        from apframe.tables.parts import without_left_out

        found = without_left_out(to_polars(found, "detections"), known.left_out)
    images = None if known is None else known.core("images")
    if any(boxes.values()):
        return as_pixel_boxes("detections", found, images, **boxes)
    if is_open:
        warn_of_boxes("detections", found, lambda: images)
    return found


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
        places = places_of(frame["file_name"].cast(pl.String).unique(), called("images", images), "images")
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
    places = places_of(asked, called(table, owner), table)
    is_there = places.list.len() > 0
    if not is_there.all():
        known = is_known(named[key], asked.filter(is_there)).fill_null(True)
        remedy = f"they must be a {NAMES[table]} of the {table}: {remedy}"
        sieve = Sieve(of, named)
        sieve.refuse_as(~known, unknown_ids(of, named, key, table, known, remedy, called(table, owner)))
        named, asked, places = sieve.sound(named), asked.filter(is_there), places.filter(is_there)
    doubled = places.list.len() > 1
    if doubled.any():
        which = listed(asked.filter(doubled).to_list())
        ids = owner[key].gather(places.filter(doubled).explode().unique().sort())
        raise RowError(table, f"{NAMES[table]} is not unique ({which})", key, ids, "make the names unique, or use ids")
    return named.with_columns(replaced(named[key], asked, owner[key].gather(places.list.first())))
