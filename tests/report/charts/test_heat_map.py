"""The confusion matrix as a heat map: its numbers, words and contrast."""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib.resources import files

import polars as pl
import pytest

from apframe.report.charts.heat_map import heat_map, percent

CELLS = pl.DataFrame({"true": [0, 0, 0, 1, None], "found": [0, 1, None, 1, 0], "n": [970, 4, 26, 5, 9]})


def test_every_cell_has_its_share_in_a_number_and_in_words() -> None:
    drawn = heat_map(CELLS, ["cat", "<dog>"], "model_a")
    for words in (
        "cat found as cat: 970, 97 % of the row",
        "cat found as &lt;dog&gt;: 4, &lt;1 % of the row",
        "cat missed: 26, 3 % of the row",
        "&lt;dog&gt; found as &lt;dog&gt;: 5, 100 % of the row",
        "nothing there, found as cat: 9, 100 % of the row",
    ):
        assert f"<title>{words}</title>" in drawn
    assert re.findall(r'<g class="([^"]+)">', drawn) == ["s6 right", "s1", "s1", "s6 right", "s6"]
    assert 'role="img" aria-label="model_a"' in drawn


def test_long_names_are_cut_in_labels_only() -> None:
    drawn = heat_map(CELLS.head(1), ["a" * 30], "x")
    assert f">{'a' * 19}…</text>" in drawn and f"{'a' * 30} found as {'a' * 30}" in drawn


def test_nothing_at_all_is_drawn_as_a_grid() -> None:
    assert "<g" not in heat_map(CELLS.clear(), ["cat"], "x")


def test_percent() -> None:
    assert [percent(share) for share in (0.0, 0.0049, 0.005, 0.025, 0.994, 0.996, 1.0)] == [
        "0", "<1", "<1", "2", "99", ">99", "100",
    ]  # fmt: skip


def luminance(colour: Sequence[float]) -> float:
    parts = [value / 255 / 12.92 if value / 255 <= 0.04045 else ((value / 255 + 0.055) / 1.055) ** 2.4 for value in colour]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


@pytest.mark.parametrize("mode", ["light", "dark"])
@pytest.mark.parametrize("step", range(1, 7))
def test_numbers_can_be_read_on_every_shade(mode: str, step: int) -> None:
    css = files("apframe.report").joinpath("style.css").read_text()
    light, dark = css.split("@media (prefers-color-scheme: dark)", 1)
    found = dict(re.findall(r"--(\w+): #(\w+);", light if mode == "light" else dark))
    colours = {
        name: list(bytes.fromhex(code if len(code) == 6 else "".join(2 * digit for digit in code)))
        for name, code in found.items()
    }
    depth = re.search(rf"\.heat \.s{step} rect {{ fill-opacity: ([.\d]+)", css)
    share = float(depth[1]) if depth else 1.0
    shade = [share * one + (1 - share) * other for one, other in zip(colours["a"], colours["paper"], strict=True)]
    text = colours["paper"] if step > 4 else colours["ink"]
    assert ".heat :is(.s5, .s6) text { fill: var(--paper); }" in css
    low, high = sorted([luminance(shade), luminance(text)])
    assert (high + 0.05) / (low + 0.05) >= 4.5
