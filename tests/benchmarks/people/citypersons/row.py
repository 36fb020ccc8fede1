"""CityPersons, Caltech and EuroCity Persons in the tests that hold for all protocols: hand cases, generators, plain loops."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from tests.benchmarks.people.citypersons.reference import BOUNDS, EUROCITY, eurocity, miss_rates
from tests.conformance.makers import Maker, rows
from tests.conformance.samples import Loop, Sample, sample_of_rows
from tests.conformance.tiny import Hand, at, found, truth_of

Row = dict[str, Any]
WALKER, BESIDE = [0, 0, 41, 100], [50, 0, 41, 100]
WALKERS = truth_of([at(k, 1, bbox=WALKER, vis_ratio=0.9, occlusion=0.0, truncation=0.0) for k in (1, 2)],
                   categories=[{"id": 1, "name": "pedestrian"}])  # fmt: skip
SINCE_2019 = {"LAMR_bare": 0.5, "LAMR_partial": 0.5, "LAMR_heavy_2019": None}


HAND: dict[str, Hand] = {
    # one of two people is found, and nothing is wrong up to .5 false positives per image
    "citypersons": (
        "citypersons", {}, WALKERS, [found(1, 1, 0.9, bbox=WALKER), found(2, 1, 0.8, bbox=BESIDE)],
        {"LAMR_reasonable": 0.5, "LAMR_small": None, "LAMR_heavy": None, "LAMR_all": 0.5, **SINCE_2019},
    ),
    "caltech": (
        "caltech", {}, WALKERS | {"categories": [{"id": 1, "name": "person"}]}, [found(2, 1, 0.8, bbox=WALKER)],
        {"LAMR_reasonable": 0.5, "LAMR_small": None, "LAMR_heavy": None, "LAMR_all": 0.5, **SINCE_2019},
    ),
    # the first one is a false positive, above all points up to .3162
    "eurocity": (
        "eurocity", {}, WALKERS, [found(1, 1, 0.8, bbox=WALKER), found(2, 1, 0.9, bbox=BESIDE)],
        {"LAMR_reasonable": 0.5 ** (2 / 9), "LAMR_small": None, "LAMR_occluded": None, "LAMR_all": 0.5 ** (2 / 9)},
    ),
}  # fmt: skip


def person(x: float, y: float, width: float, height: float, visible: float = 0.9, image: int = 1, ignore: int = 0) -> Row:
    return {"image_id": image, "category_id": 1, "x": x, "y": y, "width": width, "height": height, "vis_ratio": visible,
            "ignore": bool(ignore)}  # fmt: skip


def detection(x: float, y: float, width: float, height: float, score: float, image: int = 1) -> Row:
    return {"image_id": image, "category_id": 1, "x": x, "y": y, "width": width, "height": height, "score": score}


def generated(rng: np.random.Generator, n_images: int = 4) -> tuple[list[Row], list[Row]]:
    """People and regions of many sizes and visible shares, and detections near them or anywhere, at most 12 of an image."""
    truth: list[Row] = []
    detections: list[Row] = []
    for image in range(1, n_images + 1):
        for _ in range(rng.integers(0, 6)):
            height = float(rng.choice([15, 20, 45, 50, 60, 75, 76, 94, 120]))
            box = [float(rng.integers(0, 80)), float(rng.integers(0, 40)), float(round(height * 0.41)), height]
            share = float(rng.choice([0.1, 0.2, 0.4, 0.65, 0.9]))
            x, y, width, tall = box
            truth.append(person(x, y, width, tall, share, image, int(rng.random() < 0.2)))
            for _ in range(rng.integers(0, 3)):
                off = rng.integers(-6, 7, 4) * (rng.random(4) < 0.6)
                x, y, width, tall = (np.array(box) + off).tolist()
                detections.append(detection(x, y, max(width, 1.0), max(tall, 1.0), 0, image))
        for _ in range(rng.integers(0, 3)):
            tall = float(rng.choice([15, 16, 40, 60, 93.75, 130]))
            detections.append(detection(float(rng.integers(0, 300)), 0.0, 20.0, tall, 0, image))
    for row, score in zip(detections, (rng.permutation(len(detections)) + 1) / (len(detections) + 1), strict=True):
        row["score"] = float(score)
    return truth, detections


def in_euro_city(seed: Any, n_images: int = 4) -> tuple[list[Row], list[Row]]:
    """A set whose people are occluded and cut off, and some of which are groups; of a number or of a generator."""
    rng = np.random.default_rng(seed)
    truth, detections = generated(rng, n_images)
    for row in truth:
        row |= {"occlusion": float(rng.choice([0, 0.1, 0.4, 0.8])), "truncation": float(rng.choice([0, 0.1, 0.4, 0.8]))}
        row["is_crowd"] = bool(rng.random() < 0.15)
    return truth, detections


def loop(random: np.random.Generator, number: int, *, name: str, of_eurocity: bool = False) -> Sample:
    """Two to five images, some without people or detections."""
    n_images = 2 + number % 4
    truth, detections = (in_euro_city if of_eurocity else generated)(random, n_images)
    values = (eurocity if of_eurocity else miss_rates)(truth, detections, n_images)
    numbers = dict(zip((f"LAMR_{subset}" for subset in (EUROCITY if of_eurocity else BOUNDS)), values, strict=True))
    return sample_of_rows(range(1, n_images + 1), truth, detections, {1: name}, numbers)


LOOPS: dict[str, Loop] = {
    "CITYPERSONS": partial(loop, name="pedestrian"),
    "CALTECH": partial(loop, name="person"),
    "EUROCITY": partial(loop, name="pedestrian", of_eurocity=True),
}


def _sets_of_eurocity(random: np.random.Generator, n_sets: int) -> Any:
    parts = [in_euro_city(int(random.integers(100))) for _ in range(n_sets)]
    return [
        [row | {"image_id": f"{part}_{row['image_id']}"} for part, sides in enumerate(parts) for row in sides[side]]
        for side in range(2)
    ]


SETS: dict[str, Maker] = {
    **dict.fromkeys(("CITYPERSONS", "CALTECH"), rows(generated, 8, {1: "pedestrian"})),
    "EUROCITY": rows(_sets_of_eurocity, 3, {1: "pedestrian"}),
}
