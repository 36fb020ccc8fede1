"""Headline numbers by name."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import apframe as apf
from apframe.exceptions import ParameterError

STREET = Path(__file__).parents[2] / "data" / "street"


@pytest.fixture(scope="module")
def street() -> apf.Evaluation:
    return apf.evaluate(STREET / "instances.json", STREET / "model_b.json")


@pytest.mark.slow
def test_a_number_has_the_name_that_the_summary_has(street: apf.Evaluation) -> None:
    assert {name: street[name] for name in street.summary["metric"]} == dict(street.summary.rows())
    assert street["ap50"] == street["AP50"]
    with pytest.raises(ParameterError, match=r"no metric .mAP51.; did you mean"):
        _ = street["mAP51"]


@pytest.mark.slow
@pytest.mark.parametrize("protocol", ["coco", "voc2007", "voc2012"])
def test_numbers_of_categories_are_those_of_by(protocol: str) -> None:
    truth = apf.read_coco(STREET / "instances.json")
    ev = apf.evaluate(truth, STREET / "model_b.json", protocol, categories=truth.categories["category_id"].to_list()[:5])
    values = ev.to_dict("val/", per_category=True)
    first = ev.summary["metric"][0]
    expected = {f"val/{first}/{name}": value for name, value in ev.by("name").select("name", first).rows() if value is not None}
    assert {name: value for name, value in values.items() if name.count("/") == 2} == pytest.approx(expected)
    assert {name.removeprefix("val/") for name in values if name.count("/") == 1} == set(ev.summary.drop_nulls()["metric"])


@pytest.mark.slow
def test_categories_without_a_name_of_their_own_are_named_by_id() -> None:
    box = {"image_id": [1, 1, 1], "category_id": [1, 2, 3], "x": [0] * 3, "y": [0] * 3, "width": [9] * 3, "height": [9] * 3}
    categories = {"category_id": [1, 2, 3, 4], "name": ["cat", "dog", "dog", "bird"]}
    ev = apf.evaluate(apf.Dataset({"image_id": [1]}, categories, box), box | {"score": [0.9] * 3})
    assert [name for name in ev.to_dict(per_category=True) if "/" in name] == ["AP/cat", "AP/2", "AP/3"]
    unnamed = apf.Dataset({"image_id": [1]}, pl.DataFrame(categories).drop("name"), box)
    ev = apf.evaluate(unnamed, box | {"score": [0.9] * 3})
    assert [name for name in ev.to_dict(per_category=True) if "/" in name] == ["AP/1", "AP/2", "AP/3"]


@pytest.mark.slow
def test_pooled_categories_have_no_numbers_of_their_own() -> None:
    ev = apf.evaluate(STREET / "instances.json", STREET / "model_b.json", agnostic=True)
    assert "AP" in ev.to_dict()
    with pytest.raises(ParameterError, match="pooled"):
        ev.to_dict(per_category=True)
