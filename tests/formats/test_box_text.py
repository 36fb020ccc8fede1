"""Class-and-box text: what its lines say, round trips, and lines that cannot be read."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import apframe as apf
from apframe.exceptions import FormatError
from apframe.formats.box_text import Boxes
from apframe.formats.path_contents import see
from tests.formats.folders import text_folder

BOX = ["x", "y", "width", "height"]
EXAMPLE = Path(__file__).resolve().parents[3] / "shared" / "data" / "voc-worked-example"
NUMBERS = st.floats(0, 1e6)


def test_lines_are_annotations(tmp_path: Path) -> None:
    truth = apf.read_dataset(text_folder(tmp_path / "truth", b="cat 1 2 3.5 4\n\n dog\t5 6 7 8\r\n", a=""))
    assert truth.images["image_id"].to_list() == ["a", "b"]
    assert truth.categories.select("category_id", "name").rows() == [("cat", "cat"), ("dog", "dog")]
    assert truth.annotations.select("image_id", "category_id", *BOX).rows() == [
        ("b", "cat", 1, 2, 3.5, 4),
        ("b", "dog", 5, 6, 7, 8),
    ]


def test_results_have_the_score_after_the_class(tmp_path: Path) -> None:
    detections = apf.read_results(text_folder(tmp_path / "found", a="cat .5 1 2 3 4\n"))
    assert detections.select("image_id", "category_id", "score", *BOX).rows() == [("a", "cat", 0.5, 1, 2, 3, 4)]


def test_names_may_have_spaces(tmp_path: Path) -> None:
    """All words before the numbers are the name."""
    lines = "traffic light 1 2 3 4\ncar 1 2 3 4\nred  traffic\tlight 5 6 7 8 difficult\nclass 2 b 1 2 3 4\n"
    truth = apf.read_dataset(text_folder(tmp_path / "truth", a=lines))
    assert truth.annotations.select("category_id", *BOX, "ignore").rows() == [
        ("traffic light", 1, 2, 3, 4, False), ("car", 1, 2, 3, 4, False), ("red traffic light", 5, 6, 7, 8, True),
        ("class 2 b", 1, 2, 3, 4, False),
    ]  # fmt: skip
    detections = apf.read_results(text_folder(tmp_path / "found", a="traffic light .9 1 2 3 4\ncar .8 1 2 3 4\n"))
    assert detections.select("category_id", "score", *BOX).rows() == [
        ("traffic light", 0.9, 1, 2, 3, 4),
        ("car", 0.8, 1, 2, 3, 4),
    ]


NUMBERED = {"truth": "1 5 6 7 8 difficult\n1 10 20 30 40\n", "found": "1 .9 10 20 30 40\n0 .8 1 2 3 4\n"}


@pytest.mark.slow
def test_classes_that_are_numbers_get_names(tmp_path: Path) -> None:
    truth, detections = (text_folder(tmp_path / side, a=lines) for side, lines in NUMBERED.items())
    named = apf.read_dataset(truth, names=["cat", "dog", "car"])
    assert named.categories.select("category_id", "name").rows() == [("0", "cat"), ("1", "dog"), ("2", "car")]
    assert named.annotations["category_id"].to_list() == ["1", "1"]
    assert apf.read_dataset(truth).categories.select("category_id", "name").rows() == [("1", "1")]
    words = text_folder(tmp_path / "words", a="dog .9 10 20 30 40\ncat .8 1 2 3 4\n")
    for results in (detections, words):
        ev = apf.evaluate(truth, results, "voc2012", names=["cat", "dog", "car"])
        assert ev.by("categories.name").select("name", "AP", "n_detections").rows() == [
            ("car", None, 0), ("cat", None, 1), ("dog", 1.0, 1),
        ]  # fmt: skip
    with pytest.raises(FormatError, match=r"a\.txt: class is not among the names in line 1, 2; add its name, or correct these"):
        apf.read_dataset(truth, names=["cat"])


def test_names_are_for_results_alone_where_the_truth_has_its_own(tmp_path: Path) -> None:
    truth = text_folder(tmp_path / "truth", a="dog 10 20 30 40\ncat 1 2 3 4\n")
    ev = apf.evaluate(truth, text_folder(tmp_path / "found", a=NUMBERED["found"]), "voc2012", names=["cat", "dog"])
    assert ev.summary["value"][0] == pytest.approx(1)


@st.composite
def datasets(draw: st.DrawFn) -> apf.Dataset:
    images = draw(st.lists(st.text("ab7_", min_size=1, max_size=4), min_size=1, max_size=4, unique=True))
    names = draw(st.lists(st.text("cdÄ-", min_size=1, max_size=3), min_size=1, max_size=3, unique=True))
    rows = [
        {"image_id": image, "category_id": name, **dict(zip(BOX, draw(st.tuples(*[NUMBERS] * 4)), strict=True))}
        for name in sorted(names)
        for image in draw(st.lists(st.sampled_from(images), min_size=1, max_size=3))
    ]
    frame = pl.DataFrame(rows).sort("image_id", maintain_order=True)
    return apf.Dataset({"image_id": sorted(images)}, {"category_id": sorted(names), "name": sorted(names)}, frame)


@pytest.mark.slow
@given(datasets())
def test_round_trip(tmp_path_factory: pytest.TempPathFactory, dataset: apf.Dataset) -> None:
    path = tmp_path_factory.mktemp("boxes")
    lost = apf.write_dataset(dataset, path / "truth", "boxes")
    assert lost.rows() == []
    again = apf.read_dataset(path / "truth", "boxes")
    for table in ("images", "categories", "annotations"):
        assert_frame_equal(getattr(again, table), getattr(dataset, table))
    detections = dataset.annotations.drop("annotation_id", "is_crowd", "area").with_columns(score=pl.col("x") / 7)
    assert apf.write_results(detections, path / "found", "boxes", dataset=dataset).rows() == []
    expected = apf.read_results(detections).select("detection_id", "image_id", "category_id", "score", *BOX, "area")
    assert_frame_equal(apf.read_results(path / "found", "boxes"), expected)


def test_what_is_lost_is_said(tmp_path: Path) -> None:
    dataset = apf.Dataset(
        {"image_id": [1, 2], "file_name": ["a.jpg", "b.jpg"], "image_width": [640, 640]},
        {"category_id": [3, 5], "name": ["cat", "dog"]},
        {
            "image_id": [2],
            "category_id": [3],
            "x": [1],
            "y": [2],
            "width": [3],
            "height": [4],
            "area": [5],
            "is_crowd": [True],
            "colour": ["red"],
        },
    )
    lost = apf.write_dataset(dataset, tmp_path / "truth", "boxes")
    assert lost.rows() == [
        ("images", "image_id", 2, "becomes a name"),
        ("images", "image_width", 2, "left out"),
        ("images", "file_name", 2, "left out"),
        ("categories", "category_id", 2, "becomes a name"),
        ("annotations", "area", 1, "replaced by that of the box"),
        ("annotations", "is_crowd", 1, "left out: crowds become ordinary objects"),
        ("annotations", "colour", 1, "left out"),
        ("categories", None, 1, "without annotations: left out"),
    ]
    assert {path.name: path.read_text() for path in (tmp_path / "truth").iterdir()} == {
        "a.txt": "",
        "b.txt": "cat 1.0 2.0 3.0 4.0\n",
    }


BAD = {
    "four fields": ("cat 1 2 3 4\ncat 1 2 3\n", "a.txt: not 5 to 6 fields (category_id x y width height difficult) in line 2; "
                    "correct these lines"),
    "text for a number": ("cat 1 2 3 wide\n", "a.txt: height is not a finite number in line 1; correct these lines"),
    "a name that ends with a number": (
        "cat 1 2 3 4\ncat .5 1 2 3 4\n",
        "a.txt: not 5 fields (category_id x y width height), or a name with spaces that ends with a number, in line 2; "
        "correct these lines",
    ),
    "a name with spaces and three numbers": (
        "cat 1 2 3 4\nred traffic light 1 2 3\n", "a.txt: x is not a finite number in line 2; correct these lines",
    ),
    "another last word": (
        "cat 1 2 3 4 easy\n", "a.txt: the last field is not the word difficult in line 1; correct these lines"
    ),
    "not finite": ("cat 1 2 3 inf\n", "a.txt: height is not a finite number in line 1; correct these lines"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "message"), BAD.values(), ids=BAD)
def test_bad_lines_are_named(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=f"{re.escape(message)}$"):
        apf.read_dataset(text_folder(tmp_path / "truth", a=text), "boxes")


def test_negative_sizes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"a\.txt: width is negative in line 1; correct these lines, or evaluate with"):
        apf.read_dataset(text_folder(tmp_path / "truth", a="cat 1 2 -3 4\n"))


def test_names_with_blanks_are_not_written(tmp_path: Path) -> None:
    row = {"image_id": ["a"], "category_id": ["traffic light"], "x": [1], "y": [2], "width": [3], "height": [4]}
    dataset = apf.Dataset({"image_id": ["a"]}, {"category_id": ["traffic light"]}, row)
    with pytest.raises(FormatError, match="the name 'traffic light' cannot be written; rename it"):
        apf.write_dataset(dataset, tmp_path / "truth", "boxes")
    assert list(tmp_path.iterdir()) == []


def test_told_from_the_first_line(tmp_path: Path) -> None:
    form = Boxes()
    truth, detections = (
        text_folder(tmp_path / "truth", a="", b="cat 1 2 3 4"),
        text_folder(tmp_path / "found", a="cat .5 1 2 3 4"),
    )
    yolo = text_folder(tmp_path / "yolo", a="0 .1 .2 .3 .4")
    assert [form.fits(see(path), "dataset") for path in (truth, detections, yolo)] == [True, False, False]
    assert [form.fits(see(path), "results") for path in (truth, detections, yolo)] == [False, True, False]
    folders = [text_folder(tmp_path / name, a=NUMBERED[name]) for name in NUMBERED]
    assert [form.fits(see(path), "dataset") for path in folders] == [True, False]
    assert [form.fits(see(path), "results") for path in folders] == [False, True]
    assert form.fits(see(text_folder(tmp_path / "number first", a="1 x .2 .2 .2 .2")), "dataset")


@pytest.mark.slow
@pytest.mark.skipif(not EXAMPLE.is_dir(), reason="the worked example is not beside this checkout")
@pytest.mark.parametrize(("protocol", "published"), [("voc2012", 0.2457), ("voc2007", 0.2684)])
def test_worked_example_from_its_files(protocol: str, published: float) -> None:
    ev = apf.evaluate(EXAMPLE / "groundtruths", EXAMPLE / "detections", protocol, iou_thresholds=[0.3])
    assert round(ev.summary["value"][0], 4) == published
    assert dict(ev.matches(0.3)["outcome"].value_counts().rows()) == {"tp": 7, "fp": 17, "fn": 8}
