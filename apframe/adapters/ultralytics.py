"""Detections from the `Results` of the library ultralytics: boxes, masks, keypoints and rotated boxes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from apframe.adapters.arrays import (
    as_array,
    by_image,
    canonical_batch,
    check_ids,
    column_of_ids,
    mask_column,
    refuse_items,
    tabulate_detections,
)
from apframe.exceptions import RowError
from apframe.tables.shapes.boxes import BOX
from apframe.tables.shapes.pixel_runs import Runs
from apframe.tables.shapes.polygons import rasterise
from apframe.tables.shapes.run_lengths import count_runs, to_text


def from_ultralytics(
    results: Sequence[Any] | Mapping[int | str, Any],
    image_ids: Sequence[int | str] | None = None,
    *,
    iou_type: str | None = None,
) -> pl.DataFrame:
    """Return detections from the results of an ultralytics model, one object for each image.

    Parameters
    ----------
    results
        objects with `boxes` (`xyxy`, `conf`, `cls`) or `obb` (`xyxyxyxy`, `conf`, `cls`), and optionally `masks` (`xy`:
        outlines in pixels of the image, drawn as in COCO), `keypoints` (`data`), `names` and `path`. Or a mapping from image
        ids to such objects
    image_ids
        the image id of each, in the same order; not with a mapping; by default the file names without folder and extension
    iou_type
        "bbox", "segm", "keypoints" or "rotated" returns this shape alone; see `from_torchvision`

    Returns
    -------
    The canonical detections; category_id is the model's number of the class, from 0. `name` is the class name and `file_name`
    the file name, to join the ground truth by name. With mask (run lengths), keypoints (the third number is the confidence, 1
    if there is none), or corners instead of a box.

    Raises
    ------
    RowError
        missing or invalid data; `rows` are the positions in the list, from 0
    ParameterError
        image ids that are too few or not unique, an unknown iou_type

    >>> from types import SimpleNamespace
    >>> boxes = SimpleNamespace(xyxy=[[10.0, 10, 30, 20]], conf=[0.75], cls=[3.0])
    >>> result = SimpleNamespace(boxes=boxes, names={3: "cat"}, path="images/0042.jpg")
    >>> from_ultralytics([result]).select("image_id", "category_id", "score", "name", "file_name").rows()
    [('0042', 3, 0.75, 'cat', '0042.jpg')]
    """
    results, files = with_files(results, image_ids)
    ids = files["image_id"].to_list()
    items = [_arrays(result) for result in results]
    masks = _masks(results, items) if iou_type in (None, "segm") else None
    if masks is None:
        frame = tabulate_detections("results", items, ids, iou_type)
    else:
        frame = tabulate_detections("results", items, ids, iou_type and "bbox").with_columns(masks)
        frame = frame.drop(BOX) if iou_type == "segm" else frame
    files = files.cast({"image_id": frame.schema["image_id"]})
    frame = frame.join(files, on="image_id", how="left", maintain_order="left")
    names = _class_names(results)
    name = (
        pl.col("category_id").replace_strict(names, default=None, return_dtype=pl.String) if names else pl.lit(None, pl.String)
    )
    return canonical_batch(frame.with_columns(name=name))


def with_files(
    results: Sequence[Any] | Mapping[int | str, Any], image_ids: Sequence[int | str] | None = None
) -> tuple[list[Any], pl.DataFrame]:
    """Return the results as a list, and the `image_id` and `file_name` of each; see `from_ultralytics`.

    >>> from types import SimpleNamespace
    >>> with_files([SimpleNamespace(boxes=[], path="images/0042.jpg")])[1].rows()
    [('0042', '0042.jpg')]
    """
    results, image_ids = by_image("results", [results] if hasattr(results, "boxes") else results, image_ids)
    foreign = [_objects(result) is None for result in results]
    refuse_items("results", foreign, "neither boxes nor obb", "give the results of a detector")
    paths = [Path(getattr(result, "path", None) or "") for result in results]
    if image_ids is None:
        refuse_items("results", [not path.name for path in paths], "path is missing", "give image_ids")
        image_ids = [path.stem for path in paths]
    ids = check_ids("results", len(results), image_ids)
    names = pl.Series("file_name", [path.name or None for path in paths], dtype=pl.String)
    return results, pl.DataFrame([column_of_ids(ids), names])


def _objects(result: Any) -> Any:
    """Return the boxes, or else the rotated boxes, or None."""
    boxes = getattr(result, "boxes", None)
    return getattr(result, "obb", None) if boxes is None else boxes


def _arrays(result: Any) -> dict[str, Any]:
    """Return the arrays under their common names."""
    objects = _objects(result)
    item = {"scores": as_array(objects.conf), "labels": as_array(objects.cls)}
    if getattr(result, "boxes", None) is None:
        item["corners"] = as_array(objects.xyxyxyxy)
    else:
        item["boxes"] = as_array(objects.xyxy)
    if (keypoints := getattr(result, "keypoints", None)) is not None:
        points = as_array(keypoints.data)
        item["keypoints"] = np.insert(points, 2, 1, axis=-1) if points.shape[-1] == 2 else points
    return item


def _masks(results: Sequence[Any], items: Sequence[dict[str, Any]]) -> pl.Series | None:
    """Return run lengths of all outlines, or None without any; an outline without points is a mask without pixels."""
    all_masks = [getattr(result, "masks", None) for result in results]
    if all(masks is None for masks in all_masks):
        return None
    outlines = [[] if masks is None else [as_array(outline) for outline in masks.xy] for masks in all_masks]
    n_masks = np.array([len(item["labels"]) for item in items])
    differs = n_masks != [len(each) for each in outlines]
    refuse_items("results", differs.tolist(), "masks and boxes differ in length", "give a mask for each box")
    sizes = np.repeat(np.array([result.orig_shape for result in results], dtype=np.int64), n_masks, axis=0)
    points = [outline.reshape(-1, 2) if outline.size else np.zeros((1, 2)) for each in outlines for outline in each]
    n_points = np.array([len(each) for each in points], dtype=np.int64)
    coordinates = np.concatenate([np.zeros((0, 2)), *points]).ravel()
    masks = rasterise(coordinates, n_points, np.ones_like(n_points), *sizes.T)
    if not isinstance(masks, Runs):
        of_results = np.unique(np.repeat(np.arange(len(results)), n_masks)[masks[1]])
        raise RowError("results", masks[0], "index", of_results.tolist(), "simplify the outlines")
    return mask_column(sizes, to_text(*count_runs(masks)))


def _class_names(results: Sequence[Any]) -> dict[int, str]:
    """Return the class names by number, which must be the same in all results."""
    all_names = [getattr(result, "names", None) or {} for result in results]
    named = [dict(names) if hasattr(names, "keys") else dict(enumerate(names)) for names in all_names]
    first = next((names for names in named if names), {})
    differs = [names not in ({}, first) for names in named]
    refuse_items("results", differs, "names differ from those of the first", "give the results of one model")
    return first
