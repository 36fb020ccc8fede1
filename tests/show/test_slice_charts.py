"""Charts of slices: what is in their specification."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import apframe as apf
from apframe import plot
from apframe.exceptions import ColumnError, InputError, ParameterError
from apframe.show.colours import PALETTE

pytest.importorskip("altair")

BINS = pl.Enum(["[0, 0.3)", "[0.3, 0.6)", "[0.6, 1]"])


def weather(**columns: Any) -> pl.DataFrame:
    """Slices neither in the order of their names nor of their values."""
    return pl.DataFrame({
        "weather": ["rain", "clear", None],
        "AP": [0.2, 0.4, None],
        "AP50": [0.5, 0.6, None],
        "n_images": [10, 200, 1],
        "n_annotations": [29, 1312, 1],
    }).with_columns(**columns)  # fmt: skip


def drawn(spec: dict[str, Any], layer: int = 0) -> list[dict[str, Any]]:
    return spec["datasets"][spec["layer"][layer].get("data", spec.get("data"))["name"]]


def column(spec: dict[str, Any], name: str) -> list[Any]:
    return [row[name] for row in drawn(spec)]


@pytest.mark.slow
def test_bars_in_the_order_of_the_frame() -> None:
    spec = plot.slices(weather()).to_dict()
    bars, texts = spec["layer"]
    assert [bars["mark"]["type"], texts["mark"]["type"]] == ["bar", "text"]
    assert bars["encoding"]["y"]["scale"]["domain"] == ["rain", "clear", "null"]
    assert bars["encoding"]["y"]["title"] == "weather"
    assert bars["encoding"]["x"]["title"] == "AP (average precision)"
    assert bars["encoding"]["x"]["scale"]["domain"] == [0, 0.4]
    assert bars["encoding"]["color"] == {"value": PALETTE[0]}
    assert column(spec, "value") == [0.2, 0.4, None]
    assert column(spec, "text") == ["0.200 · 29 annotations", "0.400 · 1,312 annotations", "– · 1 annotation"]
    assert [tip["title"] for tip in bars["encoding"]["tooltip"] if "title" in tip] == ["weather", "AP"]


@pytest.mark.slow
def test_slices_of_little_support_are_pale() -> None:
    spec = plot.slices(weather()).to_dict()
    assert column(spec, "few") == [True, False, True]
    encoding = spec["layer"][0]["encoding"]
    assert encoding["fillOpacity"] == {"condition": [{"test": "datum.few", "value": 0.25}], "value": 1}
    assert encoding["strokeDash"]["condition"][0]["test"] == "datum.few"
    assert spec["title"]["subtitle"] == ["pale: fewer than 30 annotations"]
    assert column(plot.slices(weather(), least=29).to_dict(), "few") == [False, False, True]
    none = plot.slices(weather(), least=0).to_dict()
    assert column(none, "few") == [False] * 3
    assert "subtitle" not in none["title"]  # an empty one leaves a gap
    by_images = plot.slices(weather(), "AP50", support="n_images", least=50).to_dict()
    assert column(by_images, "few") == [True, False, True]
    assert column(by_images, "text") == ["0.500 · 10 images", "0.600 · 200 images", "– · 1 image"]
    unknown = plot.slices(weather(n_annotations=pl.lit(None, pl.Int64))).to_dict()
    assert column(unknown, "few") == [True] * 3
    assert column(unknown, "text")[0] == "0.200 · ? annotations"


@pytest.mark.slow
def test_runs_side_by_side() -> None:
    both = pl.concat([weather(run=pl.lit("b")), weather(run=pl.lit("a"), AP=pl.col("AP") / 2)])
    spec = plot.slices(both, overall={"a": 0.15, "b": 0.3}).to_dict()
    bars, _, rules = spec["layer"]
    assert bars["encoding"]["color"]["scale"] == {"domain": ["b", "a"], "range": PALETTE[:2]}
    assert bars["encoding"]["color"]["title"] == "run"
    assert bars["encoding"]["yOffset"]["scale"]["domain"] == ["b", "a"]
    assert bars["encoding"]["y"]["title"] == "weather"
    assert column(spec, "colour") == ["b"] * 3 + ["a"] * 3
    assert column(spec, "value") == [0.2, 0.4, None, 0.1, 0.2, None]
    assert drawn(spec, 2) == [{"colour": "a", "value": 0.15}, {"colour": "b", "value": 0.3}]
    assert rules["encoding"]["color"]["scale"]["range"] == PALETTE[:2]
    assert spec["title"]["subtitle"][0] == "dashed line: overall a 0.150, b 0.300"
    alone = plot.slices(weather(run=pl.lit("a"))).to_dict()
    assert alone["layer"][0]["encoding"]["color"] == {"value": PALETTE[0]}
    other = plot.slices(both, "AP", "run", colour="weather").to_dict()
    assert other["layer"][0]["encoding"]["color"]["scale"]["domain"] == ["rain", "clear", "null"]


@pytest.mark.slow
def test_the_line_of_all_is_in_the_picture() -> None:
    spec = plot.slices(weather(), overall=0.7).to_dict()
    assert spec["layer"][2]["mark"]["type"] == "rule"
    assert drawn(spec, 2) == [{"colour": None, "value": 0.7}]
    assert spec["layer"][0]["encoding"]["x"]["scale"]["domain"] == [0, 0.7]
    assert spec["title"]["subtitle"][0] == "dashed line: overall 0.700"


@pytest.mark.slow
def test_the_keys_stand_before_the_metrics() -> None:
    cells = pl.DataFrame({
        "occlusion": pl.Series(["[0, 0.3)", "[0.6, 1]"] * 2, dtype=BINS),
        "truncated": [True, True, False, None],
        "lanes": [2] * 4,
        "speed": [0.1 + 0.2] * 4,
        "AP": [0.1, 0.2, 0.3, 0.4],
        "n_annotations": [50] * 4,
    })  # fmt: skip
    spec = plot.slices(cells).to_dict()
    assert spec["layer"][0]["encoding"]["y"]["title"] == "occlusion · truncated"
    assert column(spec, "slice") == ["[0, 0.3) · true", "[0.6, 1] · true", "[0, 0.3) · false", "[0.6, 1] · null"]
    one = plot.slices(cells.head(1)).to_dict()
    assert column(one, "slice") == ["[0, 0.3) · true · 2 · 0.3"]
    named = pl.DataFrame({"category_id": [3, 1], "name": ["car", "bus"], "f1": [0.1, 0.2], "n_annotations": [50, 60]})
    assert column(plot.slices(named, "f1").to_dict(), "slice") == ["car", "bus"]
    same = named.with_columns(name=pl.lit("car"))
    assert column(plot.slices(same, "f1").to_dict(), "slice") == ["3", "1"]


MARGINS = pl.DataFrame({
    "weather": ["rain", None, "rain", None, None],
    "bin": pl.Series(["[0.6, 1]", "[0, 0.3)", None, "[0.6, 1]", None], dtype=BINS),
    "rolled_up": ["", "", "bin", "weather", "weather, bin"],
    "AP": [0.1, 0.2, 0.3, 0.4, 0.5],
    "n_annotations": [50, 60, 70, 80, 2],
})  # fmt: skip


@pytest.mark.slow
def test_rows_of_margins_are_called_all() -> None:
    spec = plot.slices(MARGINS).to_dict()
    assert column(spec, "slice") == ["rain · [0.6, 1]", "null · [0, 0.3)", "rain · all", "all · [0.6, 1]", "all"]
    heat = plot.slice_heatmap(MARGINS, "bin", "weather").to_dict()["layer"][0]["encoding"]
    assert heat["x"]["scale"]["domain"] == ["[0, 0.3)", "[0.6, 1]", "all"]
    assert heat["y"]["scale"]["domain"] == ["rain", "null", "all"]


@pytest.mark.slow
def test_heat_map() -> None:
    cells = pl.DataFrame({
        "weather": ["rain", "rain", "clear", "clear"],
        "lanes": [10, 2, 2, None],
        "AP": [0.1, 0.5, 0.9, None],
        "n_annotations": [1000, 31, 5, 0],
    })  # fmt: skip
    spec = plot.slice_heatmap(cells, "lanes", "weather").to_dict()
    colours, blanks, numbers, below = spec["layer"]
    assert [layer["mark"]["type"] for layer in spec["layer"]] == ["rect", "rect", "text", "text"]
    assert colours["encoding"]["x"]["scale"]["domain"] == ["2", "10", "null"]
    assert colours["encoding"]["y"]["scale"]["domain"] == ["rain", "clear"]
    scale = colours["encoding"]["color"]["scale"]
    assert (scale["scheme"]["name"], scale["domain"]) == ("viridis", [0.1, 0.5])  # 0.9 has too little support to count
    assert column(spec, "number") == ["0.100", "0.500", "0.900", "–"]
    assert column(spec, "support") == ["1,000", "31", "5", "0"]
    assert column(spec, "few") == [False, False, True, True]
    assert numbers["mark"]["color"] == below["mark"]["color"] == "black"  # none of the colours is dark
    assert (numbers["encoding"]["text"]["field"], below["encoding"]["text"]["field"]) == ("number", "support")
    assert blanks["transform"] == [{"filter": "!isValid(datum.value)"}]
    assert blanks["mark"]["color"] == "#dddddd"
    assert spec["title"]["subtitle"] == ["below each number: annotations", "pale: fewer than 30 annotations"]
    fixed = plot.slice_heatmap(cells, "lanes", "weather", domain=(0, 1)).to_dict()
    assert fixed["layer"][0]["encoding"]["color"]["scale"]["domain"] == [0, 1]
    one = plot.slice_heatmap(cells.head(1), "lanes", "weather").to_dict()
    assert one["layer"][0]["encoding"]["color"]["scale"]["domain"] == [-0.4, 0.6]


@pytest.mark.slow
def test_gains_have_zero_in_the_middle_of_the_colours() -> None:
    def scale(low: float, high: float) -> Any:
        chart = plot.slice_heatmap(MARGINS, "bin", "weather", domain=(low, high))
        return chart.to_dict()["layer"][0]["encoding"]["color"]["scale"]

    assert scale(-0.15, 0.15)["scheme"] == {"name": "blueorange", "extent": [0.12, 0.88]}
    assert scale(-0.15, 0.2)["scheme"]["name"] == scale(0, 0.3)["scheme"]["name"] == "viridis"


@pytest.mark.slow
def test_categories_are_counted_where_slices_differ_in_them() -> None:
    texts = column(plot.slices(weather(n_categories=pl.Series([9, 12, 1]))).to_dict(), "text")
    assert texts == [
        "0.200 · 29 annotations, 9 categories", "0.400 · 1,312 annotations, 12 categories", "– · 1 annotation, 1 category",
    ]  # fmt: skip
    assert column(plot.slices(weather(n_categories=12)).to_dict(), "text")[0] == "0.200 · 29 annotations"


@pytest.mark.slow
def test_counts_are_drawn_whole_and_no_nan_is_written() -> None:
    spec = plot.slices(weather(), "n_images").to_dict()
    assert column(spec, "text")[1] == "200 · 1,312 annotations"
    odd = plot.slices(weather(AP=pl.Series([float("nan"), 0.5, float("inf")]))).to_dict()
    assert column(odd, "value") == [None, 0.5, None]
    assert json.loads(json.dumps(odd, allow_nan=False)) == odd


@pytest.mark.slow
def test_any_frame_is_taken() -> None:
    for frame in (weather().lazy(), weather().to_arrow(), weather().to_dict(as_series=False)):
        assert column(plot.slices(frame).to_dict(), "value") == [0.2, 0.4, None]


def test_errors() -> None:
    with pytest.raises(ParameterError, match="no 'AP5'; did you mean AP50"):
        plot.slices(weather(), "AP5")
    with pytest.raises(ParameterError, match="no 'ap55'; did you mean AP50"):
        plot.slice_heatmap(weather(), "weather", "weather", "ap55")
    with pytest.raises(ColumnError, match="no column wether; did you mean weather"):
        plot.slices(weather(), by="wether")
    with pytest.raises(ColumnError, match="no column n_image; did you mean n_images"):
        plot.slices(weather(), support="n_image")
    with pytest.raises(ColumnError, match="weather holds String, not numbers"):
        plot.slices(weather(), "weather")
    with pytest.raises(InputError, match="nothing to draw; it has no rows"):
        plot.slices(weather().clear())
    for metric in (pl.lit(None, pl.Float64), pl.lit(None)):
        with pytest.raises(InputError, match="nothing to draw; AP is null throughout"):
            plot.slices(weather(AP=metric))
    with pytest.raises(ParameterError, match="weather does not distinguish the slices"):
        plot.slices(pl.concat([weather(), weather()]))
    with pytest.raises(ParameterError, match="n_images, weather does not distinguish the slices; name all keys"):
        plot.slice_heatmap(pl.concat([weather(), weather()]), "n_images", "weather")
    runs = pl.concat([weather(run=pl.lit(name)).select("run", pl.exclude("run")) for name in "ab"])
    other = r"weather does not distinguish the slices, as there are 2 values of run; filter to one \(run = 'a'\), or make run a"
    with pytest.raises(ParameterError, match=other):
        plot.slice_heatmap(runs, "n_images", "weather")
    with pytest.raises(ParameterError, match=other):
        plot.slices(runs, by="weather", colour="weather")
    with pytest.raises(ParameterError, match='by: an evaluation is sliced by a column; name it: by="weather"'):
        plot.slices(apf.evaluate("data/street/instances.json", "data/street/model_a.json"))
    with pytest.raises(ParameterError, match="overall: there are no slices of 'modle'; did you mean model"):
        plot.slices(weather(run=pl.lit("model")), overall={"modle": 0.5})
    with pytest.raises(InputError, match="9 values of run are too many to stand side by side"):
        plot.slices(pl.concat([weather(run=pl.lit(str(n))) for n in range(9)]))
    with pytest.raises(InputError, match="5,001 are too many for one chart"):
        plot.slices({"k": range(5001), "AP": [0.5] * 5001, "n_annotations": [50] * 5001})
    with pytest.raises(ParameterError, match="domain is two values, the lower one first"):
        plot.slice_heatmap(MARGINS, "bin", "weather", domain=(1, 0))
    with pytest.raises(ParameterError, match="least is a number of n_annotations, not -1"):
        plot.slices(weather(), least=-1)


def test_without_altair(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(ParameterError, match=r'pip install altair, or the extra "charts"'):
        plot.slices(weather())
    with pytest.raises(ParameterError, match=r'pip install altair, or the extra "charts"'):
        plot.slice_heatmap(weather(), "weather", "n_images")


@pytest.mark.slow
def test_a_chart_can_be_saved_as_a_picture(tmp_path: Path) -> None:
    """In a process of its own: a thread of vl-convert's JavaScript engine has crashed the one that ran it, some time later."""
    pytest.importorskip("vl_convert")
    weather().write_parquet(tmp_path / "weather.parquet")
    code = "import sys, polars, apframe; apframe.plot.slices(polars.read_parquet(sys.argv[1])).save(sys.argv[2])"
    files = [tmp_path / "weather.parquet", tmp_path / "weather.png"]
    subprocess.run([sys.executable, "-c", code, *files], check=False)
    assert files[1].read_bytes().startswith(b"\x89PNG")
