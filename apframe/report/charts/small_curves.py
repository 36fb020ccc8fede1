"""Small drawings of curves over scores, one for each row of a table, without axes and all with the same ends."""

from __future__ import annotations

import polars as pl

from apframe.report.charts.line_chart import mark
from apframe.show.elements import Markup, element

_WIDTH, _HEIGHT, _MARGIN, _STEP = 100, 30, 4, 2  # at most one point for every second pixel


def curve_cells(points: pl.DataFrame, n: int, x_ends: tuple[float, float] = (0.0, 1.0)) -> list[Markup]:
    """Return a drawing for each of n rows, from 0 at the bottom to 1 at the top.

    Parameters
    ----------
    points
        row (the number of the cell, from 0), class (of the model: "a", "b"), x, y and is_marked, in the order in which a line
        joins them; points without a number are left out
    n
        the number of cells; cells without points have an empty frame
    x_ends
        the ends of the horizontal axis

    >>> points = {"row": [0, 0], "class": ["a", "a"], "x": [1.0, 0.0], "y": [0.0, 1.0], "is_marked": [False, True]}
    >>> cells = curve_cells(pl.DataFrame(points), 2)
    >>> 'd="M104 34L4 4"' in cells[0], cells[1].count("<path")
    (True, 1)
    """
    low, high = x_ends
    across = ((pl.col("x") - low) / ((high - low) or 1.0)).clip(0, 1) * _WIDTH
    down = _MARGIN + ((1 - pl.col("y")) * _HEIGHT).round().cast(pl.Int32)
    line = ["row", "class"]
    placed = points.drop_nulls(["x", "y"]).select(
        *line, "is_marked", x=_MARGIN + _STEP * (across / _STEP).round().cast(pl.Int32), y=down
    )
    is_last = pl.any_horizontal(pl.col(name) != pl.col(name).shift(-1) for name in (*line, "x")).fill_null(True)
    thin = placed.filter(is_last).unique([*line, "x"], keep="last", maintain_order=True)  # of many points few are left
    before, after = pl.col("y").shift(1).over(line), pl.col("y").shift(-1).over(line)
    turns = thin.filter((pl.col("y").ne_missing(before)) | (pl.col("y").ne_missing(after)))
    spot = pl.format("{} {}", "x", "y")
    paths = turns.group_by(line, maintain_order=True).agg(spot.str.join("L"))
    parts: list[list[Markup]] = [
        [element("path", class_="axis", d=f"M{_MARGIN} {_MARGIN}v{_HEIGHT}h{_WIDTH}")] for _ in range(n)
    ]
    for row, class_, path in paths.iter_rows():
        parts[row].append(element("path", class_=f"curve {class_}", d=f"M{path}"))
    for row, class_, x, y in placed.filter("is_marked").select(*line, "x", "y").iter_rows():
        parts[row].append(mark(class_, x, y))
    width, height = _WIDTH + 2 * _MARGIN, _HEIGHT + 2 * _MARGIN
    return [element("svg", each, class_="lines small", width=width, height=height, aria_hidden="true") for each in parts]
