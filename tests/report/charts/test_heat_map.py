"""The confusion matrix as a table of shaded cells: its numbers, links and contrast."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape, unescape
from importlib.resources import files
from urllib.parse import parse_qs

import numpy as np
import pytest

import apframe as apf
from apframe.report.charts.heat_map import heat_map
from apframe.report.compared import Compared
from apframe.report.matrix import Matrix
from apframe.show.colours import SHADES, variables


def matrix(counts: object, labels: Sequence[str], groups: Sequence[str] | None = None) -> Matrix:
    """One of one model; counts of rows and columns, each a number or those of all positions."""
    array = np.array(counts)
    array = array[:, :, None] if array.ndim == 2 else array
    return Matrix(labels, "background", "missed", groups or [""] * len(labels), [array], [])


CELLS = matrix([[970, 4, 26], [0, 5, 0], [9, 0, 0]], ["cat", "<dog>"])


def test_every_cell_has_its_number_and_its_shade() -> None:
    drawn = heat_map(CELLS, 0, "model_a", is_linked=False)
    rows = re.findall(r"<tr><th[^>]*>(.*?)</th>(.*?)</tr>", drawn)
    texts = {name: [re.sub("<[^>]+>", "", cell) for cell in re.findall("<td.*?</td>", cells)] for name, cells in rows}
    assert texts == {"cat": ["970", "4", "26"], "&lt;dog&gt;": ["", "5", ""], "background": ["9", "", ""]}
    assert re.findall(r'<td class="([^"]+)">', drawn) == ["s6 right", "s1", "s1", "s6 right", "s6"]
    heads = re.search("<thead>.*</thead>", drawn)
    assert heads and re.findall("<span>([^<]+)</span>", heads[0]) == ["cat", "&lt;dog&gt;", "missed"]
    assert "model_a: annotated as (rows), predicted as (columns)" in drawn


def test_cells_link_to_their_cards() -> None:
    drawn = heat_map(CELLS, 0, "model a", is_linked=True)
    marks = [parse_qs(unescape(each)) for each in re.findall(r'data-select="([^"]+)"', drawn)]
    shown = [(each["model"], each["true"], each["found"]) for each in marks]
    assert shown[1:3] == [(["model a"], ["cat"], ["<dog>"]), (["model a"], ["cat"], ["missed"])]
    assert shown[-1] == (["model a"], ["background"], ["cat"]) and len(shown) == 5


def test_cells_that_are_empty_at_first_are_hidden() -> None:
    """They have numbers at other positions of the slider."""
    drawn = heat_map(matrix([[[0, 3, 3], [0, 0, 0]], [[1, 0, 0], [0, 0, 0]]], ["cat"]), 0, "x", is_linked=False)
    assert '<td class="right"><span data-at="0 3*2" hidden>0</span></td><td></td>' in drawn
    assert '<td class="s6"><span data-at="1 0*2">1</span></td>' in drawn


def test_long_names_are_cut_in_labels_only() -> None:
    drawn = heat_map(matrix([[1, 0], [0, 0]], ["a" * 30]), 0, "x", is_linked=False)
    assert drawn.count(f">{'a' * 19}…</") == 2 and drawn.count(f'title="{"a" * 30}"') == 2


def test_names_are_text() -> None:
    bad = "<img src=x onerror=alert(1)>"
    drawn = heat_map(matrix([[1, 0], [0, 0]], [bad], [bad]), 0, bad, is_linked=True)
    assert "<img" not in drawn and drawn.count(f'data-group="{escape(bad)}"') == 2


def test_nothing_at_all_is_drawn_as_a_grid() -> None:
    drawn = heat_map(matrix([[0, 0], [0, 0]], ["cat"]), 0, "x", is_linked=True)
    assert drawn.count("<td></td>") == 5 and "<a" not in drawn


def luminance(colour: Sequence[float]) -> float:
    parts = [value / 255 / 12.92 if value / 255 <= 0.04045 else ((value / 255 + 0.055) / 1.055) ** 2.4 for value in colour]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


@pytest.mark.parametrize("mode", ["light", "dark"])
@pytest.mark.parametrize("step", range(1, 7))
def test_numbers_can_be_read_on_every_shade(mode: str, step: int) -> None:
    css = variables() + files("apframe.report").joinpath("style.css").read_text()
    light, dark = css.split("@media (prefers-color-scheme: dark)", 1)
    codes = dict(re.findall(r"--(\w+): #(\w+);", light if mode == "light" else dark))
    colours = {
        name: list(bytes.fromhex(code if len(code) == 6 else "".join(2 * digit for digit in code)))
        for name, code in codes.items()
    }
    share = SHADES[step - 1] / 100
    shade = [share * one + (1 - share) * other for one, other in zip(colours["a"], colours["paper"], strict=True)]
    text = colours["paper"] if step > 4 else colours["ink"]
    assert ".matrix :is(.s5, .s6) { color: var(--paper); }" in css
    low, high = sorted([luminance(shade), luminance(text)])
    assert (high + 0.05) / (low + 0.05) >= 4.5


@pytest.mark.slow
def test_the_chart_of_a_notebook_has_the_same_cells(one: Compared) -> None:
    pytest.importorskip("altair")
    assert one.point is not None
    spec = apf.plot.confusion(one.first, min_score=one.point.best[0]).to_dict()
    (rows,) = spec["datasets"].values()
    matrix, encoding = one.matrix, spec["layer"][0]["encoding"]
    assert encoding["y"]["scale"]["domain"] == matrix.rows and encoding["x"]["scale"]["domain"] == matrix.columns
    rows.sort(key=lambda row: (matrix.rows.index(row["true"]), matrix.columns.index(row["found"])))
    drawn = heat_map(matrix, 0, "model_a", is_linked=False)
    cells = re.findall(r'<td class="s(\d)(?: right)?"><span[^>]*>([^<]+)</span>', drawn)
    assert cells == [(str(row["step"]), f"{row['n']:,}") for row in rows]
