"""PASCAL VOC: every number is that of plain loops over the rules (tests/parity/voc_reference.py), and of the worked example."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import apframe as apf
from tests.parity.reference import close
from tests.parity.voc_reference import evaluate_voc, judge_category
from tests.protocols.generated import BOX, Row, Truth, boxes, half_as_often, mean, sets, tables
from tests.protocols.row import in_order_of_images, of_voc

EXAMPLE = Path(__file__).resolve().parents[3] / "shared" / "data" / "voc-worked-example"
PROTOCOLS = {2007: apf.VOC2007, 2012: apf.VOC2012}

pytestmark = pytest.mark.filterwarnings(
    "ignore::apframe.exceptions.NoAnnotationsWarning", "ignore::apframe.exceptions.NothingMatchesWarning"
)


@pytest.mark.slow
@given(sets(boxes) | sets(in_order_of_images), st.sampled_from([2007, 2012]), st.sampled_from([0.1, 1 / 3, 0.5, 0.75, 1.0]))
def test_each_category_at_any_threshold_equals_plain_loops(data: tuple[Truth, list[Row]], year: int, threshold: float) -> None:
    # above 1 there is nothing
    truth, results = data
    expected = evaluate_voc(of_voc(truth["annotations"]), of_voc(results), threshold, year=year)
    evaluation = apf.evaluate(*tables(truth, results, "ignore"), PROTOCOLS[year], iou_thresholds=[threshold])
    category_ids, found = evaluation.metrics.select("category_id", "ap").sort("category_id").to_dict(as_series=False).values()
    assert found == close(expected.get(category_id) for category_id in category_ids)
    assert evaluation.summary.rows() == [("AP", *close([mean(expected.values())]))]


OUTCOMES = {True: "tp", False: "fp", None: "ignored"}


@pytest.mark.slow
@half_as_often
@given(sets(in_order_of_images))
def test_outcomes_by_rank_equal_plain_loops(data: tuple[Truth, list[Row]]) -> None:
    truth, results = data
    matches = apf.evaluate(*tables(truth, results, "ignore"), apf.VOC2012).matches().drop_nulls("detection_id")
    for category in truth["categories"]:
        judged = judge_category(of_voc(truth["annotations"]), of_voc(results), category["id"], 0.5)
        outcomes = matches.filter(category_id=category["id"]).sort("rank")["outcome"].to_list()
        assert outcomes == [OUTCOMES[outcome] for outcome in judged]


def worked_example() -> tuple[apf.Dataset, pl.DataFrame]:
    frames = []
    for folder, columns in (("groundtruths", BOX), ("detections", ("score", *BOX))):
        files = sorted((EXAMPLE / folder).iterdir())
        rows = [(path.stem, *line.split()) for path in files for line in path.read_text().splitlines() if line.strip()]
        frame = pl.DataFrame(rows, schema=["image_id", "category_id", *columns], orient="row")
        frames.append(frame.with_columns(pl.col(columns).cast(pl.Float64)))
    images = {"image_id": sorted(path.stem for path in (EXAMPLE / "groundtruths").iterdir())}
    return apf.Dataset(images, {"category_id": ["person"]}, frames[0]), frames[1]


@pytest.mark.skipif(not EXAMPLE.is_dir(), reason="the worked example is not beside this checkout")
@pytest.mark.parametrize(
    ("protocol", "options", "published", "outcomes"),
    [
        (apf.VOC2012, {}, 0.2457, {"tp": 7, "fp": 17, "fn": 8}),
        (apf.VOC2007, {}, 0.2684, {"tp": 7, "fp": 17, "fn": 8}),
        # with plain boxes one of the seven is lost
        (apf.VOC2012, {"similarity": apf.similarity.BoxIoU()}, 0.2254, {"tp": 6, "fp": 18, "fn": 9}),
    ],
    ids=["all points", "11 points", "without inclusive pixels"],
)
def test_worked_example_has_its_published_numbers(
    protocol: apf.Protocol, options: Any, published: float, outcomes: dict[str, int]
) -> None:
    # only the threshold departs from the protocols otherwise: no overlap is exactly .3, so that strictness tells nothing
    evaluation = apf.evaluate(*worked_example(), protocol, iou_thresholds=[0.3], **options)
    assert round(dict(evaluation.summary.rows())["AP"], 4) == published
    assert dict(evaluation.matches()["outcome"].value_counts().rows()) == outcomes


def one_class(annotations: list[tuple[Any, ...]], detections: list[tuple[Any, ...]]) -> tuple[apf.Dataset, pl.DataFrame]:
    """Annotations as (box, difficult), detections as (score, box), of one class in one image."""
    cell = {"image_id": 1, "category_id": 1}
    truth = [cell | dict(zip(BOX, box, strict=True)) | {"ignore": difficult} for box, difficult in annotations]
    results = [cell | {"score": score} | dict(zip(BOX, box, strict=True)) for score, box in detections]
    return apf.Dataset({"image_id": [1]}, {"category_id": [1]}, pl.DataFrame(truth)), pl.DataFrame(results)


A, B = (0, 0, 9, 9), (0, 4, 9, 9)  # 10 x 10 pixels each
RULES: dict[str, tuple[list[Any], list[Any], list[tuple[int | None, int | None, str]]]] = {
    # the box of 10 x 5 pixels covers exactly half of A
    "an overlap of .5 is not above .5": ([(A, False)], [(0.9, (0, 0, 9, 4))], [(1, None, "fp"), (None, 1, "fn")]),
    "60 of 100 pixels are": ([(A, False)], [(0.9, (0, 0, 9, 5))], [(1, 1, "tp")]),
    "a second hit is false": ([(A, False)], [(0.9, A), (0.8, A)], [(1, 1, "tp"), (2, None, "fp")]),
    "another annotation is not tried": (
        [(A, False), ((0, 1, 9, 9), False)], [(0.9, A), (0.8, A)], [(1, 1, "tp"), (2, None, "fp"), (None, 2, "fn")],
    ),
    "difficult ones are ignored, with any number of hits": (
        [(A, True)], [(0.9, A), (0.8, A), (0.7, B)], [(1, 1, "ignored"), (2, 1, "ignored"), (3, None, "fp")],
    ),
    "the first of two alike": ([(A, True), (A, False)], [(0.9, A)], [(1, 1, "ignored"), (None, 2, "fn")]),
    "equal scores of an image in input order": ([(A, False)], [(0.9, (0, 0, 9, 7)), (0.9, A)], [(1, 1, "tp"), (2, None, "fp")]),
}  # fmt: skip


@pytest.mark.parametrize(("annotations", "detections", "expected"), RULES.values(), ids=RULES)
@pytest.mark.parametrize("protocol", PROTOCOLS.values(), ids=PROTOCOLS)
def test_rules_one_by_one(
    annotations: list[Any], detections: list[Any], expected: list[tuple[int | None, int | None, str]], protocol: apf.Protocol
) -> None:
    matches = apf.evaluate(*one_class(annotations, detections), protocol).matches()
    assert matches.select("detection_id", "annotation_id", "outcome").rows() == expected


def test_equal_scores_of_images_in_input_order() -> None:
    # nothing is on the first image
    cell = {"category_id": 1} | dict(zip(BOX, A, strict=True))
    truth = apf.Dataset({"image_id": [1, 2]}, {"category_id": [1]}, pl.DataFrame([cell | {"image_id": 2}]))
    detections = pl.DataFrame([cell | {"image_id": image_id, "score": 0.9} for image_id in (2, 1)])
    matches = apf.evaluate(truth, detections, apf.VOC2012).matches().sort("rank")
    assert matches.select("detection_id", "outcome").rows() == [(1, "tp"), (2, "fp")]


def test_eleven_points_and_area_differ_as_they_should() -> None:
    # two annotations; found: true, false, true: precision 1 up to recall 1/2, then 2/3
    far = (0, 50, 9, 9)
    data = one_class([(A, False), (far, False)], [(0.9, A), (0.8, (90, 90, 9, 9)), (0.7, far)])
    values = [apf.evaluate(*data, protocol).stats.tolist() for protocol in PROTOCOLS.values()]
    np.testing.assert_allclose(values, [[(6 + 5 * 2 / 3) / 11], [(1 + 2 / 3) / 2]], rtol=0, atol=1e-12)
