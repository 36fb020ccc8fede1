"""Tables as HTML."""

from __future__ import annotations

import polars as pl

from apframe.report.html_tables import table_markup
from apframe.report.marks import Mark
from apframe.report.section import Table
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


def test_numbers_are_links_and_follow_the_slider() -> None:
    frame = pl.DataFrame({"name": ["cat", "dog", "cow"], "n": [1_203, 0, None]})
    marks = [Mark({"category": "cat"}, 1_203), None, Mark({"category": "cow"}, 1)]
    text = table_markup(Table(frame, "x", links={"n": marks}, series={"n": ["1,203 0", "0*2", ""]}))
    assert 'data-select="category=cat" data-rows="1203" title="1,203 rows" data-at="1,203 0">1,203</a></td>' in text
    assert '<td class="n"><span data-at="0*2">0</span></td>' in text
    assert '<td class="n">–</td>' in text and text.count("<a ") == 1, "nothing has no rows"


def test_links_of_rows_that_are_cut_are_left_out() -> None:
    frame = pl.DataFrame({"n": [*range(5)]})
    marks = [Mark({"row": str(k)}, k + 1) for k in range(5)]
    text = table_markup(Table(frame, "x", links={"n": marks}, most=2))
    assert text.count("data-select") == 2 and "The first 2 of 5 rows are shown." in text


def test_folded_columns_have_a_switch_that_names_them() -> None:
    frame = pl.DataFrame({"name": ["cat"], "p": [0.5], "detectable": [0.1]})
    text = table_markup(Table(frame, "x", {"detectable": "detectable difference"}, folded=["p", "detectable"]))
    assert '<input type="checkbox" class="unfold"> p, detectable difference</label>' in text
    assert '<td class="n folded">0.500</td>' in text and '<th scope="col" class="n folded">p</th>' in text
    assert "unfold" not in table_markup(Table(frame, "x"))


def test_rows_about_all_together_are_marked() -> None:
    frame = pl.DataFrame({"name": ["all", "cat"]})
    text = table_markup(Table(frame, "x", n_means=1))
    assert '<tr class="mean"><th scope="row">all</th></tr><tr><th scope="row">cat</th></tr>' in text
    assert "sortable" not in text and "sortable" in table_markup(Table(frame, "x"))
