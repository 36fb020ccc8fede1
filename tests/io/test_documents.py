"""Documents as a whole: what is no JSON, and files that are written and read packed."""

from __future__ import annotations

import gc
import gzip
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import apframe as apf
from apframe.exceptions import FormatError
from apframe.io.documents import parse_json
from apframe.io.files import write_text

NESTED = b"[" * 100_000
BROKEN: dict[str, tuple[bytes, str]] = {
    "nothing": (b" \n", "the file is empty"),
    "no JSON": (b"hello", "not JSON, or cut off (Expecting value: line 1 column 1 (char 0))"),
    "cut off": (b"[1", "not JSON, or cut off (Expecting ',' delimiter: line 1 column 3 (char 2))"),
    "no text": (b'[1,\n"\xe4"]', "line 2 is not UTF-8 text (invalid continuation byte); convert the file"),
    "nested too deep": (NESTED, "not JSON that can be read: it is nested too deep"),
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
