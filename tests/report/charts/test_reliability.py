"""Reliability bars."""

from __future__ import annotations

import apframe as apf
from apframe.report.charts.reliability import reliability_chart


def test_there_is_a_bar_for_each_filled_bin(models: list[apf.Evaluation]) -> None:
    bins = models[0].reliability(0.5)
    chart = reliability_chart(bins, "model_a")
    filled = bins.filter(bins["n"] > 0).height
    assert chart.count("<rect") == 2 * filled
    assert chart.count('class="count"') == filled
    assert f"number of detections, up to {bins['n'].max():,}" in chart
    for row in bins.filter(bins["n"] > 0).iter_rows(named=True):
        assert f"{100 * row['mean_target']:.0f} % of {row['n']:,} right" in chart
