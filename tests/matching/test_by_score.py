"""Matching by score: rule by rule on tiny tables, and against a plain loop over METRICS.md 2.4 on generated ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apframe.matching.by_score import match_by_score, match_nearest
from tests.matching.strategies import Problem, pairs_of, problems, written_out


def matched(
    pairs: dict[tuple[int, int], float], crowd: list[int] | None = None, ignored: list[list[int]] | None = None,
    thresholds: tuple[float, ...] = (0.5, 0.75), strict: bool = False,
) -> dict[tuple[int, int], dict[int, int]]:  # fmt: skip
    """The annotation of each matched detection, by slice and threshold; `pairs` is (detection, annotation) → similarity."""
    is_crowd, flags = np.array(crowd or [0, 0, 0], dtype=bool), np.array(ignored or [[0, 0, 0]], dtype=bool)
    problem = Problem(
        pairs_of(*((*pair, similarity) for pair, similarity in pairs.items())), is_crowd, flags, np.array(thresholds)
    )
    assignments = match_by_score(problem.pairs, is_crowd, flags, problem.thresholds, strict=strict)
    assert not assignments["is_repeat"].any()
    at: dict[tuple[int, int], dict[int, int]] = {}
    for (number, threshold, detection), (annotation, _) in written_out(assignments, problem).items():
        at.setdefault((number, threshold), {})[detection] = annotation
    return at


def test_the_better_score_comes_before_the_more_similar() -> None:
    # at .75 the better ranked detection does not reach it
    assert matched({(0, 0): 0.6, (1, 0): 0.9}) == {(0, 0): {0: 0}, (0, 1): {1: 0}}


def test_the_most_similar_annotation_that_is_still_free() -> None:
    assert matched({(0, 0): 0.6, (0, 1): 0.7, (1, 0): 0.6, (1, 1): 0.7}, thresholds=(0.5,)) == {(0, 0): {0: 1, 1: 0}}


def test_of_equal_similarities_the_later_annotation() -> None:
    assert matched({(0, 2): 0.8, (0, 0): 0.8, (0, 1): 0.8}, thresholds=(0.5,)) == {(0, 0): {0: 2}}


def test_what_counts_comes_before_a_more_similar_ignored_one() -> None:
    pairs = {(0, 0): 0.6, (0, 1): 0.9}
    # at .75 only the ignored one is reached
    assert matched(pairs, ignored=[[0, 1, 0]]) == {(0, 0): {0: 0}, (0, 1): {0: 1}}


def test_an_ignored_one_is_taken_once_a_crowd_any_number() -> None:
    pairs = {(0, 0): 0.8, (1, 0): 0.8, (2, 0): 0.8}
    assert matched(pairs, ignored=[[1, 0, 0]], thresholds=(0.5,)) == {(0, 0): {0: 0}}
    assert matched(pairs, crowd=[1, 0, 0], ignored=[[1, 0, 0]], thresholds=(0.5,)) == {(0, 0): {0: 0, 1: 0, 2: 0}}


def test_each_slice_ignores_other_annotations() -> None:
    # where annotation 1 is ignored, detection 0 takes annotation 0 from detection 1
    pairs = {(0, 0): 0.6, (0, 1): 0.9, (1, 0): 0.8}
    expected = {(0, 0): {0: 1, 1: 0}, (1, 0): {0: 0}}
    assert matched(pairs, ignored=[[0, 0, 0], [0, 1, 0]], thresholds=(0.5,)) == expected


def test_a_chain_is_followed_to_its_end() -> None:
    # each of four would rather have the annotation that the one before it takes
    pairs = {(0, 0): 0.9, (1, 0): 0.9, (1, 1): 0.8, (2, 1): 0.9, (2, 2): 0.8, (3, 2): 0.9}
    assert matched(pairs, thresholds=(0.5,)) == {(0, 0): {0: 0, 1: 1, 2: 2}}


@pytest.mark.parametrize(("strict", "expected"), [(False, {(0, 0): {0: 0}}), (True, {})])
def test_similarity_equal_to_the_threshold(strict: bool, expected: dict[Any, Any]) -> None:
    assert matched({(0, 0): 0.5}, strict=strict) == expected


def test_a_threshold_of_one_is_reached_up_to_rounding() -> None:
    assert matched({(0, 0): 1 - 1e-12}, thresholds=(1.0,)) == {(0, 0): {0: 0}}
    assert matched({(0, 0): 1 - 1e-9}, thresholds=(1.0,)) == {}


def test_no_pairs() -> None:
    assert matched({}) == {}


def looped(problem: Problem, ignored: np.ndarray, threshold: float, strict: bool, last: int = 1) -> dict[int, int]:
    """METRICS.md 2.4: down the detections, each takes what it prefers of what is free, the last or (-1) the first of equals."""
    reached = problem.candidates(threshold, strict)
    chosen: dict[int, int] = {}
    for detection in sorted({detection for detection, _ in reached}):
        matched_ids = {annotation for annotation in chosen.values() if not problem.is_crowd[annotation]}
        free = [a for d, a in reached if d == detection and a not in matched_ids]
        if free:
            chosen[detection] = min(free, key=lambda a: (ignored[a], -reached[detection, a], -a * last))
    return chosen


@pytest.mark.slow
@given(problem=problems(), strict=st.booleans())
def test_same_as_a_plain_loop(problem: Problem, strict: bool) -> None:
    assigned = match_by_score(problem.pairs, problem.is_crowd, problem.ignored, problem.thresholds, strict=strict)
    expected = {
        (number, place, detection): (annotation, False)
        for number, ignored in enumerate(problem.ignored)
        for place, threshold in enumerate(problem.thresholds)
        for detection, annotation in looped(problem, ignored, threshold, strict).items()
    }
    assert written_out(assigned, problem) == expected


@given(problem=problems(), strict=st.booleans())
def test_nearest_takes_the_first_of_equals(problem: Problem, strict: bool) -> None:
    assigned = match_nearest(problem.pairs, problem.is_crowd, problem.ignored, problem.thresholds, strict=strict)
    expected = {
        (number, place, detection): (annotation, False)
        for number, ignored in enumerate(problem.ignored)
        for place, threshold in enumerate(problem.thresholds)
        for detection, annotation in looped(problem, ignored, threshold, strict, last=-1).items()
    }
    assert written_out(assigned, problem) == expected


@given(problem=problems(), data=st.data())
def test_the_order_of_the_pairs_does_not_matter(problem: Problem, data: st.DataObject) -> None:
    shuffled: pl.DataFrame = problem.pairs[data.draw(st.permutations(range(problem.pairs.height)))]
    one, other = (
        match_by_score(pairs, problem.is_crowd, problem.ignored, problem.thresholds) for pairs in (problem.pairs, shuffled)
    )
    assert written_out(one, problem) == written_out(other, problem)


@pytest.mark.slow
@given(problems())
def test_more_thresholds_and_slices_than_an_integer_has_bits(problem: Problem) -> None:
    n = len(problem.ignored)
    many = Problem(
        problem.pairs,
        problem.is_crowd,
        np.tile(problem.ignored, (40, 1)),
        np.sort(np.append(problem.thresholds, np.linspace(0.02, 0.98, 70))),
    )
    assignments = written_out(match_by_score(many.pairs, many.is_crowd, many.ignored, many.thresholds), many)
    place = np.searchsorted(many.thresholds, problem.thresholds).tolist()
    own = {key: value for key, value in assignments.items() if key[1] in place}
    few = written_out(match_by_score(problem.pairs, problem.is_crowd, problem.ignored, problem.thresholds), problem)
    expected = {
        (number + n * copy, place[threshold], detection): value
        for (number, threshold, detection), value in few.items()
        for copy in range(40)
    }
    assert own == expected
