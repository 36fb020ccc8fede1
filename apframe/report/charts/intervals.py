"""Dots with bars: a number and its interval, all rows of a table on one scale."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, repeat

import polars as pl

from apframe.protocols.headlines import less_is_better
from apframe.show.elements import Markup, element, svg

_WIDTH, _HEIGHT, _MARGIN = 160, 18, 6


def interval_cells(
    estimate: pl.Series,
    low: pl.Series,
    high: pl.Series,
    *,
    zero: bool = False,
    metrics: Iterable[str] = (),
) -> list[Markup]:
    """Return a small drawing for each row: a bar from `low` to `high` with a dot at `estimate`.

    Parameters
    ----------
    estimate, low, high
        numbers; a null estimate gives an empty cell, null ends a dot without a bar
    zero
        draw a line at 0. Intervals that exclude it have filled dots, in the colour of better or worse, the others hollow ones
    metrics
        the metric of each row: differences of errors, such as ATE, are better below 0, those of others above it

    >>> one = [pl.Series([value]) for value in (0.1, 0.05, 0.2)]
    >>> print(interval_cells(*one, zero=True)[0])
    <svg class="interval better" viewBox="0 0 160 18" width="160" height="18" aria-hidden="true"><line class="zero" x1="6" \
y1="0" x2="6" y2="18"></line><line class="bar" x1="43" y1="9" x2="154" y2="9"></line><circle cx="80" cy="9" \
r="4"></circle></svg>
    """
    ends = pl.concat([estimate, low, high]).drop_nulls().cast(pl.Float64)
    numbers = [*ends, 0.0] if zero or ends.is_empty() else [*ends]
    least, most = min(numbers), max(numbers)
    span = (most - least) or 1.0

    def place(value: float) -> float:
        return round(_MARGIN + (value - least) / span * (_WIDTH - 2 * _MARGIN))

    cells = []
    middle = _HEIGHT // 2
    named = chain(metrics, repeat(""))
    for value, begin, end, metric in zip(estimate, low, high, named, strict=False):
        if value is None:
            cells.append(Markup(""))
            continue
        parts = [element("line", class_="zero", x1=place(0), y1=0, x2=place(0), y2=_HEIGHT)] if zero else []
        if begin is not None and end is not None:
            parts.append(element("line", class_="bar", x1=place(begin), y1=middle, x2=place(end), y2=middle))
        parts.append(element("circle", cx=place(value), cy=middle, r=4))
        class_ = f"interval {verdict(begin, end, metric)}" if zero else "interval"
        cells.append(svg(parts, class_, _WIDTH, _HEIGHT))
    return cells


def verdict(low: float | None, high: float | None, metric: str = "") -> str:
    """Say what the interval of a difference means: "better", "worse" or "unclear", as it includes 0 or is not known.

    >>> verdict(0.1, 0.2), verdict(0.1, 0.2, "ATE"), verdict(-0.1, 0.2), verdict(None, None)
    ('better', 'worse', 'unclear', 'unclear')
    """
    if low is not None and high is not None and (low > 0 or high < 0):
        return "better" if (low > 0) != less_is_better(metric) else "worse"
    return "unclear"
