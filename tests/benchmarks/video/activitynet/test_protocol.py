"""ActivityNet: every number is that of loops over its rule for temporal localisation."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given

import apframe as apf
from apframe.exceptions import UnknownIdError
from tests.parity.reference import close
from tests.protocols.generated import (
    area_under_envelope,
    assert_sets_equal,
    half_as_often,
    joined_by_name,
    mean,
    on_many_sets,
    sets,
)

pytestmark = pytest.mark.filterwarnings(
    "ignore::apframe.exceptions.NoAnnotationsWarning", "ignore::apframe.exceptions.NothingMatchesWarning"
)

Row = dict[str, Any]
THRESHOLDS = np.linspace(0.5, 0.95, 10).tolist()
ACTIVITIES = ["jump", "run", "swim"]


def interval_iou(one: Row, other: Row) -> float:
    shared = max(0.0, min(one["end_time"], other["end_time"]) - max(one["start_time"], other["start_time"]))
    union = one["end_time"] - one["start_time"] + other["end_time"] - other["start_time"] - shared
    return shared / union if union else math.inf  # NaN in the kit: it comes first, and is not less than any threshold


def judge(truth: list[Row], results: list[Row], threshold: float) -> list[bool]:
    """Which predictions of an activity are true, best score first: each takes the best of the intervals that are free."""
    outcomes = []
    locked = set[int]()
    last_first = results[::-1]  # of equal scores, the later row comes first
    for row in sorted(last_first, key=lambda row: -row["score"]):
        here = [number for number, other in enumerate(truth) if other["image_id"] == row["image_id"]]
        # the last of equal ones comes first, as the reference turns a sorted list round
        for number in sorted(here, key=lambda number: (interval_iou(row, truth[number]), number), reverse=True):
            if interval_iou(row, truth[number]) < threshold:
                outcomes.append(False)
                break
            if number not in locked:
                locked.add(number)
                outcomes.append(True)
                break
        else:
            outcomes.append(False)
    return outcomes


def videos(random: np.random.Generator, n_images: int) -> tuple[dict[str, list[Row]], list[Row]]:
    """Intervals of whole seconds, many of which overlap equally; predictions near them and elsewhere, in any order."""
    annotations: list[Row] = []
    results: list[Row] = []
    names = [f"video {key}" for key in range(n_images)]
    for name in names:
        for _ in range(random.integers(0, 6)):
            start, length = random.integers(0, 30), random.choice([0, 2, 5, 10, 20])
            cell = {"image_id": name, "category_id": str(random.choice(ACTIVITIES))}
            annotations.append(cell | {"start_time": float(start), "end_time": float(start + length)})
            for _ in range(random.integers(0, 4)):
                moved = start + random.integers(-2, 3)
                longer = max(0, length + random.integers(-3, 4))
                results.append(cell | {"start_time": float(moved), "end_time": float(moved + longer)})
    results = [results[place] for place in random.permutation(len(results))]
    scores = random.integers(1, max(2, len(results)), len(results)) / (len(results) + 1)  # many of them equal
    truth = {"images": [{"image_id": name} for name in names], "annotations": annotations}
    return truth, [row | {"score": score} for row, score in zip(results, scores.tolist(), strict=True)]


def evaluate(truth: dict[str, list[Row]], results: list[Row], protocol: apf.Protocol = apf.ACTIVITYNET) -> apf.Evaluation:
    dataset = apf.Dataset(pl.DataFrame(truth["images"]), {"category_id": ACTIVITIES}, pl.DataFrame(truth["annotations"]))
    return apf.evaluate(dataset, pl.DataFrame(results), protocol)


def average_precisions(truth: dict[str, list[Row]], results: list[Row], threshold: float) -> dict[str, float | None]:
    values: dict[str, float | None] = {}
    for activity in ACTIVITIES:
        expected, found = ([row for row in rows if row["category_id"] == activity] for rows in (truth["annotations"], results))
        values[activity] = area_under_envelope(judge(expected, found, threshold), len(expected)) if expected else None
    return values


@on_many_sets
def test_average_precision_equals_loops(seeds: range) -> None:
    """Every set, of which all are evaluated at once, with the means of each threshold; and the first one alone."""
    parts = {f"{seed:03}": videos(np.random.default_rng(seed), 1 + seed % 6) for seed in seeds}
    expected = {f"AP{at * 100:.0f}": [average_precisions(*part, at) for part in parts.values()] for at in THRESHOLDS}
    evaluation = evaluate(*joined_by_name(parts), replace(apf.ACTIVITYNET, headlines=("AP", *expected)))
    for metric, of_sets in expected.items():
        assert_sets_equal(evaluation, of_sets, metric)
    of_each = [[value for of_set in some for value in of_set.values()] for some in zip(*expected.values(), strict=True)]
    assert evaluation.by("set")["AP"].to_list() == close(mean(values) for values in of_each)
    alone = evaluate(*parts[f"{seeds[0]:03}"])
    assert alone.metrics.sort("iou_threshold", "category_id")["ap"].to_list() == close(of_each[0])
    of_first = {metric: mean(expected[metric][0].values()) for metric in ("AP50", "AP75", "AP95")}
    assert alone.summary.rows() == list(zip(("AP", *of_first), close([mean(of_each[0]), *of_first.values()]), strict=True))


@half_as_often
@given(sets(videos))
def test_outcomes_by_rank_equal_loops(data: tuple[dict[str, list[Row]], list[Row]]) -> None:
    truth, results = data
    evaluation = evaluate(truth, results)
    for threshold in (0.5, 0.75):
        matches = evaluation.matches(threshold).drop_nulls("detection_id").sort("rank")
        for activity in ACTIVITIES:
            of_activity = [[row for row in rows if row["category_id"] == activity] for rows in (truth["annotations"], results)]
            found = matches.filter(category_id=activity)["outcome"].to_list()
            assert found == ["tp" if is_true else "fp" for is_true in judge(*of_activity, threshold)]


def one_video(annotations: list[tuple[float, float]], predictions: list[tuple[float, float]]) -> apf.Evaluation:
    cell = {"image_id": "v", "category_id": "run"}
    truth = [cell | {"start_time": start, "end_time": end} for start, end in annotations]
    found = [cell | {"start_time": start, "end_time": end, "score": 0.9 - k / 10} for k, (start, end) in enumerate(predictions)]
    return evaluate({"images": [{"image_id": "v"}], "annotations": truth}, found)


RULES: dict[str, tuple[list[tuple[float, float]], list[tuple[float, float]], list[tuple[int | None, int | None, str]]]] = {
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
    matches = one_video(annotations, predictions).matches()
    assert matches.select("detection_id", "annotation_id", "outcome").rows() == expected


Segment = tuple[float, float]
# annotations, predictions with their scores, the mean over the thresholds, AP at .5
OF_THE_KIT: dict[str, tuple[list[Segment], list[tuple[float, float, float]], float, float]] = {
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
def test_numbers_of_the_kit(
    annotations: list[Segment], predictions: list[tuple[float, float, float]], ap: float, ap_50: float
) -> None:
    cell = {"image_id": "v", "category_id": "run"}
    truth = [cell | {"start_time": float(start), "end_time": float(end)} for start, end in annotations]
    found = [cell | {"start_time": float(start), "end_time": float(end), "score": score} for start, end, score in predictions]
    summary = dict(evaluate({"images": [{"image_id": "v"}], "annotations": truth}, found).summary.rows())
    assert (summary["AP"], summary["AP50"]) == pytest.approx((ap, ap_50), abs=1e-9)


def test_list_a_of_the_specification() -> None:
    hits: list[Segment] = [(0, 10), (500, 510), (100, 110), (600, 610), (200, 210)]
    evaluation = one_video(hits[::2], hits)
    assert [evaluation["AP"], evaluation["AP50"]] == pytest.approx([0.755555556] * 2, abs=1e-9)


def test_an_unknown_label_is_an_error() -> None:
    cell = {"image_id": "v", "start_time": 0.0, "end_time": 10.0}
    truth = {"images": [{"image_id": "v"}], "annotations": [cell | {"category_id": "run"}]}
    found = [cell | {"category_id": label, "score": 0.5} for label in ("run", "dive")]
    with pytest.raises(
        UnknownIdError, match="category_id is not among the categories where detection_id is 2; unknown: 'dive'"
    ):
        evaluate(truth, found)


def test_videos_without_annotations_count_if_they_are_images() -> None:
    cell = {"category_id": "run", "start_time": 0.0, "end_time": 10.0}
    truth = {"images": [{"image_id": "v"}], "annotations": [cell | {"image_id": "v"}]}
    found = [cell | {"image_id": video, "score": score} for video, score in (("other", 0.9), ("v", 0.8))]
    with pytest.raises(UnknownIdError, match="image_id is not among the images"):
        evaluate(truth, found)
    truth["images"].append({"image_id": "other"})
    assert evaluate(truth, found)["AP50"] == 0.5


def test_nothing_found() -> None:
    truth = {"image_id": ["v"], "category_id": ["run"], "start_time": [0.0], "end_time": [10.0]}
    dataset = apf.Dataset({"image_id": ["v"]}, {"category_id": ["run"]}, truth)
    assert apf.evaluate(dataset, [], apf.ACTIVITYNET).stats.tolist() == [0, 0, 0, 0]
