"""Annotations and results as dictionaries by cell, and the test that they are few and sound enough to be matched directly."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import polars as pl

from apframe.pycocotools import mask
from apframe.pycocotools.coco import COCO, tables_of
from apframe.pycocotools.coco_files import Row
from apframe.pycocotools.coco_tables import indexed
from apframe.pycocotools.params import Params

Groups = defaultdict[tuple[Any, Any], list[Row]]
_MOST_IMAGES = 64


def group_annotations(coco: Any, p: Params) -> Groups:
    """Group annotations by image and category, with the flag `ignore`, and masks as run lengths, as pycocotools does."""
    groups = _group(coco, p)
    for rows in groups.values():
        for row in rows:
            without = p.iouType == "keypoints" and row["num_keypoints"] == 0
            row["ignore"] = int(bool(row.get("iscrowd")) or without)
    return groups


def group_results(coco: Any, p: Params) -> Groups:
    """Group results by image and category, with masks as run lengths, as pycocotools does."""
    return _group(coco, p)


def _group(coco: Any, p: Params) -> Groups:
    groups, categories = Groups(list), set(np.asarray(p.catIds).tolist())
    rows = [row for row in rows_of(coco, p.imgIds) if not p.useCats or row["category_id"] in categories]
    if p.iouType == "segm":
        _encode(coco, rows)
    for row in rows:
        groups[row["image_id"], row["category_id"]].append(row)
    return groups


def _encode(coco: Any, rows: list[Row]) -> None:
    """Convert masks to run lengths; polygons are drawn all at once, unless a subclass draws them."""
    is_ours = getattr(coco.annToRLE, "__func__", None) is COCO.annToRLE
    polygon_rows = [row for row in rows if is_ours and _are_polygons(row["segmentation"])]
    if polygon_rows:
        sizes = [[coco.imgs[row["image_id"]][side] for row in polygon_rows] for side in ("height", "width")]
        for row, encoding in zip(
            polygon_rows, mask.draw_objects([row["segmentation"] for row in polygon_rows], *sizes), strict=True
        ):
            row["segmentation"] = encoding
    for row in rows:
        if not (is_ours and isinstance(row["segmentation"], dict) and isinstance(row["segmentation"]["counts"], (bytes, str))):
            row["segmentation"] = coco.annToRLE(row)


def _are_polygons(segmentation: Any) -> bool:
    """Return True if this is a list of polygons, not of boxes with four numbers each."""
    return isinstance(segmentation, list) and bool(segmentation) and all(len(each) > 4 for each in segmentation)


def _have_masks(rows: list[Row], images: dict[Any, Row]) -> bool:
    """Return True if masks are polygons in images of known sizes, or run lengths; invalid ones raise a ValueError."""
    encodings = [row["segmentation"] for row in rows if isinstance(row["segmentation"], dict)]
    plain = [each for each in encodings if isinstance(each["counts"], list)]
    if plain:
        mask.frPyObjects(plain, 0, 0)
    mask.area([each for each in encodings if not isinstance(each["counts"], list)])
    polygon_rows = [row for row in rows if not isinstance(row["segmentation"], dict)]
    if not all(
        _are_polygons(row["segmentation"]) and {"height", "width"} <= images[row["image_id"]].keys() for row in polygon_rows
    ):
        return False
    polygons = [polygon for row in polygon_rows for polygon in row["segmentation"]]
    are_even = all(len(polygon) % 2 == 0 for polygon in polygons)
    return are_even and bool(np.isfinite(np.concatenate([[0.0], *polygons], dtype=float)).all())


def rows_of(coco: Any, image_ids: Any) -> list[Row]:
    """Return the annotations or results on some images, without creating an index of unused results."""
    ids, data = np.asarray(image_ids).tolist(), tables_of(coco)
    if isinstance(data, list):
        selected = set(ids)
        return [row for row in data if row["image_id"] in selected]
    return indexed(coco, ids)


def are_few_and_sound(truth: Any, results: Any, p: Params, max_rows: int) -> bool:
    """Return True if there are at most `max_rows` rows, on few images, and none of them needs a warning or an error.

    For all other rows, tables find the errors.
    """
    if len(p.imgIds) > _MOST_IMAGES or isinstance(tables_of(results), pl.DataFrame):
        return False
    results_rows, expected = rows_of(results, p.imgIds), rows_of(truth, p.imgIds)
    if len(results_rows) + len(expected) > max_rows:
        return False
    try:
        are_sound = _are_sound(results_rows, ("score",), truth, p) and _are_sound(expected, ("iscrowd",), truth, p)
        return are_sound and (p.iouType != "segm" or _have_masks([*results_rows, *expected], truth.imgs))
    except (AttributeError, KeyError, TypeError, ValueError):
        return False


def _are_sound(rows: list[Row], fields: tuple[str, ...], truth: Any, p: Params) -> bool:
    if not rows:
        return True
    if p.iouType == "keypoints":
        fields = (*fields, *(() if "score" in fields else ("num_keypoints",)))
        points = np.array([row["keypoints"] for row in rows], dtype=float)
        if points.shape != (len(rows), 3 * len(p.kpt_oks_sigmas)) or not np.isfinite(points).all():
            return False
    numbers = np.array([[*row["bbox"], row["area"], *(row[name] for name in fields)] for row in rows], dtype=float)
    ids = {row["id"] for row in rows if type(row["id"]) is int}
    return (
        bool(np.isfinite(numbers).all() and (numbers[:, 2:5] >= 0).all())
        and len(ids) == len(rows)
        and {row["category_id"] for row in rows} <= set(truth.getCatIds())
    )
