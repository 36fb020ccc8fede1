"""Flickr30k Entities and referring expressions in the tests that hold for all protocols."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from tests.conformance.makers import Maker, rows
from tests.conformance.samples import Loop, Sample, sample_of_rows
from tests.conformance.tiny import ONE_HIT, ONE_OF_TWO, Hand
from tests.protocols.generated import box_iou

Row = dict[str, Any]
Data = tuple[dict[str, list[Row]], list[Row]]
LIMITS = [1, 5, 10]
HAND: dict[str, Hand] = {
    "flickr30k": ("flickr30k", {}, ONE_OF_TWO, ONE_HIT, {"Success@1": 0.5, "Success@10": 0.5}),
    "refcoco": ("refcoco", {}, ONE_OF_TWO, ONE_HIT, {"Success@1": 0.5}),
}  # fmt: skip


def phrases(random: np.random.Generator, n_images: int) -> Data:
    """Phrases with no box, one or several; boxes near them and elsewhere, with many equal scores."""
    names = [f"phrase {key}" for key in range(n_images)]
    annotations: list[Row] = []
    results: list[Row] = []
    for name in names:
        boxes = [
            [*random.integers(0, 9, 2).tolist(), *random.integers(4, 20, 2).tolist()] for _ in range(random.integers(0, 4))
        ]
        annotations += [{"image_id": name, "category_id": 1, "bbox": box} for box in boxes]
        for box in [*boxes, *boxes, [60, 60, 5, 5], [70, 70, 5, 5]]:
            near = np.maximum(np.array(box) + random.integers(-5, 6, 4), 1).tolist()
            score = float(random.integers(1, 6)) / 6
            results += [{"image_id": name, "category_id": 1, "bbox": near, "score": score}] * int(random.integers(0, 3))
    images = [{"image_id": name, "kind": "people" if number % 2 else "other"} for number, name in enumerate(names)]
    return {"images": images, "annotations": annotations}, [results[place] for place in random.permutation(len(results))]


def success(data: Data, k: int) -> float | None:
    truth, results = data
    hits = []
    for image in truth["images"]:
        boxes, best = (
            [row for row in rows if row["image_id"] == image["image_id"]]
            for rows in (truth["annotations"], sorted(results, key=lambda row: -row["score"]))
        )
        if boxes:
            hits.append(any(box_iou(row["bbox"], box["bbox"]) >= 0.5 for row in best[:k] for box in boxes))
    return sum(hits) / len(hits) if hits else None


def loop(random: np.random.Generator, number: int, *, limits: list[int]) -> Sample:
    truth, results = data = phrases(random, 1 + number % 6)
    numbers = {f"Success@{k}": success(data, k) for k in limits}
    return sample_of_rows(truth["images"], truth["annotations"], results, {1: "phrase"}, numbers)


LOOPS: dict[str, Loop] = {"FLICKR30K": partial(loop, limits=LIMITS), "REFCOCO": partial(loop, limits=LIMITS[:1])}


SETS: dict[str, Maker] = dict.fromkeys(("FLICKR30K", "REFCOCO"), rows(phrases, 30, [1]))
