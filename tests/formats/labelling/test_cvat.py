"""CVAT's XML: what its shapes mean, round trips, and files that cannot be read."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import apframe as apf
from apframe.exceptions import DuplicateIdError, FormatError, RowError, ShapesLeftOutWarning, UnknownIdError
from apframe.formats import catalogue as formats
from apframe.formats.coco.format import Coco
from apframe.formats.labelling.cvat.format import Cvat
from apframe.formats.labelling.cvat.row_runs import Crop, to_columns, to_crop
from apframe.formats.path_contents import see
from apframe.tables.canonical import canonical
from tests.formats.folders import written

BOX = ["x", "y", "width", "height"]
LABELS = "<meta><task><labels><label><name>car</name></label><label><name>dog</name></label></labels></task></meta>"
SQUARE = '<box label="car" occluded="0" xtl="1" ytl="2" xbr="4" ybr="6"/>'


def document(path: Path, *shapes: str, labels: str = LABELS) -> Path:
    """One image of 10 by 8 pixels with the shapes."""
    image = f'<image id="3" name="a/b.jpg" width="10" height="8">{"".join(shapes)}</image>'
    path.write_text(f'<?xml version="1.0" encoding="utf-8"?>\n<annotations><version>1.1</version>{labels}{image}</annotations>')
    return path


def read(path: Path) -> pl.DataFrame:
    return formats.read_dataset(path).annotations


def test_images_and_labels_that_nobody_used_are_there(tmp_path: Path) -> None:
    path = document(tmp_path / "a.xml", SQUARE)
    path.write_text(path.read_text().replace("</annotations>", '<image id="7" name="c.jpg" subset="val"/></annotations>'))
    truth = formats.read_dataset(path)
    assert truth.images.rows(named=True) == [
        {"image_id": 3, "image_width": 10, "image_height": 8, "file_name": "a/b.jpg", "subset": None},
        {"image_id": 7, "image_width": None, "image_height": None, "file_name": "c.jpg", "subset": "val"},
    ]
    assert truth.categories.select("category_id", "name").rows() == [("car", "car"), ("dog", "dog")]
    assert truth.annotations.select("image_id", "category_id", *BOX).rows() == [(3, "car", 1, 2, 3, 4)]


@pytest.mark.parametrize("part", ["subset", "task_id"])
def test_images_of_a_project_in_parts_are_numbered(tmp_path: Path, part: str) -> None:
    images = [f'<image id="{number}" name="{name}.jpg" {part}="{of}">{SQUARE}</image>'
              for number, name, of in ((5, "a", "1"), (6, "b", "1"), (5, "c", "2"))]  # fmt: skip
    path = tmp_path / "a.xml"
    path.write_text(f"<annotations>{''.join(images)}</annotations>")
    truth = formats.read_dataset(path)
    assert truth.images.select("image_id", "file_name", part).rows() == [(0, "a.jpg", 1), (1, "b.jpg", 1), (2, "c.jpg", 2)]
    assert truth.annotations["image_id"].to_list() == [0, 1, 2]
    path.write_text(path.read_text().replace('id="6"', 'id="5"'))
    with pytest.raises(DuplicateIdError, match="image_id is not unique for image_id 5"):
        formats.read_dataset(path)


def test_without_labels_categories_are_those_of_the_shapes(tmp_path: Path) -> None:
    truth = formats.read_dataset(document(tmp_path / "a.xml", SQUARE, labels=""))
    assert truth.categories["name"].to_list() == ["car"]


def test_a_label_that_the_meta_does_not_list_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UnknownIdError, match=r"category_id is not among the categories .*unknown: 'cat'"):
        read(document(tmp_path / "a.xml", SQUARE.replace("car", "cat")))


def test_labels_of_the_parts_of_a_skeleton_are_no_categories(tmp_path: Path) -> None:
    labels = LABELS.replace("</labels>", "<label><name>knee</name><parent>dog</parent></label></labels>")
    assert formats.read_dataset(document(tmp_path / "a.xml", labels=labels)).categories["name"].to_list() == ["car", "dog"]


def test_a_polygon_is_a_mask_with_its_own_area(tmp_path: Path) -> None:
    rows = read(document(tmp_path / "a.xml", '<polygon label="dog" points="1,1;5,1;1,4"/>', SQUARE))
    assert rows.select(*BOX, "area", "mask").rows() == [
        (1, 1, 4, 3, 6, "[[1.0,1.0,5.0,1.0,1.0,4.0]]"),
        (1, 2, 3, 4, 12, None),
    ]


def test_a_mask_runs_along_the_rows_of_its_crop(tmp_path: Path) -> None:
    """Three pixels of a square at (1, 0): both above, the left one below. COCO goes down column 1 and column 2 of 8 rows."""
    rows = read(document(tmp_path / "a.xml", '<mask label="dog" rle="0, 3, 1" left="1" top="0" width="2" height="2"/>'))
    assert rows.select(*BOX, "area").rows() == [(1, 0, 2, 2, 3)]
    assert json.loads(rows["mask"].item()) == {"size": [8, 10], "counts": [8, 2, 6, 1, 63]}


@pytest.mark.parametrize(("rotation", "angle"), [(0, 0), (90, -math.pi / 2), (270, math.pi / 2), (315, math.pi / 4)])
def test_rotation_is_in_degrees_clockwise(tmp_path: Path, rotation: float, angle: float) -> None:
    turned = SQUARE.replace("xtl", f'rotation="{rotation}" xtl')
    assert read(document(tmp_path / "a.xml", turned, SQUARE))["angle"].to_list() == pytest.approx([angle, 0])


def test_attributes_are_columns_of_the_type_of_their_values(tmp_path: Path) -> None:
    def shape(**attributes: str) -> str:
        inside = "".join(f'<attribute name="{name}">{value}</attribute>' for name, value in attributes.items())
        return SQUARE.replace("/>", f' z_order="2">{inside}</box>')

    rows = read(
        document(
            tmp_path / "a.xml",
            shape(age="3", share="1", code="007", parked="true", width="wide", difficult="true"),
            shape(age="4", share="2.5", code="1", parked="false", difficult="false"),
        )
    )
    columns = rows.select("age", "share", "code", "parked", "width_attribute", "ignore", "occluded", "z_order")
    assert_frame_equal(
        columns,
        pl.DataFrame(
            {
                "age": [3, 4], "share": [1.0, 2.5], "code": ["007", "1"], "parked": [True, False],
                "width_attribute": ["wide", None], "ignore": [True, False], "occluded": [False, False], "z_order": [2, 2],
            }
        ),
    )  # fmt: skip


def test_an_attribute_goes_before_a_field_of_the_same_name(tmp_path: Path) -> None:
    shape = SQUARE.replace("/>", '><attribute name="occluded">0.3</attribute></box>')
    assert read(document(tmp_path / "a.xml", shape))["occluded"].to_list() == [0.3]


def test_shapes_that_are_no_objects_are_left_out_with_a_warning(tmp_path: Path) -> None:
    others = '<points label="car" points="1,1"/><points label="car" points="2,1"/><tag label="dog"/>'
    path = document(tmp_path / "a.xml", SQUARE, others)
    with pytest.warns(ShapesLeftOutWarning, match=r"a\.xml: left out .*: 2 points, 1 tag$"):
        assert read(path).height == 1


VIDEO = """<annotations><version>1.1</version><meta><{kind}><id>5</id><size>4</size><mode>{mode}</mode>
<start_frame>10</start_frame><stop_frame>16</stop_frame><frame_filter>step=2</frame_filter>
<labels><label><name>car</name></label><label><name>dog</name></label></labels>
<original_size><width>10</width><height>8</height></original_size></{kind}></meta>{tracks}</annotations>"""
TRACKS = """<track id="3" label="car" source="manual" group_id="2">
  <box frame="10" keyframe="1" outside="0" occluded="0" xtl="1" ytl="2" xbr="4" ybr="6" z_order="0">
    <attribute name="parked">true</attribute></box>
  <box frame="12" keyframe="0" outside="0" occluded="1" xtl="2" ytl="2" xbr="5" ybr="6" z_order="0">
    <attribute name="parked">false</attribute></box>
  <box frame="14" keyframe="1" outside="1" occluded="0" xtl="2" ytl="2" xbr="5" ybr="6" z_order="0"/>
</track>
<track id="4" label="dog" source="auto">
  <polygon frame="12" keyframe="1" outside="0" occluded="0" points="1,1;5,1;1,4" z_order="1"/>
  <polygon frame="14" keyframe="1" outside="1" occluded="0" points="1,1;5,1;1,4" z_order="1"/>
  <mask frame="16" keyframe="1" outside="0" occluded="0" rle="0, 3, 1" left="1" top="0" width="2" height="2"/>
  <points frame="16" keyframe="1" outside="0" points="1,1"/><points frame="18" keyframe="1" outside="1" points="1,1"/>
</track>"""


def video(path: Path, tracks: str = TRACKS, kind: str = "task", mode: str = "interpolation") -> Path:
    path.write_text(VIDEO.format(kind=kind, mode=mode, tracks=tracks))
    return path


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["task", "job"])
def test_a_frame_of_a_video_is_an_image(kind: str, tmp_path: Path) -> None:
    """All that the task has, every second one from the tenth on; shapes are in those where they are not outside."""
    with pytest.warns(ShapesLeftOutWarning, match=r"left out .*: 1 points$"):
        truth = formats.read_dataset(video(tmp_path / "a.xml", kind=kind))
    assert truth.images.select("image_id", "file_name", "image_width", "image_height").rows() == [
        (frame, f"frame_0000{frame}", 10, 8) for frame in (10, 12, 14, 16)
    ]
    assert truth.categories["name"].to_list() == ["car", "dog"]
    assert truth.annotations.select("image_id", "category_id", *BOX, "area", "track_id").rows() == [
        (10, "car", 1, 2, 3, 4, 12, 3), (12, "car", 2, 2, 3, 4, 12, 3), (12, "dog", 1, 1, 4, 3, 6, 4),
        (16, "dog", 1, 0, 2, 2, 3, 4),
    ]  # fmt: skip
    assert truth.annotations.select("keyframe", "occluded", "parked", "source", "group_id", "z_order").rows() == [
        (True, False, True, "manual", 2, 0), (False, True, False, "manual", 2, 0), (True, False, None, "auto", None, 1),
        (True, False, None, "auto", None, None),
    ]  # fmt: skip
    assert set(truth.annotations.columns).isdisjoint(["frame", "outside"])


@pytest.mark.slow
def test_a_video_comes_back_from_a_file_for_images(tmp_path: Path) -> None:
    truth = formats.read_dataset(video(tmp_path / "a.xml", TRACKS.split("<points")[0] + "</track>"))
    assert apf.write_dataset(truth, tmp_path / "b.xml", "cvat").filter(pl.col("table") != "annotations").is_empty()
    back = formats.read_dataset(tmp_path / "b.xml")
    assert_frame_equal(back.images, truth.images)
    assert_frame_equal(back.annotations, truth.annotations, check_column_order=False)


def test_frames_of_a_task_of_images_have_no_names(tmp_path: Path) -> None:
    truth = formats.read_dataset(video(tmp_path / "a.xml", "", mode="annotation"))
    assert truth.images.select("image_id", "file_name").rows() == [(frame, None) for frame in (10, 12, 14, 16)]


def test_frames_that_no_task_declares_are_those_with_shapes(tmp_path: Path) -> None:
    box = '<box frame="{}" outside="{}" xtl="1" ytl="2" xbr="4" ybr="6"/>'
    boxes = box.format(7, 0) + box.format(3, 0) + box.format(9, 1)
    (tmp_path / "a.xml").write_text(f'<annotations><track id="0" label="car">{boxes}</track></annotations>')
    truth = formats.read_dataset(tmp_path / "a.xml")
    assert truth.images.select("image_id", "file_name", "image_width").rows() == [
        (3, "frame_000003", None), (7, "frame_000007", None),
    ]  # fmt: skip
    assert truth.annotations["image_id"].to_list() == [3, 7]


def test_frames_of_a_project_are_numbered_over_its_tasks(tmp_path: Path) -> None:
    size = "<original_size><width>{}</width><height>8</height></original_size>"
    task = f"<task><id>{{}}</id><size>2</size><subset>val</subset>{size}</task>"
    box = '<box frame="1" outside="0" xtl="1" ytl="2" xbr="4" ybr="6"/>'
    track = f'<track id="{{0}}" label="car" task_id="{{0}}" subset="val">{box}</track>'
    meta = f"<meta><project><id>1</id><tasks>{task.format(9, 10)}{task.format(8, 20)}</tasks></project></meta>"
    (tmp_path / "a.xml").write_text(f"<annotations>{meta}{track.format(8)}{track.format(9)}</annotations>")
    truth = formats.read_dataset(tmp_path / "a.xml")
    assert truth.images.select("image_id", "file_name", "task_id", "subset", "image_width").rows() == [
        (0, "frame_000000", 9, "val", 10), (1, "frame_000001", 9, "val", 10),
        (2, "frame_000000", 8, "val", 20), (3, "frame_000001", 8, "val", 20),
    ]  # fmt: skip
    assert truth.annotations.select("image_id", "track_id").rows() == [(1, 9), (3, 8)]


@pytest.mark.slow
def test_results_on_a_video_have_scores(tmp_path: Path) -> None:
    score = '<attribute name="score">0.5</attribute>'
    tracks = f'<track id="0" label="car"><box frame="12" outside="0" xtl="2" ytl="2" xbr="5" ybr="6">{score}</box></track>'
    truth = video(tmp_path / "a.xml", TRACKS.split('<track id="4"')[0])
    detections = formats.read_results(video(tmp_path / "b.xml", tracks))
    assert detections.select("image_id", "category_id", "score", *BOX, "file_name").rows() == [
        (12, "car", 0.5, 2, 2, 3, 4, "frame_000012")
    ]
    labels = written(tmp_path / "labels", {"frame_000012.txt": "car 0.5 2 2 3 4\n"})
    for results in (tmp_path / "b.xml", labels):
        ev = apf.evaluate(truth, results, "voc2012", join_by_name="images")
        assert ev.summary["value"][0] == pytest.approx(0.5)


@pytest.mark.parametrize("name", ["score", "confidence"])
def test_results_have_a_score_and_the_name_of_the_file(tmp_path: Path, name: str) -> None:
    shape = SQUARE.replace("/>", f'><attribute name="{name}">0.5</attribute></box>')
    detections = formats.read_results(document(tmp_path / "a.xml", shape))
    assert detections.select("image_id", "category_id", "score", *BOX, "file_name").rows() == [
        (3, "car", 0.5, 1, 2, 3, 4, "a/b.jpg")
    ]


def test_results_are_joined_by_the_name_of_the_file(tmp_path: Path) -> None:
    shape = SQUARE.replace("/>", '><attribute name="score">0.5</attribute></box>')
    truth = apf.Dataset({"image_id": [70], "file_name": ["b.jpg"]}, {"category_id": [1], "name": ["car"]}, {})
    detections = formats.read_results(document(tmp_path / "a.xml", shape), dataset=truth, join_by_name=["images", "categories"])
    assert detections.select("image_id", "category_id").rows() == [(70, 1)]


NAMES = st.text(st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="\ufffe\uffff"), min_size=1, max_size=4)
QUARTERS = st.integers(0, 40).map(lambda n: n / 4)
LETTERS = st.text("abc &<\">'\t\n\rü", max_size=4).filter(lambda text: text.lower() not in ("true", "false"))


@st.composite
def shapes(draw: st.DrawFn) -> dict[str, Any]:
    kind = draw(st.sampled_from(["box", "polygon", "mask"]))
    if kind == "box":
        x, y, width, height = (draw(QUARTERS) for _ in BOX)
        angle = draw(st.sampled_from([0.0, 0.0, 0.5, -3.0]))
        return {"x": x, "y": y, "width": width, "height": height, "area": width * height, "mask": None, "angle": angle}
    if kind == "polygon":
        points = draw(st.lists(st.tuples(QUARTERS, QUARTERS), min_size=3, max_size=6))
        xs, ys = zip(*points, strict=True)
        doubled = sum(xs[k - 1] * ys[k] - xs[k] * ys[k - 1] for k in range(len(xs)))
        mask: Any = [[coordinate for point in points for coordinate in point]]
        box = (min(xs), min(ys), max(xs) - min(xs), max(ys) - min(ys), abs(doubled) / 2)
    else:
        pixels = np.array(draw(st.lists(st.booleans(), min_size=30, max_size=30))).reshape(5, 6)
        pixels[draw(st.integers(0, 4)), draw(st.integers(0, 5))] = True
        crop = to_crop(pixels.tolist())
        assert crop is not None
        mask = {"size": [5, 6], "counts": to_columns(crop, 5, 6)}
        box = (*map(float, crop[1:]), float(pixels.sum()))
    return dict(zip((*BOX, "area"), box, strict=True)) | {"mask": json.dumps(mask, separators=(",", ":")), "angle": 0.0}


@st.composite
def datasets(draw: st.DrawFn) -> apf.Dataset:
    ids = sorted(draw(st.lists(st.integers(0, 99), min_size=1, max_size=3, unique=True)))
    labels = draw(st.lists(NAMES, min_size=1, max_size=3, unique=True))
    rows = [
        {
            **draw(shapes()), "image_id": image, "category_id": draw(st.sampled_from(labels)), "is_crowd": draw(st.booleans()),
            "ignore": draw(st.booleans()), "occluded": draw(st.booleans()), "z_order": draw(st.integers(-3, 3)),
            "note": draw(st.none() | LETTERS), "share": draw(st.none() | st.floats(allow_nan=False, allow_infinity=False)),
            "parked": draw(st.none() | st.booleans()), "x_attribute": draw(st.none() | LETTERS),
        }
        for image in ids
        for _ in range(draw(st.integers(0, 3)))
    ]  # fmt: skip
    dtypes: Any = {"x": pl.Float64, "note": pl.String, "share": pl.Float64, "parked": pl.Boolean, "mask": pl.String}
    columns = ["image_id", "category_id", *BOX, "area", "mask", "angle", "note", "share", "parked"]
    schema = {name: dtypes.get(name, pl.Float64) for name in columns} | {"image_id": pl.Int64, "category_id": pl.String}
    frame = pl.DataFrame(rows, schema_overrides=schema, infer_schema_length=None) if rows else pl.DataFrame(schema=schema)
    images = {"image_id": ids, "image_width": [6] * len(ids), "image_height": [5] * len(ids), "file_name": map(str, ids)}
    images["file_name"] = [draw(NAMES) for _ in ids]
    return apf.Dataset(images, {"category_id": labels, "name": labels}, frame)


def assert_held(found: pl.DataFrame, expected: pl.DataFrame) -> None:
    """Equal in the columns that are there and say something; angles but for a last bit."""
    names = [name for name in expected.columns if expected[name].count() and name in found.columns]
    assert set(expected.columns) - set(names) - {"ignore", "angle"} <= {
        name for name in expected.columns if not expected[name].count()
    }
    assert_frame_equal(found.select(names), expected.select(names), rel_tol=1e-15, abs_tol=1e-15)


@pytest.mark.slow
@given(datasets())
def test_round_trip(tmp_path_factory: pytest.TempPathFactory, dataset: apf.Dataset) -> None:
    path = tmp_path_factory.mktemp("cvat") / "a.xml"
    assert apf.write_dataset(dataset, path, "cvat").rows() == []
    again = formats.read_dataset(path)
    for table in ("images", "categories", "annotations"):
        assert_held(getattr(again, table), getattr(dataset, table))


@pytest.mark.slow
@given(datasets(), st.booleans())
def test_results_round_trip(tmp_path_factory: pytest.TempPathFactory, dataset: apf.Dataset, named: bool) -> None:
    annotations = dataset.annotations.drop("annotation_id", "is_crowd", "ignore", strict=False)
    if not named:
        annotations = annotations.filter(~pl.col("mask").str.starts_with("{").fill_null(False))  # which need the image's size
    detections = canonical("detections", annotations.with_columns(score=pl.int_range(pl.len()) / 4))
    path = tmp_path_factory.mktemp("cvat") / "a.xml"
    assert apf.write_results(detections, path, "cvat", dataset=dataset if named else None).rows() == []
    assert_held(formats.read_results(path), detections.drop("detection_id"))


@given(st.lists(st.booleans(), min_size=1, max_size=30), st.integers(1, 6))
def test_run_lengths_go_down_columns_and_back(pixels: list[bool], width: int) -> None:
    mask_api = pytest.importorskip("pycocotools.mask")
    bitmap = np.resize(pixels, (-(-len(pixels) // width), width)).astype(np.uint8)
    encoded = mask_api.encode(np.asfortranarray(bitmap))
    crop = to_crop({"size": encoded["size"], "counts": encoded["counts"].decode()})
    assert crop == to_crop(bitmap.tolist())
    if crop is not None:
        counts = to_columns(crop, *bitmap.shape)
        assert (
            mask_api.frPyObjects({"size": list(bitmap.shape), "counts": counts}, *bitmap.shape)["counts"] == encoded["counts"]
        )


def one(**columns: Any) -> apf.Dataset:
    """One annotation on one image of 4 by 3 pixels."""
    row = {"image_id": 1, "category_id": "car", "x": 1.0, "y": 1.0, "width": 2.0, "height": 1.0} | columns
    images = {"image_id": [1], "image_width": [4], "image_height": [3], "file_name": ["a.jpg"]}
    return apf.Dataset(images, {"category_id": ["car"], "name": ["car"]}, pl.DataFrame([row]), box_format="xywh")


@pytest.mark.parametrize(
    ("columns", "lost"),
    [
        ({"area": 1.5}, ("area", "replaced by that of the shape")),
        ({"x": 0.1, "width": 0.2, "area": None}, ("width", "rounded, or replaced by that of the shape")),
        ({"mask": [[0.0, 0, 1, 0, 1, 1], [2.0, 2, 3, 2, 3, 3]]}, ("mask", "left out: neither one polygon nor pixels")),
        ({"angle": 7.0}, ("angle", "left out unless the shape is a box; whole turns are removed")),
        ({"code": "12"}, ("code", "read back as another type")),
        ({"tags": ["a"]}, ("tags", "left out")),
        ({"file_name": "b.jpg"}, ("file_name", "left out")),
        ({"keypoints": [1.0, 1, 2]}, ("keypoints", "left out")),
    ],
)
def test_what_cannot_be_held_is_said(tmp_path: Path, columns: dict[str, Any], lost: tuple[str, str]) -> None:
    dataset = one(**columns)
    losses = apf.write_dataset(dataset, tmp_path / "a.xml", "cvat")
    assert losses.select("table", "column", "n_rows", "what").rows() == [("annotations", lost[0], 1, lost[1])]
    again = formats.read_dataset(tmp_path / "a.xml").annotations
    if lost[0] in again.columns:
        assert again[lost[0]].to_list() != dataset.annotations[lost[0]].to_list()


def test_the_file_that_results_name_becomes_that_of_their_image(tmp_path: Path) -> None:
    dataset = one()
    detections = dataset.annotations.drop("annotation_id", "is_crowd").with_columns(score=1.0, file_name=pl.lit("b.jpg"))
    lost = apf.write_results(detections, tmp_path / "a.xml", "cvat", dataset=dataset)
    assert lost.rows() == [("detections", "file_name", 1, "replaced by that of the image")]
    assert formats.read_results(tmp_path / "a.xml")["file_name"].to_list() == ["a.jpg"]


@pytest.mark.parametrize("name", ["subset", "task_id"])
def test_lists_are_lost_of_images_too(tmp_path: Path, name: str) -> None:
    dataset = one()
    dataset = apf.Dataset(dataset.images.with_columns(pl.lit([["a"]]).alias(name)), dataset.categories, dataset.annotations)
    assert apf.write_dataset(dataset, tmp_path / "a.xml", "cvat").rows() == [("images", name, 1, "left out")]
    assert name not in formats.read_dataset(tmp_path / "a.xml").images.columns


def test_a_box_of_its_own_beside_a_mask_is_lost(tmp_path: Path) -> None:
    lost = apf.write_dataset(one(mask=[[0.0, 0, 2, 0, 2, 2]]), tmp_path / "a.xml", "cvat")
    assert lost["column"].to_list() == ["x", "y", "height"]
    assert read(tmp_path / "a.xml").select(BOX).rows() == [(0, 0, 2, 2)]


@pytest.mark.slow
@pytest.mark.parametrize(
    "mask",
    [{"size": [3, 4], "counts": "453"}, {"size": [3, 4], "counts": [4, 5, 3]}, [[0, 0, 0, 0], [0, 1, 1, 0], [0, 1, 1, 0]]],
)
def test_encodings_and_bitmaps_are_written_as_masks(tmp_path: Path, mask: Any) -> None:
    apf.write_dataset(one(mask=mask), tmp_path / "a.xml", "cvat")
    assert "<mask " in (tmp_path / "a.xml").read_text()
    assert to_crop(json.loads(read(tmp_path / "a.xml")["mask"].item())) == to_crop(mask)


@pytest.mark.slow(every=True)
@pytest.mark.parametrize(
    ("dataset", "message"),
    [
        (one(note="\x07"), r"XML cannot hold the character '\\x07', which ends .*; remove it"),
        (one(mask='{"size": [3, 4], "counts": [5]}'), "the run lengths of mask do not add up to its size for annotation_id"),
        (
            one(x=None, y=None, width=None, height=None, keypoints=[1.0, 1, 2]),
            "annotations: box, polygon and mask are missing for annotation_id 1; remove the rows",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_written_leaves_nothing_behind(tmp_path: Path, dataset: apf.Dataset, message: str) -> None:
    with pytest.raises((FormatError, RowError), match=message):
        apf.write_dataset(dataset, tmp_path / "a.xml", "cvat")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_mask_on_an_image_of_unknown_size_cannot_be_written(tmp_path: Path) -> None:
    detections = canonical("detections", one(mask='{"size":[3,4],"counts":[4,5,3]}').annotations.with_columns(score=1.0))
    with pytest.raises(RowError, match="detections: mask is on an image of unknown size for detection_id 1; give image_width"):
        apf.write_results(detections, tmp_path / "a.xml", "cvat")


BAD = {
    "label": ("<box/>", "a shape has no label"),
    "side": (SQUARE.replace('xtl="1"', ""), "xtl of a box is missing or not a finite number"),
    "number": (SQUARE.replace('"6"', '"six"'), "ybr of a box is missing or not a finite number"),
    "nan": (SQUARE.replace('"6"', '"nan"'), "ybr of a box is missing or not a finite number"),
    "turn": (
        SQUARE.replace("xtl", 'rotation="x" xtl'),
        "rotation of a box is missing or not a finite number",
    ),
    "points": (
        '<polygon label="car" points="1,2;3"/>',
        "points of a polygon are not x,y;x,y;... in finite numbers",
    ),
    "no points": (
        '<polygon label="car"/>',
        "points of a polygon are not x,y;x,y;... in finite numbers",
    ),
    "runs": (
        '<mask label="car" rle="1, 2" left="0" top="0" width="2" height="2"/>',
        "the run lengths in rle of a mask do not add up to width × height",
    ),
    "outside": (
        '<mask label="car" rle="0, 4" left="9" top="0" width="2" height="2"/>',
        "left, top, width and height of a mask are not whole numbers inside an image of known size",
    ),
    "runs beyond 64 bits": (
        f'<mask label="car" rle="{", ".join([str(2**62)] * 4)}" left="0" top="0" width="0" height="2"/>',
        "the run lengths in rle of a mask do not add up to width × height",
    ),
    "attribute": (
        SQUARE.replace("/>", "><attribute>x</attribute></box>"),
        "an attribute of a shape has no name",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("shape", "message"), BAD.values(), ids=BAD)
def test_bad_shapes_are_told_by_image(tmp_path: Path, shape: str, message: str) -> None:
    path = document(tmp_path / "a.xml", shape)
    with pytest.raises(FormatError, match=f"^{re.escape(f'{path}: {message}, on image 3; correct 1 of 1 shapes')}$"):
        formats.read_dataset(path)


def test_reversed_boxes_are_told_by_image_with_their_options(tmp_path: Path) -> None:
    path = document(tmp_path / "a.xml", SQUARE, *[SQUARE.replace('"6"', '"1"')] * 2)
    message = f'{path}: ybr of a box is less than ytl in image 3; correct it, or evaluate with invalid="drop" or invalid="keep"'
    with pytest.raises(FormatError, match=f"^{re.escape(message)}$"):
        formats.read_dataset(path)


@pytest.mark.parametrize("side", [40_000, 2**33])
def test_masks_on_images_beyond_the_limits_are_told(tmp_path: Path, side: int) -> None:
    path = tmp_path / "a.xml"
    shape = f'<mask label="car" rle="0, {side**2}" left="0" top="0" width="{side}" height="{side}"/>'
    path.write_text(f'<annotations><image id="3" name="a.jpg" width="{side}" height="{side}">{shape}</image></annotations>')
    message = (
        "a mask is on an image of more than 1,073,741,824 pixels, or more than 1,048,576 a side,"
        " on image 3; correct 1 of 1 shapes"
    )
    with pytest.raises(FormatError, match=f"^{re.escape(f'{path}: {message}')}$"):
        formats.read_dataset(path)


def test_a_mask_of_too_many_runs_is_told(tmp_path: Path) -> None:
    path, lines = tmp_path / "a.xml", ", ".join(["32768"] * 32768)  # each a run of every column
    shape = f'<mask label="car" rle="{lines}" left="0" top="0" width="32768" height="32768"/>'
    path.write_text(f'<annotations><image id="3" name="a.jpg" width="32768" height="32768">{shape}</image></annotations>')
    with pytest.raises(
        FormatError, match=r"a mask has more than 134,217,728 run lengths down its columns, on image 3; correct 1"
    ):
        formats.read_dataset(path)


@pytest.mark.slow
def test_a_large_mask_is_read_and_written(tmp_path: Path) -> None:
    path, again, side = tmp_path / "a.xml", tmp_path / "b.xml", 20_000
    shape = f'<mask label="car" rle="1, {side**2 - 1}" left="0" top="0" width="{side}" height="{side}"/>'
    path.write_text(f'<annotations><image id="3" name="a.jpg" width="{side}" height="{side}">{shape}</image></annotations>')
    dataset = formats.read_dataset(path)
    assert dataset.annotations["mask"].to_list() == ['{"size":[20000,20000],"counts":[1,399999999]}']
    apf.write_dataset(dataset, again, "cvat")
    assert formats.read_dataset(again).annotations.drop("occluded").equals(dataset.annotations)


@pytest.mark.parametrize("counts", ["P" * 100 + "0", [-1, 13], [2**70], [0.5, 11.5], ["12"], [12, 2**62, 2**62, 2**62, 2**62]])
def test_what_fills_no_mask_has_no_crop(counts: Any) -> None:
    with pytest.raises(ValueError, match=r"."):
        to_crop({"size": [3, 4], "counts": counts})


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty"),
        (b"<annotations><image", "not XML, cut off, or in another encoding than it says (unclosed token: line 1, column 13)"),
        (
            b"<annotations>\xff</annotations>",
            "not XML, cut off, or in another encoding than it says (not well-formed (invalid token): line 1, column 13)",
        ),
        (b"<annotation/>", "the root is annotation, not annotations; is it from CVAT?"),
        (b'<annotations><track/><image id="1"/></annotations>', "has both images and tracks; export it as CVAT for images 1.1"),
        (
            b'<annotations><track id="3"><box outside="0" frame="x"/></track></annotations>',
            "frame of a shape in track 3 is 'x', not a whole number from 0; correct it",
        ),
        (
            b"<annotations><meta><task><size>1000001</size></task></meta></annotations>",
            "the task has 1,000,001 frames; the limit is 1,000,000; export its jobs",
        ),
        (
            b"<annotations><meta><job><size>-1</size></job></meta></annotations>",
            "size of the task is '-1', not a whole number from 0; correct it",
        ),
        (b'<annotations><image name="b.jpg"/></annotations>', "id is missing or not a whole number in image 'b.jpg'; "
         "correct it"),
        (
            b'<annotations><image id="1" name="b.jpg" width="x"/></annotations>',
            "width is missing or not a whole number in image 'b.jpg'; correct it",
        ),
    ],
)  # fmt: skip
def test_bad_files_are_told(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "a.xml"
    path.write_bytes(content)
    with pytest.raises(FormatError, match=f"^{re.escape(f'{path}: {message}')}$"):
        formats.read_dataset(path, "cvat")


@pytest.mark.parametrize(
    ("attribute", "message"),
    [
        ("", "no shape has an attribute score or confidence; every shape of results needs one"),
        ('<attribute name="score">high</attribute>', "score is not a finite number, on image 3; correct 1 of 1 shapes"),
    ],
)
def test_results_without_a_score_are_told(tmp_path: Path, attribute: str, message: str) -> None:
    path = document(tmp_path / "a.xml", SQUARE.replace("/>", f">{attribute}</box>"))
    with pytest.raises(FormatError, match=f"^{re.escape(f'{path}: {message}')}$"):
        formats.read_results(path)


def test_only_cvats_files_are_taken_for_such(tmp_path: Path) -> None:
    path = document(tmp_path / "a.xml", SQUARE)
    assert Cvat().fits(see(path), "dataset") and Cvat().fits(see(path), "results")
    assert not Coco().fits(see(path), "dataset") and not Coco().fits(see(path), "results")
    (tmp_path / "voc.xml").write_text("<annotation><object/></annotation>")
    assert not Cvat().fits(see(tmp_path / "voc.xml"), "dataset")


def test_a_crop_is_a_frozen_value() -> None:
    assert Crop([0, 1], 0, 0, 1, 1) == to_crop([[1]])


TASK = """<annotations><meta><task><labels><label><name>cat</name></label></labels></task></meta>
<image id="0" name="{name}.jpg" width="64" height="48">
<box label="cat" xtl="1" ytl="2" xbr="4" ybr="6">{attributes}</box></image>
</annotations>"""
SCORED = '<attribute name="score">0.5</attribute>'


@pytest.mark.slow(every=True)
@pytest.mark.parametrize(
    "names", [["annotations.xml"], ["a.xml", "b.xml"], ["task_1/annotations.xml", "task_2/annotations.xml"]]
)
def test_folders_of_exports(names: list[str], tmp_path: Path) -> None:
    for folder, attributes in (("truth", ""), ("found", SCORED)):
        written(tmp_path / folder, {name: TASK.format(name=Path(name), attributes=attributes) for name in names})
    (tmp_path / "truth" / "images").mkdir()
    truth = apf.read_dataset(tmp_path / "truth")
    assert truth.images["file_name"].to_list() == [f"{name}.jpg" for name in names]
    assert truth.categories["name"].to_list() == ["cat"]
    ev = apf.evaluate(truth, tmp_path / "found", join_by_name="images")
    assert ev.summary["value"][0] == pytest.approx(1)


def test_a_folder_without_exports_is_told(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"holds neither an XML file nor folders with an annotations\.xml$"):
        apf.read_dataset(tmp_path, "cvat")
