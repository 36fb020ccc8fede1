"""The log-average miss rate of curves by hand."""

from __future__ import annotations

import polars as pl
import pytest

from apframe.metrics.miss_rates import LAMR_POINTS, log_average_miss_rate


def lamr(fppi: list[float], miss_rate: list[float | None]) -> float | None:
    curve = pl.DataFrame({"fppi": fppi, "miss_rate": miss_rate}, schema_overrides={"miss_rate": pl.Float64})
    value: float | None = curve.select(log_average_miss_rate()).item()
    return value


def test_points_are_even_in_their_logarithm() -> None:
    assert LAMR_POINTS[::4] == (0.01, 0.1, 1.0)
    assert LAMR_POINTS[1] == pytest.approx(0.0177828)


def test_before_the_first_row_everything_is_missed() -> None:
    assert lamr([0.1, 0.1], [1.0, 0.5]) == pytest.approx(0.5 ** (5 / 9))
    assert lamr([2.0], [0.1]) == 1


def test_nothing_missed_is_almost_nothing() -> None:
    assert lamr([0.0], [0.0]) == pytest.approx(1e-10)


def test_without_annotations_there_is_no_value() -> None:
    assert lamr([0.0, 1.0], [None, None]) is None


def test_each_curve_has_its_own() -> None:
    table = pl.DataFrame({"name": ["a", "a", "b"], "fppi": [0.0, 0.5, 0.0], "miss_rate": [1.0, 0.5, 0.25]})
    each = table.group_by("name", maintain_order=True).agg(lamr=log_average_miss_rate([0.1, 1]))
    assert each["lamr"].to_list() == pytest.approx([0.5**0.5, 0.25])
