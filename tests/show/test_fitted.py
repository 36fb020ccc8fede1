"""Tables of `by` and `compare` print what tells most within the width, and are frames in every other respect."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import apframe as apf
from apframe.protocols.headlines import headlines, main_headline
from apframe.show.fitted import ComparisonTable, SliceTable
from apframe.tables.result_tables import SUPPORT

STREET = Path(__file__).parents[2] / "data" / "street"
SLICES = ["weather", "AP", "AP50", "AP75", "APs", "APm", "APl", "AR1", "AR10", "AR100", "ARs", "ARm", "ARl", *SUPPORT]
ROW: dict[str, Any] = {
    "metric": "AP", "run_a": "old", "run_b": "new", "estimate_a": 0.25, "estimate_b": 0.5, "difference": 0.25, "low": 0.125,
    "high": 0.375, "se": 0.0625, "bias": None, "share_better": 0.9, "p": 0.0125, "p_holm": 0.025, "q": 0.025,
    "detectable": 0.175, "n_units": 300, "n_resamples": None, "method": "influence", "reason": None,
}  # fmt: skip


@pytest.fixture(autouse=True)
def a_terminal_of_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


@pytest.fixture(scope="module")
def models() -> list[apf.Evaluation]:
    return [apf.evaluate(STREET / "instances.json", STREET / f"model_{name}.json") for name in "ab"]


def slices(*keys: str) -> SliceTable:
    return SliceTable({name: ["fog", "rain"] if name in ("weather", *keys) else [0.25, 0.5] for name in [*keys, *SLICES]})


def head(table: pl.DataFrame) -> list[str]:
    """The names of the columns that are printed."""
    lines = str(table).splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0] == f"shape: ({table.height}, {table.width})"
    return [name.strip("│ ") for name in lines[2].split("┆")]


def test_slices_print_keys_aps_and_support() -> None:
    assert head(slices()) == ["weather", "AP", "AP50", "APs", "APm", "APl", "n_images", "n_annotations"]
    assert head(slices("camera")) == ["camera", "weather", "AP", "AP50", "APs", "APm", "APl", "n_images"]
    assert str(slices()).splitlines()[-1] == "not shown: AP75, AR1, AR10, AR100, ARs, ARm, ARl, n_detections, n_categories"


def test_a_wider_terminal_shows_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    assert "not shown: AR1, AR10, ARs, ARm, ARl, n_detections, n_categories" in str(slices())
    monkeypatch.setenv("COLUMNS", "200")
    assert "not shown" not in str(slices()) and "…" not in str(slices())


def test_with_intervals_the_standard_errors_go_first() -> None:
    columns = ["weather", *(f"AP{end}" for end in ("", "_se", "_low", "_high")), "AP75", "AP75_low", "AR_low", "n_images"]
    assert head(SliceTable({name: [0.5] for name in columns})) == [
        "weather", "AP", "AP_low", "AP_high", "AP75", "AP75_low", "AR_low", "n_images"
    ]  # fmt: skip
    assert head(SliceTable({name: [0.5] for name in [*columns, "AP50", "AP50_low", "AP50_high"]})) == [
        "weather", "AP", "AP_low", "AP_high", "n_images", "AP50", "AP50_low", "AP50_high"
    ]  # fmt: skip


def test_a_key_is_no_recall() -> None:
    keys = ["AREA", "ARTIST", "is_se"]
    assert head(SliceTable({name: [0.5] for name in [*keys, *SLICES]}))[:4] == [*keys, "weather"]


@pytest.mark.parametrize("name", apf.PUBLISHED)
def test_the_main_number_of_each_protocol_is_printed(name: str) -> None:
    for label in apf.PUBLISHED[name].iou_types:
        protocol = apf.PUBLISHED[name].variant(label)
        columns = ["key", *(line.metric for line in headlines(protocol)), *SUPPORT]
        assert main_headline(protocol).metric in head(SliceTable({name: [0.5] for name in columns}))


def test_a_comparison_prints_the_difference_its_interval_and_p() -> None:
    table = ComparisonTable([ROW])
    assert head(table) == ["metric", "estimate_a", "estimate_b", "difference", "low", "high", "p"]
    assert "│ AP     ┆ 0.2500     ┆ 0.5000     ┆ 0.2500     ┆ 0.1250 ┆ 0.3750 ┆ 0.0125 │" in str(table)
    keys = ComparisonTable([{"weather": "fog", "camera": "left"} | ROW])
    assert head(keys) == ["weather", "camera", "metric", "difference", "low", "high", "q"]


def test_several_pairs_print_the_run_and_the_corrected_p() -> None:
    table = ComparisonTable([ROW, ROW | {"run_b": "newer"}])
    assert head(table) == ["metric", "run_b", "difference", "low", "high", "p_holm"]


@pytest.mark.slow
def test_slices_of_comparisons_print_q_and_never_half_of_a_pair(monkeypatch: pytest.MonkeyPatch) -> None:
    table = ComparisonTable([{"weather": "fog"} | ROW])
    assert head(table) == ["weather", "metric", "difference", "low", "high", "q"]
    ends = [f"{name}{end}" for name in ("AP", "AP50") for end in ("", "_low", "_high")]
    sure = SliceTable({name: [0.5] for name in ["weather", *ends, "n_images"]})
    for width in range(30, 81):
        monkeypatch.setenv("COLUMNS", str(width))
        for frame, pairs in (
            (table, [("low", "high"), ("estimate_a", "estimate_b")]),
            (sure, [("AP_low", "AP_high"), ("AP50_low", "AP50_high")]),
        ):
            names = head(frame)
            assert all((low in names) == (high in names) for low, high in pairs)


@pytest.mark.slow
def test_of_images_the_influence_and_the_counts_are_printed(models: list[apf.Evaluation]) -> None:
    table = models[0].compare(models[1], level="image")
    assert head(table)[:3] == ["metric", "image_id", "influence"] and head(table)[-1] == "fn_b"


@pytest.mark.slow
def test_they_stay_frames_of_all_columns(models: list[apf.Evaluation]) -> None:
    first, second = models
    slice_table = first.by("camera")
    assert isinstance(slice_table, pl.DataFrame) and slice_table.columns[1:] == SLICES[1:]
    plain = pl.DataFrame(slice_table.to_dict(as_series=False))
    assert_frame_equal(slice_table, plain)
    assert type(pl.concat([slice_table, slice_table])) is pl.DataFrame
    assert slice_table.to_pandas().shape == slice_table.to_arrow().shape == (3, 17)
    with duckdb.connect() as connection:
        assert connection.execute("SELECT count(*) FROM slice_table").fetchall() == [(3,)]
    assert_frame_equal(pickle.loads(pickle.dumps(slice_table)), plain)
    assert json.loads(slice_table.write_json())[0]["camera"] == "front"
    assert first.compare(second).columns == list(ROW)
    assert apf.plot.slices(slice_table).to_dict() == apf.plot.slices(plain).to_dict()


@pytest.mark.slow
def test_sorted_and_filtered_tables_print_alike(models: list[apf.Evaluation]) -> None:
    slice_table = models[0].by("camera")
    for table in (
        slice_table.sort("AP"),
        slice_table.filter(pl.col("AP") > 0.26),
        slice_table.head(1),
        slice_table[:2],
        slice_table.sort("AP", descending=True),
    ):
        assert isinstance(table, SliceTable) and head(table) == head(slice_table)
    assert slice_table.sort("AP", descending=True)["camera"].to_list() == ["front", "right", "left"]
    assert slice_table.filter(camera="left").height == 1


def test_what_the_configuration_of_polars_sets_wins() -> None:
    with pl.Config(tbl_cols=4):
        assert "…" in str(slices()) and "not shown" not in str(slices()) + slices()._repr_html_()
    with pl.Config(float_precision=1, tbl_width_chars=40):
        assert "│ fog     ┆ 0.2 ┆ 0.2  ┆ 0.2 ┆ 0.2 │" in str(slices())
    with pl.Config(tbl_width_chars=-1):
        assert "not shown" not in str(slices())


def test_notebooks_show_a_page_and_escape_names() -> None:
    page = SliceTable({"<b>": ["<i>"], **{name: [0.5] for name in [f"<u>{n}" for n in range(30)]}})._repr_html_()
    assert "shape: (1, 31)" in page and "<td>0.500</td>" in page
    assert "&lt;b&gt;" in page and "&lt;i&gt;" in page
    assert "<p>not shown: &lt;u&gt;" in page and not {"<b>", "<i>", "<u>"} & {*page.replace(">", ">\n").split()}
    assert "not shown" not in SliceTable({"weather": ["fog"], "AP": [0.5]})._repr_html_()


@pytest.mark.slow
def test_names_are_no_patterns() -> None:
    columns = ["^A.*$", "*", *(f"A{n}" for n in range(40))]
    table = SliceTable({name: [0.5] for name in columns})
    assert head(table)[:3] == ["^A.*$", "*", "A0"]
    assert "<th>^A.*$</th><th>*</th><th>A0</th>" in table._repr_html_() and "not shown: A1" in table._repr_html_()


def test_tables_without_rows_or_columns() -> None:
    assert str(SliceTable({"weather": [], "AP": []})).startswith("shape: (0, 2)")
    assert str(ComparisonTable([ROW]).clear()).startswith("shape: (0, 19)")
    assert str(SliceTable()) == str(pl.DataFrame())
