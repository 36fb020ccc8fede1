"""DOTA's text: what its lines say, round trips, results of both tasks, and lines that cannot be read."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import apframe as apf
from apframe.benchmarks.aerial.dota.format import Dota
from apframe.benchmarks.driving.kitti.format import Kitti
from apframe.exceptions import FormatError, RowError
from apframe.formats.box_text import Boxes
from apframe.formats.path_contents import see
from tests.formats.folders import text_folder

BOX = ["x", "y", "width", "height"]
SHIP = "10 0 20 10 10 20 0 10 ship 0"  # a square on its corner
CORNERS = [10.0, 0, 20, 10, 10, 20, 0, 10]


def test_lines_are_annotations(tmp_path: Path) -> None:
    text = f"imagesource:Google Earth\ngsd:0.25\n{SHIP}\n1 2 3.5 2 3.5 4 1 4 small-vehicle 2\n1 2 3 2 3 4 1 4 ship\n"
    truth = apf.read_dataset(text_folder(tmp_path / "labelTxt", P0002=text, P0001=""))
    assert truth.images.select("image_id", "image_source", "gsd").rows() == [
        ("P0001", None, None),
        ("P0002", "Google Earth", 0.25),
    ]
    assert truth.categories.select("category_id", "name").rows() == [("ship", "ship"), ("small-vehicle", "small-vehicle")]
    assert truth.annotations.select("image_id", "category_id", "corners", "ignore", "difficulty").rows() == [
        ("P0002", "ship", CORNERS, False, 0),
        ("P0002", "small-vehicle", [1, 2, 3.5, 2, 3.5, 4, 1, 4], True, 2),
        ("P0002", "ship", [1, 2, 3, 2, 3, 4, 1, 4], False, None),
    ]


def test_a_file_may_say_nothing_of_its_image(tmp_path: Path) -> None:
    truth = apf.read_dataset(text_folder(tmp_path / "labelTxt", a=SHIP, b="imagesource:\ngsd:null\n"), "dota")
    assert not {"image_source", "gsd"} & set(truth.images.columns)


def test_results_of_task_1_are_corners(tmp_path: Path) -> None:
    detections = apf.read_results(
        text_folder(tmp_path / "found", Task1_ship="P1 .5 10 0 20 10 10 20 0 10\n", Task1_small_car="")
    )
    assert detections.select("image_id", "category_id", "score", "corners", "x").rows() == [("P1", "ship", 0.5, CORNERS, None)]


def test_results_of_task_2_are_boxes(tmp_path: Path) -> None:
    path = text_folder(tmp_path / "found", **{"Task2_ship": "P1 .5 1 2 4 6\n", "Task2_small car": "P2 .25 0 0 1 1\n"})
    detections = apf.read_results(path, "dota")
    assert detections.select("image_id", "category_id", "score", *BOX).rows() == [
        ("P1", "ship", 0.5, 1, 2, 3, 4),
        ("P2", "small car", 0.25, 0, 0, 1, 1),
    ]


@pytest.mark.slow
def test_evaluated_from_its_files(tmp_path: Path) -> None:
    pytest.importorskip("shapely")
    truth = text_folder(tmp_path / "truth", P1=f"{SHIP}\n30 30 40 30 40 40 30 40 ship 1\n", P2="0 0 8 0 8 8 0 8 plane 0\n")
    task_1 = text_folder(
        tmp_path / "task 1",
        Task1_ship="P1 .9 10 0 20 10 10 20 0 10\nP1 .8 30 30 40 30 40 40 30 40\nP1 .7 2 2 18 2 18 18 2 18\n",
        Task1_plane="P2 .9 0 0 8 0 8 4 0 4\n",  # half of it, which is not enough
    )
    ev = apf.evaluate(truth, task_1, apf.DOTA)
    detected = ev.matches(0.5).filter(pl.col("score").is_not_null()).sort("category_id", "score", descending=True)
    assert detected.select("category_id", "score", "outcome").rows() == [
        ("ship", 0.9, "tp"),
        ("ship", 0.8, "ignored"),
        ("ship", 0.7, "fp"),
        ("plane", 0.9, "fp"),
    ]
    assert dict(ev.by("name").select("name", "AP").rows()) == pytest.approx({"plane": 0, "ship": 1})
    task_2 = text_folder(tmp_path / "task 2", Task2_ship="P1 .9 0 0 20 20\n")
    upright = apf.evaluate(truth, task_2, apf.VOC2007)  # with the rectangles around the corners
    assert upright.matches(0.5).filter(score=0.9).select("similarity", "outcome").rows() == [(1.0, "tp")]


COORDINATES = st.floats(-1e5, 1e5).map(lambda value: value + 0.0)
NAMES = st.text("abÄ7_-.", min_size=1, max_size=4).filter(lambda name: name[0] != ".")


@st.composite
def datasets(draw: st.DrawFn) -> apf.Dataset:
    images = sorted(draw(st.lists(NAMES, min_size=1, max_size=4, unique=True)), key="{}.txt".format)  # as the files are
    rows = [
        {
            "image_id": image,
            "category_id": name,
            "corners": draw(st.lists(COORDINATES, min_size=8, max_size=8)),
            "difficulty": (difficulty := draw(st.integers(0, 3))),
            "ignore": difficulty > 0,
        }
        for image in images
        for name in draw(st.lists(st.sampled_from(["ship", "größe", "7up"]), max_size=3))
    ]
    types = {
        "image_id": pl.String,
        "category_id": pl.String,
        "corners": pl.List(pl.Float64),
        "difficulty": pl.Int64,
        "ignore": pl.Boolean,
    }
    frame = pl.DataFrame(rows, schema=types)
    names = frame.select(pl.col("category_id").unique().sort(), name=pl.col("category_id").unique().sort())
    columns = {
        "image_source": draw(
            st.lists(st.sampled_from(["GF-2", "Google Earth", "null", None]), min_size=len(images), max_size=len(images))
        ),
        "gsd": draw(st.lists(st.none() | st.floats(0, 100), min_size=len(images), max_size=len(images))),
    }
    filled_columns = {name: values for name, values in columns.items() if any(value is not None for value in values)}
    return apf.Dataset(pl.DataFrame({"image_id": images, **filled_columns}), names, frame)


@pytest.mark.slow
@given(datasets())
def test_round_trip(tmp_path_factory: pytest.TempPathFactory, dataset: apf.Dataset) -> None:
    path = tmp_path_factory.mktemp("dota")
    assert apf.write_dataset(dataset, path / "truth", "dota").rows() == []
    again = apf.read_dataset(path / "truth", "dota")
    for table in ("images", "categories", "annotations"):
        assert_frame_equal(getattr(again, table), getattr(dataset, table), check_exact=True, check_column_order=False)


@pytest.mark.slow
@given(datasets())
def test_round_trip_of_rotated_results(tmp_path_factory: pytest.TempPathFactory, dataset: apf.Dataset) -> None:
    path = tmp_path_factory.mktemp("dota")
    truth = dataset.annotations
    detections = truth.select("image_id", "category_id", "corners", score=pl.int_range(pl.len()) / 7).sort(
        "category_id", maintain_order=True
    )
    if detections.is_empty():
        return
    assert apf.write_results(detections, path / "found", "dota", dataset=dataset).rows() == []
    assert_frame_equal(
        apf.read_results(path / "found", "dota"), apf.read_results(detections), check_exact=True, check_column_order=False
    )


@pytest.mark.slow
@given(st.lists(st.tuples(st.sampled_from("ab"), *[COORDINATES] * 2, *[st.floats(0, 1e5)] * 2)))
def test_round_trip_of_upright_results(tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[Any, ...]]) -> None:
    path = tmp_path_factory.mktemp("dota")
    detections = pl.DataFrame(rows, schema={"category_id": pl.String, **dict.fromkeys(BOX, pl.Float64)}, orient="row")
    detections = detections.sort("category_id", maintain_order=True).with_columns(
        image_id=pl.lit("P1"), score=pl.int_range(pl.len()) / 7
    )
    dataset = apf.Dataset({"image_id": ["P1"]}, {"category_id": ["a", "b"]}, {})
    lost = apf.write_results(detections, path / "found", "dota", dataset=dataset)
    again = apf.read_results(path / "found", "dota")
    expected = apf.read_results(detections)
    rounded = "rounded: the files store where the box ends"
    changed = {name: int((again[name] != expected[name]).sum()) for name in ("width", "height")}
    assert lost.rows() == [("detections", name, n, rounded) for name, n in changed.items() if n]
    held = ["detection_id", "image_id", "category_id", "score", "x", "y"]
    assert_frame_equal(again.select(held), expected.select(held), check_exact=True)


def test_boxes_become_corners(tmp_path: Path) -> None:
    rows = {
        "image_id": ["a"] * 3,
        "category_id": ["ship"] * 3,
        "x": [1, 0, 5],
        "y": [2, 0, 5],
        "width": [3, 4, 1],
        "height": [4, 2, 1],
        "angle": [None, math.pi / 2, None],
        "corners": [None, None, CORNERS],
        "ignore": [False, True, False],
    }
    dataset = apf.Dataset({"image_id": ["a"]}, {"category_id": ["ship"]}, rows)
    lost = apf.write_dataset(dataset, tmp_path / "truth", "dota")
    fates = [("left out: the corners are written", 1), ("becomes corners", 2)]
    assert lost.rows() == [("annotations", name, n, what) for name in BOX for what, n in fates] + [
        ("annotations", "angle", 1, "becomes corners")
    ]
    again = apf.read_dataset(tmp_path / "truth").annotations
    assert again["corners"][0].to_list() == [1, 2, 4, 2, 4, 6, 1, 6]
    # counter-clockwise: the left end of the top goes down, to the left end of the side
    assert again["corners"][1].to_list() == pytest.approx([1, 3, 1, -1, 3, -1, 3, 3])
    assert again["corners"][2].to_list() == CORNERS
    assert again["ignore"].to_list() == [False, True, False]
    detections = pl.DataFrame(rows | {"score": [0.9, 0.8, 0.7]}).drop("ignore")
    assert apf.write_results(detections, tmp_path / "found", "dota").rows() == [("detections", *row[1:]) for row in lost.rows()]
    assert apf.read_results(tmp_path / "found")["corners"].to_list() == again["corners"].to_list()


def test_what_is_lost_is_said(tmp_path: Path) -> None:
    dataset = apf.Dataset(
        {
            "image_id": [1, 2],
            "file_name": ["a.png", "b.png"],
            "image_width": [64, None],
            "image_source": ["a  b", ""],
            "gsd": ["?", None],
        },
        {"category_id": [3, 5], "name": ["ship", "plane"]},
        {
            "image_id": [2, 2, 2],
            "category_id": [3, 3, 3],
            "corners": [CORNERS] * 3,
            "ignore": [False, True, True],
            "difficulty": [2, 0, 1],
            "is_crowd": [True, False, False],
        },
    )
    assert apf.write_dataset(dataset, tmp_path / "truth", "dota").rows() == [
        ("images", "image_id", 2, "becomes a name"),
        ("images", "image_width", 1, "left out"),
        ("images", "file_name", 2, "left out"),
        ("images", "image_source", 1, "left out: DOTA does not have this value"),
        ("images", "image_source", 1, "loses blanks"),
        ("images", "gsd", 1, "left out: DOTA does not have this value"),
        ("categories", "category_id", 2, "becomes a name"),
        ("annotations", "is_crowd", 1, "left out: crowds become ordinary objects"),
        ("annotations", "difficulty", 2, "becomes 0 or 1, from ignore"),
        ("categories", None, 1, "without annotations: left out"),
    ]
    assert (tmp_path / "truth" / "a.txt").read_text() == "imagesource:a b\n"
    again = apf.read_dataset(tmp_path / "truth", "dota").annotations
    assert again.select("ignore", "difficulty").rows() == [(False, 0), (True, 1), (True, 1)]


FIELDS = "x1 y1 x2 y2 x3 y3 x4 y4 category_id difficulty"
BAD = {
    "eight fields": (f"{SHIP}\n1 2 3 4 5 6 7 8\n", f"not 9 to 10 fields ({FIELDS}) in line 2; correct these lines"),
    "text for a number": (SHIP.replace("20", "wide", 1), "x2 is not a finite number in line 1; correct these lines"),
    "not finite": (SHIP.replace("20", "inf", 1), "x2 is not a finite number in line 1; correct these lines"),
    "a part of a difficulty": (SHIP.replace("ship 0", "ship 0.5"),
                               "difficulty is not a whole number in line 1; correct these lines"),
    "two sources": ("imagesource:a\ngsd:1\nimagesource:b\n", "imagesource is repeated in line 3; correct these lines"),
    "a gsd in words": (f"gsd:fine\n{SHIP}", "gsd is not a finite number in line 1; correct these lines"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "message"), BAD.values(), ids=BAD)
def test_bad_lines_are_named(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=rf"a\.txt: {re.escape(message)}$"):
        apf.read_dataset(text_folder(tmp_path / "truth", a=text), "dota")


BAD_RESULTS = {
    "a missing corner": ({"Task1_ship": "P1 .5 1 2 3 4 5 6 7\n"},
                         "Task1_ship.txt: not 10 fields (image_id score x1 y1 x2 y2 x3 y3 x4 y4) in line 1; correct these "
                         "lines"),
    "a score in words": ({"Task2_ship": "P1 high 1 2 3 4\n"},
                         "Task2_ship.txt: score is not a finite number in line 1; correct these lines"),
    "edges the wrong way round": ({"Task2_ship": "P1 .5 1 4 3 2\n"},
                                  "Task2_ship.txt: ymax is less than ymin in line 1; correct these lines, "
                                  'or evaluate with invalid="drop" or invalid="keep"'),
    "both tasks": ({"Task1_ship": "", "Task2_ship": ""},
                   "found: holds results of Task1 and of Task2; put each into its own folder"),
    "another name": ({"Task1_ship": "", "plane": ""},
                     "found: not named Task1_CLASS.txt or Task2_CLASS.txt: 'plane.txt'; rename or remove them"),
    "no file": ({}, "found: holds no text file (.txt)"),
}  # fmt: skip


@pytest.mark.parametrize(("files", "message"), BAD_RESULTS.values(), ids=BAD_RESULTS)
def test_bad_results_are_named(files: dict[str, str], message: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=f"{re.escape(message)}$"):
        apf.read_results(text_folder(tmp_path / "found", **files), "dota")


ROW: dict[str, Any] = {"image_id": ["a"], "category_id": ["ship"], "corners": [CORNERS]}
UNWRITABLE = {
    "a blank in a class": (ROW | {"category_id": ["big ship"]}, "the name 'big ship' cannot be written; rename it"),
    "a folder in a name": (ROW | {"image_id": ["b/a"]}, "no file can be called 'b/a'; rename it"),
    "seven numbers": (ROW | {"corners": [CORNERS[:7]]},
                      "corners are not 8 finite numbers for annotation_id 1; correct them"),
    "infinite": (ROW | {"corners": [[*CORNERS[:7], math.inf]]}, "8 finite numbers for annotation_id 1; correct them"),
    "no shape": (ROW | {"corners": [None], "mask": ["[[0,0,9,0,9,9]]"]},
                 "annotations: corners and box are missing for annotation_id 1; supply one or remove these rows"),
}  # fmt: skip


@pytest.mark.parametrize(("row", "message"), UNWRITABLE.values(), ids=UNWRITABLE)
def test_what_cannot_be_written_leaves_nothing(row: dict[str, Any], message: str, tmp_path: Path) -> None:
    dataset = apf.Dataset({"image_id": row["image_id"]}, {"category_id": row["category_id"]}, row)
    with pytest.raises((FormatError, RowError), match=f"{re.escape(message)}$"):
        apf.write_dataset(dataset, tmp_path / "truth", "dota")
    assert list(tmp_path.iterdir()) == []


def test_results_with_names_that_cannot_be_written_leave_nothing(tmp_path: Path) -> None:
    detections = pl.DataFrame(ROW | {"score": [0.5]})
    with pytest.raises(FormatError, match=r"images: fields .* the name 'a b' cannot be written; rename it$"):
        apf.write_results(detections.with_columns(image_id=pl.lit("a b")), tmp_path / "found", "dota")
    with pytest.raises(FormatError, match=r"no file can be called 'Task1_a/b'; rename it$"):
        apf.write_results(detections.with_columns(category_id=pl.lit("a/b")), tmp_path / "found", "dota")
    assert list(tmp_path.iterdir()) == []


def test_told_from_the_first_line_and_the_names(tmp_path: Path) -> None:
    plain, headed = text_folder(tmp_path / "plain", a="", b=SHIP), text_folder(tmp_path / "headed", a="imagesource: x\n")
    bare = text_folder(tmp_path / "bare", a=SHIP.removesuffix(" 0"))
    results = text_folder(tmp_path / "found", Task1_ship="P1 .5 10 0 20 10 10 20 0 10")
    others = [
        text_folder(tmp_path / "boxes", a="cat 1 2 3 4"),
        text_folder(tmp_path / "obb", a="0 .1 .1 .2 .1 .2 .2 .1 .2"),
        tmp_path,
    ]
    assert [Dota().fits(see(path), "dataset") for path in (plain, headed, bare, results, *others)] == [True] * 3 + [False] * 4
    assert [Dota().fits(see(path), "results") for path in (results, plain, headed, bare, *others)] == [True] + [False] * 6
    for other in (Boxes(), Kitti()):
        assert not any(other.fits(see(path), "dataset") for path in (plain, headed, bare, results))
        assert not any(other.fits(see(path), "results") for path in (plain, headed, bare, results))
