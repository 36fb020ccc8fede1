"""Merging of data sets: categories with the same name become one, and ids that clash are renumbered."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from apframe.exceptions import ColumnError, ParameterError
from apframe.rows import KEY_OF
from apframe.tables.category_map import map_images, map_lists
from apframe.tables.dataset import Dataset
from apframe.tables.ids import replaced
from apframe.tables.names import labels_of
from apframe.tables.schemas import GROUND_TRUTH, KEYS, NAMES
from apframe.wording import first_line

Change = tuple[str, str, int, str]


def merge(datasets: Sequence[Dataset]) -> tuple[Dataset, pl.DataFrame]:
    """Merge several data sets into one, and list the changes.

    Categories with the same name become one, with the row of the first data set that has it. Images stay different, even if two
    have the same file_name. If the ids of a table clash, or are integers in one data set and text in another, all its rows are
    numbered from 1 in the order of the data sets. Text ids become the names of images and categories without names.

    Returns
    -------
    The data set, and a row for each change: `table`, `column`, `n_rows`, `what`.

    Raises
    ------
    ParameterError
        no data set is given
    ColumnError
        an attribute has incompatible types in two data sets

    >>> a = Dataset({"image_id": [1], "file_name": ["a.jpg"]}, {"category_id": [1], "name": ["cat"]}, {})
    >>> b = Dataset({"image_id": [1], "file_name": ["b.jpg"]}, {"category_id": [5, 1], "name": ["cat", "dog"]}, {})
    >>> both, changes = merge([a, b])
    >>> both.images["image_id"].to_list(), both.categories["name"].to_list(), changes.select("table", "n_rows").rows()
    ([1, 2], ['cat', 'dog'], [('images', 2), ('categories', 2)])
    """
    if isinstance(datasets, Dataset) or not datasets or not all(isinstance(each, Dataset) for each in datasets):
        raise ParameterError("merge needs a list of data sets", "read files first with apframe.read_dataset")
    _refuse_mixed_json(datasets)
    image_ids, of_images = _numbered("images", [dataset.images for dataset in datasets])
    annotation_ids, of_annotations = _numbered("annotations", [dataset.annotations for dataset in datasets])
    category_ids, of_categories = _by_name([dataset.categories for dataset in datasets])
    tables: dict[str, list[pl.DataFrame]] = {table: [] for table in GROUND_TRUTH}
    for dataset, of_image, of_category, of_annotation in zip(datasets, image_ids, category_ids, annotation_ids, strict=True):
        became = dataset.categories.select("category_id", new_category_id=of_category)
        tables["images"].append(_renamed("images", map_images(dataset.images, became), of_image))
        categories = _renamed("categories", dataset.categories, of_category)
        if "parent_ids" in categories.columns:
            categories = categories.with_columns(parent_ids=map_lists(categories["parent_ids"], became))
        tables["categories"].append(categories)
        annotations = dataset.annotations
        new_ids = {
            "annotation_id": of_annotation,
            "image_id": replaced(annotations["image_id"], dataset.images["image_id"], of_image),
            "category_id": replaced(annotations["category_id"], dataset.categories["category_id"], of_category),
        }
        tables["annotations"].append(annotations.with_columns(**new_ids))
    changes = [*of_images, *_equal_names(tables["images"]), *of_categories, *of_annotations]
    whole = {table: _concatenated(table, frames) for table, frames in tables.items()}
    whole["categories"] = whole["categories"].unique("category_id", keep="first", maintain_order=True)
    json_columns = {column for dataset in datasets for column in dataset.json_columns}
    merged = Dataset(*whole.values(), box_format="xywh").with_rest(json_columns, datasets[0].other_sections)
    schema = {"table": pl.String, "column": pl.String, "n_rows": pl.Int64, "what": pl.String}
    return merged, pl.DataFrame(changes, schema=schema, orient="row")


def _numbered(table: str, frames: Sequence[pl.DataFrame]) -> tuple[list[pl.Series], list[Change]]:
    """Return the ids of the rows of each data set: the old ids, or numbers from 1 if they clash."""
    key = KEY_OF[table]
    ids = [frame[key] for frame in frames]
    texts = pl.concat([each.cast(pl.String) for each in ids])
    if texts.n_unique() == len(texts) and len({each.dtype for each in ids}) == 1:
        return ids, []
    rows = pl.DataFrame({"part": pl.concat([pl.repeat(number, len(each), eager=True) for number, each in enumerate(ids)])})
    rows = rows.with_columns(pl.int_range(1, pl.len() + 1, dtype=pl.Int64).alias(key))
    new = [rows.filter(part=number)[key] for number in range(len(ids))]
    return new, [(table, key, len(texts), "several data sets have the same ids: numbered from 1")]


def _by_name(frames: Sequence[pl.DataFrame]) -> tuple[list[pl.Series], list[Change]]:
    """Return the category ids of each data set: categories with the same name share the id of the first, or a number."""
    named = [
        frame.select("category_id", name=labels_of("categories", frame)).with_columns(
            pl.lit(number).alias("part"), nth=pl.int_range(pl.len()).over("name")
        )
        for number, frame in enumerate(frames)
    ]
    is_one_type = len({frame.schema["category_id"] for frame in named}) == 1
    rows = pl.concat([frame if is_one_type else frame.cast({"category_id": pl.String}) for frame in named])
    kinds = rows.unique(["name", "nth"], keep="first", maintain_order=True)
    stay = is_one_type and kinds["category_id"].n_unique() == kinds.height
    kinds = kinds.with_columns(new="category_id" if stay else pl.int_range(1, pl.len() + 1, dtype=pl.Int64))
    rows = rows.join(kinds.select("name", "nth", "new"), on=["name", "nth"], how="left", maintain_order="left")
    changed = rows.filter(pl.col("new").cast(pl.String) != pl.col("category_id").cast(pl.String)).height
    new = [rows.filter(part=number)["new"].alias("category_id") for number in range(len(frames))]
    return new, [("categories", "category_id", changed, "new ids: categories with the same name become one")] if changed else []


def _renamed(table: str, frame: pl.DataFrame, ids: pl.Series) -> pl.DataFrame:
    """Return the frame with these ids; text ids become the names of rows without names."""
    if ids.dtype != pl.String and frame[KEYS[table]].dtype == pl.String:
        frame = frame.with_columns(labels_of(table, frame).alias(NAMES[table]))
    return frame.with_columns(ids.alias(KEYS[table]))


def _equal_names(images: Sequence[pl.DataFrame]) -> list[Change]:
    names = pl.concat([frame.select("file_name").unique() for frame in images])["file_name"].drop_nulls()
    n_names = names.filter(names.is_duplicated()).n_unique()
    return (
        [("images", "file_name", n_names, "the name occurs in several data sets: kept as different images")] if n_names else []
    )


def _concatenated(table: str, frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    try:
        return pl.concat(frames, how="diagonal_relaxed")
    except pl.exceptions.PolarsError as error:
        raise ColumnError(f"columns of the data sets have different types: {first_line(error)}", table=table) from error


def _refuse_mixed_json(datasets: Sequence[Dataset]) -> None:
    """Raise an error if a column is JSON text in one data set and something else in another."""
    for table, name in sorted({column for dataset in datasets for column in dataset.json_columns}):
        if any(name in getattr(each, table).columns and (table, name) not in each.json_columns for each in datasets):
            raise ColumnError(
                "holds JSON in one data set but not in another", "rename it in one of them", table=table, column=name
            )
