"""`vl_pr`: every option by hand, and against a loop that walks down the list."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apframe.exceptions import CountWarning, ParameterError, ScoreError
from apframe.lists.vlfeat_pr import vl_pr

INF = math.inf
# in descending order of scores
A = [1, -1, 1, -1, 1]
B = [1, 1, -1, 1, -1, 1, -1, -1, -1, 1]


def falling(labels: Sequence[float]) -> list[float]:
    return [-float(place) for place in range(len(labels))]


@pytest.mark.parametrize(
    ("labels", "options", "ap", "auc", "ap_interp_11"),
    [
        (A, {}, 0.755556, 0.711111, 0.763636),
        (B, {}, 0.783333, 0.762778, 0.803030),
        (A, {"num_positives": 6}, 0.377778, 0.355556, 0.412121),
        (A, {"num_positives": 6.0}, 0.377778, 0.355556, 0.412121),
        (A, {"normalize_prior": 0.5}, 0.690476, 0.645238, None),
        (A, {"interpolate": True}, 0.755556, 0.755556, 0.763636),
        (B, {"interpolate": True}, 0.783333, 0.783333, 0.803030),
        (A, {"stable": True}, 0.755556, 0.711111, 0.763636),
        (A, {"num_negatives": 50}, 0.755556, 0.711111, 0.763636),
    ],
)
def test_reference_values(
    labels: list[int], options: dict[str, Any], ap: float, auc: float, ap_interp_11: float | None
) -> None:
    result = vl_pr(labels, falling(labels), **options)
    assert result.ap == pytest.approx(ap, abs=5e-7)
    assert result.auc == pytest.approx(auc, abs=5e-7)
    if ap_interp_11 is not None:
        assert result.ap_interp_11 == result.auc_pa08 == pytest.approx(ap_interp_11, abs=5e-7)


def curve_of(labels: Any, scores: Any, **options: Any) -> dict[str, list[Any]]:
    return vl_pr(labels, scores, **options).curve.to_dict(as_series=False)


def test_curve_has_a_first_point_and_goes_down_the_scores() -> None:
    assert curve_of([-1, 1, 1], [0.2, 0.9, 0.1]) == {
        "recall": [0, 0.5, 0.5, 1],
        "precision": [1, 1, 1 / 2, 2 / 3],
        "score": [None, 0.9, 0.2, 0.1],
        "tp": [0, 1, 1, 2],
        "fp": [0, 0, 1, 1],
    }


def test_equal_scores_keep_their_order() -> None:
    assert curve_of([-1, 1, -1], [1, 1, 1])["precision"] == [1, 0, 1 / 2, 1 / 3]


def test_label_0_is_a_point_that_counts_neither_way() -> None:
    curve = curve_of([0, 1, 0, -1], [4, 3, 2, 1])
    assert curve["precision"] == [1, 1, 1, 1, 1 / 2]
    assert curve["recall"] == [0, 0, 1, 1, 1]
    assert curve["score"] == [None, 4, 3, 2, 1]


@pytest.mark.parametrize("missing", [-INF, None])
def test_what_is_not_retrieved_counts_against_recall(missing: float | None) -> None:
    result = vl_pr([1, 1, -1], [1.0, missing, missing])
    assert result.curve["recall"].to_list() == [0, 0.5]
    assert (result.ap, result.auc, result.random_baseline) == (0.5, 0.5, 2 / 3)


def test_include_inf_retrieves_it_last() -> None:
    result = vl_pr([-1, 1, 1], [-INF, -INF, 1], include_inf=True)
    assert result.curve["recall"].to_list() == [0, 0.5, 0.5, 1]
    assert result.ap == pytest.approx((1 + 2 / 3) / 2)


def test_surrogates_are_never_retrieved() -> None:
    options = {"num_positives": 4, "num_negatives": 6, "include_inf": True}
    result = vl_pr([1, -1], [1, -INF], **options)
    assert result.curve["recall"].to_list() == [0, 0.25, 0.25]
    assert result.ap == 0.25
    assert result.random_baseline == 0.4


def test_interpolated_precision_is_the_best_from_there_on() -> None:
    assert curve_of([-1, 1, 1], [3, 2, 1], interpolate=True)["precision"] == [1, 2 / 3, 2 / 3, 2 / 3]


def test_eleven_points_count_the_first_one() -> None:
    assert vl_pr([-1, 1], [2, 1]).ap_interp_11 == pytest.approx((1 + 10 * 0.5) / 11)
    assert vl_pr([1], [-INF]).ap_interp_11 == pytest.approx(1 / 11)


def test_stable_keeps_the_order_of_the_labels() -> None:
    curve = vl_pr([1, -1, 0, 1], [0.1, 0.9, -INF, 0.5], stable=True).curve
    assert curve.to_dict(as_series=False) == {
        "recall": [1, 0, None, 0.5],
        "precision": [2 / 3, 0, None, 1 / 2],
        "score": [0.1, 0.9, -INF, 0.5],
        "tp": [2, 0, None, 1],
        "fp": [1, 1, None, 1],
    }


def test_prior_weighs_positives_and_negatives() -> None:
    # 2 positives of weight .2 / 2, 4 negatives of weight .8 / 4
    result = vl_pr([1, -1, 1], [3, 2, 1], num_negatives=4, normalize_prior=0.2)
    assert result.curve["precision"].to_list() == pytest.approx([1, 1, 0.1 / 0.3, 0.2 / 0.4])
    assert result.ap == pytest.approx(0.75)
    assert result.random_baseline == 0.2


def test_all_options_at_once() -> None:
    # weights .5 / 4 and .5 / 2: precision .125 / .375 = 1/3, then 1/3, 1/3, .25 / .5 = 1/2 at the items of -inf
    options = {"num_positives": 4, "num_negatives": 2, "normalize_prior": 0.5, "include_inf": True}
    labels, scores = [1, 0, 1, -1], [5, 4, -INF, 6]
    plain = vl_pr(labels, scores, stable=True, **options)
    assert plain.curve["precision"].to_list() == pytest.approx([1 / 3, 1 / 3, 1 / 2, 0])
    assert plain.ap == pytest.approx((1 / 3 + 1 / 2) / 4)
    assert plain.auc == pytest.approx(((0 + 1 / 3) / 2 + (1 / 3 + 1 / 2) / 2) / 4)
    best = vl_pr(labels, scores, stable=True, interpolate=True, **options)
    assert best.curve["precision"].to_list() == pytest.approx([1 / 2] * 4)
    assert best.ap == best.auc == pytest.approx(0.25)
    assert best.ap_interp_11 == pytest.approx((1 + 5 * 0.5) / 11)


@pytest.mark.parametrize("labels", [[], [-1, 0]])
def test_no_positives(labels: list[int]) -> None:
    result = vl_pr(labels, falling(labels))
    assert (result.ap, result.auc, result.ap_interp_11) == (None, None, None)
    assert result.curve["recall"].null_count() == len(labels) + 1
    assert repr(result).startswith("PrecisionRecall(ap=None, auc=None")


def test_too_small_counts_are_a_warning() -> None:
    with pytest.warns(CountWarning, match="num_positives=2 is smaller than the 3 positives among the labels"):
        result = vl_pr(A, falling(A), num_positives=2)
    assert result.curve["recall"].to_list()[-1] == 1.5
    assert result.ap == pytest.approx((1 + 2 / 3 + 3 / 5) / 2)
    with pytest.warns(CountWarning, match="num_negatives=0 is smaller than the 2 negatives"):
        result = vl_pr(A, falling(A), num_negatives=0, normalize_prior=0.5)
    assert result.curve["precision"].to_list() == pytest.approx([1, 1, 0, 0, 0, 0], abs=1e-8)
    with pytest.warns(CountWarning):
        assert vl_pr(A, falling(A), num_positives=0).ap is None


@pytest.mark.parametrize("make", [tuple, pl.Series, np.array, lambda v: np.array(v, dtype=np.float32)])
def test_any_sequence_of_numbers(make: Any) -> None:
    scores = make([0.25, 0.5, 1])
    assert vl_pr(make([0.5, -1.5, 2.5]), scores).curve.equals(vl_pr([1, -1, 1], [0.25, 0.5, 1]).curve)


@pytest.mark.parametrize(
    ("labels", "scores", "options", "error", "message"),
    [
        ([1, -1], [1.0], {}, ParameterError, "differ in length: 2 and 1"),
        ([1, -1], [math.nan, 1], {}, ScoreError, "the score is missing or NaN in row 1, counted from 1"),
        ([1, None], [1, 2], {}, ScoreError, "the label is missing or NaN in row 2"),
        ([1, math.nan], [1, 2], {}, ScoreError, "the label is missing or NaN in row 2"),
        ([True, False], [1, 2], {}, ParameterError, "labels must be a sequence of numbers; turn flags into 1 and -1"),
        ([1, -1], ["a", "b"], {}, ParameterError, "scores must be a sequence of numbers"),
        ([1, -1], [1.5, "b"], {}, ParameterError, "scores must be a sequence of numbers"),
        ([1, -1], np.ones((2, 2)), {}, ParameterError, "scores must be a sequence of numbers"),
        (1, 2, {}, ParameterError, "labels must be a sequence of numbers"),
        ([1], [1], {"num_positives": -1}, ParameterError, "num_positives is a whole number of at least 0, not -1"),
        ([1], [1], {"num_negatives": 1.5}, ParameterError, "num_negatives is a whole number"),
        ([1], [1], {"normalize_prior": 0}, ParameterError, "normalize_prior must be between 0 and 1, not 0"),
        ([1], [1], {"normalize_prior": 1.0}, ParameterError, "normalize_prior must be between"),
    ],
)
def test_bad_input(labels: Any, scores: Any, options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        vl_pr(labels, scores, **options)


def walked(
    labels: list[float],
    scores: list[float],
    num_positives: int | None,
    num_negatives: int | None,
    include_inf: bool,
    interpolate: bool,
    normalize_prior: float | None,
) -> tuple[list[tuple[float, float]], list[int], float, float, float]:
    """The rules, item by item: points after each item, which items these are, ap, auc, ap_interp_11."""
    p = sum(label > 0 for label in labels) if num_positives is None else num_positives
    n = sum(label < 0 for label in labels) if num_negatives is None else num_negatives
    order = [place for place in sorted(range(len(labels)), key=lambda at: -scores[at]) if include_inf or scores[place] > -INF]
    points, steps = [(0.0, 1.0)], []
    tp = fp = 0
    for place in order:
        tp += labels[place] > 0
        fp += labels[place] < 0
        right, wrong = float(tp), float(fp)
        if normalize_prior is not None:
            right, wrong = tp * normalize_prior / p, (fp * (1 - normalize_prior) / n if fp else 0)
        points.append((tp / p, right / (right + wrong) if tp + fp else 1.0))
        if labels[place] > 0:
            steps.append(len(points) - 1)
    if interpolate:
        points = [(recall, max(other for _, other in points[at:])) for at, (recall, _) in enumerate(points)]
    ap = sum(points[at][1] for at in steps) / p
    auc = sum((after - before) * (left + right) / 2 for (before, left), (after, right) in pairwise(points))
    levels = [max([0.0, *(precision for recall, precision in points if recall >= level / 10)]) for level in range(11)]
    return points, order, ap, ap if interpolate else auc, sum(levels) / 11


item = st.tuples(st.sampled_from([-2, -1, 0, 1, 0.5]), st.sampled_from([-INF, -3.0, 0.0, 0.25, 1.0, 7.0, INF]))


@pytest.mark.slow
@given(
    st.lists(item, max_size=30),
    st.none() | st.integers(0, 12),
    st.none() | st.integers(0, 12),
    st.booleans(),
    st.booleans(),
    st.none() | st.floats(0.05, 0.95),
)
def test_walking_down_the_list_gives_the_same(
    items: list[tuple[float, float]],
    more_positives: int | None,
    more_negatives: int | None,
    include_inf: bool,
    interpolate: bool,
    prior: float | None,
) -> None:
    labels, scores = [label for label, _ in [*items, (1, 0)]], [score for _, score in [*items, (1, 0.0)]]
    num_positives = None if more_positives is None else more_positives + sum(label > 0 for label in labels)
    num_negatives = None if more_negatives is None else more_negatives + sum(label < 0 for label in labels)
    rules = (num_positives, num_negatives, include_inf, interpolate, prior)
    names = ("num_positives", "num_negatives", "include_inf", "interpolate", "normalize_prior")
    options = dict(zip(names, rules, strict=True))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "no label is below 0")
        result, stable = vl_pr(labels, scores, **options), vl_pr(labels, scores, stable=True, **options)
    points, order, ap, auc, ap_interp_11 = walked(labels, scores, *rules)
    assert result.curve["recall"].to_list() == [recall for recall, _ in points]
    assert result.curve["precision"].to_list() == pytest.approx([precision for _, precision in points], abs=1e-12)
    assert (result.ap, result.auc, result.ap_interp_11) == pytest.approx((ap, auc, ap_interp_11), abs=1e-12)
    assert (stable.ap, stable.auc, stable.ap_interp_11) == (result.ap, result.auc, result.ap_interp_11)
    expected: list[float | None] = [None] * len(labels)
    for place, (recall, _) in zip(order, points[1:], strict=True):
        expected[place] = recall
    assert stable.curve["recall"].to_list() == expected


def test_labels_of_0_and_1_are_told_apart_from_ignored_ones() -> None:
    with pytest.warns(CountWarning, match="use -1 for negatives"):
        assert vl_pr([1, 0, 1], [3, 2, 1]).ap == 1
