"""Shards of whole images: all formats and shapes come back, large files are read in parts, and bad input is named."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import apframe as apf
from apframe.exceptions import (
    ApframeError,
    ColumnError,
    DuplicateIdError,
    FormatError,
    IdTypeError,
    InputError,
    OutputError,
    ParameterError,
    RowError,
    UnknownIdError,
    UnknownImageWarning,
)
from apframe.formats import arrow_files, hugging_face, result_parts
from apframe.formats.catalogue import FORMATS
from apframe.formats.coco import json_parts as coco_parts
from apframe.scale.layout import parse_layout
from tests.fuzz.valid_sets import SHAPES, write_valid
from tests.parity.strategies import cases

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


def layout_of(folder: Path) -> pl.DataFrame:
    return parse_layout((folder / "shards.json").read_bytes(), folder)


def whole(folder: Path, table: str) -> pl.DataFrame:
    """A table of all shards, in the order of the input."""
    parts = [pl.read_parquet(folder / name / f"{table}.parquet") for name in layout_of(folder)["shard"]]
    assert len({str(part.schema) for part in parts}) == 1
    rows = pl.concat(parts)
    return rows if table == "images" else rows.sort("input_row")


def numbered(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(input_row=pl.int_range(pl.len(), dtype=pl.UInt32))


def with_names_of_maps(frame: pl.DataFrame) -> pl.DataFrame:
    """The table with the names of its label maps, of which shards have copies, in place of their paths."""
    return frame.with_columns(pl.col("^label_map$").str.split("/").list.last())


def assert_holds(folder: Path, dataset: apf.Dataset, found: pl.DataFrame) -> None:
    """The shards hold these tables, with their attributes, and each shard its own images alone."""
    assert_frame_equal(*map(with_names_of_maps, (whole(folder, "images"), dataset.images.sort("image_id"))))
    assert_frame_equal(pl.read_parquet(folder / "categories.parquet"), dataset.categories.sort("category_id"))
    assert_frame_equal(whole(folder, "annotations"), numbered(dataset.annotations))
    assert_frame_equal(*map(with_names_of_maps, (whole(folder, "detections"), numbered(found))))
    layout = layout_of(folder)
    assert sorted(path.name for path in folder.iterdir()) == sorted([*layout["shard"], "categories.parquet", "shards.json"])
    for name, *counts in layout.iter_rows():
        rows = {table: pl.read_parquet(folder / name / f"{table}.parquet") for table in ("images", "annotations", "detections")}
        ids = rows["images"]["image_id"]
        assert all(rows[table]["image_id"].is_in(ids.implode()).all() for table in ("annotations", "detections"))
        assert [rows[table].height for table in ("images", "annotations", "detections")] == counts


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


@pytest.mark.slow
@pytest.mark.parametrize(("name", "shape"), [(name, shape) for name, shapes in SHAPES.items() for shape in shapes])
def test_every_format_comes_back(name: str, shape: str, tmp_path: Path) -> None:
    truth, results = write_valid(name, shape, tmp_path)
    dataset = apf.read_dataset(truth, name, masks=True)
    of_results = name if FORMATS[name].kinds_of("results") else None
    detections = apf.read_results(results, of_results, dataset=dataset)
    apf.write_shards(truth, results, tmp_path / "shards", n=2, format=name, results_format=of_results)
    assert_holds(tmp_path / "shards", dataset, detections)


def test_text_ids(tmp_path: Path) -> None:
    truth = apf.Dataset({"image_id": ["b", "a"]}, {"category_id": ["cat"]}, {"image_id": ["b"], "category_id": ["cat"], **BOX})
    detections = {"detection_id": ["x", "y"], "image_id": ["b", "a"], "category_id": ["cat"] * 2, "score": [0.5, 0.5]}
    detections |= {name: value * 2 for name, value in BOX.items()}
    apf.write_shards(truth, detections, tmp_path / "shards", n=2)
    assert_holds(tmp_path / "shards", truth, apf.read_results(detections))
    assert pl.read_parquet(tmp_path / "shards" / "00000" / "images.parquet")["image_id"].to_list() == ["a"]


BOX = {"x": [0.0], "y": [0.0], "width": [9.0], "height": [9.0]}


@pytest.mark.parametrize("n", [1, 2, 7, 64])
def test_there_are_never_more_shards_than_images(n: int, tmp_path: Path) -> None:
    listed = apf.write_shards(TRUTH, FOUND, tmp_path / "shards", n=n)
    assert listed.height == min(n, 3) and listed["n_images"].min() >= 1  # type: ignore[operator]


@pytest.mark.slow
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


# further fields of rows: some are scanned, some are parsed, and for some all rows have to be seen at once
FURTHER: list[list[dict[str, Any]]] = [
    [{}], [{"flag": True}, {"flag": False}], [{"nested": [{"a": 1}, {"a": 2}]}, {"nested": []}], [{"later": 5}, {}],
    [{"mixed": 1}, {"mixed": 0.5}], [{"mixed": 1}, {"mixed": "a"}, {"mixed": 0.5}], [{"mixed": True}, {"mixed": 1}],
    [{"none": None}, {"none": 5}], [{"tags": ["a"]}, {"tags": []}],
]  # fmt: skip


@pytest.mark.slow
@given(st.data())
def test_parts_are_the_whole(tmp_path_factory: pytest.TempPathFactory, drawn: st.DataObject) -> None:
    """However small the pieces of a file are, the shards are those of the file read at once."""
    case, n, size = drawn.draw(cases()), drawn.draw(st.integers(1, 5)), drawn.draw(st.integers(30, 300))
    further, source = drawn.draw(st.sampled_from(FURTHER)), drawn.draw(st.sampled_from(list(SOURCES)))
    tmp_path = tmp_path_factory.mktemp("shards")
    more = [further[number % len(further)] | {"by": "ab"[number % 2]} for number in range(len(case.results))]
    rows = [{**row, **each} for row, each in zip(case.results, more, strict=True)]
    SOURCES["list.json"](tmp_path / "list.json", pl.DataFrame(), rows)
    expected = apf.read_coco_results(tmp_path / "list.json")
    frame = SOURCES[source](tmp_path / source, expected, rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(coco_parts, "PIECE", size)
        patch.setattr(arrow_files, "_BATCH", 3)
        patch.setattr(result_parts, "PART", 3)
        apf.write_shards(case.truth, frame if source == "frame" else tmp_path / source, tmp_path / "shards", n)
    assert_holds(tmp_path / "shards", apf.read_dataset(case.truth), expected)


@pytest.mark.slow
@pytest.mark.parametrize("source", [name for name in SOURCES if name != "frame"])
def test_damaged_files_are_named(source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that are cut off, or have other bytes somewhere, are an error of their own if they cannot be read."""
    rows = [row | {"name": "a name"} for row in FOUND * 10]
    SOURCES[source](tmp_path / source, apf.read_coco_results(rows), rows)
    content, random = (tmp_path / source).read_bytes(), Random(source)
    monkeypatch.setattr(coco_parts, "PIECE", 500)
    monkeypatch.setattr(arrow_files, "_BATCH", 10)
    n_errors = 0
    for number in range(8):
        damaged = bytearray(content if number % 2 else content[: random.randrange(len(content))])
        for _ in range(number % 3 if damaged else 0):
            damaged[random.randrange(len(damaged))] = random.randrange(256)
        (tmp_path / source).write_bytes(damaged)
        try:
            apf.write_shards(TRUTH, tmp_path / source, tmp_path / f"shards{number}", 2)
        except InputError as error:
            n_errors += 1
            assert len(str(error).splitlines()) == 1
            assert not (tmp_path / f"shards{number}").exists()
    assert n_errors


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
    "nan": (RowError, "score is not a finite number for detection_id 4", bad(score=float("nan"))),
    "image": (UnknownIdError, "image_id is not among the images for detection_id 4; unknown: 9", bad(image_id=9)),
    "box": (RowError, "bbox is missing or not four numbers for row 4", bad(bbox=[0, 0, 1])),
    "score": (RowError, "score is not a number for row 4", bad(score="high")),
    "text": (IdTypeError, "image_id holds strings, not integers", [row | {"image_id": "a"} for row in FOUND]),
}  # fmt: skip


@pytest.mark.parametrize("size", [40, 1 << 20], ids=["in parts", "whole"])
@pytest.mark.parametrize("name", BAD)
def test_bad_detections_are_named(name: str, size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the same numbers, whether they are read in parts or at once; nothing is left."""
    error, message, rows = BAD[name]
    (tmp_path / "found.json").write_text(json.dumps(rows))
    monkeypatch.setattr(coco_parts, "PIECE", size)
    with pytest.raises(error, match=message):
        apf.write_shards(TRUTH, tmp_path / "found.json", tmp_path / "shards")
    assert [path.name for path in tmp_path.iterdir()] == ["found.json"]


@pytest.mark.slow
def test_ids_that_repeat_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one part or in different parts; ids that do not rise are all right."""
    detections = apf.read_coco_results([*FOUND, *FOUND]).with_columns(detection_id=pl.Series([9, 8, 7, 6, 5, 4]))
    monkeypatch.setattr(result_parts, "PART", 2)
    apf.write_shards(TRUTH, detections, tmp_path / "shards", 2)
    assert_holds(tmp_path / "shards", apf.read_dataset(TRUTH), detections)
    for ids in ([9, 9, 7, 6, 5, 4], [9, 8, 7, 6, 5, 9]):
        with pytest.raises(DuplicateIdError, match="detection_id is not unique for detection_id 9; make the ids unique"):
            apf.write_shards(TRUTH, detections.with_columns(detection_id=pl.Series(ids)), tmp_path / "others")
    assert [path.name for path in tmp_path.iterdir()] == ["shards"]


@pytest.mark.slow
def test_unknown_images_are_dropped_if_asked(tmp_path: Path) -> None:
    listed = apf.write_shards(TRUTH, bad(image_id=9), tmp_path / "shards", unknown_images="drop")
    assert listed["n_detections"].sum() == 3
    rows = [row | {"image_id": 90 + number} for number, row in enumerate(FOUND)]
    with pytest.warns(UnknownImageWarning, match="all 3 detections had unknown image_ids and were dropped, such as 90, 91, 92"):
        apf.write_shards(TRUTH, rows, tmp_path / "others", unknown_images="drop")
    assert whole(tmp_path / "others", "detections").is_empty()


@pytest.mark.parametrize("n", [0, -1, True, 2.0])
def test_number_of_shards(n: Any, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="n is a whole number of at least 1"):
        apf.write_shards(TRUTH, FOUND, tmp_path / "shards", n)


@pytest.mark.slow
def test_several_files(tmp_path: Path) -> None:
    """Ground truth and detections that are divided differently are joined; what repeats is numbered anew."""
    (tmp_path / "gt").mkdir()
    (tmp_path / "dt").mkdir()
    for name, images in {"b": [3], "a": [1, 2]}.items():
        part = {key: [row for row in rows if row.get("image_id", row["id"]) in images] for key, rows in TRUTH.items()}
        part["annotations"] = [row | {"id": number} for number, row in enumerate(part["annotations"], start=1)]
        (tmp_path / "gt" / f"{name}.json").write_text(json.dumps(part | {"categories": TRUTH["categories"]}))
    for name, rows in {"x": FOUND[1:], "y": FOUND[:1]}.items():
        (tmp_path / "dt" / f"{name}.json").write_text(json.dumps(rows))
    listed = apf.write_shards(str(tmp_path / "gt" / "*.json"), tmp_path / "dt" / "*.json", tmp_path / "shards", 2)
    assert listed.rows() == [("00000", 2, 1, 1), ("00001", 1, 1, 2)]
    annotations, detections = (whole(tmp_path / "shards", table) for table in ("annotations", "detections"))
    assert annotations.select("image_id", "annotation_id", "colour").rows() == [(1, 1, None), (3, 2, "red")]
    expected = apf.read_coco_results([*FOUND[1:], *FOUND[:1]])
    assert_frame_equal(detections, numbered(expected))
    assert_frame_equal(whole(tmp_path / "shards", "images"), apf.read_dataset(TRUTH).images)
    apf.write_shards(TRUTH, [tmp_path / "dt" / "y.json", tmp_path / "dt" / "x.json"], tmp_path / "others", 2)
    assert_frame_equal(whole(tmp_path / "others", "detections"), numbered(apf.read_coco_results([FOUND[0], *FOUND[1:]])))


@pytest.mark.slow
def test_bad_sets_of_files(tmp_path: Path) -> None:
    def write(name: str, content: Any) -> Path:
        (tmp_path / name).write_text(json.dumps(content))
        return tmp_path / name

    nothing: dict[str, Any] = {"images": [], "categories": [], "annotations": []}
    a, found = write("a.json", TRUTH), write("found.json", FOUND)
    images, named = write("b.json", nothing | {"images": [{"id": 2}]}), [{"id": 1, "name": "cow"}]
    with pytest.raises(DuplicateIdError, match="image_id is not unique across the files for image_id 2; an image may be"):
        apf.write_shards([a, images], found, tmp_path / "shards")
    with pytest.raises(RowError, match=r"a category has different names in different files \('cat', 'cow'\) for category_id 1"):
        apf.write_shards([a, write("c.json", nothing | {"categories": named})], found, tmp_path / "shards")
    text = write("d.json", nothing | {"images": [{"id": "x"}]})
    with pytest.raises(IdTypeError, match=r"images\.image_id holds strings, not integers like images of another file"):
        apf.write_shards([a, text], found, tmp_path / "shards")
    more = write("more.json", [FOUND[0] | {"colour": "red"}])
    with pytest.raises(
        ColumnError, match=r"detections\.colour is String in some files and Int64 in others; use the same type everywhere"
    ):
        apf.write_shards(a, [more, write("further.json", [FOUND[0] | {"colour": 5}])], tmp_path / "shards")
    with pytest.raises(FormatError, match="no file or folder matches this pattern"):
        apf.write_shards(a, str(tmp_path / "*.csv"), tmp_path / "shards")
    with pytest.raises(UnknownIdError, match="image_id is not among the images for detection_id 1, 2, 3"):
        apf.write_shards(write("e.json", nothing), found, tmp_path / "shards")
    assert not (tmp_path / "shards").exists()


def test_some_detections_without_box(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are an error also where they come in another part, as in the whole."""
    monkeypatch.setattr(result_parts, "PART", 1)
    mask = '{"size":[9,9],"counts":"5"}'
    rows = {"image_id": [1, 3], "category_id": [1, 1], "score": [0.5, 0.5], "mask": [mask, mask]}
    boxes = {name: [0.0, None] for name in ("x", "y", "width", "height")}
    with pytest.raises(RowError, match="x is missing for detection_id 2; supply it or remove these rows"):
        apf.evaluate(TRUTH, {**rows, **boxes})
    with pytest.raises(RowError, match="x is missing for detection_id 2; supply it or remove these rows"):
        apf.write_shards(TRUTH, {**rows, **boxes}, tmp_path / "shards")


@pytest.mark.slow
def test_types_of_parts_and_categories_of_polars(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Attributes keep their types, also those that Arrow does not have."""
    monkeypatch.setattr(result_parts, "PART", 2)
    attributes = {
        "enum": pl.Series(["a", "b", None], dtype=pl.Enum(["b", "a"])),
        "categorical": pl.Series(["c", None, "d"], dtype=pl.Categorical),
        "lists": pl.Series([[1, 2], None, []]),
        "days": pl.Series([None, 5, 6]).cast(pl.Date),
        "nothing": pl.Series([None, None, None]),
    }
    detections = apf.read_coco_results(FOUND).with_columns(**attributes)
    apf.write_shards(TRUTH, detections, tmp_path / "shards", 3)
    assert_frame_equal(whole(tmp_path / "shards", "detections"), numbered(detections))


@pytest.mark.slow
def test_category_maps_and_names(tmp_path: Path) -> None:
    """Options of reading apply to both sides, as in `evaluate`."""
    detections = [{"file_name": "c", "name": "dog", "bbox": [5, 5, 9, 9], "score": 0.5}]
    options: dict[str, Any] = {"join_by_name": ["images", "categories"], "category_map": {"dog": "cat"}}
    options |= {"box_format": "cxcywh", "image_attributes": {"file_name": ["a", "b", "c"], "weather": ["fog", "sun", "fog"]}}
    apf.write_shards(TRUTH, detections, tmp_path / "shards", 2, **options)
    assert pl.read_parquet(tmp_path / "shards" / "categories.parquet")["name"].to_list() == ["cat"]
    assert whole(tmp_path / "shards", "annotations")["category_id"].to_list() == [1, 1]
    assert whole(tmp_path / "shards", "detections").select("image_id", "category_id", "x").rows() == [(3, 1, 0.5)]
    assert whole(tmp_path / "shards", "images")["weather"].to_list() == ["fog", "sun", "fog"]


NESTED: dict[str, list[dict[str, Any]]] = {
    "ids of images": [{"image_id": n, "objects": {"bbox": [[0, 0, 9, n]], "label": [1], "score": [0.5]}} for n in (3, 1, 2)],
    "numbers of rows": [{"objects": [{"bbox": [0, 0, 9, n], "label": 1, "score": n}]} for n in (1, 0.5, 1)],
    "some empty": [{"image_id": n, "boxes": [[0, 0, 9, 9]] * n, "labels": [1] * n, "scores": [n] * n} for n in (1, 0, 2, 3)],
    "ids of objects": [
        {"image_id": n, "objects": [{"id": m, "bbox": [0, 0, 9, 9], "label": 1, "score": n / 4}]} for n, m in ((1, 5), (2, 6))
    ],
    "ids that repeat": [{"image_id": n, "objects": [{"id": 5, "bbox": [0, 0, 9, 9], "label": 1, "score": n}]} for n in (1, 2)],
    "later columns": [
        {"image_id": n, "objects": [{"bbox": [0, 0, 9, 9], "label": 1, "score": n} | more]}
        for n, more in ((1, {}), (2, {"colour": "red"}), (3, {"colour": 5}))
    ],
}


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
@pytest.mark.parametrize("name", NESTED)
def test_rows_of_images_in_parts(name: str, ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hugging Face's rows, with their objects in lists: one image after the other, or at once where that is needed."""
    path = write_lines(NESTED[name], tmp_path / "found.jsonl")
    if ending == "parquet":
        frame = pl.read_ndjson(path, infer_schema_length=None)
        path = tmp_path / "found.parquet"
        frame.write_parquet(path)
    truth = {"images": [{"id": n} for n in range(4)], "categories": [{"id": 1, "name": "cat"}], "annotations": []}
    expected = apf.read_results(path, "hugging_face")
    monkeypatch.setattr(hugging_face, "PIECE", 10)
    monkeypatch.setattr(hugging_face, "_BATCH", 1)
    apf.write_shards(truth, path, tmp_path / "shards", 2, results_format="hugging_face")
    assert_holds(tmp_path / "shards", apf.read_dataset(truth), expected)


MEMORY = """
import sys
import apframe as apf
from apframe.formats import arrow_files as tables
from apframe.formats.coco import json_parts as coco
from pathlib import Path
coco.PIECE, tables._BATCH = 1 << 20, 1 << 14  # so that a quarter of a million rows are many parts
apf.write_shards(sys.argv[1], sys.argv[2], sys.argv[3])
print(next(int(line.split()[1]) for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")))
"""


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["json", "lines.json", "json.gz", "parquet"])
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of memory is not known here")
def test_memory_does_not_grow_with_the_detections(ending: str, tmp_path: Path) -> None:
    """Five times as many detections take hardly more memory: a million more are 73 MB as a table, and 87 MB as text."""
    truth = {"images": [{"id": n} for n in range(1000)], "categories": [{"id": 1}], "annotations": []}
    (tmp_path / "truth.json").write_text(json.dumps(truth))
    peaks = []
    for n in (250_000, 1_250_000):
        row = pl.int_range(n, eager=True)
        detections = pl.DataFrame(
            {"image_id": row * 7 % 1000, "category_id": row * 0 + 1, "score": (row * 37 % 10_007) / 10_007}
        )
        detections = detections.with_columns(
            bbox=pl.concat_list(row % 640 + 0.25, row % 480 + 0.5, row % 31 + 0.125, row % 17 + 0.75)
        )
        path = tmp_path / f"{n}.{ending}"
        if ending == "parquet":
            detections.with_columns(pl.col("bbox").list.to_struct(fields=["x", "y", "width", "height"])).unnest(
                "bbox"
            ).write_parquet(path)
        else:
            lines = detections.write_ndjson()
            text = lines if ending == "lines.json" else "[" + lines.rstrip().replace("\n", ",\n") + "]"
            path.write_bytes(gzip.compress(text.encode(), 1) if ending == "json.gz" else text.encode())
        command = [sys.executable, "-c", MEMORY, str(tmp_path / "truth.json"), str(path), str(tmp_path / f"{n}.shards")]
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2])
        peaks.append(int(done.stdout) / 1024)
        assert layout_of(tmp_path / f"{n}.shards")["n_detections"].sum() == n
        path.unlink()
    assert peaks[1] - peaks[0] < 50, peaks
