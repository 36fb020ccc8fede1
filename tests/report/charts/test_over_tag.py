"""A number over the values of a tag."""

from __future__ import annotations

import math
import re
from itertools import pairwise

import polars as pl
import pytest

from apframe.report.charts.over_tag import chart_over_tag, round_numbers
from apframe.report.tag_axis import TagAxis


def points(*estimates: float | None, apart: float | None = None) -> pl.DataFrame:
    value = pl.Series(estimates, dtype=pl.Float64)
    ends = [value - apart, value + apart] if apart else [value.clear(len(value)), value.clear(len(value))]
    return pl.DataFrame([value.alias("estimate"), ends[0].alias("low"), ends[1].alias("high")])


def axis_of(*values: float) -> TagAxis:
    return TagAxis("epoch", [f"{value:g}" for value in values], values)


def test_the_line_goes_from_end_to_end_at_its_values() -> None:
    chart = chart_over_tag(axis_of(0, 1, 4), points(0.2, 0.3, 0.4), "AP", large=True)
    assert 'd="M48 202L136 113L398 24"' in chart  # 0.2 at the bottom, 0.4 at the top; 1 a quarter of the way
    assert [*re.findall(r'text-anchor="end">([^<]*)<', chart)] == ["0.20", "0.25", "0.30", "0.35", "0.40"]
    assert ">epoch</text>" in chart


def test_checkpoints_without_a_number_are_left_out() -> None:
    chart = chart_over_tag(axis_of(1, 2, 3), points(0.2, None, 0.4, apart=0.1), "AP", marked=[2, 0])
    assert chart.count('class="bar"') == 2 and chart.count("L") == 2 and 'class="dot"' not in chart
    assert "epoch 3: AP 0.400, 95 % interval 0.300 to 0.500" in chart
    first, second = (chart.index(f'class="mark {name}"') for name in "ba")  # the circle of the first one is at the right
    assert first < second
    assert chart_over_tag(axis_of(1, 2, 3), points(0.2, math.nan, 0.4, apart=0.1), "AP", marked=[2, 0]) == chart
    empty = chart_over_tag(axis_of(1, 2), points(None, None), "AP")
    assert 'class="curve"' not in empty and "AP over epoch: no values" in empty


@pytest.mark.parametrize("n", [2, 8, 30, 200])
def test_labels_are_inside_and_apart(n: int) -> None:
    dates = TagAxis("date", [f"2026-{k:04}" for k in range(n)], [float(k) for k in range(n)], are_numbers=False)
    chart = chart_over_tag(dates, points(*[k / n for k in range(n)]), "AP")
    middles = sorted(int(x) for x in re.findall(r'<text x="(\d+)"[^>]*text-anchor="middle"', chart))
    half = 9 * 6.5 / 2
    assert middles[0] >= half - 1 and middles[-1] <= 164 - half + 1
    assert all(right - left > 2 * half for left, right in pairwise(middles))
    assert f">2026-{n - 1:04}<" in chart


def test_long_titles_are_cut_and_escaped() -> None:
    chart = chart_over_tag(axis_of(1, 2), points(0.1, 0.2), "<img onerror=alert(1)> and more words")
    assert "<img" not in chart and 'class="title">&lt;img onerror=alert(1)&gt; a…<' in chart


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (0.21, 0.38), (-3.2, 0.1), (0.5, 0.5), (0.0, 1e-6), (12.0, 4_000.0)])
def test_round_numbers_reach_both_ends(low: float, high: float) -> None:
    numbers = round_numbers(low, high)
    steps = [right - left for left, right in pairwise(numbers)]
    assert 2 <= len(numbers) <= 7 and steps == pytest.approx([steps[0]] * len(steps))
    assert numbers[0] <= low + 1e-12 and numbers[-1] >= high - 1e-12
