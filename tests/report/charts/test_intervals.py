"""Dots with bars."""

from __future__ import annotations

import polars as pl

from apframe.report.charts.intervals import interval_cells


def test_all_rows_share_one_scale() -> None:
    cells = interval_cells(pl.Series([0.0, 1.0, None]), pl.Series([None, 0.5, None]), pl.Series([None, 1.0, None]), zero=True)
    assert 'cx="6"' in cells[0] and 'class="bar"' not in cells[0] and "unclear" in cells[0]
    assert 'cx="154"' in cells[1] and 'x1="80"' in cells[1] and 'class="interval better"' in cells[1]
    assert cells[2] == ""
    assert interval_cells(*[pl.Series([], dtype=pl.Float64)] * 3) == []


def test_errors_are_better_below_zero() -> None:
    low, high = pl.Series([0.1, 0.1, -0.2, -0.1]), pl.Series([0.2, 0.2, -0.1, 0.1])
    cells = interval_cells((low + high) / 2, low, high, zero=True, metrics=["AP", "ATE", "ASE", "AOE"])
    assert [cell.split('"')[1] for cell in cells] == [f"interval {word}" for word in ("better", "worse", "better", "unclear")]
