"""Label maps for the tests: generated ones, their files, and panoptic quality as a plain loop, written from the rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from PIL import Image

import apframe as apf

Segment = dict[str, Any]
CATEGORIES = {"category_id": [1, 2, 3, 4], "name": ["car", "person", "road", "sky"], "isthing": [1, 1, 0, 0]}


@dataclass
class Side:
    """The label map of an image, and its segments: id, category_id; of the ground truth iscrowd and area too."""

    pixels: np.ndarray
    segments: list[Segment] = field(default_factory=list)


def write_map(path: Path, pixels: np.ndarray) -> str:
    colors = np.stack([pixels % 256, pixels // 256 % 256, pixels // 65536], axis=-1).astype(np.uint8)
    Image.fromarray(colors).save(path)
    return str(path)


def evaluate(folder: Path, images: Sequence[tuple[Side, Side]], protocol: Any = None, **options: Any) -> apf.Evaluation:
    """The evaluation of pairs of annotated and detected label maps, whose frames name files in the folder.

    Each four images are a `set`, as `generated` makes them.
    """
    annotations: list[dict[str, Any]] = []
    detections: list[dict[str, Any]] = []
    paths = []
    for k, (truth, found) in enumerate(images):
        paths.append(write_map(folder / f"{k}_truth.png", truth.pixels))
        own = write_map(folder / f"{k}_found.png", found.pixels)
        annotations += [
            {
                "image_id": k,
                "category_id": each["category_id"],
                "segment_id": each["id"],
                "area": each["area"],
                "iscrowd": each["iscrowd"],
            }
            for each in truth.segments
        ]
        detections += [
            {"image_id": k, "category_id": each["category_id"], "segment_id": each["id"], "label_map": own}
            for each in found.segments
        ]
    shape = {"image_id": pl.Int64, "category_id": pl.Int64, "segment_id": pl.Int64}
    truths = pl.DataFrame(annotations, schema_overrides=shape) if annotations else {}
    table = pl.DataFrame(detections, schema_overrides=shape) if detections else {}
    frame = {
        "image_id": range(len(paths)),
        "label_map": paths,
        "weather": ["dry" if k % 2 else "wet" for k in range(len(paths))],
        "set": [k // 4 for k in range(len(paths))],
    }
    dataset = apf.Dataset(frame, CATEGORIES, truths)
    return apf.evaluate(dataset, table, protocol or apf.COCO_PANOPTIC, **options)


def quality(
    images: Sequence[tuple[Side, Side]], weights: Sequence[int] | None = None, dilation: float | None = None
) -> dict[int, list[float]]:
    """The sum of IoU, and the numbers of tp, fp and fn, of each category."""
    sums = {category: [0.0, 0, 0, 0] for category in CATEGORIES["category_id"]}
    for (truth, found), weight in zip(images, weights or [1] * len(images), strict=True):
        matched_truth, matched_found = set(), set()
        for a in truth.segments:
            for d in found.segments:
                if a["iscrowd"] or a["category_id"] != d["category_id"]:
                    continue
                of_truth, of_found = truth.pixels == a["id"], found.pixels == d["id"]
                shared, void = (of_truth & of_found).sum(), (of_found & (truth.pixels == 0)).sum()
                iou = shared / (of_found.sum() + a["area"] - shared - void)
                if dilation is not None and iou > 0.5:
                    edges = [boundary(each, dilation) for each in (of_truth, of_found)]
                    shared, void = (edges[0] & edges[1]).sum(), (edges[1] & (truth.pixels == 0)).sum()
                    iou = min(iou, shared / (edges[0].sum() + edges[1].sum() - shared - void))
                if iou > 0.5:
                    of = sums[int(a["category_id"])]
                    of[0] += iou * weight
                    of[1] += weight
                    matched_truth.add(a["id"])
                    matched_found.add(d["id"])
        crowds = {a["category_id"]: a["id"] for a in truth.segments if a["iscrowd"]}
        for a in truth.segments:
            sums[a["category_id"]][3] += weight * (a["id"] not in matched_truth and not a["iscrowd"])
        for d in found.segments:
            mask = found.pixels == d["id"]
            left_out = (mask & (truth.pixels == 0)).sum()
            if d["category_id"] in crowds:
                left_out += (mask & (truth.pixels == crowds[d["category_id"]])).sum()
            is_ignored = left_out / mask.sum() > 0.5
            sums[d["category_id"]][2] += weight * (d["id"] not in matched_found and not is_ignored)
    return sums


def boundary(mask: np.ndarray, dilation: float) -> np.ndarray:
    """The pixels of a mask from which another one, or the edge of the image, is at most so far, in squares."""
    height, width = mask.shape
    far = max(1, round(dilation * float(np.hypot(height, width))))
    padded = np.pad(mask, far)
    inner = np.ones_like(mask)
    for y in range(2 * far + 1):
        for x in range(2 * far + 1):
            inner &= padded[y : y + height, x : x + width]
    result: np.ndarray = mask & ~inner
    return result


def means(sums: dict[int, list[float]], of: Sequence[int] = (1, 2, 3, 4)) -> tuple[float, float, float, int] | None:
    """PQ, SQ and RQ, averaged over categories, and over how many of them."""
    rows = []
    for category in of:
        iou, tp, fp, fn = sums[category]
        if tp + fp + fn:
            rows.append([iou / (tp + fp / 2 + fn / 2), iou / tp if tp else 0, tp / (tp + fp / 2 + fn / 2)])
    return (*np.mean(rows, axis=0), len(rows)) if rows else None


def generated(seed: int, n_images: int = 4, size: int = 14) -> list[tuple[Side, Side]]:
    """Label maps of rectangles, of which the detected ones are moved, lost, made up or of another category."""
    rng = np.random.default_rng(seed)
    images = []
    for _ in range(n_images):
        truth, detections = Side(np.zeros((size, size + 3), dtype=int)), Side(np.zeros((size, size + 3), dtype=int))
        if rng.random() < 0.7:
            truth.pixels[:], detections.pixels[:] = 7, 70_000
            for side, number in ((truth, 7), (detections, 70_000)):
                side.segments.append({"id": number, "category_id": 3})
        for k in range(rng.integers(0, 7)):
            y, x = rng.integers(0, size - 3, 2)
            h, w = rng.integers(2, 9, 2)
            category = int(rng.integers(1, 5))
            if rng.random() < 0.9:
                truth.pixels[y : y + h, x : x + w] = 300 + k if rng.random() < 0.85 else 0
                truth.segments.append({"id": 300 + k, "category_id": category})
            if rng.random() < 0.85:
                dy, dx = rng.integers(-1, 2, 2) if rng.random() < 0.7 else (0, 0)
                top, left = max(0, y + dy), max(0, x + dx)
                detections.pixels[top : top + h, left : left + w] = 66_000 + k
                other = int(rng.integers(1, 5)) if rng.random() < 0.1 else category
                detections.segments.append({"id": 66_000 + k, "category_id": other})
        for side in (truth, detections):
            present = set(np.unique(side.pixels).tolist())
            side.segments = [each for each in side.segments if each["id"] in present]
        for each in truth.segments:
            each["area"] = int((truth.pixels == each["id"]).sum())
            each["iscrowd"] = int(rng.random() < 0.15)
        images.append((truth, detections))
    return images
