"""The page as a whole, and what it never overwrites."""

from __future__ import annotations

import math
from html import unescape
from pathlib import Path
from unittest.mock import patch

import polars as pl
import pytest

from apframe.exceptions import OutputError
from apframe.report.first_screen import FirstScreen
from apframe.report.operating_point import OperatingPoint
from apframe.report.page import free_path, page, slider_markup, write_page
from apframe.report.section import Chart, Fragment, Section, Table
from apframe.show.elements import element

SECTIONS = [
    Section(
        "one",
        "Is <b> better?",
        ("By -0.5.",),
        (Table(pl.DataFrame({"n": [1]}), "numbers"), Chart(element("svg"), "a line"), Fragment(element("hr"))),
        ("A note.",),
    )
]


def test_page_has_every_part_of_a_section() -> None:
    text = page("title", SECTIONS)
    for part in (
        "Is &lt;b&gt; better?",
        "By −0.5.",
        "<caption>numbers",
        "<figcaption>a line",
        "<hr>",
        "A note.",
        'href="#one"',
    ):
        assert part in text
    assert "default-src &#x27;none&#x27;" in text


def test_scopes_and_the_first_screen() -> None:
    scoped = Section("one", "Errors", scope="all scores")
    text = page("title", [scoped], first=FirstScreen("AP is -0.5."))
    assert '<h2 id="one-heading">Errors <small>all scores</small></h2>' in text
    assert text.index('<p class="sentence">AP is −0.5.</p>') < text.index('<nav aria-label="Sections">') < text.index("<h2")
    assert "<small>" not in page("title", SECTIONS)


def test_scripts_stay_small() -> None:
    """450 lines of plain JavaScript are what a page may have."""
    scripts = [*Path("apframe/report/scripts").glob("*.js")]
    lines = [line for script in scripts for line in script.read_text().splitlines()]
    assert len(scripts) == 5 and len(lines) <= 450
    assert max(map(len, lines)) <= 145  # no statements behind one another to save lines


def test_the_slider_has_every_position_of_each_model() -> None:
    point = OperatingPoint([0.3, math.inf], [0.25, 0.5, 1.0], (0.0, 1.0), [])
    drawn = unescape(slider_markup(point, ["<a>", "b"]))
    assert 'data-scores="[["0.3", "0.25", "0.5", "1.0"], ["Infinity", "0.25", "0.5", "1.0"]]"' in drawn
    assert 'min="1" max="3" value="1"' in drawn and "best F1 of each" in drawn and "hidden" in drawn
    text = page("x", SECTIONS, slider=slider_markup(point, ["<a>", "b"]))
    assert '<form class="slider"' in text and "<a>" not in text and '<form class="slider"' not in page("x", SECTIONS)


def test_a_report_replaces_a_report_and_nothing_else(tmp_path: Path) -> None:
    path = write_page(tmp_path / "report.html", page("first", SECTIONS))
    write_page(path, page("second", SECTIONS))
    assert "<title>second" in path.read_text()
    (tmp_path / "notes.html").write_text("<!doctype html><title>mine</title>")
    with pytest.raises(OutputError, match="a file that apframe did not write"):
        write_page(tmp_path / "notes.html", page("x", SECTIONS))
    assert "mine" in (tmp_path / "notes.html").read_text()
    with pytest.raises(OutputError, match="is a folder"):
        write_page(tmp_path, page("x", SECTIONS))
    with pytest.raises(OutputError, match="missing: there is no such folder; create it"):
        write_page(tmp_path / "missing" / "report.html", page("x", SECTIONS))


def test_a_folder_that_takes_no_files_is_noticed_before_the_work(tmp_path: Path) -> None:
    denied = PermissionError(13, "Permission denied")
    with (
        patch("apframe.report.page.TemporaryFile", side_effect=denied),
        pytest.raises(OutputError, match=r"report.html: cannot be written \(permission denied\)"),
    ):
        free_path(tmp_path / "report.html")
    assert free_path(tmp_path / "report.html") == (tmp_path / "report.html").resolve()
    assert not [*tmp_path.iterdir()]


def test_links_are_followed(tmp_path: Path) -> None:
    """A link to a report stays one; one to another file is refused."""
    write_page(tmp_path / "report.html", page("first", SECTIONS))
    (tmp_path / "notes.html").write_text("mine")
    for name in ("report", "notes"):
        (tmp_path / f"link_{name}.html").symlink_to(tmp_path / f"{name}.html")
    write_page(tmp_path / "link_report.html", page("second", SECTIONS))
    assert (tmp_path / "link_report.html").is_symlink() and "<title>second" in (tmp_path / "report.html").read_text()
    with pytest.raises(OutputError, match="a file that apframe did not write"):
        write_page(tmp_path / "link_notes.html", page("x", SECTIONS))
    assert (tmp_path / "notes.html").read_text() == "mine"


def test_half_a_page_is_never_seen(tmp_path: Path) -> None:
    path = write_page(tmp_path / "report.html", page("first", SECTIONS))
    with patch.object(Path, "write_bytes", side_effect=KeyboardInterrupt), pytest.raises(KeyboardInterrupt):
        write_page(path, page("second", SECTIONS))
    assert "<title>first" in path.read_text() and [each.name for each in tmp_path.iterdir()] == ["report.html"]


def test_pictures_are_there_once() -> None:
    text = page("x", SECTIONS, pictures={"one": "data:image/png;base64,AA"})
    assert text.count("data:image/png") == 1 and '<image id="one"' in text
    assert "<image" not in page("x", SECTIONS)
