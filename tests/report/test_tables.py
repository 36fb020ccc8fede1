"""Tables as HTML."""

from __future__ import annotations

import polars as pl

from apframe.report.section import Table
from apframe.report.tables import table_markup
from apframe.show.elements import Markup


def test_numbers_are_written_as_people_read_them() -> None:
    frame = pl.DataFrame(
        {"name": ["a"], "n": [12345], "gain": [-0.25], "none": pl.Series([None], dtype=pl.Float64), "is": [True]}
    )
    text = table_markup(Table(frame, "c", signed=["gain"]))
    assert '<td class="n">12,345</td><td class="n">−0.250</td><td class="n">–</td><td>yes</td>' in text


def test_rows_that_are_cut_are_counted() -> None:
    text = table_markup(Table(pl.DataFrame({"n": range(5)}), "c", most=2))
    assert text.count("<tr>") == 3
    assert "The first 2 of 5 rows are shown." in text


def test_drawn_columns_are_markup_and_no_heads_to_sort() -> None:
    text = table_markup(Table(pl.DataFrame({"n": [1, 2]}), "c", drawn={"bar": [Markup("<svg></svg>")] * 2}))
    assert '<th scope="col" class="drawn">bar</th>' in text
    assert text.count('<td class="drawn"><svg></svg></td>') == 2
