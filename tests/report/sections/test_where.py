"""The section of the report: where."""

from __future__ import annotations

import polars as pl

from apframe.report.compared import Compared
from apframe.report.section import Table
from apframe.report.sections import where


def test_tables_by_category_slice_and_size(pair: Compared) -> None:
    blocks = [each for each in where.section(pair).blocks if isinstance(each, Table)]
    assert where.section(pair).sentences[1] == "AP by weather: the 95 % interval includes 0 in all 4 slices."
    assert [each.caption for each in blocks] == ["AP by category", "AP by weather", "By the size of objects"]
    differences = blocks[0].frame["difference"].abs().to_list()
    assert differences == sorted(differences, reverse=True)
    assert blocks[2].frame["metric"].to_list() == ["AP", "APs", "APm", "APl"]


def test_columns_to_slice_by_are_named_if_none_was_asked_for(one: Compared) -> None:
    assert "weather, time_of_day, camera, city" in where.section(one).notes[0]


def test_categories_without_intervals_come_last(one: Compared, pair: Compared) -> None:
    for compared in (one, pair):
        rows = compared.by_category.filter(metric="AP")
        cut = rows.with_columns(low=pl.when(pl.col("name") != "worker").then("low"))
        assert where._sorted(cut, compared)["name"][-1] == "worker"
