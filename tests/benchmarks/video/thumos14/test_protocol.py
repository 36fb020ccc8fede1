"""THUMOS14: every number is that of loops over the rules of its kit, and the cases worked out by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from polars.testing import assert_frame_equal

import apframe as apf
from apframe.exceptions import ParameterError
from apframe.metrics.average_precision import AveragePrecision
from apframe.metrics.definitions import ElevenPoint
from tests.parity.reference import close
from tests.protocols.generated import assert_sets_equal, joined_by_name, mean, on_many_sets, sets
from tests.protocols.parts_of_sets import assert_parts_are_the_whole

pytestmark = pytest.mark.filterwarnings(
    "ignore::apframe.exceptions.NoAnnotationsWarning",
    "ignore::apframe.exceptions.NothingMatchesWarning",
    "ignore::apframe.exceptions.FewUnitsWarning",
)

Row = dict[str, Any]
Data = tuple[dict[str, list[Row]], list[Row]]
Segment = tuple[float, float]
THRESHOLDS = np.linspace(0.1, 0.5, 5).tolist()
ACTIONS, AMBIGUOUS = ["Diving", "HighJump"], "Ambiguous"


def shared(one: Row, other: Row) -> float:
    return float(max(0.0, min(one["end_time"], other["end_time"]) - max(one["start_time"], other["start_time"])))


def interval_iou(one: Row, other: Row) -> float:
    both = shared(one, other)
    return both / (one["end_time"] - one["start_time"] + other["end_time"] - other["start_time"] - both)


def judge(truth: list[Row], ambiguous: list[Row], results: list[Row], threshold: float) -> list[tuple[Row, str]]:
    """Each detection of an action, in rank order, and its outcome: annotations choose in the order of the file."""
    ranked = sorted(results, key=lambda row: (-row["score"], row["image_id"]))
    taken = set[int]()
    for annotation in truth:
        best, at = threshold, None
        for number, row in enumerate(ranked):
            if row["image_id"] == annotation["image_id"] and number not in taken and interval_iou(annotation, row) > best:
                best, at = interval_iou(annotation, row), number
        if at is not None:
            taken.add(at)
    outcomes = []
    for number, row in enumerate(ranked):
        touches = any(other["image_id"] == row["image_id"] and shared(row, other) > 0 for other in ambiguous)
        outcomes.append((row, "tp" if number in taken else "ignored" if touches else "fp"))
    return outcomes


def step(outcomes: list[str], n_positives: int) -> float:
    """The mean over the positives of the precision where each is found."""
    counted = [outcome for outcome in outcomes if outcome != "ignored"]
    hits = [place for place, outcome in enumerate(counted, 1) if outcome == "tp"]
    return sum(number / place for number, place in enumerate(hits, 1)) / n_positives


def videos(random: np.random.Generator, n_images: int) -> Data:
    """Intervals of whole seconds, many of which overlap equally; predictions near them, with many equal scores."""
    annotations: list[Row] = []
    results: list[Row] = []
    names = [f"video {key}" for key in range(n_images)]
    for name in names:
        for _ in range(random.integers(0, 7)):
            start, length = random.integers(0, 30), random.choice([2, 5, 10, 20])
            label = str(random.choice([*ACTIONS, AMBIGUOUS], p=[0.45, 0.35, 0.2]))
            annotations.append(
                {"image_id": name, "category_id": label, "start_time": float(start), "end_time": float(start + length)}
            )
            for _ in range(random.integers(0, 4)):
                cell = {"image_id": name, "category_id": str(random.choice(ACTIONS)) if label == AMBIGUOUS else label}
                moved, longer = start + random.integers(-3, 4), max(1, length + random.integers(-4, 5))
                times = {"start_time": float(moved), "end_time": float(moved + longer)}
                results.append(cell | times | {"score": float(random.integers(1, 9)) / 10})
    results = [results[place] for place in random.permutation(len(results))]
    return {"images": [{"image_id": name} for name in names], "annotations": annotations}, results


def dataset_of(truth: dict[str, list[Row]]) -> apf.Dataset:
    names = [*ACTIONS, AMBIGUOUS]
    return apf.Dataset(pl.DataFrame(truth["images"]), {"category_id": names}, pl.DataFrame(truth["annotations"]))


def evaluate(data: Data, protocol: apf.Protocol = apf.THUMOS14, **options: Any) -> apf.Evaluation:
    return apf.evaluate(dataset_of(data[0]), pl.DataFrame(data[1]), protocol, **options)


def by_loops(data: Data, images: set[str] | None = None) -> dict[tuple[str, float], float | None]:
    """AP of each action and threshold, of some images or all."""
    truth, results = (
        [row for row in rows if images is None or row["image_id"] in images] for rows in (data[0]["annotations"], data[1])
    )
    ambiguous = [row for row in truth if row["category_id"] == AMBIGUOUS]
    expected: dict[tuple[str, float], float | None] = {}
    for action in ACTIONS:
        own, found = ([row for row in rows if row["category_id"] == action] for rows in (truth, results))
        for threshold in THRESHOLDS:
            outcomes = [outcome for _, outcome in judge(own, ambiguous, found, threshold)]
            expected[action, round(threshold, 10)] = step(outcomes, len(own)) if own else None
    return expected


def means_of(expected: dict[tuple[str, float], float | None]) -> dict[str, float | None]:
    summary = {"AP": mean(expected.values())}
    for threshold in THRESHOLDS:
        at = round(threshold, 10)
        summary[f"AP{threshold * 100:.0f}"] = mean(value for (_, other), value in expected.items() if other == at)
    return summary


def outcomes_by_loops(data: Data, threshold: float) -> dict[str, list[str]]:
    """The outcomes of the detections of each action that has some, in rank order."""
    ambiguous = [row for row in data[0]["annotations"] if row["category_id"] == AMBIGUOUS]
    outcomes = {}
    for action in ACTIONS:
        own, found = ([row for row in rows if row["category_id"] == action] for rows in (data[0]["annotations"], data[1]))
        outcomes[action] = [outcome for _, outcome in judge(own, ambiguous, found, threshold)]
    return {action: each for action, each in outcomes.items() if each}


def outcomes_of(evaluation: apf.Evaluation, threshold: float, *by: str) -> dict[tuple[str, ...], list[str]]:
    """The same of an evaluation; by other columns of the images too."""
    matches = evaluation.matches(threshold).drop_nulls("detection_id").join(evaluation.dataset.images, on="image_id")
    groups = matches.sort("rank").group_by(*by, "category_id", maintain_order=True).agg("outcome")
    return {tuple(key): outcomes for *key, outcomes in groups.rows()}


@given(sets(videos))
def test_numbers_equal_loops(data: Data) -> None:
    evaluation, expected = evaluate(data), by_loops(data)
    metrics = evaluation.metrics.sort("category_id", "iou_threshold")
    assert metrics.select("category_id", "iou_threshold").rows() == list(expected)
    assert metrics["ap"].to_list() == close(expected.values())
    summary = means_of(expected)
    assert evaluation.summary.rows() == list(zip(summary, close(summary.values()), strict=True))
    for threshold in (0.1, 0.5):
        outcomes = {(action,): each for action, each in outcomes_by_loops(data, threshold).items()}
        assert outcomes_of(evaluation, threshold) == outcomes


@on_many_sets
def test_numbers_of_many_sets_equal_loops(seeds: range) -> None:
    """Every set, of which all are evaluated at once."""
    parts = {f"{seed:03}": videos(np.random.default_rng(seed), 1 + seed % 9) for seed in seeds}
    evaluation, expected = evaluate(joined_by_name(parts)), [by_loops(part) for part in parts.values()]
    assert evaluation.by("set")["AP"].to_list() == close(mean(each.values()) for each in expected)
    for threshold in THRESHOLDS:
        at = [{action: each[action, round(threshold, 10)] for action in ACTIONS} for each in expected]
        assert_sets_equal(evaluation, at, f"AP{threshold * 100:.0f}")
    for threshold in (0.1, 0.5):
        outcomes = {
            (name, action): each for name, part in parts.items() for action, each in outcomes_by_loops(part, threshold).items()
        }
        assert outcomes_of(evaluation, threshold, "set") == outcomes


OLDER = replace(apf.THUMOS14, metrics=(AveragePrecision(ElevenPoint()),))
# annotations, ambiguous ones, predictions with their scores, threshold, AP
BY_HAND: dict[str, tuple[list[Segment], list[Segment], list[tuple[float, float, float]], float, float]] = {
    "touching more than its end": ([(0, 10)], [(69, 75)], [(60, 70, 0.95), (0, 10, 0.9)], 0.5, 1),
    "touching its end alone": ([(0, 10)], [(70, 75)], [(60, 70, 0.95), (0, 10, 0.9)], 0.5, 0.5),
    "the best detection, not the best ranked": ([(0, 10)], [], [(0, 7, 0.9), (0, 10, 0.8)], 0.5, 0.5),
    "the first in the file chooses first": ([(0, 10), (1, 11)], [], [(1, 11, 0.9), (-4, 6, 0.8)], 0.4, 0.5),
    "the other way round": ([(1, 11), (0, 10)], [], [(1, 11, 0.9), (-4, 6, 0.8)], 0.4, 1),
    "as similar as the threshold": ([(0, 10)], [], [(0, 5, 0.9)], 0.5, 0),
}


def one_video(
    annotations: list[Segment], ambiguous: list[Segment], predictions: list[tuple[float, float, float]]
) -> tuple[dict[str, list[Row]], list[Row]]:
    cells = [*(("Diving", times) for times in annotations), *((AMBIGUOUS, times) for times in ambiguous)]
    truth = [
        {"image_id": "v", "category_id": name, "start_time": float(start), "end_time": float(end)}
        for name, (start, end) in cells
    ]
    found = [
        {"image_id": "v", "category_id": "Diving", "start_time": float(start), "end_time": float(end), "score": score}
        for start, end, score in predictions
    ]
    return {"images": [{"image_id": "v"}], "annotations": truth}, found


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
    found = [cell | {"image_id": name, "score": 0.5} for name in "ba"]
    assert evaluate((truth, found)).summary["value"][0] == pytest.approx(0.5)


def test_stored_sets_slices_and_updates_have_the_same_numbers(tmp_path: Path) -> None:
    truth, results = videos(np.random.default_rng(8), 8)
    for number, image in enumerate(truth["images"]):
        image["place"] = ["indoors", "outdoors"][number % 2]
    data = truth, results
    evaluation = evaluate(data)
    evaluation.write_parquet(tmp_path / "stored")
    stored = apf.read_evaluation(tmp_path / "stored")
    for each in (evaluation, stored):
        assert_frame_equal(each.summary, evaluation.summary)
        by = each.by("place")
        for place in ("indoors", "outdoors"):
            inside = {image["image_id"] for image in truth["images"] if image["place"] == place}
            expected = means_of(by_loops(data, inside))
            assert by.filter(place=place).select(expected.keys()).row(0) == tuple(close(expected.values()))
            assert each.where(pl.col("place") == place).summary["value"].to_list() == close(expected.values())
    evaluator = apf.Evaluator(dataset_of(truth), apf.THUMOS14)
    found = pl.DataFrame(results)
    for name in ([image["image_id"] for image in truth["images"][:3]], [image["image_id"] for image in truth["images"][3:]]):
        evaluator.update(found.filter(pl.col("image_id").is_in(name)))
    assert_frame_equal(evaluator.compute().summary, evaluation.summary)
    intervals = evaluation.intervals(n_resamples=20)
    assert intervals.filter(metric="AP")["estimate"].to_list() == close([evaluation.summary["value"][0]])


def test_a_cut_off_matches_anew() -> None:
    """Without its best detection, below the cut-off, the annotation takes the next best one."""
    evaluation = evaluate(one_video([(0, 10)], [], [(0, 7, 0.9), (0, 10, 0.8)]))
    table = evaluation.thresholds(0.5).filter(category_id="Diving").sort("score_threshold", descending=True)
    assert table.select("score_threshold", "tp", "fp").rows() == [(0.9, 1, 0), (0.8, 1, 1)]
    assert evaluation.per_image(0.5, min_score=0.85)["tp"].to_list() == [1]


def test_categories_that_are_none_of_the_twenty() -> None:
    data = one_video([(0, 10)], [], [(0, 10, 0.9)])
    for rows in (data[0]["annotations"], data[1]):
        rows[0]["category_id"] = "Juggling"
    with pytest.raises(ParameterError, match="THUMOS14 evaluates 'BaseballPitch'"):
        apf.evaluate(apf.Dataset({"image_id": ["v"]}, {"category_id": ["Juggling"]}, pl.DataFrame(data[0]["annotations"])),
                     pl.DataFrame(data[1]), "thumos14")  # fmt: skip


@pytest.mark.slow
def test_parts_are_the_whole(tmp_path: Path) -> None:
    truth, results = videos(np.random.default_rng(11), 12)
    for number, image in enumerate(truth["images"]):
        image["place"] = ["indoors", "outdoors"][number % 2]
    found = pl.DataFrame(results)
    scores = (np.random.default_rng(1).permutation(found.height) + 1) / (found.height + 1)
    one = assert_parts_are_the_whole(dataset_of(truth), found.with_columns(score=scores), apf.THUMOS14, tmp_path, "place")
    other = apf.evaluate(dataset_of(truth), found.with_columns(score=scores[::-1]), apf.THUMOS14)
    compared = one.compare(other, metrics="AP", n_resamples=40)
    assert compared["difference"].to_list() == close([other["AP"] - one["AP"]])


def test_what_overlaps_an_ambiguous_segment_counts_at_no_score() -> None:
    """The table of thresholds matches anew at each score; an overlap below the threshold is enough there too."""
    truth = {
        "images": [{"id": 1}],
        "categories": [{"id": 1, "name": "Diving"}, {"id": 2, "name": "Ambiguous"}],
        "annotations": [
            {"id": 1, "image_id": 1, "category_id": 1, "start_time": 0.0, "end_time": 10.0},
            {"id": 2, "image_id": 1, "category_id": 2, "start_time": 69.0, "end_time": 75.0},
        ],
    }
    rows = [(60.0, 70.0, 0.9), (0.0, 9.0, 0.8)]
    found = [{"image_id": 1, "category_id": 1, "start_time": a, "end_time": b, "score": score} for a, b, score in rows]
    evaluation = apf.evaluate(truth, found, "thumos14")
    assert evaluation.matches(0.5)["outcome"].to_list() == ["ignored", "tp"]
    assert evaluation.thresholds(0.5).filter(pl.col("tp") + pl.col("fp") > 0).select("tp", "fp").rows() == [(1, 0)]
