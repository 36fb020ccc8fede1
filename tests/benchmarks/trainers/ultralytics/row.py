"""Ultralytics in the tests that hold for all protocols: hand cases, a generator, plain loops."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from tests.benchmarks.trainers.ultralytics.reference import evaluate
from tests.conformance.makers import Maker, coco
from tests.conformance.samples import Loop, Sample, sample_of_coco
from tests.conformance.tiny import MASKS, MASKS_FOUND, ONE_HIT, ONE_OF_TWO, SQUARE, Hand, at, truth_of
from tests.protocols.generated import masks

Row = dict[str, Any]
HAND: dict[str, Hand] = {
    # one is found and one is not: a perfect list has .995
    "ultralytics": ("ultralytics", {}, ONE_OF_TWO, ONE_HIT, {"AP": 0.4975, "AP50": 0.4975, "AP75": 0.4975}),
    # three of ten thresholds for the second one
    "ultralytics segm": ("ultralytics", {"iou_type": "segm"}, MASKS, MASKS_FOUND, {"AP": 0.995 * 0.65, "AP75": 0.4975}),
    "ultralytics_8_4_175": ("ultralytics_8_4_175", {}, ONE_OF_TWO, ONE_HIT, {"AP": 0.4975}),
    # one of two of a class: level 0 to .5 along 1, then down to 0
    "ultralytics_8_4_35": (
        "ultralytics_8_4_35", {}, truth_of([at(k, 1, bbox=SQUARE) for k in (1, 2)]), ONE_HIT[:1], {"AP": 0.75, "AP50": 0.75},
    ),
}  # fmt: skip


def scenes(random: np.random.Generator, n_images: int) -> tuple[Any, list[Row]]:
    """Boxes near each other, with no equal sizes, so that no two of an image are as similar to a third."""
    annotations, results = [], []
    for image in range(1, n_images + 1):
        for _ in range(random.integers(0, 6)):
            box = [*random.uniform(0, 30, 2), *random.uniform(15, 40, 2)]
            row = {"image_id": image, "category_id": int(random.integers(1, 3))}
            annotations.append(row | {"id": len(annotations) + 1, "bbox": box})
            moves = random.normal(0, 2.5, (random.integers(0, 4), 4))
            results += [row | {"bbox": moved} for moved in (np.array(box) + moves).clip(0.5).tolist()]
        results += [{"image_id": image, "category_id": 3, "bbox": [0, 0, 9, 9]}] * int(random.integers(0, 2))
    scores = ((random.permutation(len(results)) + 1) / (len(results) + 1)).tolist()
    images = [{"id": number} for number in range(1, n_images + 1)]
    categories = [{"id": number, "name": f"class {number}"} for number in range(1, 4)]
    truth = {"images": images, "categories": categories, "annotations": annotations}
    return truth, [row | {"score": score} for row, score in zip(results, scores, strict=True)]


def loop(random: np.random.Generator, number: int, **rules: bool) -> Sample:
    truth, results = scenes(random, 1 + number % 5)
    is_empty = not truth["annotations"]
    numbers = dict.fromkeys(("AP", "AP50", "AP75")) if is_empty else evaluate(truth, results, **rules)
    return sample_of_coco(truth, results, numbers)


BY_VERSION = {
    "ULTRALYTICS": {"frees": True, "falls_at_once": True},
    "ULTRALYTICS_8_4_175": {"frees": False, "falls_at_once": True},
    "ULTRALYTICS_8_4_35": {"frees": False, "falls_at_once": False},
}
LOOPS: dict[str, Loop] = {name: partial(loop, **rules) for name, rules in BY_VERSION.items()}


SETS: dict[str, Maker] = {
    f"{name} {iou_type}": maker
    for name in ("ULTRALYTICS", "ULTRALYTICS_8_4_175", "ULTRALYTICS_8_4_35")
    for iou_type, maker in (("bbox", coco(scenes, 8)), ("segm", coco(masks, 5)))
}
