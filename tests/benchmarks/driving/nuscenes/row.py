"""nuScenes in the tests that hold for all protocols: hand cases, plain loops on generated cuboids."""

from __future__ import annotations

import numpy as np

import apframe as apf
from tests.benchmarks.driving import driving_boxes
from tests.benchmarks.driving.driving_boxes import Row, generated
from tests.benchmarks.driving.nuscenes import reference
from tests.conformance.makers import Maker, rows
from tests.conformance.samples import Loop, Sample, sample_of_rows
from tests.conformance.tiny import Hand, cuboids, without_ids
from tests.protocols.rules_of import classes_of

CLASSES = classes_of(apf.NUSCENES).names
METRES = [0.5, 1, 2, 4]
SCENE = cuboids(CLASSES)


HAND: dict[str, Hand] = {
    # all but the barrier, whose errors are 1; there are nine classes with an orientation, eight with a velocity
    "nuscenes": (
        "nuscenes", {}, SCENE, without_ids(SCENE["annotations"][:9]),
        {"AP": 0.9, "ATE": 0.1, "ASE": 0.1, "AOE": 1 / 9, "AVE": 0.0, "AAE": 0.0, "NDS": (4.5 + 2 * 0.9 + 8 / 9 + 2) / 10},
    ),
}  # fmt: skip


def expected_of(truth: list[Row], found: list[Row], names: tuple[str, ...] = CLASSES) -> dict[str, float]:
    """The summary by the plain loops."""
    aps, means = [], {kind: [] for kind in reference.KINDS}
    for name in names:
        own = [[row for row in rows if row["category_id"] == name] for rows in (truth, found)]
        aps.append(np.mean([reference.average_precision(own[0], own[1], metres) for metres in METRES]))
        for kind, error in reference.errors(own[0], own[1], half_turns=name == "barrier").items():
            if (name, kind) not in apf.NUSCENES.errors.undefined:
                means[kind].append(error)
    values = {"AP": np.mean(aps)} | {kind.upper(): np.mean(of) for kind, of in means.items()}
    score = 5 * values["AP"] + sum(max(0, 1 - values[kind.upper()]) for kind in reference.KINDS)
    return values | {"NDS": score / 10}


def loop(random: np.random.Generator, number: int) -> Sample:
    """Three of the ten classes in up to four images; every second set has more of each."""
    n_images = 1 + number % 4
    truth, detections = generated(random, ["car", "barrier", "traffic_cone"], n_images, 6 + number % 2 * 2)
    images = [f"i{k}" for k in range(n_images)]
    return sample_of_rows(images, truth, detections, dict(zip(CLASSES, CLASSES, strict=True)), expected_of(truth, detections))


LOOPS: dict[str, Loop] = {"NUSCENES": loop}


NAMES = ["car", "barrier", "traffic_cone"]


SETS: dict[str, Maker] = {"NUSCENES": rows(lambda random, n: driving_boxes.generated(random, NAMES, n, 8), 6, NAMES)}
