"""Runs compared query by query: worked by hand, against SciPy where it is there, and what must not matter."""

from __future__ import annotations

import math
import statistics
from typing import Any

import numpy as np
import polars as pl
import polars.selectors as cs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from apframe.compare.comparison import bootstrap_mean, compare_groups, compare_runs, describe_means, rank_runs
from apframe.compare.inference import false_discovery
from apframe.compare.paired_tests import t_p_value
from apframe.compare.standard_errors import n_needed
from apframe.exceptions import (
    ApframeError,
    ColumnError,
    DuplicateIdError,
    FewResamplesWarning,
    FewUnitsWarning,
    ParameterError,
    RowError,
)

PS = ["p_randomisation", "p_t"]
RANDOMISATION: dict[str, Any] = {"test": "randomisation"}
BOOTSTRAP: dict[str, Any] = {"test": "bootstrap"}


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
    assert compare_runs(per_query, **RANDOMISATION)["p_randomisation"].to_list() == [6 / 16]
    assert compare_runs(per_query, n_resamples=16, **RANDOMISATION)["p_randomisation"].to_list() == [6 / 16]
    by_chance = compare_runs(per_query, n_resamples=15, **RANDOMISATION)["p_randomisation"].item()
    assert by_chance in [k / 16 for k in range(1, 17)]


def test_sums_that_cancel_are_zero_but_for_rounding() -> None:
    per_query = runs(a=[0.0, 0.0, 0.0], b=[0.1, 0.2, -0.3])  # their sum is 5.6e-17 or 0, as the order has it
    assert compare_runs(per_query, **RANDOMISATION)["p_randomisation"].to_list() == [1]


def test_holm_is_over_the_pairs_of_one_measure() -> None:
    alone = drawn(9, 4)
    other = drawn(9, 4, seed=2).with_columns(measure=pl.lit("P@5"))
    compared = compare_runs(pl.concat([alone, other]), **RANDOMISATION)
    assert compared.filter(measure="AP").equals(compare_runs(alone, **RANDOMISATION))
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
        "measure", "run_a", "run_b", "estimate_a", "estimate_b", "difference", "low", "high", "se", "bias", "share_better", "p",
        "p_holm", "q", "detectable", "p_randomisation", "p_t", "p_randomisation_holm", "p_t_holm", "n_units", "n_resamples",
        "method",
    ]  # fmt: skip


def test_only_queries_with_both_values_count() -> None:
    per_query = runs(a=[0.5, 0.25, None, 0.5, 0], b=[None, 0.5, 0.5, 0.75, 0.25])
    whole = runs(a=[0.25, 0.5, 0], b=[0.5, 0.75, 0.25])
    assert compare_runs(per_query).equals(compare_runs(whole))
    assert compare_runs(per_query.drop_nulls()).equals(compare_runs(whole))
    row = compare_runs(per_query).row(0, named=True)
    assert (row["n_units"], row["estimate_a"], row["estimate_b"], row["difference"]) == (3, 0.25, 0.5, 0.25)
    assert (row["low"], row["high"], row["p"], row["p_t"]) == (0.25, 0.25, 0, 0)
    assert compare_runs(per_query, **RANDOMISATION)["p"].item() == 0.25


def test_no_difference_one_query_no_query() -> None:
    per_query = runs(a=[0.25, 0.5], b=[0.25, 0.5], c=[0.5, None], d=[None, None])
    numbers = ["n_units", "difference", "low", "high", "p_randomisation", "p_t", "p_randomisation_holm", "p_t_holm"]
    for options in (RANDOMISATION, BOOTSTRAP):
        same, one, none = compare_runs(per_query, baseline="a", n_resamples=120, **options).select(numbers).rows()
        assert same == (2, 0, 0, 0, 1, 1, 1, 1)
        assert one == (1, 0.25, None, None, None, None, None, None)
        assert none == (0, None, None, None, None, None, None, None)
    assert compare_runs(per_query, baseline="a").select("n_units", "difference", "low", "high", "p", "se").rows() == [
        (2, 0, 0, 0, 1, 0), (1, 0.25, None, None, None, None), (0, None, None, None, None, None),
    ]  # fmt: skip
    steady = runs(a=[0.0, 0.1, 0.2], b=[0.1, 0.2, 0.3])  # differences of 0.1, but for rounding
    assert compare_runs(steady)["p"].to_list() == [0]
    many = runs(a=[0.3] * 40, b=[0.3] * 40)
    assert compare_runs(many, n_resamples=99, **BOOTSTRAP).select(numbers).row(0) == (40, 0, 0, 0, 1, 1, 1, 1)


@pytest.mark.parametrize("test", ["t", "randomisation", "bootstrap"])
def test_a_pair_does_not_depend_on_the_other_runs(test: str) -> None:
    per_query = drawn(30, 4)
    pair = per_query.filter(pl.col("run").is_in(["run 1", "run 3"]))
    among, alone = (
        compare_runs(table, test=test, n_resamples=500).filter(run_a="run 1", run_b="run 3") for table in (per_query, pair)
    )
    assert among.row(0)[:3] == alone.row(0)[:3]
    numbers = alone.select(cs.numeric()).drop(cs.ends_with("_holm"), "q").columns
    columns = [name for name in numbers if alone[name].item() is not None]
    assert among.select(columns).row(0) == pytest.approx(alone.select(columns).row(0), rel=1e-12, abs=1e-12)
    assert {"p_randomisation", "n_resamples"} <= {*columns} or test == "t"


@pytest.mark.slow
@given(st.permutations(range(15)), st.booleans())
def test_order_of_queries_changes_nothing(order: list[int], text: bool) -> None:
    per_query = drawn(15, 2).with_columns(pl.col("query_id").cast(pl.String if text else pl.Int64))
    first, second = per_query.partition_by("run", maintain_order=True)
    shuffled = pl.concat([first[order], second[order[::-1]]])
    for test in ("t", "bootstrap"):
        options: dict[str, Any] = {"test": test, "n_resamples": 200}
        assert compare_runs(shuffled, **options).equals(compare_runs(per_query, **options))
    assert describe_means(shuffled).equals(describe_means(per_query))
    assert bootstrap_mean(shuffled, n_resamples=200).equals(bootstrap_mean(per_query, n_resamples=200))


@pytest.mark.slow
def test_seed_decides() -> None:
    per_query = drawn(25, 2)
    assert compare_runs(per_query, seed=3).equals(compare_runs(per_query, seed=4))  # nothing is drawn
    for options in (RANDOMISATION, BOOTSTRAP):
        assert compare_runs(per_query, seed=3, **options).equals(compare_runs(per_query, seed=3, **options))
        assert not compare_runs(per_query, seed=3, **options).equals(compare_runs(per_query, seed=4, **options))


def test_blocks_are_one_sequence(monkeypatch: pytest.MonkeyPatch) -> None:
    per_query = drawn(13, 3)
    for n_resamples in (500, 2**13):  # drawn, and all
        whole = compare_runs(per_query, n_resamples=n_resamples, **BOOTSTRAP)
        with monkeypatch.context() as patch:
            patch.setattr("apframe.compare.paired_tests.BLOCK", 13 * 64)
            parts = compare_runs(per_query, n_resamples=n_resamples, **BOOTSTRAP)
        assert whole["p_t"].equals(parts["p_t"])
        np.testing.assert_allclose(whole.select("low", "high").to_numpy(), parts.select("low", "high").to_numpy(), rtol=1e-12)
        assert whole["p_randomisation"].to_list() == parts["p_randomisation"].to_list()


# ---- against SciPy


@pytest.mark.parametrize("n_queries", [2, 3, 7, 50, 1000])
def test_paired_t_against_scipy(n_queries: int) -> None:
    stats = pytest.importorskip("scipy.stats")
    per_query = drawn(n_queries, 2)
    a, b = (part["value"].to_numpy() for part in per_query.partition_by("run", maintain_order=True))
    row, test = compare_runs(per_query, confidence=0.9).row(0, named=True), stats.ttest_rel(b, a)
    assert row["p"] == row["p_t"] == pytest.approx(test.pvalue, rel=0, abs=1e-10)
    assert (row["low"], row["high"]) == pytest.approx(test.confidence_interval(0.9), rel=1e-10)
    assert row["share_better"] == pytest.approx(stats.t.cdf(test.statistic, n_queries - 1), rel=1e-9)


@pytest.mark.parametrize("n_queries", [2, 5, 12])
def test_randomisation_against_scipy(n_queries: int) -> None:
    stats = pytest.importorskip("scipy.stats")
    per_query = drawn(n_queries, 2)
    a, b = (part["value"].to_numpy() for part in per_query.partition_by("run", maintain_order=True))
    expected = stats.permutation_test(
        (a, b), lambda x, y, axis: np.mean(y - x, axis=axis), permutation_type="samples", vectorized=True, n_resamples=np.inf
    )
    row = compare_runs(per_query, **RANDOMISATION).row(0, named=True)
    assert row["p"] == row["p_randomisation"] == pytest.approx(expected.pvalue, abs=1e-12)
    assert row["n_resamples"] == 2**n_queries


# ---- standard errors


def test_influences_are_the_formulas_of_the_textbook() -> None:
    for row, values in zip(
        describe_means(drawn(30, 2)).iter_rows(named=True), drawn(30, 2).partition_by("run", maintain_order=True), strict=True
    ):
        assert row["se"] == pytest.approx(values["value"].std() / math.sqrt(30), rel=1e-12)  # type: ignore[operator]
        assert row["high"] - row["estimate"] == pytest.approx(2.045229642132703 * row["se"], rel=1e-12)
        assert (row["bias"], row["n_resamples"], row["method"]) == (None, None, "influence")
    row = compare_runs(drawn(30, 2)).row(0, named=True)
    assert (row["bias"], row["p_randomisation"], row["p_randomisation_holm"], row["n_resamples"]) == (None, None, None, None)
    assert row["method"] == "influence" and row["detectable"] == pytest.approx(2.8 * row["se"])


def test_intervals_of_shares_stay_between_0_and_1() -> None:
    share = describe_means(runs(a=[1, 1, 0.5], b=[0, 0, 0.5])).select("low", "high").rows()
    assert share == [(pytest.approx(0.116225, abs=1e-6), 1), (0, pytest.approx(0.883775, abs=1e-6))]
    counts = describe_means(runs(a=[1, 2, 0], b=[0, 0, 0.5])).select("low", "high").rows()
    assert counts[0] == pytest.approx((-1.484138, 3.484138), abs=1e-6) and counts[1][0] < 0
    assert compare_runs(runs(a=[1, 1, 0.5], b=[0, 0, 0.5]))["low"].item() < -1  # a difference is no share


def test_units_are_a_ratio_of_sums() -> None:
    """Videos of one, two, ... queries: the mean is that of queries, and its error that of a ratio (Cochran 1977, 6.4)."""
    sizes = np.arange(1, 26)
    video = np.repeat(sizes, sizes)
    d = np.random.default_rng(5).normal(size=len(video)) + video / 10
    per_query = runs(a=[0.0] * len(d), b=d.tolist()).with_columns(video=pl.Series(np.tile(video, 2)))
    row = compare_runs(per_query, unit="video").row(0, named=True)
    residuals = np.array([(d[video == k] - d.mean()).sum() for k in sizes])
    se = math.sqrt(25 / 24 * (residuals**2).sum()) / len(d)
    assert (row["difference"], row["se"], row["n_units"]) == pytest.approx((d.mean(), se, 25))
    assert row["p"] == row["p_t"] == pytest.approx(t_p_value(d.mean() / se, 24).item())


def test_strata_add_their_variances() -> None:
    """Strata of different size and spread; the units of a stratum are named so that they are no neighbours."""
    rng = np.random.default_rng(6)
    kind = np.array([0] * 7 + [1] * 30 + [2])
    d = rng.normal(kind * 2, kind + 0.5)
    name = pl.Series([f"u{k}" for k in rng.permutation(len(d))])
    per_query = runs(a=[0.0] * len(d), b=d.tolist()).with_columns(kind=pl.Series(np.tile(kind, 2)), name=pl.concat([name] * 2))
    variances = [(kind == k).sum() * d[kind == k].var(ddof=1) for k in (0, 1)]  # one unit adds nothing
    for unit in (None, "name"):
        compared = compare_runs(per_query, within="kind", unit=unit)
        assert compared["se"].item() == pytest.approx(math.sqrt(sum(variances)) / len(d))


@pytest.mark.slow
@pytest.mark.parametrize("test", ["t", "randomisation", "bootstrap"])
def test_all_tests_say_much_the_same_of_many_queries(test: str) -> None:
    row = compare_runs(drawn(400, 2), test=test, n_resamples=4000).row(0, named=True)
    t = compare_runs(drawn(400, 2)).row(0, named=True)
    assert row["method"] == ("bootstrap" if test == "bootstrap" else "influence")
    for name in ("low", "high", "se", "share_better", "p"):
        assert row[name] == pytest.approx(t[name], rel=0.1)
    assert row["p_t"] == t["p"]


# ---- by chance


def test_drawn_signs_are_near_all_signs() -> None:
    per_query = drawn(14, 2)
    exact = compare_runs(per_query, n_resamples=2**14, **RANDOMISATION)["p_randomisation"].item()
    by_chance = compare_runs(per_query, n_resamples=2**14 - 1, **RANDOMISATION)["p_randomisation"].item()
    assert by_chance != exact
    assert by_chance == pytest.approx(exact, abs=4 * math.sqrt(exact * (1 - exact) / 2**14))


@pytest.mark.slow
def test_interval_is_near_that_of_the_normal_distribution() -> None:
    per_query = drawn(400, 2)
    a, b = (part["value"].to_numpy() for part in per_query.partition_by("run", maintain_order=True))
    for confidence, z in ((0.95, 1.959964), (0.5, 0.674490)):
        row = compare_runs(per_query, confidence=confidence, **BOOTSTRAP).row(0, named=True)
        error = (b - a).std(ddof=1) / math.sqrt(400)
        assert row["low"] == pytest.approx(row["difference"] - z * error, abs=0.1 * error)
        assert row["high"] == pytest.approx(row["difference"] + z * error, abs=0.1 * error)


@pytest.mark.slow
def test_interval_covers_the_mean_as_often_as_it_says() -> None:
    rng = np.random.default_rng(5)
    values = {f"run {k}": rng.exponential(1, 60).tolist() for k in range(400)}
    means = bootstrap_mean(runs(**values), n_resamples=1000, confidence=0.9)
    covered = means.select((pl.col("low") <= 1) & (pl.col("high") >= 1)).to_series().mean()
    assert covered == pytest.approx(0.88, abs=0.04)  # a little below 0.9 with 60 skewed values


@pytest.mark.slow
def test_equal_runs_are_found_different_as_often_as_chance_says() -> None:
    first, second = np.random.default_rng(6).normal(size=(2, 300, 30))
    wrong = 0
    for k in range(300):
        p = compare_runs(runs(a=first[k].tolist(), b=second[k].tolist()), n_resamples=199, **RANDOMISATION)["p"].item()
        wrong += p <= 0.1
    assert 15 <= wrong <= 47  # 30 are expected, give or take 5.2


# ---- means


def test_bootstrap_mean() -> None:
    per_query = pl.concat([runs(a=[0.5, None, 1.0], b=[0.25, 0.25, 0.25]), runs("P@5", b=[0.2])])
    means = bootstrap_mean(per_query, n_resamples=200)
    assert means.select("run", "measure", "estimate", "low", "high", "n_units", "n_resamples").rows() == [
        ("a", "AP", 0.75, 0.5, 1.0, 2, 200),
        ("b", "AP", 0.25, 0.25, 0.25, 3, 200),
        ("a", "P@5", None, None, None, 0, 0),
        ("b", "P@5", 0.2, None, None, 1, 0),
    ]
    assert bootstrap_mean(per_query.clear()).schema == means.schema


def test_without_a_run_column_there_is_one_run() -> None:
    per_query = runs(a=[0.5, 0.1, 0.9, 0.4])
    assert bootstrap_mean(per_query.drop("run")).equals(bootstrap_mean(per_query).drop("run"))
    assert bootstrap_mean(per_query.drop("run").clear()).columns == [
        "measure", "estimate", "low", "high", "se", "bias", "n_units", "n_resamples", "method",
    ]  # fmt: skip


# ---- what the resamples say of a difference


def test_p_of_the_bootstrap_says_what_the_interval_says() -> None:
    better = pl.col("value") + 0.04 * pl.col("run").str.tail(1).cast(pl.Float64)
    compared = compare_runs(drawn(40, 8).with_columns(better), n_resamples=1199, **BOOTSTRAP)
    excluded = (pl.col("low") > 0) | (pl.col("high") < 0)
    assert compared.filter(excluded & (pl.col("p") > 0.05)).is_empty()
    assert compared.filter(~excluded & (pl.col("p") < 0.048)).is_empty()
    assert 0 < compared.filter(excluded).height < compared.height
    same = compared.filter((pl.col("share_better") > 0.5) != (pl.col("difference") > 0))
    assert same.filter(pl.col("p") < 0.5).is_empty()


@pytest.mark.slow
def test_se_bias_and_detectable_are_of_the_resampled_means() -> None:
    row = compare_runs(drawn(400, 2), **BOOTSTRAP).row(0, named=True)
    a, b = (part["value"].to_numpy() for part in drawn(400, 2).partition_by("run", maintain_order=True))
    assert row["se"] == pytest.approx((b - a).std() / math.sqrt(400), rel=0.03)
    assert abs(row["bias"]) < row["se"] / 20  # a mean has none
    assert row["detectable"] == pytest.approx(2.8 * row["se"], rel=1e-12)


def test_corrections_are_over_the_pairs_of_a_measure() -> None:
    compared = compare_runs(pl.concat([drawn(30, 3), drawn(30, 3, seed=2).with_columns(measure=pl.lit("P@5"))]))
    for _, pairs in compared.group_by("measure"):
        ordered = pairs.sort("p")
        first, second, third = ordered["p"].to_list()
        assert ordered["p_holm"].to_list() == pytest.approx([min(1, 3 * first), *ordered["p_holm"][1:]])
        assert ordered["q"].to_list() == pytest.approx([min(3 * first, 1.5 * second, third), min(1.5 * second, third), third])


# ---- units and strata


def in_videos(n_videos: int, each: int = 4) -> pl.DataFrame:
    """Two runs on queries of which those of one video have the same values."""
    rng = np.random.default_rng(3)
    a, b = (np.repeat(rng.random(n_videos), each) for _ in "ab")
    video = np.repeat([f"v{k:03}" for k in range(n_videos)], each)
    return runs(a=a.tolist(), b=b.tolist()).with_columns(video=pl.Series(np.tile(video, 2)))


def test_a_unit_is_drawn_and_exchanged_as_one_query() -> None:
    videos = in_videos(30)
    one_each = videos.group_by("run", "video", maintain_order=True).first()
    names = ["difference", "low", "high", "se", "p", "p_randomisation", "p_t", "n_units"]
    for options in (RANDOMISATION, BOOTSTRAP):
        by_video = compare_runs(videos, unit="video", n_resamples=500, **options)
        alone = compare_runs(one_each, n_resamples=500, **options)
        assert by_video.select(names).row(0) == pytest.approx(alone.select(names).row(0), rel=1e-9)
        assert by_video["n_units"].item() == 30
        assert compare_runs(videos, n_resamples=500, **options)["se"].item() < by_video["se"].item() / 1.8


@pytest.mark.slow
def test_units_of_one_query_each_change_nothing() -> None:
    per_query = drawn(25, 2).with_columns(name=pl.format("q{}", pl.col("query_id").cast(pl.String).str.zfill(3)))
    assert compare_runs(per_query, unit="name").equals(compare_runs(per_query))
    assert compare_runs(per_query, unit="name", **BOOTSTRAP).equals(compare_runs(per_query, **BOOTSTRAP))
    assert describe_means(per_query, unit="name").equals(describe_means(per_query))
    assert bootstrap_mean(per_query, unit="name").equals(bootstrap_mean(per_query))
    assert rank_runs(per_query, unit="name").equals(rank_runs(per_query))


@pytest.mark.slow
def test_strata_that_explain_all_leave_no_doubt() -> None:
    hard = [k % 2 for k in range(40)]
    per_query = runs(a=[0.9 - 0.5 * k for k in hard], b=[0.8 - 0.1 * k for k in hard])
    per_query = per_query.with_columns(kind=pl.Series(["easy" if not k else "hard" for k in hard] * 2))
    for options in (RANDOMISATION, BOOTSTRAP):
        compared, drawn_freely = compare_runs(per_query, within="kind", **options), compare_runs(per_query, **options)
        assert compared.select("low", "high", "se").row(0) == pytest.approx((0.1, 0.1, 0), abs=1e-9)
        assert compared["estimate_a"].item() == pytest.approx(0.65)
        assert drawn_freely["low"].item() < 0.07 < 0.13 < drawn_freely["high"].item()
    for describe in (describe_means, bootstrap_mean):
        assert describe(per_query, within="kind")["low"].to_list() == pytest.approx([0.65, 0.75])


@pytest.mark.slow
def test_units_of_queries_that_both_have() -> None:
    videos = in_videos(30)
    without = videos.filter((pl.col("run") != "b") | (pl.col("video") > "v004"))
    of_common = videos.filter(pl.col("video") > "v004")
    for test in ("t", "bootstrap"):
        options: dict[str, Any] = {"unit": "video", "within": "video", "test": test, "n_resamples": 200}
        compared = compare_runs(without, **options)
        assert compared.equals(compare_runs(of_common, **options))
        assert compared["n_units"].item() == 25


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"unit": "vdeo"}, "unit: per_query has no column 'vdeo'; did you mean video?"),
        ({"within": "kind"}, "within: per_query has no column 'kind'; there are run, query_id, measure, value, video"),
        ({"unit": "run"}, "unit: 'run' must have one value for each query; query 0, 1, 2 and 117 more has several"),
    ],
)
def test_wrong_units(options: dict[str, Any], message: str) -> None:
    videos = in_videos(30)
    with pytest.raises(ParameterError) as caught:
        compare_runs(videos, **options)
    assert str(caught.value) == message
    with pytest.raises(ParameterError):
        bootstrap_mean(videos, **options)


# ---- warnings


def test_few_resamples_are_warned_of_with_and_without_units(recwarn: pytest.WarningsRecorder) -> None:
    table = drawn(60, 2).with_columns(user=pl.col("query_id") // 2)
    for unit in (None, "user"):
        compare_runs(table, unit=unit, n_resamples=1_000, **BOOTSTRAP)
        compare_runs(table, unit=unit, n_resamples=10)  # which are not drawn
        assert not recwarn.list
        for options in (RANDOMISATION, BOOTSTRAP):
            with pytest.warns(FewResamplesWarning, match="with 10 resamples, intervals are unreliable"):
                compare_runs(table, unit=unit, n_resamples=10, **options)


@pytest.mark.slow
@pytest.mark.filterwarnings("error::apframe.exceptions.FewUnitsWarning")
def test_few_queries_are_pointed_out() -> None:
    compare_runs(drawn(20, 2), n_resamples=9)
    for few in (compare_runs, describe_means, rank_runs):
        with pytest.raises(FewUnitsWarning) as caught:
            few(drawn(19, 2))
        assert str(caught.value) == "there are only 19 queries; with fewer than 20, intervals may be too narrow"
        with pytest.raises(FewUnitsWarning, match="there is only 1 query; an interval needs two or more"):
            few(drawn(1, 2))
    with pytest.raises(FewUnitsWarning, match="only 7 values of video; with"):
        compare_runs(in_videos(7), unit="video")
    grouped = drawn(60, 2).with_columns(half=pl.col("query_id") // 50)
    with pytest.raises(FewUnitsWarning, match="1 of 2 groups has fewer than 20 queries, so intervals may be too narrow there"):
        compare_groups(grouped, ["half"], n_resamples=99)


def test_too_few_resamples_for_so_many_pairs() -> None:
    with pytest.warns(FewResamplesWarning, match="which is too coarse for 10 comparisons; set n_resamples to 400 or more"):
        compare_runs(drawn(25, 5), n_resamples=100, **BOOTSTRAP)
    grouped = drawn(100, 2).with_columns(part=pl.col("query_id") % 4)
    with pytest.warns(FewResamplesWarning, match="too coarse for 4 comparisons; set n_resamples to 160 or more"):
        compare_groups(grouped, ["part"], n_resamples=100, **BOOTSTRAP)


# ---- groups


def test_q_is_over_the_groups_of_a_pair() -> None:
    grouped = drawn(90, 3).with_columns(part=pl.col("query_id") % 3)
    compared = compare_groups(grouped, ["part"], n_resamples=999)
    for _, of_pair in compared.group_by("run_a", "run_b"):
        assert of_pair["q"].to_list() == pytest.approx(false_discovery(of_pair["p"].to_numpy()).tolist())
    for (part,), of_part in compared.group_by("part"):
        alone = compare_runs(grouped.filter(part=part), n_resamples=999)
        assert of_part.drop("part", "q").equals(alone.drop("q"))


def test_units_within_groups() -> None:
    grouped = in_videos(60).with_columns(half=(pl.col("video") < "v030").cast(pl.Int8))
    compared = compare_groups(grouped, ["half"], unit="video", n_resamples=99)
    assert compared["n_units"].to_list() == [30, 30]
    alone = compare_runs(grouped.filter(half=0), unit="video", n_resamples=99)
    assert compared.filter(half=0).drop("half", "q").equals(alone.drop("q"))


# ---- ranks


def test_ranks_of_runs() -> None:
    # c is better than b on each of the 20 queries, and a has no value on most
    per_query = runs(b=[0.1, 0.3] * 10, c=[0.2, 0.5] * 10, a=[1.0, 0.0] + [None] * 18)
    board = rank_runs(per_query, method="bootstrap", n_resamples=400)
    assert board.columns == [
        "measure", "rank", "run", "estimate", "low", "high", "share_best", "rank_low", "rank_high", "n_units", "n_resamples",
        "method",
    ]  # fmt: skip
    assert board.select("rank", "run", "rank_high").rows() == [(1, "a", 3), (2, "c", 2), (3, "b", 3)]
    assert board["estimate"].to_list() == pytest.approx([0.5, 0.35, 0.2])
    assert board["share_best"].sum() == pytest.approx(1)
    assert board["n_resamples"][0] < board["n_resamples"][1] == 400
    whole = bootstrap_mean(per_query.filter(pl.col("run") != "a"), n_resamples=400).sort("run", descending=True)
    assert board[1:].select("low", "high").rows() == whole.select("low", "high").rows()


def test_ranks_by_influence() -> None:
    per_query = runs(b=[0.1, 0.3] * 10, c=[0.2, 0.5] * 10, a=[1.0, 0.0] + [None] * 18, d=[None] * 20)
    board = rank_runs(per_query)
    assert board.select("rank", "run", "rank_low", "rank_high").rows() == [
        (1, "a", 1, 3), (2, "c", 1, 2), (3, "b", 2, 3), (None, "d", None, None),
    ]  # fmt: skip
    assert board["n_resamples"].to_list() == [None] * 4 and board["method"].unique().item() == "influence"
    means = describe_means(per_query)
    same = board.join(means, on="run", suffix="_alone")
    assert_frame_equal(
        same.select("estimate", "low", "high"),
        same.select(estimate="estimate_alone", low="low_alone", high="high_alone"), abs_tol=1e-12,
    )  # fmt: skip
    influence = np.zeros(20)  # on the mean of a less that of c
    influence[:2] = 0.25, -0.25
    influence -= np.array([-0.15, 0.15] * 10) / 20
    z = 0.15 / math.sqrt(20 / 19 * (influence**2).sum())
    assert board["share_best"].to_list()[0] == pytest.approx(statistics.NormalDist().cdf(z), abs=0.03)
    assert not rank_runs(per_query, seed=1).equals(board) and rank_runs(per_query, seed=0).equals(board)


@pytest.mark.parametrize("method", ["influence", "bootstrap"])
def test_equal_runs_have_one_rank_and_the_order_of_their_names(method: str) -> None:
    per_query = runs(b=[0.1, 0.3] * 10, a=[0.1, 0.3] * 10, c=[None] * 20)
    board = rank_runs(per_query, method=method, n_resamples=100)
    names = ["rank", "run", "share_best", "rank_low", "rank_high"]
    assert board.select(names).rows() == [(1, "a", 0.5, 1, 1), (1, "b", 0.5, 1, 1), (None, "c", None, None, None)]


def test_one_query_has_no_ranks() -> None:
    with pytest.warns(FewUnitsWarning, match="there is only 1 query; an interval needs two or more") as caught:
        board = rank_runs(runs(a=[0.5], b=[0.25]))
    assert len(caught) == 1
    assert board.select("rank", "run", "low", "share_best", "rank_low").rows() == [
        (1, "a", None, None, None), (2, "b", None, None, None),
    ]  # fmt: skip


# ---- bad input

GOOD = runs(lexical=[0.5, 0.25], dense=[0.75, 0.5])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"baseline": "lexcal"}, "baseline: no run 'lexcal'; did you mean lexical?"),
        ({"baseline": "x"}, "baseline: no run 'x'; there are lexical, dense"),
        ({"n_resamples": 0}, "n_resamples is a whole number of at least 1, not 0"),
        ({"n_resamples": 1e4}, "n_resamples is a whole number of at least 1, not 10000.0"),
        ({"seed": -1}, "seed is a whole number of at least 0, not -1"),
        ({"confidence": 95}, "confidence is between 0 and 1, such as 0.95, not 95"),
        ({"n_resamples": True}, "n_resamples is a whole number of at least 1, not True"),
        ({"confidence": math.nan}, "confidence is between 0 and 1, such as 0.95, not nan"),
        ({"test": "wilcoxon"}, 'test is "t", "randomisation" or "bootstrap", not \'wilcoxon\''),
    ],
)
def test_bad_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError) as caught:
        compare_runs(GOOD, **options)
    assert str(caught.value) == message
    if "baseline" not in options and "test" not in options:
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
            "per_query: run, query_id, measure are not unique for row 1, 2, 3, 4; keep one value of each",
        ),
        (
            GOOD.with_columns(run=pl.Series(["a", None, "b", "b"])),
            RowError,
            "per_query: run, query_id, measure are not all given for row 2; give them, or remove the rows",
        ),
        (
            GOOD.with_columns(value=pl.Series([0.5, math.nan, math.inf, None])),
            RowError,
            "per_query: value is not a finite number for row 2, 3; write null where it is undefined",
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


def test_n_needed_takes_tables_and_numbers_that_can_be() -> None:
    table = pl.DataFrame({"difference": [0.1, 0.1], "se": [0.012, None], "n_units": [300, 300]})
    assert n_needed(table, 0.01)["n_needed"].to_list() == n_needed(table.to_arrow(), np.float64(0.01))["n_needed"].to_list()
    assert n_needed(table, 1e-300)["n_needed"].to_list() == [None, None]
    for delta in (0, -0.01, True, math.nan, "0.01"):
        with pytest.raises(ParameterError, match=r"delta is the difference that matters, such as 0\.01, not"):
            n_needed(table, delta)  # type: ignore[arg-type]
    with pytest.raises(ColumnError, match="no column se of numbers; give a table of `compare`"):
        n_needed(table.with_columns(se=pl.lit("0.1")), 0.01)
