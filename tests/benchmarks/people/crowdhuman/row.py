"""CrowdHuman in the tests that hold for all protocols: hand cases, a generator, plain loops."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.benchmarks.people.crowdhuman import reference
from tests.conformance.makers import Maker, rows
from tests.conformance.samples import Loop, Sample, sample_of_rows
from tests.conformance.tiny import ELSEWHERE, PERFECT, SQUARE, Hand, at, found, truth_of

Row = dict[str, Any]
WIDTH, HEIGHT = 1000, 600
CROWD = truth_of([at(k, 1, bbox=SQUARE) for k in (1, 2)], categories=[{"id": 1, "name": "person"}])


HAND: dict[str, Hand] = {
    # the hit of the first row adds nothing, that of the third (2/3 + 1/2) / 2 of one half
    "crowdhuman": (
        "crowdhuman", {}, CROWD, [found(1, 1, 0.9, bbox=SQUARE), found(2, 1, 0.8, bbox=ELSEWHERE),
                                  found(2, 1, 0.7, bbox=SQUARE)],
        {"AP": 7 / 24, "LAMR": 0.0, "JI": (PERFECT + 1 / (2 + 1e-6)) / 2},
    ),
}  # fmt: skip


def person(x: float, y: float, width: float, height: float, image: int = 1, *, ignore: bool = False) -> Row:
    return {"image_id": image, "category_id": 1, "x": float(x), "y": float(y), "width": float(width), "height": float(height),
            "ignore": ignore}  # fmt: skip


def seen(x: float, y: float, width: float, height: float, score: float, image: int = 1) -> Row:
    """A detection."""
    return {"image_id": image, "category_id": 1, "x": float(x), "y": float(y), "width": float(width), "height": float(height),
            "score": score}  # fmt: skip


def generated(rng: np.random.Generator, n_images: int = 4) -> tuple[list[Row], list[Row]]:
    """People over each other, regions, boxes across the edges; detections of them and of nothing."""
    truth: list[Row] = []
    detections: list[Row] = []
    for image in range(1, n_images + 1):
        for _ in range(rng.integers(0, 6)):
            x, y, width, height = *rng.integers(-30, 60, 2).tolist(), *rng.choice([30, 50, 80], 2).tolist()
            truth.append(person(x, y, width, height, image, ignore=bool(rng.random() < 0.3)))
            for _ in range(rng.integers(0, 3)):
                off = rng.integers(-9, 10, 4) * (rng.random(4) < 0.6)
                box = np.array([x, y, width, height]) + off
                detections.append(seen(*box.tolist(), 0, image))
        detections += [seen(*rng.integers(200, 500, 2).tolist(), 40, 40, 0, image) for _ in range(rng.integers(0, 2))]
    for row, score in zip(detections, rng.permutation(len(detections)), strict=True):
        row["score"] = float((score + 1) / (len(detections) + 2))
    return truth, detections


def clipped(rows: list[Row]) -> list[Row]:
    return [reference.clipped(row, WIDTH, HEIGHT) for row in rows]


def loop(random: np.random.Generator, number: int) -> Sample:
    """The Jaccard index is not among the numbers of slices: it has a test of its own."""
    n_images = 4 if number % 2 else 1 + number % 6
    truth, detections = generated(random, n_images)
    ids = list(range(1, n_images + 1))
    ap, lamr = reference.summary(clipped(truth), clipped(detections), ids)
    images = [{"image_id": key, "image_width": WIDTH, "image_height": HEIGHT} for key in ids]
    return sample_of_rows(images, truth, detections, {1: "person"}, {"AP": ap, "LAMR": lamr})


LOOPS: dict[str, Loop] = {"CROWDHUMAN": loop}


SETS: dict[str, Maker] = {"CROWDHUMAN": rows(generated, 8, {1: "person"}, image_width=WIDTH, image_height=HEIGHT)}
