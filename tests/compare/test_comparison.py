"""Runs compared query by query: worked by hand, against SciPy where it is there, and what must not matter."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apframe.compare.comparison import bootstrap_mean, compare_groups, compare_runs, rank_runs
from apframe.compare.intervals import false_discovery
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
        "measure", "run_a", "run_b", "estimate_a", "estimate_b", "difference", "low", "high", "se", "bias", "share_better", "p",
        "p_holm", "q", "detectable", "p_randomisation", "p_t", "p_randomisation_holm", "p_t_holm", "n_units", "n_resamples",
    ]  # fmt: skip


def test_only_queries_with_both_values_count() -> None:
    per_query = runs(a=[0.5, 0.25, None, 0.5, 0], b=[None, 0.5, 0.5, 0.75, 0.25])
    whole = runs(a=[0.25, 0.5, 0], b=[0.5, 0.75, 0.25])
    assert compare_runs(per_query).equals(compare_runs(whole))
    assert compare_runs(per_query.drop_nulls()).equals(compare_runs(whole))
    row = compare_runs(per_query).row(0, named=True)
    assert (row["n_units"], row["estimate_a"], row["estimate_b"], row["difference"]) == (3, 0.25, 0.5, 0.25)
    assert (row["low"], row["high"], row["p_randomisation"], row["p_t"]) == (0.25, 0.25, 0.25, 0)


def test_no_difference_one_query_no_query() -> None:
    per_query = runs(a=[0.25, 0.5], b=[0.25, 0.5], c=[0.5, None], d=[None, None])
    numbers = ["n_units", "difference", "low", "high", "p_randomisation", "p_t", "p_randomisation_holm", "p_t_holm"]
    same, one, none = compare_runs(per_query, baseline="a").select(numbers).rows()
    assert same == (2, 0, 0, 0, 1, 1, 1, 1)
    assert one == (1, 0.25, None, None, 1, None, 1, None)
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
    names = [name for name in compare_runs(pair, n_resamples=9).columns[3:] if not name.endswith("_holm") and name != "q"]
    among, alone = (compare_runs(table, n_resamples=500).filter(run_a="run 1", run_b="run 3") for table in (per_query, pair))
    assert among.select(names).row(0) == pytest.approx(alone.select(names).row(0), rel=1e-12, abs=1e-12)


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
            patch.setattr("apframe.compare.paired_tests.BLOCK", 13 * 64)
            parts = compare_runs(per_query, n_resamples=n_resamples)
        assert whole["p_t"].equals(parts["p_t"])
        np.testing.assert_allclose(whole.select("low", "high").to_numpy(), parts.select("low", "high").to_numpy(), rtol=1e-12)
        assert whole["p_randomisation"].to_list() == parts["p_randomisation"].to_list()


# ---- against SciPy


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


@pytest.mark.slow
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


@pytest.mark.slow
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
        "measure", "estimate", "low", "high", "se", "bias", "n_units", "n_resamples",
    ]  # fmt: skip


# ---- what the resamples say of a difference


def test_p_of_the_bootstrap_says_what_the_interval_says() -> None:
    better = pl.col("value") + 0.04 * pl.col("run").str.tail(1).cast(pl.Float64)
    compared = compare_runs(drawn(40, 8).with_columns(better), n_resamples=1199)
    excluded = (pl.col("low") > 0) | (pl.col("high") < 0)
    assert compared.filter(excluded & (pl.col("p") > 0.05)).is_empty()
    assert compared.filter(~excluded & (pl.col("p") < 0.048)).is_empty()
    assert 0 < compared.filter(excluded).height < compared.height
    same = compared.filter((pl.col("share_better") > 0.5) != (pl.col("difference") > 0))
    assert same.filter(pl.col("p") < 0.5).is_empty()


@pytest.mark.slow
def test_se_bias_and_detectable_are_of_the_resampled_means() -> None:
    row = compare_runs(drawn(400, 2)).row(0, named=True)
    a, b = (part["value"].to_numpy() for part in drawn(400, 2).partition_by("run", maintain_order=True))
    assert row["se"] == pytest.approx((b - a).std() / math.sqrt(400), rel=0.03)
    assert abs(row["bias"]) < row["se"] / 20  # a mean has none
    assert row["detectable"] == pytest.approx(2.8 * row["se"], rel=1e-12)


def test_holm_and_false_discovery_are_over_the_pairs_of_a_measure() -> None:
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
    names = ["difference", "low", "high", "se", "p", "p_randomisation", "n_units"]
    by_video = compare_runs(videos, unit="video", n_resamples=500)
    alone = compare_runs(one_each, n_resamples=500)
    assert by_video.select(names).row(0) == pytest.approx(alone.select(names).row(0), rel=1e-9)
    assert by_video["n_units"].item() == 30
    assert by_video["p_t"].to_list() == [None]  # which takes queries for independent
    assert compare_runs(videos, n_resamples=500)["se"].item() < by_video["se"].item() / 1.8


def test_units_of_one_query_each_change_nothing() -> None:
    per_query = drawn(25, 2).with_columns(name=pl.format("q{}", pl.col("query_id").cast(pl.String).str.zfill(3)))
    assert compare_runs(per_query, unit="name").equals(compare_runs(per_query))
    assert bootstrap_mean(per_query, unit="name").equals(bootstrap_mean(per_query))
    assert rank_runs(per_query, unit="name").equals(rank_runs(per_query))


def test_strata_that_explain_all_leave_no_doubt() -> None:
    hard = [k % 2 for k in range(40)]
    per_query = runs(a=[0.9 - 0.5 * k for k in hard], b=[0.8 - 0.1 * k for k in hard])
    per_query = per_query.with_columns(kind=pl.Series(["easy" if not k else "hard" for k in hard] * 2))
    compared, drawn_freely = compare_runs(per_query, within="kind"), compare_runs(per_query)
    assert compared.select("low", "high", "se").row(0) == pytest.approx((0.1, 0.1, 0), abs=1e-12)
    assert compared["estimate_a"].item() == pytest.approx(0.65)
    assert drawn_freely["low"].item() < 0.07 < 0.13 < drawn_freely["high"].item()
    means = bootstrap_mean(per_query, within="kind")
    assert means["low"].to_list() == pytest.approx([0.65, 0.75])


def test_units_of_queries_that_both_have() -> None:
    videos = in_videos(30)
    without = videos.filter((pl.col("run") != "b") | (pl.col("video") > "v004"))
    of_common = videos.filter(pl.col("video") > "v004")
    compared = compare_runs(without, unit="video", within="video", n_resamples=200)
    assert compared.equals(compare_runs(of_common, unit="video", within="video", n_resamples=200))
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
        compare_runs(table, unit=unit, n_resamples=1_000)
        assert not recwarn.list
        with pytest.warns(FewResamplesWarning, match="with 10 resamples, intervals are unreliable"):
            compare_runs(table, unit=unit, n_resamples=10)


@pytest.mark.filterwarnings("error::apframe.exceptions.FewUnitsWarning")
def test_few_queries_are_pointed_out() -> None:
    compare_runs(drawn(20, 2), n_resamples=9)
    for few in (compare_runs, bootstrap_mean, rank_runs):
        with pytest.raises(FewUnitsWarning) as caught:
            few(drawn(19, 2), n_resamples=9)
        assert str(caught.value).startswith("only 19 queries can be drawn for an interval; with fewer than 20, intervals")
    with pytest.raises(FewUnitsWarning, match="only 7 values of video; with"):
        compare_runs(in_videos(7), unit="video")
    grouped = drawn(60, 2).with_columns(half=pl.col("query_id") // 50)
    with pytest.raises(FewUnitsWarning, match="1 of 2 groups has fewer than 20 queries, so intervals are too narrow there"):
        compare_groups(grouped, ["half"], n_resamples=99)


def test_too_few_resamples_for_so_many_pairs() -> None:
    with pytest.warns(FewResamplesWarning, match="which is too coarse for 10 comparisons; set n_resamples to 400 or more"):
        compare_runs(drawn(25, 5), n_resamples=100)
    grouped = drawn(100, 2).with_columns(part=pl.col("query_id") % 4)
    with pytest.warns(FewResamplesWarning, match="too coarse for 4 comparisons; set n_resamples to 160 or more"):
        compare_groups(grouped, ["part"], n_resamples=100)


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
    board = rank_runs(per_query, n_resamples=400)
    assert board.columns == [
        "measure", "rank", "run", "estimate", "low", "high", "share_best", "rank_low", "rank_high", "n_units", "n_resamples",
    ]  # fmt: skip
    assert board.select("rank", "run", "rank_high").rows() == [(1, "a", 3), (2, "c", 2), (3, "b", 3)]
    assert board["estimate"].to_list() == pytest.approx([0.5, 0.35, 0.2])
    assert board["share_best"].sum() == pytest.approx(1)
    assert board["n_resamples"][0] < board["n_resamples"][1] == 400
    whole = bootstrap_mean(per_query.filter(pl.col("run") != "a"), n_resamples=400).sort("run", descending=True)
    assert board[1:].select("low", "high").rows() == whole.select("low", "high").rows()


def test_equal_runs_have_one_rank_and_the_order_of_their_names() -> None:
    per_query = runs(b=[0.1, 0.3] * 10, a=[0.1, 0.3] * 10, c=[None] * 20)
    board = rank_runs(per_query, n_resamples=100)
    names = ["rank", "run", "share_best", "rank_low", "rank_high"]
    assert board.select(names).rows() == [(1, "a", 0.5, 1, 1), (1, "b", 0.5, 1, 1), (None, "c", None, None, None)]


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
