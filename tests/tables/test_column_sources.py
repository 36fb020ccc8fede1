"""Tables from files: CSV as spreadsheets and scripts write it, JSON, JSON lines; columns with numbers of mixed types."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import apframe as apf
from apframe.exceptions import ColumnError, FormatError
from apframe.tables.column_sources import to_polars

FILES: dict[str, tuple[str, dict[str, list[Any]]]] = {
    "numbers.csv": ("image_id,weather,n\n1,fog,2\n3,,4\n", {"image_id": [1, 3], "weather": ["fog", None], "n": [2, 4]}),
    "texts.csv": ("image_id,n\n001,2\n003,4\n", {"image_id": ["001", "003"], "n": [2, 4]}),
    "mixed.csv": ("image_id,n\n1,2\na,4\n", {"image_id": ["1", "a"], "n": [2, 4]}),
    "semicolons.csv": ('file_name;note\na.jpg;"x, y"\n', {"file_name": ["a.jpg"], "note": ["x, y"]}),
    "tabs.CSV": ("file_name\tn\n7\t1\n", {"file_name": [7], "n": [1]}),
    "windows.csv": ("\ufefffile_name,n\r\na.jpg,1\r\n", {"file_name": ["a.jpg"], "n": [1]}),
    "list.json": ('[{"image_id": 1, "tags": ["a", "b"]}, {"image_id": 2}]', {"image_id": [1, 2], "tags": [["a", "b"], None]}),
    "lines.jsonl": ('{"image_id": 1, "tags": ["a"]}\n{"image_id": 2}\n', {"image_id": [1, 2], "tags": [["a"], None]}),
    "lines.ndjson": ('{"image_id": "a"}\n', {"image_id": ["a"]}),
}


@pytest.mark.parametrize("name", FILES)
def test_tables_from_files(name: str, tmp_path: Path) -> None:
    text, columns = FILES[name]
    (tmp_path / name).write_text(text, newline="")
    assert to_polars(tmp_path / name, "images").to_dict(as_series=False) == columns
    assert to_polars(str(tmp_path / name), "images").to_dict(as_series=False) == columns


@pytest.mark.parametrize(("name", "text", "message"), [
    ("empty.csv", "", "as CSV: empty CSV"),
    ("broken.json", "[{", "as JSON: "),
    ("broken.jsonl", "{", "as JSON lines: "),
    ("table.txt", "image_id\n1\n", "as Parquet: .*; other endings: .csv, .json, .jsonl, .ndjson"),
])  # fmt: skip
def test_files_that_cannot_be_read(name: str, text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(FormatError, match=f"^images: cannot read .*{name} {message}"):
        to_polars(tmp_path / name, "images")


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"nothing\.csv as CSV: no such file or directory$"):
        to_polars(tmp_path / "nothing.csv", "images")


def test_a_data_set_of_three_files(tmp_path: Path) -> None:
    (tmp_path / "images.csv").write_text("image_id,file_name\n7,a.jpg\n")
    (tmp_path / "categories.csv").write_text("category_id,name\ncat,cat\n")
    (tmp_path / "annotations.csv").write_text("image_id,category_id,x,y,width,height\n7,cat,0,0,9,9\n")
    truth = apf.Dataset(*(tmp_path / f"{name}.csv" for name in ("images", "categories", "annotations")))
    assert truth.annotations.select("image_id", "category_id", pl.col("area")).rows() == [(7, "cat", 81.0)]


MIXED: dict[str, tuple[Any, list[Any]]] = {
    "a fraction first": ({"x": [50.5, 0]}, [50.5, 0.0]),
    "a fraction later": ({"x": [0, 50.5, None]}, [0.0, 50.5, None]),
    "lists": ({"x": [[1, 2], [3, 4.5], None]}, [[1.0, 2.0], [3.0, 4.5], None]),
    "structs": ({"x": [{"a": [1, 2.5]}, {"a": [3]}]}, [{"a": [1.0, 2.5]}, {"a": [3.0]}]),
    "rows": ([{"x": 50.5}, {"y": 1}, {"x": 0}], [50.5, None, 0.0]),
    "rows of lists": ([{"x": [0, 1.5]}, {"x": [1, 2]}], [[0.0, 1.5], [1.0, 2.0]]),
    "Python objects": (pl.DataFrame({"x": pl.Series([1, 2.5, None], dtype=pl.Object)}), [1.0, 2.5, None]),
}


@pytest.mark.parametrize(("source", "expected"), MIXED.values(), ids=MIXED)
def test_whole_numbers_and_fractions_are_mixed(source: Any, expected: list[Any]) -> None:
    values = to_polars(source, "annotations")["x"]
    assert values.to_list() == expected
    assert values.dtype in (pl.Float64, pl.List(pl.Float64), pl.Struct({"a": pl.List(pl.Float64)}))


def test_numbers_and_texts_are_not() -> None:
    with pytest.raises(ColumnError, match=r"^annotations: the columns cannot be read: unexpected value .*String"):
        to_polars({"x": [1, "a"]}, "annotations")
