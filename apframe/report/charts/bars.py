"""Bars from 0, one for each model below the other, with one scale for all rows of a table."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from apframe.report.marks import Mark, link
from apframe.show.elements import Markup, element, joined, svg

_WIDTH, _BAR, _GAP = 160, 6, 2
_CLASSES = ("a", "b")


def bar_cells(values: Sequence[pl.Series], marks: Sequence[Sequence[Mark | None]] = ()) -> list[Markup]:
    """Return a small drawing for each row: a bar for each model, filled for the first one and hollow for the second.

    Parameters
    ----------
    values
        a column for each of one or two models; null has no bar
    marks
        the rows behind each bar, likewise

    >>> print(bar_cells([pl.Series([0.5, 0.25])])[1])
    <svg class="bars" viewBox="0 0 160 10" width="160" height="10" aria-hidden="true"><rect class="a" x="1" y="2" width="79" \
height="6"></rect><line class="zero" x1="1" y1="0" x2="1" y2="10"></line></svg>
    """
    ends = pl.concat([each.cast(pl.Float64) for each in values]).drop_nulls()
    lowest, highest = min([0.0, *ends]), max([0.0, *ends])
    span = (highest - lowest) or 1.0
    height = len(values) * (_BAR + _GAP) + _GAP

    def place(value: float) -> int:
        return 1 + round((value - lowest) / span * (_WIDTH - 2))

    cells = []
    for number, row in enumerate(zip(*values, strict=True)):
        bars = []
        for k, value in enumerate(row):
            if value is None:
                continue
            begin, end = sorted((place(value), place(0)))
            bar = element("rect", class_=_CLASSES[k], x=begin, y=_GAP + k * (_BAR + _GAP), width=end - begin, height=_BAR)
            mark = marks[k][number] if marks else None
            bars.append(link(mark, bar, aria_label=f"{mark.n:,} errors", tabindex=-1) if mark else bar)
        zero = element("line", class_="zero", x1=place(0), y1=0, x2=place(0), y2=height)
        cells.append(svg([*bars, zero], "bars", _WIDTH, height))
    return cells


def legend(names: Sequence[str]) -> Markup:
    """Return the names of the models, each with its mark.

    >>> legend(["new"]).endswith(" new</span>")
    True
    """
    marks = [
        svg([element("rect", class_=_CLASSES[k], x=1, y=1, width=10, height=_BAR)], "bars", 12, 8) for k in range(len(names))
    ]
    return joined(element("span", mark, f" {name}", class_="mark") for mark, name in zip(marks, names, strict=True))
