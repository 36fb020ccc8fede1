"""Parquet and Arrow: everything comes back, evaluations are read, and folders that lack a table."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import apframe as apf
from apframe.exceptions import FormatError
from apframe.formats import catalogue as formats
from apframe.formats.arrow_files import Arrow, Parquet
from apframe.formats.box_text import Boxes
from apframe.formats.coco.format import Coco
from apframe.formats.path_contents import see
from apframe.tables.canonical import canonical

STREET = Path(__file__).resolve().parents[2] / "data" / "street"
TABLES = ("images", "categories", "annotations")
FORMATS = (Parquet(), Arrow())


@st.composite
def datasets(draw: st.DrawFn) -> apf.Dataset:
    def ids() -> Any:
        kind = draw(st.sampled_from([st.integers(-(2**62), 2**62), st.text(max_size=3)]))
        return draw(st.lists(kind, min_size=1, max_size=3, unique=True))

    images, categories = ids(), ids()
    number = st.floats(0, 1e9)
    rows = [
        {
            "image_id": draw(st.sampled_from(images)), "category_id": draw(st.sampled_from(categories)), "x": draw(number),
            "y": draw(number), "width": draw(number), "height": draw(number), "area": draw(number),
            "ignore": draw(st.booleans()),
            "mask": draw(st.lists(st.lists(number, min_size=6, max_size=6), max_size=2)),
            "tags": draw(st.none() | st.lists(st.text(max_size=2), max_size=2)),
            "seen": {"by": draw(st.none() | st.text(max_size=2)), "times": draw(st.integers(0, 9))},
        }
        for _ in range(draw(st.integers(0, 4)))
    ]  # fmt: skip
    schema = {
        "x": pl.Float64, "mask": pl.List(pl.List(pl.Float64)), "tags": pl.List(pl.String),
        "seen": pl.Struct({"by": pl.String, "times": pl.Int64}),
    }  # fmt: skip
    weather = [draw(st.none() | st.sampled_from(["rain", "fog"])) for _ in images]
    return apf.Dataset(
        pl.DataFrame({"image_id": images, "weather": pl.Series(weather, dtype=pl.Categorical)}),
        {
            "category_id": categories,
            "name": [str(each) for each in categories],
            "parent_ids": [categories[:1]] * len(categories),
        },
        pl.DataFrame(rows, schema_overrides=schema) if rows else {},
    )


@pytest.mark.slow
@pytest.mark.parametrize("format_", FORMATS, ids=lambda each: each.name)
@given(dataset=datasets())
def test_everything_comes_back(tmp_path_factory: pytest.TempPathFactory, format_: Any, dataset: apf.Dataset) -> None:
    path = tmp_path_factory.mktemp("tables") / "all"
    assert apf.write_dataset(dataset, path, format_.name).rows() == []
    again = formats.read_dataset(path)
    for table in TABLES:
        assert_frame_equal(getattr(again, table), getattr(dataset, table), check_exact=True)
    detections = canonical("detections", dataset.annotations.drop("annotation_id").with_columns(score=pl.col("x")))
    assert apf.write_results(detections, path.with_name("found" + format_.endings[0]), format_.name).rows() == []
    assert_frame_equal(formats.read_results(path.with_name("found" + format_.endings[0])), detections, check_exact=True)


@pytest.mark.parametrize("format_", FORMATS, ids=lambda each: each.name)
def test_what_coco_has_beside_the_tables_comes_back(tmp_path: Path, format_: Any) -> None:
    truth = {
        "info": {"year": 2026},
        "images": [{"id": 1, "place": {"city": "Ulm"}}],
        "categories": [{"id": 1, "name": "cat"}],
        "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [1, 2, 3, 4]}],
    }
    dataset = apf.read_coco(truth)
    apf.write_dataset(dataset, tmp_path / "all", format_.name)
    apf.write_coco(formats.read_dataset(tmp_path / "all"), tmp_path / "a.json")
    again = json.loads((tmp_path / "a.json").read_text())
    assert again["info"] == truth["info"] and again["images"] == truth["images"]


@pytest.mark.slow
def test_an_evaluation_is_a_data_set_and_results(tmp_path: Path) -> None:
    truth, detections = apf.read_coco(STREET / "instances.json"), apf.read_coco_results(STREET / "model_a.json")
    apf.evaluate(truth, detections).where(pl.col("time_of_day") == "night").write_parquet(tmp_path / "run")
    ev = apf.evaluate(formats.read_dataset(tmp_path / "run"), formats.read_results(tmp_path / "run"))
    assert str(ev) == str(apf.read_evaluation(tmp_path / "run"))


@pytest.mark.slow
def test_a_single_file_of_detections_is_results(tmp_path: Path) -> None:
    detections = apf.read_coco_results(STREET / "model_a.json")
    detections.write_parquet(tmp_path / "a.parquet")
    assert_frame_equal(formats.read_results(tmp_path / "a.parquet"), detections)
    truth = STREET / "instances.json"
    assert str(apf.evaluate(truth, tmp_path / "a.parquet")) == str(apf.evaluate(truth, detections))


@pytest.mark.parametrize("ending", [".arrow", ".feather", ".ipc"])
@pytest.mark.parametrize("write", [pl.DataFrame.write_ipc, pl.DataFrame.write_ipc_stream], ids=["file", "stream"])
def test_arrow_is_read_from_files_and_streams(tmp_path: Path, ending: str, write: Any) -> None:
    dataset = apf.read_coco(STREET / "instances.json")
    for table in TABLES:
        write(getattr(dataset, table), tmp_path / (table + ending))
    assert formats.read_dataset(tmp_path).annotations.equals(dataset.annotations)


@pytest.mark.parametrize("format_", FORMATS, ids=lambda each: each.name)
def test_a_table_that_is_not_there_is_told_with_what_is(tmp_path: Path, format_: Any) -> None:
    ending = format_.endings[0]
    apf.write_dataset(apf.Dataset({"image_id": [1]}, {"category_id": [1]}, {}), tmp_path / "all", format_.name)
    (tmp_path / "all" / f"categories{ending}").unlink()
    message = f"{tmp_path / 'all'}: no categories{ending}; found: 'annotations{ending}', 'images{ending}'"
    with pytest.raises(FormatError, match=f"^{re.escape(message)}$"):
        formats.read_dataset(tmp_path / "all")
    with pytest.raises(FormatError, match=f"no detections{re.escape(ending)}; found: 'annotations"):
        formats.read_results(tmp_path / "all", format_.name)


def test_two_files_of_one_table_are_told(tmp_path: Path) -> None:
    for ending in (".arrow", ".ipc"):
        pl.DataFrame({"image_id": [1]}).write_ipc(tmp_path / f"images{ending}")
    with pytest.raises(FormatError, match=r"images\.arrow and images\.ipc both exist; keep one of them$"):
        formats.read_dataset(tmp_path)


@pytest.mark.parametrize("format_", FORMATS, ids=lambda each: each.name)
@pytest.mark.parametrize(("content", "message"), [(b"", "the file is empty"), (b"PAR1 ARROW1", "cannot be read as ")])
def test_files_that_cannot_be_read_are_told(tmp_path: Path, format_: Any, content: bytes, message: str) -> None:
    path = tmp_path / f"a{format_.endings[0]}"
    path.write_bytes(content)
    with pytest.raises(FormatError, match=f"^{re.escape(f'{path}: {message}')}"):
        formats.read_results(path)


@pytest.mark.slow
def test_what_stands_beside_the_tables_has_to_be_json(tmp_path: Path) -> None:
    apf.write_dataset(apf.Dataset({"image_id": [1]}, {"category_id": [1]}, {}), tmp_path / "all", "parquet")
    (tmp_path / "all" / "dataset.json").write_text("{")
    with pytest.raises(FormatError, match=r"dataset\.json: not JSON, or cut off "):
        formats.read_dataset(tmp_path / "all")


def test_only_such_folders_and_files_are_taken(tmp_path: Path) -> None:
    dataset = apf.Dataset({"image_id": [1]}, {"category_id": [1]}, {})
    for format_ in FORMATS:
        apf.write_dataset(dataset, tmp_path / format_.name, format_.name)
    for path in (tmp_path / "parquet", tmp_path / "arrow"):
        assert [each.name for each in (*FORMATS, Boxes()) if each.fits(see(path), "dataset")] == [path.name]
    pl.DataFrame({"image_id": [1]}).write_parquet(tmp_path / "a.parquet")
    assert [each.name for each in (*FORMATS, Coco()) if each.fits(see(tmp_path / "a.parquet"), "results")] == ["parquet"]
