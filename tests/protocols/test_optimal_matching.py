"""The optimal assignment as an option of evaluate: beside that by score, and beside SciPy's on dense matrices."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import polars as pl
import pytest
from hypothesis import given

import apframe as apf
from tests.protocols.generated import Row, Truth, box_iou, boxes, closer, half_as_often, sets, tables

optimize = pytest.importorskip("scipy.optimize", reason="the optimal assignment is SciPy's")

pytestmark = pytest.mark.filterwarnings(
    "ignore::apframe.exceptions.NoAnnotationsWarning", "ignore::apframe.exceptions.NothingMatchesWarning"
)

THRESHOLDS = [0.1, 0.3, 0.5, 0.75]


def crowded(random: np.random.Generator, n_images: int) -> tuple[Truth, list[Row]]:
    """Boxes of one category that are close to each other, so that detections compete."""
    truth, results = closer(boxes(random, n_images, 1))
    return truth | {"annotations": [row | {"is_crowd": bool(row["iscrowd"])} for row in truth["annotations"]]}, results


def total_similarity(evaluation: apf.Evaluation, threshold: float, area: str) -> float:
    return evaluation.matches(threshold, area).filter(outcome="tp")["similarity"].sum()


@pytest.mark.slow
@half_as_often
@given(sets(crowded))
def test_total_similarity_is_never_less_than_by_score(data: tuple[Truth, list[Row]]) -> None:
    given_tables = tables(*data, "area", "is_crowd")
    by_score, optimal = (
        apf.evaluate(*given_tables, iou_thresholds=THRESHOLDS, matching=matching) for matching in ("score", "optimal")
    )
    for threshold in (0.1, 0.5):
        for area in ("all", "small"):
            assert total_similarity(optimal, threshold, area) >= total_similarity(by_score, threshold, area) - 1e-9


@pytest.mark.slow
@half_as_often
@given(sets(crowded))
def test_total_similarity_is_that_of_dense_assignments(data: tuple[Truth, list[Row]]) -> None:
    truth, results = data
    evaluation = apf.evaluate(*tables(truth, results, "area", "is_crowd"), iou_thresholds=THRESHOLDS, matching="optimal")
    cells: dict[int, tuple[list[Row], list[Row]]] = defaultdict(lambda: ([], []))
    for side, rows in enumerate(([row for row in truth["annotations"] if not row["is_crowd"]], results)):
        for row in rows:
            cells[row["image_id"]][side].append(row)
    for threshold in THRESHOLDS:
        total = 0.0
        for expected, found in cells.values():
            table = np.array([[box_iou(one["bbox"], other["bbox"]) for one in expected] for other in found])
            table = np.where(table >= threshold, table, 0).reshape(len(found), len(expected))
            total += table[optimize.linear_sum_assignment(table, maximize=True)].sum()
        assert total_similarity(evaluation, threshold, "all") == pytest.approx(total, abs=1e-8)


@pytest.mark.slow
def test_where_the_walk_by_score_fails() -> None:
    # the first detection overlaps both annotations, the left one a little more; the second overlaps the left one alone
    box = {"image_id": 1, "category_id": 1, "y": 0.0, "height": 10.0, "width": 10.0}
    truth = apf.Dataset({"image_id": [1]}, {"category_id": [1]}, pl.DataFrame([box | {"x": x} for x in (0.0, 4.5)]))
    detections = pl.DataFrame([box | {"x": 2.0, "score": 0.9}, box | {"x": -2.0, "score": 0.8}])
    columns = ["detection_id", "annotation_id", "outcome"]

    def evaluate(matching: str) -> apf.Evaluation:
        return apf.evaluate(truth, detections, iou_thresholds=[0.5], matching=matching)

    by_score, optimal = evaluate("score"), evaluate("optimal")
    # IoU 8/12 and 7.5/12.5; then 8/12
    assert by_score.matches().select(columns).rows() == [(1, 1, "tp"), (2, None, "fp"), (None, 2, "fn")]
    assert optimal.matches().select(columns).rows() == [(1, 2, "tp"), (2, 1, "tp")]
    assert optimal.matches()["similarity"].to_list() == pytest.approx([0.6, 2 / 3], abs=1e-12)
    summaries = [dict(evaluation.summary.rows()) for evaluation in (by_score, optimal)]
    assert [summary["AR100"] for summary in summaries] == [0.5, 1.0]
    # of 101 levels, those up to recall 1/2 have precision 1
    assert [summary["AP"] for summary in summaries] == pytest.approx([51 / 101, 1.0], abs=1e-12)
    assert "largest total similarity" in str(optimal.protocol)


def test_limits_apply_before_the_assignment() -> None:
    # the second detection would have the annotation, were it there
    box = {"image_id": 1, "category_id": 1, "x": 0.0, "y": 0.0, "width": 10.0}
    truth = apf.Dataset({"image_id": [1]}, {"category_id": [1]}, pl.DataFrame([box | {"height": 10.0}]))
    detections = pl.DataFrame([box | {"height": 8.0, "score": 0.9}, box | {"height": 10.0, "score": 0.8}])
    evaluation = apf.evaluate(truth, detections, max_detections=[1, 2], matching="optimal")
    recalls = dict(evaluation.summary.filter(pl.col("metric").is_in(["AR1", "AR2"])).rows())
    # IoU .8 reaches seven of the ten thresholds
    assert recalls == pytest.approx({"AR1": 0.7, "AR2": 1.0}, abs=1e-12)
