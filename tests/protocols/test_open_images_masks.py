"""Masks of Open Images: each rule on a table of its own, and any table against a loop over the four steps of its evaluator."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pycocotools import mask

import apframe as apf
from apframe.exceptions import ColumnError, MaskSizeWarning
from tests.parity.reference import close
from tests.protocols.everywhere import assert_same_everywhere
from tests.protocols.generated import (
    BOX,
    HEIGHT,
    WIDTH,
    Row,
    Truth,
    area_under_envelope,
    assert_sets_equal,
    box_iou,
    half_as_often,
    joined,
    masks,
    mean,
    on_many_sets,
    sets,
)

pytestmark = [
    pytest.mark.filterwarnings(f"ignore::apframe.exceptions.{name}")
    for name in ("NoAnnotationsWarning", "MissingColumnWarning")  # the latter of lists of verified classes
]

PLAIN, CHALLENGE = apf.OPEN_IMAGES, apf.OPEN_IMAGES_CHALLENGE
Place = tuple[int, int, int, int]
A, B, FAR, GROUP = (0, 0, 10, 10), (50, 50, 10, 10), (200, 200, 10, 10), (100, 100, 60, 60)
INSIDE, INSIDE_TOO = (110, 110, 10, 10), (130, 130, 10, 10)


def filled(place: Place) -> str:
    x, y, width, height = place
    return json.dumps([[x, y, x + width, y, x + width, y + height, x, y + height]])


def one_class(annotations: list[tuple[Place, str]], detections: list[tuple[Place, float]]) -> tuple[apf.Dataset, pl.DataFrame]:
    """Annotations as (box, kind), where a `mask` fills its box; detections as (box that the mask fills, score)."""
    cell = {"image_id": 1, "category_id": 1}
    truth = [
        cell
        | {name: float(side) for name, side in zip(BOX, place, strict=True)}
        | {"is_crowd": "group" in kind, "mask": filled(place) if "mask" in kind else None}
        for place, kind in annotations
    ]
    found = [cell | {"score": score, "mask": filled(place)} for place, score in detections]
    image = {"image_id": [1], "image_width": [300], "image_height": [300]}
    return apf.Dataset(image, {"category_id": [1]}, pl.DataFrame(truth, schema_overrides={"mask": pl.String})), pl.DataFrame(
        found
    )


Outcomes = list[tuple[int | None, int | None, str]]
# annotations; detections; outcomes, positives and AP of the challenge; the same of OPEN_IMAGES where they differ
RULES: dict[str, tuple[list[tuple[Place, str]], list[tuple[Place, float]], tuple[Outcomes, int, float], Any]] = {
    "masks are hit or not": (
        [(A, "mask"), (B, "mask")], [(A, 0.9), (FAR, 0.8), (B, 0.7)],
        ([(1, 1, "tp"), (2, None, "fp"), (3, 2, "tp")], 2, 0.833333333), None,
    ),
    "what hits a box without a mask is left out, and the box is no positive": (
        [(A, "mask"), (B, "box")], [(B, 0.9), (A, 0.8)], ([(1, 2, "ignored"), (2, 1, "tp")], 1, 1.0), None,
    ),
    "a group with a mask counts once in the challenge": (
        [(A, "mask"), (GROUP, "mask group")], [(INSIDE, 0.9), (INSIDE_TOO, 0.85), (A, 0.8)],
        ([(1, 2, "tp"), (2, 2, "ignored"), (3, 1, "tp")], 2, 1.0),
        ([(1, 2, "ignored"), (2, 2, "ignored"), (3, 1, "tp")], 1, 1.0),
    ),
    "a group without a mask never counts": (
        [(A, "mask"), (GROUP, "box group")], [(INSIDE, 0.9), (INSIDE_TOO, 0.85), (A, 0.8)],
        ([(1, 2, "ignored"), (2, 2, "ignored"), (3, 1, "tp")], 1, 1.0), None,
    ),
    "a box without a mask that nothing hits is not missed": (
        [(A, "mask"), (B, "box")], [(A, 0.8)], ([(1, 1, "tp")], 1, 1.0), None,
    ),
    "a second hit of a box without a mask is false": (
        [(A, "mask"), (B, "box")], [(B, 0.9), (B, 0.85), (A, 0.8)],
        ([(1, 2, "ignored"), (2, None, "fp"), (3, 1, "tp")], 1, 0.5), None,
    ),
    "unless it is in a group without a mask": (
        [(A, "mask"), (INSIDE, "box"), (GROUP, "box group")], [(INSIDE, 0.9), (INSIDE, 0.85), (A, 0.8)],
        ([(1, 2, "ignored"), (2, 3, "ignored"), (3, 1, "tp")], 1, 1.0), None,
    ),
    # the box is more similar than the mask: 1 against .8
    "masks come before boxes that are nearer": (
        [((0, 0, 10, 8), "mask"), (A, "box")], [(A, 0.9), (A, 0.8)], ([(1, 1, "tp"), (2, 2, "ignored")], 1, 1.0), None,
    ),
    "groups with masks come before groups without that hold more": (
        [((100, 100, 10, 30), "mask group"), (GROUP, "box group")], [((100, 100, 16, 16), 0.9)],
        ([(1, 1, "tp")], 1, 1.0), ([(1, 1, "ignored")], 0, None),
    ),
    "groups with masks come before boxes without": (
        [(GROUP, "mask group"), (INSIDE, "box")], [(INSIDE, 0.9), (INSIDE, 0.8)],
        ([(1, 1, "tp"), (2, 1, "ignored")], 1, 1.0), ([(1, 1, "ignored"), (2, 1, "ignored")], 0, None),
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES)
def test_rules_one_by_one(rule: str) -> None:
    annotations, detections, challenge, plain = RULES[rule]
    data = one_class(annotations, detections)
    for protocol, (outcomes, n_positives, ap) in ((CHALLENGE, challenge), (PLAIN, plain or challenge)):
        evaluation = apf.evaluate(*data, protocol, iou_type="segm")
        assert evaluation.matches().select("detection_id", "annotation_id", "outcome").rows() == outcomes
        assert evaluation.metrics["n_positives"].to_list() == [n_positives]
        assert evaluation.summary["value"].to_list() == [ap if ap is None else pytest.approx(ap, abs=1e-9)]


def test_the_box_of_a_detection_is_that_of_its_mask() -> None:
    dataset, found = one_class([(B, "box")], [(B, 0.9)])
    elsewhere = found.with_columns(**{name: pl.lit(7.0) for name in BOX})
    evaluation = apf.evaluate(dataset, elsewhere, PLAIN, iou_type="segm")
    assert evaluation.matches()["outcome"].to_list() == ["ignored"]


def test_masks_of_another_size_than_their_image() -> None:
    # the image is 300 x 300, its masks are 150 x 100: B covers columns 25 to 30 and rows 17 to 20 of them, about
    dataset, found = one_class([(A, "mask"), ((50, 51, 10, 9), "box")], [(B, 0.9), (FAR, 0.8)])
    small = np.zeros((2, 100, 150), dtype=np.uint8, order="F")
    small[0, 17:20, 25:30] = 1
    small[1, 60:70, 100:120] = 1
    rles = [mask.encode(np.asfortranarray(each)) for each in small]
    texts = [json.dumps({"size": rle["size"], "counts": rle["counts"].decode()}) for rle in rles]
    annotated = dataset.annotations.with_columns(mask=pl.Series([texts[1], None]))
    dataset = apf.Dataset(dataset.images, dataset.categories, annotated)
    with pytest.warns(MaskSizeWarning):
        evaluation = apf.evaluate(dataset, found.with_columns(mask=pl.Series(texts)), PLAIN, iou_type="segm")
        rows = evaluation.pairs.sort("detection_id").rows()
    assert rows == [(1, 2, pytest.approx(1, abs=1e-12)), (2, 1, 1.0)]


def test_without_any_mask_all_of_it_is_boxes() -> None:
    evaluation = apf.evaluate(
        *one_class([(A, "box"), (GROUP, "box group")], [(A, 0.9), (FAR, 0.8)]), CHALLENGE, iou_type="segm"
    )
    assert evaluation.matches()["outcome"].to_list() == ["ignored", "fp"]
    assert evaluation.summary["value"].to_list() == [None]


def test_other_thresholds_and_policies() -> None:
    # .8 of the mask at the lower threshold, the box at the higher one
    data = one_class([((0, 0, 10, 8), "mask"), (A, "box")], [(A, 0.9)])
    evaluation = apf.evaluate(*data, PLAIN, iou_type="segm", iou_thresholds=[0.5, 0.9])
    columns = ["iou_threshold", "annotation_id", "outcome"]
    found = pl.concat([evaluation.matches(iou_threshold=threshold) for threshold in (0.5, 0.9)]).drop_nulls("detection_id")
    assert found.select(columns).rows() == [(0.5, 1, "tp"), (0.9, 2, "ignored")]
    # where annotations are not tried last, those without a mask are only ignored
    by_score = apf.evaluate(*data, PLAIN, iou_type="segm", matching="score")
    assert by_score.matches()["outcome"].to_list() == ["tp"]


@pytest.mark.parametrize(
    "masks",
    [
        [filled(A), "[]"],
        [filled(A), '{"size": [300, 300], "counts": [90000]}'],
        [[[0.0, 0.0, 10.0, 0.0, 10.0, 10.0, 0.0, 10.0]], []],
        [json.loads(filled(A)), None],
    ],
    ids=["no polygons", "no pixels", "an empty list", "null"],
)
def test_masks_without_pixels_are_none(masks: list[Any]) -> None:
    dataset, found = one_class([(A, "mask"), (B, "box")], [(B, 0.9), (A, 0.8)])
    if not isinstance(masks[0], str):
        masks = [None if each is None else [[float(value) for value in part] for part in each] for each in masks]
    annotations = dataset.annotations.with_columns(pl.Series("mask", masks))
    evaluation = apf.evaluate(apf.Dataset(dataset.images, dataset.categories, annotations), found, PLAIN, iou_type="segm")
    assert evaluation.matches().select("detection_id", "annotation_id", "outcome").rows() == [(1, 2, "ignored"), (2, 1, "tp")]


def test_masks_are_needed() -> None:
    dataset, found = one_class([(A, "mask")], [(A, 0.9)])
    without = apf.Dataset(dataset.images, dataset.categories, dataset.annotations.drop("mask"))
    evaluation = apf.evaluate(without, found, PLAIN, iou_type="segm")
    with pytest.raises(ColumnError, match="annotations: no column mask"):
        evaluation.matches()


# ---- any table, in loops


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
    found = [row | {"place": place} for place, row in enumerate(results)]
    for image in truth["images"]:
        image["weather"] = str(random.choice(["sun", "rain"]))
    return truth, [row for row in found if mask.area(row["segmentation"])]


def encoded(segmentation: Any) -> Any:
    """Polygons and counts as the reference takes them."""
    if isinstance(segmentation, list):
        return mask.merge(mask.frPyObjects(segmentation, HEIGHT, WIDTH))
    return segmentation if isinstance(segmentation["counts"], str) else mask.frPyObjects(segmentation, HEIGHT, WIDTH)


def tables(truth: Truth, results: list[Row]) -> tuple[apf.Dataset, pl.DataFrame]:
    annotations = [
        {"image_id": row["image_id"], "category_id": row["category_id"], "is_crowd": row["is_crowd"]}
        | dict(zip(BOX, map(float, row["bbox"]), strict=True))
        | {"mask": None if row["segmentation"] is None else json.dumps(row["segmentation"])}
        for row in truth["annotations"]
    ]
    images = pl.DataFrame(truth["images"]).rename({"id": "image_id", "width": "image_width", "height": "image_height"})
    found = [
        {name: row[name] for name in ("image_id", "category_id", "score")} | {"mask": json.dumps(row["segmentation"])}
        for row in results
    ]
    return (
        apf.Dataset(
            images,
            pl.DataFrame(truth["categories"]).rename({"id": "category_id"}),
            pl.DataFrame(annotations, schema_overrides={"mask": pl.String}),
        ),
        pl.DataFrame(found),
    )


def judge(annotations: list[Row], detections: list[Row], *, challenge: bool) -> list[bool | None]:
    """What became of each detection of a class on an image, best score first, by the evaluator's four steps."""
    result: list[bool | None] = [False] * len(detections)
    for of_masks in (True, False):
        for of_groups in (False, True):
            tried = [row for row in annotations if row["has_mask"] == of_masks and row["is_crowd"] == of_groups]
            if not tried:
                continue
            shapes = [row["segmentation"] for row in detections]
            if of_masks:
                overlaps = mask.iou(shapes, [row["encoded"] for row in tried], [int(of_groups)] * len(tried))
            else:
                tight = [mask.toBbox(shape).tolist() for shape in shapes]
                overlaps = np.array([[box_iou(box, row["bbox"], of_first=of_groups) for row in tried] for box in tight])
            taken: set[int] = set()
            for place, left_over in enumerate([each is False for each in result]):
                best = int(np.argmax(overlaps[place]))
                if not left_over or overlaps[place, best] < 0.5 or (best in taken and not of_groups):
                    continue
                counts = of_masks and (not of_groups or (challenge and best not in taken))
                result[place] = True if counts else None
                taken.add(best)
    return result


def average_precisions(truth: Truth, results: list[Row], *, challenge: bool) -> dict[int, float | None]:
    values: dict[int, float | None] = {}
    for category in (row["id"] for row in truth["categories"]):
        outcomes: list[tuple[tuple[float, int], bool | None]] = []
        own = [row for row in truth["annotations"] if row["category_id"] == category]
        for image in truth["images"]:
            annotations = [row for row in own if row["image_id"] == image["id"]]
            cell = [row for row in results if (row["image_id"], row["category_id"]) == (image["id"], category)]
            cell = sorted(cell, key=lambda row: (row["score"], row["place"]), reverse=True)
            if cell and (annotations or not challenge):
                places = [(row["score"], row["place"]) for row in cell]
                outcomes += zip(places, judge(annotations, cell, challenge=challenge), strict=True)
        counted = [is_true for _, is_true in sorted(outcomes, key=lambda pair: pair[0], reverse=True) if is_true is not None]
        n_positives = sum(row["has_mask"] and (challenge or not row["is_crowd"]) for row in own)
        values[category] = area_under_envelope(counted, n_positives) if n_positives else None
    return values


def assert_loops_agree(data: tuple[Truth, list[Row]], *, challenge: bool) -> None:
    truth, results = data
    evaluation = apf.evaluate(*tables(truth, results), CHALLENGE if challenge else PLAIN, iou_type="segm")
    expected = average_precisions(truth, results, challenge=challenge)
    found = dict(evaluation.metrics.select("category_id", "ap").rows())
    assert list(found.values()) == close(expected[category] for category in found)
    assert evaluation.summary["value"].to_list() == close([mean(expected.values())])


@half_as_often
@given(sets(some_masks), st.booleans())
def test_any_table_equals_loops(data: tuple[Truth, list[Row]], challenge: bool) -> None:
    assert_loops_agree(data, challenge=challenge)


@on_many_sets
def test_generated_sets_equal_loops(seeds: range) -> None:
    """Every set, of which all are evaluated at once."""
    parts = [some_masks(np.random.default_rng(seed), 4) for seed in seeds]
    data = tables(*joined(parts))
    for challenge, protocol in enumerate((PLAIN, CHALLENGE)):
        expected = [average_precisions(*part, challenge=bool(challenge)) for part in parts]
        assert_sets_equal(apf.evaluate(*data, protocol, iou_type="segm"), expected)


@pytest.mark.slow
@pytest.mark.parametrize("protocol", [PLAIN, CHALLENGE], ids=["plain", "challenge"])
def test_the_same_everywhere(protocol: apf.Protocol, tmp_path: Path) -> None:
    dataset, found = tables(*some_masks(np.random.default_rng(5), 9))
    scores = (np.random.default_rng(1).permutation(found.height) + 1) / (found.height + 1)
    assert_same_everywhere(dataset, found.with_columns(score=scores), protocol, tmp_path, iou_type="segm")
