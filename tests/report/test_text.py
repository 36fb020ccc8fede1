"""Sections as text."""

from __future__ import annotations

import polars as pl
import pytest

import apframe as apf
from apframe.report.section import Chart, Details, Section, Table
from apframe.report.text import MOST_LINES, report_lines, text_of
from apframe.show.elements import Markup

FRAME = pl.DataFrame({"name": [f"c{k}" for k in range(30)], "gain": [-0.5] * 30, "bar": [""] * 30})
TABLE = Table(FRAME, "Gains", {"name": "gain"}, signed=["gain"], drawn={"bar": [Markup("<svg></svg>")] * 30})


def test_tables_are_cut_and_drawings_left_out() -> None:
    section = Section(
        "where", "Where?", ["There."], [TABLE, Chart(Markup("<svg></svg>"), "x"), Details("y", [TABLE])], ["A note."]
    )
    lines = text_of([section, section], plain=True)
    assert lines[:4] == ["Where?", "There.", "", "Gains"]
    assert lines[5].split() == ["|", "gain", "|", "gain", "|"]  # two columns of one name
    assert lines[7].split() == ["|", "c0", "|", "-0.500", "|"]
    assert lines.count("The first 20 of 30 rows are shown.") == 2
    assert sum(line.startswith("| c") for line in lines) == 2 * MOST_LINES
    assert "<svg>" not in "".join(lines) and lines[-2:] == ["", "A note."]


def test_narrow_terminals_lose_columns() -> None:
    lines = text_of([Section("x", "X?", blocks=[TABLE])], width=14, plain=True)
    assert max(map(len, lines[3:5])) <= 14 and "not shown: gain" in " ".join(lines)


@pytest.mark.slow
def test_the_first_answers_of_two_models(models: list[apf.Evaluation]) -> None:
    lines = report_lines(models, names=["model_a", "model_b"], by="weather")
    assert lines[0] == "No significant difference in AP: +0.008 for model_b (95 % CI −0.016 to +0.032)."
    assert lines[1].endswith("categories, slices and size ranges is clearly better or worse.")
    headings = ("Is model_b better?", "Where?", "Error types", "Confusion", "Gallery")
    assert [line for line in lines if line in headings] == ["Is model_b better?", "Where?", "Error types"]
    for caption in (
        "AP by category",
        "AP by weather",
        "By the size of objects",
        "Errors at IoU 0.5, and AP that each type costs",
    ):
        assert caption in lines
    row = next(line for line in lines if line.startswith("│ worker"))
    compared = models[0].compare(models[1], level="category", metrics="AP").filter(name="worker")
    assert f"{compared['difference'].item():+.3f}" in row
