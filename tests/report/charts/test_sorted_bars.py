"""Bars of differences."""

from __future__ import annotations

import polars as pl

from apframe.report.charts.sorted_bars import MOST_BARS, sorted_bars


def test_the_largest_gain_comes_first_and_reaches_the_top() -> None:
    chart = sorted_bars(pl.Series([-0.25, 0.5]), "by query")
    up, down = chart.index('class="better"'), chart.index('class="worse"')
    assert up < down
    assert 'class="better" x="40.0" width="240.0" y="10.0" height="60.0"' in chart
    assert 'class="worse" x="340.0" width="240.0" y="70.0" height="30.0"' in chart


def test_of_very_many_some_are_drawn() -> None:
    chart = sorted_bars(pl.Series([1 + k / 5_000 for k in range(5_000)]), "by query")
    assert chart.count("<rect") == MOST_BARS


def test_nothing_to_draw() -> None:
    assert "<rect" not in sorted_bars(pl.Series([0.0, 0.0]), "by query")
    assert "<rect" not in sorted_bars(pl.Series([], dtype=pl.Float64), "by query")
