"""The chart of reliability: what is in its specification."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import apframe as apf
from apframe import plot
from apframe.exceptions import ColumnError, InputError, ParameterError

pytest.importorskip("altair")

TABLE = pl.DataFrame({
    "area_range": ["all"] * 3, "iou_threshold": [0.5] * 3, "target": ["outcome"] * 3, "min_score": [0.0] * 3, "bin": [1, 2, 3],
    "score_from": [0.0, 0.25, 0.5], "score_to": [0.25, 0.5, 1.0], "n": [4, 0, 12], "mean_score": [0.1, None, 0.75],
    "mean_target": [0.25, None, 0.5], "gap": [0.15, None, -0.25], "low": [0.05, None, 0.25], "high": [0.7, None, 0.75],
})  # fmt: skip


def panels(spec: dict[str, Any]) -> list[dict[str, Any]]:
    charts: list[dict[str, Any]] = spec["concat"]
    return charts


def rows_of(spec: dict[str, Any], part: dict[str, Any]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = spec["datasets"][part["data"]["name"]]
    return rows


@pytest.mark.slow
def test_one_model() -> None:
    spec = plot.reliability(TABLE).to_dict()
    (panel,) = panels(spec)
    assert panel["title"]["text"] == "ece 0.225, n 16"  # (4 · .15 + 12 · .25) / 16
    upper, counts = panel["vconcat"]
    bars, rules, diagonal = upper["layer"]
    assert [row["mean_target"] for row in rows_of(spec, bars)] == [0.25, 0.5]  # empty bins have no bar
    assert [(row["mean_score"], row["mean_target"]) for row in rows_of(spec, diagonal)] == [(0, 0), (1, 1)]
    assert [(row["low"], row["high"]) for row in rows_of(spec, rules)] == [(0.05, 0.7), (0.25, 0.75)]
    assert rules["encoding"]["x"]["field"] == "mean_score" and bars["encoding"]["x2"]["field"] == "score_to"
    assert counts["encoding"]["y"]["field"] == "n" and counts["height"] == upper["height"] / 4
    assert spec["title"]["subtitle"] == ["IoU threshold 0.5, area range all"]
    assert bars["encoding"]["y"]["title"] == "share that is right"


@pytest.mark.slow
def test_several_models_side_by_side() -> None:
    spec = plot.reliability({"a": TABLE, "b": TABLE.with_columns(pl.col("gap") / 2)}).to_dict()
    assert [panel["title"]["text"] for panel in panels(spec)] == ["a", "b"]
    assert [panel["title"]["subtitle"] for panel in panels(spec)] == [["ece 0.225, n 16"], ["ece 0.113, n 16"]]
    both = pl.concat([TABLE.select(pl.lit(run).alias("run"), pl.all()) for run in "ab"])
    assert [panel["title"]["text"] for panel in panels(plot.reliability(both, "run").to_dict())] == ["a", "b"]


@pytest.mark.slow
def test_a_panel_without_detections_stays() -> None:
    nothing = TABLE.with_columns(n=0, **{name: pl.lit(None, pl.Float64) for name in TABLE.columns[-5:]})
    spec = plot.reliability({"a": TABLE, "b": nothing}).to_dict()
    assert panels(spec)[1]["title"]["subtitle"] == ["no detections"]


@pytest.mark.slow
def test_similarities_have_no_interval() -> None:
    null = pl.lit(None, pl.Float64)
    spec = plot.reliability(TABLE.with_columns(target=pl.lit("similarity"), low=null, high=null, min_score=0.3)).to_dict()
    upper = panels(spec)[0]["vconcat"][0]
    assert rows_of(spec, upper["layer"][1]) == []
    assert upper["layer"][0]["encoding"]["y"]["title"] == "mean similarity"
    assert spec["title"]["subtitle"] == ["IoU threshold 0.5, area range all, scores from 0.3"]


@pytest.mark.slow
def test_an_evaluation_is_drawn() -> None:
    folder = Path(__file__).parents[2] / "data" / "street"
    table = apf.evaluate(folder / "instances.json", folder / "model_a.json").reliability()
    assert panels(plot.reliability(table).to_dict())[0]["title"]["text"] == "ece 0.263, n 1,955"


def test_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    both = pl.concat([TABLE, TABLE])
    with pytest.raises(ParameterError, match="by: nothing does not distinguish the panels: the same bin appears"):
        plot.reliability(both)
    with pytest.raises(InputError, match="there is nothing to draw; no detection counts"):
        plot.reliability(TABLE.with_columns(n=0))
    with pytest.raises(InputError, match="there is nothing to draw; the dict is empty"):
        plot.reliability({})
    with pytest.raises(InputError, match="13 panels are too many for one chart; filter them"):
        plot.reliability({str(k): TABLE for k in range(13)})
    with pytest.raises(ColumnError, match="no column mean_score"):
        plot.reliability(TABLE.drop("mean_score"))
    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(ParameterError, match="charts need Altair"):
        plot.reliability(TABLE)
