"""Dots with bars: numbers and their intervals, with one axis for all rows of a table in its head."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import polars as pl

from apframe.show.elements import Markup, element, svg
from apframe.show.interval_marks import interval_marks, shown

_WIDTH, _HEIGHT, _MARGIN, _CAP = 180, 18, 16, 4
_APART = 62  # pixels that a number needs next to one at the end
_AXIS = 14  # height of the axis in the head, in pixels


def interval_cells(
    estimate: pl.Series,
    low: pl.Series,
    high: pl.Series,
    *,
    zero: bool = False,
    metrics: Iterable[str] = (),
) -> tuple[Markup, list[Markup]]:
    """Return the axis of a column, for its head, and a drawing for each row: a bar from `low` to `high`, a dot at `estimate`.

    Parameters
    ----------
    estimate, low, high
        numbers; a null estimate gives an empty cell, null ends a dot without a bar
    zero
        draw a line at 0. Intervals that exclude it have filled dots, in the colour of better or worse, the others hollow ones
    metrics
        the metric of each row: differences of errors, such as ATE, are better below 0, all others above it

    >>> one = [pl.Series([value]) for value in (0.1, 0.05, 0.2)]
    >>> axis, cells = interval_cells(*one, zero=True)
    >>> print(cells[0])
    <svg class="interval better" viewBox="0 0 180 18" width="180" height="18" aria-hidden="true"><line class="zero" x1="16" \
y1="0" x2="16" y2="18"></line><path class="bar" d="M53 5v8m0-4H164m0-4v8"></path><circle cx="90" cy="9" r="4"></circle></svg>
    >>> axis.count("<text"), ">+0.200</text>" in axis
    (3, True)
    """
    marks = interval_marks(estimate, low, high, metrics if zero else None)
    ends = pl.concat([marks["value"], marks["low"], marks["high"]]).drop_nulls()
    numbers = [*ends, 0.0] if zero or ends.is_empty() else [*ends]
    lowest, highest = min(numbers), max(numbers)
    span = (highest - lowest) or 1.0

    def place(value: float) -> int:
        return round(_MARGIN + (value - lowest) / span * (_WIDTH - 2 * _MARGIN))

    cells = []
    middle = _HEIGHT // 2
    for value, begin, end, verdict in marks.iter_rows():
        if value is None:
            cells.append(Markup(""))
            continue
        parts = [element("line", class_="zero", x1=place(0), y1=0, x2=place(0), y2=_HEIGHT)] if zero else []
        if begin is not None and end is not None:
            caps = f"v{2 * _CAP}m0-{_CAP}H{place(end)}m0-{_CAP}v{2 * _CAP}"
            parts.append(element("path", class_="bar", d=f"M{place(begin)} {middle - _CAP}{caps}"))
        parts.append(element("circle", cx=place(value), cy=middle, r=4))
        cells.append(svg(parts, f"interval {verdict or ''}".strip(), _WIDTH, _HEIGHT))
    marked = [lowest, highest]
    if zero and all(abs(place(end) - place(0)) > _APART for end in marked):
        marked.append(0.0)
    elif not zero or 0.0 in marked:
        marked.append((lowest + highest) / 2)
    return _axis({place(value): shown(value, "+.3f" if zero else ".3f") for value in sorted(marked)}), cells


def _axis(marked: Mapping[int, str]) -> Markup:
    """Draw the axis of the drawings below it, with a tick and a number at some positions."""
    ticks = "".join(f"M{x} {_AXIS}v4" for x in marked)
    line = element("path", class_="axis", d=f"M{min(marked)} {_AXIS + 4}H{max(marked)}{ticks}")
    texts = [
        element(
            "text",
            text,
            x=x,
            y=_AXIS - 3,
            text_anchor="start" if x == _MARGIN else "end" if x == _WIDTH - _MARGIN else "middle",
        )
        for x, text in marked.items()
    ]
    return element("span", svg([line, texts], "interval", _WIDTH, _AXIS + 5), "95 % interval", class_="axis")
