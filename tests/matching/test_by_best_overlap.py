"""Best overlap: rule by rule on tiny tables, against a plain loop on any, and the worked example that was published."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apframe.matching.by_best_overlap import match_by_best_overlap
from tests.matching.strategies import Problem, pairs_of, problems, written_out
from tests.parity.voc_reference import average_precision, evaluate_voc, judge_category, overlap_of

EXAMPLE = Path(__file__).resolve().parents[3] / "shared" / "data" / "voc-worked-example"


def matched(
    *rows: tuple[int, int, float], crowd: list[int] | None = None, ignored: list[list[int]] | None = None,
    thresholds: tuple[float, ...] = (0.5, 0.75), strict: bool = False, count_groups: bool = False,
) -> list[tuple[Any, ...]]:  # fmt: skip
    """detection, annotation, slice, first, last, is_repeat."""
    is_crowd = np.array(crowd or [0, 0, 0], dtype=bool)
    flags = np.array(ignored or [[0, 0, 0]], dtype=bool)
    assignments = match_by_best_overlap(
        pairs_of(*rows), is_crowd, flags, np.array(thresholds), strict=strict, count_groups=count_groups
    )
    return assignments.drop("similarity").rows()


def test_only_the_best_overlap_is_looked_at() -> None:
    # detection 1 overlaps annotation 1 well, but 0 more, and that is taken
    assert matched((0, 0, 0.8), (1, 0, 0.9), (1, 1, 0.8)) == [(0, 0, -1, 0, 2, False)]


def test_the_first_annotation_of_equal_overlap() -> None:
    assert matched((0, 2, 0.8), (0, 1, 0.8)) == [(0, 1, -1, 0, 2, False)]


def test_the_best_ranked_that_reaches_it_has_the_annotation() -> None:
    # at .75 the better ranked one does not reach it
    assert matched((0, 0, 0.6), (1, 0, 0.8)) == [(0, 0, -1, 0, 1, False), (1, 0, -1, 1, 2, False)]


@pytest.mark.parametrize(("strict", "expected"), [(False, [(0, 0, -1, 0, 1, False)]), (True, [])])
def test_overlap_equal_to_the_threshold(strict: bool, expected: list[Any]) -> None:
    assert matched((0, 0, 0.5), strict=strict) == expected


def test_an_ignored_annotation_takes_any_number_of_detections() -> None:
    expected = [(0, 0, -1, 0, 2, False), (1, 0, -1, 0, 2, False)]
    assert matched((0, 0, 0.8), (1, 0, 0.8), ignored=[[1, 0, 0]]) == expected


def test_an_annotation_that_is_ignored_in_some_slices() -> None:
    expected = [(0, 0, -1, 0, 2, False), (1, 0, 1, 0, 2, False)]
    assert matched((0, 0, 0.8), (1, 0, 0.8), ignored=[[0, 0, 0], [1, 0, 0]]) == expected


def test_the_best_overlap_may_be_with_an_ignored_annotation() -> None:
    assert matched((0, 0, 0.9), (0, 1, 0.8), ignored=[[1, 0, 0]]) == [(0, 0, -1, 0, 2, False)]


def test_what_is_not_assigned_tries_a_crowd() -> None:
    # annotation 0 is taken; below .75 detection 2 has an annotation, at .75 it has not
    rows = [(0, 0, 0.8), (1, 0, 0.8), (1, 2, 0.6), (2, 1, 0.7), (2, 2, 1.0)]
    expected = [
        (0, 0, -1, 0, 2, False),
        (1, 2, -1, 0, 1, False),
        (2, 1, -1, 0, 1, False),
        (2, 2, -1, 1, 2, False),
    ]
    assert matched(*rows, crowd=[0, 0, 1], ignored=[[0, 0, 1]]) == expected


def test_the_most_similar_crowd_is_tried_if_several_are_reached() -> None:
    assert matched((0, 1, 0.8), (0, 0, 0.6), crowd=[1, 1, 0], ignored=[[1, 1, 0]]) == [(0, 1, -1, 0, 2, False)]
    assert matched((0, 1, 0.8), (0, 0, 0.8), crowd=[1, 1, 0], ignored=[[1, 1, 0]]) == [(0, 0, -1, 0, 2, False)]


def test_an_ignored_annotation_comes_before_a_crowd() -> None:
    rows = [(0, 0, 0.8), (0, 1, 1.0)]
    assert matched(*rows, crowd=[0, 1, 0], ignored=[[1, 0, 0]], count_groups=True) == [(0, 0, -1, 0, 2, False)]


def test_one_detection_of_each_crowd_counts_with_count_groups() -> None:
    rows = [(0, 0, 0.8), (1, 0, 0.6), (2, 0, 0.9)]
    assert matched(*rows, crowd=[1, 0, 0], count_groups=True, thresholds=(0.5, 0.7, 0.85)) == [
        (0, 0, -1, 0, 1, False),
        (0, 0, -1, 1, 2, False),
        (1, 0, -1, 0, 1, True),
        (2, 0, -1, 0, 1, True),
        (2, 0, -1, 1, 2, True),
        (2, 0, -1, 2, 3, False),
    ]


def test_a_crowd_has_another_first_hit_than_an_ignored_one() -> None:
    # where annotation 0 counts, detection 1 is left for the crowd; where it is ignored, detection 1 stays with it
    rows = [(0, 0, 0.8), (1, 0, 0.8), (1, 1, 0.8), (2, 1, 0.8)]
    assert matched(*rows, crowd=[0, 1, 0], ignored=[[0, 0, 0], [1, 0, 0]], count_groups=True, thresholds=(0.5,)) == [
        (0, 0, -1, 0, 1, False),
        (1, 1, 0, 0, 1, False),
        (1, 0, 1, 0, 1, False),
        (2, 1, 0, 0, 1, True),
        (2, 1, 1, 0, 1, False),
    ]


def test_no_pairs() -> None:
    assert matched() == []
    assert matched(crowd=[1, 0, 0], count_groups=True) == []


def by_loop(problem: Problem, strict: bool, count_groups: bool) -> dict[tuple[int, int, int], tuple[int, bool]]:
    """Detection by detection, for one slice and threshold at a time."""
    assignments: dict[tuple[int, int, int], tuple[int, bool]] = {}
    detections = sorted(set(problem.pairs["detection"]))
    for number, ignored in enumerate(problem.ignored):
        for place, threshold in enumerate(problem.thresholds):
            matched_ids, hit = set(), set()
            for detection in detections:
                candidates = [(-s, a) for d, a, s in problem.pairs.rows() if d == detection]
                overlap, best = min((c for c in candidates if not problem.is_crowd[c[1]]), default=(0, -1))
                if problem.reaches(-overlap, threshold, strict):
                    if ignored[best]:
                        assignments[number, place, detection] = (best, False)
                        continue
                    if best not in matched_ids:
                        matched_ids.add(best)
                        assignments[number, place, detection] = (best, False)
                        continue
                overlap, best = min((c for c in candidates if problem.is_crowd[c[1]]), default=(0, -1))
                if problem.reaches(-overlap, threshold, strict):
                    assignments[number, place, detection] = (best, count_groups and best in hit)
                    hit.add(best)
    return assignments


@given(problem=problems(), strict=st.booleans(), count_groups=st.booleans())
def test_as_a_plain_loop_does(problem: Problem, strict: bool, count_groups: bool) -> None:
    assigned = match_by_best_overlap(
        problem.pairs, problem.is_crowd, problem.ignored, problem.thresholds, strict=strict, count_groups=count_groups
    )
    assert written_out(assigned, problem) == by_loop(problem, strict, count_groups)


@pytest.mark.slow
@given(problem=problems(), strict=st.booleans(), count_groups=st.booleans())
def test_pairs_that_reach_nothing_may_be_absent(problem: Problem, strict: bool, count_groups: bool) -> None:
    given_first = problem.pairs.filter(pl.col("similarity") >= min(problem.thresholds[0], 1 - 1e-10))
    one, other = (
        match_by_best_overlap(
            pairs, problem.is_crowd, problem.ignored, problem.thresholds, strict=strict, count_groups=count_groups
        )
        for pairs in (problem.pairs, given_first)
    )
    assert one.equals(other)


def read_example(folder: str, names: list[str]) -> list[dict[str, Any]]:
    """The rows of all its files, in the order of the files."""
    lines = [
        (path.stem, line.split()) for path in sorted((EXAMPLE / folder).glob("*.txt")) for line in path.read_text().splitlines()
    ]
    return [
        {"image_id": image, "category_id": words[0], **dict(zip(names, map(float, words[1:]), strict=True))}
        for image, words in lines
        if words
    ]


@pytest.mark.skipif(not EXAMPLE.is_dir(), reason="the worked example is not beside this checkout")
@pytest.mark.parametrize("strict", [False, True])  # no overlap is .3 itself
def test_the_published_example(strict: bool) -> None:
    truth = read_example("groundtruths", ["x", "y", "width", "height"])
    detections = read_example("detections", ["score", "x", "y", "width", "height"])
    outcomes = judge_category(truth, detections, "person", 0.3, strict=strict)
    assert (outcomes.count(True), outcomes.count(False)) == (7, 17)
    assert evaluate_voc(truth, detections, 0.3, year=2012, strict=strict)["person"] == pytest.approx(0.2457, abs=5e-5)
    assert evaluate_voc(truth, detections, 0.3, year=2007, strict=strict)["person"] == pytest.approx(0.2684, abs=5e-5)
    # without the pixel on the border one more is missed
    assert judge_category(truth, detections, "person", 0.3, strict=strict, pixel=0).count(True) == 6

    ranked = sorted(detections, key=lambda row: -row["score"])
    pairs = [
        (d, a, overlap_of(detection, annotation))
        for d, detection in enumerate(ranked)
        for a, annotation in enumerate(truth)
        if detection["image_id"] == annotation["image_id"]
    ]
    nothing = np.zeros(len(truth), dtype=bool)
    assigned = match_by_best_overlap(
        pairs_of(*pairs), nothing, nothing[None], np.array([0.3]), strict=strict, count_groups=False
    )
    is_true = set(assigned["detection"])
    assert [place in is_true for place in range(len(ranked))] == outcomes
    assert average_precision([d in is_true for d in range(len(ranked))], 15, 2012) == pytest.approx(0.2457, abs=5e-5)


def test_the_reference_itself() -> None:
    box = {"image_id": 1, "category_id": "c", "x": 0.0, "y": 0.0, "width": 9.0, "height": 9.0}
    half = {**box, "height": 4.0}
    assert overlap_of(box, half) == 0.5
    assert overlap_of(box, half, pixel=0) == pytest.approx(4 / 9)
    assert overlap_of(box, {**box, "x": 9.0}) == pytest.approx(10 / 190)  # they share a column of pixels
    detections = [{**box, "score": 0.5}, {**half, "score": 0.9}]
    assert judge_category([box], detections, "c", 0.5) == [False, True]
    assert judge_category([box], detections, "c", 0.5, strict=False) == [True, False]
    assert judge_category([{**box, "difficult": True}], detections, "c", 0.4) == [None, None]
    assert evaluate_voc([{**box, "difficult": True}], detections) == {"c": None}
    assert evaluate_voc([box, {**box, "image_id": 2}], detections) == {"c": pytest.approx(0.5 * 6 / 11)}
    assert evaluate_voc([box, {**box, "image_id": 2}], detections, year=2010) == {"c": 0.25}
