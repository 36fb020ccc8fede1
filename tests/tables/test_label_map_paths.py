"""Paths of label maps: copied beside tables, from the folder of a file, and what is no file."""

from __future__ import annotations

import os
from pathlib import Path

import polars as pl
import pytest

from apframe.exceptions import FormatError
from apframe.tables.label_map_paths import with_own_copies, with_paths_from, with_whole_paths


def test_copies_of_one_name_get_numbers(tmp_path: Path) -> None:
    for town in ("a", "b"):
        (tmp_path / town).mkdir()
        (tmp_path / town / "1.png").write_text(town)
    frame = pl.DataFrame({"label_map": [str(tmp_path / town / "1.png") for town in "aba"] + [None]})
    (tmp_path / "out").mkdir()
    copied = with_own_copies("images", frame, tmp_path / "out")
    assert copied["label_map"].to_list() == [f"label_maps/images/{name}_1.png" for name in (0, 1, 0)] + [None]
    again = with_whole_paths("images", copied, tmp_path / "out")
    assert [Path(each).read_text() for each in again["label_map"].drop_nulls()] == ["a", "b", "a"]


@pytest.mark.skipif(os.name != "posix", reason="pipes with names are a matter of Unix")
def test_only_files_are_copied(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.png")
    for name, message in (("pipe.png", "this is a pipe where a file is expected"), ("no.png", "there is no such label map")):
        with pytest.raises(FormatError, match=message):
            with_own_copies("images", pl.DataFrame({"label_map": [str(tmp_path / name)]}), tmp_path / name[0])


def test_paths_of_tables_in_memory_are_those_from_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    frame = pl.DataFrame({"label_map": ["data/maps/1.png"]})
    assert with_paths_from("images", frame, tmp_path / "data" / "a.json")["label_map"].to_list() == ["maps/1.png"]
    with pytest.raises(FormatError, match="leads out of the folder"):
        with_paths_from("images", frame, tmp_path / "other" / "a.json")


def test_links_in_the_folder_are_followed(tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir()
    (tmp_path / "data").symlink_to(tmp_path / "cache")
    frame = pl.DataFrame({"label_map": ["1.png", str(tmp_path / "data" / "2.png")]})
    whole = with_whole_paths("images", frame, tmp_path / "data")["label_map"].to_list()
    assert whole == [str(tmp_path / "data" / name) for name in ("1.png", "2.png")]


def test_columns_of_another_type_are_left_alone() -> None:
    frame = pl.DataFrame({"label_map": [1]})
    assert with_whole_paths("images", frame, "a.parquet") is frame
    empty = pl.DataFrame({"label_map": [None]}, {"label_map": pl.String})
    assert with_whole_paths("images", empty, "a.parquet") is empty
