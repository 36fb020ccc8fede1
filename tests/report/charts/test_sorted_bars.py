"""Bars of differences."""

from __future__ import annotations

import re

from apframe.report.charts.sorted_bars import sorted_bars
from apframe.report.marks import Mark


def test_the_largest_gain_reaches_the_top() -> None:
    chart = sorted_bars([0.5, -0.25], "by query")
    up, down = chart.index('class="better"'), chart.index('class="worse"')
    assert up < down
    assert 'class="better" x="40.0" width="240.0" y="10.0" height="60.0"' in chart
    assert 'class="worse" x="340.0" width="240.0" y="70.0" height="30.0"' in chart


def test_every_bar_is_a_link_also_one_without_height() -> None:
    chart = sorted_bars([0.5, 0.0], "by query", [Mark(section="query-2"), Mark(section="query-1")], ["<b>: +0.5", "c: 0"])
    assert re.findall('href="#([^"]*)"', chart) == ["query-2", "query-1"] and chart.count('class="around"') == 2
    assert "<title>&lt;b&gt;: +0.5</title>" in chart and 'role="group"' in chart


def test_nothing_to_draw() -> None:
    assert "<rect" not in sorted_bars([0.0, 0.0], "by query")
    assert "<rect" not in sorted_bars([], "by query")
