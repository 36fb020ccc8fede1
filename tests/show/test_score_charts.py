"""Charts over the score: what is in their specification."""

from __future__ import annotations

import json
import sys
from typing import Any

import polars as pl
import pytest

import apframe as apf
from apframe import plot
from apframe.exceptions import ColumnError, InputError, ParameterError
from apframe.lists.list_curves import precision_recall_curve
from apframe.show.colours import PALETTE, SOFT

pytest.importorskip("altair")

MATCHES = pl.DataFrame({
    "score": [0.9, 1.0, 0.5, 0.4, 0.29, 0.1, None],
    "outcome": ["tp", "tp", "fp", "tp", "fp", "ignored", "fn"],
})  # fmt: skip


def drawn(spec: dict[str, Any], layer: int) -> list[dict[str, Any]]:
    return spec["datasets"][spec["layer"][layer]["data"]["name"]]


def bins(chart: Any) -> list[tuple[Any, ...]]:
    names = ["from", "to", "tp", "fp", "ignored", "precision"]
    return [tuple(row[name] for name in names) for row in drawn(chart.to_dict(), 2)]


def thresholds(*names: str, n: int = 5) -> pl.DataFrame:
    """Lines that rise to a best F1 at the second threshold, each a little lower than the one before."""
    lines = []
    for at, name in enumerate(names):
        f1 = [(0.9 if row == 1 else 0.5 - row / n / 10) / (1 + at / 10) for row in range(n)]
        lines.append(pl.DataFrame({
            "category_id": at, "name": [name] * n, "area_range": "all", "iou_threshold": 0.5,
            "score_threshold": [1 - row / n for row in range(n)], "tp": range(n), "fp": range(n), "fn": 1,
            "precision": 0.5, "recall": 0.5, "f1": f1, "is_best": [row == 1 for row in range(n)],
        }))  # fmt: skip
    return pl.concat(lines)


@pytest.mark.slow
def test_scores_are_counted_in_bins() -> None:
    assert bins(plot.scores(MATCHES, bins=2)) == [(0, 0.5, 1, 1, 1, 0.5), (0.5, 1, 2, 1, 0, 2 / 3)]
    fine = bins(plot.scores(MATCHES, bins=100))
    assert fine[29] == (0.29, 0.3, 0, 1, 0, 0)
    assert fine[28] == (0.28, 0.29, 0, 0, 0, None)
    assert fine[99][2] == 1  # the last bin is closed
    assert sum(row[2] + row[3] + row[4] for row in fine) == 6


@pytest.mark.slow
def test_scores_beyond_one_set_the_range() -> None:
    inf = float("inf")
    logits = pl.DataFrame({"score": [-4.0, 0.0, 4.0, inf, -inf], "outcome": ["fp", "tp", "tp", "tp", "fp"]})
    chart = plot.scores(logits, bins=2)
    assert bins(chart) == [(-4, 0, 0, 2, 0, 0), (0, 4, 3, 0, 0, 1)]
    assert chart.to_dict()["layer"][0]["encoding"]["x"]["scale"]["domain"] == [-4, 4]
    assert json.dumps(chart.to_dict(), allow_nan=False)
    assert bins(plot.scores({"score": [7.0], "outcome": ["tp"]}, bins=1)) == [(7, 8, 1, 0, 0, 1)]


@pytest.mark.slow
def test_a_step_line_for_each_outcome() -> None:
    spec = plot.scores(MATCHES, bins=2).to_dict()
    areas, lines, hover = spec["layer"]
    assert [layer["mark"]["type"] for layer in spec["layer"]] == ["area", "line", "rect"]
    scale = lines["encoding"]["color"]["scale"]
    assert scale["domain"] == ["true positives (3)", "false positives (2)", "ignored (1)"]
    assert scale["range"] == [*PALETTE[:2], SOFT]
    assert (lines["mark"]["interpolate"], areas["encoding"]["y"]["stack"]) == ("step-after", None)
    assert [lines["encoding"][axis]["title"] for axis in "xy"] == ["score", "number of detections"]
    steps = [(row["score"], row["detections"]) for row in drawn(spec, 1) if row["outcome"] == "true positives (3)"]
    assert steps == [(0, 1), (0.5, 2), (1, 2)]
    assert [tip["title"] for tip in hover["encoding"]["tooltip"]][2:] == [
        "true positives", "false positives", "ignored", "precision in the bin",
    ]  # fmt: skip
    assert spec["title"]["subtitle"] == ["without the 1 missed annotation, which has no score"]
    some = plot.scores(MATCHES.filter(pl.col("outcome") == "tp")).to_dict()
    assert some["layer"][1]["encoding"]["color"]["scale"]["domain"] == ["true positives (3)"]
    assert "subtitle" not in some["title"]


@pytest.mark.slow
def test_scores_of_an_evaluation() -> None:
    matches = apf.evaluate("data/street/instances.json", "data/street/model_a.json").matches(0.5)
    notes = ["IoU threshold 0.5, area range all", "without the 1,219 missed annotations, which have no score"]
    assert plot.scores(matches).to_dict()["title"]["subtitle"] == notes
    counts = dict(matches["outcome"].cast(pl.String).value_counts().iter_rows())
    rows = bins(plot.scores(matches))
    assert [sum(row[at] for row in rows) for at in (2, 3, 4)] == [counts[name] for name in ("tp", "fp", "ignored")]
    assert len(rows) == 20


def test_no_scores_to_draw() -> None:
    with pytest.raises(InputError, match="nothing to draw; it has no rows"):
        plot.scores(MATCHES.clear())
    with pytest.raises(InputError, match="nothing was detected"):
        plot.scores(MATCHES.tail(1))
    with pytest.raises(ColumnError, match="no column outcome"):
        plot.scores(MATCHES.drop("outcome"))
    with pytest.raises(InputError, match="no outcome 'TP'; did you mean tp"):
        plot.scores({"score": [0.5], "outcome": ["TP"]})
    with pytest.raises(InputError, match="with 2 values of iou_threshold each detection would count once for each"):
        plot.scores(pl.concat([MATCHES.with_columns(iou_threshold=at) for at in (pl.lit(0.5), pl.lit(0.75))]))
    for wrong in (0, 2.5, True, 1001):
        with pytest.raises(ParameterError, match="bins is a whole number from 1 to 1000"):
            plot.scores(MATCHES, bins=wrong)  # type: ignore[arg-type]


@pytest.mark.slow
def test_f1_against_the_threshold() -> None:
    table = thresholds("car", "bus")
    spec = plot.thresholds(table).to_dict()
    lines, _, dots = spec["layer"]
    assert [layer["mark"]["type"] for layer in spec["layer"]] == ["line", "point", "circle"]
    assert (lines["encoding"]["x"]["title"], lines["encoding"]["y"]["title"]) == ("score", "F1")
    assert lines["mark"]["interpolate"] == "step-before"
    assert lines["encoding"]["color"]["title"] == "name · best F1 at threshold"
    assert spec["title"]["text"] == "F1 by score threshold"
    assert spec["title"]["subtitle"] == ["IoU threshold 0.5, area range all"]
    assert "title" not in plot.thresholds(table.drop("iou_threshold", "area_range")).to_dict()
    scale = lines["encoding"]["color"]["scale"]
    assert scale == {"domain": ["car · 0.90 at 0.8", "bus · 0.82 at 0.8"], "range": PALETTE[:2]}
    car = [(row["score_threshold"], row["f1"]) for row in drawn(spec, 0) if row["curve"] == "car"]
    assert car == sorted(table.filter(name="car").select("score_threshold", "f1").iter_rows())
    assert [(row["curve"], row["score_threshold"]) for row in drawn(spec, 1)] == [("car", 0.8), ("bus", 0.8)]
    assert [tip["field"] for tip in dots["encoding"]["tooltip"]] == [
        "curve", "score_threshold", "f1", "precision", "recall", "tp", "fp", "fn",
    ]  # fmt: skip


@pytest.mark.slow
def test_one_line_has_its_best_in_the_title() -> None:
    spec = plot.thresholds(thresholds("car")).to_dict()
    assert spec["title"]["text"] == "best F1 at threshold: car · 0.90 at 0.8"
    assert spec["layer"][0]["encoding"]["color"] == {"value": PALETTE[0]}
    assert plot.thresholds(thresholds("car"), by=[]).to_dict()["title"]["text"] == "best F1 at threshold: 0.90 at 0.8"


@pytest.mark.slow
def test_of_many_lines_the_best_and_the_worst_have_a_colour() -> None:
    spec = plot.thresholds(thresholds(*"abcdefghij")).to_dict()
    colour = spec["layer"][0]["encoding"]["color"]
    assert [name[0] for name in colour["scale"]["domain"]] == [*"abc", "t", *"hij"]
    assert colour["scale"]["domain"][3] == "the other 4"
    assert colour["title"] == "name · best F1 at threshold"
    assert len(drawn(spec, 1)) == 10


@pytest.mark.slow
def test_the_best_stays_where_lines_are_thinned() -> None:
    table = thresholds(*"abcdefghijkl", n=1500)
    spec = plot.thresholds(table).to_dict()
    rows = drawn(spec, 0)
    assert 12 * 90 < len(rows) <= 12 * 101
    assert {row["curve"] for row in rows if row["is_best"]} == set("abcdefghijkl")
    # of equal heights the first in order is kept otherwise
    flat = thresholds("a", n=300).with_columns(f1=pl.lit(0.5), is_best=pl.int_range(pl.len()) == 77)
    assert [row["is_best"] for row in drawn(plot.thresholds(flat, max_points=10).to_dict(), 0)].count(True) == 1


@pytest.mark.slow
def test_short_lines_leave_room_to_long_ones() -> None:
    table = pl.concat([thresholds("long", n=900), *(thresholds(name, n=300) for name in "abcdefghijkl")])
    spec = plot.thresholds(table, max_points=1000).to_dict()
    assert len(drawn(spec, 0)) == table.height == 4500
    assert spec["layer"][0]["mark"]["interpolate"] == "step-before"


@pytest.mark.slow
def test_no_thresholds_to_draw() -> None:
    table = thresholds("car", "bus")
    with pytest.raises(ColumnError, match="no column nmae; did you mean name"):
        plot.thresholds(table, by="nmae")
    with pytest.raises(InputError, match="nothing to draw; it has no rows"):
        plot.thresholds(table.clear())
    with pytest.raises(InputError, match="score_threshold or f1 is null throughout"):
        plot.thresholds(table.with_columns(f1=pl.lit(None, pl.Float64)))
    with pytest.raises(ParameterError, match="area_range does not distinguish the lines"):
        plot.thresholds(table, by="area_range")
    without = table.with_columns(f1=pl.when(pl.col("name") == "car").then("f1"))
    assert {row["curve"] for row in drawn(plot.thresholds(without).to_dict(), 0)} == {"car"}


@pytest.mark.slow
def test_curves_by_slice_and_by_category() -> None:
    items = pl.DataFrame({
        "weather": [None, None, "fog", "fog"], "category_id": 4, "name": "car",
        "relevant": [1, 0, 0, 1], "score": [0.9, 0.8, 0.7, 0.6],
    })  # fmt: skip
    keys = ["weather", "category_id", "name"]
    colour = plot.precision_recall(precision_recall_curve(items, by=keys, n_positives=2)).to_dict()["layer"][-2]["encoding"][
        "color"
    ]
    assert (colour["title"], colour["scale"]["domain"]) == ("weather", ["null", "fog"])
    of_two = items.with_columns(category_id=pl.Series([4, 4, 5, 5]), name=pl.Series(["car", "car", "bus", "bus"]))
    curve = precision_recall_curve(of_two.drop("weather"), by=["category_id", "name"], n_positives=2)
    colour = plot.precision_recall(curve).to_dict()["layer"][-2]["encoding"]["color"]
    assert (colour["title"], colour["scale"]["domain"]) == ("name", ["car", "bus"])


def test_without_altair(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(ParameterError, match=r'pip install altair, or the extra "charts"'):
        plot.scores(MATCHES)
    with pytest.raises(ParameterError, match=r'pip install altair, or the extra "charts"'):
        plot.thresholds(thresholds("car"))
