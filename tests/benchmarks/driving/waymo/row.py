"""Waymo Open Dataset in the tests that hold for all protocols: hand cases, and generated frames with plain loops."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from tests.benchmarks.driving.kitti.reference import overlap as overlap_of_boxes
from tests.benchmarks.driving.turned_cuboids import OVERLAPS, remembered
from tests.benchmarks.driving.waymo.reference import NAMES, evaluate
from tests.conformance.makers import Maker, rows
from tests.conformance.samples import Loop, Sample, sample_of_rows
from tests.conformance.tiny import Hand, at, found, truth_of

Row = dict[str, Any]
SHORT = {"TYPE_VEHICLE": "Vehicle", "TYPE_PEDESTRIAN": "Pedestrian", "TYPE_SIGN": "Sign", "TYPE_CYCLIST": "Cyclist"}
SIDES = {"x": "cuboid_x", "y": "cuboid_y", "width": "cuboid_length", "height": "cuboid_width"}
ON_ROADS = [{"id": k, "name": name} for k, name in enumerate(NAMES, 1)]
VEHICLE = dict.fromkeys(("cuboid_x", "cuboid_y", "cuboid_z", "cuboid_yaw"), 0.0)
VEHICLE |= {"cuboid_length": 4.0, "cuboid_width": 2.0, "cuboid_height": 1.5}


HAND: dict[str, Hand] = {
    # one of two is found, at the easier level; at level 2 it is one of two
    "waymo": (
        "waymo", {}, truth_of([at(1 + (k == 1), k or 1, **VEHICLE, level=1 + (k == 1), n_points=9) for k in range(5)],
                              categories=ON_ROADS),
        [found(1, 1, 0.9, **VEHICLE)], {"AP_Vehicle_L1": 1.0, "APH_ALL_NS_L2": 0.5 / 3, "AP_L2": 0.5 / 4, "AP_Sign_L1": 0.0},
    ),
}  # fmt: skip


def cuboid(x: float, category: str = "TYPE_VEHICLE", frame: str = "f1", **others: Any) -> Row:
    return {"image_id": frame, "category_id": category} | VEHICLE | {"cuboid_x": float(x)} | others


def gt(x: float, level: int = 1, **others: Any) -> Row:
    """An annotation."""
    return cuboid(x, level=level, **others)


def dt(x: float, score: float, **others: Any) -> Row:
    """A detection."""
    return cuboid(x, **({"score": score, "no_label_zone": False} | others))


def generated(random: np.random.Generator, n_frames: int) -> tuple[list[Row], list[Row]]:
    """Crowded frames, with similarities that compete; scores closer than a cut-off, none equal."""
    annotations, detections = [], []
    for frame in range(n_frames):
        key: Row = {"frame": f"f{frame}"}
        for _ in range(random.integers(1, 4)):
            x = float(random.choice([0, 0.5, 1, 1.5, 9]) + random.uniform(0, 0.01))
            key["cuboid_y"] = float(random.uniform(0, 0.2))  # so that hardly any two sums are equal
            kind = str(random.choice([*SHORT], p=[0.6, 0.2, 0.1, 0.1]))
            yaws = [0, math.pi]
            row = gt(x, int(random.integers(1, 3)), category=kind, cuboid_yaw=float(random.choice(yaws)), **key)
            annotations.append(row)
            for _ in range(random.integers(0, 3)):
                moved = x + float(random.choice([0, 0.1, 0.2, 0.3, 0.45, 0.7, -0.3]))
                key["cuboid_y"] = float(random.uniform(0, 0.2))
                more = {"cuboid_yaw": float(random.choice(yaws)), "no_label_zone": random.random() < 0.2}
                detections.append(dt(moved, 0, category=kind, **more, **key))
    if not detections:
        detections = [dt(0, 0, frame="f0")]
    scores = random.permutation(len(detections)) + random.uniform(0, 0.9, len(detections))
    scale = random.choice([0.004, 0.03])
    return annotations, [
        row | {"score": float(min(0.3 + scale * score, 1)), "no_label_zone": bool(row["no_label_zone"])}
        for row, score in zip(detections, scores, strict=True)
    ]


def turned(random: np.random.Generator, rows: list[Row]) -> list[Row]:
    """The rows, each turned and raised a little."""
    return [
        row | {"cuboid_yaw": row["cuboid_yaw"] + random.uniform(-0.1, 0.1), "cuboid_z": random.normal(0, 0.05)} for row in rows
    ]


def as_boxes(rows: list[Row]) -> list[Row]:
    """What the rows are from above, as boxes of images."""
    return [
        {name: value for name, value in row.items() if "cuboid" not in name}
        | {name: 20 * row[of] for name, of in SIDES.items()}
        for row in rows
    ]


def of_classes(
    annotations: list[Row], detections: list[Row], iou_type: str = "3d", *, first: bool = False
) -> dict[str, dict[str, float]]:
    """The numbers of each class at both levels; `first` for matching by score. Those of boxes have no APH."""
    alike = remembered(OVERLAPS.get(iou_type, overlap_of_boxes))
    numbers: dict[str, dict[str, float]] = {name: {} for name in NAMES}
    for name, of_class in numbers.items():
        for level in (1, 2):
            ap, aph = evaluate(annotations, detections, name, level, first=first, alike=alike)
            of_class |= {f"AP_L{level}": ap} | ({} if iou_type == "bbox" else {f"APH_L{level}": aph})
    return numbers


def loop(random: np.random.Generator, number: int, iou_type: str = "3d") -> Sample:
    """The means over all classes, of which those that are absent have 0."""
    n_frames = 1 + number % 3
    rows = [as_boxes(rows) if iou_type == "bbox" else turned(random, rows) for rows in generated(random, n_frames)]
    each = of_classes(rows[0], rows[1], iou_type).values()
    means = {metric: sum(of_class[metric] for of_class in each) / len(NAMES) for metric in next(iter(each))}
    return sample_of_rows([f"f{frame}" for frame in range(n_frames)], *rows, dict(zip(NAMES, NAMES, strict=True)), means)


LOOPS: dict[str, Loop] = {
    "WAYMO": loop, "WAYMO bev": partial(loop, iou_type="bev"), "WAYMO bbox": partial(loop, iou_type="bbox")
}  # fmt: skip


def at_heights(random: np.random.Generator, n_frames: int) -> list[list[Row]]:
    """The generated frames, with cuboids at different heights."""
    sides = generated(random, n_frames)
    return [[row | {"cuboid_z": float(random.normal(0, 0.05))} for row in side] for side in sides]


def from_above(random: np.random.Generator, n_frames: int) -> list[list[Row]]:
    """The generated frames, with boxes."""
    return [as_boxes(side) for side in generated(random, n_frames)]


SETS: dict[str, Maker] = {
    **dict.fromkeys(("WAYMO 3d", "WAYMO bev"), rows(at_heights, 12, [*SHORT])),
    "WAYMO bbox": rows(from_above, 12, [*SHORT]),
}
