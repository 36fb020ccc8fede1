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


@pytest.mark.slow
def test_the_bars_are_the_costs_of_the_mean(street: apf.Evaluation) -> None:
    impact = street.error_impact()
    mean = impact.filter(pl.col("category_id").is_null()).head(6)
    bars = drawn(apf.plot.error_impact(impact), 0)
    assert [row["delta_ap"] for row in bars] == mean["delta_ap"].to_list()
    assert [row["n"] for row in bars] == mean["n"].to_list()
    assert [row["kind"] for row in bars] == [
        "classification", "localization", "classification and localization", "duplicate", "background", "missed",
    ]  # fmt: skip
    assert {row["bar"] for row in bars} == {"AP 0.458"}
    encoding = apf.plot.error_impact(impact).to_dict()["layer"][0]["encoding"]
    assert encoding["fillOpacity"] == {"value": 1}


def names(chart: Any) -> list[str]:
    """The models and slices in the legend, without their AP."""
    domain: list[str] = chart.to_dict()["layer"][0]["encoding"]["color"]["scale"]["domain"]
    return [name.rpartition(" · ")[0] for name in domain]


@pytest.mark.slow
def test_several_models_and_slices_stand_beside_each_other(street: apf.Evaluation) -> None:
    impact = street.error_impact()
    two = apf.plot.error_impact({"a": impact, "b": impact})
    assert names(two) == ["a", "b"]
    second = {"condition": [{"test": "(datum.bar === 'b · AP 0.458')", "value": 0}], "value": 1}
    assert two.to_dict()["layer"][0]["encoding"]["fillOpacity"] == second
    slices = street.error_impact(by="weather")
    assert names(apf.plot.error_impact(slices)) == slices["weather"].unique(maintain_order=True).to_list()
    assert names(apf.plot.error_impact({"a": slices}))[0] == f"a · {slices['weather'][0]}"


@pytest.mark.slow
def test_intervals_are_drawn_where_they_are_known(street: apf.Evaluation) -> None:
    chart = apf.plot.error_impact(street, kinds="bkg")
    assert [layer["mark"]["type"] for layer in chart.to_dict()["layer"]] == ["bar", "rule", "tick", "tick", "rule"]
    assert drawn(chart, 0)[0]["low"] < drawn(chart, 0)[0]["delta_ap"] < drawn(chart, 0)[0]["high"]


@pytest.mark.slow
def test_kinds_are_chosen_and_ordered(street: apf.Evaluation) -> None:
    bars = drawn(apf.plot.error_impact(street.error_impact(), kinds=["fn", "FP"]), 0)
    assert [row["kind"] for row in bars] == ["all missed", "all false positives"]
    assert len(drawn(apf.plot.error_impact(street.error_impact(), kinds="bkg"), 0)) == 1


ROWS = {"error": ["cls"], "n": [1], "ap": [0.5], "delta_ap": [0.1]}
BAD: dict[str, tuple[Any, dict[str, Any], type[Exception], str]] = {
    "an unknown kind": (ROWS, {"kinds": ["cla"]}, ParameterError, "no error type 'cla'; did you mean cls"),
    "no such column": ({"error": ["cls"], "delta_ap": [0.1]}, {}, ColumnError, "no column n, ap"),
    "nothing": ({name: [] for name in ROWS}, {}, InputError, "nothing to draw"),
    "no models": ({}, {}, InputError, "nothing to draw"),
    "only nulls": (ROWS | {"delta_ap": [None]}, {}, InputError, "nothing to draw; .* annotations are missing"),
    "one bar twice": ({name: each * 2 for name, each in ROWS.items()}, {}, ParameterError, "two rows of one kind"),
    "too many bars": (
        {name: each * 8 for name, each in ROWS.items()} | {"day": list(range(8))}, {}, InputError, "8 models or slices are too",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("rows", "options", "error", "message"), BAD.values(), ids=BAD)
def test_bad_tables(rows: Any, options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        apf.plot.error_impact(rows, **options)
