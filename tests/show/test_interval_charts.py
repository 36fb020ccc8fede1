"""Charts of numbers with intervals: what is in their specification."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import polars as pl
import pytest

from apframe import plot
from apframe.exceptions import ColumnError, InputError, ParameterError
from apframe.report.tag_axis import tag_axis
from apframe.show.colours import PALETTE, VERDICTS
from apframe.show.interval_charts import pair_of

pytest.importorskip("altair")

LEVELS = pl.DataFrame({
    "category_id": [1, 2, 3],
    "name": ["bus", "car", "van"],
    "metric": ["AP"] * 3,
    "estimate": [0.25, 0.5, None],
    "low": [None, 0.25, None],
    "high": [None, 0.75, None],
    "se": [None, 0.125, None],
})  # fmt: skip
DIFFERENCES = pl.DataFrame({
    "category_id": [1, 2, 3],
    "name": ["bus", "car", "van"],
    "metric": ["AP"] * 3,
    "run_a": ["old"] * 3,
    "run_b": ["new"] * 3,
    "estimate_a": [0.5, 0.25, 0.5],
    "estimate_b": [0.25, 0.75, 0.5],
    "difference": [-0.25, 0.5, 0.0],
    "low": [-0.5, 0.25, None],
    "high": [-0.125, 0.75, None],
    "q": [0.25, 0.03125, None],
})  # fmt: skip
BOARD = pl.DataFrame({
    "run": ["c", "b", "a"],
    "epoch": [30, 20, 10],
    "lr": [0.1, 0.01, 0.01],
    "AP": [0.25, 0.5, None],
    "low": [0.125, 0.25, None],
    "high": [0.5, 0.75, None],
    "share_best": [0.25, 0.75, None],
    "rank_low": [2, 1, None],
    "rank_high": [2, 2, None],
})  # fmt: skip


def rows(spec: dict[str, Any], layer: int) -> list[dict[str, Any]]:
    drawn: list[dict[str, Any]] = spec["datasets"][spec["layer"][layer].get("data", spec.get("data"))["name"]]
    return drawn


def column(spec: dict[str, Any], layer: int, name: str) -> list[Any]:
    return [row[name] for row in rows(spec, layer)]


def kinds(spec: dict[str, Any]) -> list[str]:
    return [layer["mark"]["type"] for layer in spec["layer"]]


@pytest.mark.slow
def test_levels_are_sorted_and_may_be_dots_alone() -> None:
    spec = plot.intervals(LEVELS).to_dict()
    ends, *caps, dots, texts = spec["layer"]
    assert kinds(spec) == ["rule", "tick", "tick", "point", "text"]
    assert [cap["encoding"]["x"]["field"] for cap in caps] == ["low", "high"]
    assert dots["encoding"]["y"]["scale"]["domain"] == ["car", "bus", "van"]  # those without an interval come last
    assert dots["encoding"]["y"]["title"] == "name"
    assert dots["encoding"]["fill"] == {"value": PALETTE[0]}
    assert ends["transform"] == [{"filter": "isValid(datum.low)"}]
    assert (ends["encoding"]["x"]["field"], ends["encoding"]["x2"]["field"]) == ("low", "high")
    assert ends["encoding"]["x"]["title"] == "AP"
    assert texts["encoding"]["text"]["field"] == "text"
    assert column(spec, 3, "text") == ["0.250", "0.500", "–"]
    assert spec["title"]["text"] == "AP by name"
    assert spec["title"]["subtitle"] == ["dot: number, line: its interval"]


@pytest.mark.slow
def test_differences_have_a_zero_line_and_hollow_dots_of_chance() -> None:
    spec = plot.intervals(DIFFERENCES).to_dict()
    assert kinds(spec) == ["rule", "rule", "tick", "tick", "point", "text"]
    assert rows(spec, 0) == [{"low": 0.0}]
    dots = spec["layer"][4]["encoding"]
    assert dots["y"]["scale"]["domain"] == ["car", "bus", "van"]  # the largest difference first, one without an interval last
    assert dots["fill"]["condition"] == {"test": "datum.verdict === 'unclear'", "value": "#fff"}
    assert dots["stroke"]["scale"] == {"domain": [*VERDICTS], "range": [*VERDICTS.values()]}
    assert column(spec, 4, "verdict") == ["worse", "better", "unclear"]
    assert column(spec, 4, "text") == ["−0.250 · q 0.250", "+0.500 · q 0.031", "0.000"]
    assert spec["layer"][1]["encoding"]["x"]["title"] == "difference in AP"
    assert spec["title"]["text"] == "AP of new − old by name"
    explanation = "hollow: the interval includes 0, or there is none, so the difference may be chance"
    assert spec["title"]["subtitle"][1] == explanation


@pytest.mark.slow
def test_metrics_stay_in_the_order_of_the_frame() -> None:
    both = pl.concat([LEVELS.head(1), LEVELS.head(1).with_columns(metric=pl.lit("AP50"), estimate=pl.lit(0.75))])
    spec = plot.intervals(both).to_dict()
    assert spec["layer"][1]["encoding"]["y"]["scale"]["domain"] == ["AP", "AP50"]
    assert spec["title"]["text"] == "Metrics"


@pytest.mark.slow
def test_models_stand_side_by_side() -> None:
    both = pl.concat([LEVELS.select(pl.lit(run).alias("run"), pl.all()) for run in "ab"])
    spec = plot.intervals(both).to_dict()
    dots = spec["layer"][3]["encoding"]
    assert dots["yOffset"]["scale"]["domain"] == ["a", "b"]
    assert dots["stroke"]["scale"] == {"domain": ["a", "b"], "range": PALETTE[:2]}
    assert spec["layer"][0]["encoding"]["color"]["title"] == "run"
    assert dots["y"]["scale"]["domain"] == ["car", "bus", "van"]
    assert plot.intervals(both, "name").to_dict()["layer"][3]["encoding"]["yOffset"] == dots["yOffset"]
    alone = both.filter(pl.col("name") == "car")  # nothing but the run differs: each has a row
    spec = plot.intervals(alone).to_dict()
    assert spec["layer"][1]["encoding"]["y"]["scale"]["domain"] == ["a", "b"]
    assert "yOffset" not in spec["layer"][1]["encoding"]


@pytest.mark.slow
def test_several_others_and_all_pairs() -> None:
    others = pl.concat([DIFFERENCES, DIFFERENCES.with_columns(run_b=pl.lit("newest"))])
    spec = plot.intervals(others).to_dict()
    assert spec["layer"][1]["encoding"]["color"]["scale"]["domain"] == ["new", "newest"]
    pairs = pl.concat([others, DIFFERENCES.with_columns(run_a=pl.lit("new"), run_b=pl.lit("newest"))])
    spec = plot.intervals(pairs).to_dict()
    assert spec["layer"][1]["encoding"]["color"]["scale"]["domain"] == ["new − old", "newest − old", "newest − new"]


def test_what_cannot_be_drawn() -> None:
    with pytest.raises(ColumnError, match="high"):
        plot.intervals(LEVELS.drop("high"))
    with pytest.raises(InputError, match="it has no rows"):
        plot.intervals(LEVELS.clear())
    with pytest.raises(InputError, match="estimate is null throughout"):
        plot.intervals(LEVELS.tail(1))
    with pytest.raises(ParameterError, match="metric does not distinguish the rows"):
        plot.intervals(LEVELS, "metric")
    many = pl.concat([LEVELS.head(1).with_columns(run=pl.lit(str(k))) for k in range(8)])
    with pytest.raises(InputError, match="8 values of run are too many"):
        plot.intervals(many, "name", colour="run")


@pytest.mark.slow
def test_a_leaderboard_says_who_leads() -> None:
    spec = plot.leaderboard(BOARD).to_dict()
    assert spec["layer"][3]["encoding"]["y"]["scale"]["domain"] == ["b", "c", "a"]
    assert column(spec, 3, "text") == ["0.500 · leads in 75% · rank 1 to 2", "0.250 · leads in 25% · rank 2", "–"]
    assert spec["title"]["text"] == "AP by run"
    plain = plot.leaderboard(BOARD.drop("share_best")).to_dict()
    assert column(plain, 3, "text") == ["0.500", "0.250", "–"]


@pytest.mark.slow
def test_a_leaderboard_of_search_runs() -> None:
    searched = pl.DataFrame({"measure": ["RR"] * 2, "rank": [1, 2], "run": ["b", "a"], "estimate": [0.5, 0.25],
                             "low": [0.25, 0.125], "high": [0.75, 0.5]})  # fmt: skip
    assert plot.leaderboard(searched).to_dict()["title"]["text"] == "RR by run"
    with pytest.raises(InputError, match="several measures; filter to one"):
        plot.leaderboard(pl.concat([searched, searched.with_columns(measure=pl.lit("AP"))]))
    with pytest.raises(InputError, match="no intervals; pass intervals=True"):
        plot.leaderboard(searched.drop("low"))
    with pytest.raises(InputError, match="it has no rows"):
        plot.leaderboard(searched.clear())


@pytest.mark.slow
def test_a_metric_over_a_tag() -> None:
    spec = plot.over_tag(BOARD, "epoch").to_dict()
    lines, bars, _, _, dots = spec["layer"]
    assert kinds(spec) == ["line", "rule", "tick", "tick", "circle"]
    assert column(spec, 4, "tag") == [20, 30]  # a has no AP
    assert dots["encoding"]["x"]["axis"]["values"] == [20, 30]
    assert dots["encoding"]["x"]["type"] == "quantitative"
    assert (bars["encoding"]["y"]["field"], bars["encoding"]["y2"]["field"]) == ("low", "high")
    assert lines["encoding"]["detail"]["field"] == "colour"
    assert spec["title"]["text"] == "AP by epoch"
    coloured = plot.over_tag(BOARD, "epoch", colour="lr", log=True).to_dict()
    assert coloured["layer"][0]["encoding"]["color"]["scale"]["domain"] == ["0.01", "0.1"]
    assert coloured["layer"][0]["encoding"]["x"]["scale"]["type"] == "log"


def over(*values: Any) -> pl.DataFrame:
    return pl.DataFrame({"run": [*"abc"], "tag": values, "AP": [0.5, 0.25, 0.4], "low": [0.1] * 3, "high": [0.6] * 3})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("values", "kind", "tags"),
    [
        (["10", "9", "2"], "quantitative", [2, 9, 10]),
        (["1970-01-12", "1970-01-02T06:00", "1970-01-02"], "temporal", [86_400_000, 108_000_000, 950_400_000]),
        ([datetime(1970, 1, 2, tzinfo=UTC), datetime(1970, 1, 4, tzinfo=UTC), datetime(1970, 1, 1, tzinfo=UTC)], "temporal",
         [0, 86_400_000, 259_200_000]),
        ([date(1970, 1, 1), date(1970, 1, 3), date(1970, 1, 2)], "temporal", [0, 86_400_000, 172_800_000]),
        (["v10", "v9", "v11"], "nominal", ["v10", "v9", "v11"]),
        ([0.5, 10.0, 2.0], "quantitative", [0.5, 2, 10]),
    ],
)  # fmt: skip
def test_a_line_joins_tags_in_their_order_as_on_the_page(values: list[Any], kind: str, tags: list[Any]) -> None:
    board = over(*values)
    spec = plot.over_tag(board, "tag").to_dict()
    axis, order = tag_axis({"tag": values}, [{}] * 3, [*"abc"])
    assert column(spec, 4, "tag") == tags and column(spec, 4, "text") == axis.labels and column(spec, 4, "place") == axis.places
    assert column(spec, 4, "value") == [board["AP"][at] for at in order]
    assert kinds(spec) == ["line", "rule", "tick", "tick", "circle"]
    assert spec["layer"][0]["encoding"]["order"]["field"] == "place"
    assert {layer["encoding"]["x"]["type"] for layer in spec["layer"]} == {kind}
    scale = spec["layer"][0]["encoding"]["x"]["scale"]
    assert scale.get("type") == {"quantitative": "linear", "temporal": "utc"}.get(kind) and scale.get("domain", tags) == tags


@pytest.mark.slow
def test_seeds_that_share_a_tag_have_no_line() -> None:
    for values in ([1, 1, 2], ["1", "2", "1.0"], ["x", "y", "x"], ["2026-11-01", "2026-11-02", "2026-11-01"]):
        spec = plot.over_tag(over(*values), "tag").to_dict()
        assert kinds(spec) == ["rule", "tick", "tick", "circle"] and len(column(spec, 3, "tag")) == 3
    assert kinds(plot.over_tag(over(1, 1, 2), "tag", colour="run").to_dict())[0] == "line"


@pytest.mark.slow
def test_nan_is_no_value_of_a_tag_or_a_metric() -> None:
    spec = plot.over_tag(over(float("nan"), 2.0, 1.0), "tag").to_dict()
    assert column(spec, 4, "tag") == [1, 2]
    board = over(1, 2, 3).with_columns(AP=pl.Series([0.5, float("nan"), 0.25]))
    assert column(plot.over_tag(board, "tag").to_dict(), 4, "tag") == [1, 3]


def test_tags_that_cannot_be_drawn() -> None:
    with pytest.raises(ColumnError, match="seed"):
        plot.over_tag(BOARD, "seed")
    with pytest.raises(ParameterError, match="epoch is not a number above 0 in every run"):
        plot.over_tag(BOARD.with_columns(epoch=pl.lit(0)), "epoch", log=True)
    with pytest.raises(ParameterError, match=r"^tag: tag is a number in a \(1\), but not in b \(last\)"):
        plot.over_tag(over("1", "last", "3"), "tag")
    with pytest.raises(ParameterError, match="tag is not a number above 0 in every run"):
        plot.over_tag(over(*"xyz"), "tag", log=True)
    with pytest.raises(InputError, match="nothing to draw"):
        plot.over_tag(BOARD.with_columns(AP=pl.lit(None, pl.Float64)), "epoch")


def test_pairs_in_words() -> None:
    assert pair_of(DIFFERENCES) == "new − old"
    assert pair_of(LEVELS) == ""
    assert pair_of(DIFFERENCES.with_columns(run_a=pl.col("name"))) == ""
