"""Lines on two axes."""

from __future__ import annotations

import polars as pl

from apframe.report.charts.lines import Line, line_chart
from apframe.report.marks import Mark


def test_points_without_a_number_and_repeated_ones_are_left_out() -> None:
    x, y = pl.Series([0.0, 0.5, 0.5, 1.0]), pl.Series([1.0, None, 0.5, 0.5])
    chart = line_chart([Line("a", x, y, 2), Line("b", x.clear(), y.clear())], "x", "y")
    assert 'd="M36 18L153 100L270 100"' in chart
    assert chart.count('class="curve') == 1
    assert 'class="mark a"' in chart and "translate(153 100)" in chart


def test_points_are_links_to_what_is_behind_them() -> None:
    line = Line(
        "a", pl.Series([0.0, 1.0]), pl.Series([0.0, 1.0]), spots=[(0.5, 0.5, Mark({"from": "0.5"}, 7)), (None, 0.5, None)]
    )
    chart = line_chart([line], "score", "recall", follows=True)
    assert chart.count("<a ") == 1 and 'data-select="from=0.5" data-rows="7"' in chart
    assert 'cx="153" cy="100"' in chart and "a: recall 0.500 at a score of 0.500" in chart
    assert 'class="here" x1="36" x2="270" visibility="hidden"' in chart
    assert "here" not in line_chart([line], "recall", "precision")


def test_scores_beyond_1_have_their_axis() -> None:
    chart = line_chart([Line("a", pl.Series([-5.0, 5.0]), pl.Series([0.0, 1.0]))], "score", "recall", (-5.0, 5.0))
    assert 'd="M36 182L270 18"' in chart and ">-2.5<" in chart
