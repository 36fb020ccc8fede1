"""The histogram of draws: its bars and marks."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from apframe import plot
from apframe.exceptions import ColumnError, InputError, ParameterError
from apframe.show.colours import PALETTE

pytest.importorskip("altair")

DRAWS = pl.DataFrame({
    "metric": ["AP"] * 5, "run_a": ["old"] * 5, "run_b": ["new"] * 5, "estimate": [0.25] * 5, "draw": range(1, 6),
    "value": [-0.5, 0.0, 0.25, 0.5, None],
})  # fmt: skip


def rows(spec: dict[str, Any], layer: int) -> list[dict[str, Any]]:
    drawn: list[dict[str, Any]] = spec["datasets"][spec["layer"][layer].get("data", spec.get("data"))["name"]]
    return drawn


@pytest.mark.slow
def test_bars_and_marks_of_a_difference() -> None:
    spec = plot.draws(DRAWS, bins=2, confidence=0.5).to_dict()
    better, worse = "new is better (62.5%)", "old is better (37.5%)"
    assert rows(spec, 0) == [
        {"from": -0.5, "to": 0.0, "draws": 1, "side": worse},
        {"from": 0.0, "to": 0.5, "draws": 3, "side": better},
    ]
    assert spec["layer"][0]["encoding"]["color"]["scale"] == {"domain": [better, worse], "range": [PALETTE[1], PALETTE[0]]}
    assert rows(spec, 1) == [{"from": 0.0}]
    marked = [rows(spec, layer)[0] for layer in (2, 4, 6)]
    assert marked == [{"from": -0.125, "text": "−0.125"}, {"from": 0.3125, "text": "+0.312"}, {"from": 0.25, "text": "+0.250"}]
    assert [spec["layer"][layer]["mark"]["strokeDash"] for layer in (2, 4, 6)] == [[5, 4], [5, 4], [1, 0]]
    assert spec["title"]["text"] == "AP of new − old"
    assert spec["title"]["subtitle"] == ["4 draws, dashed: the 50 % interval, solid: the difference itself"]
    assert spec["layer"][0]["encoding"]["x"]["title"] == "difference in AP"


@pytest.mark.slow
def test_a_level_has_one_colour_and_no_line_at_zero() -> None:
    spec = plot.draws(DRAWS.drop("run_a", "run_b"), bins=4).to_dict()
    assert [row["draws"] for row in rows(spec, 0)] == [1, 0, 1, 2]
    assert spec["layer"][0]["encoding"]["color"] == {"value": PALETTE[0]}
    assert len(spec["layer"]) == 1 + 2 * 3
    assert spec["title"]["text"] == "AP"
    without = plot.draws(DRAWS.with_columns(estimate=pl.lit(None, pl.Float64))).to_dict()
    assert "solid" not in without["title"]["subtitle"][0]


@pytest.mark.slow
def test_all_draws_equal() -> None:
    spec = plot.draws(DRAWS.with_columns(value=pl.lit(0.0))).to_dict()  # a model against itself
    assert [row["draws"] for row in rows(spec, 0)] == [5]
    assert rows(spec, 0)[0]["side"] == "new is better (50.0%)"


def test_what_cannot_be_drawn() -> None:
    with pytest.raises(ColumnError, match="value"):
        plot.draws(DRAWS.drop("value"))
    with pytest.raises(InputError, match="no draw has a value"):
        plot.draws(DRAWS.tail(1))
    with pytest.raises(InputError, match="several numbers; filter to one"):
        plot.draws(DRAWS.with_columns(metric=pl.Series(["AP", "AP50", "AP", "AP", "AP"])))
    with pytest.raises(ParameterError, match="bins"):
        plot.draws(DRAWS, bins=0)
    with pytest.raises(ParameterError, match="confidence"):
        plot.draws(DRAWS, confidence=95)
