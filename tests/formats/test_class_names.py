"""Names of classes for results that number them."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import apframe as apf
from apframe.exceptions import ClassNumbersWarning, FormatError, ParameterError, RowError
from apframe.formats.class_names import read_class_names, with_class_names
from apframe.formats.format import OPEN, OUTPUTS
from apframe.formats.outputs import Outputs
from tests.cli.test_command import command
from tests.formats.folders import written

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
    detections = apf.read_results(FOUND, dataset=TRUTH, names=tmp_path / name)
    assert detections["category_id"].to_list() == [18]


@pytest.mark.slow
def test_numbers_in_text_are_joined_to_names_of_the_truth(
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
    results = written(tmp_path / "found", {"a.txt": "1 .5 10 10 20 20\n"})
    ev = apf.evaluate(truth, results, results_format="boxes", names=["cat", "dog"])
    assert ev.summary["value"][0] == pytest.approx(1)


BAD: dict[str, tuple[Any, type[Exception], str]] = {
    "too few": (
        ["cat"],
        RowError,
        "category_id has no name for row 1; there is 1 name, for 0; if they count from 1",
    ),
    "empty": ([], ParameterError, "^names must not be empty$"),
    "no list": (7, ParameterError, "^names must be a list of names, or a mapping from numbers to names$"),
    "no number": ({float("inf"): "cat"}, ParameterError, "^names must be a list of names, or a mapping from"),
    "numbers": ([1, 2], ParameterError, "^names must all be text$"),
    "an unknown name": (["cat", "bird"], RowError, "bird"),
}


@pytest.mark.parametrize(("names", "error", "message"), BAD.values(), ids=BAD)
def test_what_are_no_names_is_told(names: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        apf.evaluate(TRUTH, FOUND, names=names)


def test_an_empty_file_of_names_is_told(tmp_path: Path) -> None:
    (tmp_path / "obj.names").touch()
    with pytest.raises(FormatError, match=r"obj\.names: the names must not be empty; write one class name per line"):
        apf.evaluate(TRUTH, FOUND, names=tmp_path / "obj.names")


LABELS = {"data.yaml": "val: images\nnames: [car, bus]\n", "labels/a.txt": "0 .2 .4 .2 .4\n1 .6 .4 .2 .4\n",
          "image_sizes.csv": "file_name,image_width,image_height\na.jpg,100,50\n"}  # fmt: skip
CAR, BUS = [10, 10, 20, 20], [50, 10, 20, 20]
SUBTRACTED = (
    "detections: category_id is 1 to 2, and the classes are 0 to 1: as in Ultralytics' predictions.json, 1 was subtracted"
)
ASKED = (
    "if they count from 1, as Ultralytics' predictions.json does, "
    'give names as a JSON file with {"1": ..., "2": ...}, the names of all classes'
)


def predictions(*rows: tuple[int, list[int]], **changes: Any) -> list[dict[str, Any]]:
    """As Ultralytics writes them."""
    of_image = {"image_id": "a", "file_name": "a.jpg"}
    return [of_image | {"category_id": number, "bbox": box, "score": 0.9} | changes for number, box in rows]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["file", "memory", "frame"])
@pytest.mark.parametrize("names", [None, "data.yaml", ["car", "bus"]])
def test_predictions_of_ultralytics_count_classes_from_1(kind: str, names: Any, tmp_path: Path) -> None:
    folder = written(tmp_path / "data", LABELS)
    rows: Any = predictions((1, CAR), (2, BUS))
    results = {"file": tmp_path / "predictions.json", "memory": rows, "frame": pl.DataFrame(rows)}[kind]
    (tmp_path / "predictions.json").write_text(json.dumps(rows))
    names = folder / names if isinstance(names, str) else names
    with pytest.warns(ClassNumbersWarning) as caught:
        evaluation = apf.evaluate(folder, results, names=names)
    assert [str(warning.message) for warning in caught] == [SUBTRACTED]
    assert evaluation["AP"] == pytest.approx(1)
    assert evaluation.matches(0.5)["category_id"].sort().to_list() == [0, 1]
    with pytest.warns(ClassNumbersWarning) as caught:
        checked = apf.check(folder, results, names=names)
    assert [str(warning.message) for warning in caught] == [SUBTRACTED]
    assert not {"unknown_category", "shifted_ids"} & {*checked["check"]}
    with pytest.warns(ClassNumbersWarning, match="1 was subtracted"):
        assert apf.read_results(results, dataset=folder, names=names)["category_id"].to_list() == [0, 1]


@pytest.mark.slow
def test_one_class_that_is_written_1(tmp_path: Path) -> None:
    files = {"data.yaml": "val: images\nnames: [car]\n", "labels/007.txt": "0 .2 .4 .2 .4\n"}
    sizes = {"image_sizes.csv": "file_name,image_width,image_height\n007.jpg,100,50\n"}
    rows = predictions((1, CAR), image_id=7, file_name="007.jpg")
    (tmp_path / "predictions.json").write_text(json.dumps(rows))
    folder = written(tmp_path / "data", files | sizes)
    for results in (rows, tmp_path / "predictions.json"):
        with pytest.warns(ClassNumbersWarning, match="category_id is 1, and the only class is 0: as in"):
            assert apf.evaluate(folder, results, join_by_name="images")["AP"] == pytest.approx(1)


@pytest.mark.slow
@pytest.mark.parametrize("names", [None, ["car", "bus"]])
def test_numbers_that_may_count_from_0_or_1_stay(names: Any, tmp_path: Path) -> None:
    """Class 1 alone is the second of two from 0, and the first from 1: only what matches can tell."""
    folder = written(tmp_path, LABELS)
    with warnings.catch_warnings(action="error"):
        evaluation = apf.evaluate(folder, predictions((1, BUS)), names=names)
    assert evaluation.matches(0.5).filter(outcome="tp")["category_id"].to_list() == [1]
    truth, rows = of_images(1, *[0] * 10)
    with pytest.warns(apf.exceptions.NothingMatchesWarning, match="looks 1 too large.*or give names as a JSON file"):
        assert apf.evaluate(truth, rows, names=names)["AP"] == 0
    with warnings.catch_warnings(action="error"):
        evaluation = apf.evaluate(folder, predictions((1, CAR)), names={1: "car", 2: "bus"})
    assert evaluation.matches(0.5).filter(outcome="tp")["category_id"].to_list() == [0]


@pytest.mark.slow
def test_names_that_lack_the_last_number_from_1_are_asked_for(tmp_path: Path) -> None:
    """Versions 8.3.49 to 8.3.100 write no `file_name`, so that nothing else shows who wrote the results."""
    rows = [{name: value for name, value in row.items() if name != "file_name"} for row in predictions((1, CAR), (2, BUS))]
    folder = written(tmp_path, LABELS)
    with pytest.raises(RowError) as refused:
        apf.evaluate(folder, rows, names=["car", "bus"])
    problem = "detections: category_id has no name for row 2; there are 2 names, for 0 to 1"
    assert str(refused.value) == f"{problem}; {ASKED}"
    assert apf.evaluate(folder, rows, names={1: "car", 2: "bus"})["AP"] == pytest.approx(1)


@pytest.mark.parametrize(
    "rows",
    {
        "0 occurs": predictions((0, CAR), (1, BUS)),
        "the names are there": predictions((1, BUS), name="bus"),
        "images are not called by their files": predictions((1, BUS), file_name="b.jpg"),
        "not as Ultralytics writes them": [
            {name: value for name, value in row.items() if name != "file_name"} for row in predictions((1, BUS))
        ],
    }.values(),
)
def test_other_numbers_stay(rows: list[dict[str, Any]], tmp_path: Path) -> None:
    folder = written(tmp_path, LABELS)
    with warnings.catch_warnings(action="error"):
        detections = apf.read_results(rows, dataset=folder)
    assert detections["category_id"].to_list() == [row["category_id"] for row in rows]


def test_numbers_beyond_the_classes_are_unknown_as_before(tmp_path: Path) -> None:
    with pytest.warns(apf.exceptions.UnknownCategoryWarning, match="1 of 2 detections has an unknown category_id"):
        apf.evaluate(written(tmp_path, LABELS), predictions((1, BUS), (3, CAR)))


@pytest.mark.slow
def test_classes_from_1_are_mapped_by_their_names(tmp_path: Path) -> None:
    folder = written(tmp_path, LABELS)
    with pytest.warns(ClassNumbersWarning, match="1 was subtracted"):
        evaluation = apf.evaluate(folder, predictions((1, CAR), (2, BUS)), category_map={"car": "vehicle", "bus": "vehicle"})
    assert evaluation.by("name").select("name", "AP").rows() == [("vehicle", pytest.approx(1))]


def of_images(first: int, *classes: int) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """An image for each class, with one object; and predictions that number the classes from `first`."""
    images = [{"id": n, "file_name": f"{n}.jpg", "width": 100, "height": 50} for n in range(len(classes))]
    categories = [{"id": 0, "name": "car"}, {"id": 1, "name": "bus"}]
    annotations = [{"id": n, "image_id": n, "category_id": each, "bbox": CAR} for n, each in enumerate(classes)]
    rows = [predictions((first + each, CAR), image_id=n, file_name=f"{n}.jpg")[0] for n, each in enumerate(classes)]
    return {"images": images, "categories": categories, "annotations": annotations}, rows


@pytest.mark.slow
@pytest.mark.parametrize("invalid", ["error", "drop"])
def test_no_shard_decides_how_classes_are_numbered(invalid: str, tmp_path: Path) -> None:
    """One shard has the last class of two, the other lacks it: all or none count from 1."""
    truth, rows = of_images(1, 0, 1)
    with warnings.catch_warnings(action="ignore"):
        apf.write_shards(truth, rows, tmp_path / "shards", n=2)
    with warnings.catch_warnings(record=True, action="always") as caught:
        assert apf.evaluate_shards(tmp_path / "shards", invalid=invalid)["AP"] == 0
    question, unknown = (str(warning.message) for warning in caught)
    assert question == f"shard 00001: detections: category_id is 2, and the classes are 0 to 1; {ASKED}"
    assert unknown.startswith("shard 00001: 1 of 1 detection has an unknown category_id and was dropped: 2")
    with pytest.raises(ParameterError, match="leave it out, or write the shards with it"):
        apf.evaluate_shards(tmp_path / "shards", names={1: "car", 2: "bus"})
    apf.write_shards(truth, rows, tmp_path / "named", names={1: "car", 2: "bus"})
    assert apf.evaluate_shards(tmp_path / "named", invalid=invalid)["AP"] == pytest.approx(1)


def test_results_that_are_read_in_parts_are_asked_about(tmp_path: Path) -> None:
    truth, rows = of_images(1, 0, 1)
    with pytest.warns(ClassNumbersWarning) as caught:
        apf.write_shards(truth, rows, tmp_path / "shards", n=1)
    assert str(caught[0].message) == f"detections: category_id is 1 to 2, and the classes are 0 to 1; {ASKED}"


@pytest.mark.slow
@pytest.mark.parametrize(("how", "ids"), [(OPEN, [0, 1]), (OUTPUTS, [1, 2])])
def test_outputs_of_a_library_keep_their_numbers(how: str, ids: list[int], tmp_path: Path) -> None:
    """As they are read, checked, and read without the rows that are refused."""
    folder = written(tmp_path, LABELS)
    rows = predictions((1, CAR), (2, BUS), (1, [10, 10, -5, 20]))
    good, bad = (Outputs(pl.DataFrame(of), how) for of in (rows[:2], rows))
    with warnings.catch_warnings(action="ignore"):
        assert apf.read_results(good, dataset=folder)["category_id"].to_list() == ids
        assert ("unknown_category" in apf.check(folder, bad)["check"]) == (2 in ids)
        kept = apf.evaluate(folder, bad, invalid="drop").detections
    assert kept["category_id"].to_list() == [each for each in ids if each < 2]


@pytest.mark.slow
def test_predictions_of_ultralytics_in_the_shell(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = written(tmp_path / "data", LABELS)
    (tmp_path / "predictions.json").write_text(json.dumps(predictions((1, CAR), (2, BUS))))
    arguments = [str(folder), str(tmp_path / "predictions.json"), "--names", str(folder / "data.yaml"), "--json"]
    code, out, err = command(capsys, monkeypatch, "eval", *arguments)
    assert (code, json.loads(out)["AP"]) == (0, pytest.approx(1))
    assert SUBTRACTED in err


def test_numbers_are_no_names() -> None:
    """Classes that are called by numbers: 10 is no number of a class, though a class is called so."""
    names = [str(digit) for digit in range(1, 11)]
    detections = pl.DataFrame({"category_id": list(range(1, 11))})
    with pytest.raises(RowError, match="category_id has no name for row 10"):
        with_class_names(detections, names)
    assert with_class_names(detections.cast(pl.String), names)["name"].to_list()[:2] == ["2", "3"]
