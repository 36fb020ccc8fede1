"""Charts of curves: what is in their specification."""

from __future__ import annotations

import json
import sys
from typing import Any

import polars as pl
import pytest

import apframe as apf
from apframe import plot
from apframe.exceptions import ColumnError, InputError, ParameterError
from apframe.lists.list_curves import precision_recall_curve, roc_curve
from apframe.show.colours import PALETTE

pytest.importorskip("altair")

R = pl.col("relevant")


def items(*models: str, n: int = 20) -> pl.DataFrame:
    """Lists of which each is a little better than the one before."""
    lists = [
        {"model": [model] * n, "relevant": [(i * 7 + k) % 3 == 0 for i in range(n)], "score": [n - i + 0.0 for i in range(n)]}
        for k, model in enumerate(models)
    ]
    return pl.concat(pl.DataFrame(one) for one in lists)


def precision_recall(*models: str, n: int = 20) -> pl.DataFrame:
    return precision_recall_curve(items(*models, n=n), by="model", n_positives=R.sum())


def roc(*models: str, n: int = 20) -> pl.DataFrame:
    return roc_curve(items(*models, n=n), by="model", n_positives=R.sum(), n_negatives=(~R).sum())


def marks(spec: dict[str, Any]) -> list[str]:
    return [layer["mark"]["type"] for layer in spec["layer"]]


def drawn(spec: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows of the curves, which are those of the last layer."""
    return spec["datasets"][spec["layer"][-1]["data"]["name"]]


@pytest.mark.slow
def test_one_curve() -> None:
    curve = precision_recall("a")
    spec = plot.precision_recall(curve, random_baseline=0.3).to_dict()
    assert marks(spec) == [
        "line",
        "text",
        "line",
        "text",
        "line",
        "circle",
    ]  # F, its labels, the baseline, its label, the curve
    assert (spec["width"], spec["height"]) == (480, 320)
    lines, dots = (layer["encoding"] for layer in spec["layer"][-2:])
    assert [lines[axis]["title"] for axis in "xy"] == ["recall", "precision"]
    assert [lines[axis]["scale"]["domain"] for axis in "xy"] == [[0, 1], [0, 1]]
    assert lines["color"] == {"value": PALETTE[0]}
    assert lines["order"]["field"] == "rank"
    assert [tip["field"] for tip in dots["tooltip"]] == ["rank", "score", "recall", "precision"]
    assert len(drawn(spec)) == curve.height + 1  # the line starts at recall 0
    assert (drawn(spec)[0]["recall"], drawn(spec)[0]["precision"]) == (0, curve["precision"][0])


@pytest.mark.slow
def test_lines_of_the_same_f() -> None:
    spec = plot.precision_recall(precision_recall("a"), iso_f=[0.5]).to_dict()
    rows, labels = (spec["datasets"][layer["data"]["name"]] for layer in spec["layer"][:2])
    for row in rows:
        assert 2 * row["precision"] * row["recall"] / (row["precision"] + row["recall"]) == pytest.approx(0.5)
    assert (rows[0]["precision"], rows[-1]["recall"]) == pytest.approx((1, 1))
    assert labels == [{"recall": 1, "precision": pytest.approx(1 / 3), "f": "F1 = 0.5"}]
    assert marks(plot.precision_recall(precision_recall("a"), iso_f=[]).to_dict()) == ["line", "circle"]


@pytest.mark.slow
def test_a_colour_for_each_curve() -> None:
    spec = plot.precision_recall(precision_recall("b", "a"), random_baseline=True).to_dict()
    colour = spec["layer"][-2]["encoding"]["color"]
    assert colour["title"] == "model"
    assert colour["scale"] == {"domain": ["b", "a"], "range": PALETTE[:2]}
    assert spec["layer"][-1]["encoding"]["tooltip"][0]["title"] == "model"
    rules = spec["layer"][2]
    assert rules["mark"]["type"] == "rule"
    assert spec["datasets"][rules["data"]["name"]] == [
        {"precision": 7 / 20, "colour": "b"},
        {"precision": 6 / 20, "colour": "a"},
    ]


@pytest.mark.slow
def test_of_many_curves_the_best_and_the_worst_have_a_colour() -> None:
    models = [f"model {k}" for k in range(50)]
    lists = [
        pl.DataFrame({"model": model, "relevant": [True, *(i < k for i in range(60))], "score": range(61)})
        for k, model in enumerate(models, 1)
    ]
    curve = precision_recall_curve(pl.concat(lists), by="model", n_positives=R.sum())
    spec = plot.precision_recall(curve).to_dict()
    scale = spec["layer"][-2]["encoding"]["color"]["scale"]
    area = curve.group_by("model").agg(
        (pl.col("precision") * pl.col("recall").diff().fill_null(pl.col("recall"))).sum().alias("ap")
    )
    by_area = area.sort("ap", descending=True)["model"].to_list()
    assert scale["domain"] == [*by_area[:3], "the other 44", *by_area[-3:]]
    assert spec["layer"][-2]["encoding"]["color"]["title"] == "model, by area under the curve"
    assert len(set(scale["range"])) == 7
    assert {row["colour"] for row in drawn(spec)[:10]} == {"the other 44"}  # below the others
    assert len({row["curve"] for row in drawn(spec)}) == 50


@pytest.mark.slow
def test_no_more_rows_than_altair_takes() -> None:
    spec = plot.precision_recall(precision_recall(*map(str, range(12)), n=1500)).to_dict()
    assert 12 * 90 < len(drawn(spec)) <= 12 * 101
    assert (
        4000
        < len(drawn(plot.precision_recall(precision_recall(*map(str, range(12)), n=1500), max_points=500).to_dict()))
        <= 5000
    )
    with pytest.raises(InputError, match="2,000 curves are too many for one chart"):
        plot.precision_recall(precision_recall(*map(str, range(2000)), n=3))


@pytest.mark.slow
def test_curves_of_an_evaluation() -> None:
    evaluation = apf.evaluate("data/street/instances.json", "data/street/model_a.json")
    curve = pl.concat([evaluation.curves(threshold, category=1) for threshold in (0.5, 0.75)])
    spec = plot.precision_recall(curve, interpolated=True).to_dict()
    lines = spec["layer"][-2]
    assert lines["encoding"]["y"]["title"] == "interpolated precision"
    assert lines["encoding"]["color"]["title"] == "iou_threshold"
    assert lines["encoding"]["color"]["scale"]["domain"] == ["0.5", "0.75"]
    assert lines["mark"]["interpolate"] == "step-before"
    heights = [row["interpolated_precision"] for row in drawn(spec) if row["curve"] == "0.5" and row["rank"]]
    envelope = curve.filter(pl.col("iou_threshold") == 0.5)["envelope"].to_list()
    assert set(heights) <= set(envelope) and heights[-1] == envelope[-1] and len(heights) <= 101
    assert spec["title"]["subtitle"] == ["area range all"]
    one = plot.precision_recall(evaluation.curves(0.5, "large")).to_dict()
    assert one["title"]["text"] == "Precision over recall"
    assert one["title"]["subtitle"] == ["IoU threshold 0.5, area range large"]
    assert "title" not in plot.precision_recall(precision_recall("a")).to_dict()
    with pytest.raises(ParameterError, match="category_id does not distinguish the curves"):
        plot.precision_recall(curve, by="category_id")


@pytest.mark.slow
def test_infinite_scores_are_valid_json() -> None:
    curve = precision_recall_curve({"relevant": [1, 0], "score": [float("inf"), 0.5]}, n_positives=1)
    spec = plot.precision_recall(curve).to_dict()
    assert json.loads(json.dumps(spec, allow_nan=False)) == spec
    assert [row["score"] for row in drawn(spec)] == [None, None, 0.5]


@pytest.mark.slow
def test_roc() -> None:
    spec = plot.roc(roc("a", "b"), width=200, height=200).to_dict()
    assert marks(spec) == ["line", "text", "line", "circle"]
    diagonal = spec["datasets"][spec["layer"][0]["data"]["name"]]
    assert all(row["false_positive_rate"] == row["true_positive_rate"] for row in diagonal)
    lines = spec["layer"][2]
    assert [lines["encoding"][axis]["title"] for axis in "xy"] == ["false positive rate", "true positive rate"]
    assert lines["mark"]["interpolate"] == "linear"
    assert (spec["width"], spec["height"]) == (200, 200)
    assert len(drawn(spec)) == roc("a", "b").height


@pytest.mark.slow
def test_charts_side_by_side() -> None:
    both = plot.precision_recall(precision_recall("a")) | plot.precision_recall(precision_recall("a"))
    assert len({param["name"] for param in both.to_dict()["params"]}) == 2


def test_nothing_to_draw() -> None:
    curve = precision_recall("a")
    with pytest.raises(InputError, match="nothing to draw; it has no rows"):
        plot.precision_recall(curve.clear())
    with pytest.raises(InputError, match="nothing to draw; recall or precision is null"):
        plot.precision_recall(curve.with_columns(recall=pl.lit(None, pl.Float64)))
    with pytest.raises(ColumnError, match="no column false_positive_rate"):
        plot.roc(curve)
    with pytest.raises(ColumnError, match="no column modle"):
        plot.precision_recall(curve, by="modle")
    with pytest.raises(ParameterError, match=r"lie in \(0, 1\]"):
        plot.precision_recall(curve, random_baseline=1.5)
    with pytest.raises(ParameterError, match="max_points is a whole number of at least 2"):
        plot.precision_recall(curve, max_points=0)


def test_without_altair(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)
    for draw, curve in ((plot.precision_recall, precision_recall("a")), (plot.roc, roc("a"))):
        with pytest.raises(ParameterError, match=r'pip install altair, or the extra "charts"'):
            draw(curve)


@pytest.mark.slow
def test_vl_pr_is_drawn_with_its_numbers() -> None:
    for stable in (False, True):
        spec = plot.vl_pr(apf.lists.vl_pr([1, -1, 1, -1], [0.9, 0.8, 0.1, float("-inf")], stable=stable)).to_dict()
        assert spec["title"] == "AUC 79.17%, AP 83.33%, AP11 84.85%"
        rows = [row for table in spec["datasets"].values() for row in table if "score" in row]
        assert [(row["rank"], row["recall"]) for row in rows] == [(0, 0), (1, 0.5), (2, 0.5), (3, 1)]
