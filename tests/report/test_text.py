"""Sections as text."""

from __future__ import annotations

import polars as pl
import pytest

import apframe as apf
from apframe.report.section import Chart, Details, Section, Steps, Table
from apframe.report.text import MOST_LINES, lines_about, markdown_about, text_of
from apframe.report.write import about, first_screen, sections_of
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
    lines = lines_about(about(models, ["model_a", "model_b"], "weather"))
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


@pytest.mark.slow
def test_the_first_screen_in_markdown(models: list[apf.Evaluation]) -> None:
    """The same answer, numbers, chips and advice as on the page; what would be a sign in Markdown is a text."""
    subject = about(models, ["model_a", "<b>|new"], "time_of_day")
    first, text = first_screen(subject), markdown_about(subject)
    assert text.startswith("## model_a and \\<b>\\|new\n\n**No significant difference in AP: +0.008 for \\<b>\\|new (95 % CI")
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    assert [[cell.strip() for cell in row] for row in rows[1:]] == [
        [name, each.value, each.interval] for name, each in zip(["model_a", "\\<b>\\|new"], first.figures, strict=True)
    ]
    assert "▲ night +0.105" in text
    (section,) = sections_of(subject, ["comparison"])
    steps = section.blocks[-1]
    assert isinstance(steps, Steps) and text.count("\n1. Test on more images: about ") == 1
    assert text.splitlines()[-1].startswith(f"{len(steps.steps)}. ")


def test_search_runs_in_markdown() -> None:
    qrels = {f"q{n}": {"a": 1} for n in range(30)}
    runs = {name: {f"q{n}": {"a": 1.0, "b": at} for n in range(30)} for name, at in (("old", 2.0), ("new", 0.5))}
    text = markdown_about(about([apf.evaluate_run(qrels, runs, "RR")]), "Search")
    assert text.startswith("## Search\n\n**new is better by 0.500 RR")
    assert "| run | " in text and "| new |" in text
