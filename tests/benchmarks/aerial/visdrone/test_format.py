"""VisDrone's text: ground truth and results, and what is wrong with them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import apframe as apf
from apframe.cli.command import main
from apframe.exceptions import BoxFormatWarning, FormatError, MissingResultsWarning
from apframe.tables.shapes.boxes import BOX
from tests.formats.folders import text_folder

TRUTH = {"a": "10,10,40,40,1,4,0,1,\n100,10,40,40,1,4,1,2,\n300,300,40,40,0,0,0,0,\n", "b": "10, 10,40,40,0,9,0,0\n"}
FOUND = {"a": "10,10,40,40,0.9,4,-1,-1\n200,10,40,40,0.8,4,-1,-1\n100,10,40,40,0.7,4,-1,-1\n", "b": ""}


def run(*arguments: object) -> int:
    """The exit code of a command."""
    with pytest.raises(SystemExit) as ended:
        main([str(each) for each in arguments])
    return int(ended.value.code or 0)


def test_ground_truth(tmp_path: Path) -> None:
    dataset = apf.read_dataset(text_folder(tmp_path / "truth", **TRUTH))
    assert dataset.images["image_id"].to_list() == ["a", "b"]
    assert dataset.categories.select("category_id", "name").rows()[::11] == [(0, "ignored regions"), (11, "others")]
    columns = ("image_id", "category_id", *BOX, "is_crowd", "truncation", "occlusion")
    assert dataset.annotations.select(columns).rows()[1:] == [
        ("a", 4, 100, 10, 40, 40, False, 1, 2), ("a", 0, 300, 300, 40, 40, True, 0, 0), ("b", 9, 10, 10, 40, 40, True, 0, 0),
    ]  # fmt: skip


def test_results_stay_in_their_order(tmp_path: Path) -> None:
    detections = apf.read_results(text_folder(tmp_path / "found", **FOUND))
    assert detections.select("image_id", "category_id", "score", *BOX).row(1) == ("a", 4, 0.8, 200, 10, 40, 40)


def test_boxes_in_fractions_of_the_image_are_named(tmp_path: Path) -> None:
    truth = text_folder(tmp_path / "truth", a=TRUTH["a"])
    with pytest.warns(BoxFormatWarning, match=r"found: all boxes are in \[0, 1\.05\], .* but the format has pixels; multiply"):
        apf.evaluate(truth, text_folder(tmp_path / "found", a="0.1,0.2,0.3,0.4,0.9,4,-1,-1\n"), "visdrone")
    with pytest.warns(BoxFormatWarning, match=r"small: all boxes are in"):
        apf.read_dataset(text_folder(tmp_path / "small", a="0.1,0.2,0.3,0.4,1,4,0,1\n"))


@pytest.mark.slow
def test_from_the_files_to_the_numbers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    truth, detections = text_folder(tmp_path / "truth", **TRUTH), text_folder(tmp_path / "found", **FOUND)
    assert run("eval", truth, detections, "--protocol", "visdrone") == 0
    values = [line.split(" = ")[1] for line in capsys.readouterr().out.splitlines()]
    assert values == ["0.417", "0.417", "0.417", "0.250", "0.500", "0.500", "0.500"]  # a car in one image, a bus in another
    assert run("check", truth, detections) == 0
    assert run("convert", truth, tmp_path / "truth.json", "--to", "coco") == 0
    assert apf.read_dataset(tmp_path / "truth.json").annotations["is_crowd"].to_list() == [False, False, True, True]


def test_an_image_without_a_file_is_said(tmp_path: Path) -> None:
    truth = text_folder(tmp_path / "truth", **TRUTH)
    with pytest.warns(
        MissingResultsWarning, match=r"found: 1 image without a file \('b'\), evaluated as images without detections"
    ):
        apf.evaluate(truth, text_folder(tmp_path / "found", a=FOUND["a"]), "visdrone")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1,2,3,4,1,4,0\n", "not 8 fields (x y width height score category_id truncation occlusion) in line 1"),
        ("1,2,3,4,1,4,0,0\n1,2,3,x,1,4,0,0\n", "height is not a finite number in line 2"),
        ("1,2,3,4,1,12,0,0\n", "the category is not a whole number from 0 to 11 in line 1"),
        ("1,2,3,4,1,4.5,0,0\n", "the category is not a whole number from 0 to 11 in line 1"),
        ("1,2,-3,4,1,4,0,0\n", "width is negative in line 1"),
        ("1,2,3,4,1,4,0,1.5\n", "occlusion is not a whole number in line 1"),
        ("1,2,3,4,.5,4,0,0\n", "the score of an object is not 0 or 1 in line 1"),
    ],
)
def test_files_that_cannot_be_read(tmp_path: Path, text: str, message: str) -> None:
    folder = text_folder(tmp_path / "truth", a=text)
    with pytest.raises(FormatError, match=re.escape(f"{folder / 'a.txt'}: {message}")):
        apf.read_dataset(folder, "visdrone")


@pytest.mark.slow
def test_a_folder_of_empty_files_has_no_detections(tmp_path: Path) -> None:
    truth = text_folder(tmp_path / "truth", **TRUTH)
    evaluation = apf.evaluate(truth, text_folder(tmp_path / "found", a="", b=""), "visdrone")
    assert evaluation.summary["value"].to_list() == [0] * 7
