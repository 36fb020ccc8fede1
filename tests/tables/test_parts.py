"""Parts of a data set: by conditions, at random, and split; whatever the order of the rows and of the columns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import apframe as apf
from apframe.exceptions import ParameterError

STREET = apf.read_dataset(Path(__file__).resolve().parents[2] / "data" / "street" / "instances.json")
SHUFFLED = apf.Dataset(
    STREET.images.sample(fraction=1, shuffle=True, seed=1),
    STREET.categories,
    STREET.annotations.sample(fraction=1, shuffle=True, seed=2),
)


def ids(dataset: apf.Dataset) -> list[int]:
    return dataset.images["image_id"].sort().to_list()


def check_whole(dataset: apf.Dataset) -> None:
    """Nothing refers to what is not there."""
    apf.Dataset(dataset.images, dataset.categories, dataset.annotations)


# ---- conditions


def test_conditions_on_each_table() -> None:
    images = STREET.images.filter(pl.col("weather") == "fog")["image_id"]
    part = STREET.where("weather = 'fog' AND name <> 'car'", pl.col("area") > 100)
    car = STREET.categories.filter(name="car")["category_id"].item()
    expected = STREET.annotations.filter(
        pl.col("image_id").is_in(images.implode()), pl.col("category_id") != car, pl.col("area") > 100
    )
    assert ids(part) == images.sort().to_list()
    assert part.annotations.equals(expected) and expected.height > 0
    assert car not in part.categories["category_id"] and part.categories.height == STREET.categories.height - 1
    check_whole(part)


def test_categories_by_name_or_id() -> None:
    part = STREET.where(categories=["car", STREET.categories["category_id"][1]])
    assert part.categories.height == 2 and part.images.height == STREET.images.height
    assert set(part.annotations["category_id"]) == set(part.categories["category_id"])
    with pytest.raises(ParameterError, match=r"no category 'carr'; did you mean car\?"):
        STREET.where(categories=["carr"])


def test_lists_of_categories_lose_those_that_are_left_out() -> None:
    images = {"image_id": [1], "neg_category_ids": [[1, 2]]}
    truth = apf.Dataset(images, {"category_id": [1, 2], "name": ["a", "b"], "parent_ids": [[2], []]}, {})
    part = truth.where("name = 'a'")
    assert (part.images["neg_category_ids"].to_list(), part.categories["parent_ids"].to_list()) == ([[1]], [[]])
    check_whole(part)


@pytest.mark.parametrize(("condition", "message"), [
    ("weather = 'hail'", "where: no image meets"),
    ("score > .5", "no column 'score'"),
    ("weather = 'fog' OR area > 100", "several"),
])  # fmt: skip
def test_conditions_that_make_no_part(condition: str, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        STREET.where(condition)


# ---- samples


@pytest.mark.slow
def test_a_sample_depends_on_ids_and_seed_alone() -> None:
    part = STREET.sample(50, seed=3)
    assert part.images.height == 50
    assert ids(part) == ids(SHUFFLED.sample(50, seed=3)) != ids(STREET.sample(50, seed=4))
    assert set(ids(part)) <= set(ids(STREET.sample(60, seed=3)))
    assert part.annotations.equals(STREET.annotations.filter(pl.col("image_id").is_in(ids(part))))
    assert part.images["image_id"].to_list() == [each for each in STREET.images["image_id"] if each in set(ids(part))]


def test_the_same_images_in_all_versions() -> None:
    assert ids(STREET.sample(5, seed=0)) == [301, 3050, 3283, 4852, 5695]


@pytest.mark.parametrize(("n", "message"), [
    (0, "must be between 1 and the 300 images there are, not 0"), (301, "300 .*, not 301"), (0.5, "300 .*, not 0.5"),
])  # fmt: skip
def test_samples_that_there_are_not(n: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        STREET.sample(n)
    with pytest.raises(ParameterError, match=r"^seed must be a whole number, not 'a'"):
        STREET.sample(5, seed="a")  # type: ignore[arg-type]


# ---- splits


@pytest.mark.slow
@pytest.mark.parametrize("by", [(), "city", ["city", "weather"]])
def test_a_split_has_every_image_once_and_keeps_groups_together(by: Any) -> None:
    parts = STREET.split({"train": 0.6, "val": 0.2, "test": 0.2}, by=by, seed=5)
    assert list(parts) == ["train", "val", "test"]
    assert sorted(image for part in parts.values() for image in ids(part)) == ids(STREET)
    assert sum(part.annotations.height for part in parts.values()) == STREET.annotations.height
    again = SHUFFLED.split({"train": 0.6, "val": 0.2, "test": 0.2}, by=by, seed=5)
    assert {name: ids(part) for name, part in again.items()} == {name: ids(part) for name, part in parts.items()}
    groups = [set(part.images.select(pl.col(by) if by else "image_id").rows()) for part in parts.values()]
    assert all(not a & b for at, a in enumerate(groups) for b in groups[:at])
    for part in parts.values():
        check_whole(part)


def test_shares_of_single_images_are_exact() -> None:
    parts = STREET.split({"train": 0.8, "val": 0.2})
    assert [part.images.height for part in parts.values()] == [240, 60]
    assert ids(parts["val"]) != ids(STREET.split({"train": 0.8, "val": 0.2}, seed=1)["val"])


def test_null_is_a_group() -> None:
    truth = apf.Dataset({"image_id": range(8), "scene": ["a", None] * 4}, {"category_id": [1]}, {})
    parts = truth.split({"a": 0.5, "b": 0.5}, by="scene")
    assert sorted(ids(part) for part in parts.values()) == [[0, 2, 4, 6], [1, 3, 5, 7]]


@pytest.mark.parametrize(("shares", "by", "message"), [
    ({"train": 0.8}, (), "^split needs positive shares that sum to 1, not train=0.8$"),
    ({"train": 1.2, "val": -0.2}, (), "not train=1.2,val=-0.2$"),
    ({}, (), "sum to 1, not none$"),
    ([0.8, 0.2], (), r"^split must be the share of each part, not \[0.8, 0.2\]; as in {"),
    ({"train": 0.5, "val": 0.5}, "scene", "^by: the images have no column 'scene'"),
    ({"train": 0.5, "val": 0.5}, "wether", "did you mean weather"),
    ({"train": 0.999, "val": 0.001}, "city", "^split: val gets no images: only 5 groups to share; try other shares"),
])  # fmt: skip
def test_splits_that_there_are_not(shares: Any, by: str, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        STREET.split(shares, by=by)
