"""Scalabel's JSON: frames, labels with boxes or masks, and files that cannot be read."""

from __future__ import annotations

import json
import re
import warnings
from pathlib import Path
from typing import Any

import pytest

import apframe as apf
from apframe.benchmarks.driving.bdd100k.format import Scalabel
from apframe.exceptions import FormatError, ShapesLeftOutWarning
from apframe.formats.path_contents import see
from tests.formats.folders import written

Json = dict[str, Any]
SQUARE = '{"size": [4, 5], "counts": "52222f0"}'


def label(category: str, corners: tuple[float, ...] | None = (0, 0, 9, 4), **more: Any) -> Json:
    """A label with a box from these corners."""
    box = {} if corners is None else {"box2d": dict(zip(("x1", "y1", "x2", "y2"), corners, strict=True))}
    return {"id": "7", "category": category, **box, **more}


def frame(name: str, *labels: Json, **more: Any) -> Json:
    return {"name": name, "labels": [*labels], **more}


def saved(path: Path, document: Any) -> Path:
    path.write_text(json.dumps(document))
    return path


def test_frames_are_images(tmp_path: Path) -> None:
    frames = [
        frame(
            "b.jpg", attributes={"weather": "rain", "scene": "city street", "timeofday": "night"}, videoName="v", frameIndex=3
        ),
        {"name": "a.jpg", "labels": None, "attributes": None, "size": {"width": 64, "height": 48}},
    ]
    config = {"imageSize": {"width": 1280, "height": 720}, "categories": [{"name": "car"}, {"name": "rider"}]}
    truth = apf.read_dataset(saved(tmp_path / "a.json", {"frames": frames, "config": config}))
    assert truth.images.drop("file_name").to_dicts() == [
        {"image_id": "b.jpg", "image_width": 1280, "image_height": 720, "videoName": "v", "frameIndex": 3, "weather": "rain",
         "scene": "city street", "timeofday": "night"},
        {"image_id": "a.jpg", "image_width": 64, "image_height": 48, "videoName": None, "frameIndex": None, "weather": None,
         "scene": None, "timeofday": None},
    ]  # fmt: skip
    assert truth.categories["name"].to_list() == ["car", "rider"]


def test_categories_are_the_leaves_of_the_config(tmp_path: Path) -> None:
    tree = [{"name": "vehicle", "subcategories": [{"name": "car"}, {"name": "bus", "subcategories": None}]}, {"name": "person"}]
    document = {"frames": [frame("a", label("train"))], "config": {"categories": tree[:1]}}
    with pytest.raises(apf.exceptions.UnknownIdError, match="train"):
        apf.read_dataset(saved(tmp_path / "a.json", document))
    document = {"frames": [frame("a", label("person"))], "config": {"categories": tree}}
    assert apf.read_dataset(saved(tmp_path / "a.json", document)).categories["name"].to_list() == ["car", "bus", "person"]


def test_corners_are_inclusive_and_flags_are_columns(tmp_path: Path) -> None:
    attributes = {"occluded": True, "truncated": False, "crowd": True, "trafficLightColor": "NA"}
    labels = [label("car", (10.5, 20, 29.5, 24), attributes=attributes), label("bus", attributes={"ignored": True})]
    truth = apf.read_dataset(saved(tmp_path / "a.json", [frame("a.jpg", *labels)]))
    names = [
        "category_id",
        "x",
        "y",
        "width",
        "height",
        "area",
        "is_crowd",
        "ignored",
        "occluded",
        "trafficLightColor",
        "label_id",
    ]
    assert truth.annotations.select(names).rows() == [
        ("car", 10.5, 20, 20, 5, 100, True, None, True, "NA", "7"),
        ("bus", 0, 0, 10, 5, 50, True, True, None, None, "7"),
    ]
    detections = apf.read_results(saved(tmp_path / "b.json", [frame("a.jpg", label("car", score=0.5))]))
    assert detections.select("image_id", "category_id", "score", "width", "height").rows() == [("a.jpg", "car", 0.5, 10, 5)]


def test_masks_are_read_where_there_are_some(tmp_path: Path) -> None:
    labels = [label("car", None, rle=json.loads(SQUARE)), label("bus"), label("lane", None, poly2d=[{"vertices": [[0, 0]]}])]
    path = saved(tmp_path / "a.json", [frame("a.jpg", *labels)])
    message = r"left out labels that have no rle, which other labels have: 1 with box2d, 1 with poly2d$"
    with pytest.warns(ShapesLeftOutWarning, match=message):
        truth = apf.read_dataset(path)
    assert truth.annotations.select("category_id", "mask").rows() == [("car", SQUARE)]
    with pytest.warns(ShapesLeftOutWarning, match="labels that have neither box2d nor rle: 1 with poly2d$"):
        apf.read_dataset(saved(tmp_path / "b.json", [frame("a.jpg", *labels[1:])]))
    with warnings.catch_warnings(action="error"):
        detections = apf.read_results(saved(tmp_path / "c.json", [frame("a.jpg", labels[0] | {"score": 0.5})]))
    assert detections["mask"].to_list() == [SQUARE]


BAD: dict[str, tuple[Any, str]] = {
    "no corner": ([frame("f"), frame("g", {"category": "car", "box2d": {"x1": 1, "y1": 2, "x2": 3}})],
                  "y2 is missing or not a number in label 1 (frame 'g'); correct the file"),
    "no category": ([frame("g", label("car"), {"box2d": label("a")["box2d"]})],
                    "category is missing or not text in label 2 (frame 'g'); correct the file"),
    "no name": ([{"labels": []}], "name is missing or not text in frame 1; correct the file"),
    "a name twice": ([frame("g"), frame("g")], "several frames have the name 'g'; merge them into one"),
    "labels of another type": ([frame("g") | {"labels": {"a": 1}}], "labels is not a list in frame 1; correct the file"),
    "attributes of another type": ([frame("g", label("car", attributes=[1]))],
                                   "attributes is not an object in label 1 (frame 'g'); correct the file"),
    "a size of a mask": ([frame("g", label("car", None, rle={"size": [1], "counts": "a"}))],
                         "size is missing or not 2 numbers in label 1 (frame 'g'); correct the file"),
    "no frames": ({"frames": 5}, "no list of frames; is it Scalabel's JSON?"),
    "other categories": ({"frames": [], "config": {"categories": [5]}},
                         "the categories of the config are not a list of objects with a name; correct the file"),
}  # fmt: skip


@pytest.mark.parametrize(("document", "message"), BAD.values(), ids=BAD)
def test_bad_files_are_named(document: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=f"{re.escape(message)}$"):
        apf.read_dataset(saved(tmp_path / "a.json", document), "scalabel")


def test_missing_scores_are_named(tmp_path: Path) -> None:
    path = saved(tmp_path / "a.json", [frame("f", label("car", score=0.5)), frame("g", label("car"), label("car", score="1"))])
    with pytest.raises(FormatError, match=r"score is missing or not a number in labels 2, 3 \(frame 'g'\); correct the file$"):
        apf.read_results(path)


def test_recognized_by_the_first_frames(tmp_path: Path) -> None:
    truth, detections = (
        saved(tmp_path / "a.json", [frame("f", label("car"))]),
        saved(tmp_path / "b.json", [frame("f", label("car", score=1))]),
    )
    coco = written(tmp_path, {"c.json": '[{"image_id": 1, "category_id": 1, "bbox": [0, 0, 1, 1], "score": 0.5}]'}) / "c.json"
    empty = saved(tmp_path / "d.json", {"frames": [frame("f")]})
    assert [Scalabel().fits(see(path), "dataset") for path in (truth, detections, coco, empty)] == [True, False, False, True]
    assert [Scalabel().fits(see(path), "results") for path in (truth, detections, coco, empty)] == [False, True, False, True]
    assert apf.read_results(empty).height == 0
    assert apf.read_dataset(truth).annotations.height == 1


def test_a_score_of_null_is_none(tmp_path: Path) -> None:
    """Scalabel's own programs write all fields of a label, so ground truth has scores that are null."""
    path = saved(tmp_path / "a.json", [frame("f", label("car", score=None)), frame("g", label("bus", score=None))])
    truth = apf.read_dataset(path)
    assert truth.annotations["category_id"].to_list() == ["car", "bus"]
    assert "score" not in truth.annotations.columns
    detections = saved(tmp_path / "b.json", [frame("f", label("car", score=None)), frame("g", label("bus", score=0.5))])
    assert not Scalabel().fits(see(detections), "dataset")
