"""By similarity: rule by rule on tiny tables, and against the loop that takes one pair after another."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from apframe.matching.by_similarity import match_by_similarity
from tests.matching.strategies import Problem, pairs_of, problems, written_out


def matched(
    *rows: tuple[int, int, float], crowd: list[int] | None = None, ignored: list[list[int]] | None = None, strict: bool = False
) -> list[tuple[Any, ...]]:
    """detection, annotation, slice, first, last."""
    is_crowd = np.array(crowd or [0, 0, 0], dtype=bool)
    flags = np.array(ignored or [[0, 0, 0]], dtype=bool)
    assignments = match_by_similarity(pairs_of(*rows), is_crowd, flags, np.array([0.5, 0.75]), strict=strict)
    assert not assignments["is_repeat"].any()
    return assignments.drop("similarity", "is_repeat").rows()


def test_the_most_similar_pair_comes_first_whatever_the_scores() -> None:
    rows = [(0, 0, 0.8), (0, 1, 0.6), (1, 0, 0.9), (1, 1, 0.7)]
    assert matched(*rows) == [(0, 1, 0, 0, 1), (1, 0, 0, 0, 2)]


def test_equal_similarity_goes_to_the_earlier_annotation() -> None:
    assert matched((0, 1, 0.8), (1, 0, 0.8), (0, 0, 0.8), (1, 1, 0.8)) == [(0, 0, 0, 0, 2), (1, 1, 0, 0, 2)]
    # annotation 0 is earlier, so it is served first, by the only one it has; that one is then gone
    assert matched((0, 1, 0.8), (1, 0, 0.8), (1, 1, 0.8)) == [(0, 1, 0, 0, 2), (1, 0, 0, 0, 2)]
    assert matched((1, 0, 0.8), (0, 0, 0.8)) == [(0, 0, -1, 0, 2)]


def test_a_detection_tries_others_when_its_best_is_taken() -> None:
    # annotation 1 reaches .75 with detection 0, which another annotation has
    assert matched((0, 0, 0.9), (0, 1, 0.8), (1, 1, 0.6)) == [(0, 0, 0, 0, 2), (1, 1, 0, 0, 1)]


def test_crowds_and_ignored_annotations_are_not_there() -> None:
    rows = [(0, 0, 0.9), (0, 1, 0.8), (0, 2, 0.6)]
    assert matched(*rows, crowd=[1, 0, 0], ignored=[[0, 0, 0], [0, 1, 0], [0, 1, 1]]) == [(0, 1, 0, 0, 2), (0, 2, 1, 0, 1)]
    assert matched((0, 0, 0.9), ignored=[[0, 0, 0], [1, 0, 0]]) == [(0, 0, 0, 0, 2)]
    assert matched((0, 0, 0.9), ignored=[[1, 1, 1]]) == []


def test_equal_to_the_threshold() -> None:
    assert matched((0, 0, 0.5)) == [(0, 0, -1, 0, 1)]
    assert matched((0, 0, 0.5), strict=True) == []


def test_no_pairs() -> None:
    assert matched() == []


def test_a_long_chain_is_settled_link_by_link() -> None:
    # each pair must wait for the one before: 0-0, then 1-1, then 2-2 ...
    n = 40
    rows = [row for i in range(n) for row in ((i, i, 0.9 - 0.002 * i), (i + 1, i, 0.9 - 0.002 * i - 0.001))]
    nothing = np.zeros(n, dtype=bool)
    assignments = match_by_similarity(pairs_of(*rows), nothing, nothing[None], np.array([0.5]), strict=False)
    assert assignments.select("detection", "annotation").rows() == [(i, i) for i in range(n)]


@given(problem=problems(), strict=st.booleans())
def test_as_one_pair_after_another(problem: Problem, strict: bool) -> None:
    expected = {}
    for number, ignored in enumerate(problem.ignored):
        # those below the lowest threshold are taken like any other here
        free = [(-s, a, d) for d, a, s in problem.pairs.rows() if not (problem.is_crowd[a] or ignored[a])]
        while free:
            overlap, annotation, detection = min(free)
            free = [pair for pair in free if pair[1] != annotation and pair[2] != detection]
            for place, threshold in enumerate(problem.thresholds):
                if problem.reaches(-overlap, threshold, strict):
                    expected[number, place, detection] = (annotation, False)
    assigned = match_by_similarity(problem.pairs, problem.is_crowd, problem.ignored, problem.thresholds, strict=strict)
    assert written_out(assigned, problem) == expected
