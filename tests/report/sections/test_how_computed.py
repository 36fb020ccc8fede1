"""The section of the report: how it was computed."""

from __future__ import annotations

import warnings
from dataclasses import replace
from html import unescape

import pytest

from apframe.exceptions import ApframeWarning, ParameterError
from apframe.report.compared import Compared
from apframe.report.section import Fragment
from apframe.report.sections import how_computed
from tests.protocols.test_protocol_values import TINY, tiny
from tests.report.sections.test_error_types import of


def text(compared: Compared) -> str:
    """What is said below the facts."""
    rules = how_computed.section(compared).blocks[-1]
    assert isinstance(rules, Fragment)
    return rules.markup


@pytest.mark.slow
def test_what_was_asked_for_is_said(pair: Compared, one: Compared) -> None:
    explanation = text(replace(pair, n_resamples=700, seed=3, max_images=25))
    assert "what each image contributes to a number (its influence)" in explanation and "700" not in explanation
    assert "those at IoU 0.5" in explanation and "the rules of COCO" in explanation
    assert "p is how surprising" in explanation and "25 cards of errors and 5 of labels" in explanation
    assert "needs no network" in explanation
    assert "p is how surprising" not in text(one)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::apframe.exceptions.ResampledWarning")
def test_resamples_are_named_where_there_are_some() -> None:
    drawn = of(*[tiny("voc2007")] * 2, n_resamples=700, seed=3)
    explanation = unescape(text(drawn))
    assert "without a derivative have 700 resamples of the images instead, starting from seed 3" in explanation
    assert "a.compare(b, n_resamples=700, seed=3)" in explanation
    assert "700 of the images, seed 3" in how_computed.section(drawn).blocks[1].markup  # type: ignore[union-attr]


@pytest.mark.slow
def test_calls_in_python_are_those_of_the_page(pair: Compared, one: Compared) -> None:
    explanation = unescape(text(pair))
    score = pair.point.best[0]  # type: ignore[union-attr]
    assert f"a.compare(b), a.errors(0.5), a.error_impact(0.5), a.confusion(0.5, min_score={score}), " in explanation
    assert "give the same tables, where a is the evaluation of model_a, and b that of model_b." in explanation
    assert "a.intervals(), a.errors(0.5)" in text(one)
    assert "a.compare([b, ...], seed=3), " in text(of(*[tiny("coco")] * 3, seed=3))


@pytest.mark.slow
@pytest.mark.parametrize("name", TINY)
def test_calls_in_python_have_an_answer(name: str) -> None:
    """What is named works, and what is refused is not named."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ApframeWarning)
        compared = of(tiny(name))
        explanation, protocol = unescape(text(compared)), compared.first.protocol
        score = compared.point.best[0] if protocol.has_precision and compared.point else "best_f1"
        for method in ("errors", "error_impact", "confusion", "thresholds", "calibration", "label_errors"):
            options = {"min_score": score} if method == "confusion" and protocol.has_scores else {}
            try:
                getattr(compared.first, method)(compared.iou_threshold, **options)
            except ParameterError:
                assert f"a.{method}(" not in explanation
            else:
                assert f"a.{method}(" in explanation
