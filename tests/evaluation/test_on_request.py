"""Tables that are computed on request: in SQL, in stored sets and in DuckDB files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import apframe as apf
from apframe.columns import Column
from apframe.evaluation.on_request import ON_REQUEST
from apframe.exceptions import FewUnitsWarning, FormatError, ParameterError
from apframe.tables.result_tables import RESULTS

TRUTH = {
    "images": [{"id": 1}],
    "categories": [{"id": 1, "name": "cat"}],
    "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [0, 0, 10, 10]}],
}
FOUND = [{"image_id": 1, "category_id": 1, "bbox": [0, 0, 9, 10], "score": 0.5}]


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The thresholds at which a table `twice` was computed; it stands for the tables of the diagnoses."""
    thresholds: list[float] = []

    def twice(evaluation: apf.Evaluation) -> pl.DataFrame:
        thresholds.append(evaluation.protocol.iou_thresholds[0])
        ids = evaluation.dataset.categories["category_id"]
        return pl.DataFrame({"other_category_id": ids, "n": [2] * len(ids)})

    columns = (Column("other_category_id", pl.Int64, "an id", is_id=True), Column("n", pl.Int64, "a number"))
    monkeypatch.setitem(ON_REQUEST, "twice", twice)
    monkeypatch.setitem(RESULTS, "twice", columns)
    return thresholds


def evaluated(truth: Any = TRUTH) -> apf.Evaluation:
    return apf.evaluate(truth, FOUND, iou_thresholds=[0.6, 0.75])


@pytest.mark.slow
def test_sql_computes_a_table_at_a_threshold_when_it_is_named(computed: list[float]) -> None:
    evaluation = evaluated()
    assert evaluation.sql("FROM summary").height
    assert "twice" in evaluation.sql("SHOW TABLES")["name"].to_list()
    assert computed == []
    assert evaluation.sql("FROM twice").rows() == [(1, 2)]
    assert set(computed) == {0.6}


@pytest.mark.slow
def test_columns_of_ids_have_the_type_of_the_ids(computed: list[float]) -> None:
    truth = {
        "images": [{"id": 1}],
        "categories": [{"id": "cat", "name": "cat"}],
        "annotations": [{"id": 1, "image_id": 1, "category_id": "cat", "bbox": [0, 0, 10, 10]}],
    }
    evaluation = apf.evaluate(truth, [FOUND[0] | {"category_id": "cat"}])
    assert evaluation.sql("FROM twice").rows() == [("cat", 2)]
    assert computed


@pytest.mark.slow
@pytest.mark.parametrize("tables", ["twice", ["twice", "twice"]])
def test_a_table_is_stored_where_it_is_named_and_read_back(tables: Any, computed: list[float], tmp_path: Path) -> None:
    evaluated().write_parquet(tmp_path / "run", tables=tables)
    assert pl.read_parquet(tmp_path / "run" / "twice.parquet").rows() == [(1, 2)]
    computed.clear()
    again = apf.read_evaluation(tmp_path / "run")
    assert again.sql("FROM twice").rows() == [(1, 2)]
    assert apf.scan_runs(tmp_path / "run").sql("FROM twice").rows() == [("run", 1, 2)]
    again.write_duckdb(tmp_path / "run.duckdb")
    with duckdb.connect(tmp_path / "run.duckdb") as connection:
        assert connection.sql("FROM twice").fetchall() == [(1, 2)]
    assert computed == []


@pytest.mark.slow
def test_a_table_that_is_not_named_is_not_stored(computed: list[float], tmp_path: Path) -> None:
    evaluated().write_parquet(tmp_path / "run")
    evaluated().write_duckdb(tmp_path / "run.duckdb")
    assert not (tmp_path / "run" / "twice.parquet").exists()
    with duckdb.connect(tmp_path / "run.duckdb") as connection:
        assert ("twice",) not in connection.sql("SHOW TABLES").fetchall()
    assert computed == []
    evaluated().write_duckdb(tmp_path / "run.duckdb", tables=["twice"])
    with duckdb.connect(tmp_path / "run.duckdb") as connection:
        assert connection.sql("FROM twice").fetchall() == [(1, 2)]


@pytest.mark.slow
def test_a_table_that_was_changed_is_refused(computed: list[float], tmp_path: Path) -> None:
    evaluated().write_parquet(tmp_path / "run", tables="twice")
    path = tmp_path / "run" / "twice.parquet"
    metadata = {key: value for key, value in pl.read_parquet_metadata(path).items() if key.startswith("apframe")}
    pl.read_parquet(path).drop("n").write_parquet(path, metadata=metadata)
    with pytest.raises(FormatError, match="no column n"):
        apf.read_evaluation(tmp_path / "run")
    assert computed


@pytest.mark.parametrize("tables", ["thrice", ["twice", "pairs"], 7, [None]])
def test_unknown_names_are_refused_before_anything_is_written(tables: Any, computed: list[float], tmp_path: Path) -> None:
    for write in (evaluated().write_parquet, evaluated().write_duckdb):
        with pytest.raises(ParameterError, match=r"tables: no table .* to add.*twice"):
            write(tmp_path / "run", tables=tables)
    assert computed == []
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_intervals_are_a_table(tmp_path: Path) -> None:
    box = {"category_id": 1, "bbox": [0, 0, 9, 9]}
    truth = TRUTH | {
        "images": [{"id": k} for k in range(30)],
        "annotations": [{"id": k, "image_id": k} | box for k in range(30)],
    }
    evaluation = apf.evaluate(truth, [{"image_id": k, "score": 0.5} | box for k in range(20)])
    expected = evaluation.intervals()
    assert_frame_equal(evaluation.sql("FROM intervals"), expected)
    evaluation.write_parquet(tmp_path / "run", tables="intervals")
    assert_frame_equal(pl.read_parquet(tmp_path / "run" / "intervals.parquet"), expected)
    assert apf.scan_runs(tmp_path / "run").sql("SELECT run FROM intervals WHERE metric = 'AP50' AND low > 0.4").rows() == [
        ("run",)
    ]


@pytest.mark.slow
def test_one_image_has_numbers_without_intervals() -> None:
    with pytest.warns(FewUnitsWarning, match="fewer than two images; there are no intervals"):
        table = evaluated().sql("FROM intervals WHERE metric = 'AP75'")
    assert table.drop("estimate").rows() == [("AP75", None, None, None, None, 1, None, "influence", "fewer than 2 units")]
    assert table["estimate"].to_list() == [evaluated()["AP75"]]
