"""The tasks of HPatches: by hand, against scikit-learn where definitions are equal, and against a loop."""

from __future__ import annotations

import math
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score

from apframe.exceptions import ColumnError, ParameterError, ScoreError
from apframe.retrieval.patches import evaluate_patches

# two image pairs: of the first, both matches are right; of the second one is wrong, and farther than the right one
PAIRS = pl.DataFrame(
    {
        "pair": ["easy"] * 4 + ["hard"] * 4,
        "query_id": [1, 1, 2, 2] * 2,
        "candidate_id": [1, 2, 1, 2] * 2,
        "relevant": [True, False, False, True] * 2,
        "distance": [0.1, 0.9, 0.8, 0.2, 0.3, 0.7, 0.5, 0.6],
    }
)


def rows(frame: pl.DataFrame) -> list[tuple[Any, ...]]:
    return [tuple(pytest.approx(value) if isinstance(value, float) else value for value in row) for row in frame.rows()]


def test_verification_ranks_the_pairs_of_a_group() -> None:
    # hard: distances .3 .5 .6 .7 are + - + -
    precisions = evaluate_patches(PAIRS, "verification", by="pair")
    assert precisions.columns == ["pair", "ap", "n_positives", "n_items"]
    assert precisions.rows() == rows(
        pl.DataFrame([("easy", 1.0, 2, 4), ("hard", (1 + (1 / 2 + 2 / 3) / 2) / 2, 2, 4)], orient="row")
    )
    step = evaluate_patches(PAIRS, "verification", by=["pair"], definition="step")
    assert step["ap"].to_list() == pytest.approx([1, (1 + 2 / 3) / 2])


def test_verification_without_groups_is_one_list() -> None:
    assert evaluate_patches(PAIRS.filter(pl.col("pair") == "hard"), "verification").rows() == [
        (pytest.approx((1 + 7 / 12) / 2), 2, 4)
    ]


def test_matching_ranks_the_nearest_candidates() -> None:
    # hard: the match of 1 is right, that of 2 (.5, candidate 1) is not
    precisions = evaluate_patches(PAIRS, "matching", by="pair")
    assert precisions.rows() == [("easy", 1, 2, 2), ("hard", 0.5, 2, 2)]
    # all as one image pair of four query patches: + + + -
    assert evaluate_patches(PAIRS, "matching", by="query_id").rows() == [(1, 1, 1, 1), (2, 1, 1, 1)]
    one = PAIRS.with_columns(pl.col("query_id") + 2 * (pl.col("pair") == "hard"))
    assert evaluate_patches(one, "matching").rows() == [(0.75, 4, 4)]


def test_a_near_wrong_match_comes_first() -> None:
    pairs = {"query_id": [1, 2, 3], "relevant": [1, 0, 1], "distance": [2, 1, 3]}  # - + +
    assert evaluate_patches(pairs, "matching").rows() == [(pytest.approx(((0 + 1 / 2) / 2 + (1 / 2 + 2 / 3) / 2) / 3), 3, 3)]
    assert evaluate_patches(pairs, "matching", definition="step")["ap"].item() == pytest.approx((1 / 2 + 2 / 3) / 3)


def test_of_equally_near_candidates_the_first_is_taken() -> None:
    for relevant, value in (([1, 0], 1), ([0, 1], 0)):
        pairs = {"query_id": [1, 1], "relevant": relevant, "distance": [0.5, 0.5]}
        assert evaluate_patches(pairs, "matching")["ap"].item() == value


def test_query_patches_without_a_distance_count_against_recall() -> None:
    pairs = {"query_id": [1, 2, 2], "relevant": [1, 1, 0], "distance": [0.5, None, None]}
    assert evaluate_patches(pairs, "matching").rows() == [(0.5, 2, 1)]
    assert evaluate_patches(pairs, "retrieval").rows() == [(1, 1, 1, 1), (2, 0, 1, 0)]


def test_retrieval_has_a_list_for_each_query_patch() -> None:
    precisions = evaluate_patches(PAIRS, "retrieval", by="pair")
    assert precisions.columns == ["pair", "query_id", "ap", "n_positives", "n_items"]
    # the fourth: - +
    assert precisions.rows() == [
        ("easy", 1, 1, 1, 2), ("easy", 2, 1, 1, 2), ("hard", 1, 1, 1, 2), ("hard", 2, 0.25, 1, 2),
    ]  # fmt: skip
    means = precisions.group_by("pair", maintain_order=True).agg(pl.col("ap").mean())
    assert means.rows() == [("easy", 1), ("hard", 0.625)]


def test_lists_without_positives_are_null() -> None:
    pairs = {"query_id": [1, 1, 2], "relevant": [0, 0, 1], "distance": [1, 2, 3]}
    assert evaluate_patches(pairs, "retrieval").rows() == [(1, None, 0, 2), (2, 1, 1, 1)]
    assert evaluate_patches(PAIRS.clear(), "retrieval").rows() == []
    assert evaluate_patches(PAIRS.clear(), "verification").rows() == [(None, 0, 0)]


@pytest.mark.parametrize(
    ("table", "task", "options", "error", "message"),
    [
        (PAIRS, "matchin", {}, ParameterError, "not 'matchin'; did you mean matching?"),
        (PAIRS, "verification", {"definition": "trapez"}, ParameterError, "no definition 'trapez'; did you mean trapezoid?"),
        (PAIRS.drop("relevant"), "verification", {}, ColumnError, "no column relevant; there are pair, query_id"),
        (PAIRS.drop("query_id"), "matching", {}, ColumnError, "no column query_id"),
        (PAIRS.drop("query_id"), "retrieval", {"by": "noise"}, ColumnError, "no column noise, query_id"),
        (PAIRS.with_columns(distance=pl.lit("x")), "matching", {}, ColumnError, "distances.distance: numbers are needed"),
        (PAIRS.with_columns(relevant=pl.lit("x")), "matching", {}, ColumnError, "flags or numbers are needed, not String"),
        (PAIRS.with_columns(distance=pl.lit(math.nan)), "matching", {}, ScoreError, "distance is NaN in row 1, 2, 3, 4, 5 an"),
        (PAIRS.with_columns(relevant=pl.lit(math.nan)), "verification", {}, ScoreError, "relevant is NaN in row 1"),
    ],
)  # fmt: skip
def test_bad_input(table: pl.DataFrame, task: str, options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        evaluate_patches(table, task, **options)


def walked(matches: list[tuple[bool, float]], n_positives: int) -> float:
    """The area by trapezoids, item by item from near to far, from recall 0 and precision 1."""
    area, hits, before = 0.0, 0, 1.0
    for rank, (is_right, _) in enumerate(sorted(matches, key=lambda match: match[1]), 1):
        hits += is_right
        area += is_right / n_positives * (before + hits / rank) / 2
        before = hits / rank
    return area


pairs = st.lists(st.tuples(st.integers(0, 5), st.booleans(), st.integers(0, 6)), min_size=1, max_size=40)


@given(pairs)
def test_matching_is_a_loop_over_query_patches(items: list[tuple[int, bool, int]]) -> None:
    nearest: dict[int, tuple[bool, float]] = {}
    for query, is_right, distance in items:
        if query not in nearest or distance < nearest[query][1]:
            nearest[query] = (is_right, distance)
    frame = pl.DataFrame(items, schema=["query_id", "relevant", "distance"], orient="row")
    ap, n_positives, n_items = evaluate_patches(frame, "matching").row(0)
    assert n_positives == n_items == len(nearest)
    assert ap == pytest.approx(walked([*nearest.values()], len(nearest)))


@given(pairs)
def test_verification_is_a_loop_over_pairs(items: list[tuple[int, bool, int]]) -> None:
    frame = pl.DataFrame(items, schema=["query_id", "relevant", "distance"], orient="row")
    ap, n_positives, _ = evaluate_patches(frame, "verification").row(0)
    matches = [(is_right, float(distance)) for _, is_right, distance in items]
    assert ap == (pytest.approx(walked(matches, n_positives)) if n_positives else None)


@given(pairs)
def test_step_without_ties_is_scikit_learn(items: list[tuple[int, bool, int]]) -> None:
    frame = pl.DataFrame(items, schema=["query_id", "relevant", "distance"], orient="row").unique("distance")
    ap, n_positives, _ = evaluate_patches(frame, "verification", definition="step").row(0)
    if n_positives:
        assert ap == pytest.approx(average_precision_score(frame["relevant"], -frame["distance"]))
    else:
        assert ap is None
