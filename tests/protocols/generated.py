"""Small data sets made from a number, for the protocols: with ties, crowds, objects of equal overlap and empty places.

A seed and a number of images make a data set; hypothesis chooses both, and finds the fewest images that fail.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from copy import deepcopy
from dataclasses import dataclass
from io import StringIO
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import strategies as st
from pycocotools import mask
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

import apframe as apf
from tests.parity.strategies import half_as_often as half_as_often

Row = dict[str, Any]
Truth = dict[str, list[Row]]
Maker = Callable[[np.random.Generator, int], tuple[Truth, list[Row]]]

HEIGHT, WIDTH = 90, 120
JOINTS = 17
N_CATEGORIES = 3
# on, next to and between the borders of COCO's ranges, whatever the object looks like
AREAS = [0.0, 400.0, 1023.0, 1024.0, 1025.0, 5000.0, 9216.0, 9217.0, 2e4]
BOX = ("x", "y", "width", "height")


N_CASES = int(os.environ.get("APFRAME_CASES", "500"))
on_many_sets = pytest.mark.parametrize(
    "seeds", [range(12), pytest.param(range(12, 12 + N_CASES), marks=pytest.mark.slow)], ids=["few", "many"]
)
"""Numbers to make sets from: twelve of them, and APFRAME_CASES others in slow tests."""


def sets(make: Maker, most: int = 6) -> st.SearchStrategy[tuple[Truth, list[Row]]]:
    """Ground truth and results by a maker, some of each; hypothesis shows and shrinks the seed and the number of images."""

    def made(seed: int, n_images: int) -> tuple[Truth, list[Row]]:
        return make(np.random.default_rng(seed), n_images)

    return st.builds(made, st.integers(0, 2**32), st.integers(1, most)).filter(lambda data: data[1] and data[0]["annotations"])


def framed(random: np.random.Generator, n_images: int, n_categories: int = N_CATEGORIES) -> Truth:
    """Images and categories; annotations are to be added."""
    order = random.permutation(n_images) + 1
    return {
        "images": [{"id": int(key), "width": WIDTH, "height": HEIGHT} for key in order],
        "categories": [{"id": key, "name": f"category {key}"} for key in range(1, n_categories + 1)],
        "annotations": [],
    }


def some_boxes(random: np.random.Generator, n: int) -> np.ndarray:
    """Boxes of whole pixels, of shape (n, 4); many overlap and some are equal."""
    corner = random.integers(0, (WIDTH // 2, HEIGHT // 2), (n, 2))
    size = random.choice([4, 10, 20, 33, 40, 60], (n, 2))
    return np.concatenate([corner, size], axis=1).astype(float)


def moved(random: np.random.Generator, box: Sequence[float], by: int = 4) -> list[float]:
    """The box with its corner and size off by a few pixels; often by none."""
    off = random.integers(-by, by + 1, 4) * (random.random(4) < 0.5)
    x, y, width, height = np.asarray(box) + off
    return [float(x), float(y), float(max(width, 1)), float(max(height, 1))]


def a_score(random: np.random.Generator) -> float:
    """One of a few, so that many are equal."""
    return round(float(random.random()), 1)


def boxes(random: np.random.Generator, n_images: int, n_categories: int = N_CATEGORIES) -> tuple[Truth, list[Row]]:
    """Boxes in several categories, with crowds and flags to ignore; results near them and anywhere."""
    truth, results = framed(random, n_images, n_categories), []
    for image in truth["images"]:
        cells = random.integers(1, n_categories + 1, random.integers(0, 7))
        for category, box in zip(cells.tolist(), some_boxes(random, len(cells)), strict=True):
            own = {"image_id": image["id"], "category_id": category}
            truth["annotations"].append(
                own | {"bbox": box.tolist(), "area": float(random.choice(AREAS)), "iscrowd": int(random.random() < 0.15),
                       "ignore": int(random.random() < 0.15)}
            )  # fmt: skip
            for _ in range(random.integers(0, 4)):
                other = own if random.random() < 0.9 else own | {"category_id": int(random.integers(1, n_categories + 1))}
                results.append(other | {"bbox": moved(random, box), "score": a_score(random)})
        stray = some_boxes(random, int(random.integers(0, 3)))
        results += [
            {"image_id": image["id"], "category_id": int(random.integers(1, n_categories + 1)), "bbox": box.tolist(),
             "score": a_score(random)}
            for box in stray
        ]  # fmt: skip
    return _shuffled(random, truth, results)


def closer(data: tuple[Truth, list[Row]]) -> tuple[Truth, list[Row]]:
    """The same boxes nearer to each other, and of more equal sizes: several detections overlap several annotations."""
    truth, results = data
    near = [
        [
            row | {"bbox": [x / 8, y / 8, 30 + width // 4, 30 + height // 4]}
            for row in rows
            for x, y, width, height in [row["bbox"]]
        ]
        for rows in (truth["annotations"], results)
    ]
    return truth | {"annotations": near[0]}, near[1]


def masks(random: np.random.Generator, n_images: int) -> tuple[Truth, list[Row]]:
    """Masks: one or several polygons, some beyond the border, or run-lengths in both forms; results have compressed ones."""
    truth, results = framed(random, n_images), []
    for image in truth["images"]:
        cells = random.integers(1, N_CATEGORIES + 1, random.integers(0, 6))
        for category, box in zip(cells.tolist(), some_boxes(random, len(cells)), strict=True):
            own = {"image_id": image["id"], "category_id": category}
            polygons = _polygons(random, box)
            is_crowd = random.random() < 0.2
            is_encoded = is_crowd or random.random() < 0.2
            segmentation = _encoded(polygons, compressed=bool(random.random() < 0.5)) if is_encoded else polygons
            truth["annotations"].append(
                own | {"segmentation": segmentation, "bbox": box.tolist(), "area": float(random.choice(AREAS)),
                       "iscrowd": int(is_crowd)}
            )  # fmt: skip
            for _ in range(random.integers(0, 4)):
                near = [_jittered(random, polygon) for polygon in polygons]
                results.append(own | {"segmentation": _encoded(near, compressed=True), "score": a_score(random)})
    return _shuffled(random, truth, results)


def with_boxes(random: np.random.Generator, results: list[Row], *, as_polygons: bool) -> list[Row]:
    """The results of `masks` with boxes that are not those of the masks; with other forms of mask, which need a box then."""
    changed = []
    for row in results:
        with references_at_work():
            x, y, width, height = mask.toBbox(row["segmentation"]).tolist()
        box = [x, y, width * float(random.choice([0.5, 1, 3])) + 1, height + 1]
        corners = [[x, y, x + width + 1, y, x + width + 1, y + height + 1, x, y + height / 2 + 1]]
        form = corners if as_polygons and random.random() < 0.5 else _uncompressed(row["segmentation"])
        changed.append(row | {"bbox": box, "segmentation": form if as_polygons else row["segmentation"]})
    return changed


def people(
    random: np.random.Generator, n_images: int, n_joints: int = JOINTS, *, counted: bool = True
) -> tuple[Truth, list[Row]]:
    """Keypoints, some of people without any visible, some of crowds; with `counted` also `num_keypoints`, not always right."""
    truth, results = framed(random, n_images, 1), []
    for image in truth["images"]:
        image["crowdIndex"] = float(random.choice([0, 0.05, 0.1, 0.100001, 0.5, 0.8, 0.8001, 1]))
        for x, y, width, height in some_boxes(random, int(random.integers(0, 5))) * 4:
            visibility = random.integers(0, 3, n_joints) * (random.random() < 0.8)
            places = np.stack([x + width * random.random(n_joints), y + height * random.random(n_joints)], axis=1).round(1)
            own = {"image_id": image["id"], "category_id": 1}
            shown = np.column_stack([places * (visibility > 0)[:, None], visibility]).ravel().tolist()
            person = own | {"keypoints": shown, "bbox": [x, y, width, height], "iscrowd": int(random.random() < 0.15)}
            person["area"] = float(random.choice([0.3, 0.6])) * width * height
            if counted:
                right = random.random() < 0.8
                person["num_keypoints"] = int((visibility > 0).sum()) if right else int(random.integers(0, 3))
            truth["annotations"].append(person)
            for _ in range(25 if random.random() < 0.03 else random.integers(0, 4)):
                near = places + random.normal(0, width * float(random.choice([0.01, 0.05, 0.1])), (n_joints, 2))
                keypoints = np.column_stack([near, np.ones(n_joints)]).ravel().tolist()
                results.append(own | {"keypoints": keypoints, "score": a_score(random)})
    return _shuffled(random, truth, results)


@contextmanager
def references_at_work() -> Iterator[None]:
    """Without what the references print, and warn of: they were written for older versions of NumPy."""
    with redirect_stdout(StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        yield


@dataclass(frozen=True)
class ByPycocotools:
    """What pycocotools computes."""

    arrays: dict[str, np.ndarray]
    stats: np.ndarray


def by_pycocotools(
    truth: Truth,
    results: Sequence[Row],
    iou_type: str,
    *,
    sigmas: Sequence[float] | None = None,
    image_ids: Iterable[int] | None = None,
) -> ByPycocotools:
    """Evaluate with the reference, on copies."""
    with references_at_work():
        expected = _indexed(truth)
        detections = expected.loadRes(deepcopy(list(results))) if results else _indexed({**truth, "annotations": []})
        evaluation = COCOeval(expected, detections, iou_type)
        if sigmas is not None:
            evaluation.params.kpt_oks_sigmas = np.array(sigmas)
        if image_ids is not None:
            evaluation.params.imgIds = sorted(image_ids)
        evaluation.evaluate()
        evaluation.accumulate()
        evaluation.summarize()
    return ByPycocotools({name: evaluation.eval[name] for name in ("precision", "recall", "scores")}, evaluation.stats)


def assert_equal(evaluation: apf.Evaluation, reference: ByPycocotools) -> None:
    """The arrays to the last bit, the stats to 1e-12."""
    arrays = evaluation.arrays()
    for name, expected in reference.arrays.items():
        np.testing.assert_array_equal(arrays[name], expected, err_msg=name, strict=True)
    np.testing.assert_allclose(evaluation.stats, reference.stats, rtol=0, atol=1e-12)


def tables(truth: Truth, results: Sequence[Row], *attributes: str) -> tuple[apf.Dataset, pl.DataFrame]:
    """COCO's rows as canonical tables, the box as columns; `attributes` of the annotations may be missing in some."""
    annotations = [_flat(row) for row in truth["annotations"]]
    numbers = dict.fromkeys([*BOX, "score", "area"], pl.Float64)
    dataset = apf.Dataset(
        images=pl.DataFrame(truth["images"]).rename({"id": "image_id"}),
        categories=pl.DataFrame(truth["categories"]).rename({"id": "category_id"}),
        annotations=pl.DataFrame(
            {name: [row[name] for row in annotations] for name in ("image_id", "category_id", *BOX, *attributes)},
            schema_overrides=numbers,
        ),
    )
    detections = [_flat(row) for row in results]
    names = ("image_id", "category_id", "score", *BOX)
    return dataset, pl.DataFrame({name: [row[name] for row in detections] for name in names}, schema_overrides=numbers)


def box_iou(one: Sequence[float], other: Sequence[float], *, of_first: bool = False) -> float:
    """Intersection over union of two boxes; or over the area of the first."""
    width = min(one[0] + one[2], other[0] + other[2]) - max(one[0], other[0])
    height = min(one[1] + one[3], other[1] + other[3]) - max(one[1], other[1])
    if width <= 0 or height <= 0:
        return 0.0
    shared, area = width * height, one[2] * one[3]
    return shared / (area if of_first else area + other[2] * other[3] - shared)


def area_under_envelope(outcomes: Sequence[bool], n_positives: int) -> float:
    """The sum, over the true positives, of the best precision there or later, divided by the number of positives."""
    precision = [sum(outcomes[: place + 1]) / (place + 1) for place in range(len(outcomes))]
    best = [max(precision[place:]) for place, is_true in enumerate(outcomes) if is_true]
    return sum(best) / n_positives


def mean(values: Iterable[float | None]) -> float | None:
    """The mean of those that are no None; None if there are none."""
    evaluated = [value for value in values if value is not None]
    return sum(evaluated) / len(evaluated) if evaluated else None


def _flat(row: Row) -> Row:
    return row | dict(zip(BOX, row["bbox"], strict=True)) if "bbox" in row else row


def _shuffled(random: np.random.Generator, truth: Truth, results: list[Row]) -> tuple[Truth, list[Row]]:
    """Rows in any order; annotations have ids from 1."""
    annotations = [truth["annotations"][place] for place in random.permutation(len(truth["annotations"]))]
    truth["annotations"] = [{"id": number} | row for number, row in enumerate(annotations, 1)]
    return truth, [results[place] for place in random.permutation(len(results))]


def _indexed(dataset: Truth) -> COCO:
    coco = COCO()
    coco.dataset = deepcopy(dict(dataset))
    coco.createIndex()
    return coco


def _polygons(random: np.random.Generator, box: np.ndarray) -> list[list[float]]:
    """One to three polygons about a box: three to six corners each."""
    x, y, width, height = box
    middle = np.array([x + width / 2, y + height / 2])
    polygons = []
    for _ in range(random.choice([1, 1, 2, 3])):
        n_corners = int(random.integers(3, 7))
        turns = np.sort(random.random(n_corners)) * 2 * np.pi
        corners = middle + np.stack([np.cos(turns) * width, np.sin(turns) * height], axis=1) * (0.4 + random.random() / 2)
        polygons.append(corners.round(2).ravel().tolist())
        middle = middle + random.integers(-20, 21, 2)
    return polygons


def _jittered(random: np.random.Generator, polygon: list[float]) -> list[float]:
    return (np.array(polygon) + random.normal(0, float(random.choice([0.2, 1, 4])), len(polygon))).tolist()


def _encoded(polygons: list[list[float]], *, compressed: bool) -> Row:
    """Run-lengths of polygons, as JSON holds them."""
    encoding = mask.merge(mask.frPyObjects(polygons, HEIGHT, WIDTH))
    encoding = {"size": [HEIGHT, WIDTH], "counts": encoding["counts"].decode("ascii")}
    return encoding if compressed else _uncompressed(encoding)


def _uncompressed(encoding: Row) -> Row:
    with references_at_work():
        pixels = mask.decode(encoding).ravel(order="F")
    starts = np.flatnonzero(np.diff(pixels, prepend=1 - pixels[0]))
    counts = np.diff(np.append(starts, len(pixels))).tolist()
    return {"size": [HEIGHT, WIDTH], "counts": [0, *counts] if pixels[0] else counts}
