"""Intervals, differences and ranks of the runs of an evaluation."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import apframe as apf
from apframe.exceptions import FewUnitsWarning, ParameterError

Nested = dict[str, dict[str, float]]

QRELS: Nested = {
    "q1": {"a": 1, "b": 0, "c": 1},
    "q2": {"a": 0, "b": 2},
    "q3": {"a": 0},  # nothing is relevant
    "q4": {"a": 1},  # not in the run
}
RUN: Nested = {"q1": {"a": 0.9, "x": 0.8, "c": 0.7, "b": 0.6}, "q2": {"a": 0.9, "b": 0.8}, "q3": {"a": 0.5}}
BETTER: Nested = {"q1": {"a": 3, "c": 2}, "q2": {"b": 1}, "q4": {"a": 1}}
QUERIES = {"query_id": ["q1", "q2", "q3"], "kind": ["short", "long", "short"], "length": [1, 9, None]}


@pytest.mark.parametrize("test", ["t", "randomisation", "bootstrap"])
def test_compare_is_compare_runs(test: str) -> None:
    evaluation = apf.evaluate_run(QRELS, {"plain": RUN, "better": BETTER, "same": RUN}, "AP RR")
    options: dict[str, Any] = {"test": test, "n_resamples": 99, "confidence": 0.9, "seed": 3}
    compared = evaluation.compare("plain", **options)
    assert_frame_equal(compared, apf.compare_runs(evaluation.per_query, baseline="plain", **options))
    assert compared.select("run_a", "run_b").unique(maintain_order=True).rows() == [("plain", "better"), ("plain", "same")]
    assert compared.filter(run_b="same")["difference"].to_list() == [0, 0]


@pytest.mark.parametrize("method", ["influence", "bootstrap"])
def test_intervals_are_of_the_means(method: str) -> None:
    evaluation = apf.evaluate_run(QRELS, {"plain": RUN, "better": BETTER, "same": RUN}, "AP RR")
    options: dict[str, Any] = {"n_resamples": 99, "confidence": 0.9, "seed": 3}
    intervals = evaluation.intervals(method=method, **options)
    if method == "bootstrap":
        assert_frame_equal(intervals, apf.lists.bootstrap_mean(evaluation.per_query, **options))
    means = evaluation.summary.select("run", "measure", estimate="value")
    assert_frame_equal(intervals.select("run", "measure", "estimate"), means, check_row_order=False)


def test_one_run_alone() -> None:
    evaluation = apf.evaluate_run(QRELS, RUN, "AP")
    assert evaluation.intervals().select("measure", "n_units").rows() == [("AP", 3)]
    for question in ("compare", "leaderboard"):
        with pytest.raises(ParameterError, match=f"{question}: only one run was evaluated; pass evaluate_run several"):
            getattr(evaluation, question)()


@pytest.mark.slow
def test_by_an_attribute_is_the_comparison_of_its_queries() -> None:
    evaluation = apf.evaluate_run(QRELS, {"x": RUN, "y": BETTER}, "AP RR", queries=QUERIES, missing="zero")
    compared = evaluation.compare(by="kind")
    assert compared["kind"].to_list() == [None, None, "long", "long", "short", "short"]
    assert compared.select("kind", "measure", "n_units").rows()[2:4] == [("long", "AP", 1), ("long", "RR", 1)]
    short = evaluation.per_query.filter(pl.col("query_id").is_in(["q1", "q3"]))
    assert_frame_equal(compared.filter(kind="short").drop("kind", "q"), apf.compare_runs(short).drop("q"))
    assert evaluation.compare(by=["kind", "length"]).columns[:3] == ["kind", "length", "measure"]
    assert evaluation.compare("y", by="kind")["run_a"].unique().to_list() == ["y"]
    with pytest.raises(ParameterError, match="no column 'knd'; did you mean kind"):
        evaluation.compare(by="knd")
    with pytest.raises(ParameterError, match="pass evaluate_run a table with the attributes"):
        apf.evaluate_run(QRELS, {"x": RUN, "y": BETTER}, "AP").compare(by="kind")


def test_a_group_in_which_one_run_has_no_query() -> None:
    evaluation = apf.evaluate_run(QRELS, {"x": RUN, "y": {"q1": {"a": 1}}}, "AP", queries=QUERIES)
    assert evaluation.compare(by="kind").select("kind", "n_units", "difference").rows()[0] == ("long", 0, None)


def of_users(n: int) -> apf.RunEvaluation:
    """Two runs on the queries of n users, three each; what is good for the first run is bad for the second."""
    names = [f"u{user:02}-{k}" for user in range(n) for k in range(3)]
    qrels = {name: {"good": 1, "bad": 0} for name in names}
    first = {name: {"good": 0.9 if int(name[1:3]) % 3 else 0.1, "bad": 0.5} for name in names}
    second = {name: {"good": 0.1, "bad": 0.5} for name in names}
    queries = {"query_id": names, "user": [name[:3] for name in names], "kind": [int(name[1:3]) % 3 for name in names]}
    return apf.evaluate_run(qrels, {"first": first, "second": second}, "AP", queries=queries)


@pytest.mark.slow
def test_units_and_strata_are_attributes_of_the_queries() -> None:
    ev = of_users(30)
    joined = ev.per_query.with_columns(user=pl.col("query_id").str.head(3))
    joined = joined.with_columns(kind=pl.col("user").str.tail(2).cast(pl.Int64) % 3)
    options: dict[str, Any] = {"unit": "user", "within": "kind", "n_resamples": 99}
    assert_frame_equal(ev.compare(**options), apf.compare_runs(joined, **options))
    assert_frame_equal(ev.compare(test="bootstrap", **options), apf.compare_runs(joined, test="bootstrap", **options))
    assert_frame_equal(ev.intervals(method="bootstrap", **options), apf.lists.bootstrap_mean(joined, **options))
    assert ev.compare(**options)["n_units"].item() == 30
    assert ev.compare(unit="user")["se"].item() > ev.compare()["se"].item()
    # of a kind all queries are alike
    for method in ("influence", "bootstrap"):
        assert ev.leaderboard(method=method, **options).select("run", "low", "high", "n_units").rows() == [
            ("first", pytest.approx(5 / 6), pytest.approx(5 / 6), 30), ("second", 0.5, 0.5, 30),
        ]  # fmt: skip
    by_kind = ev.compare(by="kind", unit="user")
    assert by_kind.select("kind", "n_units").rows() == [(0, 10), (1, 10), (2, 10)]
    same_key = ev.compare(by="kind", unit="user", within="kind")
    assert_frame_equal(same_key, by_kind)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"unit": "usr"}, "unit: the queries have no column 'usr'; did you mean user?"),
        ({"within": "typ"}, "within: the queries have no column 'typ'"),
    ],
)
def test_wrong_units(options: dict[str, Any], message: str) -> None:
    ev = of_users(4)
    for question in (ev.compare, ev.intervals, ev.leaderboard):
        with pytest.raises(ParameterError) as error:
            question(**options)
        assert str(error.value).startswith(message)


def test_units_need_attributes() -> None:
    with pytest.raises(ParameterError, match="unit: pass evaluate_run a table with the attributes of the queries"):
        apf.evaluate_run(QRELS, RUN, "AP").intervals(unit="user")
    with pytest.raises(ParameterError, match="1 of the queries have no kind"):
        apf.evaluate_run(QRELS, RUN, "AP", missing="zero", queries=QUERIES).intervals(unit="kind")


def test_influence_gives_the_standard_error() -> None:
    ev = of_users(9)
    influences = ev.influence()
    assert influences.columns == ["run", "measure", "query_id", "influence"] and influences.height == 54
    n, u = pl.len(), pl.col("influence")
    by_run = influences.group_by("run", maintain_order=True).agg(total=u.sum(), se=((u**2).sum() * n / (n - 1)).sqrt())
    assert by_run["total"].to_list() == pytest.approx([0, 0], abs=1e-12)
    assert_frame_equal(by_run.select("run", "se"), ev.intervals().select("run", "se"))
    # of the difference: those of one run less those of the other
    wide = influences.pivot("run", index="query_id", values="influence").with_columns(
        influence=pl.col("second") - pl.col("first")
    )
    se = wide.select(((u**2).sum() * n / (n - 1)).sqrt()).item()
    assert se == pytest.approx(ev.compare()["se"].item())
    # of users: the sums
    users = wide.group_by(pl.col("query_id").str.head(3)).agg(u.sum())
    assert users.select(((u**2).sum() * n / (n - 1)).sqrt()).item() == pytest.approx(ev.compare(unit="user")["se"].item())


def test_influence_by_an_attribute() -> None:
    ev = apf.evaluate_run(QRELS, {"x": RUN, "y": BETTER}, "AP RR", queries=QUERIES, missing="zero", no_relevant="skip")
    influences = ev.influence("RR", by="kind")
    assert influences.columns == ["kind", "run", "measure", "query_id", "influence"]
    assert "q3" not in influences["query_id"] and influences["measure"].unique().to_list() == ["RR"]  # q3 has no value
    assert influences.group_by("kind", "run").agg(pl.sum("influence"))["influence"].to_list() == pytest.approx([0] * 6)
    one = apf.evaluate_run(QRELS, RUN, "RR AP").influence("RR")
    assert one.rows() == [
        ("RR", "q1", pytest.approx(0.5 / 3)), ("RR", "q2", pytest.approx(0)), ("RR", "q3", pytest.approx(-0.5 / 3)),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"measure": "nDCG"}, 'measure is "AP" or "RR", not \'nDCG\''),
        ({"measure": "GMAP"}, 'measure is "AP" or "RR", not \'GMAP\'; did you mean AP?'),
        ({"by": "knd"}, "by: the queries have no column 'knd'; did you mean kind?"),
    ],
)
def test_wrong_influence(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError) as error:
        apf.evaluate_run(QRELS, RUN, "AP RR GMAP", queries=QUERIES).influence(**options)
    assert str(error.value) == message


@pytest.mark.filterwarnings("error::apframe.exceptions.FewUnitsWarning")
def test_one_unit_has_no_interval_and_one_warning() -> None:
    ev = of_users(1)
    for question in (ev.compare, ev.intervals, ev.leaderboard):
        with pytest.warns(FewUnitsWarning, match="fewer than two values of user; there are no intervals") as caught:
            table = question(unit="user")
        assert len(caught) == 1
        assert table.select("low", "high").unique().rows() == [(None, None)]


def test_leaderboard() -> None:
    ev = apf.evaluate_run(QRELS, {"plain": RUN, "better": BETTER}, "RR AP GMAP", missing="zero")
    board = ev.leaderboard()
    assert board.select("measure", "rank", "run", "n_units").rows() == [
        ("RR", 1, "better", 4), ("RR", 2, "plain", 4), ("AP", 1, "better", 4), ("AP", 2, "plain", 4),
    ]  # fmt: skip
    summary = ev.summary.select("measure", "run", estimate="value")
    assert_frame_equal(
        board.select("measure", "run", "estimate"), summary.filter(pl.col("measure") != "GMAP"), check_row_order=False
    )
    assert board.group_by("measure").agg(pl.sum("share_best"))["share_best"].to_list() == pytest.approx([1, 1])
    assert board.filter(run="better")["rank_low"].to_list() == [1, 1]
