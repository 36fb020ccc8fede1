"""KITTI's text: what its lines say, round trips, regions that nobody labelled, and lines that cannot be read."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import apframe as apf
from apframe.benchmarks.driving.kitti.format import Kitti
from apframe.exceptions import FormatError, MissingResultsWarning, RowError, ShapesLeftOutWarning
from apframe.formats.box_text import Boxes
from apframe.formats.catalogue import FORMATS
from apframe.formats.path_contents import see
from tests.formats.folders import text_folder

BOX = ["x", "y", "width", "height"]
CUBOID = [f"cuboid_{name}" for name in ("x", "y", "z", "length", "width", "height", "yaw")]
NUMBERS_OF = ["truncated", "occluded", "alpha", *CUBOID]
CAR = "Car 0.25 1 -1.5 100 50.5 300 150 1.5 1.75 4 -2 1.25 30 0.5"
REGION = "DontCare -1 -1 -10 10 20 30 50 -1 -1 -1 -1000 -1000 -1000 -10"


def test_lines_are_annotations(tmp_path: Path) -> None:
    truth = apf.read_dataset(text_folder(tmp_path / "label_2", **{"000007": f"{CAR}\n{REGION}\n", "000001": ""}))
    assert truth.images["image_id"].to_list() == ["000001", "000007"]
    assert truth.categories.select("category_id", "name").rows() == [("Car", "Car"), ("DontCare", "DontCare")]
    assert truth.annotations.select("image_id", "category_id", *BOX, "is_crowd", "ignore").rows() == [
        ("000007", "Car", 100, 50.5, 200, 99.5, False, False),
        ("000007", "DontCare", 10, 20, 20, 30, True, True),
    ]
    assert truth.annotations.select(NUMBERS_OF).rows() == [(0.25, 1, -1.5, -2, 30, -0.5, 4, 1.75, 1.5, -0.5), (None,) * 10]


def test_results_end_in_a_score(tmp_path: Path) -> None:
    detections = apf.read_results(text_folder(tmp_path / "found", a=f"{CAR} 0.75\n"))
    assert detections.select("image_id", "category_id", "score", *BOX).rows() == [("a", "Car", 0.75, 100, 50.5, 200, 99.5)]
    assert detections.select(NUMBERS_OF).row(0) == (0.25, 1, -1.5, -2, 30, -0.5, 4, 1.75, 1.5, -0.5)


def test_what_is_unknown_is_written_as_kitti_has_it(tmp_path: Path) -> None:
    truth = apf.read_dataset(text_folder(tmp_path / "truth", a=f"{CAR}\n{REGION}\n"))
    assert apf.write_dataset(truth, tmp_path / "again", "kitti").rows() == []
    written = [line.split() for line in (tmp_path / "again" / "a.txt").read_text().splitlines()]
    assert [[line[0], *map(float, line[1:])] for line in written] == [
        ["Car", *map(float, CAR.split()[1:])],
        ["DontCare", *map(float, REGION.split()[1:])],
    ]
    assert [line[2] for line in written] == ["1", "-1"]  # which readers take for an integer


@pytest.mark.slow
def test_regions_are_no_positives(tmp_path: Path) -> None:
    truth = text_folder(tmp_path / "truth", a=f"{CAR}\n{REGION}\n")
    in_region = CAR.replace("100 50.5 300 150", "12 22 28 48")
    detections = text_folder(tmp_path / "found", a=f"{in_region} 0.9\n{CAR} 0.8\n")
    for protocol in ("coco", "voc2012"):
        ev = apf.evaluate(truth, detections, protocol)
        assert ev.metrics.filter(category_id="DontCare")["n_positives"].unique().to_list() == [0]
        assert ev.matches(0.5).filter(category_id="Car").sort("score")["outcome"].to_list() == ["tp", "fp"]
    agnostic = apf.evaluate(truth, detections, agnostic=True)
    assert agnostic.matches(0.5)["outcome"].to_list().count("ignored") == 1
    assert agnostic.summary["value"][0] == pytest.approx(1)


NUMBERS = st.floats(-100, 100).map(lambda value: value + 0.0).filter(lambda value: value not in (-1, -10, 10))
ATTRIBUTES = st.none() | NUMBERS


@st.composite
def datasets(draw: st.DrawFn) -> apf.Dataset:
    images = sorted(draw(st.lists(st.text("ab7_", min_size=1, max_size=4), min_size=1, max_size=4, unique=True)))
    whole = st.integers(0, 1000).map(float)  # whose sums are exact
    side = st.integers(1, 1000).map(float)  # the files have no cuboid without an extent
    rows: list[dict[str, Any]] = [
        {
            "image_id": image,
            "category_id": name,
            **dict(zip(BOX, draw(st.tuples(*[whole] * 4)), strict=True)),
            **dict.fromkeys(("is_crowd", "ignore"), name == "DontCare"),
            **{
                column: draw(st.none() | st.integers(0, 3) if column == "occluded" else ATTRIBUTES) for column in NUMBERS_OF[:3]
            },
            **dict(zip(CUBOID, draw(st.just((None,) * 7) | st.tuples(*[whole] * 3, *[side] * 3, NUMBERS)), strict=True)),
        }
        for image in images
        for name in draw(st.lists(st.sampled_from(["Car", "Größe", "DontCare"]), max_size=3))
    ]
    types = {"occluded": pl.Int64} | {name: pl.Float64 for name in [*BOX, *NUMBERS_OF] if name != "occluded"}
    types |= {"image_id": pl.String, "category_id": pl.String, "is_crowd": pl.Boolean, "ignore": pl.Boolean}
    frame = pl.DataFrame(rows, schema_overrides=types) if rows else pl.DataFrame(schema=types)
    names = sorted(frame["category_id"].unique().to_list())
    return apf.Dataset(
        {"image_id": images},
        pl.DataFrame({"category_id": names, "name": names}, schema_overrides={"category_id": pl.String}),
        frame,
    )


@pytest.mark.slow
@given(datasets())
def test_round_trip(tmp_path_factory: pytest.TempPathFactory, dataset: apf.Dataset) -> None:
    path = tmp_path_factory.mktemp("kitti")
    assert apf.write_dataset(dataset, path / "truth", "kitti").rows() == []
    again = apf.read_dataset(path / "truth", "kitti")
    for table in ("images", "categories", "annotations"):
        assert_frame_equal(getattr(again, table), getattr(dataset, table), check_exact=True, check_column_order=False)
    detections = dataset.annotations.drop("annotation_id", "is_crowd", "area", "ignore").with_columns(score=pl.col("x") / 7)
    assert apf.write_results(detections, path / "found", "kitti", dataset=dataset).rows() == []
    detections_again = apf.read_results(path / "found", "kitti")
    assert_frame_equal(detections_again, apf.read_results(detections), check_exact=True, check_column_order=False)


@given(st.floats(-1e6, 1e6), st.floats(0, 1e6))
def test_a_width_that_is_rounded_is_reported(x: float, width: float) -> None:
    row = {"image_id": ["a"], "category_id": ["Car"], "score": [0.5], "x": [x], "y": [0], "width": [width], "height": [1]}
    lost = FORMATS["kitti"].further_losses("detections", pl.DataFrame(row))
    rounded = {name: flags.to_list() for name, flags, _ in lost}
    assert rounded == {"width": [(x + width) - x != width], "height": [False], "cuboid_z": [False]}


def test_what_is_lost_is_said(tmp_path: Path) -> None:
    dataset = apf.Dataset(
        {"image_id": [1, 2], "file_name": ["a.jpg", "b.jpg"]},
        {"category_id": [3, 5, 6], "name": ["cat", "DontCare", "dog"]},
        {
            "image_id": [2, 2, 2],
            "category_id": [3, 3, 5],
            "x": [0.1, 1, 1],
            "y": [2, 2, 2],
            "width": [0.2, 3, 3],
            "height": [4, 4, 4],
            "is_crowd": [True, False, False],
            "truncated": [True, False, None],
            "occluded": [0.5, 2, None],
            "alpha": [-10, 1, 1],
            **{name: [1.0, 2.0, 3.0] for name in CUBOID},
            "cuboid_z": [0.001, 2.0, 3.0],
            "cuboid_height": [0.2, 2.0, 3.0],
            "cuboid_yaw": [0.5, 1.0, 10.0],
            "colour": ["red", None, None],
        },
    )
    unlike = "left out: not a valid number, or the one for unknown"
    assert apf.write_dataset(dataset, tmp_path / "truth", "kitti").rows() == [
        ("images", "image_id", 2, "becomes a name"),
        ("images", "file_name", 2, "left out"),
        ("categories", "category_id", 3, "becomes a name"),
        ("annotations", "colour", 1, "left out"),
        ("annotations", "width", 1, "rounded: the files store where the box ends"),
        ("annotations", "occluded", 1, unlike),
        ("annotations", "alpha", 1, unlike),
        *[("annotations", name, 1, unlike) for name in CUBOID],
        ("annotations", "cuboid_z", 1, "rounded: the files store the bottom of cuboids"),
        ("annotations", "is_crowd", 1, "left out except in DontCare"),
        ("annotations", "is_crowd", 1, "becomes true in DontCare"),
        ("categories", None, 1, "without annotations: left out"),
    ]
    again = apf.read_dataset(tmp_path / "truth").annotations
    assert again.select("category_id", "width", "is_crowd", "truncated", "occluded", "alpha", "cuboid_z").rows() == [
        ("cat", 0.30000000000000004 - 0.1, False, 1, None, None, 0.1 - (0.1 - 0.001)),
        ("cat", 3, False, 0, 2, 1, 2),
        ("DontCare", 3, True, None, None, 1, None),
    ]


@pytest.mark.slow
def test_images_without_a_result_file_are_listed(tmp_path: Path) -> None:
    truth = text_folder(tmp_path / "truth", a=CAR, b=CAR, c="")
    detections = text_folder(tmp_path / "found", a=f"{CAR} 0.9")
    with pytest.warns(
        MissingResultsWarning, match=r"2 images without a result file \('b', 'c'\), evaluated as images without det"
    ):
        assert apf.evaluate(truth, detections).summary["value"][0] == pytest.approx(0.50495049505)
    with warnings.catch_warnings(action="error"):
        text_folder(detections, b="", c="")
        apf.evaluate(truth, detections)
        apf.read_results(detections)


BAD = {
    "fourteen fields": (f"{CAR}\n{CAR.rsplit(' ', 1)[0]}\n", "a.txt: not 15 fields (category_id truncated occluded alpha left "
                        "top right bottom cuboid_height cuboid_width cuboid_length camera_x camera_y camera_z rotation_y) in "
                        "line 2; correct these lines"),
    "a score": (f"{CAR} .5\n", None),
    "text for a number": (CAR.replace("300", "wide"), "a.txt: right is not a finite number in line 1; correct these lines"),
    "not finite": (CAR.replace("-1.5", "nan"), "a.txt: alpha is not a finite number in line 1; correct these lines"),
    "a part of an occlusion": (CAR.replace(" 1 ", " .5 "), "a.txt: occluded is not a whole number in line 1; correct these "
                               "lines"),
    "a huge occlusion": (CAR.replace(" 1 ", " 1e300 "), "a.txt: occluded is not a whole number in line 1; correct these lines"),
}  # fmt: skip


@pytest.mark.slow
def test_check_reports_images_without_a_file(tmp_path: Path) -> None:
    truth = text_folder(tmp_path / "truth", a=CAR, b=CAR, c="")
    with warnings.catch_warnings(action="error"):
        findings = apf.check(truth, text_folder(tmp_path / "found", a=f"{CAR} .5"))
    (row,) = findings.filter(check="missing_results").select("severity", "table", "problem").rows()
    assert row[:2] == ("warning", "images") and "2 images without a result file ('b', 'c')" in row[2]


@pytest.mark.parametrize(("text", "message"), BAD.values(), ids=BAD)
def test_bad_lines_are_named(text: str, message: str | None, tmp_path: Path) -> None:
    expected = f"{re.escape(message)}$" if message else r"a\.txt: not 15 fields .* in line 1; correct these lines$"
    with pytest.raises(FormatError, match=expected):
        apf.read_dataset(text_folder(tmp_path / "truth", a=text), "kitti")


def test_results_without_scores_are_named(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"a\.txt: not 16 fields \(.* score\) in line 1; correct these lines$"):
        apf.read_results(text_folder(tmp_path / "found", a=CAR), "kitti")


def test_cuboids_without_a_side_are_named(tmp_path: Path) -> None:
    flat, fields = CAR.split(), CAR.split()
    flat[9] = "0"
    lines = "\n".join([CAR, " ".join(flat)])
    problem = (
        r"a\.txt: height, width and length are not all positive in line 2, and in 1 more file; these objects have no cuboid"
    )
    with pytest.warns(ShapesLeftOutWarning, match=f"{problem}, and match nothing in 3D or from above$"):
        truth = apf.read_dataset(text_folder(tmp_path / "truth", a=lines, b=" ".join(flat)), "kitti")
    assert truth.annotations["cuboid_width"].is_null().to_list() == [False, True, True]
    fields[8:11] = ["-1"] * 3  # as the files say that there is none
    apf.read_dataset(text_folder(tmp_path / "unknown", a=" ".join(fields)), "kitti")


def test_edges_the_wrong_way_round_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"a\.txt: right is less than left in line 1; correct these lines, or evaluate with"):
        apf.read_dataset(text_folder(tmp_path / "truth", a=CAR.replace("300", "99")))


ROW = {"image_id": ["a"], "category_id": ["Car"], "x": [1.0], "y": [2.0], "width": [3.0], "height": [4.0]}
UNWRITABLE = {
    "a blank in a name": (ROW | {"category_id": ["traffic light"]}, FormatError,
                          "the name 'traffic light' cannot be written; rename it"),
    "a folder in a name": (ROW | {"image_id": ["../a"]}, FormatError, "no file can be called '../a'; rename it"),
    "no box": ({"image_id": ["a"], "category_id": ["Car"], "mask": ["[[0,0,9,0,9,9]]"]}, RowError,
               "annotations: there is no box for annotation_id 1; KITTI text needs boxes; supply them or remove "
               "these rows"),
}  # fmt: skip


@pytest.mark.parametrize(("row", "error", "message"), UNWRITABLE.values(), ids=UNWRITABLE)
def test_what_cannot_be_written_leaves_nothing(
    row: dict[str, Any], error: type[Exception], message: str, tmp_path: Path
) -> None:
    dataset = apf.Dataset({"image_id": row["image_id"]}, {"category_id": row["category_id"]}, row)
    with pytest.raises(error, match=f"{re.escape(message)}$"):
        apf.write_dataset(dataset, tmp_path / "truth", "kitti")
    assert list(tmp_path.iterdir()) == []


def test_told_from_the_first_line(tmp_path: Path) -> None:
    truth, detections = text_folder(tmp_path / "truth", a="", b=CAR), text_folder(tmp_path / "found", a=f"{CAR} .5")
    boxes, yolo = text_folder(tmp_path / "boxes", a="cat 1 2 3 4"), text_folder(tmp_path / "yolo", a="0 .1 .2 .3 .4")
    assert [Kitti().fits(see(path), "dataset") for path in (truth, detections, boxes, yolo, tmp_path)] == [
        True,
        False,
        False,
        False,
        False,
    ]
    assert [Kitti().fits(see(path), "results") for path in (truth, detections, boxes, yolo, tmp_path)] == [
        False,
        True,
        False,
        False,
        False,
    ]
    assert not any(Boxes().fits(see(path), "dataset") or Boxes().fits(see(path), "results") for path in (truth, detections))
