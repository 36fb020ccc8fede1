"""WIDER FACE's files: MATLAB's and text, results in folders, from these to the kit's numbers, and what cannot be read."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.io import loadmat, savemat

import apframe as apf
from apframe.cli import main
from apframe.exceptions import (
    BoxFormatWarning,
    ColumnError,
    FormatError,
    MissingResultsWarning,
    ParameterError,
    UnsortedScoresWarning,
)
from tests.benchmarks.people.wider_face.wider import SETS, cells, write_matlab, write_results, write_text
from tests.formats.folders import written

FACES: dict[str, Any] = {
    "0--Parade/0_Parade_1": [((10, 10, 20, 20), SETS), ((100, 100, 20, 20), SETS), ((200, 10, 8, 8), ())],
    "0--Parade/0_Parade_2": [],
    "1--Handshaking/1_Handshaking_7": [((5, 6, 7, 8), ("hard",))],
}
FOUND = {
    "0--Parade/0_Parade_1": [(10, 10, 20, 20, 0.9), (500, 500, 20, 20, 0.8), (100, 100, 20, 20, 0.7), (200, 10, 8, 8, 0.6)],
    "0--Parade/0_Parade_2": [],
    "1--Handshaking/1_Handshaking_7": [],
}
BOX = ["x", "y", "width", "height"]


def test_matlab_files_say_which_faces_are_in_a_set(tmp_path: Path) -> None:
    truth = apf.read_dataset(write_matlab(tmp_path / "ground_truth", FACES))
    assert truth.images["image_id"].to_list() == list(FACES)
    assert truth.categories.select("category_id", "name").rows() == [("face", "face")]
    assert truth.annotations.select("image_id", *BOX, *SETS).rows() == [
        ("0--Parade/0_Parade_1", 10, 10, 20, 20, True, True, True),
        ("0--Parade/0_Parade_1", 100, 100, 20, 20, True, True, True),
        ("0--Parade/0_Parade_1", 200, 10, 8, 8, False, False, False),
        ("1--Handshaking/1_Handshaking_7", 5, 6, 7, 8, False, False, True),
    ]


def test_the_text_has_flags_and_no_sets(tmp_path: Path) -> None:
    truth = apf.read_dataset(write_text(tmp_path / "wider_face_val_bbx_gt.txt", FACES))
    assert truth.images["image_id"].to_list() == list(FACES)
    assert truth.annotations["x"].to_list() == [10, 100, 200, 5]
    assert truth.annotations.select("blur", "pose").unique().rows() == [(0, 0)]
    detections = apf.read_results(write_results(tmp_path / "found", FOUND))
    with pytest.raises(ColumnError, match=r"^annotations: no column easy, medium, hard; add it"):
        apf.evaluate(truth, detections, "wider_face")
    assert apf.evaluate(truth, detections, "voc2012")["AP"] == pytest.approx(0.5 + 0.25 * 0.75, abs=0.2)


def run(*arguments: object) -> int:
    """The exit code of a command."""
    with pytest.raises(SystemExit) as ended:
        main([str(each) for each in arguments])
    return int(ended.value.code or 0)


@pytest.mark.slow
def test_from_the_files_to_the_numbers_of_the_kit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    truth = write_matlab(tmp_path / "ground_truth", FACES)
    detections = write_results(tmp_path / "found", FOUND)
    evaluation = apf.evaluate(truth, detections, "wider_face")
    assert evaluation.summary["value"].to_list() == pytest.approx([5 / 6, 5 / 6, 5 / 9], abs=1e-9)
    assert run("eval", truth, detections, "--protocol", "wider_face") == 0
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [
        ["set", "AP"],
        ["easy", "83.3"],
        ["medium", "83.3"],
        ["hard", "55.6"],
    ]
    assert run("check", truth, detections) == 0
    assert run("convert", truth, tmp_path / "truth.json", "--to", "coco") == 0
    assert apf.read_dataset(tmp_path / "truth.json").annotations["hard"].to_list() == [1, 1, 0, 1]


def test_results_say_the_image_by_their_file(tmp_path: Path) -> None:
    detections = apf.read_results(write_results(tmp_path / "found", FOUND), "wider_face")
    assert detections.select("image_id", "category_id", *BOX, "score").row(1) == (
        "0--Parade/0_Parade_1", "face", 500, 500, 20, 20, 0.8,
    )  # fmt: skip


@pytest.mark.slow
def test_missing_files_unsorted_scores_and_fractions_are_said(tmp_path: Path) -> None:
    truth = write_matlab(tmp_path / "ground_truth", FACES)
    rows = sorted(FOUND["0--Parade/0_Parade_1"], key=lambda row: row[-1])
    few = write_results(tmp_path / "few", {"0--Parade/0_Parade_1": rows})
    with (
        pytest.warns(
            MissingResultsWarning, match=r"few: 2 images without a result file \('0--Parade/0_Parade_2', '1--Hand.*stops"
        ),
        pytest.warns(
            UnsortedScoresWarning, match=r"few: the scores of 1 image \('0--Parade/0_Parade_1'\) are not in descending"
        ),
    ):
        evaluation = apf.evaluate(truth, few, "wider_face")
    assert evaluation["AP_easy"] == pytest.approx(5 / 6, abs=1e-9)
    small = {name: [[*(side / 1024 for side in row[:4]), row[4]] for row in of] for name, of in FOUND.items()}
    with pytest.warns(BoxFormatWarning, match="fractions"):
        apf.evaluate(truth, write_results(tmp_path / "small", small), "wider_face")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1\n0 0 1 1 .5\n", "no image name precedes this in line 1"),
        ("a\n", "no number of boxes follows the name in line 1"),
        ("a\nb\n0\n", "no number of boxes follows the name in line 1"),
        ("a\n0 0 1 1 .5\n", "not the number of boxes, which follows a name in line 2"),
        ("a\n2\n0 0 1 1 .5\n", "the number of boxes differs from the declared one in line 1"),
        ("a\n1\n0 0 1 1\n", "not 5 fields (x y width height score) in line 3"),
        ("a\n1\n0 0 1 x .5\n", "height is not a finite number in line 3"),
    ],
)
def test_files_that_cannot_be_read(tmp_path: Path, text: str, message: str) -> None:
    folder = written(tmp_path / "found", {"event/a.txt": text})
    with pytest.raises(FormatError, match=re.escape(f"{folder / 'event' / 'a.txt'}: {message}")):
        apf.read_results(folder, "wider_face")


def test_flags_are_whole_numbers(tmp_path: Path) -> None:
    path = tmp_path / "wider_face_val_bbx_gt.txt"
    path.write_text("a/b.jpg\n2\n0 0 1 1 0 0 0 0 0 0\n0 0 1 1 1.5 0 0 0 0 0\n")
    with pytest.raises(FormatError, match=r"blur is not a whole number in line 4"):
        apf.read_dataset(path)


def test_matlab_files_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_matlab(tmp_path / "truth", FACES)
    (folder / "wider_hard_val.mat").rename(folder / "hard.mat")
    with pytest.raises(FormatError, match=r"wider_hard_val.mat, which lists the faces of this set, is missing; put it besi"):
        apf.read_dataset(folder)
    (folder / "wider_hard_val.mat").write_bytes(b"MATLAB 5.0" + bytes(200))
    with pytest.raises(FormatError, match=r"wider_hard_val.mat: cannot be read as a MATLAB file \("):
        apf.read_dataset(folder)
    (folder / "wider_hard_val.mat").write_bytes((folder / "wider_face_val.mat").read_bytes())
    with pytest.raises(FormatError, match=r"wider_hard_val.mat: has no gt_list"):
        apf.read_dataset(folder)
    write_matlab(tmp_path / "other", {"a/b": [((0, 0, 1, 1), SETS), ((0, 0, 1, 1), SETS)]})
    (folder / "wider_hard_val.mat").write_bytes((tmp_path / "other" / "wider_hard_val.mat").read_bytes())
    with pytest.raises(FormatError, match=r"gt_list has 1 image, not 3"):
        apf.read_dataset(folder)
    write_matlab(tmp_path / "one", {"a/b": [((0, 0, 1, 1), SETS)]})
    for name in SETS:
        (tmp_path / "one" / f"wider_{name}_val.mat").write_bytes((tmp_path / "other" / f"wider_{name}_val.mat").read_bytes())
    with pytest.raises(FormatError, match=r"gt_list names face 2 of image 1, which has 1"):
        apf.read_dataset(tmp_path / "one")
    write_matlab(tmp_path / "two", {"a/b": [((0, 0, 1, 1), SETS), ((0, 0, 1, 1), ())]})
    for number, shown in ((1.5, "1.5"), (0, "0"), (float("nan"), "nan"), (float("inf"), "inf")):
        savemat(tmp_path / "two" / "wider_hard_val.mat", {"gt_list": cells([cells([np.array([[number]])])])})
        with pytest.raises(FormatError, match=f"wider_hard_val.mat: gt_list names face {shown} of image 1, which has 2"):
            apf.read_dataset(tmp_path / "two")
    write_matlab(folder, FACES, "train")
    with pytest.raises(FormatError, match=r"needs one file such as wider_face_val.mat, but has 'wider_face_train.mat', 'wid"):
        apf.read_dataset(folder)
    monkeypatch.setitem(sys.modules, "scipy.io", None)
    with pytest.raises(ParameterError, match=r'^MATLAB files need SciPy: pip install scipy, or the extra "faces"'):
        apf.read_dataset(tmp_path / "one")


def test_many_images_are_read_as_whole_columns(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    faces: dict[str, Any] = {
        f"{k % 3}--event/{k}_image": [(rng.integers(0, 99, 4).tolist(), SETS[rng.integers(0, 4) :]) for _ in range(k % 5)]
        for k in range(60)
    }
    by_event = sorted(faces, key=lambda name: name[0])
    truth = apf.read_dataset(write_matlab(tmp_path / "truth", faces))
    expected = [(name, *box, *(inside in sets for inside in SETS)) for name in by_event for box, sets in faces[name]]
    assert truth.annotations.select("image_id", *BOX, *SETS).rows() == expected
    as_text = apf.read_dataset(write_text(tmp_path / "truth.txt", {name: faces[name] for name in by_event}))
    assert as_text.annotations.select("image_id", *BOX).rows() == [row[:5] for row in expected]
    assert as_text.images["image_id"].to_list() == truth.images["image_id"].to_list() == by_event


@pytest.mark.parametrize(
    ("text", "message"), [("", None), ("x y\n", r"0_Parade_0\.txt: no image name precedes this in line 1")]
)
def test_the_first_file_of_a_folder_does_not_hide_its_format(text: str, message: str | None, tmp_path: Path) -> None:
    detections = written(write_results(tmp_path / "found", FOUND), {"0--Parade/0_Parade_0.txt": text})
    if message is None:
        assert apf.read_results(detections).height == 4
        return
    with pytest.raises(FormatError, match=message):
        apf.read_results(detections)


ODD = {
    "numbers": np.array([1, 2]),
    "nothing": np.zeros((0, 0)),
    "a struct": {"a": 1},
    "NaN": np.nan,
    "text": "x",
    "complex": 1j,
}


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
@pytest.mark.parametrize("field", ["event_list", "file_list", "face_bbx_list", "gt_list"])
def test_cells_of_another_kind(field: str, odd: Any, tmp_path: Path) -> None:
    folder = write_matlab(tmp_path, {"e/a": [((1, 1, 5, 5), ["easy"])], "f/b": [((2, 2, 6, 6), ["hard"])]})
    path = folder / ("wider_easy_val.mat" if field == "gt_list" else "wider_face_val.mat")
    content = {name: value for name, value in loadmat(path).items() if not name.startswith("_")}
    messages = []
    for inner in (odd, cells_of([odd, odd]), cells_of([cells_of([odd]), cells_of([odd])])):
        savemat(path, content | {field: inner})
        try:
            apf.read_dataset(folder, "wider_face")
        except FormatError as error:  # any other error is none that users can read
            messages.append(str(error).removeprefix(f"{path}: "))
    if field == "file_list" and odd is ODD["numbers"]:
        message = "file_list is not a list of names in cell "
        assert messages == [f"{message}1, 2", f"{message}1, 2, 3, 4", f"{message}1, 2"]
    if field == "gt_list" and odd is ODD["text"]:
        assert messages[1:] == ["gt_list is not a list of numbers in cell 1, 2"] * 2
    if field == "gt_list" and odd is ODD["NaN"]:
        assert messages[-1] == "gt_list names face nan of image 1, which has 1"


def cells_of(values: list[Any]) -> np.ndarray:
    cells = np.empty((len(values), 1), dtype=object)
    for place, value in enumerate(values):
        cells[place, 0] = value
    return cells


def test_the_folder_of_the_split_has_several(tmp_path: Path) -> None:
    """Text of train and val, beside lists and notes of the makers; the file of one is not of the other."""
    folder = tmp_path / "wider_face_split"
    folder.mkdir()
    write_text(folder / "wider_face_val_bbx_gt.txt", FACES)
    write_text(folder / "wider_face_train_bbx_gt.txt", dict(list(FACES.items())[:1]))
    (folder / "readme.txt").write_text("Attached the mappings between attribute names and label values.\n")
    assert apf.read_dataset(folder).images.height == len(FACES)
    assert apf.read_dataset(folder, split="train").images.height == 1
    with pytest.raises(ParameterError, match=r"wider_face_val_bbx_gt\.txt is not of this split"):
        apf.read_dataset(folder / "wider_face_val_bbx_gt.txt", split="train")
