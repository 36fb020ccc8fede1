"""THUMOS14: outcomes by rank as in plain loops, the cases worked out by hand, and matches at cut-offs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import polars as pl
import pytest
from hypothesis import given

import apframe as apf
from apframe.exceptions import ParameterError
from apframe.metrics.average_precision import AveragePrecision
from apframe.metrics.definitions import ElevenPoint
from tests.benchmarks.video.thumos14.row import ACTIONS, AMBIGUOUS, Data, judge, videos
from tests.protocols.generated import sets

pytestmark = pytest.mark.filterwarnings(
    "ignore::apframe.exceptions.NoAnnotationsWarning", "ignore::apframe.exceptions.NothingMatchesWarning"
)
Segment = tuple[float, float]
Scored = tuple[float, float, float]
"""Start, end and score."""


def evaluate(data: Data, protocol: apf.Protocol = apf.THUMOS14, **options: Any) -> apf.Evaluation:
    truth, results = data
    names = [*ACTIONS, AMBIGUOUS]
    dataset = apf.Dataset(pl.DataFrame(truth["images"]), {"category_id": names}, pl.DataFrame(truth["annotations"]))
    return apf.evaluate(dataset, pl.DataFrame(results), protocol, **options)


def one_video(annotations: list[Segment], ambiguous: list[Segment], predictions: list[Scored]) -> Data:
    def row(name: str, start: float, end: float) -> dict[str, Any]:
        return {"image_id": "v", "category_id": name, "start_time": float(start), "end_time": float(end)}

    truth = [*(row("Diving", *times) for times in annotations), *(row(AMBIGUOUS, *times) for times in ambiguous)]
    detections = [row("Diving", start, end) | {"score": score} for start, end, score in predictions]
    return {"images": [{"image_id": "v"}], "annotations": truth}, detections


@pytest.mark.slow
@given(sets(videos))
def test_outcomes_by_rank_equal_loops(data: Data) -> None:
    evaluation = evaluate(data)
    assert set(evaluation.metrics["category_id"]) == set(ACTIONS)
    for threshold in (0.1, 0.5):
        matches = evaluation.matches(threshold).drop_nulls("detection_id").sort("rank")
        outcomes = {action: matches.filter(category_id=action)["outcome"].to_list() for action in ACTIONS}
        assert outcomes == {action: judge(data, action, threshold) for action in ACTIONS}


OLDER = replace(apf.THUMOS14, metrics=(AveragePrecision(ElevenPoint()),))
# annotations, ambiguous ones, predictions with their scores, threshold, AP
BY_HAND: dict[str, tuple[list[Segment], list[Segment], list[Scored], float, float]] = {
    "touching more than its end": ([(0, 10)], [(69, 75)], [(60, 70, 0.95), (0, 10, 0.9)], 0.5, 1),
    "touching its end alone": ([(0, 10)], [(70, 75)], [(60, 70, 0.95), (0, 10, 0.9)], 0.5, 0.5),
    "the best detection, not the best ranked": ([(0, 10)], [], [(0, 7, 0.9), (0, 10, 0.8)], 0.5, 0.5),
    "the first in the file chooses first": ([(0, 10), (1, 11)], [], [(1, 11, 0.9), (-4, 6, 0.8)], 0.4, 0.5),
    "the other way round": ([(1, 11), (0, 10)], [], [(1, 11, 0.9), (-4, 6, 0.8)], 0.4, 1),
    "as similar as the threshold": ([(0, 10)], [], [(0, 5, 0.9)], 0.5, 0),
}


@pytest.mark.parametrize(("annotations", "ambiguous", "predictions", "at", "ap"), BY_HAND.values(), ids=BY_HAND)
def test_cases_by_hand(annotations: Any, ambiguous: Any, predictions: Any, at: float, ap: float) -> None:
    evaluation = evaluate(one_video(annotations, ambiguous, predictions), iou_thresholds=[at])
    assert evaluation.metrics.filter(category_id="Diving")["ap"].to_list() == pytest.approx([ap], abs=1e-9)


def test_step_and_eleven_levels() -> None:
    annotations = [(20.0 * k, 20.0 * k + 10) for k in (0, 2, 4)]
    data = one_video(annotations, [], [(20.0 * k, 20.0 * k + 10, 0.9 - k / 10) for k in range(5)])
    values = [evaluate(data, protocol).summary["value"][0] for protocol in (apf.THUMOS14, OLDER)]
    assert values == pytest.approx([0.755555556, 0.763636364], abs=1e-9)


@pytest.mark.parametrize(("annotations", "ap"), [([(0, 10), (1, 11)], 0.545454545), ([(1, 11), (0, 10)], 1)])
def test_eleven_levels_where_the_first_in_the_file_chooses_first(annotations: list[Segment], ap: float) -> None:
    data = one_video(annotations, [], [(1, 11, 0.9), (-4, 6, 0.8)])
    evaluation = evaluate(data, OLDER, iou_thresholds=[0.4])
    assert evaluation.metrics.filter(category_id="Diving")["ap"].to_list() == pytest.approx([ap], abs=1e-9)


def test_equal_scores_are_ordered_by_video() -> None:
    cell = {"category_id": "Diving", "start_time": 0.0, "end_time": 10.0}
    truth = {"images": [{"image_id": name} for name in "ba"], "annotations": [cell | {"image_id": "b"}]}
    detections = [cell | {"image_id": name, "score": 0.5} for name in "ba"]
    assert evaluate((truth, detections)).summary["value"][0] == pytest.approx(0.5)


def test_a_cut_off_matches_anew() -> None:
    """Without its best detection, below the cut-off, the annotation takes the next best one."""
    evaluation = evaluate(one_video([(0, 10)], [], [(0, 7, 0.9), (0, 10, 0.8)]))
    table = evaluation.thresholds(0.5).filter(category_id="Diving").sort("score_threshold", descending=True)
    assert table.select("score_threshold", "tp", "fp").rows() == [(0.9, 1, 0), (0.8, 1, 1)]
    assert evaluation.per_image(0.5, min_score=0.85)["tp"].to_list() == [1]


def test_categories_that_are_none_of_the_twenty() -> None:
    row = {"image_id": "v", "category_id": "Juggling", "start_time": 0.0, "end_time": 10.0}
    dataset = apf.Dataset({"image_id": ["v"]}, {"category_id": ["Juggling"]}, pl.DataFrame([row]))
    with pytest.raises(ParameterError, match="THUMOS14 evaluates 'BaseballPitch'"):
        apf.evaluate(dataset, pl.DataFrame([row | {"score": 0.9}]), "thumos14")


def test_what_overlaps_an_ambiguous_segment_counts_at_no_score() -> None:
    """The table of thresholds matches anew at each score; an overlap below the threshold is enough there too."""
    evaluation = evaluate(one_video([(0, 10)], [(69, 75)], [(60, 70, 0.9), (0, 9, 0.8)]))
    assert evaluation.matches(0.5)["outcome"].to_list() == ["ignored", "tp"]
    assert evaluation.thresholds(0.5).filter(pl.col("tp") + pl.col("fp") > 0).select("tp", "fp").rows() == [(1, 0)]
