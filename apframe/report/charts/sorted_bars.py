"""Bars of differences, the largest gain first, which show how many rows gain, how many lose, and how much."""

from __future__ import annotations

from collections.abc import Sequence

from apframe.report.marks import Mark, link
from apframe.show.elements import Markup, element, svg

_WIDTH, _HEIGHT, _LEFT = 640, 140, 40


def sorted_bars(
    differences: Sequence[float], label: str, marks: Sequence[Mark | None] = (), words: Sequence[str] = ()
) -> Markup:
    """Draw a bar for each difference, in their order, upwards for gains.

    Parameters
    ----------
    differences
        numbers, the largest first
    label
        a description of the chart, for screen readers
    marks
        the target of a click on each bar, or above or below it
    words
        the title of each bar

    >>> chart = sorted_bars([0.25, 0.0, -0.5], "by query")
    >>> chart.count('class="better"'), chart.count('class="worse"'), ">0.5</text>" in chart
    (1, 1, True)
    >>> linked = sorted_bars([0.25], "by query", [Mark(section="query-7")], ["7: +0.25"])
    >>> 'href="#query-7"' in linked, "<title>7: +0.25</title>" in linked
    (True, True)
    """
    largest = max((abs(value) for value in differences), default=0.0) or 1.0
    middle, step = _HEIGHT / 2, (_WIDTH - _LEFT) / max(len(differences), 1)
    reach = middle - 10
    parts = [element("path", class_="axis", d=f"M{_LEFT} {middle:g}H{_WIDTH}")]
    for value, y in ((largest, middle - reach), (0, middle), (-largest, middle + reach)):
        parts.append(element("text", f"{value:.3g}".replace("-", "−"), x=_LEFT - 5, y=round(y) + 4, text_anchor="end"))
    for place, value in enumerate(differences):
        x, width = round(_LEFT + place * step, 1), round(step, 1)
        bars_of_row = [element("rect", class_="around", x=x, width=width, y=0, height=_HEIGHT)] if marks else []
        height = round(abs(value) / largest * reach, 1)
        if height:
            y = middle - height if value > 0 else middle
            size = {"x": x, "width": round(step * 0.8, 1), "y": round(y, 1), "height": height}
            bars_of_row.append(element("rect", class_="better" if value > 0 else "worse", **size))
        if marks:
            bars_of_row = [link(marks[place], element("title", words[place]), bars_of_row, aria_label=words[place])]
        parts += bars_of_row
    return svg(parts, "lines", _WIDTH, _HEIGHT, label, role="group" if marks else "img")
