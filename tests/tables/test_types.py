"""Columns as the types of the canonical tables: ids from 2^63 on, as hashes are, which no table holds as numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import apframe as apf
from apframe.exceptions import RowError

HASH = 2**63 + 5
AS_TEXT = r"is beyond 64 bits for .*make these ids text in all tables \(in Polars \.cast\(pl\.String\), "
OBJECT = {"image_id": 7, "category_id": 1, "x": 10.0, "y": 20.0, "width": 30.0, "height": 40.0}


def frame(columns: dict[str, Any], key: str) -> pl.DataFrame:
    return pl.DataFrame({name: [value] for name, value in columns.items()}).with_columns(pl.lit(HASH, pl.UInt64).alias(key))


@pytest.mark.slow
@pytest.mark.parametrize("key", ["image_id", "category_id", "annotation_id"])
def test_ids_of_truth_beyond_64_bits_are_to_be_text(key: str, tmp_path: Path) -> None:
    truth = frame(OBJECT, key)
    truth.write_csv(tmp_path / "truth.csv")
    sources = [truth, truth.to_pandas(), truth.with_columns(pl.col(key).cast(pl.Int128)), tmp_path / "truth.csv"]
    for source in sources:
        with pytest.raises(RowError, match=key + " " + AS_TEXT):
            apf.read_dataset(source)
    assert apf.read_dataset(truth.with_columns(pl.col(key).cast(pl.String))).annotations[key].to_list() == [str(HASH)]


@pytest.mark.parametrize("key", ["image_id", "category_id", "detection_id"])
def test_ids_of_detections_beyond_64_bits_are_to_be_text(key: str, tmp_path: Path) -> None:
    detections = frame(OBJECT | {"score": 0.5}, key)
    detections.write_csv(tmp_path / "found.csv")
    detections.write_parquet(tmp_path / "found.parquet")
    detections.write_ipc(tmp_path / "found.arrow")
    sources: list[Any] = [detections, *(tmp_path / f"found.{ending}" for ending in ("csv", "parquet", "arrow"))]
    for source in sources:
        with pytest.raises(RowError, match=key + " " + AS_TEXT):
            apf.read_results(source)
    assert apf.read_results(detections.with_columns(pl.col(key).cast(pl.String)))[key].to_list() == [str(HASH)]


@pytest.mark.parametrize("key", ["image_id", "category_id", "id"])
def test_ids_in_json_beyond_64_bits_are_to_be_text(key: str, tmp_path: Path) -> None:
    row = {"id": 1, "image_id": 7, "category_id": 1, "bbox": [10, 20, 30, 40]}
    truth = {"images": [{"id": 7}], "categories": [{"id": 1}], "annotations": [row | {key: HASH}]}
    (tmp_path / "truth.json").write_text(json.dumps(truth))
    for source in (truth, tmp_path / "truth.json"):
        with pytest.raises(RowError, match=key + " " + AS_TEXT):
            apf.read_dataset(source)
    (tmp_path / "found.json").write_text(json.dumps([row | {"score": 0.5, key: HASH}]))
    if key != "id":  # which is an attribute of results
        with pytest.raises(RowError, match=key + " " + AS_TEXT):
            apf.read_results(tmp_path / "found.json")


def test_an_infinite_id_is_not_one_beyond_64_bits() -> None:
    with pytest.raises(RowError, match="image_id is not a whole number for row 1"):
        apf.Dataset({"image_id": [float("inf")]}, {"category_id": [1]}, {})


def test_lists_of_ids_beyond_64_bits_are_to_be_text() -> None:
    lists = pl.Series([[HASH]], dtype=pl.List(pl.UInt64))
    with pytest.raises(RowError, match=r"neg_category_ids contains an id beyond 64 bits .*make these ids text"):
        apf.Dataset({"image_id": [1], "neg_category_ids": lists}, {"category_id": [1]}, {})


def test_decimals_beyond_64_bits_are_refused() -> None:
    """As DuckDB's HUGEINT comes."""
    ids = pl.Series("image_id", [str(2**70)]).cast(pl.Decimal(38, 0))
    with pytest.raises(RowError, match="image_id is beyond 64 bits"):
        apf.Dataset(pl.DataFrame([ids]), {"category_id": [1]}, {})
