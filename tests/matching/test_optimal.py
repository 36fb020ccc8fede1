"""Optimal matching: rule by rule on tiny tables, and against SciPy's dense solver and all assignments there are."""

from __future__ import annotations

import sys
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apframe.exceptions import ParameterError
from apframe.matching import optimal
from apframe.matching.optimal import match_optimally
from tests.matching.strategies import Problem, pairs_of, problems, written_out

linear_sum_assignment = pytest.importorskip("scipy.optimize").linear_sum_assignment


def matched(
    *rows: tuple[int, int, float], crowd: list[int] | None = None, ignored: list[list[int]] | None = None,
    thresholds: tuple[float, ...] = (0.5,), strict: bool = False,
) -> list[tuple[Any, ...]]:  # fmt: skip
    """detection, annotation, slice, first, last."""
    is_crowd = np.array(crowd or [0, 0, 0], dtype=bool)
    flags = np.array(ignored or [[0, 0, 0]], dtype=bool)
    assignments = match_optimally(pairs_of(*rows), is_crowd, flags, np.array(thresholds), strict=strict)
    assert not assignments["is_repeat"].any()
    return assignments.drop("similarity", "is_repeat").rows()


def test_the_total_is_largest() -> None:
    # the most similar pair, (0, 0), is in no best assignment: .8 + .7 > .9 + .5
    assert matched((0, 0, 0.9), (0, 1, 0.8), (1, 0, 0.7), (1, 1, 0.5)) == [(0, 1, 0, 0, 1), (1, 0, 0, 0, 1)]


def test_one_good_pair_beats_two_poor_ones() -> None:
    assert matched((0, 0, 0.9), (0, 1, 0.4), (1, 0, 0.4), thresholds=(0.3,)) == [(0, 0, 0, 0, 1)]


def test_each_threshold_is_a_problem_of_its_own() -> None:
    rows = [(0, 0, 0.9), (0, 1, 0.8), (1, 0, 0.7)]
    assert matched(*rows, thresholds=(0.5, 0.75)) == [(0, 1, 0, 0, 1), (0, 0, 0, 1, 2), (1, 0, 0, 0, 1)]


def test_without_choice_the_most_similar_has_the_annotation() -> None:
    assert matched((0, 0, 0.6), (1, 0, 0.9), (2, 0, 0.9), thresholds=(0.5, 0.75)) == [(1, 0, -1, 0, 2)]


def test_of_equal_totals_more_pairs() -> None:
    assert matched((0, 0, 1.0), (0, 1, 0.5), (1, 0, 0.5)) == [(0, 1, 0, 0, 1), (1, 0, 0, 0, 1)]


def test_of_equal_totals_better_ranked_detections() -> None:
    rows = [(d, a, 0.8) for d in (3, 1, 2) for a in (0, 1)]
    assert [row[0] for row in matched(*rows)] == [1, 2]


def test_what_counts_comes_first_then_ignored_ones_then_crowds() -> None:
    rows = [(0, 0, 0.6), (0, 1, 0.9), (1, 0, 0.7), (1, 1, 0.8), (2, 1, 0.6), (2, 2, 0.9), (3, 2, 0.5), (1, 2, 1.0)]
    expected = [(0, 1, 0, 0, 1), (1, 0, 0, 0, 1), (2, 2, 0, 0, 1), (3, 2, -1, 0, 1)]
    assert matched(*rows, crowd=[0, 0, 1], ignored=[[0, 1, 1]]) == expected


def test_a_crowd_takes_what_is_left_over_at_each_threshold() -> None:
    rows = [(0, 0, 0.6), (1, 0, 0.5), (0, 1, 0.9), (0, 2, 0.9), (1, 2, 0.8)]
    expected = [(0, 0, -1, 0, 1), (0, 1, -1, 1, 2), (1, 2, -1, 0, 2)]
    assert matched(*rows, crowd=[0, 1, 1], ignored=[[0, 1, 1]], thresholds=(0.5, 0.75)) == expected


def test_slices_are_problems_of_their_own() -> None:
    rows = [(0, 0, 0.9), (0, 1, 0.6)]
    assert matched(*rows, ignored=[[0, 0, 0], [1, 0, 0]]) == [(0, 0, 0, 0, 1), (0, 1, 1, 0, 1)]


def test_equal_to_the_threshold() -> None:
    assert matched((0, 0, 0.5)) == [(0, 0, -1, 0, 1)]
    assert matched((0, 0, 0.5), strict=True) == []
    assert matched((0, 0, 0.5), (0, 1, 0.5), strict=True) == []


def test_no_pairs() -> None:
    assert matched() == []


def test_scipy_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy.sparse", None)
    with pytest.raises(ParameterError, match=r'pip install scipy, or the extra "optimal"'):
        matched((0, 0, 0.5))


def total(pairs: dict[tuple[int, int], float], detections: set[int], annotations: set[int]) -> float:
    """The largest total similarity of a one-to-one assignment."""
    table = [[pairs.get((d, a), 0.0) for a in sorted(annotations)] for d in sorted(detections)]
    if not (detections and annotations):
        return 0.0
    return float(np.array(table)[linear_sum_assignment(table, maximize=True)].sum())


@given(problem=problems(), strict=st.booleans())
def test_totals_are_those_of_the_dense_solver(problem: Problem, strict: bool) -> None:
    assigned = match_optimally(problem.pairs, problem.is_crowd, problem.ignored, problem.thresholds, strict=strict)
    assignments = written_out(assigned, problem)
    for number, ignored in enumerate(problem.ignored):
        for place, threshold in enumerate(problem.thresholds):
            reached = problem.candidates(threshold, strict)
            chosen = {d: assignments[number, place, d][0] for d in {d for d, _ in reached} if (number, place, d) in assignments}
            assert all((d, a) in reached for d, a in chosen.items())
            left = {d for d, _ in reached}
            for flag in (False, True):
                expected = {a for _, a in reached if not problem.is_crowd[a] and ignored[a] == flag}
                one_to_one = {d: a for d, a in chosen.items() if a in expected}
                assert len(set(one_to_one.values())) == len(one_to_one)
                assert sum(reached[pair] for pair in one_to_one.items()) == pytest.approx(
                    total(reached, left, expected), abs=1e-8
                )
                left -= one_to_one.keys()
            crowds = {d: [(-reached[d, a], a) for _, a in reached if problem.is_crowd[a] and (d, a) in reached] for d in left}
            assert {d: a for d, a in chosen.items() if d in left} == {d: min(c)[1] for d, c in crowds.items() if c}


@pytest.mark.slow
@given(problem=problems(crowds=False))
def test_ties_are_broken_as_stated(problem: Problem) -> None:
    """Of all assignments: the largest total, then the most pairs, then the smallest sum of ranks."""
    nothing = np.zeros_like(problem.ignored[:1])
    pairs = problem.pairs.filter(problem.pairs["detection"] < 4)
    assignments = match_optimally(pairs, problem.is_crowd, nothing, problem.thresholds[:1], strict=False)
    options: dict[int, list[tuple[int | None, float]]] = {d: [(None, 0.0)] for d in set(pairs["detection"])}
    for d, a, s in pairs.rows():
        if problem.reaches(s, problem.thresholds[0], strict=False):
            options[d].append((a, s))

    def value(chosen: dict[int, tuple[int | None, float]]) -> tuple[float, int, int]:
        by_detection = {d: s for d, (a, s) in chosen.items() if a is not None}
        return round(sum(by_detection.values()), 6), len(by_detection), -sum(by_detection)

    def is_one_to_one(chosen: tuple[tuple[int | None, float], ...]) -> bool:
        annotations = [a for a, _ in chosen if a is not None]
        return len(set(annotations)) == len(annotations)

    best = max(value(dict(zip(options, c, strict=True))) for c in product(*options.values()) if is_one_to_one(c))
    assert value({d: (a, s) for d, a, s in assignments.select("detection", "annotation", "similarity").rows()}) == best


@pytest.mark.slow
@given(problem=problems(), data=st.data())
def test_the_order_of_the_pairs_does_not_matter(problem: Problem, data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(problem.pairs.height)))
    one, other = (
        match_optimally(pairs, problem.is_crowd, problem.ignored, problem.thresholds, strict=False)
        for pairs in (problem.pairs, problem.pairs[list(order)])
    )
    assert one.equals(other)


@pytest.mark.slow
@given(problem=problems(crowds=False))
def test_a_few_at_a_time_or_all_at_once(problem: Problem) -> None:
    sums = []
    for size in (1, 4, 10_000):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(optimal, "ROWS_AT_A_TIME", size)
            table = match_optimally(problem.pairs, problem.is_crowd, problem.ignored, problem.thresholds, strict=False)
        sums.append((table.height, table["detection"].sum(), table["similarity"].sum()))
    assert sums[0][:2] == sums[1][:2] == sums[2][:2]
    assert [total for *_, total in sums] == pytest.approx([sums[0][2]] * 3, abs=1e-6)
