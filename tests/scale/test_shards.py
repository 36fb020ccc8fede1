"""Which shards a pattern, a folder or a list names, and what is said where it names none."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import apframe as apf
from apframe.exceptions import FormatError, ParameterError, ShardError
from apframe.scale.shards import find_shards

TRUTH = {
    "images": [{"id": n} for n in range(4)],
    "categories": [{"id": 1, "name": "cat"}],
    "annotations": [{"id": n, "image_id": n, "category_id": 1, "bbox": [0, 0, 9, 9]} for n in range(4)],
}
FOUND = [{"image_id": n, "category_id": 1, "bbox": [0, 0, 9, 9], "score": 0.5} for n in range(3)]


@pytest.fixture
def shards(tmp_path: Path) -> Path:
    apf.write_shards(TRUTH, FOUND, tmp_path / "shards", n=2)
    return tmp_path / "shards"


@pytest.mark.slow
def test_folders_patterns_and_lists(shards: Path) -> None:
    (shards / "notes.txt").write_text("")
    both = [("00000", (2, 2, 2)), ("00001", (2, 2, 1))]
    for named in (
        shards,
        f"{shards}/",
        f"{shards}/*",
        [f"{shards}/00001", shards / "00000"],
        [shards / "00000", f"{shards}/*"],
    ):
        assert [(each.name, each.counts) for each in find_shards(named)] == both
    (shards / "shards.json").unlink()
    assert [(each.name, each.counts) for each in find_shards(f"{shards}/*1")] == [("00001", None)]


@pytest.mark.slow
def test_shards_of_one_name_are_called_by_their_folders(shards: Path, tmp_path: Path) -> None:
    apf.write_shards(TRUTH, FOUND, tmp_path / "more", n=1)
    names = [each.name for each in find_shards([f"{shards}/*", f"{tmp_path}/more/*"])]
    assert names == [f"{tmp_path}/more/00000", f"{shards}/00000", f"{shards}/00001"]


@pytest.mark.parametrize(("named", "problem"), [
    ("nowhere", "nowhere: there is no such file or folder"),
    ("nowhere/*", r"nowhere/\*: no file or folder matches this pattern"),
    ("shards.json", "shards.json: is not a folder with shards; write shards with `apframe shard`"),
    (".", "contains neither shards.json nor images.parquet; name a folder"),
], ids=str)  # fmt: skip
def test_what_holds_no_shards(named: str, problem: str, shards: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(shards if named == "shards.json" else shards.parent)
    with pytest.raises(FormatError, match=problem):
        find_shards(named)


@pytest.mark.slow
def test_two_folders_of_shards(shards: Path, tmp_path: Path) -> None:
    apf.write_shards(TRUTH, FOUND, tmp_path / "more", n=1)
    with pytest.raises(ShardError, match=r"there is no images.parquet; it contains shards: name them, or only this folder"):
        apf.evaluate_shards([shards, tmp_path / "more"])


def test_lists_that_are_wrong(shards: Path) -> None:
    with pytest.raises(ParameterError, match="truth is an empty list; name at least one shard"):
        find_shards([])
    with pytest.raises(ParameterError, match="is a folder of shards, which have their detections already; leave out"):
        find_shards(shards, shards)


@pytest.mark.slow
def test_options_of_files_are_refused(shards: Path) -> None:
    for option, value in {
        "format": "coco",
        "relative": True,
        "join_by_name": ["images"],
        "image_sizes": pl.DataFrame(),
    }.items():
        with pytest.raises(ParameterError, match=f"{option} is about files; shards are tables, which are read without it"):
            apf.evaluate_shards(shards, **{option: value})
    apf.evaluate_shards(shards, join_by_name=[])


@pytest.mark.slow
def test_attributes_of_the_images_of_all_shards(shards: Path) -> None:
    weather = {"image_id": [0, 1, 2, 3], "weather": ["fog", "sun", "fog", "sun"]}
    expected = apf.evaluate(TRUTH, FOUND, image_attributes=weather).by("weather")
    assert apf.evaluate_shards(shards, image_attributes=weather).by("weather").equals(expected)
    with pytest.raises(
        ParameterError, match="image_attributes has neg_category_ids, which must be in the images of the shards"
    ):
        apf.evaluate_shards(shards, protocol="lvis", image_attributes={"image_id": [0], "neg_category_ids": [[1]]})


@pytest.mark.slow
def test_a_wrong_option_is_not_a_damaged_shard(shards: Path) -> None:
    with pytest.raises(ParameterError, match=r"^unmapped is for categories that category_map does not name; give that too"):
        apf.evaluate_shards(shards, unmapped="drop", skip_bad_shards=True)
