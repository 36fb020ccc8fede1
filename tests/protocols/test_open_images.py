"""Open Images: each rule on a table of its own; see open_images_reference.py for loops over all of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import apframe as apf
from tests.parity.reference import close
from tests.protocols.generated import BOX, tables
from tests.protocols.open_images_reference import average_precisions, judge_boxes, judge_masks
from tests.protocols.row import some_masks, tables_of_masks, verified

pytestmark = [
    pytest.mark.filterwarnings(f"ignore::apframe.exceptions.{name}")
    for name in ("NoAnnotationsWarning", "MissingColumnWarning")  # the latter of lists of verified classes
]

PLAIN, CHALLENGE = apf.OPEN_IMAGES, apf.OPEN_IMAGES_CHALLENGE
Outcomes = list[tuple[int | None, int | None, str]]


def one_class(annotations: list[tuple[Any, bool]], detections: list[Any]) -> tuple[apf.Dataset, pl.DataFrame]:
    """Annotations as (box, whether it is a group), detections as boxes, best score first; one class, one image."""
    cell = {"image_id": 1, "category_id": 1}
    truth = [cell | dict(zip(BOX, box, strict=True)) | {"is_crowd": group} for box, group in annotations]
    results = [cell | dict(zip(BOX, box, strict=True)) | {"score": 0.9 - k / 10} for k, box in enumerate(detections)]
    return apf.Dataset({"image_id": [1]}, {"category_id": [1]}, pl.DataFrame(truth)), pl.DataFrame(results)


BOX_A, INSIDE, INSIDE_TOO, FAR = (0, 0, 10, 10), (40, 40, 10, 10), (60, 60, 10, 10), (200, 200, 10, 10)
GROUP = (30, 30, 60, 60)
A, G = (BOX_A, False), (GROUP, True)
# annotations; detections; outcomes and AP of OPEN_IMAGES; the same of OPEN_IMAGES_CHALLENGE where they differ
RULES: dict[str, tuple[list[Any], list[Any], tuple[Outcomes, float | None], tuple[Outcomes, float] | None]] = {
    "a hit is true": ([A], [BOX_A], ([(1, 1, "tp")], 1.0), None),
    "an overlap of exactly .5 is enough": ([A], [(0, 0, 10, 5)], ([(1, 1, "tp")], 1.0), None),
    "a little less is not": ([A], [(0, 0, 10, 4.99)], ([(1, None, "fp"), (None, 1, "fn")], 0.0), None),
    "a second hit is false, and does not try another box": (
        [A, ((0, 1, 10, 10), False)], [BOX_A, BOX_A], ([(1, 1, "tp"), (2, None, "fp"), (None, 2, "fn")], 0.5), None,
    ),
    # in the challenge the group is one of two positives
    "inside a group: ignored; the best of them counts in the challenge": (
        [A, G], [INSIDE, BOX_A, INSIDE_TOO],
        ([(1, 2, "ignored"), (2, 1, "tp"), (3, 2, "ignored")], 1.0), ([(1, 2, "tp"), (2, 1, "tp"), (3, 2, "ignored")], 1.0),
    ),
    # its rank is that of the best of them: behind a false one
    "the group counts where its best hit stands": (
        [G], [FAR, INSIDE, INSIDE_TOO],
        ([(1, None, "fp"), (2, 1, "ignored"), (3, 1, "ignored")], None),
        ([(1, None, "fp"), (2, 1, "tp"), (3, 1, "ignored")], 0.5),
    ),
    "a group that nothing hits is missed in the challenge": (
        [A, G], [BOX_A], ([(1, 1, "tp")], 1.0), ([(1, 1, "tp"), (None, 2, "fn")], 0.5),
    ),
    # intersection over detection is compared, not over union: 10 x 5 of 10 x 10 lie inside the group
    "half inside the group is enough": ([G], [(40, 25, 10, 10)], ([(1, 1, "ignored")], None), ([(1, 1, "tp")], 1.0)),
    "less than half is not": (
        [G], [(40, 24.99, 10, 10)], ([(1, None, "fp")], None), ([(1, None, "fp"), (None, 1, "fn")], 0.0),
    ),
    # the second hit of A lies in the group as well
    "a hit of a box that is taken tries the group": (
        [((40, 40, 10, 10), False), G], [INSIDE, (40, 40, 10, 9), FAR],
        ([(1, 1, "tp"), (2, 2, "ignored"), (3, None, "fp")], 1.0), ([(1, 1, "tp"), (2, 2, "tp"), (3, None, "fp")], 1.0),
    ),
    "a hit of a box does not count for the group around it": (
        [((40, 40, 10, 10), False), G], [INSIDE], ([(1, 1, "tp")], 1.0), ([(1, 1, "tp"), (None, 2, "fn")], 0.5),
    ),
    # of two groups, that which it lies in most; the other one is not tried
    "the group that it lies in most": (
        [G, ((38, 38, 60, 60), True)], [(35, 35, 10, 10), (35, 35, 10, 10), (38, 38, 10, 10)],
        ([(1, 1, "ignored"), (2, 1, "ignored"), (3, 1, "ignored")], None),
        ([(1, 1, "tp"), (2, 1, "ignored"), (3, 1, "ignored"), (None, 2, "fn")], 0.5),
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES)
def test_rules_one_by_one(rule: str) -> None:
    annotations, detections, plain, challenge = RULES[rule]
    data = one_class(annotations, detections)
    for protocol, (outcomes, ap) in ((PLAIN, plain), (CHALLENGE, challenge or plain)):
        evaluation = apf.evaluate(*data, protocol)
        assert evaluation.matches().select("detection_id", "annotation_id", "outcome").rows() == outcomes
        assert evaluation.summary.rows() == [("AP", *close([ap]))]


# ---- the hierarchy of classes

HIERARCHY = {"category_id": [1, 2, 3, 4], "name": ["animal", "mammal", "pet", "dog"], "parent_ids": [[], [1], [1], [2, 3]]}


def in_hierarchy(detections: dict[int, list[Any]], **lists: list[list[int]]) -> tuple[apf.Dataset, pl.DataFrame]:
    """A dog on image 1 and a mammal on image 2, and detections by category, as (image, score)."""
    annotations = {"annotation_id": [7, 9], "image_id": [1, 2], "category_id": [4, 2]} | {name: [10.0, 10.0] for name in BOX}
    rows = [
        {"image_id": image_id, "category_id": category_id, "score": score} | dict.fromkeys(BOX, 10.0)
        for category_id, found in detections.items()
        for image_id, score in found
    ]
    return apf.Dataset({"image_id": [1, 2], **lists}, HIERARCHY, annotations), pl.DataFrame(rows)


@pytest.mark.parametrize("protocol", [PLAIN, CHALLENGE], ids=["plain", "challenge"])
def test_a_box_counts_for_the_parents_of_its_class(protocol: apf.Protocol) -> None:
    # found: an animal on both images, a mammal on the second, a dog on the first
    detections = {1: [(1, 0.9), (2, 0.8)], 2: [(2, 0.9)], 4: [(1, 0.9)]}
    metrics = apf.evaluate(*in_hierarchy(detections), protocol).metrics
    # the dog is a mammal, a pet and, on two ways but once, an animal; the mammal is an animal
    expected = [(1, 2, 2, 1.0), (2, 2, 1, 0.5), (3, 1, 0, 0.0), (4, 1, 1, 1.0)]
    assert metrics.select("category_id", "n_positives", "n_detections", pl.col("ap").round(9)).rows() == expected


def test_a_detection_does_not_count_for_the_parents_of_its_class() -> None:
    metrics = apf.evaluate(*in_hierarchy({4: [(1, 0.9)]}), PLAIN).metrics
    assert metrics["n_detections"].to_list() == [0, 0, 0, 1]


@pytest.mark.slow
def test_groups_count_for_the_parents_too() -> None:
    dataset, detections = in_hierarchy({1: [(1, 0.9)]})
    dataset = apf.Dataset(dataset.images, HIERARCHY, dataset.annotations.with_columns(is_crowd=pl.lit(True)))
    assert apf.evaluate(dataset, detections, PLAIN).metrics["n_positives"].to_list() == [0, 0, 0, 0]
    challenge = apf.evaluate(dataset, detections, CHALLENGE)
    assert challenge.metrics["n_positives"].to_list() == [2, 2, 1, 1]
    assert challenge.matches().filter(outcome="tp").select("category_id", "image_id").rows() == [(1, 1)]


# detections of every class on image 2, where a mammal is annotated (and an animal, by the hierarchy)
EVERYWHERE = {category: [(2, 0.9)] for category in (1, 2, 3, 4)}
VERIFIED = {
    # lists of verified classes of image 2; classes that are judged there
    "nothing": ({}, [1, 2]),
    "a dog is": ({"pos_category_ids": [[], [4]]}, [1, 2, 3, 4]),
    "a pet is, which says nothing of dogs": ({"pos_category_ids": [[], [3]]}, [1, 2, 3]),
    "a dog is not, which says nothing of pets": ({"neg_category_ids": [[], [4]]}, [1, 2, 4]),
    "a pet is not, so no dog is": ({"neg_category_ids": [[], [3]]}, [1, 2, 3, 4]),
    "a dog is not on another image": ({"neg_category_ids": [[4], []]}, [1, 2]),
}


@pytest.mark.parametrize(("lists", "judged"), VERIFIED.values(), ids=VERIFIED)
def test_only_verified_classes_are_judged_in_the_challenge(lists: dict[str, list[list[int]]], judged: list[int]) -> None:
    data = in_hierarchy(EVERYWHERE, **lists)
    matches = apf.evaluate(*data, CHALLENGE).matches().drop_nulls("detection_id")
    expected = [(category, "tp" if category in (1, 2) else "fp") for category in judged]
    assert matches.sort("category_id").select("category_id", "outcome").rows() == expected
    assert apf.evaluate(*data, PLAIN).matches().drop_nulls("detection_id")["category_id"].sort().to_list() == [1, 2, 3, 4]


@pytest.mark.parametrize(("places", "ap"), [([FAR, BOX_A], 1.0), ([BOX_A, FAR], 0.5)], ids=["a hit", "a false positive"])
def test_of_equal_scores_the_later_row_comes_first(places: list[Any], ap: float) -> None:
    truth, detections = one_class([A], places)
    for protocol in (PLAIN, CHALLENGE):
        assert apf.evaluate(truth, detections.with_columns(score=0.5), protocol)["AP"] == ap


@pytest.mark.slow
@pytest.mark.parametrize("challenge", [False, True], ids=["plain", "challenge"])
@pytest.mark.parametrize("iou_type", ["bbox", "segm"])
def test_each_category_equals_loops(iou_type: str, challenge: bool) -> None:
    """The number of the summary is compared on many sets; see row.py."""
    make, judge = {"bbox": (verified, judge_boxes), "segm": (some_masks, judge_masks)}[iou_type]
    truth, results = make(np.random.default_rng(5), 9)
    expected = average_precisions(truth, results, judge, challenge=challenge)
    data = tables_of_masks(truth, results) if iou_type == "segm" else tables(truth, results, "is_crowd")
    metrics = apf.evaluate(*data, CHALLENGE if challenge else PLAIN, iou_type=iou_type).metrics
    assert metrics.select("category_id", "ap").rows() == list(zip(expected, close(expected.values()), strict=True))
