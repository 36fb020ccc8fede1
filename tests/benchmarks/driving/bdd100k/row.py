"""BDD100K in the tests that hold for all protocols: hand cases, a generator of frames, COCO's program on them."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from pycocotools import mask as coco_mask

import apframe as apf
from apframe.protocols.headlines import headlines
from tests.conformance.makers import Maker, Tables
from tests.conformance.samples import Loop, Sample, sample_of_coco
from tests.conformance.tiny import ELSEWHERE, MASKS_FOUND, OUTLINE, SQUARE, Hand, at, found, truth_of
from tests.protocols.generated import by_pycocotools
from tests.protocols.rules_of import classes_of

Json = dict[str, Any]
CLASSES = classes_of(apf.BDD100K).names
RENAMED, IGNORED = dict(classes_of(apf.BDD100K).renamed), dict(classes_of(apf.BDD100K).crowds)
STREET = [{"id": number, "name": name} for number, name in enumerate(("car", "van", "other vehicle"), 1)]
CARS = [at(1, 1, bbox=SQUARE, area=1600), at(2, 2, bbox=SQUARE, area=1600), at(2, 3, bbox=ELSEWHERE, area=1600)]
CARS_WITH_MASKS = [row | {"segmentation": OUTLINE} for row in CARS[:2]]


HAND: dict[str, Hand] = {
    # one of two cars, a van being one: precision 1 at 51 of 101 levels; what is found in the ignored vehicle does not count
    "bdd100k": (
        "bdd100k", {}, truth_of(CARS, categories=STREET), [found(1, 1, 0.9, bbox=SQUARE), found(2, 1, 0.95, bbox=ELSEWHERE)],
        {"AP": 51 / 101, "AP75": 51 / 101, "APs": None, "APm": 51 / 101, "AR10": 0.5, "AR1": 0.5},
    ),
    # both of two at three of ten thresholds
    "bdd100k segm": (
        "bdd100k", {"iou_type": "segm"}, truth_of(CARS_WITH_MASKS, categories=STREET),
        MASKS_FOUND, {"AP": 0.3 + 0.7 * 51 / 101, "AP50": 1.0, "AR100": 0.65},
    ),
}  # fmt: skip


def label(category: str, corners: tuple[float, ...], score: float | None = None, **attributes: Any) -> Json:
    fields: Json = {"id": "1", "category": category, "box2d": dict(zip(("x1", "y1", "x2", "y2"), corners, strict=True))}
    fields |= {"attributes": attributes} if attributes else {}
    return fields if score is None else fields | {"score": score}


def masked(category: str, pixels: np.ndarray, score: float | None = None) -> Json:
    rle = coco_mask.encode(np.asfortranarray(pixels.astype(np.uint8)))
    fields: Json = {"id": "1", "category": category, "rle": {"size": [*pixels.shape], "counts": rle["counts"].decode()}}
    return fields if score is None else fields | {"score": score}


def rectangle(left: int, top: int, right: int, bottom: int) -> np.ndarray:
    pixels = np.zeros((60, 80), dtype=bool)
    pixels[top:bottom, left:right] = True
    return pixels


def frame(name: str, *labels: Json) -> Json:
    return {"name": name, "labels": [*labels]}


def generated(random: np.random.Generator, iou_type: str) -> tuple[list[Json], list[Json]]:
    """Frames with objects of four classes, some ignored or crowds, and predictions near them, some elsewhere, some missing."""
    truth, detections = [], []
    for number in range(random.integers(1, 7)):
        labels, results = [], []
        for _ in range(random.integers(0, 5)):
            name = str(random.choice(CLASSES[:4]))
            left, top = (int(each) for each in random.integers(0, 40, 2))
            right, bottom = left + int(random.integers(3, 38)), top + int(random.integers(3, 20))
            flags = {flag: True for flag in ("ignored", "crowd", "occluded") if random.random() < 0.12}
            shifts = random.integers(-1, 3, 4)
            near = [max(each + int(shift), 0) for each, shift in zip((left, top, right, bottom), shifts, strict=True)]
            is_found, score = random.random() < 0.8, float(random.random())
            if iou_type == "bbox":
                labels.append(label(name, (left, top, right, bottom), **flags))
                results += [label(name, tuple(near), score)] * is_found
            else:
                labels.append(masked(name, rectangle(left, top, right, bottom)) | {"attributes": flags})
                results += [masked(name, rectangle(*near), score)] * is_found
        truth.append(frame(f"f{number}.jpg", *labels))
        detections += [frame(f"f{number}.jpg", *results)] * (random.random() < 0.9)
    return truth, detections


def _as_coco(one: Json, image: str) -> Json:
    """A label as COCO's row, with the name of its class and the area of the inclusive corners or of the mask."""
    flags = one.get("attributes", {})
    row = {"image_id": image, "name": one["category"], "iscrowd": int("ignored" in flags or "crowd" in flags)}
    row |= {"score": one["score"]} if "score" in one else {}
    if "rle" in one:
        return row | {"segmentation": one["rle"], "area": float(coco_mask.area(one["rle"]))}
    left, top, right, bottom = one["box2d"].values()
    sides = right - left + 1, bottom - top + 1
    return row | {"bbox": [left, top, *sides], "area": float(sides[0] * sides[1])}


def _apart(rows: list[Json]) -> list[Json]:
    """The rows of images on which no two masks share a pixel, as the union of all has the area of all."""
    masks: dict[str, list[Json]] = {}
    for row in rows:
        masks.setdefault(row["image_id"], []).extend([row["segmentation"]] if "segmentation" in row else [])
    shared = {image for image, own in masks.items() if own and coco_mask.area(coco_mask.merge(own)) < coco_mask.area(own).sum()}
    return [row for row in rows if row["image_id"] not in shared]


def loop(random: np.random.Generator, _: int, *, iou_type: str) -> Sample:
    """Some classes have names that are to be renamed, some of them ignored.

    Without predictions that count, all is 0, which COCO's program says of some numbers only.
    """
    new_name = dict(zip(CLASSES, CLASSES, strict=True)) | RENAMED | IGNORED
    ids = {name: number for number, name in enumerate(new_name, 1)}
    sides = generated(random, iou_type)
    given, renamed = [], []
    for rows in ([_as_coco(one, each["name"]) for each in frames for one in each["labels"]] for frames in sides):
        for row in rows:
            row["name"] = str(random.choice([row["name"], *(old for old, new in new_name.items() if new == row["name"])]))
        given.append([row | {"id": number, "category_id": ids[row["name"]]} for number, row in enumerate(rows, 1)])
        renamed.append([
            row | {"category_id": ids[new_name[row["name"]]], "iscrowd": row["iscrowd"] | (row["name"] in IGNORED)}
            for row in given[-1]
        ])  # fmt: skip
    images = [{"id": each["name"], "width": 80, "height": 60} for each in sides[0]]
    truth = {"images": images, "categories": [{"id": number, "name": name} for name, number in ids.items()]}
    detections = [{name: value for name, value in row.items() if name != "iscrowd"} for row in _apart(renamed[1])]
    stats = by_pycocotools({**truth, "annotations": renamed[0]}, detections, iou_type).stats.tolist()
    values = zip((line.metric for line in headlines(apf.BDD100K)), stats, strict=True)
    numbers = {name: None if value < 0 else value for name, value in values if value >= 0 or detections}
    return sample_of_coco({**truth, "annotations": given[0]}, given[1], numbers)


LOOPS: dict[str, Loop] = {"BDD100K": partial(loop, iou_type="bbox"), "BDD100K segm": partial(loop, iou_type="segm")}


def of_files(iou_type: str) -> Maker:
    def made(random: np.random.Generator, folder: Path) -> Tables:
        parts = [generated(random, iou_type) for _ in range(6)]
        for side, file in enumerate(("truth.json", "found.json")):
            frames = [frame | {"name": f"{part}_{frame['name']}"} for part, sides in enumerate(parts) for frame in sides[side]]
            (folder / file).write_text(json.dumps(frames))
        dataset = apf.read_dataset(folder / "truth.json", "scalabel", masks=True)
        return dataset, apf.read_results(folder / "found.json", "scalabel", dataset=dataset)

    return made


SETS: dict[str, Maker] = {"BDD100K bbox": of_files("bbox"), "BDD100K segm": of_files("segm")}
