"""Attributes from a table of their own: joined by id or name, what does not match is counted, and nothing is overwritten."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import apframe as apf
from apframe.exceptions import (
    ApframeError,
    ColumnError,
    DuplicateIdError,
    ParameterError,
    RowError,
    UnknownIdError,
    UnmatchedAttributesWarning,
)

BOX = {"x": [0, 0, 0], "y": [0, 0, 0], "width": [9, 9, 9], "height": [9, 9, 9]}
IMAGES = {
    "image_id": [1, 2, 3],
    "file_name": ["val/a.jpg", "val/b.jpg", "val/c.jpg"],
    "camera": ["front", None, None],
}  # fmt: skip
TRUTH = apf.Dataset(IMAGES, {"category_id": [1]}, {"image_id": [1, 2, 3], "category_id": [1, 1, 1], **BOX})
FOUND = {"image_id": [1, 2], "category_id": [1, 1], "score": [0.9, 0.8], **{name: side[:2] for name, side in BOX.items()}}


def joined(attributes: dict[str, list[Any]], column: str, on: str | None = None) -> list[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnmatchedAttributesWarning)
        return TRUTH.with_images(attributes, on).images[column].to_list()


@pytest.mark.parametrize("key", [
    {"image_id": [3, 1, 2]},
    {"image_id": ["3", "1", "2"]},
    {"image_id": [3.0, 1.0, 2.0]},
    {"file_name": ["val/c.jpg", "val/a.jpg", "val/b.jpg"]},
    {"file_name": ["c.jpg", "a.jpg", "b.jpg"]},
    {"file_name": ["c", "a", "b"]},
    {"file_name": ["/data/c.png", "/data/a.png", "/data/b.png"]},
    {"file_name": ["nothing"] * 3, "image_id": [3, 1, 2]},  # ids come first
])  # fmt: skip
def test_join_by_id_or_name(key: dict[str, list[Any]]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        images = TRUTH.with_images(key | {"weather": ["sun", "fog", None], "tags": [["x", "y"], [], None]}).images
    assert images.select("image_id", "weather", "tags").rows() == [(1, "fog", []), (2, None, None), (3, "sun", ["x", "y"])]
    assert images.columns == [*TRUTH.images.columns, "weather", "tags"]
    assert "weather" not in TRUTH.images.columns


def test_rows_as_dicts() -> None:
    rows = [{"image_id": 1, "n": 1}, {"image_id": 3, "tags": ["a"]}, {"image_id": 2}]
    assert TRUTH.with_images(rows).images.select("n", "tags").rows() == [(1, None), (None, None), (None, ["a"])]
    for wrong in (["a"], [{"image_id": 1}, 3]):
        with pytest.raises(ColumnError, match=r"^image attributes: "):
            TRUTH.with_images(wrong)


def test_which_column_to_join_by() -> None:
    both = {"image_id": [2], "file_name": ["a.jpg"], "n": [7]}
    assert joined(both, "n") == joined(both, "n", "image_id") == [None, 7, None]
    assert joined(both, "n", "file_name") == [7, None, None]


def test_what_does_not_match_is_counted() -> None:
    with pytest.warns(UnmatchedAttributesWarning) as caught:
        assert TRUTH.with_images({"file_name": ["a", "x", "y"], "n": [1, 2, 3]}).images["n"].to_list() == [1, None, None]
    assert str(caught[0].message) == (
        "image attributes: 2 of 3 rows match no image and were left out ('x', 'y'); "
        "2 of 3 images have no row: their attributes are null"
    )


def test_columns_that_are_there_are_filled_and_not_replaced() -> None:
    assert joined({"image_id": [1, 2], "camera": ["front", "back"]}, "camera") == ["front", "back", None]
    assert joined({"image_id": [2], "image_width": [640]}, "image_width") == [None, 640, None]
    for other in ("back", 7):
        with pytest.raises(RowError, match=r"^images: column camera already exists with other values for"):
            TRUTH.with_images({"image_id": [1], "camera": [other]})


def test_any_name() -> None:
    names = {"*": [1, 2, 3], "^i.*$": [4, 5, 6]}
    images = TRUTH.with_images({"image_id": [1, 2, 3], **names}).images
    assert {name: images[name].to_list() for name in names} == names


def test_verified_categories_may_come_from_a_table() -> None:
    lists = {"image_id": [1, 2, 3], "neg_category_ids": [[1], [], None]}
    assert TRUTH.with_images(lists).images["neg_category_ids"].to_list() == [[1], [], []]
    with pytest.raises(UnknownIdError, match="neg_category_ids has ids that are not among the categories"):
        TRUTH.with_images({"image_id": [1, 2, 3], "neg_category_ids": [[8], [], []]})


WRONG: dict[str, tuple[dict[str, list[Any]], type[ApframeError], str]] = {
    "an id twice": ({"image_id": [1, 1], "n": [1, 2]}, DuplicateIdError, "image_id is not unique for image_id 1; "),
    "a file twice": (
        {"file_name": ["a.jpg", "val/a.jpg", "b.jpg"], "n": [1, 2, 3]}, DuplicateIdError,
        "several rows are for the same image for file_name 'a.jpg', 'val/a.jpg'; keep one of these rows"),
    "names as ids": (
        {"image_id": ["a.jpg"], "n": [1]}, UnknownIdError, "unknown: 'a.jpg'; .* put file names in a column file_name"),
    "names of other files": ({"file_name": ["x"], "n": [1]}, UnknownIdError, "unknown: 'x'; the images are called 'val/a.jpg'"),
    "no key": ({"filename": ["a"], "n": [1]}, ColumnError, "no column image_id or file_name .*did you mean filename"),
    "nothing like a key": ({"n": [1]}, ColumnError, "no column image_id or file_name to join by; there are n$"),
    "no attribute": ({"image_id": [1]}, ColumnError, "no column beside image_id; add the attributes as further columns"),
    "no name": ({"file_name": ["a", None], "n": [1, 2]}, RowError, "file_name is missing for row 2"),
}  # fmt: skip


@pytest.mark.parametrize(("attributes", "error", "message"), WRONG.values(), ids=WRONG)
def test_what_cannot_be_joined(attributes: dict[str, list[Any]], error: type[ApframeError], message: str) -> None:
    with pytest.raises(error, match=f"^image attributes: .*{message}"):
        TRUTH.with_images(attributes)


def test_a_name_that_several_images_have() -> None:
    truth = apf.Dataset({"image_id": [1, 2], "file_name": ["train/a.jpg", "val/a.jpg"]}, {"category_id": [1]}, {})
    with pytest.raises(RowError, match=r"several images have this name for file_name 'a\.jpg'; give names"):
        truth.with_images({"file_name": ["a.jpg"], "n": [1]})
    names = {"file_name": ["train/a.jpg", "val/a.jpg"], "n": [1, 2]}
    assert truth.with_images(names).images["n"].to_list() == [1, 2]


def test_on_is_one_of_two() -> None:
    with pytest.raises(ParameterError, match=r"^on is image_id or file_name, not 'filename'; did you mean file_name"):
        TRUTH.with_images({"image_id": [1], "n": [1]}, on="filename")
    with pytest.raises(ColumnError, match="no column file_name to join by"):
        TRUTH.with_images({"image_id": [1], "n": [1]}, on="file_name")


# ---- annotations


def test_attributes_of_annotations(tmp_path: Path) -> None:
    path = tmp_path / "truth.json"
    boxes = [
        {
            "id": key,
            "image_id": 1,
            "category_id": 1,
            "bbox": [0, 0, 9, 9],
            "segmentation": [[0, 0, 9, 0, 9, 9]],
            "note": {"n": key},
        }
        for key in (5, 6)
    ]
    path.write_text(json.dumps({"images": [{"id": 1}], "categories": [{"id": 1, "name": "cat"}], "annotations": boxes}))
    truth = apf.read_coco(path).with_annotations({"annotation_id": [6, 5], "occlusion": [0.6, 0.5]})
    assert truth.annotations.select("annotation_id", "occlusion", "note").rows() == [(5, 0.5, '{"n": 5}'), (6, 0.6, '{"n": 6}')]
    assert truth.json_columns == {("annotations", "note")}
    with pytest.raises(ColumnError, match="annotation attributes: no column annotation_id to join by"):
        truth.with_annotations({"id": [5], "occlusion": [0.6]})
    with pytest.raises(RowError, match="annotations: column area already exists with other values"):
        truth.with_annotations({"annotation_id": [5], "area": [7]})


# ---- in evaluate, Evaluator and the command


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "attributes.csv"
    path.write_text("file_name,weather\na.jpg,fog\nb.jpg,sun\nc.jpg,fog\n")
    return path


@pytest.mark.slow
def test_evaluate_and_evaluator_take_them(table: Path) -> None:
    expected = apf.evaluate(TRUTH.with_images(table), FOUND).by("weather")
    assert expected.select("weather", "n_images", pl.col("AR100").round(3)).rows() == [("fog", 2, 0.5), ("sun", 1, 1.0)]
    assert apf.evaluate(TRUTH, FOUND, image_attributes=table).by("weather").equals(expected)
    assert apf.evaluate(TRUTH, FOUND, image_attributes=pl.read_csv(table)).by("weather").equals(expected)
    evaluator = apf.Evaluator(TRUTH, image_attributes=str(table))
    evaluator.update(FOUND)
    assert evaluator.compute().by("weather").equals(expected)


@pytest.mark.slow
def test_lists_of_texts_in_coco_are_slices(tmp_path: Path) -> None:
    truth = json.loads((Path(__file__).parents[2] / "data" / "street" / "instances.json").read_text())
    for image in truth["images"]:
        image["tags"] = [image["weather"], image["time_of_day"]]
    path = tmp_path / "truth.json"
    path.write_text(json.dumps(truth))
    ev = apf.evaluate(path, Path(__file__).parents[2] / "data" / "street" / "model_a.json")
    ev.write_parquet(tmp_path / "run")
    for each in (ev, apf.read_evaluation(tmp_path / "run")):
        by = pl.concat([each.by(key).rename({key: "tags"}) for key in ("weather", "time_of_day")]).sort("tags")
        assert each.by("tags").equals(by)
    apf.write_coco(ev.dataset, tmp_path / "again.json")
    assert json.loads((tmp_path / "again.json").read_text())["images"] == truth["images"]
