"""The protocols of the core in the tests that hold for all: hand cases, generators, plain loops."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from pycocotools import mask

import apframe as apf
from tests.conformance.makers import Maker, Tables, coco, with_copies
from tests.conformance.samples import Loop, Sample
from tests.conformance.tiny import (
    CATEGORIES,
    DIFFICULT,
    ELSEWHERE,
    LVIS_FOUND,
    LVIS_TRUTH,
    MASKS,
    MASKS_FOUND,
    ONE_HIT,
    ONE_OF_TWO,
    SQUARE,
    VERIFIED,
    Hand,
    at,
    found,
    points,
    truth_of,
)
from tests.parity.voc_reference import evaluate_voc
from tests.protocols import test_optimal_matching
from tests.protocols.generated import (
    BOX,
    HEIGHT,
    N_CATEGORIES,
    WIDTH,
    Row,
    Truth,
    a_score,
    boxes,
    closer,
    masks,
    mean,
    people,
    references_at_work,
    tables,
)
from tests.protocols.open_images_reference import average_precisions, judge_boxes, judge_masks
from tests.protocols.proposals_reference import recall_numbers

PEOPLE = truth_of([
    at(1, 1, bbox=[0, 0, 40, 60], area=1600, keypoints=points(17), num_keypoints=17),
    at(2, 1, bbox=[0, 0, 40, 60], area=1600, keypoints=points(17), num_keypoints=17),
    at(2, 1, bbox=[0, 0, 40, 60], area=1600, keypoints=[0] * 51, num_keypoints=0),
], categories=CATEGORIES[:1])  # fmt: skip
ANIMALS = truth_of(
    [at(1, 2, bbox=SQUARE), at(1, 2, bbox=ELSEWHERE, iscrowd=1), at(2, 3, bbox=SQUARE)],
    VERIFIED["images"],
    [{"id": 1, "name": "animal"}, {"id": 2, "name": "cat", "parent_ids": [1]}, {"id": 3, "name": "car"}],
)
ANIMALS_FOUND = [
    found(1, 2, 0.9, bbox=SQUARE),
    found(1, 2, 0.8, bbox=[60, 60, 10, 10]),  # in the group of cats
    found(1, 1, 0.7, bbox=SQUARE),  # a cat is an animal
    found(1, 3, 0.9, bbox=SQUARE),  # nobody has looked for cars on image 1
    found(2, 3, 0.8, bbox=SQUARE),
]


HAND: dict[str, Hand] = {
    "coco": ("coco", {}, ONE_OF_TWO, ONE_HIT, {"AP": 0.5, "AP50": 0.5, "APs": None, "APm": 0.5, "AR1": 0.5}),
    # 1000 of 1600 pixels: three of ten thresholds
    "coco segm": ("coco", {"iou_type": "segm"}, MASKS, MASKS_FOUND, {"AP": 0.65, "AP50": 1.0, "AP75": 0.5, "APm": 0.65}),
    "coco boundary": ("coco", {"iou_type": "boundary"}, MASKS, MASKS_FOUND[:1], {"AP": 0.5, "AR100": 0.5}),
    # half of two: precision 1 at 51 of 101 levels
    "coco keypoints": (
        "coco", {"iou_type": "keypoints"}, PEOPLE, [found(1, 1, 0.9, keypoints=points(17))],
        {"AP": 51 / 101, "AP50": 51 / 101, "AR": 0.5, "AR75": 0.5, "APl": None},
    ),
    "voc2007": ("voc2007", {}, DIFFICULT, ONE_HIT, {"AP": 0.5}),
    "voc2012": ("voc2012", {}, DIFFICULT, ONE_HIT, {"AP": 0.5}),
    "lvis": (
        "lvis", {}, LVIS_TRUTH, LVIS_FOUND,
        {"AP": 2.5 / 3, "AP50": 2.5 / 3, "APr": 1.0, "APc": 1.0, "APf": 0.5, "APm": 2.5 / 3, "AR300": 1.0},
    ),
    "open_images": ("open_images", {}, ANIMALS, ANIMALS_FOUND, {"AP": 2.5 / 3}),  # cars: one false before one true,
    # the group counts: 2 of 2 cats, 1 of 2 animals; the car on image 1 is not judged
    "open_images_challenge": ("open_images_challenge", {}, ANIMALS, ANIMALS_FOUND, {"AP": (1 + 0.5 + 1) / 3}),
    "proposals": (
        "proposals", {}, ONE_OF_TWO, ONE_HIT,
        {"AR100": 0.5, "AR1000": 0.5, "ARs": None, "ARm": 0.5, "AR_96-128": None},
    ),
}  # fmt: skip


# ---- PASCAL VOC


def of_voc(rows: list[Row]) -> list[Row]:
    """Rows as VOC's loops take them: boxes by their sides, `difficult`."""
    return [row | dict(zip(BOX, row["bbox"], strict=True)) | {"difficult": bool(row.get("ignore"))} for row in rows]


def in_order_of_images(random: np.random.Generator, n_images: int) -> tuple[Truth, list[Row]]:
    """Boxes, whose results come image by image."""
    truth, results = boxes(random, n_images)
    return truth, sorted(results, key=lambda row: row["image_id"])


def voc_sample(random: np.random.Generator, number: int, *, year: int) -> Sample:
    """Equal scores stay in the order of the rows; in half of the sets, images come in any order there."""
    make = boxes if number % 2 else in_order_of_images
    truth, results = make(random, 1 + number // 2 % 6)
    values = evaluate_voc(of_voc(truth["annotations"]), of_voc(results), year=year)
    return Sample(*tables(truth, results, "ignore"), {"AP": mean(values.values())})


# ---- Open Images


def verified(random: np.random.Generator, n_images: int) -> tuple[Truth, list[Row]]:
    """Boxes with more groups, lists of verified classes; `place` is the row: of equal scores the later comes first."""
    truth, results = boxes(random, n_images)
    for image in truth["images"]:
        for name in ("pos_category_ids", "neg_category_ids"):
            image[name] = (random.permutation(3)[: random.integers(0, 3)] + 1).tolist()
    for row in truth["annotations"]:
        row["is_crowd"] = row["iscrowd"] = bool(random.random() < 0.3)
    return truth, [row | {"place": place} for place, row in enumerate(results)]


def some_masks(random: np.random.Generator, n_images: int) -> tuple[Truth, list[Row]]:
    """Masks, more of them of groups, some annotations without one; of equal scores, the later `place` comes first."""
    truth, results = masks(random, n_images)
    for row in truth["annotations"]:
        row["is_crowd"] = bool(random.random() < 0.3)
        row["encoded"] = encoded(row["segmentation"])
        if random.random() < 0.5:  # mostly the box of the mask, so that some detections hit it
            row["bbox"] = mask.toBbox(row["encoded"]).tolist()
        if random.random() < 0.4:
            row["segmentation"] = None
        row["has_mask"] = row["segmentation"] is not None and mask.area(row["encoded"]) > 0
    detections = [row | {"place": place} for place, row in enumerate(results)]
    return truth, [row for row in detections if mask.area(row["segmentation"])]


def encoded(segmentation: Any) -> Any:
    """Polygons and counts as the reference takes them."""
    if isinstance(segmentation, list):
        return mask.merge(mask.frPyObjects(segmentation, HEIGHT, WIDTH))
    return segmentation if isinstance(segmentation["counts"], str) else mask.frPyObjects(segmentation, HEIGHT, WIDTH)


def tables_of_masks(truth: Truth, results: list[Row]) -> tuple[apf.Dataset, pl.DataFrame]:
    """The rows of `some_masks` as canonical tables: annotations with boxes, some of them with masks, detections with masks."""

    def table(rows: list[Row], *names: str) -> pl.DataFrame:
        columns: dict[str, list[Any]] = {name: [row[name] for row in rows] for name in ("image_id", "category_id", *names)}
        shapes = [row["segmentation"] for row in rows]
        columns["mask"] = [None if shape is None else json.dumps(shape) for shape in shapes]
        return pl.DataFrame(columns, schema_overrides={"mask": pl.String})

    annotations = [row | dict(zip(BOX, map(float, row["bbox"]), strict=True)) for row in truth["annotations"]]
    images = pl.DataFrame(truth["images"]).rename({"id": "image_id", "width": "image_width", "height": "image_height"})
    categories = pl.DataFrame(truth["categories"]).rename({"id": "category_id"})
    return apf.Dataset(images, categories, table(annotations, "is_crowd", *BOX)), table(results, "score")


def open_images_sample(random: np.random.Generator, number: int, *, challenge: bool) -> Sample:
    truth, results = verified(random, 1 + number % 4)
    values = average_precisions(truth, results, judge_boxes, challenge=challenge)
    return Sample(*tables(truth, results, "is_crowd"), {"AP": mean(values.values())})


def masks_sample(random: np.random.Generator, number: int, *, challenge: bool) -> Sample:
    truth, results = some_masks(random, 1 + number % 6)
    values = average_precisions(truth, results, judge_masks, challenge=challenge)
    return Sample(*tables_of_masks(truth, results), {"AP": mean(values.values())})


# ---- LVIS, which is compared with lvis-api in test_lvis.py

UNKNOWN = N_CATEGORIES + 1


def federated(random: np.random.Generator, data: tuple[Truth, list[Row]]) -> tuple[Truth, list[Row]]:
    """With frequencies, what was verified and what is not exhaustive, and with results of a category that is not listed."""
    truth, results = data
    for category, frequency in zip(truth["categories"], random.permutation([*"rcf"]).tolist(), strict=True):
        category["frequency"] = frequency
    for image in truth["images"]:
        lists = [random.permutation(N_CATEGORIES)[: random.integers(0, N_CATEGORIES)] + 1 for _ in range(2)]
        image["neg_category_ids"], image["not_exhaustive_category_ids"] = (named.tolist() for named in lists)
    for annotation in truth["annotations"]:
        annotation["area"] = max(annotation["area"], 1.0)
        if random.random() < 0.7:
            annotation["ignore"] = int(random.random() < 0.2)
        else:
            annotation.pop("ignore", None)
    others = [row | {"category_id": UNKNOWN, "score": a_score(random)} for row in results if random.random() < 0.1]
    return truth, results + others


def federated_boxes(random: np.random.Generator, n_images: int) -> tuple[Truth, list[Row]]:
    return federated(random, boxes(random, n_images))


def federated_masks(random: np.random.Generator, n_images: int) -> tuple[Truth, list[Row]]:
    truth, results = masks(random, n_images)
    with references_at_work():
        results = [row for row in results if mask.area(row["segmentation"])]
    return federated(random, (truth, results))


# ---- proposals

SIDES = [8, 31.9, 32, 50, 96, 128, 200, 256, 400, 512, 1000]


def proposals(random: np.random.Generator, n_images: int, n_categories: int = 1) -> tuple[Truth, list[Row]]:
    """Boxes with areas in and on the borders of all ranges, and images without any proposal."""
    truth, results = closer(boxes(random, n_images, n_categories))
    for row in truth["annotations"]:
        row["area"] = float(random.choice(SIDES)) ** 2
        row["is_crowd"] = bool(row["iscrowd"])
    bare = {row["id"] for row in truth["images"] if random.random() < 0.2}
    return truth, [row for row in results if row["image_id"] not in bare]


def of_categories(random: np.random.Generator, n_images: int) -> tuple[Truth, list[Row]]:
    """Proposals whose categories differ, which play no part: of equal overlaps, the first annotation of the file is taken."""
    return proposals(random, n_images, N_CATEGORIES)


def proposals_sample(random: np.random.Generator, number: int) -> Sample:
    truth, results = of_categories(random, 1 + number % 6)
    return Sample(*tables(truth, results, "area", "is_crowd"), recall_numbers(truth, results, [100, 1000]))


LOOPS: dict[str, Loop] = {
    "VOC2007": partial(voc_sample, year=2007),
    "VOC2012": partial(voc_sample, year=2012),
    "OPEN_IMAGES": partial(open_images_sample, challenge=False),
    "OPEN_IMAGES_CHALLENGE": partial(open_images_sample, challenge=True),
    "OPEN_IMAGES segm": partial(masks_sample, challenge=False),
    "OPEN_IMAGES_CHALLENGE segm": partial(masks_sample, challenge=True),
    "PROPOSALS": proposals_sample,
}


def in_a_hierarchy(random: np.random.Generator, n_images: int) -> Any:
    truth, results = verified(random, n_images)
    truth["categories"][1]["parent_ids"] = [1]
    return truth, results


def group_masks(random: np.random.Generator, _: Path) -> Tables:
    return with_copies(*tables_of_masks(*some_masks(random, 10)))


SETS: dict[str, Maker] = {
    "COCO bbox": coco(boxes, 8),
    **dict.fromkeys(("COCO segm", "COCO boundary"), coco(masks, 10)),
    "COCO keypoints": coco(people, 12),
    "COCO bbox optimal": coco(test_optimal_matching.crowded, 8),
    **dict.fromkeys(("VOC2007", "VOC2012"), coco(boxes, 8)),
    "LVIS bbox": coco(federated_boxes, 8),
    **dict.fromkeys(("LVIS segm", "LVIS boundary"), coco(federated_masks, 10)),
    **dict.fromkeys(("OPEN_IMAGES bbox", "OPEN_IMAGES_CHALLENGE bbox"), coco(in_a_hierarchy, 8)),
    **dict.fromkeys(("OPEN_IMAGES segm", "OPEN_IMAGES_CHALLENGE segm"), group_masks),
    "PROPOSALS": coco(of_categories, 6),
}
