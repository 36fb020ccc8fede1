"""Corrected images, put back into the data set that they are from: found by name, and nothing else changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import apframe as apf
from apframe.exceptions import ColumnError, DuplicateIdError, InputError, RowError, UnknownIdError
from tests.evaluation.diagnose.test_errors import STREET

FORMATS = {"coco": "tasks.json", "cvat": "tasks.xml", "label_studio": "tasks.json"}
NAMES = ["<img onerror=alert(1)>.jpg", 'it\'s "one".jpg', "Straße über.jpg", "a b/c d.jpg", "plain.jpg"]
IDS = ["annotation_id", "image_id", "category_id"]


def truth(**columns: Any) -> apf.Dataset:
    """Five images with odd names, the first with two cats, the others with one."""
    images = {"image_id": [10, 11, 12, 13, 14], "file_name": NAMES, "image_width": [100] * 5, "image_height": [80] * 5}
    categories = {"category_id": [3, 5], "name": ["cat", "dog & <b>"]}
    box = {"x": [1.0, 30.0, 2.0, 3.0, 4.0, 5.0], "y": [1.0] * 6, "width": [20.5] * 6, "height": [10.25] * 6}
    ids = {"annotation_id": [100, 101, 102, 103, 104, 105], "image_id": [10, 10, 11, 12, 13, 14], "category_id": [3] * 6}
    return apf.Dataset(images, categories, {**ids, **box, **columns})


def corrections(**columns: Any) -> apf.Dataset:
    """One image with one dog, as a tool might give it: other ids, and attributes of its own."""
    images = {"image_id": [0], "file_name": [columns.pop("file_name", NAMES[0])]}
    category = columns.pop("category", "dog & <b>")
    categories = {"category_id": [category], "name": [category]}
    box = {"x": [1.01], "y": [1.0], "width": [20.49], "height": [10.25]}
    return apf.Dataset(images, categories, {"image_id": [0], "category_id": [category], "source": ["manual"], **box, **columns})


@pytest.mark.slow
@pytest.mark.parametrize("format_", FORMATS)
def test_nothing_changes_if_nothing_was_corrected(format_: str, tmp_path: Path) -> None:
    whole = apf.read_dataset(STREET / "instances.json")
    part = whole.where(whole.images["image_id"].head(60).to_list())
    assert part.annotations["is_crowd"].any()
    apf.write_dataset(part, tmp_path / FORMATS[format_], format_)
    again = apf.correct(STREET / "instances.json", tmp_path / FORMATS[format_])
    assert_frame_equal(again.annotations.sort("annotation_id"), whole.annotations)
    assert_frame_equal(again.images, whole.images)
    assert_frame_equal(again.categories, whole.categories)


@pytest.mark.parametrize("format_", FORMATS)
def test_odd_names_come_back(format_: str, tmp_path: Path) -> None:
    whole = truth(ignore=[True] + [False] * 5, note=["<b>", None, "ü", '"', "'", " "])
    apf.write_dataset(whole, tmp_path / FORMATS[format_], format_)
    again = apf.correct(whole, tmp_path / FORMATS[format_])
    assert_frame_equal(again.annotations, whole.annotations)


def test_what_the_file_does_not_say_stays() -> None:
    square = [[1.0, 1.0, 21.5, 1.0, 21.5, 11.25, 1.0, 11.25]]
    whole = truth(mask=[square] * 6, area=[50.0] * 6, is_crowd=[True] * 6, occlusion=[0.5] * 6)
    again = apf.correct(whole, corrections()).annotations
    row = again.filter(image_id=10).row(0, named=True)
    kept = whole.annotations.row(0, named=True)
    assert row == kept | {"category_id": 5}
    assert_frame_equal(again.filter(pl.col("image_id") != 10), whole.annotations.filter(pl.col("image_id") != 10))


def test_what_the_file_says_counts() -> None:
    triangle = [[1.0, 1.0, 21.5, 1.0, 21.5, 11.25]]
    whole = truth(mask=[[[1.0, 1.0, 21.5, 1.0, 21.5, 11.25, 1.0, 11.25]]] * 6, area=[210.0] * 6, note=["old"] * 6)
    again = apf.correct(whole, corrections(mask=[triangle], area=[105.0], note=["new"], is_crowd=[True])).annotations
    row = again.filter(image_id=10).row(0, named=True)
    assert (row["annotation_id"], row["mask"], row["area"], row["note"], row["is_crowd"]) == (100, triangle, 105.0, "new", True)
    assert again.columns == whole.annotations.columns  # and no `source`


def test_a_box_that_moved_is_new() -> None:
    again = apf.correct(truth(is_crowd=[True] * 6), corrections(x=[1.03]))
    assert again.annotations.filter(image_id=10).select(*IDS, "x", "is_crowd").rows() == [(106, 10, 5, 1.03, False)]


def test_equal_boxes_stay_apart() -> None:
    whole = truth(x=[1.0, 1.0, 2.0, 3.0, 4.0, 5.0], category_id=[3, 5, 3, 3, 3, 3])
    both = apf.Dataset(
        {"image_id": [0], "file_name": NAMES[:1]},
        {"category_id": ["dog & <b>", "cat"]},
        whole.annotations.head(2).reverse().with_columns(image_id=0, category_id=pl.Series(["dog & <b>", "cat"])),
    )
    assert_frame_equal(apf.correct(whole, both).annotations.sort("annotation_id"), whole.annotations)


def fixed_like(whole: apf.Dataset, n: int, names: list[str]) -> apf.Dataset:
    """The first annotations as a tool might return them, of categories that are called so."""
    rows = whole.annotations.head(n).select("x", "y", "width", "height").with_columns(image_id=0, category_id=pl.Series(names))
    return apf.Dataset({"image_id": [0], "file_name": NAMES[:1]}, {"category_id": sorted({*names})}, rows)


def test_equal_boxes_of_a_category_keep_their_ids() -> None:
    whole = truth(image_id=[10] * 4 + [13, 14], x=[1.0, 1.0, 1.0, 3.0, 4.0, 5.0], note=["a", "b", "c", "d", "e", "f"])
    again = apf.correct(whole, fixed_like(whole, 4, ["cat"] * 4)).annotations
    assert_frame_equal(again.sort("annotation_id"), whole.annotations)
    fewer = apf.correct(whole, fixed_like(whole, 2, ["cat"] * 2)).annotations
    assert fewer.filter(image_id=10)["annotation_id"].to_list() == [100, 101]


def test_one_of_two_equal_boxes_changes_its_category() -> None:
    ids, note = [3, 5, 3, 3, 3, 3], ["a", "b", "c", "d", "e", "f"]
    whole = truth(x=[1.0, 1.0, 2.0, 3.0, 4.0, 5.0], category_id=ids, note=note)
    for names in (["cat", "cat"], ["dog & <b>", "dog & <b>"]):
        again = apf.correct(whole, fixed_like(whole, 2, names)).annotations
        category = 3 if names[0] == "cat" else 5
        assert again.filter(image_id=10).sort("annotation_id").select("annotation_id", "category_id", "note").rows() == [
            (100, category, "a"),
            (101, category, "b"),
        ]


def test_without_boxes_all_annotations_are_new() -> None:
    square = [[1.0, 1.0, 21.5, 1.0, 21.5, 11.25, 1.0, 11.25]]
    rows = {"annotation_id": [5, 6], "image_id": [1, 2], "category_id": [1, 1], "mask": [square] * 2}
    whole = apf.Dataset({"image_id": [1, 2]}, {"category_id": [1], "name": ["cat"]}, rows)
    again = apf.correct(whole, whole.of_images(pl.Series([True, False]))).annotations
    assert again.select("annotation_id", "image_id", "mask").rows() == [(6, 2, square), (7, 1, square)]


def test_an_image_without_annotations_loses_its_own() -> None:
    empty = apf.Dataset({"image_id": [3], "file_name": ["plain"]}, {"category_id": ["cat"]}, {})
    assert apf.correct(truth(), empty).annotations["annotation_id"].to_list() == [100, 101, 102, 103, 104]


def test_text_ids_and_images_without_names() -> None:
    box = {"x": [1.0, 1.0], "y": [1.0, 1.0], "width": [9.0, 9.0], "height": [9.0, 9.0]}
    ids = {"annotation_id": ["p", "new-4"], "image_id": ["a", "b"], "category_id": ["cat", "cat"]}
    whole = apf.Dataset({"image_id": ["a", "b"]}, {"category_id": ["cat"]}, {**ids, **box})
    part = apf.Dataset({"image_id": ["a"]}, {"category_id": ["cat"]}, whole.annotations.head(1).with_columns(x=50.0))
    assert apf.correct(whole, part).annotations.select(*IDS).rows() == [("new-4", "b", "cat"), ("new-5", "a", "cat")]


def test_a_turned_box_becomes_upright_where_none_is_turned() -> None:
    again = apf.correct(truth(), corrections(angle=[1.5707963267948966], x=[40.0]))
    row = again.annotations.filter(image_id=10)
    assert row["width"].item() == pytest.approx(10.25)
    assert "angle" not in row.columns


@pytest.mark.parametrize("name", ["original_file_name", "file_name"])
def test_names_that_a_tool_changed(name: str) -> None:
    renamed = corrections(file_name="1a2b3c4d-upload.jpg")
    fixed = renamed.with_images_changed(lambda images: images.with_columns(pl.lit(NAMES[3]).alias(name)))
    assert apf.correct(truth(), fixed).annotations.filter(image_id=13)["category_id"].to_list() == [5]


def test_images_that_are_left_out_stay_so() -> None:
    part = truth().of_images(pl.Series([False, True, True, True, True]))
    assert_frame_equal(apf.correct(part, corrections()).annotations, part.annotations)


def named_twice() -> apf.Dataset:
    return apf.Dataset({"image_id": [0, 1], "file_name": [NAMES[0], NAMES[0]]}, {"category_id": ["cat"]}, {})


@pytest.mark.parametrize(
    ("fixed", "error", "message"),
    [
        (corrections(file_name="nowhere.jpg"), UnknownIdError, "image_id is not among the images .*nowhere.jpg"),
        (corrections(category="dgo & <b>"), UnknownIdError, "category_id is not among the categories .*dgo & <b>"),
        (named_twice(), DuplicateIdError, "several images are the same one"),
        (corrections(is_crowd=[False], note=["much"]), ColumnError, "an attribute has another type than in the data set"),
    ],
)
def test_what_cannot_be_put_back(fixed: apf.Dataset, error: type[InputError], message: str) -> None:
    with pytest.raises(error, match=f"corrections: {message}"):
        apf.correct(truth(note=[0.5] * 6), fixed)


def test_names_that_several_images_have() -> None:
    whole = apf.Dataset({"image_id": [1, 2], "file_name": ["a/1.jpg", "b/1.jpg"]}, {"category_id": ["cat"]}, {})
    fixed = apf.Dataset({"image_id": [0], "file_name": ["1.jpg"]}, {"category_id": ["cat"]}, {})
    with pytest.raises(RowError, match="file_name is not unique"):
        apf.correct(whole, fixed)
