"""THUMOS14's text: a file for each action, results by the kit's numbers, and lines that cannot be read."""

from __future__ import annotations

from pathlib import Path

import pytest

import apframe as apf
from apframe.benchmarks.video.thumos14.format import _NUMBERS, Thumos14
from apframe.exceptions import FormatError, ParameterError
from apframe.formats.path_contents import see
from tests.formats.folders import written
from tests.protocols.rules_of import classes_of

FILES = {
    "Diving_test.txt": "video_test_2 0.0 10.0\nvideo_test_1  3.5 4\n",
    "HighJump_test.txt": "",
    "Ambiguous_test.txt": "video_test_2 69 75\n",
}
FOUND = "video_test_2 60 70 26 0.95\nvideo_test_2 0 10 Diving 0.9\nvideo_test_1 9 10 97 0.5\n"


def test_lines_are_intervals(tmp_path: Path) -> None:
    truth = apf.read_dataset(written(tmp_path / "annotation", FILES))
    assert truth.images["image_id"].to_list() == ["video_test_1", "video_test_2"]
    assert truth.categories["name"].to_list() == ["Ambiguous", "Diving", "HighJump"]
    assert truth.annotations.select("image_id", "category_id", "start_time", "end_time").rows() == [
        ("video_test_2", "Ambiguous", 69, 75), ("video_test_2", "Diving", 0, 10), ("video_test_1", "Diving", 3.5, 4),
    ]  # fmt: skip


def test_results_are_of_classes_by_number_or_name(tmp_path: Path) -> None:
    written(tmp_path, {"found.txt": FOUND})
    detections = apf.read_results(tmp_path / "found.txt")
    assert detections.select("image_id", "category_id", "score", "start_time", "end_time").rows() == [
        ("video_test_2", "Diving", 0.95, 60, 70), ("video_test_2", "Diving", 0.9, 0, 10),
        ("video_test_1", "VolleyballSpiking", 0.5, 9, 10),
    ]  # fmt: skip


def test_the_classes_are_those_of_the_protocol() -> None:
    assert tuple(_NUMBERS.values()) == classes_of(apf.THUMOS14).names


@pytest.mark.filterwarnings("ignore::apframe.exceptions.UnknownCategoryWarning")
def test_evaluated_from_its_files(tmp_path: Path) -> None:
    truth = written(tmp_path / "annotation", FILES)
    written(tmp_path, {"found.txt": FOUND})
    evaluation = apf.evaluate(truth, tmp_path / "found.txt", "thumos14", iou_thresholds=0.5)
    # what overlaps the ambiguous interval is ignored; the dive of the other video is missed
    assert evaluation.metrics.filter(category_id="Diving")["ap"].to_list() == [0.5]
    assert evaluation.matches(0.5).filter(score=0.95)["outcome"].to_list() == ["ignored"]


KIT = FILES | {
    "Diving_val.txt": "video_validation_7 1 2\n",
    "detclasslist.txt": "26 Diving\n40 HighJump\n",
    "readme.txt": "Annotation files of THUMOS14\n",
}


@pytest.mark.filterwarnings("ignore::apframe.exceptions.UnknownCategoryWarning")
def test_the_folder_of_the_kit_is_read_as_it_is(tmp_path: Path) -> None:
    """Both sets and other text are in one folder; results name the files of videos."""
    annotation = written(tmp_path / "annotation", KIT)
    written(tmp_path, {"found.txt": FOUND.replace("test_2 ", "test_2.mpeg ").replace("test_1 ", "test_1.MP4 ")})
    test = apf.read_dataset(annotation, split="test")
    assert test.annotations.equals(apf.read_dataset(written(tmp_path / "test", FILES)).annotations)
    assert apf.read_dataset(annotation, split="val").images["image_id"].to_list() == ["video_validation_7"]
    assert apf.read_results(tmp_path / "found.txt")["image_id"].to_list() == ["video_test_2", "video_test_2", "video_test_1"]
    evaluation = apf.evaluate(annotation, tmp_path / "found.txt", "thumos14", split="test", iou_thresholds=0.5)
    assert evaluation.metrics.filter(category_id="Diving")["ap"].to_list() == [0.5]


def test_a_split_has_to_be_chosen(tmp_path: Path) -> None:
    annotation = written(tmp_path / "annotation", KIT)
    with pytest.raises(ParameterError, match='has files of test and of val; choose one with split="test"'):
        apf.read_dataset(annotation)
    with pytest.raises(ParameterError, match="no split 'tset'; did you mean test"):
        apf.read_dataset(annotation, split="tset")


WRONG = {
    "name": ({"Diving.txt": "a 1 2\n", "Diving_test.txt": "a 1 2\n"}, "not named CLASS_test.txt: 'Diving.txt'"),
    "fields": ({"Diving_test.txt": "a 1 2\na 1\n"}, "line 2"),
    "number": ({"Diving_test.txt": "a 1 2\na 1 x\n"}, "line 2"),
    "order": ({"Diving_test.txt": "a 1 2\na 3 2\n"}, "the interval ends before it starts in line 2"),
    "none": ({"readme.md": ""}, "holds no text file"),
}


@pytest.mark.parametrize(("files", "message"), WRONG.values(), ids=WRONG)
def test_folders_that_cannot_be_read(files: dict[str, str], message: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError) as caught:
        Thumos14().read_tables(written(tmp_path / "truth", files))
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("v 1 2 8 0.5", "the class is not a number of THUMOS14's list, 7 to 97, and not a name in line 2"),
        ("v 3 2 7 0.5", "the interval ends before it starts in line 2"),
        ("v 1 2 7", "line 2"),
        ("v 1 2 7 high", "line 2"),
    ],
)
def test_results_that_cannot_be_read(line: str, message: str, tmp_path: Path) -> None:
    written(tmp_path, {"found.txt": f"v 1 2 7 0.5\n{line}\n"})
    with pytest.raises(FormatError) as caught:
        apf.read_results(tmp_path / "found.txt")
    assert message in str(caught.value)


def test_files_of_others_are_none(tmp_path: Path) -> None:
    others = {"a.txt": "cat 0.5 1 2 3 4\n", "b.txt": "v 1 2 8 0.5\n", "c.txt": ""}
    written(tmp_path, others)
    assert not any(Thumos14().fits(see(tmp_path / name), "results") for name in others)
    assert not Thumos14().fits(see(written(tmp_path / "boxes", {"a_test.txt": "cat 0.5 1 2 3 4\n"})), "dataset")


def test_a_folder_of_the_kit_without_annotations(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"holds no file CLASS_test\.txt"):
        Thumos14().read_tables(written(tmp_path / "truth", {"detclasslist.txt": "7 BaseballPitch\n"}))
