"""Documents as a whole: what is no JSON, and files that are written and read packed."""

from __future__ import annotations

import gc
import gzip
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import apframe as apf
from apframe.exceptions import ColumnError, FormatError
from apframe.formats.documents import parse_json
from apframe.formats.files import write_text

NESTED = b"[" * 100_000
BROKEN: dict[str, tuple[bytes, str]] = {
    "nothing": (b" \n", "the file is empty"),
    "no JSON": (b"hello", "not JSON, or cut off (Expecting value: line 1 column 1 (char 0))"),
    "cut off": (b"[1", "not JSON, or cut off (Expecting ',' delimiter: line 1 column 3 (char 2))"),
    "no text": (b'[1,\n"\xe4"]', "line 2 is not UTF-8 text (invalid continuation byte); convert the file"),
    "half of a character": (b'[1,\n"\\\\\\uD83d"]', r"\uD83d in line 2 is half of a character (a lone surrogate); correct it"),
    "the other half": (rb'["\ude00\ud83d"]', r"\ude00 in line 1 is half of a character (a lone surrogate); correct it"),
    "half of a character in UTF-8": (
        b'["\xed\xa0\xbd"]',
        "line 1 is not UTF-8 text (invalid continuation byte); convert the file",
    ),
    "half of a character in UTF-16": (
        r'["\ud83d"]'.encode("utf-16"),
        r"\ud83d in line 1 is half of a character (a lone surrogate); correct it",
    ),
    "nested too deep": (NESTED, "cannot be read as JSON: it is nested too deeply"),
}
JSON_READERS: dict[str, tuple[str, Any]] = {
    "coco": ("coco", apf.read_dataset),
    "COCO's results": ("coco", apf.read_results),
    "lvis": ("lvis", apf.read_dataset),
    "activitynet": ("activitynet", apf.read_dataset),
    "ActivityNet's results": ("activitynet", apf.read_results),
    "label_studio": ("label_studio", apf.read_dataset),
}
TRUTH = apf.Dataset(
    {"image_id": [1], "image_width": [100], "image_height": [50], "file_name": ["a.jpg"]},
    {"category_id": [1], "name": ["cat"]},
    {"image_id": [1], "category_id": [1], "x": [1.0], "y": [2.0], "width": [10.0], "height": [20.0]},
)
FOUND = pl.DataFrame(
    {"image_id": [1], "category_id": [1], "score": [0.5], "x": [1.0], "y": [2.0], "width": [10.0], "height": [20.0]}
)


@pytest.mark.parametrize(("content", "message"), BROKEN.values(), ids=BROKEN)
def test_what_is_no_json_is_refused(content: bytes, message: str) -> None:
    with pytest.raises(FormatError) as error:
        parse_json(Path("a.json"), content)
    assert str(error.value) == f"a.json: {message}"


def test_whole_characters_are_read() -> None:
    assert parse_json(Path("a.json"), rb'["\ud83d\ude00", "\\ud83d", "\\\\ud83d"]') == ["\U0001f600", "\\ud83d", "\\\\ud83d"]
    assert parse_json(Path("a.json"), '["\u00e4"]'.encode("utf-16")) == ["\u00e4"]


@pytest.mark.parametrize("row", [{"x": "\ud800"}, {"\ud800": 1}, {"image_id": "\ud800"}, {"x": {"y": ["\ud800"]}}], ids=str)
def test_no_half_of_a_character_reaches_a_table(row: dict[str, Any], tmp_path: Path) -> None:
    detection = {"image_id": 1, "category_id": 1, "bbox": [0, 0, 9, 9], "score": 0.5}
    for rows in ([detection | row], [detection, detection | row]):
        (tmp_path / "a.json").write_text(json.dumps(rows))
        with pytest.raises(FormatError, match="half of a character"):
            apf.read_results(tmp_path / "a.json")
    (tmp_path / "a.json").write_text(json.dumps({"images": [{"id": 1} | row], "categories": [], "annotations": []}))
    with pytest.raises(FormatError, match="half of a character"):
        apf.read_dataset(tmp_path / "a.json")


def test_names_of_fields_have_a_limit(tmp_path: Path) -> None:
    name = "x" * 1_000_000
    detection = {"image_id": 1, "category_id": 1, "bbox": [0, 0, 9, 9], "score": 0.5}
    for rows in ([detection | {name: 1}], [detection, detection | {name: 1}]):
        (tmp_path / "a.json").write_text(json.dumps(rows))
        if name in rows[0]:
            with pytest.raises(ColumnError, match="the name of a field has 1,000,000 characters; at most 10,000 are read"):
                apf.read_results(tmp_path / "a.json")
        else:
            assert apf.read_results(tmp_path / "a.json").height == 2  # the first row says which fields there are
    with pytest.raises(ColumnError, match="the name of a field has 1,000,000 characters"):
        apf.read_dataset({"images": [{"id": 1, name: 1}], "categories": [], "annotations": []})


@pytest.mark.parametrize(("name", "read"), JSON_READERS.values(), ids=JSON_READERS)
@pytest.mark.parametrize("begin", [b'{"images": ', b"["])
def test_every_reader_refuses_what_is_nested_too_deep(begin: bytes, name: str, read: Any, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(begin + NESTED)
    with pytest.raises(FormatError, match=r"a\.json: "):
        read(tmp_path / "a.json", name)


def test_annotations_that_are_nested_too_deep_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b'{"images": [], "categories": [], "annotations": [{"id": 1, "deep": ' + NESTED + b"]}")
    with pytest.raises(FormatError, match="nested too deep"):
        apf.read_coco(path)


def test_no_garbage_is_looked_for_while_parsing() -> None:
    seen = []

    def hook(_pairs: list[tuple[str, Any]]) -> None:
        seen.append(gc.isenabled())

    parse_json(Path("a.json"), b'{"a": 1}', object_pairs_hook=hook)
    assert (seen, gc.isenabled()) == ([False], True)


def test_an_error_of_a_hook_is_kept() -> None:
    def hook(_pairs: list[tuple[str, Any]]) -> None:
        raise FormatError("a key stands twice")

    with pytest.raises(FormatError, match=r"^a key stands twice$"):
        parse_json(Path("a.json"), b'{"a": 1}', object_pairs_hook=hook)


def test_text_is_written_as_it_is(tmp_path: Path) -> None:
    write_text(tmp_path / "a.txt", "Größe\r\n\n")
    write_text(tmp_path / "a.txt.gz", "Größe\r\n\n")
    assert (tmp_path / "a.txt").read_bytes() == "Größe\r\n\n".encode()
    assert gzip.decompress((tmp_path / "a.txt.gz").read_bytes()) == "Größe\r\n\n".encode()


@pytest.mark.slow
@pytest.mark.parametrize(("name", "file"), [("coco", "v.json"), ("cvat", "v.xml"), ("label_studio", "v.json")])
def test_data_sets_are_packed_by_their_name(name: str, file: str, tmp_path: Path) -> None:
    for path in (tmp_path / file, tmp_path / f"{file}.gz"):
        apf.write_dataset(TRUTH, path, name)
    assert gzip.decompress((tmp_path / f"{file}.gz").read_bytes()) == (tmp_path / file).read_bytes()
    assert_frame_equal(apf.read_dataset(tmp_path / f"{file}.gz").annotations, apf.read_dataset(tmp_path / file).annotations)


@pytest.mark.parametrize(
    ("name", "file"), [("coco", "v.json"), ("cvat", "v.xml"), ("label_studio", "v.json"), ("open_images", "v.csv")]
)
def test_results_are_packed_by_their_name(name: str, file: str, tmp_path: Path) -> None:
    for path in (tmp_path / file, tmp_path / f"{file}.gz"):
        apf.write_results(FOUND, path, name, dataset=TRUTH)
    assert gzip.decompress((tmp_path / f"{file}.gz").read_bytes()) == (tmp_path / file).read_bytes()
