"""Lines on two axes from 0 to 1, or over scores: one for each model, with a mark on the best point."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter

import polars as pl

from apframe.report.marks import Mark, link
from apframe.show.charts import TICKS
from apframe.show.elements import Markup, element, svg

WIDTH, HEIGHT = 280, 220  # four fit side by side on wide screens
_LEFT, _TOP, _RIGHT, _BOTTOM = 36, 18, 10, 38
CLASSES = ("a", "b", "c", "d", "e", "f")
_MARKS = {"a": "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z", "b": "M0-5L5 4H-5z"}  # a circle and a triangle


@dataclass(frozen=True, eq=False)
class Line:
    """One line: numbers from left to right, the number of the marked point if there is one, and points that are links."""

    name: str
    x: pl.Series
    y: pl.Series
    marked: int | None = None
    spots: Sequence[tuple[float | None, float | None, Mark | None]] = ()


def line_chart(
    lines: Sequence[Line], x_title: str, y_title: str, x_ends: tuple[float, float] = (0.0, 1.0), *, follows: bool = False
) -> Markup:
    """Draw lines as steps: a number applies to the left, up to the point before. Models also differ in dashes and marks.

    Parameters
    ----------
    lines
        a line for each model; points without a number are left out
    x_title, y_title
        the titles of the axes; the vertical one goes from 0 to 1
    x_ends
        the ends of the horizontal axis
    follows
        True if a line shows the position of the slider

    >>> chart = line_chart([Line("new", pl.Series([0.0, 1.0]), pl.Series([1.0, 0.0]), 0)], "recall", "precision")
    >>> 'd="M36 18H36V182H270"' in chart, "precision against recall: new" in chart
    (True, True)
    """
    across, down = scales(x_ends)
    parts = [axes(x_ends, x_title, y_title)]
    for line, class_ in zip(lines, CLASSES, strict=False):
        points = [(across(x), down(y)) for x, y in zip(line.x, line.y, strict=True) if x is not None and y is not None]
        steps = "V".join(f"{y}H{[*level][-1][0]}" for y, level in groupby(points, itemgetter(1)))
        if points:
            path = f"M{points[0][0]} {steps}"
            parts.append(element("path", element("title", line.name), class_=f"curve {class_}", d=path))
        if line.marked is not None and line.y[line.marked] is not None:
            x, y = across(line.x[line.marked]), down(line.y[line.marked])
            parts.append(mark(class_, x, y))
        for spot_x, spot_y, selected in line.spots:
            if spot_x is not None and spot_y is not None and selected:
                words = f"{line.name}: {y_title} {spot_y:.3f} at a {x_title} of {spot_x:.3f}"
                dot = element(
                    "circle", element("title", words), cx=across(spot_x), cy=down(spot_y), r=3, class_=f"mark {class_}"
                )
                parts.append(link(selected, dot, aria_label=words))
    if follows:
        size = {"y1": _TOP, "y2": HEIGHT - _BOTTOM, "x1": across(x_ends[0]), "x2": across(x_ends[1])}
        parts.append(
            element("line", class_="here", visibility="hidden", data_ends=str([*x_ends, size["x1"], size["x2"]]), **size)
        )
    label = f"{y_title} against {x_title}: {', '.join(line.name for line in lines)}"
    return svg(parts, "lines", WIDTH, HEIGHT, label, "group" if any(line.spots for line in lines) else "img")


def mark(class_: str, x: int, y: int) -> Markup:
    """Return the mark of a model at a position: a triangle for the second model, a circle for the others.

    >>> mark("b", 20, 7)
    '<path class="mark b" d="M0-5L5 4H-5z" transform="translate(20 7)"></path>'
    """
    return element("path", class_=f"mark {class_}", d=_MARKS.get(class_, _MARKS["a"]), transform=f"translate({x} {y})")


def legend(names: Sequence[str]) -> Markup:
    """Return the names of the models, each with its line and its mark.

    >>> legend(["old", "new"]).count("<svg")
    2
    """
    entries = []
    for name, class_ in zip(names, CLASSES, strict=False):
        line = element("path", class_=f"curve {class_}", d="M1 7H39")
        entries.append(element("span", svg([line, mark(class_, 20, 7)], "lines", 40, 14), f" {name}"))
    return element("p", entries, class_="drawn-as")


def not_drawn(names: Sequence[str]) -> list[str]:
    """Return a line if there are more models than a chart shows.

    >>> not_drawn(["a", "b"]), not_drawn("abcdefgh")
    ([], ['Charts show the first 6 of 8 models.'])
    """
    max_lines = len(CLASSES)
    return [f"Charts show the first {max_lines} of {len(names)} models."] if len(names) > max_lines else []


def scales(x_ends: tuple[float, float]) -> tuple[Callable[[float], int], Callable[[float], int]]:
    """Return functions from numbers to positions in a chart: across, between two ends, and down, from 1 to 0.

    >>> across, down = scales((0.0, 0.5))
    >>> across(0.5), down(1.0)
    (270, 18)
    """
    low, high = x_ends
    span = (high - low) or 1.0
    return (
        lambda value: round(_LEFT + (value - low) / span * (WIDTH - _LEFT - _RIGHT)),
        lambda value: round(_TOP + (1 - value) * (HEIGHT - _TOP - _BOTTOM)),
    )


def axes(x_ends: tuple[float, float], x_title: str, y_title: str) -> Markup:
    """Draw both axes with their numbers and titles.

    >>> axes((0.0, 1.0), "recall", "precision").count("<text")
    12
    """
    (low, high), (across, down) = x_ends, scales(x_ends)
    bottom, right = HEIGHT - _BOTTOM, WIDTH - _RIGHT
    parts = [element("path", class_="axis", d=f"M{_LEFT} {_TOP}V{bottom}H{right}")]
    for y in TICKS:
        x = low + y * (high - low)
        parts.append(element("text", f"{x:.3g}", x=across(x), y=bottom + 15, text_anchor="middle"))
        parts.append(element("text", f"{y:.3g}", x=_LEFT - 5, y=down(y) + 4, text_anchor="end"))
    parts.append(element("text", x_title, x=(_LEFT + right) // 2, y=HEIGHT - 6, text_anchor="middle", class_="title"))
    parts.append(element("text", y_title, x=_LEFT + 6, y=_TOP - 7, class_="title"))
    return element("g", parts)
