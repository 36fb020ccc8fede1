"""CrowdPose in the tests that hold for all protocols: hand cases, a generator, numbers by pycocotools with its rules."""

from __future__ import annotations

from functools import partial

import numpy as np

from tests.conformance.makers import Maker, coco
from tests.conformance.samples import Loop, Sample, sample_of_coco
from tests.conformance.tiny import CATEGORIES, Hand, at, found, points, truth_of
from tests.protocols.generated import Row, Truth, by_pycocotools, people

CROWDED = [
    {"id": number, "weather": weather, "crowdIndex": index}
    for number, weather, index in ((1, "fog", 0.1), (2, "fog", 0.8), (3, "fog", 0.9), (4, "clear", 0.0))
]


HAND: dict[str, Hand] = {
    # two of three: precision 1 at 67 of 101 levels
    "crowdpose": (
        "crowdpose", {}, truth_of([at(k, 1, bbox=[0, 0, 40, 60], keypoints=points(14), num_keypoints=14) for k in (1, 2, 3)],
                                  CROWDED, CATEGORIES[:1]),
        [found(1, 1, 0.9, keypoints=points(14)), found(2, 1, 0.8, keypoints=points(14))],
        {"AP": 67 / 101, "AR": 2 / 3, "AP_easy": 1.0, "AP_medium": 1.0, "AP_hard": 0.0},
    ),
}  # fmt: skip

# shoulders, elbows, wrists, hips, knees, ankles, top of the head, neck
SIGMAS = np.array([0.79, 0.79, 0.72, 0.72, 0.62, 0.62, 1.07, 1.07, 0.87, 0.87, 0.89, 0.89, 0.79, 0.79]) / 10
# of crowdIndex: above, up to
PARTS = {"AP_easy": (-np.inf, 0.1), "AP_medium": (0.1, 0.8), "AP_hard": (0.8, np.inf)}
METRICS = ["AP", "AP50", "AP75", "AR", "AR50", "AR75", *PARTS]

fourteen_joints = partial(people, n_joints=14)


def in_all_parts(random: np.random.Generator, n_images: int) -> tuple[Truth, list[Row]]:
    """With images of three crowd indices and on the borders between."""
    truth, results = fourteen_joints(random, n_images + 2)
    for image, index in zip(truth["images"], [0.1, 0.8, 0.8000001], strict=False):
        image["crowdIndex"] = index
    return truth, results


def expected_values(truth: Truth, results: list[Row], *, with_parts: bool = True) -> list[float]:
    """The summary of COCO's evaluation with other sigmas, where areas are .53 of the box; each part on its own, -1 for none."""
    annotations = [row | {"area": row["bbox"][3] * row["bbox"][2] * 0.53} for row in truth["annotations"]]
    adapted = truth | {"annotations": annotations}
    stats = by_pycocotools(adapted, results, "keypoints", sigmas=SIGMAS).stats.tolist()
    values = [*stats[:3], *stats[5:8]]  # without those by area
    for above, up_to in PARTS.values() if with_parts else ():
        image_ids = [row["id"] for row in truth["images"] if above < row["crowdIndex"] <= up_to]
        evaluation = by_pycocotools(adapted, results, "keypoints", sigmas=SIGMAS, image_ids=image_ids) if image_ids else None
        values.append(evaluation.stats[0] if evaluation else -1.0)
    return values


def loop(random: np.random.Generator, number: int) -> Sample:
    """The parts of the images are not among the numbers of slices: they have tests of their own."""
    make = in_all_parts if number % 2 else fourteen_joints
    truth, results = make(random, 1 + number % 4)
    values = expected_values(truth, results, with_parts=False)
    numbers = {name: None if value == -1 else value for name, value in zip(METRICS, values, strict=False)}
    return sample_of_coco(truth, results, numbers)


LOOPS: dict[str, Loop] = {"CROWDPOSE": loop}


SETS: dict[str, Maker] = {"CROWDPOSE": coco(in_all_parts, 6)}
