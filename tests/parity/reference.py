"""pycocotools on data in memory, without its prints and around its quirks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from copy import deepcopy
from dataclasses import dataclass
from io import StringIO
from typing import Any

import numpy as np
from pycocotools import mask
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

Row = dict[str, Any]


@dataclass(frozen=True)
class Reference:
    """What pycocotools computes; `cells` are its evalImgs, `stats` are None where its summarize() does not work."""

    arrays: dict[str, np.ndarray]
    stats: np.ndarray | None
    cells: list[Row | None]
    image_ids: list[Any]
    category_ids: list[Any]
    iou_thresholds: np.ndarray
    area_ranges: dict[str, tuple[float, float]]
    max_detections: list[int]


def evaluate_by_reference(
    truth: Mapping[str, list[Row]],
    results: Sequence[Row],
    *,
    iou_thresholds: Sequence[float] | None = None,
    recall_levels: Sequence[float] | None = None,
    area_ranges: Mapping[str, tuple[float, float]] | None = None,
    max_detections: Sequence[int] | None = None,
    categories: Sequence[Any] | None = None,
    agnostic: bool = False,
) -> Reference:
    """Evaluate boxes; the options are those of `apframe.evaluate`."""
    with redirect_stdout(StringIO()):
        ground_truth = _indexed(_completed(truth))
        # loadRes looks at the first result, so it fails without any
        found = ground_truth.loadRes(deepcopy(list(results))) if results else _indexed({**truth, "annotations": []})
        evaluation = COCOeval(ground_truth, found, "bbox")
        p = evaluation.params
        if iou_thresholds is not None:
            p.iouThrs = np.array(iou_thresholds)
        if recall_levels is not None:
            p.recThrs = np.array(recall_levels)
        if max_detections is not None:
            p.maxDets = list(max_detections)
        if area_ranges is not None:
            area_ranges = area_ranges if "all" in area_ranges else {"all": (0, 1e10), **area_ranges}
            p.areaRngLbl, p.areaRng = list(area_ranges), [list(bounds) for bounds in area_ranges.values()]
        if categories is not None:
            p.catIds = sorted(categories)
        p.useCats = int(not agnostic)
        image_ids, category_ids = list(p.imgIds), list(p.catIds)
        evaluation.evaluate()
        evaluation.accumulate()
        is_default = (iou_thresholds, recall_levels, area_ranges, max_detections) == (None,) * 4
        if is_default:  # summarize() looks for these very parameters
            evaluation.summarize()
    return Reference(
        arrays={name: evaluation.eval[name] for name in ("precision", "recall", "scores")},
        stats=evaluation.stats if is_default else None,
        cells=evaluation.evalImgs,
        image_ids=image_ids,
        category_ids=category_ids,
        iou_thresholds=p.iouThrs,
        area_ranges={name: (low, high) for name, (low, high) in zip(p.areaRngLbl, p.areaRng, strict=True)},
        max_detections=p.maxDets,
    )


def mean_stats(reference: Reference) -> list[float]:
    """AP, AP50, AP75, AP by area, AR by number of detections, AR by area, as summarize() takes them from the arrays."""
    precision, recall = reference.arrays["precision"][..., -1], reference.arrays["recall"]
    at = [precision[np.abs(reference.iou_thresholds - threshold) < 1e-9] for threshold in (0.5, 0.75)]
    whole = list(reference.area_ranges).index("all")
    parts = [part for part in range(len(reference.area_ranges)) if part != whole]
    means = [precision[..., whole], *(values[..., whole] for values in at), *(precision[..., part] for part in parts)]
    means += [recall[:, :, whole, limit] for limit in range(len(reference.max_detections))]
    means += [recall[:, :, part, -1] for part in parts]
    return [float(values[values > -1].mean()) if (values > -1).any() else -1.0 for values in means]


def iou_by_reference(detection: Row, annotation: Row) -> float:
    """IoU of the boxes of a result and an annotation."""
    return float(mask.iou([detection["bbox"]], [annotation["bbox"]], [annotation.get("iscrowd") or 0]).item())


def _indexed(dataset: Mapping[str, Any]) -> COCO:
    coco = COCO()
    coco.dataset = deepcopy(dict(dataset))
    coco.createIndex()
    return coco


def _completed(truth: Mapping[str, list[Row]]) -> dict[str, list[Row]]:
    """With the fields that the reference needs, and with annotation ids that it can store as numbers."""
    defaults = [{"iscrowd": 0, "area": row["bbox"][2] * row["bbox"][3]} for row in truth["annotations"]]
    annotations = [
        default | {name: value for name, value in row.items() if value is not None}
        for default, row in zip(defaults, truth["annotations"], strict=True)
    ]
    if annotations and isinstance(annotations[0]["id"], str):
        annotations = [row | {"id": number} for number, row in enumerate(annotations, 1)]
    return {**truth, "annotations": annotations}
