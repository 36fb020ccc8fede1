"""The tables that `COCOeval` evaluates: selected images and categories, from tables or dictionaries."""

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

# the fields that evaluation reads in addition to the compared shape
_OF_ANNOTATIONS = ("id", "image_id", "category_id", "bbox", "area", "iscrowd", "num_keypoints")
_OF_RESULTS = ("image_id", "category_id", "score", "bbox")
SHAPES = {"bbox": (), "segm": ("segmentation",), "keypoints": ("keypoints",)}
"""Fields that each `iouType` compares in addition to boxes."""


def truth_tables(coco: COCO, image_ids: Sequence[Any], category_ids: Sequence[Any], iou_type: str) -> Dataset:
    """Return the ground truth of some images and categories, in this order, including unknown ones."""
    truth = tables_of(coco)
    if not isinstance(truth, Dataset):
        selected, names = set(category_ids), (*_OF_ANNOTATIONS, *SHAPES[iou_type])
        rows = [row for row in indexed(coco, image_ids) if row["category_id"] in selected]
        images, sizes = [coco.imgs.get(key, {"id": key}) for key in image_ids], ("id", "width", "height")
        return _read(
            lambda picked: read_coco({**picked, "categories": [{"id": key} for key in category_ids]}),
            {"images": _pick(images, sizes), "annotations": _pick(rows, names)},
        )
    if iou_type == "segm":
        truth = truth.with_masks
    annotations, known_images = truth.core("annotations"), truth.images
    image_column = _as_ids("imgIds", image_ids, known_images["image_id"])
    category_column = _as_ids("catIds", category_ids, truth.categories["category_id"])
    if image_column.equals(known_images["image_id"].sort()) and category_column.equals(truth.categories["category_id"].sort()):
        return truth
    sizes_of = known_images.select("image_id", "image_width", "image_height")
    is_chosen = is_known(annotations["image_id"], image_column) & is_known(annotations["category_id"], category_column)
    return Dataset(
        image_column.to_frame("image_id").join(sizes_of, on="image_id", how="left", maintain_order="left"),
        category_column.to_frame("category_id"),
        annotations.filter(is_chosen),
        box_format="xywh",
    )


def found_tables(coco: COCO, image_ids: Sequence[Any], hidden: Sequence[Any], iou_type: str) -> pl.DataFrame:
    """Return the results on some images, without `hidden` categories."""
    names: tuple[str, ...] = (*_OF_RESULTS, *SHAPES[iou_type])
    results = tables_of(coco)
    if (
        iou_type == "segm"
        and isinstance(results, pl.DataFrame)
        and ("mask" not in results.columns or results["mask"].null_count())
    ):
        _ = coco.anns  # creates the dictionaries, in which a box is also a polygon
        results = None
    if isinstance(results, pl.DataFrame):
        frame = results
    else:
        rows = results if isinstance(results, list) else indexed(coco, image_ids)
        frame = _read(lambda picked: read_result_columns(picked["results"]), {"results": _pick(rows, names)})
        own = {"detection_id": [row["id"] for row in rows], "area": [row.get("area") for row in rows]}
        # areas are trusted if there is a shape in addition to the box, even an empty one
        shape = {} if SHAPES[iou_type] else {"mask": pl.Series([None] * len(rows))}
        frame = frame.with_columns(**{name: pl.Series(values, strict=False) for name, values in own.items()}, **shape)
    if any(frame[column].dtype.is_float() for column in ("image_id", "category_id")):
        frame = canonical("detections", frame)  # 7.0 is an id of 7
    for column, ids, keep in (("image_id", image_ids, True), ("category_id", hidden, False)):
        if (keep or len(ids)) and frame.height:
            is_selected = is_known(frame[column], _whole(pl.Series(ids))) == keep
            frame = frame if is_selected.all() else frame.filter(is_selected)
    return frame


def _whole(ids: pl.Series) -> pl.Series:
    """Cast float ids to whole numbers, as in the tables, where an id that is not whole matches nothing."""
    return ids.filter(ids == ids.floor()).cast(pl.Int64) if ids.dtype.is_float() else ids


def pooled_in_order(truth: Dataset, results: pl.DataFrame, category_ids: Sequence[Any]) -> tuple[Dataset, pl.DataFrame]:
    """Replace the ids of categories by their positions: if they are pooled, their order breaks ties of scores."""
    tables = truth.categories.select("category_id"), truth.core("annotations"), results
    ids = pl.Series(category_ids, dtype=tables[0]["category_id"].dtype)
    place = pl.col("category_id").replace_strict(ids, range(len(ids)), default=None, return_dtype=pl.Int64)
    categories, annotations, detections = (table.with_columns(place).drop_nulls("category_id") for table in tables)
    return Dataset(truth.images, categories, annotations, box_format="xywh"), detections


def indexed(coco: COCO, image_ids: Sequence[Any]) -> list[Row]:
    """Return the annotations of images through the methods of the object, which a subclass may override."""
    return coco.loadAnns(coco.getAnnIds(imgIds=image_ids)) if image_ids else []


def _pick(rows: Iterable[Row], names: Sequence[str]) -> list[Row]:
    """Return the rows with only these fields, because others take time to read."""
    return [{name: row[name] for name in names if name in row} for row in rows]


def _read(read: Callable[[Any], Any], sections: dict[str, list[Row]]) -> Any:
    """Read rows; arrays and tensors that the reader does not know are converted to lists and plain numbers first."""
    try:
        return read(sections)
    except ValueError:  # InputError is one, and so is the error for the truth value of an array
        plain = {
            section: [{name: _plain(value) for name, value in row.items()} for row in rows]
            for section, rows in sections.items()
        }
        return read(plain)


def _plain(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    return value.tolist() if hasattr(value, "tolist") else value


def _as_ids(name: str, values: Sequence[Any], known_ids: pl.Series) -> pl.Series:
    """Return ids of images or categories as a column with the type of the known ids."""
    try:
        return pl.Series(known_ids.name, values, dtype=known_ids.dtype, strict=True)
    except (TypeError, pl.exceptions.PolarsError):
        raise ParameterError(
            f"params.{name}: ids are {known_ids.dtype} in the ground truth, not {listed(list(values))}"
        ) from None
