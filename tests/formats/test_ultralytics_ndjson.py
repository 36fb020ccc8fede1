"""Ultralytics' NDJSON: images and objects of each task, splits, sizes, and lines that cannot be right."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import apframe as apf
from apframe.exceptions import FormatError, ParameterError, UnitWarning
from apframe.formats.coco.format import Coco
from apframe.formats.path_contents import see
from apframe.formats.yolo.ndjson import UltralyticsNdjson
from tests.formats.folders import written

BOX = ["x", "y", "width", "height"]
ABOUT = {"type": "dataset", "task": "detect", "name": "pets", "url": "https://x", "class_names": {"0": "cat", "1": "dog"}}


def image(name: str, *objects: list[Any], kind: str = "boxes", split: str | None = "val", **more: Any) -> dict[str, Any]:
    row = {"type": "image", "file": name, "url": f"https://x/{name}", "width": 100, "height": 50, "split": split} | more
    return row | ({"annotations": {kind: list(objects)}} if objects else {})


def file(folder: Path, *images: Any, **about: Any) -> Path:
    rows = [ABOUT | about, *images]
    written(folder, {"pets.ndjson": "\n".join(json.dumps(row) for row in rows) + "\n"})
    return folder / "pets.ndjson"


@pytest.mark.slow
def test_a_line_is_an_image_with_its_boxes(tmp_path: Path) -> None:
    path = file(tmp_path, image("a.jpg", [1, 0.5, 0.5, 0.2, 0.4], [0, 0.1, 0.2, 0.2, 0.4]), image("sub/b.c.jpg"))
    truth = apf.read_dataset(path)
    assert truth.images.select("image_id", "file_name", "image_width", "image_height").rows() == [
        ("a", "a.jpg", 100, 50), ("b.c", "sub/b.c.jpg", 100, 50),
    ]  # fmt: skip
    assert truth.categories.select("category_id", "name").rows() == [(0, "cat"), (1, "dog")]
    assert truth.annotations.select("image_id", "category_id", *BOX).rows() == [
        ("a", 1, 40, 15, 20, 20), ("a", 0, 0, 0, 20, 20),
    ]  # fmt: skip
    results = written(tmp_path / "found", {"a.txt": "1 .5 .5 .2 .4 .9\n0 .1 .2 .2 .4 .8\n"})
    assert apf.evaluate(path, results).summary["value"][0] == pytest.approx(1)


TRIANGLE = [0, 0.1, 0.1, 0.5, 0.1, 0.5, 0.5]
CORNERS = [0, 0.1, 0.1, 0.5, 0.1, 0.5, 0.5, 0.1, 0.5]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("task", "kind", "numbers", "outline"),
    [
        ("segment", "segments", TRIANGLE, [10, 5, 50, 5, 50, 25]),
        ("obb", "obb", CORNERS, [10, 5, 50, 5, 50, 25, 10, 25]),
    ],
)
def test_outlines_are_masks(task: str, kind: str, numbers: list[float], outline: list[float], tmp_path: Path) -> None:
    row = apf.read_dataset(file(tmp_path, image("a.jpg", numbers, kind=kind), task=task)).annotations
    assert row.select(*BOX, "mask").rows() == [(10, 5, 40, 20, [outline])]


@pytest.mark.slow(every=True)
@pytest.mark.parametrize(
    ("numbers", "shape", "keypoints"),
    [
        ([0.1, 0.2, 2, 0, 0, 0], [2, 3], [10, 10, 2, 0, 0, 0]),
        ([0.1, 0.2, 2, 0, 0, 0], None, [10, 10, 2, 0, 0, 0]),
        ([0.1, 0.2, -0.5, 0], None, [10, 10, 1, -50, 0, 0]),
        ([0.1, 0.2, 0.3, 0.4, 0.5, 0.6], [3, 2], [10, 10, 1, 30, 20, 1, 50, 30, 1]),
    ],
)
def test_keypoints_follow_the_box(
    numbers: list[float], shape: list[int] | None, keypoints: list[float], tmp_path: Path
) -> None:
    """As many as `kpt_shape` says, or as fit."""
    about = {} if shape is None else {"kpt_shape": shape}
    path = file(tmp_path, image("a.jpg", [0, 0.5, 0.5, 0.2, 0.4, *numbers], kind="pose"), task="pose", **about)
    assert apf.read_dataset(path).annotations.select(*BOX, "keypoints").rows() == [(40, 15, 20, 20, pytest.approx(keypoints))]


def test_keypoints_that_fit_in_two_ways_are_asked_for(tmp_path: Path) -> None:
    path = file(tmp_path, image("a.jpg", [0, 0.5, 0.5, 0.2, 0.4, *[0.5] * 6], kind="pose"), task="pose")
    with pytest.raises(FormatError, match="does not say how many keypoints its objects have; add kpt_shape to the first line"):
        apf.read_dataset(path)


@pytest.mark.slow
def test_a_split_is_read(tmp_path: Path) -> None:
    """That which was asked for, else val, else the only one; all where there are none."""
    images = [image(f"{name}.jpg", split=name) for name in ("train", "val", "test")]
    path = file(tmp_path, *images)
    for split, ids in ((None, ["val"]), ("train", ["train"]), ("test", ["test"])):
        assert apf.read_dataset(path, split=split).images["image_id"].to_list() == ids
    assert apf.read_dataset(file(tmp_path, images[0])).images["image_id"].to_list() == ["train"]
    unsplit = file(tmp_path, image("a.jpg", split=None), image("b.jpg", split=None))
    assert apf.read_dataset(unsplit).images["image_id"].to_list() == ["a", "b"]
    with pytest.raises(ParameterError, match="no split 'nowhere'; choose one with split=: train, val, test"):
        apf.read_dataset(file(tmp_path, *images), split="nowhere")
    with pytest.raises(ParameterError, match="several splits, but no val; choose one with split=: train, test"):
        apf.read_dataset(file(tmp_path, images[0], images[2]))


def test_classes_without_names_are_numbered(tmp_path: Path) -> None:
    path = file(tmp_path, image("a.jpg", [7, 0.5, 0.5, 0.2, 0.4]), class_names={})
    assert apf.read_dataset(path).categories.select("category_id", "name").rows() == [(7, "class7")]


def test_sizes_that_the_lines_lack_are_given(tmp_path: Path) -> None:
    path = file(tmp_path, image("a.jpg", [0, 0.5, 0.5, 0.2, 0.4], width=None, height=None))
    with pytest.warns(UnitWarning, match="the image sizes are unknown"):
        assert apf.read_dataset(path).images["image_width"].to_list() == [1]
    sizes = {"file_name": ["a.jpg"], "image_width": [200], "image_height": [50]}
    assert apf.read_dataset(path, image_sizes=sizes).annotations.select(*BOX).rows() == [(80, 15, 40, 20)]
    path = file(tmp_path, image("a.jpg"), image("b.jpg", height=None))
    with pytest.raises(FormatError, match=r"pets\.ndjson: no size, or several, for images 'b'; give image_sizes"):
        apf.read_dataset(path)


BAD = {
    "no numbers": ([image("a.jpg", [0, 0.5, 0.5, 0.2, "wide"])], {}, "not all fields are finite numbers in line 2"),
    "one number too many": ([image("a.jpg", [0, 0.5, 0.5, 0.2, 0.4, 0.9])], {},
                         "neither 5 fields (class x y width height) nor a polygon (class x1 y1 x2 y2 ...), in line 2"),
    "pixels": ([image("a.jpg", [0, 50, 50, 20, 40])], {}, "these look like pixels in line 2"),
    "another class": ([image("a.jpg", [0, 0.5, 0.5, 0.2, 0.4]), image("b.jpg", [2, 0.5, 0.5, 0.2, 0.4])], {},
                      "class is not among the class_names in line 3; add its name, or correct these lines"),
    "no list": ([image("a.jpg") | {"annotations": {"boxes": 5}}], {}, "annotations have no list of lists of numbers in line 2"),
    "no file": ([image("a.jpg") | {"file": None}], {}, "file is missing or not text in line 2; correct it"),
    "no object": ([5], {}, "no JSON object in line 2; correct it"),
    "one name twice": ([image("x/a.jpg"), image("y/a.png")], {}, "two images have the same name without folders and ending"),
    "another task": ([], {"task": "classify"}, "the task is 'classify', which has no objects to find"),
    "names that are no texts": ([], {"class_names": {"0": 5}}, "class_names must be texts, by the number of the class"),
    "a class that is no number": ([], {"class_names": {"a": "cat"}}, "a class of names is 'a', not a whole number from 0"),
    "keypoints of four numbers": ([image("a.jpg", [0] * 9, kind="pose")], {"task": "pose", "kpt_shape": [1, 4]},
                                  "kpt_shape must be [number of keypoints, 2 or 3], not [1, 4]"),
}  # fmt: skip


@pytest.mark.parametrize(("images", "about", "message"), BAD.values(), ids=BAD)
def test_bad_lines_are_named(images: list[Any], about: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=re.escape(f"pets.ndjson: {message}")):
        apf.read_dataset(file(tmp_path, *images, **about))


def test_only_such_files_are_recognised(tmp_path: Path) -> None:
    path = file(tmp_path, image("a.jpg", [1, 0.5, 0.5, 0.2, 0.4]))
    assert UltralyticsNdjson().fits(see(path), "dataset")
    assert not UltralyticsNdjson().fits(see(path), "results")
    assert not Coco().fits(see(path), "dataset")
    written(tmp_path, {"coco.json": json.dumps({"info": {"type": "dataset"}, "images": [], "annotations": [], "task": 5})})
    assert not UltralyticsNdjson().fits(see(tmp_path / "coco.json"), "dataset")
    with pytest.raises(FormatError, match="not a list of results; is it ground truth"):
        apf.read_results(path)


def test_the_task_says_which_objects_count(tmp_path: Path) -> None:
    """An image of a segmenter's data set may have boxes too."""
    about = {"type": "dataset", "task": "segment", "class_names": {"0": "cat"}}
    objects = {"boxes": [[0, 0.5, 0.5, 0.2, 0.2]], "segments": [[0, 0.1, 0.1, 0.5, 0.1, 0.5, 0.5]]}
    image = {"type": "image", "file": "a.jpg", "width": 100, "height": 100, "split": "val", "annotations": objects}
    (tmp_path / "a.ndjson").write_text("\n".join(map(json.dumps, (about, image))))
    assert apf.read_dataset(tmp_path / "a.ndjson").annotations.select("x", "width").rows() == [(10, 40)]
