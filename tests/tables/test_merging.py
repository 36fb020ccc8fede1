"""Several data sets as one: ids that clash are numbered, categories of one name are one, and everything is said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import apframe as apf
from apframe.exceptions import ColumnError, ParameterError

STREET = apf.read_dataset(Path(__file__).resolve().parents[2] / "data" / "street" / "instances.json")
BOX = {"x": [0.0], "y": [0.0], "width": [9.0], "height": [9.0]}


def dataset(image: Any, name: str, categories: dict[Any, str], category: Any, **columns: Any) -> apf.Dataset:
    return apf.Dataset(
        {"image_id": [image], "file_name": [name], **columns},
        {"category_id": list(categories), "name": list(categories.values())},
        {"image_id": [image], "category_id": [category], **BOX},
    )


def test_parts_that_were_split_become_the_whole_again() -> None:
    parts = STREET.split({"train": 0.8, "val": 0.2}, seed=1)
    whole, changes = apf.merge(list(parts.values()))
    assert changes.is_empty()
    for table in ("images", "annotations"):
        key = table.removesuffix("s") + "_id"
        assert_frame_equal(getattr(whole, table).sort(key), getattr(STREET, table).sort(key))
    assert whole.categories.equals(STREET.categories)
    assert whole.other_sections == STREET.other_sections


def test_ids_that_clash_are_numbered_categories_join_by_name() -> None:
    a = dataset(1, "a.jpg", {1: "cat", 2: "dog"}, 2, weather=["fog"])
    b = dataset(1, "b.jpg", {1: "dog", 2: "car"}, 1, tags=[["x"]])
    whole, changes = apf.merge([a, b])
    assert whole.images.select("image_id", "file_name", "weather", "tags").rows() == [
        (1, "a.jpg", "fog", None), (2, "b.jpg", None, ["x"]),
    ]  # fmt: skip
    assert whole.categories.select("category_id", "name").rows() == [(1, "cat"), (2, "dog"), (3, "car")]
    assert whole.annotations.select("annotation_id", "image_id", "category_id").rows() == [(1, 1, 2), (2, 2, 2)]
    assert changes.rows() == [
        ("images", "image_id", 2, "several data sets have the same ids: numbered from 1"),
        ("categories", "category_id", 2, "new ids: categories with the same name become one"),
        ("annotations", "annotation_id", 2, "several data sets have the same ids: numbered from 1"),
    ]


def test_ids_that_do_not_clash_stay() -> None:
    a, b = dataset(7, "a.jpg", {3: "cat"}, 3), dataset(5, "a.jpg", {3: "cat", 9: "dog"}, 9)
    whole, changes = apf.merge([a, b])
    assert whole.images["image_id"].to_list() == [7, 5]
    assert whole.categories["category_id"].to_list() == [3, 9]
    assert ("images", "file_name", 1, "the name occurs in several data sets: kept as different images") in changes.rows()


def test_text_and_numbers() -> None:
    texts = apf.Dataset({"image_id": ["a"]}, {"category_id": ["cat"]}, {"image_id": ["a"], "category_id": ["cat"], **BOX})
    whole, _ = apf.merge([texts, dataset(1, "b.jpg", {1: "cat", 2: "dog"}, 2)])
    assert whole.images.select("image_id", "file_name").rows() == [(1, "a"), (2, "b.jpg")]
    assert whole.categories.select("category_id", "name").rows() == [(1, "cat"), (2, "dog")]
    assert whole.annotations["category_id"].to_list() == [1, 2]
    both, changes = apf.merge([texts, texts.where()])
    assert both.images.select("image_id", "file_name").rows() == [(1, "a"), (2, "a")]
    assert both.categories["category_id"].to_list() == ["cat"]
    assert changes["table"].to_list() == ["images", "images", "annotations"]


def test_lists_of_categories_have_the_new_ids() -> None:
    def verified(category: int, name: str) -> apf.Dataset:
        images = {"image_id": [category], "neg_category_ids": [[category]]}
        return apf.Dataset(images, {"category_id": [category, 9], "name": [name, "top"], "parent_ids": [[9], []]}, {})

    whole, _ = apf.merge([verified(1, "cat"), verified(2, "cat"), dataset(5, "x", {1: "dog"}, 1)])
    assert whole.images["neg_category_ids"].to_list() == [[1], [1], []]
    assert whole.categories.select("name", "parent_ids").rows() == [("cat", [2]), ("top", []), ("dog", [])]


@pytest.mark.slow
def test_numbers_of_the_whole_are_those_of_its_parts(tmp_path: Path) -> None:
    model = Path(__file__).resolve().parents[2] / "data" / "street" / "model_a.json"
    expected = apf.evaluate(STREET, model)
    parts = STREET.split({"a": 0.5, "b": 0.5}, by="weather")
    whole, _ = apf.merge([parts["b"], parts["a"]])
    assert_frame_equal(apf.evaluate(whole, model).summary, expected.summary)
    apf.write_coco(whole, tmp_path / "whole.json")
    assert len(json.loads((tmp_path / "whole.json").read_text())["images"]) == STREET.images.height


def test_what_cannot_be_merged() -> None:
    for none in ([], ["a.json"], STREET):
        with pytest.raises(ParameterError, match="merge needs a list of data sets; read files first"):
            apf.merge(none)  # type: ignore[arg-type]
    fog = dataset(1, "a", {1: "cat"}, 1, weather=["fog"])
    with pytest.raises(ColumnError, match=r"^images: columns of the data sets have different types"):
        apf.merge([fog, dataset(2, "b", {1: "cat"}, 1, weather=[["fog"]])])
    as_json = fog.with_rest([("images", "weather")], {})
    with pytest.raises(ColumnError, match=r"^images\.weather holds JSON in one data set but not in another"):
        apf.merge([as_json, dataset(2, "b", {1: "cat"}, 1, weather=["fog"])])
    assert apf.merge([as_json, dataset(2, "b", {1: "cat"}, 1)])[0].json_columns == {("images", "weather")}


def test_null_columns_take_the_type_of_the_others() -> None:
    a, b = dataset(1, "a", {1: "cat"}, 1, n=[None]), dataset(2, "b", {1: "cat"}, 1, n=[2])
    assert apf.merge([a, b])[0].images["n"].to_list() == [None, 2]
    assert apf.merge([a, b])[0].images.schema["n"] == pl.Int64
