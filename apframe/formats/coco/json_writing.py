"""Writing of data sets and results as COCO JSON."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl

from apframe.columns import exact
from apframe.exceptions import ColumnError
from apframe.formats.coco.json_rows import CLASH, FIELD_NAMES, FIELDS
from apframe.formats.replacing import write_whole
from apframe.tables.canonical import canonical
from apframe.tables.dataset import Dataset
from apframe.tables.schemas import GROUND_TRUTH, TABLES
from apframe.tables.shapes.boxes import BOX


def write_coco(dataset: Dataset, path: str | Path) -> None:
    """Write ground truth as COCO JSON, with all attributes and the other sections of the file it came from.

    Fields that are null are left out. The file appears completely or not at all; it is compressed if its name ends with .gz.
    Bitmaps in the column `mask` are a `ColumnError`, as COCO JSON only has run lengths and polygons. A box with an `angle` is
    written unturned and with its angle; `write_dataset` writes the upright box around it, which other programs require.
    """
    write_whole(Path(path), text_of(dataset))


def text_of(dataset: Dataset) -> str:
    """Return the text of a file of ground truth, see `write_coco`."""
    sections = [f"{json.dumps(name)}: {json.dumps(value)}" for name, value in dataset.other_sections.items()]
    for table in GROUND_TRUTH:
        as_json = {name for owner, name in dataset.json_columns if owner == table}
        sections.append(f'"{table}": {json_rows(table, getattr(dataset, table), as_json)}')
    return "{" + ",\n".join(sections) + "}\n"


def write_coco_results(detections: pl.DataFrame, path: str | Path) -> None:
    """Write detections as COCO results. `detection_id` and `area` follow from the file and are left out.

        The first row has all fields that any row has, with nulls, because readers take the columns from it.

    Bitmaps in the column `mask` are a `ColumnError`, as COCO JSON only has run lengths and polygons.
    """
    write_whole(Path(path), text_of_results(detections))


def text_of_results(detections: pl.DataFrame) -> str:
    """Return the text of a file of results, see `write_coco_results`."""
    frame = canonical("detections", detections).drop("detection_id", "area")
    return json_rows("detections", frame, set(), first_has_all=True) + "\n"


def json_rows(table: str, frame: pl.DataFrame, as_json: set[str], *, first_has_all: bool = False) -> str:
    """Return the rows as text of a JSON list of objects, without nulls.

    With `first_has_all`, the first row has nulls for fields that other rows have. Attributes with names of COCO's own fields
    are left out.
    """
    frame = frame.drop(reserved_names(table), strict=False)
    _refuse_bitmaps(table, frame)
    raw = as_json | {"segmentation"} if frame.schema.get("mask") == pl.String else as_json
    names = {canonical_name: name for name, canonical_name in FIELD_NAMES[table].items()}
    if "x" in frame.columns:
        has_box = pl.all_horizontal(pl.col(BOX).is_not_null())  # boxes may be null, to be computed from another shape
        frame = frame.with_columns(bbox=pl.when(has_box).then(pl.concat_list(BOX))).drop(BOX)
    frame = frame.with_columns(pl.col(name).cast(pl.Int8) for name in ("is_crowd", "ignore") if name in frame.columns)
    clashes = {column.name + CLASH: column.name for column in TABLES[table] if column.name not in FIELDS[table]}
    frame = frame.rename({name: clashes.get(name, names.get(name, name)) for name in frame.columns})
    fields = []
    for name in frame.columns:
        encoded = pl.struct(exact(name)).struct.json_encode().str.slice(1).str.head(-1)
        text = pl.lit(json.dumps(name) + ":") + exact(name) if name in raw else encoded
        is_required = first_has_all and bool(frame[name].count())
        null = pl.when(is_required & (pl.int_range(pl.len()) == 0)).then(pl.lit(f"{json.dumps(name)}:null"))
        fields.append(pl.when(exact(name).is_not_null()).then(text).otherwise(null))
    rows = frame.select(row=pl.concat_str(fields, separator=",", ignore_nulls=True))["row"]
    return "[" + ",\n".join("{" + row + "}" for row in rows) + "]"


def reserved_names(table: str) -> set[str]:
    """Return the names that attributes cannot have in COCO JSON: its own fields that have other names here.

    >>> sorted(reserved_names("images"))
    ['height', 'id', 'width']
    """
    return FIELDS.get(table, {}).keys() - {column.name for column in TABLES[table]}


def _refuse_bitmaps(table: str, frame: pl.DataFrame) -> None:
    dtype = frame.schema.get("mask")
    pixel = getattr(getattr(dtype, "inner", None), "inner", None)
    if pixel is not None and (pixel.is_integer() or pixel == pl.Boolean):
        raise ColumnError(
            f"bitmaps ({dtype}) cannot be written: COCO's JSON holds run lengths and polygons",
            "convert a bitmap with pycocotools.mask.encode (polygons are lists of floats)",
            table=table,
            column="mask",
        )
