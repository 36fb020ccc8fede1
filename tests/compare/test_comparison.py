"""Runs compared query by query: worked by hand, against SciPy where it is there, and what must not matter."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apframe.compare.comparison import bootstrap_mean, compare_runs, holm, t_p_value
from apframe.exceptions import ApframeError, ColumnError, DuplicateIdError, ParameterError, RowError

PS = ["p_randomisation", "p_t"]


def runs(measure: str = "AP", **values: list[float | None]) -> pl.DataFrame:
    """One row per run and query; the queries are numbered."""
    return pl.concat(
        pl.DataFrame(
            {"run": run, "query_id": range(len(column)), "measure": measure, "value": column},
            schema_overrides={"value": pl.Float64},
        )
        for run, column in values.items()
    )


def drawn(n_queries: int, n_runs: int, seed: int = 1) -> pl.DataFrame:
    values = np.random.default_rng(seed).beta(1, 2, (n_runs, n_queries)).round(3)
    return runs(**{f"run {k}": column.tolist() for k, column in enumerate(values)})


# ---- worked by hand


def test_randomisation_of_four_queries() -> None:
    # d is 4, 1, -1, 2 tenths, their sum 6. Of the 16 choices of signs six take it as far: 4+1+1+2, 4+1-1+2 and 4-1+1+2,
    # and the same from below. Two of the three sums 6 are off in the last bit, and count.
    per_query = runs(a=[0.1, 0.2, 0.3, 0.4], b=[0.5, 0.3, 0.2, 0.6])
    assert compare_runs(per_query)["p_randomisation"].to_list() == [6 / 16]
    assert compare_runs(per_query, n_resamples=16)["p_randomisation"].to_list() == [6 / 16]
    by_chance = compare_runs(per_query, n_resamples=15)["p_randomisation"].item()
    assert by_chance in [k / 16 for k in range(1, 17)]


def test_sums_that_cancel_are_zero_but_for_rounding() -> None:
    per_query = runs(a=[0.0, 0.0, 0.0], b=[0.1, 0.2, -0.3])  # their sum is 5.6e-17 or 0, as the order has it
    assert compare_runs(per_query)["p_randomisation"].to_list() == [1]


def test_t_with_one_and_two_degrees_of_freedom() -> None:
    assert t_p_value(1, 1) == pytest.approx(0.5, abs=1e-14)  # 1 - 2 atan(t) / π
    assert t_p_value(1e-9, 1) == pytest.approx(1 - 2e-9 / math.pi, abs=1e-15)
    assert t_p_value(-2, 2) == pytest.approx(1 - 2 / math.sqrt(6), abs=1e-14)  # 1 - |t| / √(t² + 2)
    assert (t_p_value(0, 3), t_p_value(math.inf, 3), t_p_value(1e200, 3)) == (1, 0, 0)


def test_holm() -> None:
    # ascending 0.005 × 4, 0.01 × 3, 0.03 × 2, 0.04 × 1: the last would be below the one before it
    assert holm(np.array([0.01, 0.04, 0.03, 0.005])).tolist() == [0.03, 0.06, 0.06, 0.02]
    assert holm(np.array([0.6, math.nan, 0.5])).tolist()[::2] == [1, 1]
    assert holm(np.array([])).tolist() == []


def test_holm_is_over_the_pairs_of_one_measure() -> None:
    alone = drawn(9, 4)
    other = drawn(9, 4, seed=2).with_columns(measure=pl.lit("P@5"))
    compared = compare_runs(pl.concat([alone, other]))
    assert compared.filter(measure="AP").equals(compare_runs(alone))
    for name in PS:
        smallest = compared.filter(measure="AP").sort(name).row(0, named=True)
        assert smallest[f"{name}_holm"] == min(1, 6 * smallest[name])


# ---- the table


def test_pairs_come_in_order_of_appearance() -> None:
    per_query = runs(b=[1, 2], a=[1, 3], c=[2, 2])
    names = ["run_a", "run_b"]
    assert compare_runs(per_query).select(names).rows() == [("b", "a"), ("b", "c"), ("a", "c")]
    assert compare_runs(per_query, baseline="a").select(names).rows() == [("a", "b"), ("a", "c")]
    assert compare_runs(per_query).columns == [
        "measure", "run_a", "run_b", "n_queries", "mean_a", "mean_b", "difference", "low", "high",
        "p_randomisation", "p_t", "p_randomisation_holm", "p_t_holm",
    ]  # fmt: skip


def test_only_queries_with_both_values_count() -> None:
    per_query = runs(a=[0.5, 0.25, None, 0.5, 0], b=[None, 0.5, 0.5, 0.75, 0.25])
    whole = runs(a=[0.25, 0.5, 0], b=[0.5, 0.75, 0.25])
    assert compare_runs(per_query).equals(compare_runs(whole))
    assert compare_runs(per_query.drop_nulls()).equals(compare_runs(whole))
    row = compare_runs(per_query).row(0, named=True)
    assert (row["n_queries"], row["mean_a"], row["mean_b"], row["difference"]) == (3, 0.25, 0.5, 0.25)
    assert (row["low"], row["high"], row["p_randomisation"], row["p_t"]) == (0.25, 0.25, 0.25, 0)


def test_no_difference_one_query_no_query() -> None:
    per_query = runs(a=[0.25, 0.5], b=[0.25, 0.5], c=[0.5, None], d=[None, None])
    numbers = ["n_queries", "difference", "low", "high", "p_randomisation", "p_t", "p_randomisation_holm", "p_t_holm"]
    same, one, none = compare_runs(per_query, baseline="a").select(numbers).rows()
    assert same == (2, 0, 0, 0, 1, 1, 1, 1)
    assert one == (1, 0.25, 0.25, 0.25, 1, None, 1, None)
    assert none == (0, None, None, None, None, None, None, None)
    steady = runs(a=[0.0, 0.1, 0.2], b=[0.1, 0.2, 0.3])  # differences of 0.1, but for rounding
    assert compare_runs(steady)["p_t"].to_list() == [0]
    many = runs(a=[0.3] * 40, b=[0.3] * 40)
    assert compare_runs(many, n_resamples=99).select(numbers).row(0) == (40, 0, 0, 0, 1, 1, 1, 1)


def test_a_pair_does_not_depend_on_the_other_runs() -> None:
    per_query = drawn(30, 4)
    pair = per_query.filter(pl.col("run").is_in(["run 1", "run 3"]))
    among = compare_runs(per_query, n_resamples=500).filter(run_a="run 1", run_b="run 3").row(0)
    alone = compare_runs(pair, n_resamples=500).row(0)
    assert among[:3] == alone[:3]
    assert among[3:11] == pytest.approx(alone[3:11], rel=1e-12)


@given(st.permutations(range(15)), st.booleans())
def test_order_of_queries_changes_nothing(order: list[int], text: bool) -> None:
    per_query = drawn(15, 2).with_columns(pl.col("query_id").cast(pl.String if text else pl.Int64))
    first, second = per_query.partition_by("run", maintain_order=True)
    shuffled = pl.concat([first[order], second[order[::-1]]])
    assert compare_runs(shuffled, n_resamples=200).equals(compare_runs(per_query, n_resamples=200))
    assert bootstrap_mean(shuffled, n_resamples=200).equals(bootstrap_mean(per_query, n_resamples=200))


def test_seed_decides() -> None:
    per_query = drawn(25, 2)
    assert compare_runs(per_query, seed=3).equals(compare_runs(per_query, seed=3))
    assert not compare_runs(per_query, seed=3).equals(compare_runs(per_query, seed=4))


def test_blocks_are_one_sequence(monkeypatch: pytest.MonkeyPatch) -> None:
    per_query = drawn(13, 3)
    for n_resamples in (500, 2**13):  # drawn, and all
        whole = compare_runs(per_query, n_resamples=n_resamples)
        with monkeypatch.context() as patch:
            patch.setattr("apframe.compare.comparison.BLOCK", 13 * 64)
            parts = compare_runs(per_query, n_resamples=n_resamples)
        assert whole["p_t"].equals(parts["p_t"])
        np.testing.assert_allclose(whole.select("low", "high").to_numpy(), parts.select("low", "high").to_numpy(), rtol=1e-12)
        assert whole["p_randomisation"].to_list() == parts["p_randomisation"].to_list()


# ---- against SciPy


def test_t_against_scipy() -> None:
    stats = pytest.importorskip("scipy.stats")
    for df in (1, 2, 3, 5, 10, 49, 999, 4999, 49_999):
        for t in 10 ** np.linspace(-5, 3, 50):
            assert t_p_value(float(t), df) == pytest.approx(2 * stats.t.sf(t, df), rel=0, abs=1e-10), (t, df)


@pytest.mark.parametrize("n_queries", [2, 3, 7, 50, 1000])
def test_paired_t_against_scipy(n_queries: int) -> None:
    stats = pytest.importorskip("scipy.stats")
    per_query = drawn(n_queries, 2)
    a, b = (part["value"].to_numpy() for part in per_query.partition_by("run", maintain_order=True))
    p = compare_runs(per_query, n_resamples=10)["p_t"].item()
    assert p == pytest.approx(stats.ttest_rel(a, b).pvalue, rel=0, abs=1e-10)


@pytest.mark.parametrize("n_queries", [2, 5, 12])
def test_randomisation_against_scipy(n_queries: int) -> None:
    stats = pytest.importorskip("scipy.stats")
    per_query = drawn(n_queries, 2)
    a, b = (part["value"].to_numpy() for part in per_query.partition_by("run", maintain_order=True))
    expected = stats.permutation_test(
        (a, b), lambda x, y, axis: np.mean(y - x, axis=axis), permutation_type="samples", vectorized=True, n_resamples=np.inf
    )
    assert compare_runs(per_query)["p_randomisation"].item() == pytest.approx(expected.pvalue, abs=1e-12)


# ---- by chance


def test_drawn_signs_are_near_all_signs() -> None:
    per_query = drawn(14, 2)
    exact = compare_runs(per_query, n_resamples=2**14)["p_randomisation"].item()
    by_chance = compare_runs(per_query, n_resamples=2**14 - 1)["p_randomisation"].item()
    assert by_chance != exact
    assert by_chance == pytest.approx(exact, abs=4 * math.sqrt(exact * (1 - exact) / 2**14))


def test_interval_is_near_that_of_the_normal_distribution() -> None:
    per_query = drawn(400, 2)
    a, b = (part["value"].to_numpy() for part in per_query.partition_by("run", maintain_order=True))
    for confidence, z in ((0.95, 1.959964), (0.5, 0.674490)):
        row = compare_runs(per_query, confidence=confidence).row(0, named=True)
        error = (b - a).std(ddof=1) / math.sqrt(400)
        assert row["low"] == pytest.approx(row["difference"] - z * error, abs=0.1 * error)
        assert row["high"] == pytest.approx(row["difference"] + z * error, abs=0.1 * error)


def test_interval_covers_the_mean_as_often_as_it_says() -> None:
    rng = np.random.default_rng(5)
    values = {f"run {k}": rng.exponential(1, 60).tolist() for k in range(400)}
    means = bootstrap_mean(runs(**values), n_resamples=1000, confidence=0.9)
    covered = means.select((pl.col("low") <= 1) & (pl.col("high") >= 1)).to_series().mean()
    assert covered == pytest.approx(0.88, abs=0.04)  # a little below 0.9 with 60 skewed values


def test_equal_runs_are_found_different_as_often_as_chance_says() -> None:
    first, second = np.random.default_rng(6).normal(size=(2, 300, 30))
    wrong = 0
    for k in range(300):
        p = compare_runs(runs(a=first[k].tolist(), b=second[k].tolist()), n_resamples=199)["p_randomisation"].item()
        wrong += p <= 0.1
    assert 15 <= wrong <= 47  # 30 are expected, give or take 5.2


# ---- means


def test_bootstrap_mean() -> None:
    per_query = pl.concat([runs(a=[0.5, None, 1.0], b=[0.25, 0.25, 0.25]), runs("P@5", b=[0.2])])
    means = bootstrap_mean(per_query, n_resamples=200)
    assert means.rows() == [
        ("a", "AP", 0.75, 0.5, 1.0, 2),
        ("b", "AP", 0.25, 0.25, 0.25, 3),
        ("a", "P@5", None, None, None, 0),
        ("b", "P@5", 0.2, 0.2, 0.2, 1),
    ]
    assert bootstrap_mean(per_query.clear()).schema == means.schema


def test_without_a_run_column_there_is_one_run() -> None:
    per_query = runs(a=[0.5, 0.1, 0.9, 0.4])
    assert bootstrap_mean(per_query.drop("run")).equals(bootstrap_mean(per_query).drop("run"))
    assert bootstrap_mean(per_query.drop("run").clear()).columns == ["measure", "mean", "low", "high", "n_queries"]


# ---- bad input

GOOD = runs(lexical=[0.5, 0.25], dense=[0.75, 0.5])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"baseline": "lexcal"}, "baseline: no run 'lexcal' (did you mean 'lexical'?); there are 'lexical', 'dense'"),
        ({"baseline": "x"}, "baseline: no run 'x'; there are 'lexical', 'dense'"),
        ({"n_resamples": 0}, "n_resamples is a whole number, at least 1, not 0"),
        ({"n_resamples": 1e4}, "n_resamples is a whole number, at least 1, not 10000.0"),
        ({"seed": -1}, "seed is a whole number, at least 0, not -1"),
        ({"confidence": 95}, "confidence is between 0 and 1, such as 0.95, not 95"),
        ({"confidence": math.nan}, "confidence is between 0 and 1, such as 0.95, not nan"),
    ],
)
def test_bad_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError) as caught:
        compare_runs(GOOD, **options)
    assert str(caught.value) == message
    if "baseline" not in options:
        with pytest.raises(ParameterError):
            bootstrap_mean(GOOD, **options)


@pytest.mark.parametrize(
    ("per_query", "error", "message"),
    [
        (GOOD.filter(run="dense"), ParameterError, "a comparison needs two runs or more; there is 'dense'"),
        (GOOD.clear(), ParameterError, "a comparison needs two runs or more; there is none"),
        (GOOD.drop("run"), ColumnError, "per_query: no column run; there are query_id, measure, value"),
        (
            GOOD.select("run", score="value"),
            ColumnError,
            "per_query: no column query_id, measure, value; there are run, score",
        ),
        (
            GOOD.with_columns(pl.col("value").cast(pl.String)),
            ColumnError,
            "per_query.value: numbers expected, got String",
        ),
        (
            GOOD.with_columns(query_id=pl.lit(1.5)),
            ColumnError,
            "per_query.query_id: strings or integers expected, got Float64",
        ),
        (
            GOOD.with_columns(run=pl.lit(1)),
            ColumnError,
            "per_query.run: strings expected, got Int32",
        ),
        (
            GOOD.with_columns(query_id=pl.lit(7)),
            DuplicateIdError,
            "per_query: run, query_id, measure are not unique where row is 1, 2, 3, 4; keep one value of each",
        ),
        (
            GOOD.with_columns(run=pl.Series(["a", None, "b", "b"])),
            RowError,
            "per_query: run, query_id, measure are not all given where row is 2; give them, or remove the rows",
        ),
        (
            GOOD.with_columns(value=pl.Series([0.5, math.nan, math.inf, None])),
            RowError,
            "per_query: value is not a finite number where row is 2, 3; write null where it is undefined",
        ),
    ],
)
def test_bad_tables(per_query: pl.DataFrame, error: type[ApframeError], message: str) -> None:
    with pytest.raises(error) as caught:
        compare_runs(per_query)
    assert str(caught.value) == message


def test_names_may_be_categories_and_values_whole_numbers() -> None:
    coded = GOOD.with_columns(pl.col("run", "measure").cast(pl.Categorical), pl.col("query_id").cast(pl.UInt32))
    assert compare_runs(coded).equals(compare_runs(GOOD))
    assert compare_runs(GOOD.with_columns(value=pl.Series([0, 1, 1, 0])))["difference"].item() == 0
