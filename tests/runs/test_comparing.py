"""Stored runs compared without their files, and how sure the order of a leaderboard is."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import apframe as apf
from apframe.exceptions import NotComparableError, ParameterError, QueryError

TRUTH = "data/street/instances.json"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> apf.RunSets:
    folder = tmp_path_factory.mktemp("runs")
    for epoch, name in enumerate("ab"):
        ev = apf.evaluate(TRUTH, f"data/street/model_{name}.json")
        ev.write_parquet(folder / name, tags={"epoch": epoch})
    return apf.scan_runs(f"{folder}/*")


@pytest.mark.slow
def test_stored_runs_are_compared_as_evaluations_are(runs: apf.RunSets) -> None:
    a, b = runs.evaluation("a"), runs.evaluation("b")
    options = {"metrics": ["AP", "AP50"], "by": "weather"}
    assert runs.compare(**options).equals(a.compare(b, names=["a", "b"], **options))  # type: ignore[arg-type]
    other_way = runs.compare("b", metrics="AP")
    assert other_way.select("run_a", "run_b", pl.col("difference", "low").round(4)).rows() == [("b", "a", -0.0082, -0.032)]


@pytest.mark.slow
def test_the_leaderboard_says_how_sure_its_order_is(runs: apf.RunSets) -> None:
    board = runs.leaderboard(intervals=True)
    assert board.columns[:7] == ["run", "epoch", "AP", "low", "high", "share_best", "rank_low"]
    rows = board.select("run", pl.col("AP", "low", "high").round(4), "share_best", "rank_low", "rank_high").rows()
    assert rows == [("b", 0.2765, 0.2512, 0.2901, 0.7525, 1, 2), ("a", 0.2684, 0.2419, 0.2846, 0.2475, 1, 2)]
    of_a = runs.evaluation("a").intervals(metrics="AP").select("low", "high")
    assert board.filter(run="a").select("low", "high").equals(of_a)
    assert runs.leaderboard("AP50", where="epoch = 0", intervals=True).height == 1
    with pytest.raises(ParameterError, match="unit needs intervals=True"):
        runs.leaderboard(unit="city")


@pytest.mark.slow
def test_the_leaderboard_of_resamples(runs: apf.RunSets) -> None:
    board = runs.leaderboard(n_resamples=1000)
    rows = board.select("run", pl.col("AP", "low", "high").round(4), "share_best", "rank_low", "rank_high").rows()
    assert rows == [("b", 0.2765, 0.2612, 0.2965, 0.756, 1, 2), ("a", 0.2684, 0.2492, 0.2903, 0.244, 1, 2)]


@pytest.mark.slow
def test_differences_are_a_table_in_sql(runs: apf.RunSets, tmp_path: Path) -> None:
    differences = runs.sql("SELECT run_a, run_b, round(low, 4) AS low FROM differences WHERE metric = 'AP'")
    assert differences.rows() == [("a", "b", -0.0157)]
    runs.evaluation("a").write_parquet(tmp_path / "alone")
    with pytest.raises(QueryError, match="differences does not exist"):
        apf.scan_runs(tmp_path / "alone").sql("FROM differences")
    runs.evaluation("b").where("weather = 'fog'").write_parquet(tmp_path / "fog")
    with pytest.warns(apf.exceptions.RunsDifferWarning):
        different = apf.scan_runs(f"{tmp_path}/*")
    with pytest.raises(QueryError, match="alone and fog differ in images"):
        different.sql("FROM differences")


@pytest.mark.slow
def test_print_shows_the_leaderboard(runs: apf.RunSets) -> None:
    assert "share_best" in str(runs)
    assert "0.752" in str(runs)
    assert "share_best" in runs._repr_html_()  # computed by now


@pytest.mark.slow
def test_runs_that_cannot_be_compared(runs: apf.RunSets, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="baseline: no run 'c'; there are a, b"):
        runs.compare("c")
    runs.evaluation("a").where("weather = 'fog'").write_parquet(tmp_path / "fog")
    runs.evaluation("b").write_parquet(tmp_path / "whole")
    with pytest.warns(apf.exceptions.RunsDifferWarning):
        different = apf.scan_runs(f"{tmp_path}/*")
    with pytest.raises(NotComparableError, match="differ in images"):
        different.compare()
    assert "share_best" not in str(different)
    with pytest.raises(ParameterError, match="needs two runs or more"):
        apf.scan_runs(tmp_path / "whole").compare()
