"""Dots with bars."""

from __future__ import annotations

import polars as pl

from apframe.report.charts.intervals import interval_cells


def test_all_rows_share_one_scale() -> None:
    cells = interval_cells(pl.Series([0.0, 1.0, None]), pl.Series([None, 0.5, None]), pl.Series([None, 1.0, None]), zero=True)
    assert 'cx="6"' in cells[0] and 'class="bar"' not in cells[0] and "unclear" in cells[0]
    assert 'cx="154"' in cells[1] and 'x1="80"' in cells[1] and 'class="interval up"' in cells[1]
    assert cells[2] == ""
    assert interval_cells(*[pl.Series([], dtype=pl.Float64)] * 3) == []
