"""VisDrone in the tests that hold for all protocols: hand cases, a generator, plain loops."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import apframe as apf
from tests.benchmarks.aerial.visdrone.reference import evaluate
from tests.conformance.makers import Maker, coco
from tests.conformance.samples import Loop, Sample, sample_of_coco
from tests.conformance.tiny import ELSEWHERE, IMAGES, SQUARE, Hand, at, found, truth_of

Row = dict[str, Any]
NAMES = (
    "ignored regions", "pedestrian", "people", "bicycle", "car", "van", "truck", "tricycle", "awning-tricycle", "bus", "motor",
    "others",
)  # fmt: skip
DRONES = truth_of(
    [at(1, 1, bbox=SQUARE), at(2, 1, bbox=SQUARE), at(3, 2, bbox=SQUARE), at(1, 3, bbox=[50, 50, 40, 40])],
    [*IMAGES, IMAGES[1] | {"id": 3}],
    [{"id": 1, "name": "car"}, {"id": 2, "name": "bus"}, {"id": 3, "name": "ignored regions"}],
)


HAND: dict[str, Hand] = {
    # one of two cars, each in an image of its own, and a bus; what is in the region does not count
    "visdrone": (
        "visdrone", {}, DRONES, [found(k, c, 0.9, bbox=SQUARE) for k, c in ((1, 1), (3, 2))], {"AP": 2 / 3, "AR1": 2 / 3},
    ),
    "visdrone_mean": (
        "visdrone_mean", {}, DRONES, [found(1, 1, 0.9, bbox=ELSEWHERE), *(found(k, 1, 0.8, bbox=SQUARE) for k in (1, 2))],
        {"AP": 0.5, "AP75": 0.5, "AR500": 0.5},
    ),
}  # fmt: skip


def objects_of(rows: list[tuple[int, int, list[float], int]], n_images: int = 1, size: int = 600) -> Any:
    """Objects by image, category, box and score, as VisDrone's ground truth has them."""
    annotations = [
        {"id": number, "image_id": image, "category_id": category, "bbox": box, "iscrowd": int(score == 0)}
        for number, (image, category, box, score) in enumerate(rows, 1)
    ]
    images = [{"id": number, "width": size, "height": size} for number in range(1, n_images + 1)]
    categories = [{"id": number, "name": name} for number, name in enumerate(NAMES)]
    return {"images": images, "categories": categories, "annotations": annotations}


def results_of(rows: list[tuple[int, int, list[float], float]]) -> list[Row]:
    names = ("image_id", "category_id", "bbox", "score")
    return [dict(zip(names, row, strict=True)) for row in rows]


def scenes(random: np.random.Generator, n_images: int) -> tuple[Any, list[Row]]:
    """Boxes of three classes, regions and others in small images, some reaching out of them; rows are not sorted."""
    objects: list[tuple[int, int, list[float], int]] = []
    rows: list[tuple[int, int, list[float]]] = []
    for image in range(1, n_images + 1):
        for _ in range(random.integers(0, 7)):
            box = [*random.integers(-3, 70, 2).astype(float), *random.integers(5, 40, 2).astype(float)]
            category = int(random.choice([0, 1, 4, 4, 9, 11], p=[0.2, 0.2, 0.2, 0.2, 0.1, 0.1]))
            objects.append((image, category, box, int(category > 0 and random.random() < 0.85)))
            for _ in range(random.integers(0, 4)):
                other = category if category and random.random() < 0.9 else int(random.choice([1, 4, 11]))
                moved = (np.array(box) + random.normal(0, 2, 4)).round(random.integers(0, 2))
                rows.append((image, other, [*moved[:2].tolist(), *moved[2:].clip(1).tolist()]))
    scores = (random.permutation(len(rows)) + 1) / (len(rows) + 1)
    order = random.permutation(len(rows))
    return objects_of(objects, n_images, 90), results_of([(*rows[k], float(scores[k])) for k in order])


def loop(random: np.random.Generator, number: int, *, plain: bool) -> Sample:
    """The means that count a class once for each of its images, or the plain ones."""
    truth, results = scenes(random, 1 + number % 5)
    numbers = evaluate(truth, results, apf.VISDRONE.iou_thresholds)[plain]
    return sample_of_coco(truth, results, numbers or dict.fromkeys(apf.VISDRONE.lines[:3]))


LOOPS: dict[str, Loop] = {"VISDRONE": partial(loop, plain=False), "VISDRONE_MEAN": partial(loop, plain=True)}


SETS: dict[str, Maker] = dict.fromkeys(("VISDRONE", "VISDRONE_MEAN"), coco(scenes, 8))
