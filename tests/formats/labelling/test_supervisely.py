"""Supervisely's projects: data sets in folders, tags as columns, and files that cannot be right."""

from __future__ import annotations

import json
import math
import zlib
from base64 import b64encode
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import apframe as apf
from apframe.exceptions import FormatError, ParameterError, ShapesLeftOutWarning
from apframe.pycocotools import mask
from tests.formats.folders import written

BOX = ["x", "y", "width", "height"]
META = json.dumps({"classes": [{"title": title, "shape": "any", "color": "#000000"} for title in ("cat", "dog")], "tags": []})


def image(*objects: dict[str, Any], tags: Any = ()) -> str:
    """A file in `ann`."""
    return json.dumps({"description": "", "tags": list(tags), "size": {"height": 48, "width": 64}, "objects": list(objects)})


def drawn(kind: str, points: Any, tags: Any = (), title: str = "cat", holes: Any = ()) -> dict[str, Any]:
    outline = {"exterior": points, "interior": list(holes)}
    return {"id": 1, "classTitle": title, "geometryType": kind, "points": outline, "tags": list(tags)}


CORNERS, TRIANGLE = [[1, 2], [4, 6]], [[10, 10], [20, 10], [10, 30]]
CONFIDENCE, CLOUDY = {"name": "confidence", "value": 0.5}, {"name": "cloudy", "value": None}


def project(folder: Path, tags: Any = ()) -> Path:
    files: dict[str, str | bytes] = {
        "meta.json": META,
        "ds1/ann/a.jpg.json": image(drawn("rectangle", CORNERS, tags), tags=[CLOUDY]),
        "ds2/ann/b.jpg.json": image(drawn("polygon", TRIANGLE, tags)),
        "ds2/img/b.jpg": "",
    }
    return written(folder, files)


def test_a_project_is_a_data_set(tmp_path: Path) -> None:
    truth = apf.read_dataset(project(tmp_path))
    assert truth.images.select("image_id", "file_name", "image_width", "cloudy").rows() == [
        ("a", "a.jpg", 64, True), ("b", "b.jpg", 64, None),
    ]  # fmt: skip
    assert truth.categories["name"].to_list() == ["cat", "dog"]
    assert truth.annotations.select("image_id", *BOX, "area").rows() == [("a", 1, 2, 3, 4, 12), ("b", 10, 10, 10, 20, 100)]
    for one in (apf.read_dataset(tmp_path / "ds1"), apf.read_dataset(tmp_path, split="ds1")):
        assert (one.images["image_id"].to_list(), one.categories.height) == (["a"], 2)
    with pytest.raises(ParameterError, match="no data set 'ds'; did you mean ds"):
        apf.read_dataset(tmp_path, split="ds")


@pytest.mark.slow
def test_objects_with_a_confidence_are_results(tmp_path: Path) -> None:
    ev = apf.evaluate(project(tmp_path / "truth"), project(tmp_path / "found", [CONFIDENCE]))
    assert ev.summary["value"][0] == pytest.approx(1)
    assert ev.detections["score"].to_list() == [0.5, 0.5]


def test_lines_and_holes_are_left_out_and_counted(tmp_path: Path) -> None:
    line = {"classTitle": "cat", "geometryType": "line", "points": {"exterior": CORNERS, "interior": []}}
    hole = drawn("polygon", TRIANGLE, holes=[CORNERS])
    with pytest.warns(ShapesLeftOutWarning, match="1 holes of polygons, 1 line"):
        assert apf.read_dataset(written(tmp_path, {"ann/a.json": image(line, hole)})).annotations.height == 1


def bitmap(pixels: np.ndarray, at: tuple[int, int], kind: str) -> dict[str, Any]:
    """A bitmap as Supervisely saves it: a picture with a palette whose color 0 is transparent, or one with transparency."""
    pillow = pytest.importorskip("PIL.Image")
    picture, content = pillow.fromarray(pixels.astype(np.uint8)), BytesIO()
    if kind == "palette":
        picture.putpalette([0, 0, 0, 255, 255, 255])
        picture.save(content, "PNG", transparency=0)
    else:
        pillow.merge("RGBA", [picture.point(lambda _: 255)] * 3 + [picture.point(lambda value: 255 * value)]).save(
            content, "PNG"
        )
    packed = b64encode(zlib.compress(content.getvalue())).decode()
    return {"classTitle": "cat", "geometryType": "bitmap", "bitmap": {"data": packed, "origin": list(at)}}


@pytest.mark.parametrize("kind", ["palette", "transparency"])
def test_bitmaps_are_masks(kind: str, tmp_path: Path) -> None:
    pixels = np.array([[1, 0, 0], [1, 1, 0]])
    truth = apf.read_dataset(written(tmp_path, {"ann/a.json": image(bitmap(pixels, (5, 3), kind))}))
    assert truth.annotations.select("x", "y", "width", "height", "area").rows() == [(5, 3, 2, 2, 3)]
    expected = np.zeros((48, 64))
    expected[3:5, 5:8] = pixels
    assert np.array_equal(mask.decode(json.loads(truth.annotations["mask"][0])), expected)
    with pytest.warns(ShapesLeftOutWarning, match="1 mask without pixels"):
        apf.read_dataset(written(tmp_path / "empty", {"ann/a.json": image(bitmap(0 * pixels, (5, 3), kind))}))


BAD = {
    "no corner": (
        {"ann/a.json": image({"classTitle": "cat", "geometryType": "bitmap", "bitmap": {"origin": [0, math.inf]}})},
        r"the corner of .*a\.json: object 1 is not a list of two finite numbers; correct it",
    ),
    "bitmap": (
        {"ann/a.json": image({"classTitle": "cat", "geometryType": "bitmap", "bitmap": {"data": "eJw=", "origin": [0, 0]}})},
        r"the mask of .*a\.json: object 1 is not a PNG in base64 \(.*\); correct it",
    ),
    "no class": ({"ann/a.jpg.json": image(drawn("rectangle", CORNERS, title=""))}, r"a\.jpg\.json: object 1 has no label"),
    "no objects": ({"ann/a.json": "{}"}, r"a\.json: no list of objects named objects; is it Supervisely's\?"),
    "meta": ({"ann/a.json": image(), "meta.json": "{}"}, r"meta\.json: no list named classes with a title each"),
    "nothing": ({"a.txt": ""}, "has no folder ann, and neither do its subfolders"),
}


@pytest.mark.parametrize(("files", "message"), BAD.values(), ids=BAD)
def test_what_cannot_be_right_is_named(files: dict[str, str], message: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=message):
        apf.read_dataset(written(tmp_path, {**files}), "supervisely")
