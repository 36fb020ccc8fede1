"""Names that are unknown: errors show how images and categories are called, and which were probably meant."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import apframe as apf
from apframe.exceptions import UnknownIdError
from apframe.formats.catalogue import FORMATS
from apframe.tables.near_names import say_names
from tests.fuzz.valid_sets import SHAPES, write_valid

FILES = ["val/000000000139.jpg", "val/000000000285.jpg", "val/000000000632.jpg"]
CASES: dict[str, tuple[list[str], list[str], str]] = {
    "fewer zeros": (["139", "285"], FILES, "'139' is 'val/000000000139.jpg' without leading zeros"),
    "more zeros": (["0007.png"], ["7.jpg", "8.jpg"], "'0007.png' is '7.jpg' with leading zeros"),
    "one of them is not there": (["139", "9"], FILES, "'139' may be 'val/000000000139.jpg'"),
    "the end of a name": (["b_7.png"], ["a_b_7.jpg", "a_c_7.jpg"], "'b_7.png' may be 'a_b_7.jpg'"),
    "a longer name": (["run1_b_7.png"], ["b_7.jpg", "c_8.jpg"], "'run1_b_7.png' may be 'b_7.jpg'"),
    "several with this ending": (["7"], ["a_7.jpg", "b_7.jpg"], ""),
    "the end of a number": (["1.jpg"], ["11.jpg", "2.jpg"], ""),
    "another name": (["x"], ["a_7.jpg", "b_7.jpg"], ""),
}


@pytest.mark.parametrize(("unknown", "known", "meant"), CASES.values(), ids=CASES)
def test_images_that_were_probably_meant(unknown: list[str], known: list[str], meant: str) -> None:
    """Two names that there are, and a proposal if it fits one image."""
    sentence = f"the images are called {known[0]!r}, {known[1]!r}"
    assert say_names(pl.Series(unknown), pl.Series(known), "images") == f"{sentence}{'; ' * bool(meant)}{meant}"


def test_categories_that_were_probably_meant() -> None:
    """The nearest name, in any case."""
    message = say_names(pl.Series(["Persn"]), pl.Series(["person", "car", "dog"]), "categories")
    assert message == "the categories are called 'person', 'car'; did you mean person?"


def test_nothing_is_said_of_no_names() -> None:
    assert say_names(pl.Series(["a"]), pl.Series([None], dtype=pl.String), "images") == ""


@pytest.mark.slow
@pytest.mark.parametrize("table", ["images", "categories"])
@pytest.mark.parametrize("name", list(FORMATS))
def test_a_failing_join_shows_names_in_every_format(name: str, table: str, tmp_path: Path) -> None:
    """Results in memory are joined by name to the data set of a file."""
    truth = apf.read_dataset(write_valid(name, SHAPES[name][0], tmp_path)[0], name)
    box = {"x": [0], "y": [0], "width": [9], "height": [9]}
    first = {
        key: truth.core(owner)[key].to_list()[:1] for owner, key in (("images", "image_id"), ("categories", "category_id"))
    }
    key = {"images": "image_id", "categories": "category_id"}[table]
    detections = pl.DataFrame({**first, "score": [0.5], **box}, strict=False).with_columns(pl.lit("nowhere").alias(key))
    with pytest.raises(UnknownIdError, match=f"unknown: 'nowhere'; the {table} are called '.+'"):
        apf.read_results(detections, dataset=truth, join_by_name=table)


def test_ids_that_are_names_are_shown_too(tmp_path: Path) -> None:
    """KITTI calls images as their files: results without leading zeros match none."""
    label = "Car 0 0 1.5 100 100 200 200 1.5 1.6 3.9 1 1.6 20 1.5"
    for folder, name, line in (("truth", "000007", label), ("found", "7", f"{label} 0.9")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / f"{name}.txt").write_text(f"{line}\n")
    with pytest.raises(UnknownIdError, match="the images are called '000007'; '7' is '000007' without leading zeros"):
        apf.evaluate(tmp_path / "truth", tmp_path / "found", "kitti")


def test_attributes_by_name_show_names() -> None:
    """Rows about no image at all are an error."""
    truth = apf.Dataset({"image_id": [1], "file_name": ["000012.jpg"]}, {"category_id": [1]}, {})
    with pytest.raises(UnknownIdError, match=r"are called '000012\.jpg'; '12\.png' is '000012\.jpg' without leading"):
        truth.with_images({"file_name": ["12.png"], "weather": ["fog"]})
