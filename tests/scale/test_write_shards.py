"""Shards of whole images: all formats and shapes come back, large files are read in parts, and bad input is named."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import apframe as apf
from apframe.exceptions import (
    ApframeError,
    DuplicateIdError,
    IdTypeError,
    OutputError,
    ParameterError,
    RowError,
    UnknownIdError,
    UnknownImageWarning,
)
from apframe.file_formats import in_parts, tables
from apframe.file_formats.catalogue import FORMATS
from apframe.file_formats.coco import format as coco_format
from apframe.file_formats.coco import pieces
from apframe.scale.layout import read_layout
from tests.fuzz.valid_sets import SHAPES, write_valid
from tests.parity.strategies import Case, cases

STREET = Path(__file__).parents[2] / "data" / "street"
TRUTH = {
    "images": [{"id": 1, "file_name": "a.jpg"}, {"id": 2, "file_name": "b.jpg"}, {"id": 3, "file_name": "c.jpg"}],
    "categories": [{"id": 2, "name": "dog"}, {"id": 1, "name": "cat"}],
    "annotations": [
        {"id": 5, "image_id": 3, "category_id": 1, "bbox": [0, 0, 9, 9], "colour": "red"},
        {"id": 4, "image_id": 1, "category_id": 2, "bbox": [0, 0, 9, 9]},
    ],
}
FOUND: list[dict[str, Any]] = [
    {"image_id": 3, "category_id": 1, "bbox": [0, 0, 9, 8], "score": 0.5},
    {"image_id": 1, "category_id": 2, "bbox": [0, 0, 9, 7], "score": 0.5},
    {"image_id": 3, "category_id": 7, "bbox": [1, 0, 9, 7], "score": 0.75},
]


def whole(folder: Path, table: str) -> pl.DataFrame:
    """A table of all shards, in the order of the input."""
    parts = [pl.read_parquet(folder / name / f"{table}.parquet") for name in read_layout(folder).names]
    assert len({str(part.schema) for part in parts}) == 1
    rows = pl.concat(parts)
    return rows if table == "images" else rows.sort("input_row")


def numbered(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(input_row=pl.int_range(pl.len(), dtype=pl.UInt32))


def assert_holds(folder: Path, dataset: apf.Dataset, found: pl.DataFrame) -> None:
    """The shards hold these tables, with their attributes, and each shard its own images alone."""
    assert_frame_equal(whole(folder, "images"), dataset.images.sort("image_id"))
    assert_frame_equal(pl.read_parquet(folder / "categories.parquet"), dataset.categories.sort("category_id"))
    assert_frame_equal(whole(folder, "annotations"), numbered(dataset.annotations))
    assert_frame_equal(whole(folder, "detections"), numbered(found))
    layout = read_layout(folder)
    assert sorted(path.name for path in folder.iterdir()) == sorted([*layout.names, "categories.parquet", "shards.json"])
    for name in layout.names:
        rows = {table: pl.read_parquet(folder / name / f"{table}.parquet") for table in ("images", "annotations", "detections")}
        ids = rows["images"]["image_id"]
        assert all(rows[table]["image_id"].is_in(ids.implode()).all() for table in ("annotations", "detections"))
        assert rows["images"].height == layout.n_images[name]
        assert rows["annotations"].height == layout.n_annotations[name]
        assert rows["detections"].height == layout.n_detections[name]


def write_lines(rows: list[dict[str, Any]], path: Path) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_shards_by_hand(tmp_path: Path) -> None:
    """Images in the order of their ids, rows in the order of the input, their numbers from 0."""
    listed = apf.write_shards(TRUTH, FOUND, tmp_path / "shards", n=2)
    assert listed.rows() == [("00000", 2, 1, 1), ("00001", 1, 1, 2)]
    assert listed.columns == ["shard", "n_images", "n_annotations", "n_detections"]
    first, last = (tmp_path / "shards" / name for name in ("00000", "00001"))
    assert pl.read_parquet(first / "images.parquet")["image_id"].to_list() == [1, 2]
    annotations = pl.read_parquet(last / "annotations.parquet")
    assert annotations.select("annotation_id", "input_row", "colour").rows() == [(5, 0, "red")]
    detections = pl.read_parquet(last / "detections.parquet")
    assert detections.select("detection_id", "input_row", "category_id").rows() == [(1, 0, 1), (3, 2, 7)]
    assert pl.read_parquet(tmp_path / "shards" / "categories.parquet").rows() == [(1, "cat", None), (2, "dog", None)]
    assert json.loads((tmp_path / "shards" / "shards.json").read_text()) == {
        "format": "apframe shards",
        "format_version": 1,
        "n_images": {"00000": 2, "00001": 1},
        "n_annotations": {"00000": 1, "00001": 1},
        "n_detections": {"00000": 1, "00001": 2},
    }


@pytest.mark.parametrize(("name", "shape"), [(name, shape) for name, shapes in SHAPES.items() for shape in shapes])
def test_every_format_comes_back(name: str, shape: str, tmp_path: Path) -> None:
    truth, results = write_valid(name, shape, tmp_path)
    dataset = apf.read_dataset(truth, name, masks=True)
    of_results = name if FORMATS[name].results_from else None
    found = apf.read_results(results, of_results, dataset=dataset)
    apf.write_shards(truth, results, tmp_path / "shards", n=2, format=name, results_format=of_results)
    assert_holds(tmp_path / "shards", dataset, found)


def test_text_ids(tmp_path: Path) -> None:
    truth = apf.Dataset({"image_id": ["b", "a"]}, {"category_id": ["cat"]}, {"image_id": ["b"], "category_id": ["cat"], **BOX})
    found = {"detection_id": ["x", "y"], "image_id": ["b", "a"], "category_id": ["cat"] * 2, "score": [0.5, 0.5]}
    found |= {name: value * 2 for name, value in BOX.items()}
    apf.write_shards(truth, found, tmp_path / "shards", n=2)
    assert_holds(tmp_path / "shards", truth, apf.read_results(found))
    assert pl.read_parquet(tmp_path / "shards" / "00000" / "images.parquet")["image_id"].to_list() == ["a"]


BOX = {"x": [0.0], "y": [0.0], "width": [9.0], "height": [9.0]}


@pytest.mark.parametrize("n", [1, 2, 7, 64])
def test_there_are_never_more_shards_than_images(n: int, tmp_path: Path) -> None:
    listed = apf.write_shards(TRUTH, FOUND, tmp_path / "shards", n=n)
    assert listed.height == min(n, 3) and listed["n_images"].min() >= 1  # type: ignore[operator]


def test_no_rows(tmp_path: Path) -> None:
    """A data set without images is one empty shard; a shard without rows has the columns of the others."""
    nothing = {"images": [], "categories": [], "annotations": []}
    assert apf.write_shards(nothing, [], tmp_path / "none").rows() == [("00000", 0, 0, 0)]
    apf.write_shards(TRUTH, FOUND, tmp_path / "shards", n=3)
    middle = pl.read_parquet(tmp_path / "shards" / "00001" / "detections.parquet")
    assert middle.is_empty() and "input_row" in middle.columns


SOURCES: dict[str, Callable[[Path, pl.DataFrame, list[dict[str, Any]]], Any]] = {
    "frame": lambda _, found, __: found,
    "list.json": lambda path, _, rows: path.write_text(json.dumps(rows, indent=1)),
    "packed.json.gz": lambda path, _, rows: path.write_bytes(gzip.compress(json.dumps(rows).encode())),
    "lines.json": lambda path, _, rows: path.write_text("\n".join(map(json.dumps, rows)) if rows else "[]"),
    "found.parquet": lambda path, found, _: found.write_parquet(path, row_group_size=7),
    "found.arrow": lambda path, found, _: found.write_ipc(path, record_batch_size=7),
}


@given(cases(), st.integers(1, 5), st.integers(30, 300), st.sampled_from(list(SOURCES)))
def test_parts_are_the_whole(tmp_path_factory: pytest.TempPathFactory, case: Case, n: int, size: int, source: str) -> None:
    """However small the pieces of a file are, the shards are those of the file read at once."""
    tmp_path = tmp_path_factory.mktemp("shards")
    rows = [row | {"frame": number, "by": "ab"[number % 2]} for number, row in enumerate(case.results)]
    expected = apf.read_coco_results(rows)
    written = SOURCES[source](tmp_path / source, expected, rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(coco_format, "PIECE", size)
        patch.setattr(pieces.pieces_of_list, "__defaults__", (size,))
        patch.setattr(pieces.pieces_of_lines, "__defaults__", (size,))
        patch.setattr(tables, "_BATCH", 3)
        patch.setattr(in_parts, "PART", 3)
        apf.write_shards(case.truth, written if source == "frame" else tmp_path / source, tmp_path / "shards", n)
    assert_holds(tmp_path / "shards", apf.read_dataset(case.truth), expected)


def test_existing_folder_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(OutputError, match="is not empty; give a new folder"):
        apf.write_shards(TRUTH, FOUND, tmp_path)
    with pytest.raises(OutputError, match="a file with this name exists"):
        apf.write_shards(TRUTH, FOUND, tmp_path / "notes.txt")
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def bad(**change: Any) -> list[dict[str, Any]]:
    """Detections of which the last one is wrong."""
    return [*FOUND, FOUND[0] | change]


BAD: dict[str, tuple[type[ApframeError], str, list[dict[str, Any]]]] = {
    "nan": (RowError, "score is not a finite number where detection_id is 4", bad(score=float("nan"))),
    "negative": (RowError, "width is negative where detection_id is 4", bad(bbox=[0, 0, -1, 2])),
    "image": (UnknownIdError, "image_id is not among the images where detection_id is 4; unknown: 9", bad(image_id=9)),
    "box": (RowError, "bbox is missing or not four numbers where row is 4", bad(bbox=[0, 0, 1])),
    "score": (RowError, "score is not a number where row is 4", bad(score="high")),
    "text": (IdTypeError, "image_id holds strings, not integers", [row | {"image_id": "a"} for row in FOUND]),
}  # fmt: skip


@pytest.mark.parametrize("size", [40, 1 << 20], ids=["in parts", "whole"])
@pytest.mark.parametrize("name", BAD)
def test_bad_detections_are_named(name: str, size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the same numbers, whether they are read in parts or at once; nothing is left."""
    error, message, rows = BAD[name]
    (tmp_path / "found.json").write_text(json.dumps(rows))
    monkeypatch.setattr(coco_format, "PIECE", size)
    monkeypatch.setattr(pieces.pieces_of_list, "__defaults__", (size,))
    with pytest.raises(error, match=message):
        apf.write_shards(TRUTH, tmp_path / "found.json", tmp_path / "shards")
    assert [path.name for path in tmp_path.iterdir()] == ["found.json"]


def test_ids_that_repeat_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one part or in different parts; ids that do not rise are all right."""
    found = apf.read_coco_results([*FOUND, *FOUND]).with_columns(detection_id=pl.Series([9, 8, 7, 6, 5, 4]))
    monkeypatch.setattr(in_parts, "PART", 2)
    apf.write_shards(TRUTH, found, tmp_path / "shards", 2)
    assert_holds(tmp_path / "shards", apf.read_dataset(TRUTH), found)
    for ids in ([9, 9, 7, 6, 5, 4], [9, 8, 7, 6, 5, 9]):
        with pytest.raises(DuplicateIdError, match="detection_id is not unique where detection_id is 9; make the ids unique"):
            apf.write_shards(TRUTH, found.with_columns(detection_id=pl.Series(ids)), tmp_path / "others")
    assert [path.name for path in tmp_path.iterdir()] == ["shards"]


def test_unknown_images_are_dropped_if_asked(tmp_path: Path) -> None:
    listed = apf.write_shards(TRUTH, bad(image_id=9), tmp_path / "shards", unknown_images="drop")
    assert listed["n_detections"].sum() == 3
    rows = [row | {"image_id": 90 + number} for number, row in enumerate(FOUND)]
    with pytest.warns(UnknownImageWarning, match="all 3 detections had unknown image_ids and were dropped, such as 90, 91, 92"):
        apf.write_shards(TRUTH, rows, tmp_path / "others", unknown_images="drop")
    assert whole(tmp_path / "others", "detections").is_empty()


@pytest.mark.parametrize("n", [0, -1, True, 2.0])
def test_number_of_shards(n: Any, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="n must be a whole number of at least 1"):
        apf.write_shards(TRUTH, FOUND, tmp_path / "shards", n)
