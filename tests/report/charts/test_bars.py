"""Bars from 0."""

from __future__ import annotations

import polars as pl
import pytest

import apframe as apf
from apframe.report.charts.bars import bar_cells, legend
from apframe.report.compared import Compared
from apframe.report.marks import Mark
from apframe.report.section import Table
from apframe.report.sections.error_types import section


def test_all_rows_and_models_share_one_scale() -> None:
    cells = bar_cells([pl.Series([0.0, 0.2, None]), pl.Series([0.1, 0.4, None])])
    assert 'class="a" x="1" y="2" width="0"' in cells[0] and 'class="b" x="1" y="10" width="40"' in cells[0]
    assert 'class="a" x="1" y="2" width="79"' in cells[1] and 'class="b" x="1" y="10" width="158"' in cells[1]
    assert "rect" not in cells[2] and 'class="zero"' in cells[2]


def test_bars_are_links_to_what_is_behind_them() -> None:
    cells = bar_cells([pl.Series([0.1, 0.2])], [[Mark({"error": "cls"}, 1_203), None]])
    assert '<a href="#gallery" data-select="error=cls" data-rows="1203" title="1,203 rows"' in cells[0]
    assert 'aria-label="1,203 errors"' in cells[0] and "<a" not in cells[1]


def test_bars_below_0_stand_to_its_left() -> None:
    cells = bar_cells([pl.Series([-0.5, 0.5])])
    assert 'x="1" y="2" width="79"' in cells[0] and 'class="zero" x1="80"' in cells[0]


def test_without_numbers_there_are_no_bars() -> None:
    assert bar_cells([pl.Series([], dtype=pl.Float64)]) == []
    assert "rect" not in bar_cells([pl.Series([None, None], dtype=pl.Float64)])[0]


def test_names_are_escaped() -> None:
    assert legend(["<a>", "b"]).count("<svg") == 2
    assert "&lt;a&gt;" in legend(["<a>"])


@pytest.mark.slow
def test_the_chart_of_a_notebook_has_the_same_bars(pair: Compared) -> None:
    pytest.importorskip("altair")
    models, kinds = dict(zip(pair.names, pair.evaluations, strict=True)), list(apf.error_kinds()["name"])
    spec = apf.plot.error_impact(models, kinds=kinds).to_dict()
    rows = pl.DataFrame(spec["datasets"][spec["layer"][0]["data"]["name"]])
    table = next(block for block in section(pair).blocks if isinstance(block, Table))
    assert table.frame["error type"].to_list() == spec["layer"][0]["encoding"]["y"]["scale"]["domain"]
    for number, name in enumerate(rows["bar"].unique(maintain_order=True)):
        of_one = rows.filter(bar=name)
        assert of_one["kind"].to_list() == table.frame["error type"].to_list()
        assert of_one["delta_ap"].to_list() == table.frame[f"cost {number}"].to_list()
        assert of_one["n"].to_list() == table.frame[f"errors {number}"].to_list()
