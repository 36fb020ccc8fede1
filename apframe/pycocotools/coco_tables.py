"""The tables that `COCOeval` evaluates: chosen images and categories, from tables or dictionaries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import polars as pl

from apframe.exceptions import ParameterError
from apframe.formats.coco.results import read_result_columns
from apframe.formats.coco.truth import read_coco
from apframe.pycocotools.coco import COCO, tables_of
from apframe.pycocotools.coco_files import Row
from apframe.tables.canonical import canonical
from apframe.tables.dataset import Dataset
from apframe.tables.ids import is_known
from apframe.wording import listed

# what evaluation reads of the rows, beside the shape that is compared
_OF_ANNOTATIONS = ("id", "image_id", "category_id", "bbox", "area", "iscrowd", "num_keypoints")
_OF_RESULTS = ("image_id", "category_id", "score", "bbox")
SHAPES = {"bbox": (), "segm": ("segmentation",), "keypoints": ("keypoints",)}
"""Fields that each `iouType` compares in addition to boxes."""


def truth_tables(coco: COCO, image_ids: Sequence[Any], category_ids: Sequence[Any], iou_type: str) -> Dataset:
    """The ground truth of some images and categories, these in the order given, also of those that it does not have."""
    truth = tables_of(coco)
    if not isinstance(truth, Dataset):
        chosen, names = set(category_ids), (*_OF_ANNOTATIONS, *SHAPES[iou_type])
        rows = [row for row in indexed(coco, image_ids) if row["category_id"] in chosen]
        images, sizes = [coco.imgs.get(key, {"id": key}) for key in image_ids], ("id", "width", "height")
        return _read(
            lambda picked: read_coco({**picked, "categories": [{"id": key} for key in category_ids]}),
            {"images": _pick(images, sizes), "annotations": _pick(rows, names)},
        )
    if iou_type == "segm":
        truth = truth.with_masks
    annotations, known = truth.core("annotations"), truth.images
    image_column = _as_ids("imgIds", image_ids, known["image_id"])
    category_column = _as_ids("catIds", category_ids, truth.categories["category_id"])
    if image_column.equals(known["image_id"].sort()) and category_column.equals(truth.categories["category_id"].sort()):
        return truth
    sizes_of = known.select("image_id", "image_width", "image_height")
    is_chosen = is_known(annotations["image_id"], image_column) & is_known(annotations["category_id"], category_column)
    return Dataset(
        image_column.to_frame("image_id").join(sizes_of, on="image_id", how="left", maintain_order="left"),
        category_column.to_frame("category_id"),
        annotations.filter(is_chosen),
        box_format="xywh",
    )


def found_tables(coco: COCO, image_ids: Sequence[Any], hidden: Sequence[Any], iou_type: str) -> pl.DataFrame:
    """The results on some images, those of `hidden` categories left out."""
    names: tuple[str, ...] = (*_OF_RESULTS, *SHAPES[iou_type])
    found = tables_of(coco)
    if iou_type == "segm" and isinstance(found, pl.DataFrame) and ("mask" not in found.columns or found["mask"].null_count()):
        _ = coco.anns  # makes the dictionaries, in which a box is a polygon too
        found = None
    if isinstance(found, pl.DataFrame):
        frame = found
    else:
        rows = found if isinstance(found, list) else indexed(coco, image_ids)
        frame = _read(lambda picked: read_result_columns(picked["results"]), {"results": _pick(rows, names)})
        own = {"detection_id": [row["id"] for row in rows], "area": [row.get("area") for row in rows]}
        # areas are taken at their word where there is a shape beside the box, if only an empty one
        shape = {} if SHAPES[iou_type] else {"mask": pl.Series([None] * len(rows))}
        frame = frame.with_columns(**{name: pl.Series(values, strict=False) for name, values in own.items()}, **shape)
    if any(frame[column].dtype.is_float() for column in ("image_id", "category_id")):
        frame = canonical("detections", frame)  # 7.0 is an id of 7
    for column, ids, keep in (("image_id", image_ids, True), ("category_id", hidden, False)):
        if (keep or len(ids)) and frame.height:
            kept = is_known(frame[column], _whole(pl.Series(ids))) == keep
            frame = frame if kept.all() else frame.filter(kept)
    return frame


def _whole(ids: pl.Series) -> pl.Series:
    """Ids as whole numbers where they are floats, as those of the tables are; others than 7.0 name nothing there."""
    return ids.filter(ids == ids.floor()).cast(pl.Int64) if ids.dtype.is_float() else ids


def pooled_in_order(truth: Dataset, found: pl.DataFrame, category_ids: Sequence[Any]) -> tuple[Dataset, pl.DataFrame]:
    """Both with the places of the categories for their ids: where they are pooled, their order tells equal scores apart."""
    tables = truth.categories.select("category_id"), truth.core("annotations"), found
    known = pl.Series(category_ids, dtype=tables[0]["category_id"].dtype)
    place = pl.col("category_id").replace_strict(known, range(len(known)), default=None, return_dtype=pl.Int64)
    categories, annotations, detections = (table.with_columns(place).drop_nulls("category_id") for table in tables)
    return Dataset(truth.images, categories, annotations, box_format="xywh"), detections


def indexed(coco: COCO, image_ids: Sequence[Any]) -> list[Row]:
    """The annotations of images by the methods of the object, which may be those of a class of its own."""
    return coco.loadAnns(coco.getAnnIds(imgIds=image_ids)) if image_ids else []


def _pick(rows: Iterable[Row], names: Sequence[str]) -> list[Row]:
    """The rows with these fields alone: the others take time to read."""
    return [{name: row[name] for name in names if name in row} for row in rows]


def _read(read: Callable[[Any], Any], sections: dict[str, list[Row]]) -> Any:
    """Read rows; arrays and tensors that the reader does not know are converted to lists and plain numbers first."""
    try:
        return read(sections)
    except ValueError:  # which InputError is, and what is raised where an array is asked whether it is true
        plain = {
            section: [{name: _plain(value) for name, value in row.items()} for row in rows]
            for section, rows in sections.items()
        }
        return read(plain)


def _plain(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    return value.tolist() if hasattr(value, "tolist") else value


def _as_ids(name: str, values: Sequence[Any], known: pl.Series) -> pl.Series:
    """Ids of images or categories as a column of the type of the known ones."""
    try:
        return pl.Series(known.name, values, dtype=known.dtype, strict=True)
    except (TypeError, pl.exceptions.PolarsError):
        raise ParameterError(f"params.{name}: ids are {known.dtype} in the ground truth, not {listed(list(values))}") from None
