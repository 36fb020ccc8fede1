"""The tables of a page as Parquet files beside it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import apframe as apf
from apframe.exceptions import FormatError, OutputError
from apframe.report.compared import Compared
from apframe.report.parquet_tables import named_tables
from apframe.report.section import Details, Section, Table
from apframe.report.write import sections_of
from tests.cli.test_rank import apframe

STREET = Path(__file__).parents[2] / "data" / "street"


@pytest.mark.slow
def test_all_rows_of_all_tables(models: list[apf.Evaluation], pair: Compared, tmp_path: Path) -> None:
    page = apf.write_report(tmp_path / "page.html", *models, by="weather", max_images=10, tables=True)
    few = replace(pair, max_images=10)
    expected = {**named_tables(sections_of(few)), **few.files()}
    assert {"outcomes", "confusion_cells", "label_candidates"} < set(expected)
    folder = tmp_path / "page_tables"
    assert {path.stem for path in folder.glob("*.parquet")} == set(expected)
    for name, table in expected.items():
        assert_frame_equal(pl.read_parquet(folder / f"{name}.parquet"), table)
    columns = ["weather", "model_a", "model_b", "difference", "95 % from", "to", "images", "objects"]
    columns += ["q", "detectable difference"]
    assert expected["slices_ap_by_weather"].columns == columns
    (tmp_path / "plain").mkdir()
    plain = apf.write_report(tmp_path / "plain" / "page.html", *models, by="weather", max_images=10)
    assert plain.read_bytes() == page.read_bytes()
    assert sorted(path.name for path in tmp_path.glob("**/*.html")) == ["page.html"] * 2


def test_files_of_queries_need_cards(pair: Compared) -> None:
    assert replace(pair, max_images=0).files() == {}


def test_heads_that_are_equal() -> None:
    table = Table(pl.DataFrame({"a": [1], "b": [2], "c": [3], "x": [""]}), "", {"b": "a", "a": "b", "c": "b"}, drawn={"x": []})
    assert named_tables([Section("s", "?", blocks=[table])])["s"].rows(named=True) == [{"b": 1, "a": 2, "b_": 3}]


def test_tables_inside_others_and_names_that_are_taken() -> None:
    frame = pl.DataFrame({"AP": [0.5]})
    numbered = [Table(frame, caption) for caption in ("x", "x 3", "x", "x 2", "")]
    assert list(named_tables([Section("a", "?", blocks=numbered)])) == ["a_x", "a_x_3", "a_x_2", "a_x_2_2", "a"]
    inner = Details("more", [Table(frame, "AP by city: all"), Table(frame, "w" * 300), Table(frame, "one " * 40)])
    tables = named_tables([Section("a", "?", blocks=[Table(frame, "AP by city (all)"), inner]), Section("b", "?", ["none"])])
    assert list(tables) == ["a_ap_by_city_all", "a_ap_by_city_all_2", "a", "a_" + "_".join(["one"] * 14)]


@pytest.mark.slow
def test_tables_of_search_runs_and_rows_that_the_page_cuts(tmp_path: Path) -> None:
    queries = {str(number): {"document": 1} for number in range(300)}
    run = apf.evaluate_run(queries, {query: {"document": 0.5} for query in queries}, ["AP"])
    apf.write_report(tmp_path / "page.html", run, tables=True)
    table = pl.read_parquet(tmp_path / "page_tables" / "queries_measures_by_query_lowest_first.parquet")
    assert table.height == 300


def test_only_tables_of_a_report_are_replaced(models: list[apf.Evaluation], tmp_path: Path) -> None:
    page, folder = tmp_path / "page.html", tmp_path / "page_tables"
    models[0].write_parquet(folder)
    with pytest.raises(OutputError, match="holds an evaluation of detection, not the tables of a report; choose another name"):
        apf.write_report(page, models[0], tables=True)
    assert not page.exists()
    assert apf.read_evaluation(folder).summary.equals(models[0].summary)


@pytest.mark.slow
def test_the_command_says_where_they_are_and_writes_them_again(tmp_path: Path) -> None:
    page, folder = tmp_path / "page.html", tmp_path / "page_tables"
    files = [str(STREET / f"{name}.json") for name in ("instances", "model_a")]
    for _ in range(2):
        done = apframe("report", *files, "--n-resamples", "500", "--out", str(page), "--tables")
        n_tables = len([*folder.glob("*.parquet")])
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.splitlines()[1] == f"{folder}: {n_tables} tables as Parquet"
    with pytest.raises(FormatError, match="holds the tables of a report, not an evaluation of detection; read its Parquet"):
        apf.read_evaluation(folder)
    apf.evaluate(*files).write_parquet(tmp_path / "run")
    assert apf.scan_runs(f"{tmp_path}/*").leaderboard()["run"].to_list() == ["run"]
    (folder / "notes.txt").write_text("mine")
    unread = str(folder / "notes.txt")
    done = apframe("report", unread, unread, "--out", str(page), "--tables")
    assert done.returncode == 1 and "holds something else (notes.txt); choose another name for the report" in done.stderr
    done = apframe("report", *files, "--tables")
    assert done.returncode == 2 and "--tables needs --out, the file of the page" in done.stderr
