"""Argoverse 2 in the tests that hold for all protocols: hand cases, and generated sweeps with plain loops."""

from __future__ import annotations

import math

import numpy as np

import apframe as apf
from tests.benchmarks.driving.argoverse2.reference import evaluate
from tests.benchmarks.driving.driving_boxes import generated
from tests.conformance.makers import Maker, rows
from tests.conformance.samples import Loop, Sample, sample_of_rows
from tests.conformance.tiny import Hand, cuboids, without_ids
from tests.protocols.rules_of import classes_of

CATEGORIES = classes_of(apf.ARGOVERSE2).names
SWEEP = cuboids(CATEGORIES)
SOME = ["REGULAR_VEHICLE", "BUS", "DOG"]


HAND: dict[str, Hand] = {
    # the wheeled rider is missed
    "argoverse2": (
        "argoverse2", {}, SWEEP, without_ids(SWEEP["annotations"][:25]),
        {"AP": 25 / 26, "ATE": 2 / 26, "ASE": 1 / 26, "AOE": math.pi / 26, "CDS": 25 / 26},
    ),
}  # fmt: skip


def loop(random: np.random.Generator, number: int) -> Sample:
    """Sweeps with objects of three categories, some without any."""
    n_images = 2 + number % 3
    truth, detections = generated(random, SOME, n_images)
    names = dict(zip(CATEGORIES, CATEGORIES, strict=True))
    return sample_of_rows([f"i{k}" for k in range(n_images)], truth, detections, names, evaluate(truth, detections, CATEGORIES))


LOOPS: dict[str, Loop] = {"ARGOVERSE2": loop}
SETS: dict[str, Maker] = {"ARGOVERSE2": rows(lambda random, n: generated(random, SOME, n, 8), 6, SOME)}
