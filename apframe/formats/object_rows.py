"""Tables of other tools with a row for each object: names of columns, and conversion to a data set."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from apframe.exceptions import ColumnError
from apframe.formats.image_names import categories_of
from apframe.tables.box_formats import columns_of_boxes
from apframe.tables.names import stems
from apframe.tables.schemas import SIZE
from apframe.tables.shapes.declarations import CUBOID
from apframe.wording import first_line

_CLASSES = ("category", "class", "label", "category_name", "class_name", "label_name", "name")
_OTHER_NAMES: dict[str, tuple[str, ...]] = {
    "image_id": ("image_id", "img_id"),
    "file_name": ("file_name", "filename", "image_name", "image_file", "image_path", "path", "image", "img", "file"),
    "category_id": ("category_id", "class_id", "label_id", "cls", *_CLASSES),
    "name": ("category_name", "class_name", "label_name", "name", *_CLASSES),
    "score": ("score", "confidence", "conf", "probability", "prob"),
    "is_crowd": ("is_crowd", "iscrowd"),
    "mask": ("mask", "segmentation"),
    "bbox": ("bbox", "box"),
    "image_width": ("image_width", "img_width", "width"),
    "image_height": ("image_height", "img_height", "height"),
}  # canonical names and names in other tools; each column is used once, in this order


def is_of_objects(names: Sequence[str], *, scored: bool | None = None) -> bool:
    """Return True if columns with these names describe objects: an image, a class, a box, and a score only if `scored`.

    If `scored` is None, a score is optional. Boxes may be cuboids.

    >>> is_of_objects(["filename", "class", "xmin", "ymin", "xmax", "ymax"], scored=False)
    True
    """
    box = columns_of_boxes(names)
    ours = set(_renamed(names, box).values())
    has_box = "bbox" in ours or box is not None or set(CUBOID[3:6]) <= set(names)
    has_all = bool({"image_id", "file_name"} & ours) and "category_id" in ours and has_box
    return has_all and scored in (None, "score" in ours)


def with_canonical_names(table: str, frame: pl.DataFrame) -> pl.DataFrame:
    """Return objects with canonical names of columns, except those of a box.

    Names are case-insensitive. The columns of a box are left to `apframe.tables.box_formats.as_xywh`; `width` and `height` are
    those of the image if the box has other columns. Images without an `image_id` get their file name as id, without folders and
    extension if these ids are still unique.

    >>> rows = {"filename": ["a.jpg"], "class": ["cat"], "xmin": [1], "ymin": [2], "xmax": [4], "ymax": [6]}
    >>> with_canonical_names("annotations", pl.DataFrame(rows)).row(0, named=True)
    {'file_name': 'a.jpg', 'category_id': 'cat', 'xmin': 1, 'ymin': 2, 'xmax': 4, 'ymax': 6, 'image_id': 'a'}
    """
    frame = frame.rename(_renamed(frame.columns, columns_of_boxes(frame.columns)))
    if "bbox" in frame.columns:
        frame = _with_decoded_boxes(table, frame)
    if "image_id" not in frame.columns and "file_name" in frame.columns:
        names_of_files = frame["file_name"].cast(pl.String)
        short = frame.select(image_id=stems(pl.col("file_name").cast(pl.String)))["image_id"]
        are_different = short.n_unique() == names_of_files.n_unique()
        frame = frame.with_columns(short if are_different else names_of_files.alias("image_id"))
    return frame


def as_detections(frame: pl.DataFrame) -> pl.DataFrame:
    """Return detections with canonical names, if an image, a class and a score exist under other names.

    >>> rows = {"filename": ["a.jpg"], "class": ["cat"], "conf": [0.5], "bbox": [[1, 2, 3, 4]]}
    >>> as_detections(pl.DataFrame(rows)).columns
    ['file_name', 'category_id', 'score', 'bbox', 'image_id']
    """
    is_canonical = {"image_id", "category_id", "score"} <= set(frame.columns)
    if is_canonical or not is_of_objects(frame.columns, scored=True):
        return frame
    return with_canonical_names("detections", frame)


def _with_decoded_boxes(table: str, frame: pl.DataFrame) -> pl.DataFrame:
    """Convert boxes that are text, "[x, y, width, height]", to lists."""
    if frame["bbox"].dtype != pl.String:
        return frame
    try:
        return frame.with_columns(pl.col("bbox").str.json_decode(pl.List(pl.Float64)))
    except pl.exceptions.PolarsError as error:
        problem = f"is not text such as [x, y, width, height] ({first_line(error)})"
        raise ColumnError(problem, "correct these rows", table=table, column="bbox") from error


def _renamed(names: Sequence[str], box: Sequence[str] | None) -> dict[str, str]:
    """Return canonical names for columns other than the box, each used once."""
    free = {name.strip().lower(): name for name in names if name not in (box or ())}
    renamed = {}
    for ours, theirs in _OTHER_NAMES.items():
        there = next((name for name in theirs if name in free), None)
        if there is not None:
            renamed[free.pop(there)] = ours
    return renamed


def numbers_among(names: Sequence[str]) -> list[str]:
    """Return the names of columns that must be numbers: sides or edges of boxes, scores, sizes of images.

    >>> numbers_among(["img", "label", "conf", "left", "top", "right", "bottom"])
    ['left', 'top', 'right', 'bottom', 'conf']
    """
    box = [name for name in columns_of_boxes(names) or () if name != "bbox"]
    renamed = _renamed(names, box)
    return [*box, *(name for name, ours in renamed.items() if ours in ("score", *SIZE))]


def tables_of_objects(frame: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Return the tables of a data set from rows of objects: images and categories that occur; a row may be an image alone.

    >>> rows = {"image_id": [7, 8], "class": ["cat", None], "x": [1, None], "y": [2, None], "w": [3, None], "h": [4, None]}
    >>> {name: table.rows() for name, table in tables_of_objects(pl.DataFrame(rows)).items()}
    {'images': [(7,), (8,)], 'categories': [('cat', 'cat')], 'annotations': [(7, 'cat', 1, 2, 3, 4)]}
    """
    frame = with_canonical_names("annotations", frame)
    of_images = [name for name in ("image_id", "file_name", *SIZE) if name in frame.columns]
    images = frame.select(of_images).drop_nulls("image_id").unique("image_id", maintain_order=True)
    annotations = with_objects_alone(frame).drop([name for name in of_images if name != "image_id"])
    labelled = annotations.drop_nulls("category_id")
    if "name" in labelled.columns:
        categories = labelled.select("category_id", pl.col("name").cast(pl.String)).unique("category_id").sort("category_id")
    elif labelled["category_id"].dtype.is_numeric():
        categories = labelled.select(pl.col("category_id").unique().sort())
    else:
        categories = categories_of(labelled)
    return {"images": images, "categories": categories, "annotations": annotations.drop("name", strict=False)}


def with_objects_alone(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the rows with objects, without rows of an image alone, which have no class and no box."""
    return frame.filter(~pl.all_horizontal(pl.col("category_id", *(columns_of_boxes(frame.columns) or ())).is_null()))
