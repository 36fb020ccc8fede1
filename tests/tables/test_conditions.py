"""Conditions as SQL text are the same as expressions, one for each part between the outermost ANDs."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

from apframe import Dataset, evaluate
from apframe.exceptions import NoAnnotationsWarning, ParameterError
from apframe.tables.conditions import conjunction, find_owners

TABLES = {
    "images": pl.DataFrame({"image_id": [1, 2, 3], "weather": ["fog", "sun", None], "n": [1, 2, 3], "tags": [["a"], [], None]}),
    "categories": pl.DataFrame({"category_id": [1, 2], "name": ["and", "it's"]}),
    "annotations": pl.DataFrame({"annotation_id": [1, 2], "n": [1, 2], "occlusion": [0.1, 0.9], "area": [1.0, 9.0]}),
    "detections": pl.DataFrame({"detection_id": [1, 2], "area": [1.0, 9.0]}),
}
FOG, SEEN = pl.col("weather") == "fog", pl.col("occlusion") < 0.5


def as_lists(conditions: list[Any]) -> dict[str, dict[str, list[bool]]]:
    masks = conjunction(conditions, TABLES)
    return {table: {owner: mask.to_list() for owner, mask in of.items()} for table, of in masks.items()}


@pytest.mark.parametrize(("text", "expressions"), [
    ("weather = 'fog'", [FOG]),
    ("weather == 'fog'", [FOG]),
    ("weather = 'fog' AND occlusion < .5", [FOG, SEEN]),
    ("(weather = 'fog') and (occlusion < 0.5 AND name = 'and')", [FOG, SEEN, pl.col("name") == "and"]),
    ("weather IN ('fog', 'sun') AND occlusion BETWEEN 0 AND 0.5", [pl.col("weather").is_in(["fog", "sun"]), SEEN]),
    ("weather IS NULL OR weather LIKE 's%'", [pl.col("weather").is_null() | (pl.col("weather") == "sun")]),
    ("NOT (weather = 'fog')", [pl.col("weather") == "sun"]),
    ("images.n < 2 AND annotations.n > 1", [pl.col("images.n") < 2, pl.col("annotations.n") > 1]),
    ('images."n" < 2', [pl.col("images.n") < 2]),
    ('"annotations.n" > 1', [pl.col("annotations.n") > 1]),
    ("name = 'it''s' AND images.n = 3", [pl.col("name") == "it's", pl.col("images.n") == 3]),
    ("weather <> 'images.n'", [pl.col("weather").is_not_null()]),
    ("array_contains(tags, 'a')", [pl.col("tags").list.contains("a")]),
    ("occlusion < .5 AND area < 5", [SEEN, pl.col("area") < 5]),
    ("image_id = 3", [pl.col("image_id") == 3]),
])  # fmt: skip
def test_sql_is_the_same_as_expressions(text: str, expressions: list[pl.Expr]) -> None:
    masks = as_lists([text])
    assert masks == as_lists(expressions)
    assert any(any(mask) for of in masks.values() for mask in of.values())


def test_each_part_is_about_the_tables_that_have_its_columns() -> None:
    assert as_lists(["occlusion < .5 AND area < 5"]) == {
        "annotations": {"annotations": [True, False], "detections": [True, False]}
    }
    assert as_lists(["occlusion < .5 AND weather = 'fog'"]) == {
        "annotations": {"annotations": [True, False]}, "images": {"images": [True, False, False]},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("word", "remedy"),
    {
        "wether": "did you mean weather?",
        "area_of": "did you mean area_of_city?",  # of the images, though the area of objects is nearer
        "widt": "did you mean width",
        "zzz": "there are weather, area_of_city, occlusion, image_id, ",  # attributes first, those of images before others
    }.items(),
)
def test_attributes_of_images_are_suggested_first(word: str, remedy: str) -> None:
    tables = {
        "images": pl.DataFrame({"image_id": [1], "image_width": [9], "weather": ["fog"], "area_of_city": [1]}),
        "annotations": pl.DataFrame({"annotation_id": [1], "image_id": [1], "width": [9.0], "area": [9.0], "occlusion": [0]}),
    }
    with pytest.raises(ParameterError, match=rf"no column '{word}'; {re.escape(remedy)}"):
        find_owners(word, tables)


def test_names_of_categories_and_own_tables_are_suggested() -> None:
    tables = {"categories": pl.DataFrame({"category_id": [1], "name": ["cat"], "supercategory": ["animal"]})}
    for word in ("category", "Class", "label"):
        with pytest.raises(ParameterError, match=rf"no column '{word}'; did you mean name\?$"):
            find_owners(word, tables)
    with pytest.raises(ParameterError, match=r"there are .*; columns of a table of your own come with image_attributes$"):
        find_owners("weather", tables)


def test_columns_with_values_are_no_conditions() -> None:
    """As keywords or in a dict: the error names the expression that was meant."""
    dataset = Dataset({"image_id": [1], "weather": ["fog"]}, {"category_id": [1]}, {})
    with pytest.warns(NoAnnotationsWarning):
        evaluation = evaluate(dataset, [])
    expected = 'a condition is SQL text or an expression, not a column with its value; write where(pl.col("weather") == "fog")'
    calls: list[Callable[[], object]] = [
        lambda: evaluation.where(weather="fog"),  # type: ignore[arg-type]
        lambda: evaluation.where({"weather": "fog"}),  # type: ignore[arg-type]
        lambda: dataset.where(weather="fog"),  # type: ignore[arg-type]
        lambda: dataset.where({"weather": "fog"}),  # type: ignore[arg-type]
    ]
    for call in calls:
        with pytest.raises(ParameterError, match=f"^{re.escape(expected)}$"):
            call()
    with pytest.raises(ParameterError, match=re.escape("no column 'wether'; did you mean weather?")):
        dataset.where(wether="fog")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"n": [1, 2], "weather": "fog"}, '; write where(pl.col("n").is_in([1, 2]), pl.col("weather") == "fog")'),
        ({"weather": 'a "b"\n'}, r'; write where(pl.col("weather") == "a \"b\"\n")'),
        ({"weather": None, "n": 2.5}, '; write where(pl.col("weather").is_null(), pl.col("n") == 2.5)'),
        ({"n": [1, None]}, "not a column with its value"),
        ({"n": pl.col("n") > 1}, "not a column with its value"),
        ({}, "not an empty dict"),
    ],
)
def test_which_condition_was_meant(values: dict[str, Any], message: str) -> None:
    tables = {"images": pl.DataFrame({"image_id": [1], "weather": ["fog"], "n": [1]})}
    with pytest.raises(ParameterError, match=f"{re.escape(message)}$"):
        conjunction([values], tables)
