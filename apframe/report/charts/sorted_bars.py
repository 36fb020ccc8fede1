"""Bars of differences, the largest gain first: how many rows gain, how many lose, and how much."""

from __future__ import annotations

import polars as pl

from apframe.show.elements import Markup, element, svg

MOST_BARS = 200
_WIDTH, _HEIGHT, _LEFT = 640, 140, 40


def sorted_bars(differences: pl.Series, said: str) -> Markup:
    """Draw a bar for each difference, upwards for gains. Of more than 200, as many are drawn, evenly among their ranks.

    Parameters
    ----------
    differences
        numbers in any order, without nulls
    said
        what is drawn, for those who cannot see it

    >>> chart = sorted_bars(pl.Series([-0.5, 0.25, 0.0]), "by query")
    >>> chart.count('class="better"'), chart.count('class="worse"'), ">0.5</text>" in chart
    (1, 1, True)
    """
    falling = differences.sort(descending=True)
    n = min(len(falling), MOST_BARS)
    falling = falling if len(falling) == n else falling.gather([round(k * (len(falling) - 1) / (n - 1)) for k in range(n)])
    largest = max((abs(value) for value in falling), default=0.0) or 1.0
    middle, step = _HEIGHT / 2, (_WIDTH - _LEFT) / max(n, 1)
    reach = middle - 10
    parts = [element("path", class_="axis", d=f"M{_LEFT} {middle:g}H{_WIDTH}")]
    for value, y in ((largest, middle - reach), (0, middle), (-largest, middle + reach)):
        parts.append(element("text", f"{value:.3g}".replace("-", "−"), x=_LEFT - 5, y=round(y) + 4, text_anchor="end"))
    for place, value in enumerate(falling):
        height = round(abs(value) / largest * reach, 1)
        if height:
            y = middle - height if value > 0 else middle
            size = {"x": round(_LEFT + place * step, 1), "width": round(step * 0.8, 1), "y": round(y, 1), "height": height}
            parts.append(element("rect", class_="better" if value > 0 else "worse", **size))
    return svg(parts, "lines", _WIDTH, _HEIGHT, said)
