"""Marks: links to the cards behind numbers."""

from __future__ import annotations

import json
import math
from urllib.parse import parse_qsl

import pytest

from apframe.report.marks import Mark, link, listed, number_text
from apframe.show.elements import element

ODD = ["a&b=c", '"><script>', "Größe 5 %", "a+b", "#x", ""]


@pytest.mark.parametrize("name", ODD)
def test_any_name_comes_back_from_the_address(name: str) -> None:
    selection = {"category": name, "error": "miss"}
    assert dict(parse_qsl(Mark(selection).address, keep_blank_values=True)) == selection
    assert "+" not in Mark(selection).address and " " not in Mark(selection).address


def test_links_are_text_with_their_selection() -> None:
    drawn = link(Mark({"category": '"><script>'}, 1, "labels"), "<1", data_at="1 2")
    assert "<script>" not in drawn and ">&lt;1</a>" in drawn
    assert 'href="#labels"' in drawn and 'data-rows="1"' in drawn and 'title="1 row"' in drawn and 'data-at="1 2"' in drawn


def test_numbers_that_follow_the_slider_have_no_own_rows() -> None:
    drawn = link(Mark({"outcome": "tp"}), "7")
    assert "data-rows" not in drawn and "title" not in drawn


def test_without_rows_there_is_no_link() -> None:
    dot = element("circle", r=3)
    assert link(None, dot) == dot
    assert link(None, dot, class_="x") == '<g class="x"><circle r="3"></circle></g>'


def test_values_are_read_by_scripts_as_they_are() -> None:
    assert json.loads(listed(ODD)) == ODD
    assert [number_text(value) for value in (0.1, math.inf, 3, "x")] == ["0.1", "Infinity", "3", "x"]
