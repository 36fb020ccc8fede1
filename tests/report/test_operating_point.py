"""The operating point of a page, and the other positions of its slider."""

from __future__ import annotations

import math
import warnings

import polars as pl
import pytest

import apframe as apf
from apframe.exceptions import ApframeWarning
from apframe.report.compared import Compared
from apframe.report.operating_point import N_POSITIONS, at_scores, series
from tests.conformance.tiny import ONE_HIT, ONE_OF_TWO
from tests.report.sections.test_error_types import of

COUNTS = ["tp", "fp", "fn", "precision", "recall", "f1"]


def test_position_0_is_the_best_f1_of_each_model(pair: Compared, models: list[apf.Evaluation]) -> None:
    assert pair.point is not None
    for best, each, counts in zip(pair.point.best, models, pair.point.counts, strict=True):
        expected = each.operating_points("f1", 0.5, per_category=False)
        assert best == expected["score_threshold"].item()
        assert counts.select(COUNTS).row(0) == expected.select(COUNTS).row(0)


def test_counts_at_every_position_are_those_of_thresholds(pair: Compared, models: list[apf.Evaluation]) -> None:
    point = pair.point
    assert point is not None and len(point.even) == N_POSITIONS and point.even[-1] == point.ends[1]
    for k, each in enumerate(models):
        curve = each.thresholds(0.5, per_category=False)
        positions = pl.DataFrame({"score": point.scores(k)}).with_row_index("at").sort("score")
        rows = positions.join_asof(
            curve.sort("score_threshold"), left_on="score", right_on="score_threshold", strategy="forward"
        )
        rows = rows.sort("at")
        assert point.counts[k]["score"].to_list() == point.scores(k)
        reached = rows["tp"].is_not_null()  # above all scores nothing is left
        assert point.counts[k].filter(reached).select(COUNTS).rows() == rows.filter(reached).select(COUNTS).rows()
        n = each.confusion_pairs(0.5)["annotation_id"].drop_nulls().n_unique()
        assert point.counts[k].filter(~reached).select(COUNTS).rows() == [
            (0, 0, n, None, 0.0, 0.0)
        ] * reached.not_().to_list().count(True)
        assert (point.counts[k].select(pl.col("tp") + pl.col("fn")).to_series() == n).all()


def test_rising_has_every_position_once(pair: Compared) -> None:
    assert pair.point is not None
    for k in range(2):
        rising = pair.point.rising(k)
        assert sorted(position for _, position in rising) == [*range(1 + N_POSITIONS)]
        assert [score for score, _ in rising] == sorted(pair.point.scores(k))


def test_scores_beyond_1_move_the_ends() -> None:
    logits = [row | {"score": score} for row, score in zip(ONE_HIT, (7.5, -2.5), strict=True)]
    point = of(apf.evaluate(ONE_OF_TWO, logits)).point
    assert point is not None and point.ends == (-2.5, 7.5) and point.best == [7.5]
    assert point.even[0] == pytest.approx(-2.3) and point.even[-1] == 7.5


def test_there_is_none_without_detections_or_annotations() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ApframeWarning)
        nothing, found = apf.evaluate(ONE_OF_TWO, []), apf.evaluate(ONE_OF_TWO, ONE_HIT)
        assert of(nothing).point is None
        assert of(apf.evaluate(ONE_OF_TWO | {"annotations": []}, ONE_HIT)).point is None
        point = of(found, nothing).point
    assert point is not None and math.isinf(point.best[1])
    assert set(point.counts[1].select("tp", "fp", "fn").rows()) == {(0, 0, 2)}


def test_scores_on_a_threshold_are_kept() -> None:
    curve = pl.DataFrame(
        {"score_threshold": [0.5], "tp": [1], "fp": [0], "fn": [0], "precision": [1.0], "recall": [1.0], "f1": [1.0]}
    )
    assert at_scores(curve, [0.5, 0.5000001], 1)["tp"].to_list() == [1, 0]
    assert at_scores(curve, [0.9], 0).select("recall", "f1").rows() == [(None, None)]


def test_series_hold_every_text() -> None:
    for texts in (["1"], ["1", "1", "2"], ["–", "0.500", "0.500"], ["3", "4", "3"]):
        parts = [each.split("*") for each in series(texts).split(" ")]
        assert [text for text, *n in parts for _ in range(int(n[0]) if n else 1)] == texts
