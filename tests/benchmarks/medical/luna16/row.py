"""LUNA16 in the tests that hold for all protocols: hand cases, a generator, plain loops."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.conformance.makers import Maker, rows
from tests.conformance.samples import Loop, Sample, sample_of_rows
from tests.conformance.tiny import CATEGORIES, MARK, Hand, at, found, truth_of

Row = dict[str, Any]
Data = tuple[dict[str, list[Row]], list[Row]]
POINTS = [2.0**k for k in range(-3, 4)]
CENTRE = ("sphere_x", "sphere_y", "sphere_z")

HAND: dict[str, Hand] = {
    # one of two nodules, with .5 false positives per scan above it: from the third of seven points on
    "luna16": (
        "luna16", {}, truth_of([at(k, 1, **MARK, sphere_diameter=10.0) for k in (1, 2)], categories=CATEGORIES[:1]),
        [found(1, 1, 0.9, **MARK | {"sphere_z": 50.0}), found(2, 1, 0.8, **MARK)], {"CPM": 5 * 0.5 / 7},
    ),
}  # fmt: skip


def is_inside(mark: Row, finding: Row) -> bool:
    radius = 5.0 if finding["sphere_diameter"] < 0 else finding["sphere_diameter"] / 2
    return mark["image_id"] == finding["image_id"] and sum((mark[k] - finding[k]) ** 2 for k in CENTRE) < radius**2


def points_of(truth: dict[str, list[Row]], results: list[Row], most: int = 100) -> tuple[list[float], list[float]]:
    """False positives per scan and sensitivities of the FROC curve, from (0, 0) on."""
    kept: list[Row] = []
    for scan in truth["images"]:
        own = [row for row in results if row["image_id"] == scan["image_id"]]
        ranked = sorted((row["score"] for row in own), reverse=True)
        kept += [row for row in own if len(own) <= most or row["score"] > ranked[most]]
    nodules = [row for row in truth["annotations"] if not row["ignore"]]
    hits = [max((row["score"] for row in kept if is_inside(row, nodule)), default=None) for nodule in nodules]
    false = [row["score"] for row in kept if not any(is_inside(row, finding) for finding in truth["annotations"])]
    hit_scores = [score for score in hits if score is not None]
    fppi, sensitivity = [0.0], [0.0]
    for cut in sorted({*hit_scores, *false}, reverse=True):
        fppi.append(sum(score >= cut for score in false) / len(truth["images"]))
        sensitivity.append(sum(score >= cut for score in hit_scores) / len(nodules))
    return fppi, sensitivity


def cpm(truth: dict[str, list[Row]], results: list[Row], most: int = 100) -> float | None:
    """The mean over the seven points, on straight lines."""
    if all(row["ignore"] for row in truth["annotations"]):
        return None
    fppi, sensitivity = points_of(truth, results, most)
    values = []
    for point in POINTS:
        left = max(k for k, at in enumerate(fppi) if at <= point)
        value = sensitivity[left]
        if left + 1 < len(fppi):
            share = (point - fppi[left]) / (fppi[left + 1] - fppi[left])
            value += share * (sensitivity[left + 1] - sensitivity[left])
        values.append(value)
    return sum(values) / len(values)


def scans(random: np.random.Generator, n_images: int) -> Data:
    """Nodules and excluded findings that overlap, marks near them and elsewhere, with many equal scores."""
    annotations: list[Row] = []
    results: list[Row] = []
    names = [f"scan {key}" for key in range(n_images)]
    for name in names:
        findings = []
        for _ in range(random.integers(0, 5)):
            centre = (random.integers(0, 25, 3) * (1, 0.5, 0.25)).tolist()
            diameter = float(random.choice([-1, 4, 8, 12]))
            findings.append(
                {"image_id": name, "category_id": "nodule", **dict(zip(CENTRE, centre, strict=True)),
                 "sphere_diameter": diameter, "ignore": bool(random.random() < 0.25)}
            )  # fmt: skip
        annotations += findings
        places = [[row[key] for key in CENTRE] for row in findings for _ in range(random.integers(0, 4))]
        places += random.integers(0, 60, (random.integers(0, 4), 3)).astype(float).tolist()
        for place in places:
            moved = (np.array(place) + random.integers(-4, 5, 3)).tolist()
            score = float(random.integers(1, 12)) / 12
            results.append({"image_id": name, "category_id": "nodule", **dict(zip(CENTRE, moved, strict=True)), "score": score})
    results = [results[place] for place in random.permutation(len(results))]
    return {"images": [{"image_id": name} for name in names], "annotations": annotations}, results


def loop(random: np.random.Generator, number: int, most: int = 100) -> Sample:
    """With `most` marks of a scan."""
    truth, results = scans(random, 1 + number % 12)
    numbers = {"CPM": cpm(truth, results, most)}
    return sample_of_rows(truth["images"], truth["annotations"], results, {"nodule": "nodule"}, numbers)


LOOPS: dict[str, Loop] = {"LUNA16": loop}


SETS: dict[str, Maker] = {"LUNA16": rows(scans, 8, ["nodule"])}
