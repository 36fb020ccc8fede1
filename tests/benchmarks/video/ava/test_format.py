"""AVA's CSV: frames, boxes as fractions, label maps, and lines that cannot be read."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import apframe as apf
from apframe.benchmarks.video.ava.format import Ava
from apframe.exceptions import FormatError, UnknownImageWarning
from apframe.formats.path_contents import see
from tests.formats.folders import written

TRUTH = "clip,0902,0.25,0.5,0.75,1.0,12,3\nclip,0902,0.25,0.5,0.75,1.0,80,3\nclip,0903\nother,1798,0,0,0.5,0.5,12,0\n"
FOUND = "clip,902,0.25,0.5,0.75,1.0,12,0.75\nclip,0903,0,0,0.5,0.5,12,1e-3\n"
MAP = 'label {\n  name: "bend/bow (at the waist)"\n  label_id: 12\n  label_type: PERSON_MOVEMENT\n}\n'
ITEMS = 'item {\n  name: "stand"\n  id: 12\n}\nitem {\n  name: "sit"\n  id: 11\n}\n'


def test_lines_are_annotations(tmp_path: Path) -> None:
    written(tmp_path, {"ava_val.csv": TRUTH})
    truth = apf.read_dataset(tmp_path / "ava_val.csv")
    assert truth.images.select("image_id", "video", "timestamp").rows() == [
        ("clip,902.000000", "clip", 902.0), ("clip,903.000000", "clip", 903.0), ("other,1798.000000", "other", 1798.0),
    ]  # fmt: skip
    assert truth.images.select("image_width", "image_height").unique().rows() == [(1, 1)]
    assert truth.categories.select("category_id", "name").rows() == [(12, "12"), (80, "80")]
    columns = ("image_id", "category_id", "x", "y", "width", "height", "person_id")
    assert truth.annotations.select(columns).rows() == [
        ("clip,902.000000", 12, 0.25, 0.5, 0.5, 0.5, 3),
        ("clip,902.000000", 80, 0.25, 0.5, 0.5, 0.5, 3),
        ("other,1798.000000", 12, 0, 0, 0.5, 0.5, 0),
    ]


def test_results(tmp_path: Path) -> None:
    written(tmp_path, {"found.csv": FOUND})
    detections = apf.read_results(tmp_path / "found.csv")
    assert detections.select("image_id", "category_id", "score", "x", "width").rows() == [
        ("clip,902.000000", 12, 0.75, 0.25, 0.5), ("clip,903.000000", 12, 0.001, 0, 0.5),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "categories"),
    [(MAP, [(12, "bend/bow (at the waist)")]), (ITEMS, [(12, "stand"), (11, "sit")])],
)
def test_a_label_map_says_which_actions_there_are(text: str, categories: list[tuple[int, str]], tmp_path: Path) -> None:
    truth = apf.read_dataset(written(tmp_path / "truth", {"ava_val.csv": TRUTH, "actions.pbtxt": text}))
    assert truth.categories.select("category_id", "name").rows() == categories
    assert truth.annotations["category_id"].to_list() == [12, 12]
    if text == MAP:
        assert truth.categories["supercategory"].to_list() == ["PERSON_MOVEMENT"]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::apframe.exceptions.UnknownCategoryWarning")
def test_evaluated_from_its_files(tmp_path: Path) -> None:
    written(tmp_path, {"truth.csv": TRUTH, "found.csv": FOUND + "nowhere,0902,0.25,0.5,0.75,1.0,12,0.99\n"})
    with pytest.warns(UnknownImageWarning, match="unknown image_id and was dropped: 'nowhere,902.000000'"):
        evaluation = apf.evaluate(tmp_path / "truth.csv", tmp_path / "found.csv", "ava")
    assert evaluation.metrics.select("category_id", "ap").rows() == [(12, 0.5), (80, 0.0)]
    converted = apf.read_dataset(tmp_path / "truth.csv")
    apf.write_dataset(converted, tmp_path / "truth.json", "coco")
    assert apf.read_dataset(tmp_path / "truth.json").annotations["width"].to_list() == [0.5] * 3


WRONG = {
    "fields": ("clip,0902,0.1,0.1,0.5,12,3\nclip,0902,0.1,0.1\n", "... are not 2 or 7 or 8 fields in line 2"),
    "second": ("clip,now,0.1,0.1,0.5,0.6,12,3\n", "second is not a finite number in line 1"),
    "number": ("clip,0902,0.1,nan,0.5,0.6,12,3\n", "y1 is not a finite number in line 1"),
    "action": ("clip,0902,0.1,0.1,0.5,0.6,12.5,3\n", "the action is not a whole number in line 1"),
    "person": ("clip,0902,0.1,0.1,0.5,0.6,12,3.5\n", "the person is not a whole number in line 1"),
    "text": ("clip,0902,0.1,0.1,0.5,0.6,12,me\n", "the last field is not a number in line 1"),
    "name": (",0902,0.1,0.1,0.5,0.6,12,3\n", "the video has no name in line 1"),
    "pixels": (
        "clip,0902\nclip,0902,10,10,200,300,12,3\n",
        "coordinates are not fractions of the frame but look like pixels in line 2",
    ),
    "reversed": ("clip,0902,0.5,0.1,0.1,0.6,12,3\n", "x2 is less than x1 in line 1"),
}


@pytest.mark.parametrize(("text", "message"), WRONG.values(), ids=WRONG)
def test_lines_that_cannot_be_read(text: str, message: str, tmp_path: Path) -> None:
    written(tmp_path, {"truth.csv": text})
    with pytest.raises(FormatError) as caught:
        Ava().read_tables(tmp_path / "truth.csv")
    assert message in str(caught.value)


def test_results_that_cannot_be_read(tmp_path: Path) -> None:
    written(tmp_path, {"found.csv": "clip,0902,0.1,0.1,0.5,0.6,12,0.5\nclip,0902,0.1,0.1,0.5,0.6,12,nan\n"})
    with pytest.raises(FormatError, match="the score is not a finite number in line 2"):
        apf.read_results(tmp_path / "found.csv")


@pytest.mark.parametrize("scores", [("1", "0.5", "0.25"), ("1", "1", "0")])
def test_results_whose_scores_look_like_persons(scores: tuple[str, ...], tmp_path: Path) -> None:
    text = "".join(f"clip,0902,0.25,0.5,0.75,1.0,12,{score}\n" for score in scores)
    written(tmp_path, {"truth.csv": TRUTH, "found.csv": text})
    evaluation = apf.evaluate(tmp_path / "truth.csv", tmp_path / "found.csv", "ava")
    assert evaluation.detections["score"].to_list() == [float(score) for score in scores]


def test_ground_truth_in_place_of_results(tmp_path: Path) -> None:
    written(tmp_path, {"truth.csv": TRUTH})
    with pytest.raises(FormatError, match="looks like a data set of ava, but results are needed here"):
        apf.evaluate(tmp_path / "truth.csv", tmp_path / "truth.csv", "ava")


def test_checked_as_what_they_are(tmp_path: Path) -> None:
    """Boxes between 0 and 1 are no surprise here."""
    written(tmp_path, {"truth.csv": TRUTH, "found.csv": FOUND})
    findings = apf.check(tmp_path / "truth.csv", tmp_path / "found.csv")
    assert findings["problem"].to_list() == ["1 of 3 images has no annotations"]


def test_folders_that_cannot_be_read(tmp_path: Path) -> None:
    two = written(tmp_path / "two", {"a.csv": TRUTH, "a.pbtxt": MAP, "b.pbtxt": MAP})
    with pytest.raises(FormatError, match=r"holds 2 files \.pbtxt, not one: 'a\.pbtxt', 'b\.pbtxt'"):
        apf.read_dataset(two)
    empty = written(tmp_path / "empty", {"a.csv": TRUTH, "a.pbtxt": 'item {\n  name: "stand"\n}\n'})
    with pytest.raises(FormatError, match="an item lacks a name or an id"):
        apf.read_dataset(empty)


def test_files_of_others_are_none(tmp_path: Path) -> None:
    others = {"a.csv": "image_id,class,x,y,width,height\n1,cat,0,0,4,4\n", "b.csv": "", "c.csv": "7,0902,0,0,1,1,1,1\n"}
    written(tmp_path, others)
    for name in others:
        assert not Ava().fits(see(tmp_path / name), "dataset") and not Ava().fits(see(tmp_path / name), "results")
    assert pl.Series(Ava().holds["annotations"], dtype=pl.String).is_empty()
