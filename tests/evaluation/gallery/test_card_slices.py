"""The slices of cards: of images, categories and objects, named ones, and what is in several or in none."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import apframe as apf
from apframe.evaluation.gallery.card_slices import CardSlices, slices_of_cards
from apframe.evaluation.gallery.cards import find_cards

BOX, ELSEWHERE = [0, 0, 9, 9], [50, 50, 9, 9]
TRUTH = {
    "images": [
        {"id": 1, "weather": "fog", "tags": ["wet", "dark"]},
        {"id": 2, "weather": None, "tags": []},
    ],
    "categories": [{"id": 1, "name": "cat", "supercategory": "animal"}, {"id": 2, "name": "car", "supercategory": "vehicle"}],
    "annotations": [
        {"id": 1, "image_id": 1, "category_id": 1, "bbox": BOX, "occlusion": 0.1, "far": True},
        {"id": 2, "image_id": 2, "category_id": 2, "bbox": BOX, "occlusion": 0.9, "far": False},
    ],
}
FOUND = pl.DataFrame(
    {
        "image_id": [1, 2], "category_id": [2, 1], "score": [0.9, 0.8], "bbox": [BOX, ELSEWHERE], "occlusion": [0.2, 0.4],
        "head": ["x", "y"],
    }
)  # fmt: skip

NAMED = {"clear": pl.col("weather").is_null(), "any": pl.col("image_id") > 0}


def lists(slices: CardSlices, cards: pl.DataFrame) -> list[list[str]]:
    return slices.lists(pl.Series(range(cards.height))).to_list()


@pytest.fixture(scope="module")
def evaluation() -> apf.Evaluation:
    return apf.evaluate(TRUTH, FOUND)


@pytest.mark.parametrize(
    ("key", "values", "cls", "bkg", "miss"),
    [
        ("weather", ["fog", "–"], ["fog"], ["–"], ["–"]),
        ("tags", ["dark", "wet", "–"], ["dark", "wet"], ["–"], ["–"]),
        ("supercategory", ["animal", "vehicle"], ["vehicle"], ["animal"], ["vehicle"]),
        (apf.bins("occlusion", [0, 0.3, 0.5]), ["[0, 0.3)", "[0.3, 0.5]", "–"], ["[0, 0.3)"], ["[0.3, 0.5]"], ["–"]),
        ("annotations.far", ["false", "true"], ["true"], [], ["false"]),
        ("head", ["x", "y"], ["x"], ["y"], []),
        (NAMED, ["clear", "any"], ["any"], ["clear", "any"], ["clear", "any"]),
        ({"weather": ["fog"]}, ["fog"], ["fog"], [], []),
    ],
)  # fmt: skip
def test_slices_of_each_card(
    evaluation: apf.Evaluation, key: Any, values: list[str], cls: list[str], bkg: list[str], miss: list[str]
) -> None:
    cards = find_cards([evaluation], 0.5).sort("kind")
    assert cards["kind"].to_list() == ["cls", "bkg", "miss"]
    (found,) = slices_of_cards([evaluation], cards, [key])
    assert found.values == values
    assert lists(found, cards) == [cls, bkg, miss]


@pytest.mark.slow
def test_each_key_is_there_once_and_detections_by_model(evaluation: apf.Evaluation) -> None:
    other = apf.evaluate(TRUTH, FOUND.with_columns(head=pl.lit("z")))
    cards = find_cards([evaluation, other], 0.5)
    keys = ["weather", ["weather", "supercategory"], "head"]
    slices = slices_of_cards([evaluation, other], cards, keys)
    assert [each.name for each in slices] == ["weather", "supercategory", "head"]
    assert slices[2].values == ["x", "y", "z"]
    assert set(pl.Series(lists(slices[2], cards)).filter(cards["model"] == "b").explode().drop_nulls()) == {"z"}


def test_named_slices_of_several_tables_hold_what_is_in_each(evaluation: apf.Evaluation) -> None:
    """A slice that says nothing of the objects has all of them."""
    cards = find_cards([evaluation], 0.5).sort("kind")
    named = {
        "fog": pl.col("weather") == "fog",
        "seen cars": [pl.col("name") == "car", pl.col("occlusion") < 0.5],
        "clear cats": [pl.col("name") == "cat", pl.col("weather").is_null()],
        "far in fog": [pl.col("far"), pl.col("weather") == "fog"],
    }
    first, weather = slices_of_cards([evaluation], cards, [named, "weather"])
    assert (first.name, first.values, weather.name) == ("slice", [*named], "weather")
    assert lists(first, cards) == [["fog", "seen cars", "far in fog"], ["clear cats"], []]
