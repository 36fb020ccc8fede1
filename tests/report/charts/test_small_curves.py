"""Small drawings of curves in the rows of a table."""

from __future__ import annotations

import polars as pl

from apframe.report.charts.small_curves import curve_cells


def points(x: list[float], y: list[float | None], best: int | None = None) -> pl.DataFrame:
    marked = [number == best for number in range(len(x))]
    return pl.DataFrame({"row": 0, "class": "b", "x": x, "y": y, "is_marked": marked}, schema_overrides={"y": pl.Float64})


def test_points_of_a_straight_line_are_left_out() -> None:
    (cell,) = curve_cells(points([1.0, 0.8, 0.5, 0.2, 0.0], [None, 1.0, 1.0, 1.0, 0.0], 2), 1)
    assert 'class="curve b" d="M84 4L24 4L4 34"' in cell
    assert 'class="mark b"' in cell and "translate(54 4)" in cell


def test_a_curve_of_many_points_is_short() -> None:
    n = 5_000
    many = points([k / n for k in range(n)], [k % 7 / 7 for k in range(n)])
    (cell,) = curve_cells(many, 1)
    assert cell.count("L") == 50


def test_the_ends_of_the_scores_are_those_of_all_rows() -> None:
    two = pl.concat(
        [points([4.0, 2.0], [0.0, 1.0]), points([0.0], [1.0], 0).with_columns(row=pl.lit(1))], how="vertical_relaxed"
    )
    first, second, third = curve_cells(two, 3, (0.0, 4.0))
    assert 'd="M104 34L54 4"' in first and "translate(4 4)" in second
    assert "curve" not in third
