"""The chart of what errors cost: what is in its specification, and bad tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import apframe as apf
from apframe.exceptions import ColumnError, InputError, ParameterError

pytest.importorskip("altair")

STREET = Path(__file__).parents[2] / "data" / "street"


@pytest.fixture(scope="module")
def street() -> apf.Evaluation:
    return apf.evaluate(STREET / "instances.json", STREET / "model_a.json")


def drawn(chart: Any, layer: int) -> list[dict[str, Any]]:
    spec = chart.to_dict()
    rows: list[dict[str, Any]] = spec["datasets"][spec["layer"][layer]["data"]["name"]]
    return rows


def test_the_pieces_are_the_rises_of_the_mean(street: apf.Evaluation) -> None:
    impact = street.error_impact()
    mean = impact.filter(pl.col("category_id").is_null()).head(6)
    pieces = drawn(apf.plot_error_impact(impact), 0)
    assert [row["delta_ap"] for row in pieces] == mean["delta_ap"].to_list()
    assert [row["n"] for row in pieces] == mean["n"].to_list()
    assert [row["kind"] for row in pieces] == [
        "classification", "localization", "classification and localization", "duplicate", "background", "missed",
    ]  # fmt: skip
    assert [row["text"] for row in drawn(apf.plot_error_impact(impact), 1)] == ["AP 0.458"]
    assert [row["text"] for row in drawn(apf.plot_error_impact(impact.with_columns(ap=0.39)), 1)] == ["AP 0.390"]


@pytest.mark.slow
def test_several_models_and_slices_are_bars(street: apf.Evaluation) -> None:
    impact = street.error_impact()
    two = drawn(apf.plot_error_impact({"a": impact, "b": impact}), 1)
    assert [row["bar"] for row in two] == ["a", "b"]
    slices = street.error_impact(by="weather")
    assert [row["bar"] for row in drawn(apf.plot_error_impact(slices), 1)] == slices["weather"].unique(
        maintain_order=True
    ).to_list()
    both = drawn(apf.plot_error_impact({"a": slices}), 1)
    assert both[0]["bar"] == f"a · {slices['weather'][0]}"
    runs = pl.concat([impact.select(pl.lit(name).alias("run"), pl.all()) for name in ("one", "two")])
    assert [row["bar"] for row in drawn(apf.plot_error_impact(runs), 1)] == ["one", "two"]


def test_kinds_are_chosen_and_ordered(street: apf.Evaluation) -> None:
    pieces = drawn(apf.plot_error_impact(street.error_impact(), kinds=["fn", "FP"]), 0)
    assert {row["kind"]: row["order"] for row in pieces} == {"all missed": 0, "all false positives": 1}
    assert len(drawn(apf.plot_error_impact(street.error_impact(), kinds="bkg"), 0)) == 1


ROWS = {"error": ["cls"], "n": [1], "ap": [0.5], "delta_ap": [0.1]}
BAD: dict[str, tuple[Any, dict[str, Any], type[Exception], str]] = {
    "an unknown kind": (ROWS, {"kinds": ["cla"]}, ParameterError, "no error kind 'cla'; did you mean cls"),
    "no such column": ({"error": ["cls"], "delta_ap": [0.1]}, {}, ColumnError, "no column n, ap"),
    "nothing": ({name: [] for name in ROWS}, {}, InputError, "nothing to draw"),
    "no models": ({}, {}, InputError, "nothing to draw"),
    "only nulls": (ROWS | {"delta_ap": [None]}, {}, InputError, "nothing to draw; .* annotations are missing"),
    "one bar twice": ({name: each * 2 for name, each in ROWS.items()}, {}, ParameterError, "two rows of one kind"),
    "too many bars": (
        {name: each * 61 for name, each in ROWS.items()} | {"day": list(range(61))}, {}, InputError, "61 bars are too many",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("rows", "options", "error", "message"), BAD.values(), ids=BAD)
def test_bad_tables(rows: Any, options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        apf.plot_error_impact(rows, **options)
