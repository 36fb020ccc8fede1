"""Values query by query as matrices, and the means of draws of the queries."""

from __future__ import annotations

from math import nan

import numpy as np
import polars as pl
import pytest

from apframe.compare.resampling import Draws
from apframe.compare.values import Resampling, checked, complete, matrices, resampled_means

TABLE = pl.DataFrame(
    {"run": ["b", "a", "b", "a"], "query_id": ["q9", "q1", "q1", "q5"], "measure": "AP", "value": [0.9, 0.1, 0.2, None]}
)


def test_matrices_are_by_query_id() -> None:
    values = checked(TABLE, None, None)
    ((measure, query_ids, matrix),) = matrices(values.table, ["a", "b"])
    assert (measure, query_ids.to_list()) == ("AP", ["q1", "q5", "q9"])
    np.testing.assert_array_equal(matrix, [[0.1, 0.2], [nan, nan], [nan, 0.9]])


def test_columns_with_values_in_the_same_rows_are_one_group() -> None:
    matrix = np.array([[1, nan, 2, nan], [3, 4, 5, nan]])
    groups = {tuple(columns.tolist()): rows.tolist() for columns, rows in complete(matrix)}
    assert groups == {(0, 2): [0, 1], (1,): [1]}


def test_units_of_some_queries_are_numbered_anew() -> None:
    table = TABLE.with_columns(user=pl.col("query_id").replace_strict({"q1": "z", "q5": "y", "q9": "x"}), kind=pl.lit("k"))
    values = checked(table, "user", "kind")
    options = Resampling(n_resamples=7, confidence=0.9, seed=3)
    every, some = (values.draws_of(pl.Series(ids), options) for ids in (["q1", "q5", "q9"], ["q1", "q9"]))
    assert (every.unit.tolist(), some.unit.tolist(), some.n_units) == ([2, 1, 0], [1, 0], 2)
    assert (some.n_resamples, some.seed) == (7, 3)
    assert some.stratum is not None and len(some.stratum) == 2


def test_means_of_draws_are_those_of_copied_rows() -> None:
    rng = np.random.default_rng(1)
    values = np.where(rng.random((12, 3)) < 0.2, nan, rng.random((12, 3)))
    draws = Draws(np.repeat(np.arange(4), 3), None, n_resamples=20, seed=5)  # of three rows each
    means = resampled_means(values, draws)
    counts = np.concatenate([*draws.blocks(6)], axis=1).astype(int)
    copies = [np.nanmean(np.repeat(values, counts[:, k], axis=0), axis=0) for k in range(20)]
    np.testing.assert_allclose(means.T, copies, rtol=1e-12)


@pytest.mark.parametrize("n_rows", [0, 1])
def test_fewer_than_two_units_have_no_draws(n_rows: int) -> None:
    means = resampled_means(np.ones((n_rows, 2)), Draws(np.arange(n_rows), None, n_resamples=3, seed=0))
    np.testing.assert_array_equal(means, np.full((2, 3), nan))
