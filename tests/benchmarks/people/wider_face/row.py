"""WIDER FACE in the tests that hold for all protocols: hand cases, a generator, plain loops."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.benchmarks.people.wider_face.reference import average_precision
from tests.conformance.makers import Maker, rows
from tests.conformance.samples import Loop, Sample, sample_of_rows
from tests.conformance.tiny import ELSEWHERE, SQUARE, Hand, at, found, truth_of

Row = dict[str, Any]
Box = tuple[float, float, float, float]
DIFFICULTIES = ("easy", "medium", "hard")
FACES = truth_of([at(k, 1, bbox=SQUARE, easy=k == 1, medium=True, hard=True) for k in (1, 2)],
                 categories=[{"id": 1, "name": "face"}])  # fmt: skip


HAND: dict[str, Hand] = {
    # one of two faces of the larger sets is found, and the false positive comes later
    "wider_face": (
        "wider_face", {}, FACES, [found(1, 1, 0.9, bbox=SQUARE), found(2, 1, 0.8, bbox=ELSEWHERE)],
        {"AP_easy": 1.0, "AP_medium": 0.5, "AP_hard": 0.5},
    ),
}  # fmt: skip


def face(box: Box, inside: bool | str = True, image: str = "a") -> Row:
    """A face of all sets, of none, or of the one that is named and all larger ones."""
    sets = DIFFICULTIES[DIFFICULTIES.index(inside) :] if isinstance(inside, str) else DIFFICULTIES if inside else ()
    return {"image_id": image, "category_id": 1, **dict(zip(("x", "y", "width", "height"), map(float, box), strict=True)),
            **{name: name in sets for name in DIFFICULTIES}}  # fmt: skip


def seen(box: Box, score: float, image: str = "a") -> Row:
    """A detection."""
    return {"image_id": image, "category_id": 1, **dict(zip(("x", "y", "width", "height"), map(float, box), strict=True)),
            "score": score}  # fmt: skip


def generated(rng: np.random.Generator, n_images: int = 4) -> tuple[list[Row], list[Row]]:
    """Faces of any set, many of them over each other, and detections of them or of nothing; some images have no face."""
    truth: list[Row] = []
    detections: list[Row] = []
    for image in (f"i{k}" for k in range(n_images)):
        for _ in range(rng.integers(0, 5)):
            box = (*rng.integers(0, 30, 2).tolist(), *rng.choice([8, 12, 20], 2).tolist())
            truth.append(face(box, str(rng.choice(DIFFICULTIES)) if rng.random() < 0.8 else False, image))
            for _ in range(rng.integers(0, 4)):
                off = rng.integers(-3, 4, 4) * (rng.random(4) < 0.5)
                x, y, width, height = (np.array(box) + off).tolist()
                detections.append(seen((x, y, max(width, 1), max(height, 1)), 0, image))
        detections += [seen((*rng.integers(0, 99, 2).tolist(), 9, 9), 0, image) for _ in range(rng.integers(0, 3))]
    # many in one step, none of them equal on an image
    for place, row in enumerate(detections):
        row["score"] = float(rng.choice([0.2, 0.5, 0.9]) + place / 1e6 + rng.random() / 1e4)
    return truth, detections


def loop(random: np.random.Generator, number: int) -> Sample:
    n_images = 1 + number % 4
    truth, detections = generated(random, n_images)
    numbers = {f"AP_{name}": average_precision(truth, detections, name) for name in DIFFICULTIES}
    return sample_of_rows([f"i{k}" for k in range(n_images)], truth, detections, {1: "face"}, numbers)


LOOPS: dict[str, Loop] = {"WIDER_FACE": loop}


SETS: dict[str, Maker] = {"WIDER_FACE": rows(generated, 16, {1: "face"})}
