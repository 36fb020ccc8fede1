"""Charts to choose a score threshold by: what is in their specification."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import apframe as apf
from apframe import plot
from apframe.exceptions import ColumnError, InputError, ParameterError

pytest.importorskip("altair")
STREET = Path(__file__).parents[2] / "data" / "street"


def rows(chart: Any, layer: int) -> list[dict[str, Any]]:
    spec = chart.to_dict()
    data = spec["layer"][layer].get("data") or spec["data"]
    records: list[dict[str, Any]] = spec["datasets"][data["name"]]
    return records


def table(*names: str, n: int = 3) -> pl.DataFrame:
    """Lines of two right ones and a wrong one in between, one more missed; F1 is best at the lowest score."""
    lines = [
        {
            "category_id": at, "name": name, "area_range": "all", "iou_threshold": 0.5, "score_threshold": 0.9 - row / (2 * n),
            "tp": (row + 2) // 2, "fp": (row + 1) // 2, "fn": n + at - (row + 2) // 2,
            "precision": ((row + 2) // 2) / (row + 1), "recall": ((row + 2) // 2) / (n + at),
            "f1": 0.5 + row / 100, "is_best": row == n - 1,
            "fppi": (row + 1) // 2 / 2, "miss_rate": 1 - ((row + 2) // 2) / (n + at),
        }
        for at, name in enumerate(names) for row in range(n)
    ]  # fmt: skip
    return pl.DataFrame(lines)


@pytest.mark.slow
def test_each_category_has_a_chart_of_three_lines() -> None:
    spec = plot.operating_points(table("cat", "dog")).to_dict()
    assert [part["title"]["text"] for part in spec["concat"]] == ["cat", "dog"]
    assert spec["title"]["subtitle"] == ["IoU threshold 0.5, area range all"]
    lines = spec["concat"][0]["layer"][1]
    assert lines["mark"]["interpolate"] == "step-before"
    points = spec["datasets"][lines["data"]["name"]]
    assert {(row["colour"], round(row["score_threshold"], 3)): round(row["value"], 3) for row in points} == {
        ("precision", 0.9): 1.0, ("precision", 0.733): 0.5, ("precision", 0.567): 0.667,
        ("recall", 0.9): 0.333, ("recall", 0.733): 0.333, ("recall", 0.567): 0.667,
        ("F1", 0.9): 0.5, ("F1", 0.733): 0.51, ("F1", 0.567): 0.52,
    }  # fmt: skip
    assert spec["concat"][0]["title"]["subtitle"] == ["best F1 0.520 at 0.5667"]


@pytest.mark.slow
def test_the_largest_categories_are_drawn_in_their_order() -> None:
    spec = plot.operating_points(table("few", "more", "most"), max_charts=2, columns=1).to_dict()
    assert [part["title"]["text"] for part in spec["concat"]] == ["more", "most"]
    assert spec["title"]["subtitle"][1] == "the 2 with most annotations of 3"


@pytest.mark.slow
def test_long_lines_are_thinned_and_keep_the_best() -> None:
    chart = plot.operating_points(table("cat", n=3000), max_points=50).to_dict()
    points = chart["datasets"][chart["concat"][0]["layer"][1]["data"]["name"]]
    assert len(points) <= 3 * 51
    assert min(row["score_threshold"] for row in points) == pytest.approx(0.9 - 2999 / 6000)
    assert chart["concat"][0]["layer"][1]["mark"]["interpolate"] == "step-before"


@pytest.mark.slow
def test_one_curve_needs_no_name() -> None:
    spec = plot.operating_points(table("cat"), by=[]).to_dict()
    assert spec["concat"][0]["title"]["text"] == "best F1 0.520 at 0.5667"


@pytest.mark.slow
def test_miss_rates_are_steps_from_the_left_edge() -> None:
    points = rows(plot.miss_rates(table("cat")), 0)
    assert [(row["fppi"], round(row["miss_rate"], 3)) for row in points] == [(0.1, 0.667), (0.5, 0.667), (0.5, 0.333)]
    spec = plot.miss_rates(table("cat")).to_dict()
    assert spec["layer"][0]["mark"]["interpolate"] == "step-after"
    assert [spec["layer"][0]["encoding"][axis]["scale"] for axis in "xy"] == [
        {"type": "log", "domain": [0.1, 1.0], "nice": False}, {"type": "log", "domain": [0.1, 1], "nice": False},
    ]  # fmt: skip
    assert spec["title"]["text"] == f"Log-average miss rate: {(2 / 3) ** (7 / 9) * (1 / 3) ** (2 / 9):.3f}"


@pytest.mark.slow
def test_models_are_named_with_their_average_the_lowest_first() -> None:
    runs = pl.concat([table("cat").with_columns(run=pl.lit("worse"), miss_rate=pl.col("miss_rate") + 0.1),
                      table("cat").with_columns(run=pl.lit("better"))], how="diagonal")  # fmt: skip
    spec = plot.miss_rates(runs.select("run", pl.exclude("run"))).to_dict()
    domain = spec["layer"][0]["encoding"]["color"]["scale"]["domain"]
    assert [name.partition(" · ")[0] for name in domain] == ["better", "worse"]
    assert spec["layer"][0]["encoding"]["color"]["title"] == "run · log-average miss rate"


@pytest.mark.slow
def test_charts_of_an_evaluation() -> None:
    evaluation = apf.evaluate(STREET / "instances.json", STREET / "model_a.json")
    thresholds = evaluation.thresholds(0.5).filter(pl.col("name").is_in(["pedestrian", "car"]))
    assert len(plot.operating_points(thresholds).to_dict()["concat"]) == 2
    domain = plot.miss_rates(thresholds).to_dict()["layer"][0]["encoding"]["color"]["scale"]["domain"]
    lamr = evaluation.miss_rates(0.5).filter(pl.col("name") == "pedestrian")["lamr"].item()
    assert f"pedestrian · {lamr:.3f}" in domain


def test_nothing_to_draw() -> None:
    empty = table("cat").with_columns(f1=pl.lit(None, pl.Float64), miss_rate=pl.lit(None, pl.Float64))
    for draw in (plot.operating_points, plot.miss_rates):
        with pytest.raises(InputError, match="there is nothing to draw; it has no rows"):
            draw(table("cat").clear())
        with pytest.raises(InputError, match="there is nothing to draw"):
            draw(empty)
        with pytest.raises(ColumnError, match="score_threshold"):
            draw(table("cat").drop("score_threshold"))
    with pytest.raises(InputError, match="no line has annotations and false positives"):
        plot.miss_rates(table("cat").with_columns(fppi=pl.lit(0.0)))


def test_bad_options() -> None:
    twice = pl.concat([table("cat"), table("cat")])
    with pytest.raises(ParameterError, match="name does not distinguish the charts"):
        plot.operating_points(twice)
    with pytest.raises(ParameterError, match="nothing does not distinguish the lines"):
        plot.miss_rates(twice)
    for options in ({"columns": 0}, {"max_charts": 1.5}):
        with pytest.raises(ParameterError, match="is a whole number of at least 1"):
            plot.operating_points(table("cat"), **options)  # type: ignore[arg-type]
