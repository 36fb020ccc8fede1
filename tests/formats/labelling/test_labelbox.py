"""Labelbox's exports of two versions, and files that cannot be right."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import apframe as apf
from apframe.exceptions import FormatError, ShapesLeftOutWarning

BOX = ["x", "y", "width", "height"]
SIDES = {"left": 1.0, "top": 2.0, "width": 3.0, "height": 4.0}
POLYGON = [{"x": 10, "y": 10}, {"x": 20, "y": 10}, {"x": 10, "y": 30}]


def row(key: str, name: str, *labels: Any) -> dict[str, Any]:
    """A line of the export of today."""
    of_project = [{"label_kind": "Default", "annotations": {"objects": objects, "classifications": []}} for objects in labels]
    return {
        "data_row": {"id": key, "external_id": name, "row_data": f"https://storage/{name}"},
        "media_attributes": {"height": 48, "width": 64, "mime_type": "image/jpeg"},
        "projects": {"p1": {"name": "street", "labels": of_project}},
    }


def drawn(name: Any, **shape: Any) -> dict[str, Any]:
    return {"feature_id": "f", "name": name, "value": name, "annotation_kind": "ImageBoundingBox", **shape}


NEW = [row("r1", "val/a.jpg", [drawn("cat", bounding_box=SIDES), drawn("dog", polygon=POLYGON)]), row("r2", "b.jpg")]
OLD = [
    {
        "ID": "r1", "External ID": "val/a.jpg", "Labeled Data": "https://storage/a.jpg",
        "Media Attributes": {"height": 48, "width": 64},
        "Label": {"objects": [{"title": "cat", "value": "cat", "bbox": SIDES}, {"title": "dog", "polygon": POLYGON}]},
    },
    {"ID": "r2", "External ID": "b.jpg", "Labeled Data": "https://storage/b.jpg", "Label": {}},
]  # fmt: skip
FILES = {
    "new.ndjson": "\n".join(map(json.dumps, NEW)) + "\n", "list.json": json.dumps(NEW, indent=1), "old.json": json.dumps(OLD),
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_exports_of_today_and_of_the_first_version(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(FILES[name])
    truth = apf.read_dataset(tmp_path / name)
    assert truth.images.select("image_id", "file_name").rows() == [("a", "a.jpg"), ("b", "b.jpg")]
    assert truth.images.select("image_width", "image_height").row(0) == (64, 48)
    assert truth.annotations.select("image_id", "category_id", *BOX, "area").rows() == [
        ("a", "cat", 1, 2, 3, 4, 12), ("a", "dog", 10, 10, 10, 20, 100),
    ]  # fmt: skip


def test_an_export_with_long_embeddings_is_recognised(tmp_path: Path) -> None:
    """They stand before the projects, which are then beyond the 64 kB that are looked at."""
    objects = [drawn("cat", bounding_box=SIDES)] * 700
    first = row("r1", "a.jpg", objects)
    first["embeddings"] = [{"name": "clip", "values": [0.123456789] * 8000}]
    projects = first.pop("projects")
    (tmp_path / "a.ndjson").write_text(json.dumps(first | {"projects": projects}))
    assert apf.read_dataset(tmp_path / "a.ndjson").annotations.height == 700


def test_images_of_one_name_are_called_by_their_data_rows(tmp_path: Path) -> None:
    (tmp_path / "a.ndjson").write_text("\n".join(json.dumps(row(key, f"{key}/a.jpg")) for key in ("r1", "r2")))
    assert apf.read_dataset(tmp_path / "a.ndjson").images["image_id"].to_list() == ["r1", "r2"]


def test_other_shapes_and_labels_are_left_out_and_counted(tmp_path: Path) -> None:
    mask = drawn("cat", annotation_kind="ImageSegmentationMask", mask={"url": "https://"})
    (tmp_path / "a.ndjson").write_text(json.dumps(row("r1", "a.jpg", [mask, drawn("cat", bounding_box=SIDES)], [mask])))
    with pytest.warns(ShapesLeftOutWarning, match="1 ImageSegmentationMask, 1 further labels of an image"):
        assert apf.read_dataset(tmp_path / "a.ndjson").annotations.height == 1


BAD = {
    "no name": (row("r1", "a.jpg", [drawn(None, bounding_box=SIDES)]), r"object 1 of data row r1 has no label"),
    "no side": (
        row("r1", "a.jpg", [drawn("cat", bounding_box={"left": 1})]),
        r"the box of .* lacks one of the numbers left, top, width, height",
    ),
    "no points": (row("r1", "a.jpg", [drawn("cat", polygon=[1])]), r"the polygon of .* is not a list of points"),
    "a null object": (
        row("r1", "a.jpg", [drawn("cat", bounding_box=SIDES), None]), "object 2 of data row r1 is not a JSON object",
    ),
    "no list of objects": (row("r1", "a.jpg", None), "objects of data row r1 is not a list"),
    "null in the first version": (
        {"ID": "r1", "Labeled Data": "a", "Label": {"objects": [None]}}, "object 1 of data row r1 is not a JSON object",
    ),
    "another file": ({"a": 1}, r"not all rows have a data_row or a Label; is it an export from Labelbox\?"),
}  # fmt: skip


@pytest.mark.parametrize(("line", "message"), BAD.values(), ids=BAD)
def test_what_cannot_be_right_is_named(line: dict[str, Any], message: str, tmp_path: Path) -> None:
    (tmp_path / "a.ndjson").write_text(json.dumps(line))
    with pytest.raises(FormatError, match=message):
        apf.read_dataset(tmp_path / "a.ndjson", "labelbox")


def test_there_are_no_results(tmp_path: Path) -> None:
    (tmp_path / "a.ndjson").write_text(FILES["new.ndjson"])
    with pytest.raises(FormatError, match="Labelbox JSON has no results; name the format of the results"):
        apf.read_results(tmp_path / "a.ndjson", "labelbox")


@pytest.mark.parametrize(
    ("odd", "message"),
    [
        ({"projects": 5}, "projects of data row r1 is not an object"),
        ({"projects": {"p1": {"labels": 5}}}, "labels of data row r1 is not a list"),
        ({"projects": {"p1": {"labels": [{"annotations": 5}]}}}, "annotations of data row r1 is not an object"),
        ({"projects": {"p1": {"labels": [{"annotations": {"objects": 5}}]}}}, "objects of data row r1 is not a list"),
    ],
)
def test_numbers_where_there_are_lists(odd: dict[str, Any], message: str, tmp_path: Path) -> None:
    (tmp_path / "a.ndjson").write_text(json.dumps(row("r1", "a.jpg") | odd))
    with pytest.raises(FormatError, match=f"{message}; correct it"):
        apf.read_dataset(tmp_path / "a.ndjson")
