"""The same work for several evaluations, each in a thread."""

from __future__ import annotations

import warnings

import pytest

import apframe as apf
from apframe.evaluation.side_by_side import of_each
from apframe.exceptions import ParameterError, UnitWarning, warn
from tests.conformance.tiny import ONE_HIT, ONE_OF_TWO


def models(n: int) -> list[apf.Evaluation]:
    return [apf.evaluate(ONE_OF_TWO, ONE_HIT) for _ in range(n)]


def test_results_and_warnings_come_in_the_order_of_evaluations() -> None:
    three = models(3)
    number = {id(each): k for k, each in enumerate(three)}

    def compute(evaluation: apf.Evaluation) -> int:
        warn(f"model {number[id(evaluation)]}", UnitWarning)
        return number[id(evaluation)]

    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        assert of_each(compute, three[::-1]) == [2, 1, 0]
    assert [str(each.message).split(";")[0] for each in given] == ["model 2", "model 1", "model 0"]


def test_an_evaluation_that_is_there_twice_is_computed_once() -> None:
    (one,) = models(1)
    computed = list[apf.Evaluation]()

    def compute(evaluation: apf.Evaluation) -> int:
        computed.append(evaluation)
        return len(computed)

    assert of_each(compute, [one, one]) == [1, 1]


def test_errors_are_raised_as_they_are() -> None:
    with pytest.raises(ParameterError, match="was not evaluated"):
        of_each(lambda each: each.errors(0.3), models(2))
