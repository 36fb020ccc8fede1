"""Reliability bars."""

from __future__ import annotations

import polars as pl
import pytest

import apframe as apf
from apframe.report.charts.reliability import reliability_chart


@pytest.mark.slow
def test_there_is_a_bar_for_each_filled_bin(models: list[apf.Evaluation]) -> None:
    bins = models[0].reliability(0.5)
    chart = reliability_chart(bins, "model_a")
    filled = bins.filter(bins["n"] > 0).height
    assert chart.count("<rect") == 2 * filled
    assert chart.count('class="count"') == filled
    assert f"number of detections, up to {bins['n'].max():,}" in chart
    for row in bins.filter(bins["n"] > 0).iter_rows(named=True):
        assert f"{100 * row['mean_target']:.0f} % of {row['n']:,} right" in chart


@pytest.mark.slow
def test_the_chart_of_a_notebook_has_the_same_bars(models: list[apf.Evaluation]) -> None:
    pytest.importorskip("altair")
    spec = apf.plot.reliability(models[0]).to_dict()
    bars, whiskers, _ = spec["concat"][0]["vconcat"][0]["layer"]
    for layer in (bars, whiskers):
        rows = pl.DataFrame(spec["datasets"][layer["data"]["name"]])
        assert reliability_chart(rows, "x") == reliability_chart(models[0].reliability(), "x")
    assert f">{bars['encoding']['y']['title']}</text>" in reliability_chart(models[0].reliability(), "x")
