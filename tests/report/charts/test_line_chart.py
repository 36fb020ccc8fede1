"""Lines on two axes."""

from __future__ import annotations

import re

import polars as pl
import pytest

import apframe as apf
from apframe.report.charts.line_chart import Line, line_chart
from apframe.report.compared import Compared
from apframe.report.marks import Mark
from apframe.report.section import Chart
from apframe.report.sections.score_threshold import section


def test_points_without_a_number_and_repeated_ones_are_left_out() -> None:
    x, y = pl.Series([0.0, 0.5, 0.5, 1.0]), pl.Series([1.0, None, 0.5, 0.5])
    chart = line_chart([Line("a", x, y, 2), Line("b", x.clear(), y.clear())], "x", "y")
    assert 'd="M36 18H36V100H270"' in chart
    assert chart.count('class="curve') == 1
    assert 'class="mark a"' in chart and "translate(153 100)" in chart


def test_points_are_links_to_what_is_behind_them() -> None:
    line = Line(
        "a", pl.Series([0.0, 1.0]), pl.Series([0.0, 1.0]), spots=[(0.5, 0.5, Mark({"from": "0.5"}, 7)), (None, 0.5, None)]
    )
    chart = line_chart([line], "score", "recall", follows=True)
    assert chart.count("<a ") == 1 and 'data-select="from=0.5" data-rows="7"' in chart
    assert 'cx="153" cy="100"' in chart and "a: recall 0.500 at a score of 0.500" in chart
    assert 'class="here" visibility="hidden" data-ends="[0.0, 1.0, 36, 270]"' in chart and 'x1="36" x2="270"' in chart
    assert "here" not in line_chart([line], "recall", "precision")


def test_scores_beyond_1_have_their_axis() -> None:
    chart = line_chart([Line("a", pl.Series([-5.0, 5.0]), pl.Series([0.0, 1.0]))], "score", "recall", (-5.0, 5.0))
    assert 'd="M36 182H36V18H270"' in chart and ">-2.5<" in chart


@pytest.mark.slow
@pytest.mark.parametrize("number", [0, 1], ids=["model_a", "model_b"])
def test_the_chart_of_a_notebook_has_the_same_points(pair: Compared, number: int) -> None:
    pytest.importorskip("altair")
    spec = apf.plot.thresholds(dict(zip(pair.names, pair.evaluations, strict=True)), per_category=False).to_dict()
    rows = pl.DataFrame(spec["datasets"][spec["layer"][0]["data"]["name"]]).filter(curve=pair.names[number])
    x, y = rows["score_threshold"], rows["f1"]
    lines = [Line("", x.clear(), y.clear())] * number + [Line(pair.names[number], x, y, rows["is_best"].arg_true()[0])]
    redrawn = re.findall(rf'<path class="(?:curve|mark) {"ab"[number]}"[^>]*>', line_chart(lines, "score", "F1"))
    charts = [block.svg for block in section(pair).blocks if isinstance(block, Chart)]
    assert redrawn and all(path in charts[0] for path in redrawn) and 60 < rows.height <= 101
    encoding = spec["layer"][0]["encoding"]
    for axis in "xy":
        texts = [f">{tick:.3g}</text>" for tick in encoding[axis]["axis"]["values"]]
        assert all(text in charts[0] for text in texts)
        assert f">{encoding[axis]['title']}</text>" in charts[0]
