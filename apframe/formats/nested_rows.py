"""Conversion between tables and rows of images with lists of objects, as in Hugging Face's `datasets`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from apframe.columns import exact
from apframe.exceptions import RowError
from apframe.formats.image_names import categories_of
from apframe.formats.object_rows import is_of_objects
from apframe.tables.box_formats import split_boxes
from apframe.tables.column_sources import to_polars
from apframe.tables.schemas import SIZE
from apframe.tables.shapes.boxes import BOX
from apframe.tables.shapes.declarations import OTHERS

METADATA = "huggingface"
"""The key of the names of classes in the schema of a table, and in the footer of a Parquet file."""
OBJECTS = "objects"
"""The column of objects in written files."""
# canonical names of fields, and their possible names in lists and in rows of objects
_FIELDS = {
    "bbox": ("bbox", "bboxes", "boxes", "box"),
    "category_id": ("category", "category_id", "category_ids", "categories", "label", "labels", "class", "classes", "class_id"),
    "score": ("score", "scores", "confidence", "confidences"),
    "mask": ("mask", "masks", "segmentation", "segmentations"),
    "area": ("area", "areas"),
}
_IDS = ("id", "ids", "bbox_id", "annotation_id", "detection_id")
_OF_IMAGES = {"id": "image_id", "width": SIZE[0], "height": SIZE[1], "filename": "file_name"}
_DTYPES = {pl.Boolean: "bool", pl.String: "string", pl.Int64: "int64", pl.Float64: "float64"}


def find_objects(schema: Mapping[str, Any], *, scored: bool) -> str | None:
    """Return the column with the objects of each image; "" for several columns of lists, None without objects.

    Such a column is a struct of lists, or a list of structs, with boxes, and with scores only if `scored`: a table may have
    both `ground_truth` and `predictions`.

    >>> find_objects({"image_id": pl.Int64, "objects": pl.Struct({"bbox": pl.List(pl.List(pl.Float64))})}, scored=False)
    'objects'
    """
    candidates, columns = {}, dict[str, Any](schema) | {"": pl.Struct(dict(schema))}
    for name, dtype in columns.items():
        inner = dtype.inner if _is_list(dtype) else dtype
        if isinstance(inner, pl.Struct):
            fields: dict[str, Any] = {each.name: each.dtype for each in inner.fields}
            lists = fields if inner is not dtype else {key: each.inner for key, each in fields.items() if _is_list(each)}
            if any(key in lists and _is_box(lists[key], may_be_empty=bool(name)) for key in _FIELDS["bbox"]):
                candidates[name] = any(key in lists for key in _FIELDS["score"])
    return next((name for name, has_scores in candidates.items() if has_scores == scored), None)


def _is_list(dtype: Any) -> bool:
    return isinstance(dtype, (pl.List, pl.Array))


def _is_box(dtype: Any, *, may_be_empty: bool) -> bool:
    """Return True if a column of this type may hold boxes, or, with `may_be_empty`, has no values."""
    return (_is_list(dtype) and (dtype.inner.is_numeric() or dtype.inner == pl.Null)) or (may_be_empty and dtype == pl.Null)


def holds_columns(source: Any) -> bool:
    """Return True for a frame, a table, a dict of columns of images or objects, a list of such rows, or Hugging Face data.

    >>> holds_columns(pl.DataFrame()), holds_columns({"image_id": [1]}), holds_columns({"images": []})
    (True, True, False)
    """
    if isinstance(source, list):
        return bool(source) and isinstance(source[0], dict) and _is_row(source[0])
    if isinstance(source, dict):
        names = [name for name in source if isinstance(name, str)]
        return bool({"image_id", "file_name"} & source.keys()) or is_of_objects(names)
    return isinstance(source, (pl.DataFrame, pl.LazyFrame)) or hasattr(source, "__arrow_c_stream__") or _is_hugging_face(source)


def _is_row(row: dict[Any, Any]) -> bool:
    """Return True if a dict is an image with lists of objects, or an object, but not a result of COCO."""
    if {"image_id", "category_id"} <= row.keys():  # with a shape of COCO's, x and the others are attributes
        return set(BOX) <= row.keys() and not {"bbox", *(shape.json_field for shape in OTHERS)} & row.keys()
    if not holds_columns(row):
        return False
    are_lists = any(isinstance(value, dict) for value in row.values()) or not {"boxes", "bboxes"}.isdisjoint(row)
    names = [name for name in row if isinstance(name, str)]
    return is_of_objects(names) or (are_lists and "score" not in row)


def _is_hugging_face(source: Any) -> bool:
    return hasattr(source, "with_format") and hasattr(source, "select_columns") and hasattr(source, "features")


def has_objects(schema: Mapping[str, Any]) -> bool:
    """Return True if rows with these columns are images with lists of objects, with or without scores.

    >>> has_objects({"image_id": pl.Int64, "x": pl.Float64})
    False
    """
    return find_results(schema) is not None


def frame_of_rows(table: str, source: Any) -> tuple[pl.DataFrame, dict[str, Any]]:
    """Return a frame from anything that holds columns, and its features from Hugging Face's metadata.

    >>> frame_of_rows("images", pl.DataFrame({"image_id": [1]}))[1]
    {}
    """
    if isinstance(source, pl.LazyFrame):
        source = source.collect()
    if _is_hugging_face(source):  # selecting rows would copy its images
        names = [name for name, feature in source.features.items() if type(feature).__name__ not in ("Image", "Audio", "Video")]
        source = source.select_columns(names).with_format("arrow")[:]
    metadata = getattr(getattr(source, "schema", None), "metadata", None) or {}
    content = metadata.get(METADATA.encode()) if isinstance(metadata, dict) else None
    return to_polars(source, table), features_of(content)


def features_of(content: bytes | str | None) -> dict[str, Any]:
    """Return the features in the metadata of a table; empty if they cannot be read.

    >>> features_of('{"info": {"features": {"image_id": {"dtype": "int64", "_type": "Value"}}}}')
    {'image_id': {'dtype': 'int64', '_type': 'Value'}}
    """
    try:
        features = json.loads(content or "{}")["info"]["features"]
    except (ValueError, RecursionError, KeyError, TypeError):
        return {}
    return features if isinstance(features, dict) else {}


def find_results(schema: Mapping[str, Any], *, scored: bool = True) -> str | None:
    """Return the column with the objects of results, see `find_objects`: with scores if `scored`, or else the other kind.

    >>> find_results({"image_id": pl.Int64, "objects": pl.Struct({"bbox": pl.List(pl.List(pl.Float64))})})
    'objects'
    """
    column = find_objects(schema, scored=scored)
    return find_objects(schema, scored=not scored) if column is None else column


def has_ids(schema: Mapping[str, Any], column: str) -> bool:
    """Return True if the objects in a column from `find_objects` have a field that may be their ids.

    >>> has_ids({"objects": pl.List(pl.Struct({"id": pl.Int64, "bbox": pl.List(pl.Float64)}))}, "objects")
    True
    """
    if not column:  # several columns of lists, so that ids are those of images
        return False
    dtype = schema[column]
    inner = dtype.inner if _is_list(dtype) else dtype
    return any(field.name in _IDS for field in inner.fields)


def with_numbers(rows: pl.DataFrame, start: int) -> pl.DataFrame:
    """Return rows of images with their numbers from `start` as ids, if they have no ids.

    >>> with_numbers(pl.DataFrame({"width": [640]}), 7).columns
    ['width', 'image_id']
    """
    if "image_id" in rows.columns or "id" in rows.columns:
        return rows
    return rows.with_columns(image_id=pl.int_range(start, start + pl.len()))


def tables_of_rows(frame: pl.DataFrame, features: Mapping[str, Any]) -> dict[str, pl.DataFrame]:
    """Return the tables of a data set from rows with objects, see `find_objects` and `HuggingFace`.

    >>> rows = pl.DataFrame({"image_id": [7, 8], "objects": [{"bbox": [[1, 2, 3, 4]], "category": ["cat"]}, None]})
    >>> {name: table.height for name, table in tables_of_rows(rows, {}).items()}
    {'images': 2, 'categories': 1, 'annotations': 1}
    """
    images, annotations, class_field = _parted("annotations", frame, scored=False)
    names = _class_names(features, class_field)
    if "category_id" not in annotations.columns:
        categories = pl.DataFrame(schema={"category_id": pl.Int64})
    elif annotations["category_id"].dtype == pl.String:
        categories = categories_of(annotations.drop_nulls("category_id"))
    elif names:
        categories = pl.DataFrame({"category_id": range(len(names)), "name": names})
    else:
        categories = annotations.select(pl.col("category_id").drop_nulls().unique().sort())
    return {"images": images, "categories": categories, "annotations": annotations}


def results_of_rows(frame: pl.DataFrame, features: Mapping[str, Any]) -> pl.DataFrame:
    """Return detections from such rows, with `file_name` and the `name` of the class if these are known."""
    images, detections, class_field = _parted("detections", frame, scored=True)
    if "file_name" in images.columns:
        owners = images.select("image_id", "file_name").unique("image_id")
        detections = detections.join(owners, on="image_id", how="left", maintain_order="left")
    names = _class_names(features, class_field)
    if names and "category_id" in detections.columns and detections["category_id"].dtype.is_integer():
        classes = pl.DataFrame({"category_id": range(len(names)), "name": names}).cast(
            {"category_id": detections["category_id"].dtype}
        )
        detections = detections.join(classes, on="category_id", how="left", maintain_order="left")
    return detections


def _parted(table: str, frame: pl.DataFrame, *, scored: bool) -> tuple[pl.DataFrame, pl.DataFrame, tuple[str, str]]:
    """Return the images, their objects, and the place of the class: the column of the objects, and its field."""
    column = find_results(frame.schema, scored=scored)
    assert column is not None  # as the caller has checked
    is_list = bool(column) and isinstance(frame.schema[column], pl.List)
    if column:
        rest = frame.drop(column)
        lists = frame.select(column) if is_list else frame[column].struct.unnest()
    else:
        field_names = {name for names in _FIELDS.values() for name in names}
        lists = frame.select([name for name, dtype in frame.schema.items() if name in field_names and _is_list(dtype)])
        rest = frame.drop(lists.columns)
    images = _images(rest)
    lists = lists.select(values.arr.to_list() if isinstance(values.dtype, pl.Array) else values for values in lists)
    lists = lists.select(values for values in lists if isinstance(values.dtype, pl.List))
    boxes = next((name for name in _FIELDS["bbox"] if name in lists.columns), lists.columns[0])
    n_objects = lists[boxes].list.len().fill_null(0)
    for values in lists:
        other = values.list.len().fill_null(0) != n_objects
        if other.any():
            problem = f"{values.name} and {boxes} in {column or 'the row'} differ in length"
            raise RowError("images", problem, "image_id", images["image_id"].filter(other), "correct these rows")
    # no list is copied: without empty ones, their items are contiguous
    objects = pl.DataFrame([values.explode(empty_as_null=False, keep_nulls=False) for values in lists])
    if is_list:
        objects = objects[column].struct.unnest()
    owner = pl.select(
        pl.int_range(frame.height).repeat_by(n_objects).explode(empty_as_null=False, keep_nulls=False)
    ).to_series()
    objects, renamed = _renamed(table, objects.drop("image_id", strict=False))
    objects = objects.with_columns(images["image_id"].gather(owner))
    return images, split_boxes(table, objects), (column, renamed.get("category_id", ""))


def _renamed(table: str, objects: pl.DataFrame) -> tuple[pl.DataFrame, dict[str, str]]:
    """Return the objects with canonical names, and the old names of their columns."""
    renamed = {}
    for ours, names in _FIELDS.items():
        there = [name for name in names if name in objects.columns]
        if there:
            renamed[ours] = there[0]
    key = f"{table[:-1]}_id"
    own = next((name for name in _IDS if name in objects.columns), None)
    if own is not None and not objects[own].null_count() and not objects[own].is_duplicated().any():
        renamed[key] = own
    return objects.rename({theirs: ours for ours, theirs in renamed.items()}), renamed


def _images(rest: pl.DataFrame) -> pl.DataFrame:
    """Return the images: ids, sizes, files and attributes, without pixels. Without ids, rows are numbered from 0."""
    rest = rest.rename({name: ours for name, ours in _OF_IMAGES.items() if name in rest.columns and ours not in rest.columns})
    for name, dtype in rest.schema.items():
        if isinstance(dtype, pl.Struct) and {"path"} <= {each.name for each in dtype.fields} <= {"bytes", "path"}:  # an image
            path = rest[name].struct.field("path")
            rest = rest.drop(name)
            if "file_name" not in rest.columns and path.count():
                rest = rest.with_columns(path.alias("file_name"))
        elif dtype in (pl.Binary, pl.Object):
            rest = rest.drop(name)
    if "image_id" not in rest.columns:
        rest = rest.with_columns(image_id=pl.int_range(pl.len()))
    return rest


def _class_names(features: Mapping[str, Any], class_field: tuple[str, str]) -> list[str]:
    """Return the names of classes from the features, for a column of objects and its field of classes; [] without any."""
    column, field = class_field
    of_objects = features.get(column, features)
    labels = dict(_labels("", of_objects))
    names: list[str] = labels.get(field, [])
    return names


def _labels(field: str, feature: Any) -> Iterator[tuple[str, list[str]]]:
    """Yield every field in a feature that is a label, and its names."""
    if isinstance(feature, list):  # an earlier notation for lists
        for each in feature:
            yield from _labels(field, each)
    elif isinstance(feature, dict):
        if feature.get("_type") == "ClassLabel" and isinstance(feature.get("names"), list):
            yield field, list(map(str, feature["names"]))
        for name, each in feature.items():
            yield from _labels(field if name == "feature" else name, each)


RESERVED = {
    "images": ("width", "height", OBJECTS),
    "annotations": ("id", "category", "bbox"),
    "detections": ("id", "category", "bbox"),
}
"""Names that attributes cannot have in these rows, because they are reserved."""


def rows_of_images(images: pl.DataFrame, table: str, objects: pl.DataFrame) -> pl.DataFrame:
    """Return a row for each image, with its objects in the column `objects`, a struct of lists; reverses `tables_of_rows`.

    >>> detections = {"image_id": [7], "category_id": [0], "score": [0.5], "x": [1], "y": [2], "width": [3], "height": [4]}
    >>> rows_of_images(pl.DataFrame({"image_id": [7, 8]}), "detections", pl.DataFrame(detections))["objects"].to_list()[1]
    {'category': [], 'score': [], 'bbox': []}
    """
    names = {f"{table[:-1]}_id": "id", "category_id": "category"}
    objects = objects.drop(RESERVED[table], strict=False).with_columns(bbox=pl.concat_list(BOX)).drop(BOX)
    objects = objects.rename({name: names[name] for name in names if name in objects.columns})
    fields = [name for name in objects.columns if name != "image_id"]
    lists = objects.group_by("image_id", maintain_order=True).agg(exact(name) for name in fields)
    lists = images.select("image_id").join(lists, on="image_id", how="left", maintain_order="left")
    rows = images.drop(RESERVED["images"], strict=False).with_columns(
        lists.select(pl.struct(exact(name).fill_null([]) for name in fields).alias(OBJECTS)).to_series()
    )
    sizes = {ours: name for name, ours in _OF_IMAGES.items() if ours in SIZE and ours in rows.columns}
    return rows.rename(sizes)


def metadata_of(rows: pl.DataFrame, names: list[str]) -> dict[str, str]:
    """Return the Parquet metadata from which `datasets` reads the names of the classes.

    >>> metadata_of(pl.DataFrame({"objects": [{"category": [0]}]}), ["cat"])["huggingface"][:61]
    '{"info": {"features": {"objects": {"category": {"feature": {"'
    """
    features = {name: _feature(dtype) for name, dtype in rows.schema.items()}
    features[OBJECTS]["category"]["feature"] = {"names": names, "_type": "ClassLabel"}
    return {METADATA: json.dumps({"info": {"features": features}})}


def _feature(dtype: Any) -> dict[str, Any]:
    if isinstance(dtype, pl.Struct):
        return {each.name: _feature(each.dtype) for each in dtype.fields}
    if isinstance(dtype, pl.List):
        return {"feature": _feature(dtype.inner), "_type": "Sequence"}
    return {"dtype": _DTYPES.get(dtype, str(dtype).lower()), "_type": "Value"}
