"""pycocotools on data in memory, without its prints and around its quirks."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import redirect_stdout
from copy import deepcopy
from dataclasses import dataclass, replace
from io import StringIO
from typing import Any

import numpy as np
import pytest
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


@dataclass(frozen=True)
class Slice:
    """A part of the data; None, in the place of each, is all.

    Of images and categories only those with these ids are evaluated. Flags for each annotation and result say which are
    inside by the area rule: the others are there, with an area of -1, which is in no range. Results that are not kept do
    not exist.
    """

    image_ids: Collection[Any] | None = None
    category_ids: Collection[Any] | None = None
    inside_annotations: Sequence[bool] | None = None
    inside_results: Sequence[bool] | None = None
    kept_results: Sequence[bool] | None = None


WHOLE = Slice()


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
    part: Slice = WHOLE,
) -> Reference:
    """Evaluate boxes, or a part of them; the options are those of `apframe.evaluate`.

    The detections of `cells` are numbered by their places in all results, from 1.
    """
    truth, results, places = _of_part(truth, results, part)
    with redirect_stdout(StringIO()):
        ground_truth = _indexed(_completed(truth))
        # loadRes looks at the first result, so it fails without any
        detections = ground_truth.loadRes(deepcopy(results)) if results else _indexed({**truth, "annotations": []})
        for place, row in zip(places, detections.dataset["annotations"], strict=True):
            row["id"] = place + 1
            if part.inside_results is not None and not part.inside_results[place]:
                row["area"] = -1
        detections.createIndex()
        evaluation = COCOeval(ground_truth, detections, "bbox")
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
        if part.category_ids is not None:
            p.catIds = [category_id for category_id in p.catIds if category_id in part.category_ids]
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


def close(values: Iterable[float | None]) -> list[Any]:
    """What equals these numbers to 1e-12; -1 and None, where nothing could be evaluated, are None."""
    return [None if value is None or value == -1 else pytest.approx(value, rel=0, abs=1e-12) for value in values]


def support(reference: Reference) -> dict[str, int]:
    """What stands behind the numbers: images, annotations that count, detections that are not ignored, categories averaged.

    At the lowest threshold, in the whole area range, with the largest number of detections.
    """
    whole = cells_at(reference, "all")
    ignored = [cell["dtIgnore"][0] for cell in whole]
    return {
        "n_images": len(reference.image_ids),
        "n_annotations": sum(int(np.sum(~np.array(cell["gtIgnore"], bool))) for cell in whole),
        "n_detections": sum(int(np.sum(~np.array(flags, bool))) for flags in ignored),
        "n_categories": int(
            (reference.arrays["recall"][0, :, list(reference.area_ranges).index("all"), -1] > -1).sum(),
        ),
    }


def of_category(reference: Reference, category_id: Any) -> Reference:
    """The results of one category alone."""
    at, n_cells = reference.category_ids.index(category_id), len(reference.image_ids) * len(reference.area_ranges)
    category = slice(at, at + 1)
    of_precision, of_recall = (..., category, slice(None), slice(None)), (slice(None), category)
    return replace(
        reference,
        arrays={name: of[of_recall if name == "recall" else of_precision] for name, of in reference.arrays.items()},
        stats=None,
        cells=reference.cells[at * n_cells : (at + 1) * n_cells],
        category_ids=[category_id],
    )


def cells_at(reference: Reference, area_range: str) -> list[Row]:
    """The cells of one area range, by category and image; those without anything are left out."""
    n_images, n_areas = len(reference.image_ids), len(reference.area_ranges)
    at = list(reference.area_ranges).index(area_range)
    return [cell for n, cell in enumerate(reference.cells) if cell is not None and n // n_images % n_areas == at]


def iou_by_reference(detection: Row, annotation: Row) -> float:
    """IoU of the boxes of a result and an annotation."""
    return float(mask.iou([detection["bbox"]], [annotation["bbox"]], [annotation.get("iscrowd") or 0]).item())


def _of_part(
    truth: Mapping[str, list[Row]], results: Sequence[Row], part: Slice
) -> tuple[Mapping[str, list[Row]], list[Row], list[int]]:
    """Ground truth and results of a part, and the places of these among all results."""
    chosen = part.image_ids
    annotations, places = truth["annotations"], list(range(len(results)))
    if part.inside_annotations is not None:
        inside = zip(annotations, part.inside_annotations, strict=True)
        annotations = [row if is_inside else row | {"area": -1} for row, is_inside in inside]
    if part.kept_results is not None:
        places = [place for place in places if part.kept_results[place]]
    if chosen is not None:
        annotations = [row for row in annotations if row["image_id"] in chosen]
        places = [place for place in places if results[place]["image_id"] in chosen]
    images = [row for row in truth["images"] if chosen is None or row["id"] in chosen]
    return {**truth, "images": images, "annotations": annotations}, [results[place] for place in places], places


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
