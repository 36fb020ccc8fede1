"""Visual Genome in the tests that hold for all protocols: hand cases, a generator, plain loops."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from tests.conformance.makers import Maker, rows
from tests.conformance.samples import Loop, Sample, sample_of_rows
from tests.conformance.tiny import CATEGORIES, RIDING, Hand, at, found, truth_of
from tests.protocols.generated import mean

Row = dict[str, Any]
Data = tuple[dict[str, list[Row]], list[Row]]
Edges = tuple[float, float, float, float]
RELATIONS, CLASSES = ["riding", "wearing"], ["man", "horse"]
EDGES = ("x", "y", "width", "height")
SCENES = truth_of([at(1, 1, **RIDING), at(1, 2, **RIDING), at(2, 1, **RIDING)], categories=CATEGORIES)
SCENE_FOUND = [found(1, 1, 0.9, **RIDING), found(2, 1, 0.8, **RIDING), found(2, 1, 0.7, **RIDING | {"object_name": "dog"})]


HAND: dict[str, Hand] = {
    # one of two relations in one image, one of one in the other
    "visual_genome": ("visual_genome", {}, SCENES, SCENE_FOUND, {"R@20": 0.75, "R@100": 0.75}),
    "visual_genome_mean": ("visual_genome_mean", {}, SCENES, SCENE_FOUND, {"mR@20": 0.5}),
}  # fmt: skip


def relation(image: Any, name: str, subject: tuple[str, Any], object_: tuple[str, Any], **more: Any) -> Row:
    row = {"image_id": image, "category_id": name}
    for side, (kind, box) in (("subject", subject), ("object", object_)):
        row |= {f"{side}_name": kind, **{f"{side}_{edge}": float(value) for edge, value in zip(EDGES, box, strict=True)}}
    return row | more


def sides(row: Row) -> list[Edges]:
    """Left, top, right, bottom of subject and object, the last pixels included."""
    boxes = []
    for side in ("subject", "object"):
        x, y, width, height = (row[f"{side}_{edge}"] for edge in EDGES)
        boxes.append((x, y, x + width, y + height))
    return boxes


def around(row: Row) -> Edges:
    one, other = sides(row)
    return min(one[0], other[0]), min(one[1], other[1]), max(one[2], other[2]), max(one[3], other[3])


def iou(one: Edges, other: Edges) -> float:
    """`bbox_overlaps` with an added pixel."""
    width = min(one[2], other[2]) - max(one[0], other[0]) + 1
    height = min(one[3], other[3]) - max(one[1], other[1]) + 1
    if width <= 0 or height <= 0:
        return 0.0
    areas = [(box[2] - box[0] + 1) * (box[3] - box[1] + 1) for box in (one, other)]
    return width * height / (sum(areas) - width * height)


def fits(found: Row, truth: Row, *, phrase: bool) -> bool:
    if any(found[key] != truth[key] for key in ("image_id", "category_id", "subject_name", "object_name")):
        return False
    if phrase:
        return iou(around(found), around(truth)) >= 0.5
    return all(iou(one, other) >= 0.5 for one, other in zip(sides(found), sides(truth), strict=True))


def recalls(data: Data, k: int, *, phrase: bool = False, of: str | None = None) -> list[float]:
    """The share of the relations of each image that its k best detections find; of one relation, if `of` names it."""
    truth, results = data
    shares = []
    for image in truth["images"]:
        own = [row for row in results if row["image_id"] == image["image_id"]]
        best = sorted(own, key=lambda row: -row["score"])[:k]  # stable
        expected = [row for row in truth["annotations"] if row["image_id"] == image["image_id"]]
        expected = [row for row in expected if of in (None, row["category_id"])]
        if expected:
            shares.append(sum(any(fits(row, each, phrase=phrase) for row in best) for each in expected) / len(expected))
    return shares


def scenes(random: np.random.Generator, n_images: int) -> Data:
    """Relations between boxes that overlap, detections near them in which classes are mistaken, with many equal scores."""
    images = [{"image_id": f"i{key}", "place": "in" if key % 3 else "out"} for key in range(n_images)]
    annotations: list[Row] = []
    results: list[Row] = []

    def box() -> np.ndarray:
        return np.concatenate([random.integers(0, 12, 2), random.integers(4, 20, 2)])

    for image in images:
        for _ in range(random.integers(0, 6)):
            name, *kinds = random.choice(RELATIONS), random.choice(CLASSES), random.choice(CLASSES)
            boxes = [box(), box()]
            again = np.maximum(boxes[0] + random.integers(-1, 2, 4), 0)
            subjects = (boxes[0], *([again] if random.random() < 0.3 else []))
            annotations += [relation(image["image_id"], name, (kinds[0], each), (kinds[1], boxes[1])) for each in subjects]
            for _ in range(random.integers(0, 4)):
                near = [np.maximum(each + random.integers(-2, 3, 4), (0, 0, 0, 0)) for each in boxes]
                name = name if random.random() < 0.9 else random.choice(RELATIONS)
                score = float(random.integers(1, 6)) / 6
                results.append(relation(image["image_id"], name, (kinds[0], near[0]), (kinds[1], near[1]), score=score))
    return {"images": images, "annotations": annotations}, [results[place] for place in random.permutation(len(results))]


def crowded(random: np.random.Generator, data: Data) -> Data:
    """With so many false detections in some images that true ones are beyond each of the limits."""
    truth, results = data
    false: list[Row] = []
    for image in truth["images"]:
        own = [row for row in results if row["image_id"] == image["image_id"]]
        places = random.integers(0, len(own), random.choice([0, 20, 45, 100])) if own else []
        scores = random.integers(3, 6, len(places)) / 6
        false += [
            own[place] | {"object_x": own[place]["object_x"] + 100, "score": float(score)}
            for place, score in zip(places, scores, strict=True)
        ]
    rows = results + false
    return truth, [rows[place] for place in random.permutation(len(rows))]


def loop(random: np.random.Generator, number: int, *, phrase: bool, by_relation: bool) -> Sample:
    """R@k, or mR@k, which is the mean over the relations."""
    truth, results = data = crowded(random, scenes(random, 1 + number % 6))
    numbers = {}
    for k in (20, 50, 100):
        if by_relation:
            numbers[f"mR@{k}"] = mean(mean(recalls(data, k, phrase=phrase, of=of)) for of in RELATIONS)
        else:
            numbers[f"R@{k}"] = mean(recalls(data, k, phrase=phrase))
    return sample_of_rows(truth["images"], truth["annotations"], results, {name: name for name in RELATIONS}, numbers)


LOOPS: dict[str, Loop] = {
    f"{name}{variant}": partial(loop, phrase=variant != "", by_relation=name.endswith("MEAN"))
    for name in ("VISUAL_GENOME", "VISUAL_GENOME_MEAN")
    for variant in ("", " phrase")
}


SETS: dict[str, Maker] = dict.fromkeys(("VISUAL_GENOME", "VISUAL_GENOME_MEAN"), rows(scenes, 6, RELATIONS))
