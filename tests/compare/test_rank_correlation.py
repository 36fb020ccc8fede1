"""Agreement of rankings: examples by hand, the values of the packages of the papers' authors, and plain loops."""

from __future__ import annotations

from itertools import pairwise, permutations, product
from math import nan, sqrt
from statistics import mean
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apframe.compare.rank_correlation import Pairs, kendall_tau, overlaps, rank_biased_overlap, tau_ap, tau_ap_b
from apframe.exceptions import ParameterError

# ---- plain loops


def sign(number: float) -> int:
    return (number > 0) - (number < 0)


def plain_tau(a: list[float], b: list[float], variant: str) -> float | None:
    pairs = [(i, j) for i in range(len(a)) for j in range(i)]
    more = sum(sign(a[i] - a[j]) * sign(b[i] - b[j]) for i, j in pairs)
    untied = [sum(scores[i] != scores[j] for i, j in pairs) for scores in (a, b)]
    below = len(pairs) if variant == "a" else sqrt(untied[0] * untied[1])
    return more / below if below else None


def plain_tau_ap(true: list[int], estimated: list[int]) -> float:
    """Of two rankings of the same items, best first, as in the paper."""
    n = len(true)
    shares = []
    for rank in range(1, n):
        item = estimated[rank]
        shares.append(sum(true.index(other) < true.index(item) for other in estimated[:rank]) / rank)
    return 2 * sum(shares) / (n - 1) - 1


def orders(scores: list[float]) -> list[list[int]]:
    """All rankings of the items that agree with the scores."""
    items = range(len(scores))
    return [list(each) for each in permutations(items) if all(scores[i] >= scores[j] for i, j in pairwise(each))]


def plain_tau_ap_b(a: list[float], b: list[float]) -> float | None:
    shares = []
    for i in range(len(b)):
        above = [j for j in range(len(b)) if b[j] > b[i]]
        if above:
            shares.append(sum(a[j] > a[i] for j in above) / len(above))
    return 2 * mean(shares) - 1 if shares else None


def plain_overlap(a: list[Any], b: list[Any], p: float) -> float:
    """Equation 32 of Webber, Moffat and Zobel."""
    short, long = sorted([a, b], key=len)
    s, l = len(short), len(long)  # noqa: E741
    x = {d: len({*short[:d]} & {*long[:d]}) for d in range(1, l + 1)}
    inner = sum(x[d] / d * p**d for d in range(1, l + 1))
    inner += sum(x[s] * (d - s) / (s * d) * p**d for d in range(s + 1, l + 1))
    return (1 - p) / p * inner + ((x[l] - x[s]) / l + x[s] / s) * p**l


# ---- Kendall's tau


@pytest.mark.parametrize(
    ("a", "b", "tau_a", "tau_b"),
    [
        ([4, 3, 2, 1], [4, 3, 2, 1], 1, 1),
        ([4, 3, 2, 1], [1, 2, 3, 4], -1, -1),
        ([4, 3, 2, 1], [3, 4, 2, 1], 4 / 6, 4 / 6),
        ([3, 2, 2], [3, 2, 1], 2 / 3, 2 / sqrt(6)),  # two pairs in order, one tied in a
        ([3, 2, 2], [3, 1, 1], 2 / 3, 1),  # the same pair tied in both
        ([12, 2, 1, 12, 2], [1, 4, 7, 1, 0], -4 / 10, -0.4714045207910316),  # scipy's example, tau-b
        ([1, 1, 1], [1, 2, 3], 0, None),
    ],
)
def test_kendall_by_hand(a: list[float], b: list[float], tau_a: float, tau_b: float | None) -> None:
    assert kendall_tau(a, b, variant="a") == pytest.approx(tau_a)
    assert kendall_tau(a, b) == (None if tau_b is None else pytest.approx(tau_b))


# ---- AP correlation


def test_tau_ap_by_hand() -> None:
    # the item at rank 2 is below the one above it in the true order: (0/1 + 2/2 + 3/3) / 3 = 2/3
    assert tau_ap([4, 3, 2, 1], [3, 4, 2, 1]) == pytest.approx(1 / 3)
    # (1/1 + 2/2 + 2/3) / 3 = 8/9
    assert tau_ap([4, 3, 2, 1], [4, 3, 1, 2]) == pytest.approx(7 / 9)
    assert tau_ap([4, 3, 2, 1], [4, 3, 2, 1]) == 1
    assert tau_ap([4, 3, 2, 1], [1, 2, 3, 4]) == -1


def test_tau_ap_with_ties_by_hand() -> None:
    # a above b = c: either order, (1/1 + 2/2) / 2 or (1/1 + 1/2) / 2
    assert tau_ap([3, 2, 1], [3, 1, 1]) == pytest.approx((1 + 0.5) / 2)
    # variant "b": from b, both are below one item in the right order; from a, the second of two is tied in b
    assert tau_ap([3, 2, 1], [3, 1, 1], variant="b") == pytest.approx((1 + (2 * (1 + 0.5) / 2 - 1)) / 2)
    # all tied: as often above as below, and for variant "b" nothing to count
    assert tau_ap([3, 2, 1], [1, 1, 1]) == pytest.approx(0)
    assert tau_ap([3, 2, 1], [1, 1, 1], variant="b") is None
    assert tau_ap([3, 2, 2], [3, 2, 2], variant="b") == 1


# the test data of ircor, the R package of Urbano and Marrero, and its values to four digits
X = [
    [0.897, 0.372, 0.908, 0.898, 0.661, 0.062, 0.177, 0.384, 0.498, 0.992],
    [0.266, 0.573, 0.202, 0.945, 0.629, 0.206, 0.687, 0.77, 0.718, 0.38],
    [0.185, 0.573, 0.944, 0.129, 0.468, 0.553, 0.761, 0.405, 0.976, 0.445],
]
Y = [
    [0.82, 0.406, 0.817, 0.953, 0.673, 0.073, 0.364, 0.547, 0.589, 0.988],
    [0.263, 0.843, 0.728, 0.928, 0.08, 0.114, 0.467, 0.641, 0.973, 0.644],
    [0.845, 0.272, 0.275, 0.924, 0.605, 0.334, 0.162, 0.872, 0.018, 0.25],
]
X_TIES = [
    [0.9, 0.4, 0.9, 0.9, 0.7, 0.1, 0.2, 0.4, 0.5, 1],
    [0.3, 0.6, 0.2, 0.9, 0.6, 0.2, 0.7, 0.8, 0.7, 0.4],
    [0.2, 0.6, 0.9, 0.1, 0.5, 0.6, 0.8, 0.4, 1, 0.4],
]
Y_TIES = [
    [0.8, 0.4, 0.8, 1, 0.7, 0.1, 0.4, 0.5, 0.6, 1],
    [0.3, 0.8, 0.7, 0.9, 0.1, 0.1, 0.5, 0.6, 1, 0.6],
    [0.8, 0.3, 0.3, 0.9, 0.6, 0.3, 0.2, 0.9, 0, 0.2],
]


@pytest.mark.parametrize(
    ("coefficient", "variant", "a", "b", "expected"),
    [
        (kendall_tau, "a", X, Y, [0.9111, 0.2889, -0.6889]),
        (kendall_tau, "b", X, Y, [0.9111, 0.2889, -0.6889]),
        (kendall_tau, "a", X, Y_TIES, [0.8889, 0.3333, -0.6222]),
        (kendall_tau, "b", X_TIES, Y_TIES, [0.9398, 0.3765, -0.6510]),
        (tau_ap, "a", X, Y, [0.8519, 0.2504, -0.6971]),
        (tau_ap, "a", X, Y_TIES, [0.7454, 0.2692, -0.5558]),
        (tau_ap, "b", X, Y, [0.8333, 0.2880, -0.668]),
        (tau_ap, "b", X_TIES, Y_TIES, [0.7321, 0.297, -0.7047]),
        (tau_ap, "b", Y_TIES, X_TIES, [0.7321, 0.297, -0.7047]),
    ],
)
def test_values_of_the_package_of_the_authors(
    coefficient: Any, variant: str, a: list[list[float]], b: list[list[float]], expected: list[float]
) -> None:
    coefficients = [coefficient(first, second, variant=variant) for first, second in zip(a, b, strict=True)]
    assert coefficients == pytest.approx(expected, abs=5e-5)


# ---- rank-biased overlap


@pytest.mark.parametrize(
    ("a", "b", "p", "expected"),
    [
        ("ab", "ac", 0.5, 0.75),  # (.5 + .25/2) + .25/2
        ("ab", "ba", 0.5, 0.5),  # 0 at depth 1, 1 from depth 2 on: p
        ("abc", "abc", 0.9, 1),
        ("abc", "abcdef", 0.9, 1),  # whatever is seen of the shorter list agrees
        ("abc", "xyz", 0.9, 0),
        ("a", "ba", 0.5, 0.125 + 0.125),  # depth 1: 0, depth 2: 1 of 2, extrapolated as 1/2: (.25/2) + (1/2) .25
        ("", "ab", 0.9, None),
        ("", "", 0.9, None),
    ],
)
def test_overlap_by_hand(a: str, b: str, p: float, expected: float | None) -> None:
    approximately = None if expected is None else pytest.approx(expected, abs=1e-12)
    assert rank_biased_overlap(list(a), list(b), p=p) == approximately
    assert rank_biased_overlap(list(b), list(a), p=p) == approximately


def test_overlap_of_the_example_of_the_paper() -> None:
    # figure 5: two lists of seven; the mean of the overlaps 0, 0, 1/3, 2/4, 2/5, 3/6, 3/7 is .31
    a, b = "abcdefg", "zcavwxy"
    agreement = [0, 0, 2 / 3, 2 / 4, 2 / 5, 2 / 6, 2 / 7]
    assert mean(agreement) == pytest.approx(0.312, abs=5e-4)
    expected = 0.1 * sum(share * 0.9**depth for depth, share in enumerate(agreement)) + 2 / 7 * 0.9**7
    assert rank_biased_overlap(a, b) == pytest.approx(expected, abs=1e-12)


# ---- properties

few_scores = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=0, max_size=12)


@given(few_scores)
def test_kendall_as_a_plain_loop(rows: list[tuple[int, int]]) -> None:
    a, b = [float(row[0]) for row in rows], [float(row[1]) for row in rows]
    for variant in ("a", "b"):
        expected = plain_tau(a, b, variant)
        assert kendall_tau(a, b, variant=variant) == (None if expected is None else pytest.approx(expected, abs=1e-12))
        assert kendall_tau(a, b, variant=variant) == kendall_tau(b, a, variant=variant)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=2, max_size=5))
def test_tau_ap_is_the_mean_over_the_orders_of_ties(rows: list[tuple[int, int]]) -> None:
    a, b = [float(row[0]) for row in rows], [float(row[1]) for row in rows]
    expected = mean(plain_tau_ap(true, estimated) for true, estimated in product(orders(a), orders(b)))
    assert tau_ap(a, b) == pytest.approx(expected, abs=1e-12)


@given(few_scores)
def test_symmetric_tau_ap_as_a_plain_loop(rows: list[tuple[int, int]]) -> None:
    a, b = [float(row[0]) for row in rows], [float(row[1]) for row in rows]
    both = plain_tau_ap_b(a, b), plain_tau_ap_b(b, a)
    expected = None if None in both else pytest.approx(mean(both), abs=1e-12)  # type: ignore[type-var]
    assert tau_ap(a, b, variant="b") == expected
    assert tau_ap(b, a, variant="b") == expected


@given(st.permutations(range(12)), st.permutations(range(12)), st.integers(1, 12), st.integers(1, 12), st.floats(0.05, 0.98))
def test_overlap_as_a_plain_loop(a: list[int], b: list[int], n_a: int, n_b: int, p: float) -> None:
    expected = plain_overlap(a[:n_a], b[:n_b], p)
    assert rank_biased_overlap(a[:n_a], b[:n_b], p=p) == pytest.approx(expected, abs=1e-9)


@given(st.lists(few_scores.filter(bool), min_size=1, max_size=4), st.randoms())
def test_many_groups_at_once_are_each_alone(groups: list[list[tuple[int, int]]], random: Any) -> None:
    rows = [(number, *scores) for number, group in enumerate(groups) for scores in group]
    random.shuffle(rows)
    group, a, b = (np.array(column) for column in zip(*rows, strict=True))
    together, exchanged = Pairs.of(group, a.astype(float), b.astype(float)), Pairs.of(group, b.astype(float), a.astype(float))
    correlations = [together.tau_a(), together.tau_b(), together.tau_ap_a(), tau_ap_b(together, exchanged)]
    for number, scores in enumerate(groups):
        first, second = zip(*scores, strict=True)
        alone = [f(first, second, variant=v) for f in (kendall_tau, tau_ap) for v in ("a", "b")]
        np.testing.assert_allclose(
            [column[number] for column in correlations], [nan if v is None else v for v in alone], atol=1e-12
        )


def test_many_overlaps_at_once() -> None:
    # "ab" and "ba"; nothing in common; an empty list
    rank_overlaps = overlaps(np.array([0, 0]), np.array([2, 2]), np.array([2, 1, 0]), np.array([2, 3, 3]), 0.5)
    np.testing.assert_allclose(rank_overlaps, [0.5, 0, nan])


def test_long_lists() -> None:
    scores = np.random.default_rng(0).random((2, 20_000))
    same = kendall_tau(scores[0], scores[0] * 2)
    assert same == 1
    assert tau_ap(scores[0], -scores[0]) == pytest.approx(-1, abs=1e-12)
    assert abs(kendall_tau(*scores) or 1) < 0.02


# ---- input


def test_series_and_arrays_and_tuples() -> None:
    for kind in (tuple, np.array, pl.Series):
        assert kendall_tau(kind([3, 2, 1]), kind([0.1, 0.2, 0.3])) == -1
    assert kendall_tau([], []) is None
    assert tau_ap([1.0], [1.0]) is None


@pytest.mark.parametrize("coefficient", [kendall_tau, tau_ap])
@pytest.mark.parametrize(
    ("a", "b", "options", "message"),
    [
        ([1, 2], [1, 2, 3], {}, "a has 2 scores, b has 3; give the scores of the same items, in the same order"),
        ([1, nan, 2, None], [1, 2, 3, 4], {}, "a has no score at place 2, 4; leave these items out of both lists"),
        ([1, 2], ["x", "y"], {}, "b must be a list of numbers"),
        ([[1, 2]], [1, 2], {}, "a must be a list of numbers, not an array of 2 dimensions"),
        ([1, 2], [1, 2], {"variant": "c"}, 'variant is "a" or "b", not \'c\''),
    ],
)
def test_wrong_scores(coefficient: Any, a: Any, b: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError) as error:
        coefficient(a, b, **options)
    assert str(error.value) == message


def test_wrong_rankings() -> None:
    with pytest.raises(ParameterError) as error:
        rank_biased_overlap(["x", "y"], ["x", "y", "x"])
    assert str(error.value) == "b: lists an item twice: 'x'; keep its best rank"
    for p in (0, 1, nan, "high"):
        with pytest.raises(ParameterError, match="p is between 0 and 1"):
            rank_biased_overlap(["x"], ["x"], p=p)  # type: ignore[arg-type]
