"""Dots with bars."""

from __future__ import annotations

import re

import polars as pl
import pytest

import apframe as apf
from apframe.report.charts.interval_chart import interval_cells
from apframe.report.compared import Compared
from apframe.report.section import Table
from apframe.report.sections.by_slice import section


def test_all_rows_share_one_scale() -> None:
    low, high = pl.Series([None, 0.5, None]), pl.Series([None, 1.0, None])
    axis, cells = interval_cells(pl.Series([0.0, 1.0, None]), low, high, zero=True)
    assert 'cx="16"' in cells[0] and 'class="bar"' not in cells[0] and "unclear" in cells[0]
    assert 'cx="164"' in cells[1] and 'd="M90 5v8m0-4H164' in cells[1] and 'class="interval better"' in cells[1]
    assert cells[2] == ""
    assert re.findall(r'x="(\d+)"[^>]*>([^<]+)<', axis) == [("16", "0.000"), ("90", "+0.500"), ("164", "+1.000")]
    assert interval_cells(*[pl.Series([], dtype=pl.Float64)] * 3)[1] == []


def test_the_axis_has_0_where_it_is_far_from_the_ends() -> None:
    ends = pl.Series([-1.0, 1.0])
    axis, _ = interval_cells(ends, ends, ends, zero=True)
    assert re.findall(r">([^<]+)</text>", axis) == ["−1.000", "0.000", "+1.000"]
    near = pl.Series([-0.1, 1.0])
    axis, _ = interval_cells(near, near, near, zero=True)
    assert re.findall(r">([^<]+)</text>", axis) == ["−0.100", "+1.000"]


def test_errors_are_better_below_zero() -> None:
    low, high = pl.Series([0.1, 0.1, -0.2, -0.1]), pl.Series([0.2, 0.2, -0.1, 0.1])
    _, cells = interval_cells((low + high) / 2, low, high, zero=True, metrics=["AP", "ATE", "ASE", "AOE"])
    assert [cell.split('"')[1] for cell in cells] == [f"interval {word}" for word in ("better", "worse", "better", "unclear")]


@pytest.mark.slow
def test_the_chart_of_a_notebook_has_the_same_intervals(pair: Compared) -> None:
    pytest.importorskip("altair")
    a, b = pair.evaluations
    spec = apf.plot.intervals(a, other=b, level="category", metrics="AP").to_dict()
    dots = spec["layer"][-2]
    table = next(block for block in section(pair).blocks if isinstance(block, Table))
    names = table.frame["name"].to_list()
    assert names[1:] == dots["encoding"]["y"]["scale"]["domain"]  # the first one is of all
    rows = pl.DataFrame(spec["datasets"][dots["data"]["name"]])
    place = {name: number for number, name in enumerate(names)}
    rows = rows.sort(pl.col("label").replace_strict(place))
    whole = table.frame.head(1).select("low", "high", value="difference")
    every = pl.concat([whole, rows.select(whole.columns)])
    _, redrawn = interval_cells(every["value"], every["low"], every["high"], zero=True)
    assert redrawn == table.drawn["interval"]
    verdicts = [cell.split('"')[1].removeprefix("interval ") for cell in redrawn[1:]]
    assert rows["verdict"].to_list() == verdicts and {*verdicts} == {"better", "worse", "unclear"}
