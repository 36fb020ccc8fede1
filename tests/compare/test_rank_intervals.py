"""Shares of draws in which a run leads, and the range of its ranks."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from apframe.compare.rank_intervals import competition_ranks, rank_ranges
from apframe.exceptions import ParameterError

nan = float("nan")


def table(**columns: list[Any]) -> pl.DataFrame:
    return pl.DataFrame(columns, schema=["run", "share_best", "rank_low", "rank_high"])


def test_by_hand() -> None:
    # a leads in 2 draws, b in 1, and they are equal in the last; c is always last
    draws = np.array([[0.9, 0.5, 0.1], [0.9, 0.6, 0.2], [0.4, 0.6, 0.1], [0.5, 0.5, 0.1]])
    expected = table(run=["a", "b", "c"], share_best=[0.625, 0.375, 0.0], rank_low=[1, 1, 3], rank_high=[2, 2, 3])
    assert_frame_equal(rank_ranges(draws, ["a", "b", "c"]), expected)


def test_the_range_leaves_out_the_rare_draws() -> None:
    # of 200 draws b leads in 3: less than the 2.5 % at either end, which are 5 draws
    draws = np.tile([0.6, 0.5], (200, 1))
    draws[:3] = [0.5, 0.6]
    expected = table(run=["a", "b"], share_best=[0.985, 0.015], rank_low=[1, 2], rank_high=[1, 2])
    assert_frame_equal(rank_ranges(draws, ["a", "b"]), expected)
    draws[:10] = [0.5, 0.6]
    expected = table(run=["a", "b"], share_best=[0.95, 0.05], rank_low=[1, 1], rank_high=[2, 2])
    assert_frame_equal(rank_ranges(draws, ["a", "b"]), expected)
    assert rank_ranges(draws, ["a", "b"], confidence=0.8)["rank_high"].to_list() == [1, 2]


def test_equal_runs_share_the_better_rank() -> None:
    draws = np.full((10, 3), 0.1 + 0.2)
    draws[:, 1] = 0.3  # equal but for rounding
    expected = table(run=["a", "b", "c"], share_best=[1 / 3] * 3, rank_low=[1] * 3, rank_high=[1] * 3)
    assert_frame_equal(rank_ranges(draws, ["a", "b", "c"]), expected)


def test_a_run_without_a_value_has_no_rank_in_that_draw() -> None:
    draws = np.array([[0.5, nan], [0.5, 0.6], [0.5, 0.6], [nan, nan]])
    expected = table(run=["a", "b"], share_best=[1 / 3, 2 / 3], rank_low=[1, 1], rank_high=[2, 1])
    assert_frame_equal(rank_ranges(draws, ["a", "b"]), expected)


def test_a_run_with_values_in_few_draws_has_no_range() -> None:
    draws = np.array([[0.5, nan], [0.5, nan], [0.5, 0.6]])
    expected = table(run=["a", "b"], share_best=[2 / 3, None], rank_low=[1, None], rank_high=[2, None])
    assert_frame_equal(rank_ranges(draws, ["a", "b"]), expected)
    nothing = table(run=["a"], share_best=[None], rank_low=[None], rank_high=[None])
    assert_frame_equal(rank_ranges(np.full((3, 1), nan), ["a"]), nothing, check_dtypes=False)
    assert_frame_equal(rank_ranges(np.empty((0, 1)), ["a"]), nothing, check_dtypes=False)


def test_one_run_and_none() -> None:
    one = table(run=["a"], share_best=[1.0], rank_low=[1], rank_high=[1])
    assert_frame_equal(rank_ranges(np.array([[0.5]]), ["a"]), one)
    assert rank_ranges(np.empty((5, 0)), []).shape == (0, 4)


def test_wrong_arguments() -> None:
    with pytest.raises(ParameterError, match="runs: 1 names for 2 columns of draws"):
        rank_ranges(np.zeros((3, 2)), ["a"])
    with pytest.raises(ParameterError, match="confidence is between 0 and 1"):
        rank_ranges(np.zeros((3, 1)), ["a"], confidence=1)


cells = st.sampled_from([0.0, 0.25, 0.5, 0.75, nan])
matrices = st.integers(1, 5).flatmap(
    lambda width: st.lists(st.lists(cells, min_size=width, max_size=width), min_size=1, max_size=12)
)


@given(matrices)
def test_ranks_as_a_plain_loop(rows: list[list[float]]) -> None:
    expected = [[1.0 + sum(other > value for other in row) if value == value else nan for value in row] for row in rows]
    np.testing.assert_array_equal(competition_ranks(np.array(rows)), np.array(expected))


@given(matrices, st.randoms())
def test_neither_the_order_of_draws_nor_that_of_runs_matters(rows: list[list[float]], random: Any) -> None:
    draws = np.array(rows)
    names = [f"run {k}" for k in range(draws.shape[1])]
    ranges = rank_ranges(draws, names)
    assert ranges["share_best"].sum() <= 1 + 1e-12
    assert ranges.filter(pl.col("rank_low") > pl.col("rank_high")).is_empty()
    random.shuffle(rows)
    columns = random.sample(range(len(names)), len(names))
    shuffled = rank_ranges(np.array(rows)[:, columns], [names[k] for k in columns])
    assert_frame_equal(shuffled.sort("run"), ranges.sort("run"))
