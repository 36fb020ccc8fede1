"""KITTI in the tests that hold for all protocols: hand cases, and generated images with plain loops."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from tests.benchmarks.driving.kitti.reference import LEVELS, NAMES, evaluate, overlap
from tests.benchmarks.driving.turned_cuboids import OVERLAPS, remembered
from tests.conformance.makers import Maker
from tests.conformance.makers import rows as maker_of
from tests.conformance.samples import Loop, Sample, sample_of_rows
from tests.conformance.tiny import Hand, at, found, truth_of

Row = dict[str, Any]
TYPES = ["Car", "Van", "Truck", "Pedestrian", "Person_sitting", "Cyclist", "DontCare"]
SOME_TYPES = [each for each, n in zip(TYPES, (8, 2, 1, 4, 2, 2, 1), strict=True) for _ in range(n)]
BLOCK = truth_of(
    [at(1 + (k > 39), 1, bbox=[60 * k, 0, 50, 50], occluded=0, truncated=0.0, alpha=0.0) for k in range(41)],
    categories=[{"id": 1, "name": "Car"}, {"id": 2, "name": "Pedestrian"}, {"id": 3, "name": "Cyclist"}],
)


HAND: dict[str, Hand] = {
    # 20 of 41 found: as many positions, of which the first one does not count
    "kitti": (
        "kitti", {}, BLOCK, [found(1, 1, 0.9 - k / 100, bbox=[60 * k, 0, 50, 50], alpha=0.0) for k in range(20)],
        {"AP_Car_easy": 19 / 40, "AP_moderate": 19 / 40, "AP_Cyclist_hard": None, "AOS_Car_hard": 19 / 40},
    ),
}  # fmt: skip


def gt(category: str, left: float, top: float, right: float, bottom: float, **others: Any) -> Row:
    """An annotation, by the ends of its box as KITTI's files have them."""
    box = {"x": float(left), "y": float(top), "width": float(right - left), "height": float(bottom - top)}
    return {"image_id": "000000", "category_id": category, "truncated": 0.0, "occluded": 0, "alpha": 0.0} | box | others


def dt(category: str, left: float, top: float, right: float, bottom: float, score: float, **others: Any) -> Row:
    """A detection."""
    row = gt(category, left, top, right, bottom) | {"score": score} | others
    return {name: value for name, value in row.items() if name not in ("truncated", "occluded")}


def one_of(random: np.random.Generator, values: Sequence[Any]) -> Any:
    return values[random.integers(len(values))]  # faster than `random.choice`, which makes an array of them


def generated(random: np.random.Generator, n_images: int) -> tuple[list[Row], list[Row]]:
    """Crowded images with all types, of heights around the limits; results near objects, and elsewhere, no two scores equal."""
    annotations, detections = [], []
    for image in range(n_images):
        key = {"image_id": f"{image:06d}"}
        for _ in range(random.integers(1, 8)):
            left, top = random.integers(0, 60, 2)
            width, height = one_of(random, [20, 30, 60]), one_of(random, [20, 24, 25, 26, 39, 40, 41, 60])
            attributes = {"occluded": int(random.integers(0, 4)), "truncated": one_of(random, [0.0, 0.15, 0.2, 0.3, 0.6])}
            category = one_of(random, SOME_TYPES)
            row = gt(category, left, top, left + width, top + height, alpha=float(random.uniform(-3, 3)), **attributes, **key)
            annotations.append(row)
            for _ in range(random.integers(0, 4)):
                right, down = (one_of(random, [0, 0, 1, 2, 3, 5]) for _ in range(2))
                kind = category if random.random() < 0.8 else one_of(random, TYPES[:-1])
                bottom = top + height + one_of(random, [0, 0, -1, 1])
                moved = dt(kind, left + right, top + down, left + width + right, bottom + down, 0.0, **key)
                detections.append(moved | {"alpha": float(random.uniform(-3, 3))})
    if not detections:
        detections = [dt("Car", 0, 0, 30, 30, 0.0, image_id="000000")]
    scores = (random.permutation(len(detections)) + 1) / (len(detections) + 1)
    return annotations, [row | {"score": float(score)} for row, score in zip(detections, scores, strict=True)]


def with_cuboids(random: np.random.Generator, rows: list[Row]) -> list[Row]:
    """The rows with cuboids that overlap about as much as their boxes; a few, and regions, have none."""

    def near(value: float, by: float) -> float:
        return float(value + random.normal(0, by))

    names = ("x", "y", "z", "length", "width", "height", "yaw")
    rows_with_cuboids = []
    for row in rows:
        width, height = row["width"] / 12, row["height"] / 15
        places = (near(row["x"] / 12, 0.02), near(row["y"] / 12, 0.02), near(0.8, 0.05), width, height, near(1.5, 0.05))
        has_none = row["category_id"] == "DontCare" or random.random() < 0.05
        cuboid = [None] * 7 if has_none else [*places, near(0.4, 0.04)]
        rows_with_cuboids.append(row | dict(zip([f"cuboid_{name}" for name in names], cuboid, strict=True)))
    return rows_with_cuboids


def cuboids(random: np.random.Generator, n_images: int) -> tuple[list[Row], list[Row]]:
    """The generated images, with cuboids."""
    truth, detections = generated(random, n_images)
    return with_cuboids(random, truth), with_cuboids(random, detections)


def of_classes(
    annotations: list[Row], detections: list[Row], positions: int = 40, iou_type: str = "bbox"
) -> dict[str, dict[str, float | None]]:
    """The numbers of each class at each level of difficulty; those of boxes are AP and AOS."""
    is_boxes, alike = iou_type == "bbox", remembered(OVERLAPS.get(iou_type, overlap))
    numbers: dict[str, dict[str, float | None]] = {name: {} for name in NAMES}
    for name, of_class in numbers.items():
        for level in LEVELS:
            ap, aos = evaluate(annotations, detections, name, level, positions, alike, regions=is_boxes)
            of_class |= {f"AP_{level}": ap} | ({f"AOS_{level}": aos} if is_boxes else {})
    return numbers


def loop(random: np.random.Generator, number: int, positions: int = 40, iou_type: str = "bbox") -> Sample:
    """The means over the classes that have annotations that count."""
    n_images = 4 + 5 * (number % 5)
    rows = generated(random, n_images) if iou_type == "bbox" else cuboids(random, n_images)
    numbers: dict[str, float | None] = {}
    each = of_classes(*rows, positions, iou_type)
    for metric in each["Car"]:
        there = [value for of_class in each.values() if (value := of_class[metric]) is not None]
        numbers[metric] = sum(there) / len(there) if there else None
    return sample_of_rows([f"{image:06d}" for image in range(n_images)], *rows, dict(zip(TYPES, TYPES, strict=True)), numbers)


LOOPS: dict[str, Loop] = {
    "KITTI": loop, "KITTI bev": partial(loop, iou_type="bev"), "KITTI 3d": partial(loop, iou_type="3d")
}  # fmt: skip


SETS: dict[str, Maker] = {
    "KITTI bbox": maker_of(generated, 24, TYPES),
    **dict.fromkeys(("KITTI bev", "KITTI 3d"), maker_of(cuboids, 24, TYPES)),
}
