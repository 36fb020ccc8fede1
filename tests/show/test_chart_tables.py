"""Tables of charts: given, or made by evaluations."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import apframe as apf
from apframe.exceptions import ApframeError, ColumnError, InputError, ParameterError
from apframe.show.chart_tables import is_made, table_of

STREET = Path(__file__).parents[2] / "data" / "street"


@pytest.fixture(scope="module")
def models() -> list[apf.Evaluation]:
    return [apf.evaluate(STREET / "instances.json", STREET / f"{name}.json") for name in ("model_a", "model_b")]


@pytest.fixture(scope="module")
def searched() -> apf.RunEvaluation:
    judged = {f"q{k}": {"x": 1, "y": 0} for k in range(30)}
    runs = {name: {query: {"x": 0.5, "y": k % less} for k, query in enumerate(judged)} for name, less in (("a", 2), ("b", 3))}
    queries = pl.DataFrame({"query_id": [*judged], "topic": ["even", "odd"] * 15})
    return apf.evaluate_run(judged, runs, "AP", queries=queries)


def in_memory() -> list[apf.Evaluation]:
    box = {"image_id": 1, "category_id": 1, "bbox": [0, 0, 9, 9]}
    truth = {"images": [{"id": 1}], "categories": [{"id": 1, "name": "cat"}], "annotations": [box | {"id": 1}]}
    return [apf.evaluate(truth, [box | {"score": 0.5}]), apf.evaluate(truth, [])]


def confusion_of(given: Any, **options: Any) -> pl.DataFrame:
    return table_of(given, "confusion", "confusion", ["true_name", "n"], options)


@pytest.mark.slow
def test_an_evaluation_makes_its_table(models: list[apf.Evaluation]) -> None:
    a, b = models
    assert confusion_of(a, min_score=0.5).equals(a.confusion(min_score=0.5))
    both = confusion_of(models)
    assert both.columns[0] == "run" and both["run"].unique(maintain_order=True).to_list() == ["model_a", "model_b"]
    assert both.filter(run="model_b").drop("run").equals(b.confusion())
    assert confusion_of({"old": a, "new": b.confusion()})["run"].unique(maintain_order=True).to_list() == ["old", "new"]
    assert is_made(a, "by") and is_made(models, "by") and not is_made(a.by("weather"), "by")


@pytest.mark.slow
def test_a_list_has_names_that_differ(models: list[apf.Evaluation], searched: apf.RunEvaluation) -> None:
    a, b = models
    for given, names in ((in_memory(), ["a", "b"]), ([a, b, a], ["model_a", "model_b", "model_a (2)"])):
        assert is_made(given, "confusion")
        assert confusion_of(given)["run"].unique(maintain_order=True).to_list() == names
    runs = table_of([searched, searched], "intervals", "intervals", ["low"], {})["run"].unique(maintain_order=True)
    assert runs.to_list() == ["a · a", "a · b", "b · a", "b · b"]
    with pytest.raises(ParameterError, match="an evaluation is compared with evaluations, not with"):
        table_of([a, searched], "intervals", "intervals", ["low"], {})


@pytest.mark.slow
def test_evaluations_in_memory_are_drawn_side_by_side() -> None:
    pytest.importorskip("altair")
    spec = apf.plot.error_impact(in_memory()).to_dict()
    assert [name[0] for name in spec["layer"][0]["encoding"]["color"]["scale"]["domain"]] == ["a", "b"]


def test_tables_stay_as_they_are(tmp_path: Path) -> None:
    table = pl.DataFrame({"true_name": ["cat"], "n": [1]})
    table.write_parquet(tmp_path / "table.parquet")
    forms = [table.lazy(), table.to_dict(as_series=False), table.to_dict(), table.to_arrow(), tmp_path / "table.parquet"]
    assert all(confusion_of(each).equals(table) for each in [table, *forms])
    named = confusion_of({"old": table.with_columns(run=pl.lit("x")), "new": table})
    assert named["run"].to_list() == ["old · x", "new"]


GIVEN: dict[str, tuple[Callable[[apf.Evaluation], Any], dict[str, Any], type[ApframeError], str]] = {
    "results": (
        lambda _: STREET / "model_a.json", {}, ColumnError,
        "no column true_name, n; pass an evaluation that has the method confusion, or the table that it returns",
    ),
    "another table": (lambda ev: ev.by("weather"), {}, ColumnError, "no column true_name, n"),
    "something else": (lambda _: 7, {}, InputError, "confusion: an int is not an evaluation; pass an evaluation"),
    "nothing": (lambda _: {}, {}, InputError, "there is nothing to draw; the dict is empty"),
    "an unknown option": (
        lambda ev: ev, {"min_scor": 0.5}, ParameterError, "min_scor is not an option of confusion; did you mean min_score",
    ),
    "an option beside a table": (
        lambda ev: ev.confusion(), {"min_score": 0.5}, ParameterError,
        "min_score is not an option of this chart; with an evaluation, options of confusion can be given",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("give", "options", "error", "message"), GIVEN.values(), ids=GIVEN)
def test_what_cannot_be_drawn(
    models: list[apf.Evaluation],
    give: Callable[[apf.Evaluation], Any],
    options: dict[str, Any],
    error: type[ApframeError],
    message: str,
) -> None:
    with pytest.raises(error, match=message):
        confusion_of(give(models[0]), **options)


def test_evaluations_of_another_kind(searched: apf.RunEvaluation, models: list[apf.Evaluation]) -> None:
    pytest.importorskip("altair")
    with pytest.raises(InputError, match="a RunEvaluation has no confusion; pass an evaluation that has the method confusion"):
        apf.plot.confusion(searched)
    with pytest.raises(
        InputError, match="Evaluation has no leaderboard; pass the result of scan_runs, or an evaluation of search runs"
    ):
        apf.plot.leaderboard(models[0])
    with pytest.raises(ColumnError, match="curve: an Evaluation cannot be read as a table"):
        apf.plot.roc(models[0])
    with pytest.raises(InputError, match="curve: an Evaluation is not a result of vl_pr; pass the result of"):
        apf.plot.vl_pr(models[0])  # type: ignore[arg-type]


@pytest.mark.slow
def test_search_runs_are_drawn(searched: apf.RunEvaluation) -> None:
    pytest.importorskip("altair")
    assert "AP by run" in str(apf.plot.leaderboard(searched).to_dict()["title"])
    assert apf.plot.intervals(searched).to_dict()["title"]["text"] == "AP by run"
    bars = apf.plot.slices(searched, "AP", by="topic", support="n_queries").to_dict()["layer"][0]["encoding"]
    assert bars["y"]["scale"]["domain"] == ["even", "odd"]
    assert bars["color"]["scale"]["domain"] == ["a", "b"]


@pytest.mark.slow(every=True)
@pytest.mark.parametrize("by", ["weather", ["name", "weather"], apf.quantiles("area", 4)], ids=str)
@pytest.mark.parametrize(
    ("plot", "method"),
    [
        (apf.plot.operating_points, "thresholds"),
        (apf.plot.thresholds, "thresholds"),
        (apf.plot.miss_rates, "thresholds"),
        (apf.plot.reliability, "reliability"),
    ],
)
def test_what_has_no_slices_says_how_they_are_drawn(plot: Callable[..., Any], method: str, by: Any) -> None:
    pytest.importorskip("altair")
    one, two = in_memory()
    for given in (one, [one, two], {"old": one, "new": two}):
        with pytest.raises(ParameterError, match=rf"^by: {method} has no slices; draw ev\.where\(\.\.\.\) of each in a dict$"):
            plot(given, by)
    with pytest.raises(ColumnError, match=r"^\w+: no column weather; there are "):
        plot(getattr(one, method)(), "weather")


@pytest.mark.slow
def test_evaluations_are_drawn_by_columns_of_their_table() -> None:
    pytest.importorskip("altair")
    one, two = in_memory()
    spec = apf.plot.thresholds({"old": one, "new": one}, "run").to_dict()
    assert [name[:3] for name in spec["layer"][0]["encoding"]["color"]["scale"]["domain"]] == ["old", "new"]
    assert apf.plot.operating_points(one, ["name"]).to_dict()["concat"][0]["title"]["text"] == "cat"
    assert len(apf.plot.reliability([one, two], "run").to_dict()["concat"]) == 2


DRAWN: dict[str, tuple[Callable[..., Any], Callable[[apf.Evaluation], Any], dict[str, Any]]] = {
    "precision_recall": (apf.plot.precision_recall, lambda ev: ev.curves(category="car"), {"category": "car"}),
    "scores": (apf.plot.scores, lambda ev: ev.matches(0.75), {"iou_threshold": 0.75}),
    "thresholds": (apf.plot.thresholds, lambda ev: ev.thresholds(0.5), {"iou_threshold": 0.5}),
    "operating_points": (apf.plot.operating_points, lambda ev: ev.thresholds(per_category=False), {"per_category": False}),
    "miss_rates": (apf.plot.miss_rates, lambda ev: ev.thresholds(category="car"), {"category": "car"}),
    "reliability": (apf.plot.reliability, lambda ev: ev.reliability(n_bins=5), {"n_bins": 5}),
    "confusion": (apf.plot.confusion, lambda ev: ev.confusion(min_score=0.5), {"min_score": 0.5}),
    "error_impact": (apf.plot.error_impact, lambda ev: ev.error_impact(0.75, intervals=True), {"iou_threshold": 0.75}),
    "intervals": (apf.plot.intervals, lambda ev: ev.intervals(by="weather", metrics="AP"), {"by": "weather", "metrics": "AP"}),
    "draws": (apf.plot.draws, lambda ev: ev.draws(metric="AP"), {"metric": "AP"}),
    "slices": (apf.plot.slices, lambda ev: ev.by("weather", intervals=True), {"by": "weather"}),
}


@pytest.mark.slow
@pytest.mark.parametrize(("plot", "make", "options"), DRAWN.values(), ids=DRAWN)
def test_an_evaluation_is_drawn_as_its_table(
    models: list[apf.Evaluation],
    plot: Callable[..., Any],
    make: Callable[[apf.Evaluation], Any],
    options: dict[str, Any],
) -> None:
    pytest.importorskip("altair")
    drawn, expected = (chart.to_dict() for chart in (plot(models[0], **options), plot(make(models[0]))))
    assert [*drawn["datasets"].values()] == [*expected["datasets"].values()]
    assert drawn.get("title") == expected.get("title")


@pytest.mark.slow
def test_two_models_have_their_colours_everywhere(models: list[apf.Evaluation]) -> None:
    pytest.importorskip("altair")
    expected = {"model_a": "#0b5cad", "model_b": "#9a4a00"}
    charts = [
        apf.plot.precision_recall(models, category="car"),
        apf.plot.thresholds(models, per_category=False),
        apf.plot.miss_rates(models, category="car"),
        apf.plot.error_impact(models),
        apf.plot.slices(models, by="weather", intervals=False),
        apf.plot.intervals(models, level="category", metrics="AP50"),
    ]
    for chart in charts:
        scales = [scale for layer in chart.to_dict()["layer"] if (scale := layer["encoding"].get("color", {}).get("scale"))]
        colours = dict(zip(scales[0]["domain"], scales[0]["range"], strict=True))
        assert {name.partition(" · ")[0]: colour for name, colour in colours.items()} == expected
