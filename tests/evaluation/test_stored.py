"""What is stored at chosen thresholds: matches in Parquet sets, and the tables of a DuckDB file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

import apframe as apf
from apframe.exceptions import FormatError, ParameterError

STREET = Path(__file__).parents[2] / "data" / "street"


@pytest.fixture(scope="module")
def street() -> apf.Evaluation:
    return apf.evaluate(STREET / "instances.json", STREET / "model_b.json", iou_thresholds=[0.5, 0.6, 0.75])


@pytest.mark.slow
@pytest.mark.parametrize(("thresholds", "stored"), [([0.75, 0.5, 0.5], [0.5, 0.75]), (0.6, [0.6]), ((), [])])
def test_matches_are_stored_at_the_thresholds_that_are_named(
    thresholds: Any, stored: list[float], street: apf.Evaluation, tmp_path: Path
) -> None:
    street.write_parquet(tmp_path / "run", matches=thresholds)
    path = tmp_path / "run" / "matches.parquet"
    assert path.is_file() == bool(stored)
    thresholds_in_file = pl.read_parquet(path)["iou_threshold"].unique().sort().to_list() if stored else []
    assert thresholds_in_file == stored
    again = apf.read_evaluation(tmp_path / "run")
    for threshold in (0.5, 0.6, 0.75):
        for area in ("all", "small"):
            assert again.matches(threshold, area).equals(street.matches(threshold, area))
    query = "SELECT iou_threshold, count(*) AS n FROM matches GROUP BY ALL ORDER BY ALL"
    assert again.sql(query).equals(street.sql(query))  # of all thresholds, stored or not


@pytest.mark.slow
def test_stored_matches_are_read_and_not_computed(street: apf.Evaluation, tmp_path: Path) -> None:
    street.write_parquet(tmp_path / "run", matches=0.5)
    path = tmp_path / "run" / "matches.parquet"
    metadata = pl.read_parquet_metadata(path)
    changed = pl.read_parquet(path).with_columns(score=pl.lit(0.125))
    changed.write_parquet(path, metadata={key: value for key, value in metadata.items() if key.startswith("apframe")})
    again = apf.read_evaluation(tmp_path / "run")
    assert set(again.matches(0.5)["score"]) == {0.125}
    assert again.matches(0.6).equals(street.matches(0.6))


@pytest.mark.slow
def test_matches_that_were_changed_are_refused(street: apf.Evaluation, tmp_path: Path) -> None:
    street.write_parquet(tmp_path / "run", matches=0.5)
    path = tmp_path / "run" / "matches.parquet"
    metadata = {key: value for key, value in pl.read_parquet_metadata(path).items() if key.startswith("apframe")}
    pl.read_parquet(path).drop("outcome").write_parquet(path, metadata=metadata)
    with pytest.raises(FormatError, match="no column outcome"):
        apf.read_evaluation(tmp_path / "run")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::apframe.exceptions.RunsDifferWarning")
def test_matches_of_many_runs_are_one_table(street: apf.Evaluation, tmp_path: Path) -> None:
    other = apf.evaluate(STREET / "instances.json", STREET / "model_a.json", iou_thresholds=[0.5])
    street.write_parquet(tmp_path / "b", matches=[0.5])
    other.write_parquet(tmp_path / "a", matches=0.5)
    other.write_parquet(tmp_path / "without")
    runs = apf.scan_runs(str(tmp_path / "*"))
    counts = runs.sql(
        "SELECT run, count(*) AS n FROM matches WHERE outcome = 'tp' AND area_range = 'all' GROUP BY ALL ORDER BY ALL"
    )
    expected = {name: ev.matches(0.5).filter(outcome="tp").height for name, ev in (("a", other), ("b", street))}
    assert dict(counts.rows()) == expected


@pytest.mark.slow
def test_a_database_has_the_thresholds_that_are_named(street: apf.Evaluation, tmp_path: Path) -> None:
    street.write_duckdb(tmp_path / "some.duckdb", iou_thresholds=[0.75, 0.5])
    street.write_duckdb(tmp_path / "one.duckdb", iou_thresholds=0.6)
    street.write_duckdb(tmp_path / "all.duckdb")
    n_rows = {}
    for name in ("some", "one", "all"):
        with duckdb.connect(tmp_path / f"{name}.duckdb") as connection:
            for table in ("matches", "curves", "per_image", "thresholds"):
                query = f"SELECT iou_threshold, count(*) FROM {table} GROUP BY ALL ORDER BY ALL"
                n_rows[name, table] = connection.sql(query).fetchall()
            n_rows[name, "metrics"] = connection.sql("SELECT count(*) FROM metrics").fetchall()
    for table in ("matches", "curves", "per_image", "thresholds"):
        assert [row[0] for row in n_rows["all", table]] == [0.5, 0.6, 0.75]
        assert n_rows["some", table] == n_rows["all", table][::2]
        assert n_rows["one", table] == n_rows["all", table][1:2]
    assert n_rows["some", "metrics"] == n_rows["all", "metrics"]


@pytest.mark.parametrize(
    ("given", "message"), [([0.5, 0.55], "0.55 was not evaluated; choose from 0.5, 0.6, 0.75"), ("x", "number")]
)
def test_thresholds_that_were_not_evaluated_are_refused(
    given: Any, message: str, street: apf.Evaluation, tmp_path: Path
) -> None:
    with pytest.raises(ParameterError, match=message):
        street.write_duckdb(tmp_path / "a.duckdb", iou_thresholds=given)
    with pytest.raises(ParameterError, match=message):
        street.write_parquet(tmp_path / "a", matches=given)
    with pytest.raises(ParameterError, match="empty; leave it out"):
        street.write_duckdb(tmp_path / "a.duckdb", iou_thresholds=[])
    assert list(tmp_path.iterdir()) == []
