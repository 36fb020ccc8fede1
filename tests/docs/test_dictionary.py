"""The tables are what the dictionary of schema says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import apframe as apf
from apframe.columns import Column
from apframe.tables.result_tables import DIFFERENCES, RESULTS, RUN_RESULTS, SLICES
from apframe.tables.schemas import TABLES

ROOT = Path(__file__).parents[2]
STREET, SEARCH = ROOT / "data" / "street", ROOT / "data" / "search"


@pytest.fixture(scope="module")
def evaluation() -> apf.Evaluation:
    return apf.evaluate(STREET / "instances.json", STREET / "model_a.json").where(pl.col("occlusion") < 0.5)


def assert_described(frame: pl.DataFrame, columns: tuple[Column, ...], *, optional: tuple[str, ...] = ()) -> None:
    """The columns stand there in this order, with these dtypes; attributes may follow."""
    described = [column for column in columns if column.name in frame.columns]
    assert {column.name for column in columns} - {column.name for column in described} <= set(optional)
    assert frame.columns[: len(described)] == [column.name for column in described]
    for column in described:
        dtype: Any = frame.schema[column.name]
        if column.is_id:
            assert dtype in (pl.Int64, pl.String), column.name
        elif isinstance(column.dtype, pl.Enum):
            assert isinstance(dtype, pl.Enum), column.name
        else:
            assert dtype == column.dtype, column.name


@pytest.mark.parametrize("table", ["images", "categories", "annotations", "detections"])
def test_canonical_tables(table: str, evaluation: apf.Evaluation) -> None:
    frame = evaluation.detections if table == "detections" else getattr(evaluation.dataset, table)
    not_standard = tuple(column.name for column in TABLES[table] if not column.standard)
    assert_described(frame, TABLES[table], optional=not_standard)


@pytest.mark.slow
@pytest.mark.parametrize("table", RESULTS)
def test_results(table: str, evaluation: apf.Evaluation) -> None:
    columns = tuple(column for column in RESULTS[table] if column.standard)  # others are of some protocols alone
    assert_described(evaluation._lazy_tables()[table].plan().collect(), columns)


def test_slices(evaluation: apf.Evaluation) -> None:
    slices = evaluation.by("weather", marginals=True)
    metrics = evaluation.summary["metric"].to_list()
    names = [column.name for column in SLICES]
    assert slices.columns == ["weather", names[0], *metrics, *names[1:]]
    assert slices.select(names).schema == {column.name: column.dtype for column in SLICES}


def test_differences(evaluation: apf.Evaluation) -> None:
    table = evaluation.compare(evaluation, metrics="AP", n_resamples=20)
    assert table.schema == {column.name: column.dtype for column in DIFFERENCES}


@pytest.mark.slow
@pytest.mark.parametrize("table", RUN_RESULTS)
def test_results_of_search_runs(table: str) -> None:
    runs = {name: SEARCH / f"run_{name}.txt" for name in ("dense", "hybrid")}
    evaluation = apf.evaluate_run(SEARCH / "qrels.txt", runs, "AP")
    assert_described(getattr(evaluation, table), RUN_RESULTS[table])
    assert_described(getattr(apf.evaluate_run(SEARCH / "qrels.txt", runs["dense"], "AP"), table), RUN_RESULTS[table][1:])
