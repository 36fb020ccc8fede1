"""ActivityNet: outcomes by rank as in plain loops, the rules one by one, and the numbers of the kit."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import given

import apframe as apf
from apframe.exceptions import UnknownIdError
from tests.benchmarks.video.activitynet.row import ACTIVITIES, THRESHOLDS, Row, average_precisions, judge, videos
from tests.protocols.generated import half_as_often, sets

pytestmark = pytest.mark.filterwarnings(
    "ignore::apframe.exceptions.NoAnnotationsWarning", "ignore::apframe.exceptions.NothingMatchesWarning"
)
Segment = tuple[float, float]
Scored = tuple[float, float, float]
"""Start, end and score."""


def evaluate(truth: dict[str, list[Row]], results: list[Row]) -> apf.Evaluation:
    dataset = apf.Dataset(pl.DataFrame(truth["images"]), {"category_id": ACTIVITIES}, pl.DataFrame(truth["annotations"]))
    return apf.evaluate(dataset, pl.DataFrame(results), apf.ACTIVITYNET)


def one_video(annotations: list[Segment], predictions: list[Scored]) -> apf.Evaluation:
    cell = {"image_id": "v", "category_id": "run"}
    truth = [cell | {"start_time": float(start), "end_time": float(end)} for start, end in annotations]
    detections = [
        cell | {"start_time": float(start), "end_time": float(end), "score": score} for start, end, score in predictions
    ]
    return evaluate({"images": [{"image_id": "v"}], "annotations": truth}, detections)


def ranked(segments: list[Segment]) -> list[Scored]:
    """With scores that are lower from one to the next."""
    return [(*segment, 0.9 - k / 10) for k, segment in enumerate(segments)]


@pytest.mark.slow
@half_as_often
@given(sets(videos))
def test_outcomes_by_rank_equal_loops(data: tuple[dict[str, list[Row]], list[Row]]) -> None:
    truth, results = data
    evaluation = evaluate(truth, results)
    for threshold in (0.5, 0.75):
        matches = evaluation.matches(threshold).drop_nulls("detection_id").sort("rank")
        for activity in ACTIVITIES:
            of_activity = [[row for row in rows if row["category_id"] == activity] for rows in (truth["annotations"], results)]
            outcomes = matches.filter(category_id=activity)["outcome"].to_list()
            assert outcomes == ["tp" if is_true else "fp" for is_true in judge(*of_activity, threshold)]


@half_as_often
@given(sets(videos))
def test_each_activity_at_each_threshold_equals_loops(data: tuple[dict[str, list[Row]], list[Row]]) -> None:
    metrics = evaluate(*data).metrics.sort("iou_threshold", "category_id")["ap"].to_list()
    expected = [value for threshold in THRESHOLDS for value in average_precisions(*data, threshold).values()]
    assert metrics == pytest.approx(expected, abs=1e-9)


RULES: dict[str, tuple[list[Segment], list[Segment], list[tuple[int | None, int | None, str]]]] = {
    "an overlap of exactly .5 is enough": ([(0, 10)], [(0, 5)], [(1, 1, "tp")]),
    # unlike in VOC: the second prediction has the same best interval, which is taken, and takes the other
    "the best of those that are free": ([(0, 10), (2, 12)], [(0, 10), (0, 10)], [(1, 1, "tp"), (2, 2, "tp")]),
    "a third one finds nothing": (
        [(0, 10), (2, 12)], [(0, 10), (0, 10), (1, 11)], [(1, 1, "tp"), (2, 2, "tp"), (3, None, "fp")],
    ),
    "the later of equal ones": ([(0, 10), (2, 12)], [(1, 11)], [(1, 2, "tp"), (None, 1, "fn")]),
    "intervals that touch share nothing": ([(0, 10)], [(10, 20)], [(1, None, "fp"), (None, 1, "fn")]),
}  # fmt: skip


@pytest.mark.parametrize(("annotations", "predictions", "expected"), RULES.values(), ids=RULES)
def test_rules_one_by_one(annotations: list[Any], predictions: list[Any], expected: list[Any]) -> None:
    matches = one_video(annotations, ranked(predictions)).matches()
    assert matches.select("detection_id", "annotation_id", "outcome").rows() == expected


# annotations, predictions with their scores, the mean over the thresholds, AP at .5
OF_THE_KIT: dict[str, tuple[list[Segment], list[Scored], float, float]] = {
    "the later of equal ones is what the second needs": ([(0, 6), (4, 10)], [(0, 10, 0.9), (4, 10, 0.8)], 0.325, 0.5),
    "the later of equal ones is not what it needs": ([(4, 10), (0, 6)], [(0, 10, 0.9), (4, 10, 0.8)], 0.475, 1),
    "the next best where the best is taken": ([(0, 10), (1, 11)], [(0, 10, 0.9), (0, 10.4, 0.8)], 0.9, 1),
    "half": ([(0, 10)], [(0, 5, 0.9)], 0.1, 1),
    "of equal scores the later first, a hit": ([(0, 10)], [(20, 30, 0.9), (0, 10, 0.9)], 1, 1),
    "of equal scores the later first, a false positive": ([(0, 10)], [(0, 10, 0.9), (20, 30, 0.9)], 0.5, 0.5),
    "two of length 0": ([(5, 5), (1, 2)], [(5, 5, 1), (1, 2, 0.5)], 1, 1),
    "two of length 0, in different places": ([(5, 5), (1, 2)], [(8, 8, 1), (1, 2, 0.5)], 1, 1),
    "one of length 0 inside of another": ([(1, 9)], [(5, 5, 0.9)], 0, 0),
    "one of length 0 is found once": ([(5, 5)], [(5, 5, 1), (5, 5, 0.5), (6, 7, 0.4)], 1, 1),
}


@pytest.mark.parametrize(("annotations", "predictions", "ap", "ap_50"), OF_THE_KIT.values(), ids=OF_THE_KIT)
def test_numbers_of_the_kit(annotations: list[Segment], predictions: list[Scored], ap: float, ap_50: float) -> None:
    evaluation = one_video(annotations, predictions)
    assert (evaluation["AP"], evaluation["AP50"]) == pytest.approx((ap, ap_50), abs=1e-9)


def test_list_a_of_the_specification() -> None:
    hits: list[Segment] = [(0, 10), (500, 510), (100, 110), (600, 610), (200, 210)]
    evaluation = one_video(hits[::2], ranked(hits))
    assert [evaluation["AP"], evaluation["AP50"]] == pytest.approx([0.755555556] * 2, abs=1e-9)


def test_an_unknown_label_is_an_error() -> None:
    cell = {"image_id": "v", "start_time": 0.0, "end_time": 10.0}
    truth = {"images": [{"image_id": "v"}], "annotations": [cell | {"category_id": "run"}]}
    detections = [cell | {"category_id": label, "score": 0.5} for label in ("run", "dive")]
    message = "category_id is not among the categories for detection_id 2; unknown: 'dive'"
    with pytest.raises(UnknownIdError, match=message):
        evaluate(truth, detections)


def test_videos_without_annotations_count_if_they_are_images() -> None:
    cell = {"category_id": "run", "start_time": 0.0, "end_time": 10.0}
    truth = {"images": [{"image_id": "v"}], "annotations": [cell | {"image_id": "v"}]}
    detections = [cell | {"image_id": video, "score": score} for video, score in (("other", 0.9), ("v", 0.8))]
    with pytest.raises(UnknownIdError, match="image_id is not among the images"):
        evaluate(truth, detections)
    truth["images"].append({"image_id": "other"})
    assert evaluate(truth, detections)["AP50"] == 0.5
