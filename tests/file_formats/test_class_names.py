"""Names of classes for results that number them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import apframe as apf
from apframe.exceptions import FormatError, ParameterError, RowError
from apframe.file_formats.class_names import read_class_names
from tests.cli.test_command import command
from tests.file_formats.folders import written

TRUTH = {
    "images": [{"id": 1, "file_name": "val/a_jpg.rf.8d3.jpg", "width": 100, "height": 50}],
    "categories": [{"id": 17, "name": "cat"}, {"id": 18, "name": "dog"}],
    "annotations": [{"id": 1, "image_id": 1, "category_id": 18, "bbox": [10, 10, 20, 20]}],
}
FILES = {
    "obj.names": "cat\ndog\n\n", "classes.txt": "cat\r\ndog", "data.yaml": "names:\n  0: cat\n  1: dog\n",
    "names.json": '["cat", "dog"]', "map.json": '{"0": "cat", "1": "dog"}',
}  # fmt: skip
FOUND = [{"image_id": 1, "category_id": 1, "bbox": [10, 10, 20, 20], "score": 0.5}]


@pytest.mark.parametrize("name", FILES)
def test_names_from_files(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(FILES[name], newline="")
    assert read_class_names(tmp_path / name) == {0: "cat", 1: "dog"}
    found = apf.read_results(FOUND, dataset=TRUTH, names=tmp_path / name)
    assert found["category_id"].to_list() == [18]


def test_numbers_in_text_are_joined_to_the_names_of_the_ground_truth(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    written(tmp_path, {"truth.json": json.dumps(TRUTH), "found/a_jpg.rf.8d3.txt": "1 .2 .4 .2 .4 .5\n", **FILES})
    arguments = [str(tmp_path / "truth.json"), str(tmp_path / "found"), "--join-by-name", "images"]
    names = ["--names", str(tmp_path / "obj.names")]
    _, out, _ = command(capsys, monkeypatch, "eval", *arguments, *names, "--json")
    assert json.loads(out)["AP"] == pytest.approx(1)
    assert command(capsys, monkeypatch, "check", *arguments, *names)[0] in (0, 3)
    target = str(tmp_path / "found.json")
    results = [arguments[1], target, "--to", "coco", "--results-of", arguments[0]]
    assert command(capsys, monkeypatch, "convert", *results, *arguments[2:], *names)[0] == 0
    assert [row["category_id"] for row in json.loads(Path(target).read_text())] == [18]


def test_a_truth_whose_categories_are_called_by_their_names(tmp_path: Path) -> None:
    truth = written(tmp_path / "truth", {"a.txt": "dog 10 10 20 20\n"})
    found = written(tmp_path / "found", {"a.txt": "1 .5 10 10 20 20\n"})
    ev = apf.evaluate(truth, found, results_format="boxes", names=["cat", "dog"])
    assert ev.summary["value"][0] == pytest.approx(1)


BAD: dict[str, tuple[Any, type[Exception], str]] = {
    "too few": (
        ["cat"],
        RowError,
        "category_id has no name where row is 1; there is 1 name, for 0 to 0",
    ),
    "empty": ([], ParameterError, "^names are empty"),
    "no list": (7, ParameterError, "^names are neither a list of names nor a mapping from numbers to names"),
    "numbers": ([1, 2], ParameterError, "^names must all be text"),
    "an unknown name": (["cat", "bird"], RowError, "bird"),
}


@pytest.mark.parametrize(("names", "error", "message"), BAD.values(), ids=BAD)
def test_what_are_no_names_is_told(names: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        apf.evaluate(TRUTH, FOUND, names=names)


def test_an_empty_file_of_names_is_told(tmp_path: Path) -> None:
    (tmp_path / "obj.names").touch()
    with pytest.raises(FormatError, match=r"obj\.names: the names are empty; write one class name per line"):
        apf.evaluate(TRUTH, FOUND, names=tmp_path / "obj.names")
