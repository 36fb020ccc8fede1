"""Which format a path is of, and writing that leaves nothing half done."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import apframe as apf
from apframe.exceptions import FormatError, OutputError, ParameterError
from apframe.io.formats import FORMATS, as_format

TRUTH = {
    "images": [{"id": 1, "file_name": "a.jpg"}],
    "categories": [{"id": 1, "name": "cat"}],
    "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [1, 2, 3, 4]}],
}


def test_names_are_found_in_any_spelling() -> None:
    assert as_format("Coco").name == "coco"
    with pytest.raises(ParameterError, match=r"no format 'coko'; did you mean coco"):
        as_format("coko")


def test_every_format_says_what_its_files_are() -> None:
    table = apf.formats()
    assert table["format"].to_list() == list(FORMATS)
    assert not any(table.null_count().row(0))
    for name, format_ in FORMATS.items():
        assert format_.name == name
        assert {*format_.dataset_from, *format_.results_from} <= {"file", "folder"}
        assert set(format_.holds) == {"images", "categories", "annotations", "detections"}


def test_what_is_in_memory_is_taken_as_it_is() -> None:
    dataset = apf.read_dataset(TRUTH)
    assert apf.read_dataset(dataset) is dataset


def test_a_missing_path_is_named(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"nowhere: there is no such file or folder$"):
        apf.read_dataset(tmp_path / "nowhere", "coco")


def test_a_file_where_a_folder_is_needed_and_the_reverse(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("cat 1 2 3 4")
    with pytest.raises(FormatError, match=r"this is a file; class-and-box text, a folder of .*, is needed$"):
        apf.read_dataset(tmp_path / "file", "boxes")
    with pytest.raises(FormatError, match=r"this is a folder; COCO JSON, a JSON file, .*, is needed$"):
        apf.read_results(tmp_path, "coco")


def test_what_cannot_be_told_lists_the_formats_and_the_flag(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("hello")
    with pytest.raises(FormatError) as error:
        apf.read_dataset(tmp_path / "file")
    message = str(error.value)
    assert (
        "its format cannot be told: no format's dataset is a file like this; say which with format= or --gt-format" in message
    )
    assert set(re.split(r"\W+", message.split("--gt-format: ")[1])) == {
        name for name, each in FORMATS.items() if "file" in each.dataset_from
    }


def test_what_is_like_two_formats_names_both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "truth.json").write_text(json.dumps(TRUTH))
    monkeypatch.setattr(type(FORMATS["boxes"]), "dataset_from", ("file",))
    monkeypatch.setattr(type(FORMATS["boxes"]), "is_dataset", lambda *_: True)
    with pytest.raises(
        FormatError, match=r"cannot be told: is like coco \(.*\) and like boxes \(.*\); say .* --gt-format: coco, boxes$"
    ):
        apf.read_dataset(tmp_path / "truth.json")


def test_options_that_a_format_does_not_take_are_refused(tmp_path: Path) -> None:
    (tmp_path / "truth.json").write_text(json.dumps(TRUTH))
    with pytest.raises(ParameterError, match="COCO JSON takes no split"):
        apf.read_dataset(tmp_path / "truth.json", split="val")
    with pytest.raises(ParameterError, match="join_by_name needs the data set whose names they are"):
        apf.read_results([], join_by_name="images")


def test_a_folder_that_holds_something_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "notes").write_text("mine")
    dataset = apf.read_dataset(TRUTH)
    with pytest.raises(OutputError, match="old: is not empty; name a new folder"):
        apf.write_dataset(dataset, tmp_path / "old", "boxes")
    with pytest.raises(OutputError, match="old: this is a folder; name a file"):
        apf.write_dataset(dataset, tmp_path / "old", "coco")
    (tmp_path / "file").write_text("mine")
    with pytest.raises(OutputError, match="file: this is a file; name a folder"):
        apf.write_dataset(dataset, tmp_path / "file", "boxes")
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["file", "notes", "old"]


def test_an_empty_folder_is_filled_and_a_file_replaced(tmp_path: Path) -> None:
    dataset = apf.read_dataset(TRUTH)
    (tmp_path / "empty").mkdir()
    (tmp_path / "truth.json").write_text("old")
    apf.write_dataset(dataset, tmp_path / "empty", "boxes")
    apf.write_dataset(dataset, tmp_path / "truth.json", "coco")
    assert (tmp_path / "empty" / "a.txt").read_text() == "cat 1.0 2.0 3.0 4.0\n"
    assert apf.read_dataset(tmp_path / "truth.json").annotations.equals(dataset.annotations)


def test_a_failed_write_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "truth.json").write_text("old")

    def fail(_format: object, _dataset: apf.Dataset, path: Path) -> None:
        path.write_text("half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(type(FORMATS["coco"]), "write", fail)
    with pytest.raises(OutputError, match=r"truth\.json: cannot be written \(No space left on device\)"):
        apf.write_dataset(apf.read_dataset(TRUTH), tmp_path / "truth.json", "coco")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("truth.json", "old")]


def test_a_name_that_ends_in_gz_is_packed(tmp_path: Path) -> None:
    dataset = apf.read_dataset(TRUTH)
    apf.write_dataset(dataset, tmp_path / "truth.json.gz", "coco")
    assert (tmp_path / "truth.json.gz").read_bytes()[:2] == b"\x1f\x8b"
    assert apf.read_dataset(tmp_path / "truth.json.gz").annotations.equals(dataset.annotations)
