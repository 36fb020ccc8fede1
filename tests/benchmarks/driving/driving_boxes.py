"""Cuboids on the x axis, as the cases of nuScenes and Argoverse 2 have them, and generated ones."""

from __future__ import annotations

from typing import Any

import numpy as np

import apframe as apf

Row = dict[str, Any]


def cuboid(
    x: float,
    score: float | None = None,
    *,
    image: str = "s",
    name: str = "car",
    z: float = 0.0,
    size: tuple[float, float, float] = (2, 4, 1.5),
    yaw: float = 0.0,
    velocity: tuple[float | None, float | None] = (0.0, 0.0),
    attribute: str | None = None,
    **further: Any,
) -> Row:
    """A row of annotations, or, with a score, of detections; `size` is width, length, height, as in nuScenes' files."""
    width, length, height = map(float, size)
    row = {
        "image_id": image, "category_id": name, "cuboid_x": float(x), "cuboid_y": 0.0, "cuboid_z": float(z),
        "cuboid_length": length, "cuboid_width": width, "cuboid_height": height, "cuboid_yaw": float(yaw),
        "velocity_x": velocity[0], "velocity_y": velocity[1], "attribute": attribute,
    }  # fmt: skip
    return row | further | ({} if score is None else {"score": float(score)})


def evaluate(
    truth: list[Row], found: list[Row], protocol: Any, images: Any = ("s",), categories: Any = ("car",), **options: Any
) -> apf.Evaluation:
    """The evaluation of some rows; categories are called as their ids."""
    names = list(categories)
    images = images if isinstance(images, dict) else {"image_id": list(images)}
    return apf.evaluate(apf.Dataset(images, {"category_id": names, "name": names}, truth), found, protocol=protocol, **options)


def of_category(evaluation: apf.Evaluation, column: str, name: str = "car") -> list[float | None]:
    """A column of the metrics for one category, from the nearest threshold to the farthest."""
    rows = evaluation.metrics.sort("iou_threshold", descending=True)
    return rows.filter(rows["category_id"] == name)[column].to_list()


def generated(rng: np.random.Generator, names: list[str], n_images: int = 4, most: int = 8) -> tuple[list[Row], list[Row]]:
    """Annotations and detections, some near each other, some at the same place or with the same score."""
    truth, detections = [], []
    attributes = ["moving", "parked", None]

    def further() -> dict[str, Any]:
        return {
            "yaw": float(rng.uniform(-3.1, 3.1)),
            "size": tuple(rng.uniform(1, 5, 3).tolist()),
            "velocity": tuple(rng.uniform(-2, 2, 2).tolist()) if rng.random() < 0.8 else (None, None),
            "attribute": attributes[int(rng.integers(3))],
            "z": float(rng.normal()),
        }

    for image in range(n_images):
        for name in names:
            places = rng.integers(-6, 7, int(rng.integers(most))) * (0.5 if rng.random() < 0.3 else 1.0) + rng.choice([0, 0.3])
            truth += [cuboid(x, image=f"i{image}", name=name, **further()) for x in places]
            around = rng.choice([*places, 0.0, 20.0], int(rng.integers(most + 2)))
            shifts = np.where(
                rng.random(len(around)) < 0.3, rng.choice([0.0, 0.5, 1.0], len(around)), rng.normal(0, 1.2, len(around))
            )
            scores = rng.integers(1, 7, len(around)) / 8 if rng.random() < 0.4 else rng.random(len(around))
            detections += [
                cuboid(x + shift, score, image=f"i{image}", name=name, **further())
                for x, shift, score in zip(around, shifts, scores, strict=True)
            ]
    order = rng.permutation(len(detections)).tolist()
    return truth, [detections[place] for place in order]
