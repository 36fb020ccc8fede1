"""Claims: rule by rule on tiny tables, and against a plain loop on any."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from apframe.benchmarks.driving.argoverse2.by_claim import match_by_claim
from tests.matching.strategies import Problem, pairs_of, problems, written_out


def matched(*rows: tuple[int, int, float], ignored: list[list[int]] | None = None) -> list[tuple[Any, ...]]:
    """detection, annotation, slice, first, last, at distances of less than 2 and 1."""
    flags = np.array(ignored or [[0, 0]], dtype=bool)
    nothing = np.zeros(2, dtype=bool)
    assignments = match_by_claim(pairs_of(*rows), nothing, flags, np.array([-2.0, -1.0]), strict=True)
    return assignments.drop("similarity", "is_repeat").rows()


def test_only_the_nearest_is_claimed() -> None:
    # detection 1 is near annotation 1, but nearer to 0, which has accepted detection 0
    assert matched((0, 0, -0.5), (1, 0, -0.1), (1, 1, -0.2)) == [(0, 0, -1, 0, 2)]
    assert matched((0, 1, -0.5), (0, 0, -0.5)) == [(0, 0, -1, 0, 2)]


def test_a_claimant_too_far_away_blocks_the_annotation() -> None:
    assert matched((0, 0, -9), (1, 0, -0.1)) == []
    assert matched((0, 0, -1.5), (1, 0, -0.1)) == [(0, 0, -1, 0, 1)]


def test_every_claimant_of_an_ignored_annotation_is_assigned() -> None:
    assert matched((0, 0, -9), (1, 0, -0.1), ignored=[[1, 0]]) == [(1, 0, -1, 0, 2)]
    assert matched((0, 0, -0.2), (1, 0, -1.5), ignored=[[0, 0], [1, 0]]) == [(0, 0, -1, 0, 2), (1, 0, 1, 0, 1)]


def test_no_pairs() -> None:
    assert matched() == []


def by_loop(problem: Problem, strict: bool) -> dict[tuple[int, int, int], tuple[int, bool]]:
    """Detection by detection, for one slice and threshold at a time."""
    assignments: dict[tuple[int, int, int], tuple[int, bool]] = {}
    for number, ignored in enumerate(problem.ignored):
        for place, threshold in enumerate(problem.thresholds):
            accepted = set()
            for detection in sorted(set(problem.pairs["detection"])):
                similarity, claimed = min((-s, a) for d, a, s in problem.pairs.rows() if d == detection)
                if (ignored[claimed] or claimed not in accepted) and problem.reaches(-similarity, threshold, strict):
                    assignments[number, place, detection] = (claimed, False)
                accepted.add(claimed)
    return assignments


@given(problem=problems(), strict=st.booleans())
def test_as_a_plain_loop_does(problem: Problem, strict: bool) -> None:
    assigned = match_by_claim(problem.pairs, problem.is_crowd, problem.ignored, problem.thresholds, strict=strict)
    assert written_out(assigned, problem) == by_loop(problem, strict)
