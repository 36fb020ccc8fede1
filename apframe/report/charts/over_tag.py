"""A metric over the values of a tag: a dot with an interval for each checkpoint, and marks on two of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import polars as pl

from apframe.compare.inference import EQUAL
from apframe.report.charts.line_chart import CLASSES, mark
from apframe.report.tag_axis import TagAxis
from apframe.show.elements import Markup, element, svg
from apframe.show.interval_marks import interval_marks
from apframe.wording import cut

_LARGE, _SMALL = (420, 240, 38), (164, 130, 24)  # width, height, and of that below the axis
_LEFT, _TOP, _RIGHT, _INSET = 40, 24, 14, 8
_LETTER, _APART = 6.5, 6  # pixels of a letter, and between two labels


def chart_over_tag(
    axis: TagAxis,
    points: pl.DataFrame,
    title: str,
    *,
    marked: Sequence[int] = (),
    ends: tuple[float, float] | None = None,
    large: bool = False,
) -> Markup:
    """Draw a number of each checkpoint, from left to right.

    Parameters
    ----------
    axis
        the values of the tag
    points
        estimate, low and high of each value, in the same order; points without a finite number are left out
    title
        the name of the metric
    marked
        the positions of up to two checkpoints, which are marked like the first and the second model in other charts
    ends
        the minimum range of the vertical axis; by default the lowest and the highest number
    large
        include the name of the tag, for a single chart; small charts are placed side by side

    >>> points = pl.DataFrame({"estimate": [0.25, 0.5], "low": [0.2, None], "high": [0.3, None]})
    >>> chart = chart_over_tag(TagAxis("epoch", ["1", "2"], [1.0, 2.0]), points, "AP", marked=[1])
    >>> chart.count('class="dot"'), chart.count('class="mark a"'), chart.count('class="bar"')
    (1, 1, 1)
    >>> "AP over epoch: 0.250 at 1, 0.500 at 2" in chart
    True
    """
    width, height, below = _LARGE if large else _SMALL
    right, bottom = width - _RIGHT, height - below
    dots = interval_marks(points["estimate"], points["low"], points["high"]).select("value", "low", "high")
    numbers = [*(ends or ()), *pl.concat([*dots]).drop_nulls()]
    marks = round_numbers(min(numbers, default=0.0), max(numbers, default=1.0))
    span, height_of = axis.places[-1] - axis.places[0], marks[-1] - marks[0]
    x = [_LEFT + _INSET + round((place - axis.places[0]) / span * (right - _LEFT - 2 * _INSET)) for place in axis.places]

    apart = (right - _LEFT) / len(x)

    def down(value: float) -> int:
        return round(bottom - (value - marks[0]) / height_of * (bottom - _TOP))

    parts = [element("path", class_="axis", d=f"M{_LEFT} {_TOP}V{bottom}")]
    parts += [element("path", class_="axis", d=f"M{_LEFT} {down(number)}H{right}") for number in marks]
    digits = max(0, -math.floor(math.log10(marks[1] - marks[0]) + EQUAL))
    parts += [element("text", f"{number:.{digits}f}", x=_LEFT - 5, y=down(number) + 4, text_anchor="end") for number in marks]
    for label, tick, middle in _labels(axis.labels, x, width):
        parts.append(element("path", class_="axis", d=f"M{tick} {bottom}v4"))
        parts.append(element("text", label, x=middle, y=bottom + 16, text_anchor="middle"))
    if large:
        parts.append(element("text", axis.tag, x=(_LEFT + right) // 2, y=height - 5, text_anchor="middle", class_="title"))
    parts.append(element("text", cut(title, int(width / _LETTER)), x=2, y=_TOP - 10, class_="title"))
    dots_with_values = [(at, *row) for at, row in enumerate(dots.iter_rows()) if row[0] is not None]
    if dots_with_values:
        line = "L".join(f"{x[at]} {down(value)}" for at, value, *_ in dots_with_values)
        parts.append(element("path", class_="curve", d=f"M{line}"))
    for at, value, low, high in dots_with_values:
        words, bar = f"{axis.names[at]}: {title} {value:.3f}", None
        if low is not None and high is not None:
            words += f", 95 % interval {low:.3f} to {high:.3f}"
            bar = element("path", class_="bar", d=f"M{x[at]} {down(low)}V{down(high)}")
        dot = element("circle", cx=x[at], cy=down(value), r=min(3, apart / 3), class_="dot")
        spot = mark(CLASSES[marked.index(at)], x[at], down(value)) if at in marked else dot
        parts.append(element("g", element("title", words), bar, spot))
    summary = ", ".join(
        f"{value:.3f} at {axis.labels[at]}" for at, value, *_ in dict.fromkeys([*dots_with_values[:1], *dots_with_values[-1:]])
    )
    return svg(parts, "lines history", width, height, f"{title} over {axis.tag}: {summary or 'no values'}")


def round_numbers(low: float, high: float) -> list[float]:
    """Return round numbers at equal distances, from one at or below `low` to one at or above `high`.

    >>> [round(mark, 9) for mark in round_numbers(0.21, 0.38)]
    [0.2, 0.25, 0.3, 0.35, 0.4]
    >>> round_numbers(0.0, 0.0)
    [-1.0, -0.5, 0.0, 0.5, 1.0]
    """
    if high - low < EQUAL:
        low, high = low - (abs(low) or 1.0), high + (abs(high) or 1.0)
    power = 10 ** math.floor(math.log10(high - low) + EQUAL)
    step = next(power * share for share in (0.2, 0.5, 1.0, 2.0, 5.0) if (high - low) / (power * share) <= 4)
    first, last = math.floor(low / step + EQUAL), math.ceil(high / step - EQUAL)
    return [step * number for number in range(first, last + 1)]


def _labels(labels: Sequence[str], x: Sequence[int], width: int) -> list[tuple[str, int, int]]:
    """Return the labels to draw, with the positions of their ticks and middles: every second, every third ... if necessary."""
    halves = [round(len(label) * _LETTER / 2) for label in labels]
    middles = [min(max(at, half), width - half) for at, half in zip(x, halves, strict=True)]  # inside the drawing

    def fits(left: int, right: int) -> bool:
        return middles[left] + halves[left] + _APART <= middles[right] - halves[right]

    strides = ([*range(len(labels) - 1, -1, -stride)] for stride in range(1, len(labels) + 1))
    visible = next(each for each in strides if all(fits(left, right) for right, left in pairwise(each)))
    first = [0] if fits(0, visible[-1]) else []
    return [(labels[at], x[at], middles[at]) for at in [*visible, *first]]
