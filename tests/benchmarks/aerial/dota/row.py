"""DOTA in the tests that hold for all protocols: hand cases, a generator, plain loops over shapely's polygons."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import pytest

import apframe as apf
from apframe.protocols.rules.ignored import IgnoreFlagged
from tests.conformance.makers import Maker, rows
from tests.conformance.samples import Loop, Sample, sample_of_rows
from tests.conformance.tiny import ELSEWHERE, Hand, Json, at, found, truth_of
from tests.parity.voc_reference import average_precision
from tests.protocols.generated import BOX, mean
from tests.protocols.rules_of import classes_of

Row = dict[str, Any]
CATEGORIES = [1, 2]
CLASSES = ["plane", "bridge"]
DIAMOND = [20, 0, 40, 20, 20, 40, 0, 20]
TURNED = {"bbox": [20 - 200**0.5, 20 - 200**0.5, 800**0.5, 800**0.5], "angle": math.pi / 4}  # the same


def aerial(names: tuple[str, ...]) -> Json:
    """An object of each class and a difficult one of the first, which is elsewhere."""
    rows = [at(1, k, corners=DIAMOND) for k in range(1, len(names) + 1)]
    elsewhere = [value + 50 for value in DIAMOND]
    return truth_of([*rows, at(1, 1, corners=elsewhere, ignore=1)],
                    categories=[{"id": k, "name": name} for k, name in enumerate(names, 1)])  # fmt: skip


FROM_ABOVE, LATER = aerial(classes_of(apf.DOTA_V1).names), aerial(classes_of(apf.DOTA_V15).names)


HAND: dict[str, Hand] = {
    "dota": (
        "dota", {}, truth_of([at(1, 1, corners=DIAMOND), at(2, 2, corners=DIAMOND), at(2, 2, corners=DIAMOND, ignore=1)]),
        [found(1, 1, 0.9, **TURNED), found(2, 2, 0.8, bbox=ELSEWHERE, angle=0.0)], {"AP": 0.5},
    ),
    # the first class and the last are found; of the first one, a difficult object may be missed in v1.0 alone
    "dota_v1": (
        "dota_v1", {}, FROM_ABOVE, [found(1, k, 0.9, **TURNED) for k in (1, 15)], {"AP": 2 / 15},
    ),
    "dota_v15": (
        "dota_v15", {}, LATER, [found(1, k, 0.9, **TURNED) for k in (1, 16)], {"AP": (6 / 11 + 1) / 16},
    ),
    "mmrotate": (
        "mmrotate", {}, FROM_ABOVE, [found(1, k, 0.9, **TURNED) for k in range(1, 15)], {"AP": (6 / 11 + 13) / 15},
    ),
}  # fmt: skip


def corners(row: Row) -> list[float]:
    """Around the box, turned counter-clockwise about its centre as one sees it: y points down, so its right end goes up."""
    x, y = row["x"] + row["width"] / 2, row["y"] + row["height"] / 2
    cos, sin = math.cos(row["angle"]), math.sin(row["angle"])
    places = []
    for right, down in ((-1, -1), (1, -1), (1, 1), (-1, 1)):
        dx, dy = right * row["width"] / 2, down * row["height"] / 2
        places += [x + dx * cos + dy * sin, y - dx * sin + dy * cos]
    return places


def overlap(one: Row, other: Row) -> float:
    shapely = pytest.importorskip("shapely", reason="rotated boxes are compared with shapely")
    mine, theirs = (shapely.Polygon(np.reshape(corners(row), (4, 2))) for row in (one, other))
    shared = mine.intersection(theirs).area
    return shared / (mine.area + theirs.area - shared)


def rotated(random: np.random.Generator, n_images: int) -> tuple[Any, Any]:
    """Rotated boxes, some difficult, some alike; results near them, all of different score."""
    annotations: list[Row] = []
    results: list[Row] = []
    for image_id in range(1, n_images + 1):
        for _ in range(random.integers(0, 5)):
            row = {"image_id": image_id, "category_id": int(random.choice(CATEGORIES))}
            row |= dict(zip(BOX, [*random.uniform(0, 60, 2), *random.uniform(5, 60, 2)], strict=True))
            row["angle"] = float(random.choice([0, math.pi / 2, random.uniform(-4, 4)]))
            copies = 1 + int(random.random() < 0.2)
            annotations += [row | {"ignore": bool(random.random() < 0.2)} for _ in range(copies)]
            for _ in range(random.integers(0, 4)):
                moves = {name: row[name] + random.normal(0, 3) for name in ("x", "y")}
                moves["angle"] = row["angle"] + float(random.choice([0, math.pi, random.normal(0, 0.2)]))
                results.append(row | moves)
    scores = (random.permutation(len(results)) + 1) / (len(results) + 1)
    results = [row | {"score": score} for row, score in zip(results, scores.tolist(), strict=True)]
    return {"images": list(range(1, n_images + 1)), "annotations": annotations}, results


def judge(truth: Any, results: list[Row], category: int, protocol: apf.Protocol = apf.DOTA) -> list[bool | None]:
    """What became of each detection, best score first: true, false, or None where it is ignored."""
    outcomes: list[bool | None] = []
    matched_numbers = set[int]()
    for row in sorted((row for row in results if row["category_id"] == category), key=lambda row: -row["score"]):
        here = [
            (overlap(row, other), -number)
            for number, other in enumerate(truth["annotations"])
            if (other["image_id"], other["category_id"]) == (row["image_id"], category)
        ]
        best, number = max(here, default=(0.0, 0))
        if best < 0.5 or (best == 0.5 and protocol.matcher.strict):
            outcomes.append(False)
        elif truth["annotations"][-number]["ignore"] and protocol.rule(IgnoreFlagged):
            outcomes.append(None)
        else:
            outcomes.append(-number not in matched_numbers)
            matched_numbers.add(-number)
    return outcomes


def expected_of(truth: Any, results: list[Row], protocol: apf.Protocol) -> float | None:
    """The mean over the categories, or over as many as the protocol has."""
    values = []
    for category in CATEGORIES:
        rows = [row for row in truth["annotations"] if row["category_id"] == category]
        n_positives = sum(not (row["ignore"] and protocol.rule(IgnoreFlagged)) for row in rows)
        ap = average_precision(judge(truth, results, category, protocol), n_positives, 2007)
        values.append(0.0 if ap is None and protocol.counts_absent else ap)
    n = {"DOTA_V1": 15, "DOTA_V15": 16}.get(protocol.name)
    return mean(values) if n is None else sum(value or 0 for value in values) / n


def loop(random: np.random.Generator, number: int, *, protocol: apf.Protocol) -> Sample:
    truth, results = rotated(random, 1 + number % 3)
    names = dict(zip(CATEGORIES, CLASSES, strict=True))
    return sample_of_rows(truth["images"], truth["annotations"], results, names, {"AP": expected_of(truth, results, protocol)})


LOOPS: dict[str, Loop] = {
    each.name: partial(loop, protocol=each) for each in (apf.DOTA, apf.DOTA_V1, apf.DOTA_V15, apf.MMROTATE)
}


SETS: dict[str, Maker] = dict.fromkeys(
    ("DOTA", "DOTA_V1", "DOTA_V15", "MMROTATE"), rows(rotated, 6, dict(zip(CATEGORIES, CLASSES, strict=True)))
)
