"""Conversion of ids to those of a format's files, names or numbers."""

from __future__ import annotations

import polars as pl

from apframe.exceptions import ParameterError, RowError
from apframe.formats.format import ANY, INDEX, NAME, NUMBER, Format
from apframe.tables.dataset import Dataset
from apframe.tables.ids import is_known, replaced, unknown_ids, with_id_types
from apframe.tables.names import stems
from apframe.tables.schemas import ID, KEYS, NAMES
from apframe.wording import listed


def with_ids_of(format_: Format, dataset: Dataset) -> Dataset:
    """Return the data set with the ids of a format; the same data set if the ids already are.

    Names are file names without folders and extension (ids as text if there is no file_name) and category names. Numbers count
    the rows from 1 if ids are text; indices count them from 0 unless ids are indices already.

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
    """Return canonical detections with the ids of a format, using their data set if it is given.

    Raises
    ------
    ParameterError
        the format has numbers, but the results have names, and there is no data set to look them up
    UnknownIdError
        detections refer to images or categories that are not in the data set
    IdTypeError
        ids are integers on one side and strings on the other
    """
    if dataset is not None:
        detections = with_id_types("detections", detections, dataset)
    for table, kind in _kinds(format_).items():
        ids = detections[KEYS[table]]
        if dataset is not None:
            own_ids = dataset.core(table)[KEYS[table]]
            is_there = is_known(ids, own_ids)
            if not is_there.all():
                raise unknown_ids("detections", detections, ids.name, table, is_there, "give their data set", own_ids)
            ids = replaced(ids, own_ids, _new_ids(dataset.core(table), table, kind))
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
