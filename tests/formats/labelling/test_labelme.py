"""labelme's JSON: shapes as boxes and masks, results with scores, and files that cannot be right."""

from __future__ import annotations

import json
import math
from base64 import b64encode
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import apframe as apf
from apframe.exceptions import FormatError, InvalidRowsWarning, ShapesLeftOutWarning
from apframe.pycocotools import mask
from tests.formats.folders import written

BOX = ["x", "y", "width", "height"]


def image(*shapes: dict[str, Any], name: str = "..\\\\images\\\\a.jpg") -> str:
    """A file as labelme saves it."""
    head = {"version": "5.4.1", "flags": {}, "shapes": shapes, "imagePath": name.replace("\\\\", "\\")}
    return json.dumps(head | {"imageData": None, "imageHeight": 48, "imageWidth": 64}, indent=2)


def shape(kind: str, points: Any, label: Any = "cat", **more: Any) -> dict[str, Any]:
    return {"label": label, "points": points, "group_id": None, "shape_type": kind, "flags": {}} | more


CORNERS, TRIANGLE = [[4, 6], [1, 2]], [[10, 10], [20, 10], [10, 30.5]]


def test_rectangles_are_boxes_and_polygons_masks(tmp_path: Path) -> None:
    files = {
        "a.json": image(shape("rectangle", CORNERS), shape("polygon", TRIANGLE, "dog", group_id=3)),
        "b.json": image(name="b.jpg"),
    }
    truth = apf.read_dataset(written(tmp_path, files))
    assert truth.images.select("image_id", "file_name", "image_width", "image_height").rows() == [
        ("a", "a.jpg", 64, 48), ("b", "b.jpg", 64, 48),
    ]  # fmt: skip
    assert truth.categories["name"].to_list() == ["cat", "dog"]
    assert truth.annotations.select("image_id", "category_id", *BOX, "area", "group_id").rows() == [
        ("a", "cat", 1, 2, 3, 4, 12, None), ("a", "dog", 10, 10, 10, 20.5, 102.5, 3),
    ]  # fmt: skip
    assert truth.annotations["mask"].to_list() == [None, "[[10.0,10.0,20.0,10.0,10.0,30.5]]"]
    assert apf.read_dataset(tmp_path / "a.json").annotations.height == 2


ORDERS = {
    "by name": ["flags", "imageData", "imageHeight", "imagePath", "imageWidth", "shapes", "version"],
    "the image first": ["imageData", "imagePath", "version", "flags", "shapes", "imageHeight", "imageWidth"],
    "as labelme writes them": ["version", "flags", "shapes", "imagePath", "imageData", "imageHeight", "imageWidth"],
}


@pytest.mark.slow
@pytest.mark.parametrize("n_shapes", [1, 2000])
@pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS)
def test_shapes_may_stand_behind_the_image(order: list[str], n_shapes: int, tmp_path: Path) -> None:
    """Image and shapes each fill more than the 64 kB that are looked at."""
    shapes = [shape("rectangle", CORNERS, score=0.5)] * n_shapes
    content = json.loads(image(*shapes)) | {"imageData": "iVBOR" * 50_000}
    folder = written(tmp_path, {"a.json": json.dumps({key: content[key] for key in order})})
    for path in (folder, folder / "a.json"):
        assert apf.read_dataset(path).annotations["width"].to_list() == [3] * n_shapes
        assert apf.read_results(path)["score"].to_list() == [0.5] * n_shapes


def test_a_turned_rectangle_has_a_box_around_it_and_its_area(tmp_path: Path) -> None:
    turned = shape("rotation", [[32, 4], [40, 10], [34, 18], [26, 12]])  # 10 x 10, by 3 in 4
    row = apf.read_dataset(written(tmp_path, {"a.json": image(turned)})).annotations
    assert row.select(*BOX, "area").row(0) == (26, 4, 14, 14, 100)


@pytest.mark.slow
def test_unreadable_shapes_are_counted_listed_or_left_out(tmp_path: Path) -> None:
    right, point, nameless = shape("rectangle", CORNERS), shape("rectangle", [[1]]), shape("rectangle", CORNERS, None)
    truth = written(tmp_path, {"a.json": image(right, point, nameless, point), "b.json": image(name="b.jpg")})
    with pytest.raises(FormatError, match=r"a\.json: shape 2 are not .*, and so in 1 more object; .* shape 3 has no label\)$"):
        apf.read_dataset(truth)
    assert apf.check(truth).filter(severity="error").select("rows", "problem").rows() == [
        (["a.json: shape 2", "a.json: shape 4"], "2 of 4 annotations: the points of an object are not lists of two numbers"),
        (["a.json: shape 3"], "1 of 4 annotations: an object has no label"),
    ]
    with pytest.warns(InvalidRowsWarning, match=r"1 annotation \(an object has no label: a\.json: shape 3\)$"):
        assert apf.evaluate(truth, {}, invalid="drop").dataset.annotations.height == 1


def test_shapes_with_scores_are_results(tmp_path: Path) -> None:
    truth = written(tmp_path / "truth", {"a.json": image(shape("rectangle", CORNERS)), "b.json": image(name="b.jpg")})
    detections = written(
        tmp_path / "found", {"a.json": image(), "b.json": image(shape("rectangle", CORNERS, score=0.5), name="b.jpg")}
    )
    ev = apf.evaluate(truth, detections)
    assert dict(ev.matches(0.5, area_range="all")["outcome"].value_counts().rows()) == {"fp": 1, "fn": 1}
    with pytest.raises(FormatError, match="looks like a data set of labelme, but results are needed here"):
        apf.read_results(truth)


def test_other_shapes_are_left_out_and_counted(tmp_path: Path) -> None:
    folder = written(
        tmp_path, {"a.json": image(shape("circle", CORNERS), shape("point", [[1, 2]]), shape("rectangle", CORNERS))}
    )
    with pytest.warns(ShapesLeftOutWarning, match="1 circle, 1 point"):
        assert apf.read_dataset(folder).annotations.height == 1


def bitmap(*rows: str, at: tuple[float, float], **more: Any) -> dict[str, Any]:
    """A mask as labelme saves it: a PNG of what is inside of two corners."""
    pillow = pytest.importorskip("PIL.Image")
    content = BytesIO()
    pillow.fromarray(np.array([[mark == "#" for mark in row] for row in rows]).astype(np.uint8)).save(content, "PNG")
    corners = [list(at), [at[0] + len(rows[0]) - 1, at[1] + len(rows) - 1]]
    return shape("mask", corners, mask=b64encode(content.getvalue()).decode(), **more)


@pytest.mark.parametrize("corner", [(0, 0), (10, 20), (61, 46)], ids=["at the start", "in the middle", "at the end"])
def test_masks_of_pixels_are_masks(corner: tuple[int, int], tmp_path: Path) -> None:
    drawn = ["#..", "##."] if corner[0] else ["###", "###"]
    shapes = bitmap(*drawn, at=corner), shape("rectangle", CORNERS)
    truth = apf.read_dataset(written(tmp_path, {"a.json": image(*shapes)}))
    (left, top), sides = corner, (2, 2) if corner[0] else (3, 2)
    assert truth.annotations.select(*BOX, "area").rows() == [(left, top, *sides, 3 if corner[0] else 6), (1, 2, 3, 4, 12)]
    expected = np.zeros((48, 64), dtype=np.uint8)
    expected[top : top + 2, left : left + 3] = [[mark == "#" for mark in row] for row in drawn]
    encoded = json.loads(truth.annotations["mask"][0])
    assert np.array_equal(mask.decode(encoded), expected)
    assert truth.annotations["mask"][1] is None


def test_masks_without_pixels_are_left_out(tmp_path: Path) -> None:
    with pytest.warns(ShapesLeftOutWarning, match="1 mask without pixels"):
        assert apf.read_dataset(written(tmp_path, {"a.json": image(bitmap("..", at=(1, 1)))})).annotations.is_empty()


BAD_MASKS = {
    "no text": ({"mask": None}, "the mask of .*a.json: shape 1 is not a PNG in base64"),
    "no base64": ({"mask": "#"}, "the mask of .*a.json: shape 1 is not a PNG in base64"),
    "no picture": ({"mask": "aGVsbG8="}, "the mask of .*a.json: shape 1 is not a PNG in base64"),
    "beyond the image": ({"points": [[63, 0], [64, 0]]}, "the mask of .*a.json: shape 1 is not inside the image of 64 x 48"),
    "no points": ({"points": []}, "the corner of .*a.json: shape 1 is not a list of two finite numbers; correct it"),
    "no number": ({"points": [[math.nan, 0]]}, "the corner of .*a.json: shape 1 is not a list of two finite numbers"),
    "infinity": ({"points": [[0, math.inf]]}, "the corner of .*a.json: shape 1 is not a list of two finite numbers"),
    "no label": ({"label": ""}, "a.json: shape 1 has no label"),
}


@pytest.mark.parametrize(("change", "message"), BAD_MASKS.values(), ids=BAD_MASKS)
def test_masks_that_cannot_be_right_are_named(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=message):
        apf.read_dataset(written(tmp_path, {"a.json": image(bitmap("##", at=(1, 1)) | change)}))


def test_masks_need_the_size_of_the_image(tmp_path: Path) -> None:
    text = image(bitmap("##", at=(1, 1))).replace('"imageWidth": 64', '"imageWidth": null')
    with pytest.raises(FormatError, match="shape 1 is a mask, which needs the width and height of its image; give both"):
        apf.read_dataset(written(tmp_path, {"a.json": text}))


def test_an_image_without_shapes_is_one_without_objects(tmp_path: Path) -> None:
    truth = apf.read_dataset(written(tmp_path, {"a.json": image()}))
    assert (truth.images.height, truth.categories.height, truth.annotations.height) == (1, 0, 0)


BAD = {
    "no label": (image(shape("rectangle", CORNERS, None)), r"a\.json: shape 1 has no label; give it one$"),
    "one corner": (image(shape("rectangle", CORNERS[:1])), r"shape 1 has 1 points; a box has two corners, a polygon three"),
    "two points": (image(shape("polygon", CORNERS)), r"shape 1 has 2 points"),
    "texts": (
        image(shape("polygon", [["a", 1]] * 3)),
        r"the points of .*a\.json: shape 1 are not lists of two numbers",
    ),
    "beyond floats": (image(shape("rectangle", [[10**400, 0], [1, 1]])), "shape 1 are not lists of two numbers; correct it"),
    "no shapes": ("{}", r"a\.json: no list of objects named shapes; is it from labelme\?"),
    "cut": (image()[:40], r"not JSON, or cut off"),
}


@pytest.mark.parametrize(("text", "message"), BAD.values(), ids=BAD)
def test_what_cannot_be_right_is_named(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=message):
        apf.read_dataset(written(tmp_path, {"a.json": text}), "labelme")


def test_a_folder_without_files_is_told(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="holds no JSON file"):
        apf.read_dataset(tmp_path, "labelme")
